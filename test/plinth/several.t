#!/usr/bin/env perl
# several.t -- several ways out at one time: each log has everything
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
# What the tests leave in memory is theirs to remove, before its logs go.
sub clean { system "'$B/bin/eventrec' --clean $dir/*.paw >/dev/null 2>&1" }
sub fresh { clean; unlink map { "$dir/$_.paw" } qw(a b c) }
END { local $?; clean if defined $dir }

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# How many of the crowd's allocations a log has, and what --check says of it.
sub counted {
    my ($log) = @_;
    my $lines = `'$B/bin/eventcnv' -E PoolAlloc -e 'size == 4711' '$log' 2>/dev/null | wc -l`;
    my $check = system("'$B/bin/eventcnv' --check '$log'") >> 8;

    return ($lines + 0, $check);
}

# A shell, and what it runs: the second program finds two logs that are there already.
{
    chdir $dir or die;
    local $ENV{PAWPRINT_LOG} = 'a.paw,b.paw';
    my $status = system('env', "LD_PRELOAD=$B/lib/libpawprint.so", 'sh', '-c', "cd /; '$B/prog/crowd' 3 20; '$B/prog/crowd' 2 20; :");
    is $status, 0, 'a family with two logs';
    for my $log ('a.paw', 'b.paw') {
        my ($got, $check) = counted("$dir/$log");
        is $got, 5 * 20, "$log has all of it";
        is $check, 0, 'and lacks nothing';
    }
}

# One of them cannot be opened: the other has everything.
{
    local $ENV{PAWPRINT_LOG} = "$dir/none/c.paw,$dir/d.paw";
    my $said = `env LD_PRELOAD='$B/lib/libpawprint.so' '$B/prog/crowd' 2 20 2>&1`;
    like $said, qr/cannot open the log: \Q$dir\E\/none\/c\.paw: /, 'a log that cannot be opened is named';
    my ($got, $check) = counted("$dir/d.paw");
    is $got, 2 * 20, 'and the other has all of it';
}

# A program that opens its own logs does what it is told, recorded in some way or not.  Its standard error.
sub ways {
    my ($recorded, @lines) = @_;
    my $status = open(my $in, '|-', "exec @$recorded '$B/prog/ways' > ways.out 2> ways.err") or die;
    print {$in} map { "$_\n" } @lines;
    close $in or diag "it ended with $?";
    open my $err, '<', 'ways.err' or die;
    local $/;
    return scalar <$err> // '';
}

# The numbers of the program's events in a log, in order: "0-99" if each is there once.
sub numbers {
    my ($log) = @_;
    my @values = sort { $a <=> $b } `'$B/bin/eventcnv' -E UserWord '$log' 2>/dev/null` =~ / value=(\d+)/g;
    for my $i (1 .. $#values) {
        return "$values[$i - 1], then $values[$i]" if $values[$i] != $values[$i - 1] + 1;
    }
    return @values ? "$values[0]-$values[-1]" : 'none';
}

# --check of a log: its status, and what it says.
sub check {
    my ($log) = @_;
    my $said = `'$B/bin/eventcnv' --check $log 2>&1`;
    return $? == 0 ? '0' : ($? >> 8) . ": $said";
}

# Is it found out wherever a log is cut?  At each beginning of a block but the first; how often it is not.
sub uncut {
    my ($log) = @_;
    my ($bytes, $passed, $cuts) = ('', 0, 0);
    open my $file, '<:raw', $log or return 'no log';
    { local $/; $bytes = <$file> }
    while ($bytes =~ /\x8fPAW(?:blk|hdr)\n/g) {
        my $at = $-[0];
        next if $at == 0;
        open my $cut, '>:raw', 'cut.paw' or die;
        print {$cut} substr($bytes, 0, $at);
        close $cut;
        ++$cuts;
        ++$passed if check('cut.paw') eq '0';
    }
    return $cuts > 3 ? $passed : "only $cuts cuts";
}

# A log that is opened while the program runs, of threads that had events before, behind a flush, or have none afterwards.
my %recorded = ('by itself' => ['env', 'PAWPRINT_LOG=a.paw'], 'by eventrec' => ["'$B/bin/eventrec'", '-o', 'a.paw'],
                'overwriting' => ["'$B/bin/eventrec'", '-p', 'overwrite', '-o', 'a.paw'],
                'waiting' => ["'$B/bin/eventrec'", '-p', 'block', '-n', '4', '-o', 'a.paw']);
for my $how (sort keys %recorded) {
    fresh;
    my $said = ways($recorded{$how}, 'thread 10000', 20000, 'flush', 'open b.paw', 5000, 'thread 20000', 'flush', 500,
                    'open c.paw', 20000, 'thread 100');
    is numbers('a.paw'), '0-75599', "$how: the first log has all";
    # A block that was begun before goes there whole, and an event has 16 bytes or more.
    for (['b.paw', 30000], ['c.paw', 55500]) {
        my ($log, $opened) = @$_;
        my ($first, $last) = split /-/, numbers($log);
        ok $last eq '75599' && $first <= $opened && $first > $opened - 3 * 32768 / 16, "$log has everything from when it was opened, and little from before"
            or diag "$first-$last";
    }
    is check("$_.paw"), '0', "and $_.paw lacks nothing" for qw(a b c);
    is uncut("$_.paw"), 0, "cut at any block, $_.paw lacks something" for qw(a b c);
    is check('a.paw b.paw c.paw'), '0', 'nor do all of them together';
}

# A program that forks, with two logs; and one whose threads still run when it ends.
for my $how ('by itself', 'by eventrec') {
    fresh;
    ways($recorded{$how}, 1000, 'open b.paw', 9000, 'fork', 20000, 'thread 1000', 10);
    is numbers('a.paw'), '0-31009', "$how: a program and its child";
    like numbers('b.paw'), qr/^\d{1,3}-31009$/, 'both have all in the second log';
    is check("$_.paw"), '0', "and $_.paw lacks nothing" for qw(a b);
    is uncut('b.paw'), 0, 'cut anywhere it does';
    fresh;
    ways($recorded{$how}, 1000, 'open b.paw', 9000, 'stay 20000', 1000, 'stay 10');
    is numbers('a.paw'), '0-31009', "$how: a program whose threads run on";
    like numbers('b.paw'), qr/^\d{1,3}-31009$/, 'has all of it in the second log';
    is check('a.paw'), '0', 'the first lacks nothing';
    # Its last header block has nothing new.
    is uncut('a.paw'), 1, 'cut before that it does, although what the threads have is found in memory' if $how eq 'by itself';
    if ($how eq 'by itself') {
        my %numbers = map { $_ => numbers($_) } qw(a.paw b.paw);
        system "$B/bin/eventrec --clean a.paw b.paw >/dev/null";
        is numbers($_) . ' ' . check($_), "$numbers{$_} 0", "eventrec --clean: $_ has all of it, and lacks nothing" for qw(a.paw b.paw);
    }
    # Threads that run until the process dies leave what they have in its memory.  By itself that stays, and is found with
    # either log.  Under eventrec the collector has it, adds it to its own log and removes it: nobody can say of the second
    # that it has their last events, though here it does, since they stand still.  So it must not be called whole.
    $how eq 'by itself' or like check('b.paw'), qr/\A1: eventcnv: b\.paw: the end of process \d+ is missing, and its newest events, if there were any: what no receiver refused was in \S+, which is gone\n\z/,
            'what they did at the very end may be missing in the second, and that is said';
}

chdir '/';
done_testing;
