#!/usr/bin/env perl
# closing.t -- no room for the last words of a recording: what lacks of them is in memory, or counted, and --clean adds it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(enter_shm);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# All that is in /dev/shm is this test's: it has one of its own.
enter_shm('64m');

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");
chdir $dir or die;
mkdir 'disk';
my $log = "$dir/disk/a.paw";
my $record = "$rec -k Object,System -o $log perl -e 'my \@a = map { q(x) x 1000 } 1 .. 2000' 2>&1";

# wrong($said) -- what is wrong with the log, after eventrec has said that
sub wrong {
    my ($said) = @_;
    my ($discarded) = $said =~ /^eventrec: \d+ events \((\d+) discarded\)/m;
    return "no line: $said" if !defined $discarded;
    my $added = `$rec --clean $log 2>&1`;
    my $check = `$cnv --check $log 2>&1`;
    my $status = $? >> 8;
    my $counted = 0;
    my $wrong = '';
    $counted += $1 while $check =~ /^eventcnv: (\d+) events? w(?:as|ere) discarded/mg;
    $counted += $1 while $check =~ /: block cut off; (\d+) events? lost/g;
    $wrong .= " --check is $status." if $status != ($discarded ? 1 : 0);
    $wrong .= " $counted are counted." if $counted != $discarded;
    $wrong .= " It lacks its end." if $check =~ /is not in the log/;
    $wrong .= " The reason is none." if $said =~ /Success/;
    $wrong .= " Left: @{[glob '/dev/shm/*']}." if glob '/dev/shm/*';
    $wrong .= " It says $1." if $said =~ /(written to its end)/ && !$discarded;
    unlink glob '/dev/shm/*';
    return $wrong eq '' ? () : "$wrong $said$added$check";
}

# A full disk, in pages.
SKIP: {
    skip 'a disk cannot be made here', 3 if system("mount -t tmpfs -o size=32k none disk && umount disk") != 0;
    my ($tries, $clean, @wrong) = (0, 0);
    for my $pages (3 .. 18) {
        system('mount', '-t', 'tmpfs', '-o', 'size=' . 4 * $pages . 'k', 'none', 'disk') == 0 or die;
        my $said = `$record`;
        ++$clean if $said =~ /; eventrec --clean adds it$/m && $said !~ / stays, with /;
        system('mount', '-o', 'remount,size=16m', 'disk') == 0 or die;
        push @wrong, map { "$pages pages: $_" } wrong($said);
        ++$tries;
        system 'umount', 'disk';
    }
    is $tries, 16, 'the disk is full at each place';
    cmp_ok $clean, '>', 0, 'sometimes only when the recording is closed';
    is_deeply \@wrong, [], 'and when there is room --clean closes the recording, and the log and eventrec count the same';
}

# Neither shared memory nor the disk has room, and the program is killed: what it discarded while its blocks were in private
# memory is counted where that outlives it.
SKIP: {
    skip 'a disk cannot be made here', 1 if system("mount -t tmpfs -o size=300k none disk") != 0;
    my ($counts, @wrong) = "$dir/counts";
    unlink glob '/dev/shm/*';
    for my $room (60, 72) {
        unlink $log;
        system('mount', '-o', 'remount,size=300k', 'disk') == 0 && system('mount', '-o', "remount,size=${room}k", '/dev/shm') == 0 or die;
        open my $file, '>', $counts or die;
        truncate $file, 4096;
        my $emitted = sub { my @words = unpack 'Q*', do { open my $in, '<:raw', $counts or die; local $/; <$in> }; return $words[9] };
        my $pid = fork // die;
        if ($pid == 0) {
            open STDERR, '>', 'said' or die;
            local %ENV = (%ENV, LD_PRELOAD => "$B/lib/libpawprint.so", PAWPRINT_LOG => $log, PAWPRINT_KINDS => 'User', PAWPRINT_BLOCK => 4096, PAWPRINT_BLOCKS => 32);
            exec "$B/prog/slain", $counts, 'threads', 1, $dir or die;
        }
        for (1 .. 1000) { last if $emitted->() > 100000; select undef, undef, undef, 0.005 }
        kill KILL => $pid;
        waitpid $pid, 0;
        system('mount', '-o', 'remount,size=64m', $_) == 0 or die for 'disk', '/dev/shm';
        system "$rec --clean $log >/dev/null 2>&1";
        my $there = () = `$cnv -E UserWord $log 2>/dev/null` =~ /^/mg;
        my $said = `$cnv --check $log 2>&1`;
        my ($discarded) = $said =~ /(\d+) events? w(?:as|ere) discarded/;
        my $all = $emitted->() + 100; # of the main thread before
        push @wrong, "$room KiB: $all emitted, $there are there: $said" if $all < 100000 || abs($all - $there - ($discarded // 0)) > 2;
    }
    is_deeply \@wrong, [], 'no room anywhere, and the program is killed: each event is there, or counted';
    system 'umount', 'disk';
}

# Writes to the log fail: one, two, or all from there on.
SKIP: {
    skip 'strace is not to be had here', 2 if system('strace -o /dev/null -e trace=write -e inject=write:error=EIO:when=1000 true >/dev/null 2>&1') != 0;
    my ($runs, @wrong) = (0);
    for my $error ('EIO', 'ENOSPC') {
        for my $to (0, 1, '') {
            for (my $n = 1; $n <= 12; ++$n) {
                my $when = $to eq '' ? "$n+" : "$n.." . ($n + $to);
                unlink $log;
                my $said = `strace -o trace -P $log -e trace=write -e inject=write:error=$error:when=$when $record`;
                open my $trace, '<', 'trace' or die;
                last if !grep { /\(INJECTED\)/ } <$trace>;
                ++$runs;
                push @wrong, map { "$error $when: $_" } wrong($said);
            }
        }
    }
    cmp_ok $runs, '>', 10, 'writes fail';
    is_deeply \@wrong, [], 'and the same is true, and the reason is told';
}

# Without a collector the program closes the log itself.  What finds no room for that leaves its region, and --check is not 0
# before --clean has added the end; then nothing is missing.
my $alone = "env LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_KINDS=Object,System PAWPRINT_LOG=$log perl -e 'my \@a = map { q(x) x 1000 } 1 .. 2000' 2>&1";

# unclosed($said) -- what is wrong with a log that its program may not have closed; whether it has not, and has left no event
sub unclosed {
    my ($said) = @_;
    my $left = () = glob '/dev/shm/*';
    my $check = `$cnv --check $log 2>&1`;
    my $status = $? >> 8;
    my $before = () = `$cnv -E PoolAlloc $log 2>/dev/null` =~ /\n/g;
    my $wrong = $left > 0 && $status != 1 ? ' It is called whole.' : '';
    my $added = `$rec --clean $log 2>&1`;
    my $after = `$cnv --check $log 2>&1`;
    $wrong .= ' It is not whole.' if $? != 0;
    $wrong .= ' An event is missing.' if $before < 2000 || $before != (() = `$cnv -E PoolAlloc $log 2>/dev/null` =~ /\n/g);
    $wrong .= " Left: @{[glob '/dev/shm/*']}." if glob '/dev/shm/*';
    unlink glob '/dev/shm/*';
    return ($wrong eq "" ? undef : "$wrong $said$check$added$after", $check =~ /: the end of process \d+ could not be written/ ? 1 : 0);
}

SKIP: {
    skip 'a disk cannot be made here', 3 if system("mount -t tmpfs -o size=32k none disk && umount disk") != 0;
    my ($tries, $ends, @wrong) = (0, 0);
    unlink $log;
    system $alone;
    my $pages = int((-s $log) / 4096);
    for my $more (-8 .. 2) {
        system('mount', '-t', 'tmpfs', '-o', 'size=' . 4 * ($pages + $more) . 'k', 'none', 'disk') == 0 or die;
        my $said = `$alone`;
        system('mount', '-o', 'remount,size=16m', 'disk') == 0 or die;
        my ($wrong, $end) = unclosed($said);
        push @wrong, "$pages + $more pages: $wrong" if defined $wrong;
        $ends += $end;
        ++$tries;
        system 'umount', 'disk';
    }
    is $tries, 11, 'the disk is full at each place, for a program that writes its log itself';
    cmp_ok $ends, '>', 0, 'sometimes at its end only';
    is_deeply \@wrong, [], 'and --check is 1 until --clean has closed its part';
}
SKIP: {
    skip 'strace is not to be had here', 2 if system('strace -o /dev/null -e trace=write -e inject=write:error=EIO:when=1000 true >/dev/null 2>&1') != 0;
    my ($runs, $ends, @wrong) = (0, 0);
    for my $to ('+', '') {
        for (my $n = 2; $n <= 40; ++$n) {
            unlink $log;
            my $said = `strace -f -o trace -P $log -e trace=write -e inject=write:error=ENOSPC:when=$n$to $alone`;
            open my $trace, '<', 'trace' or die;
            last if !grep { /\(INJECTED\)/ } <$trace>;
            my ($wrong, $end) = unclosed($said);
            push @wrong, "$n$to: $wrong" if defined $wrong;
            $ends += $end;
            ++$runs;
        }
    }
    cmp_ok $ends, '>', 0, "of $runs failing writes of such a program some are its last";
    is_deeply \@wrong, [], 'and the same is true';
}

# Neither the disk nor /dev/shm has room, or files may have no size, when there is no collector any more: who begins then can keep nothing, and
# what it emits is counted, in memory of another process that stays.  An event more or less is the first thread's.
SKIP: {
    my $shm = 'mount -t tmpfs -o size=2m,mode=1777 none';
    skip 'a disk cannot be made here', 12 if system("$shm disk && umount disk") != 0;
    my $full = "fill=$dir/disk/fill fill=/dev/shm/fill";
    for my $row ([1, 1, 4, "emit orphan $full fork emit done"], [1, 1, 4, "emit orphan $full fork emit kill done kill"],
                 [1, 1, 4, "emit orphan $full fork exec emit done"], [1, 1, 1, "emit orphan $full exec emit"],
                 [1, 1, 4, 'emit orphan fsize=0 fork emit done'], [1, 1, 8, "emit orphan $full fork emit exec emit kill done"],
                 [0, 1, 4, "emit $full fork exec emit done"], [0, 1, 1, "emit $full exec emit"]) {
        my ($collected, $there, $lost, $words) = @$row;
        system("$shm disk && $shm /dev/shm") == 0 or die;
        my $with = $collected ? "$rec --force -o $log --" : "env LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=$log";
        my $said = `($with $B/prog/leaves $words; true) 2>&1 | cat`;
        unlink 'disk/fill', '/dev/shm/fill';
        for my $when ('before', 'after') {
            my $check = `$cnv --check $log 2>&1`;
            my $status = $? >> 8;
            my ($discarded) = $check =~ /(\d+) events were discarded/;
            my $has = () = `$cnv -E PoolAlloc -e 'size == 7001' $log 2>/dev/null` =~ /\n/g;
            my $near = defined $discarded && $discarded >= 100 * $lost && $discarded <= 104 * $lost;
            ok $status == 1 && $has == 50 * $there && $near, "$words, @{[$collected ? '' : 'without eventrec, ']}$when --clean: all is there, or counted"
                or diag "$has, $discarded, status $status: $check$said";
            `$rec --clean $log 2>&1` if $when eq 'before';
        }
        is_deeply [glob '/dev/shm/*'], [], 'and nothing is left';
        system 'umount disk; umount /dev/shm';
    }
}

chdir '/';
done_testing;
