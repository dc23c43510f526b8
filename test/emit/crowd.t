#!/usr/bin/env perl
# crowd.t -- any number of threads, whatever room there is for their blocks: each event arrives, or is counted
#
# SOAK=1 has more rounds of what depends on who comes first.
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(with_shm can_mount);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(time);

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($threads, $objects) = (4500, 20);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# The status of a command and what it says on both outputs.
sub say_of {
    my (@command) = @_;
    my $pid = open(my $out, '-|') // die "fork: $!\n";

    if ($pid == 0) {
        open STDERR, '>&', \*STDOUT or die;
        exec @command or exit 127;
    }
    local $/;
    my $text = <$out> // '';
    close $out;
    return ($?, $text);
}

# How many of the crowd's allocations the log has, and how many it says were discarded.
sub counted {
    my ($log) = @_;
    my (undef, $lines) = say_of('sh', '-c', '"$0" -E PoolAlloc -e "size == 4711" "$1" 2> /dev/null | wc -l', "$B/bin/eventcnv", $log);
    my ($status, $check) = say_of("$B/bin/eventcnv", '--check', $log);
    my ($discarded) = $check =~ /(\d+) events? w(?:as|ere) discarded/;

    return ($lines + 0, $discarded // 0, $status >> 8);
}

my ($status, $text) = say_of("$B/prog/crowd", $threads, 1);
plan skip_all => "there cannot be $threads threads here: $text" if $status != 0;

# More threads than there are places in the region.
{
    my $log = "$dir/alone.paw";
    my ($status, $text) = say_of('env', "PAWPRINT_LOG=$log", "LD_PRELOAD=$B/lib/libpawprint.so", "$B/prog/crowd", $threads, $objects);
    is $status, 0, "$threads threads at one time, without a collector" or diag $text;
    my ($got, undef, $check) = counted($log);
    is $got, $threads * $objects, 'each event is there';
    is $check, 0, 'and the log lacks nothing';
    # Its main thread ends first: what the others may have emitted since is in memory.
    say_of("$B/bin/eventrec", '--clean', $log);
}

# The same under eventrec: blocks that are being filled have all places, which no policy may count as a collector that is behind.
for (['observe', 'discard'], ['observe', 'stop'], ['observe', 'block'], ['observe', 'overwrite'], ['manage', 'discard'], ['manage', 'stop']) {
    my ($mode, $policy) = @$_;
    my $log = "$dir/many.paw";
    my ($status, $text) = say_of("$B/bin/eventrec", '-m', $mode, '-p', $policy, '-o', $log, '--', "$B/prog/crowd", $threads, $objects);
    is $status, 0, "$mode, $policy: $threads threads at one time, under eventrec" or diag $text;
    is join(' ', counted($log)), $threads * $objects . ' 0 0', "$mode, $policy: each event is there, and the log lacks nothing" or diag $text;
    unlink $log;
}

# Without a collector each thread sends its own blocks; where only one may be full it waits for who is at it.
{
    my $log = "$dir/narrow.paw";
    for (1 .. 3) {
        unlink $log;
        my ($status, $text) = say_of('env', "PAWPRINT_LOG=$log", 'PAWPRINT_BLOCKS=1', 'PAWPRINT_BLOCK=4096',
                                     "LD_PRELOAD=$B/lib/libpawprint.so", "$B/prog/churn", 8, 3000);
        is +(say_of("$B/bin/eventcnv", '--check', $log))[1], '', 'eight threads and room for one full block: nothing is discarded' or diag $text;
    }
}

# Under eventrec, where there is room for the blocks of a part of the threads.
SKIP: {
    my @small = with_shm('2m');
    skip 'no file system can be mounted here', 1 if !can_mount();
    for (map { my $mode = $_; map { [$mode, $_] } qw(block overwrite discard stop) } 'observe', 'manage') {
        my ($mode, $policy) = @$_;
        my ($log, $threads) = ("$dir/$mode-$policy.paw", $mode eq 'observe' ? 800 : 300);
        my $all = $threads * $objects;
        my ($status, $text) = say_of(@small, "$B/bin/eventrec", '-m', $mode, '-p', $policy, '-o', $log, '--', "$B/prog/crowd", $threads, $objects);
        is $status, 0, "$mode, $policy: $threads threads, and 2 MiB for all blocks" or diag $text;
        my ($got, $discarded) = counted($log);
        if ($policy eq 'block') {
            is "$got $discarded", "$all 0", "$mode, block: each event is there, and none is discarded";
        } elsif ($policy eq 'stop') {
            like $text, qr/recording stopped after/, "$mode, stop: it says when it stopped";
            my %of;
            ++$of{$_} for (say_of("$B/bin/eventcnv", '-E', 'PoolAlloc', '-e', 'size == 4711', $log))[1] =~ m{^\S+ \d+/(\d+) PoolAlloc }mg;
            # One thread runs at a time: all that came before the one in which it happened are whole.
            ok %of && %of < $threads && (grep { $_ != $objects } values %of) <= 1, "$mode, stop: what came before is whole, and nothing came after"
                or diag "$got of $all, of " . scalar(keys %of) . " threads: $text";
        } else {
            cmp_ok $got + $discarded, '>=', $all, "$mode, $policy: what is not there is counted";
        }
    }
    # What was in private memory is gone with the program.
    for my $policy ('block', 'overwrite') {
        my $log = "$dir/killed-$policy.paw";
        my (undef, $text) = say_of(@small, "$B/bin/eventrec", '-p', $policy, '-o', $log, '--', "$B/prog/crowd", 800, $objects, 'kill');
        my ($got, $discarded, $check) = counted($log);
        cmp_ok $got + $discarded, '>=', 800 * $objects, "$policy, and the program is killed: what is not there is counted" or diag $text;
        is $check, 1, 'and the log does not say that it has all' if $got < 800 * $objects;
    }
}

# Where /dev/shm has so little that a part of a region's own pages is there, and the rest is not: in each size the program runs.
SKIP: {
    skip 'no file system can be mounted here', 8 if !can_mount();
    for my $policy (qw(block overwrite discard stop)) {
        my $log = "$dir/narrow-$policy.paw";
        my %by = (eventrec => ["$B/bin/eventrec", '-p', $policy, '-o', $log, '--'],
            'the library alone' => ['env', "LD_PRELOAD=$B/lib/libpawprint.so", "PAWPRINT_LOG=$log", "PAWPRINT_POLICY=$policy"]);
        for my $by (sort keys %by) {
            my @bad;
            for my $size (map { ($policy eq 'overwrite' ? 4 : 12) * $_ } 1 .. ($policy eq 'overwrite' ? 30 : 10)) {
                my @within = ('unshare', '-rm', 'sh', '-c', "mount -t tmpfs -o size=${size}k none /dev/shm && \"\$@\"; s=\$?; $B/bin/eventrec --clean $log >/dev/null 2>&1; exit \$s", 'sh');
                unlink $log;
                my ($status, $text) = say_of(@within, @{$by{$by}}, "$B/prog/crowd", 2, $objects);
                my ($got, $discarded) = counted($log);
                push @bad, "${size}K: status $status, $got there, $discarded counted: $text"
                    if $status != 0 || ($policy ne 'stop' && $got + $discarded < 2 * $objects);
            }
            is join("\n", @bad), '', "$policy, by $by: in each size that /dev/shm can have the program runs, and nothing is lost that is not counted";
        }
    }
}

# The same of programs that follow each other, and look at what is left of the one before: whose last pages may not be there.
SKIP: {
    skip 'no file system can be mounted here', 2 if !can_mount();
    for my $policy (qw(discard overwrite)) {
        my @died;
        for my $size (map { 4 * $_ } 1 .. 35) {
            my @within = with_shm("${size}k");
            my ($status, $text) = say_of(@within, 'env', "LD_PRELOAD=$B/lib/libpawprint.so", "PAWPRINT_LOG=$dir/after.paw", "PAWPRINT_POLICY=$policy",
                                         'sh', '-c', 'for i in 1 2 3; do "$0" || exit; done; exit 0', "$B/prog/steps");
            push @died, "${size}K: $status $text" if $status != 0 || $text !~ /12.*12.*12/s;
            unlink glob "$dir/after.paw*";
        }
        is join("\n", @died), '', "$policy: in each size that /dev/shm can have programs follow each other";
    }
}

# And of a program that becomes another one when eventrec is dead.
SKIP: {
    skip 'no file system can be mounted here', 1 if !can_mount();
    skip 'no process can be traced here', 1 if (say_of("$B/prog/steps", 1))[0] >> 8 == 77;
    my @died;
    for my $size ((map { 4 * $_ } 18 .. 26) x ($ENV{SOAK} ? 4 : 1)) {
        my $log = "$dir/became.paw";
        my (undef, $text) = say_of('unshare', '-rm', 'sh', '-c', "exec 2>/dev/null; mount -t tmpfs -o size=${size}k none /dev/shm && $B/bin/eventrec -o $log -- $B/prog/steps 5000 orphan | cat");
        push @died, "${size}K: $text" if $text !~ /^12 \d+ ended$/m;
        unlink glob "$log*";
    }
    is join("\n", @died), '', 'nor does one die that looks for what it has left itself, when eventrec is dead';
}

# All at once: some are in private memory and make room there, while the collector drains what is shared.
SKIP: {
    my @small = with_shm('4m');
    skip 'no file system can be mounted here', 1 if !can_mount();
    my ($log, $threads, $objects) = ("$dir/together.paw", 600, 1500);
    for my $mode ('observe', 'manage', $ENV{SOAK} ? ('observe') x 4 : ()) {
        unlink $log;
        my ($status, $text) = say_of(@small, "$B/bin/eventrec", '-m', $mode, '-p', 'block', '-n', 8, '-k', 'Object', '-o', $log, '--',
                                     "$B/prog/crowd", $threads, $objects, 'together');
        is $status, 0, "$mode, block: $threads threads at work at one time live on" or diag $text;
        my ($got, $discarded, $check) = counted($log);
        is "$got $discarded $check", $threads * $objects . ' 0 0', "$mode, block: each of their events is there, and none is discarded";
    }
    # eventrec stands still, all threads wait for it, and it is killed: they go on by themselves, and discard nothing.  Its pipe
    # is closed when the last of the family has ended.
    my $killed = <<'END';
my ($rec, $log, @program) = @ARGV;
pipe my $ended, my $family or die;
my $pid = fork // die;
if ($pid == 0) {
    open STDOUT, '>&', $family or die;
    exec $rec, '-p', 'block', '-n', 8, '-k', 'Object', '-o', $log, '--', @program or die;
}
close $family;
for (1 .. 1000) { last if -e $log && -s _ > 300000; select undef, undef, undef, 0.01 }
kill STOP => $pid;
select undef, undef, undef, 0.05;
kill KILL => $pid;
readline $ended;
system $rec, '--clean', $log;
END
    for my $round (1 .. ($ENV{SOAK} ? 5 : 1)) {
        unlink $log;
        my (undef, $text) = say_of(@small, $^X, '-e', $killed, "$B/bin/eventrec", $log, "$B/prog/crowd", 300, 3000, 'together');
        is join(' ', counted($log)), '900000 0 0', "block, eventrec stands still and is killed: nothing is discarded, $round" or diag $text;
    }
}

# Whatever room /dev/shm has: nothing is lost without being counted, and no policy crawls.  The measure is a large one.
SKIP: {
    my ($threads, $objects) = (200, 2000);
    my %mount = (large => '-o size=1g', '64m' => '-o size=64m', '1m' => '-o size=1m', 'read-only' => '-o ro');
    my @in = map { my $options = $mount{$_}; [$_, 'unshare', '-rm', 'sh', '-c', "mount -t tmpfs $options none /dev/shm && exec \"\$\@\"", 'sh'] }
        'large', '64m', '1m', 'read-only';
    skip 'no file system can be mounted here', 1 if (say_of(@{$in[0]}[1 .. $#{$in[0]}], 'true'))[0] != 0;
    for my $policy (qw(none discard block overwrite stop)) {
        my ($large, $log) = (undef, "$dir/room.paw");
        # Without a collector: the threads that live on have their last blocks in shared memory.
        my @how = $policy eq 'none' ? ('sh', '-c', "PAWPRINT_LOG=$log LD_PRELOAD=$B/lib/libpawprint.so \"\$\@\"; status=\$?; "
                                                   . "$B/bin/eventrec --clean $log; exit \$status", 'sh')
                                    : ("$B/bin/eventrec", '-p', $policy, '-o', $log, '--');
        # Runs it in one of the rooms; status, output, seconds.
        my $run = sub {
            my (undef, @enter) = @{$_[0]};
            my $begin = time;
            return (say_of(@enter, @how, "$B/prog/crowd", $threads, $objects), time - $begin);
        };
        for my $in (@in) {
            my $room = $in->[0];
            my ($status, $text, $seconds) = $run->($in);
            my ($got, $discarded, $check) = counted($log);
            my $all = $threads * $objects;
            $large //= $seconds;

            is $status, 0, "$policy, $room: the program ends well" or diag $text;
            # Others may have had the processor meanwhile: what crawls does so again, right after the large one.
            for (1 .. 2) {
                last if $seconds < 6 * $large + 3;
                diag "$policy, $room: $seconds s, and the large one $large s: once more";
                ($large, $seconds) = map { unlink $log, glob "$log.*"; ($run->($_))[2] } $in[0], $in;
            }
            cmp_ok $seconds, '<', 6 * $large + 3, "$policy, $room: it does not crawl";
            if ($policy eq 'block' || $policy eq 'none' || ($room eq 'large' && $discarded == 0)) {
                is "$got, $check", "$all, 0", "$policy, $room: each event is there";
            } elsif ($policy eq 'discard') {
                cmp_ok $got + $discarded, '>=', $all, "$policy, $room: what is not there is counted";
            } elsif ($policy eq 'overwrite') {
                is $discarded, 0, "$policy, $room: older blocks make room, and no new event is discarded";
            } else {
                ok $got == $all || $text =~ /recording stopped/, "$policy, $room: it says when it stopped";
            }
            unlink $log, glob "$log.*";
        }
    }
}

# On a full disk nobody can write, neither the collector nor the process: who is to wait for room waits some seconds in all, and each event is
# in the log, in memory, or counted as lost, once.  The program counts its own events.
SKIP: {
    my $emitted = 300_000;
    my $mounts = "mount -t tmpfs -o size=64m none /dev/shm && mount -t tmpfs -o size=1m none $dir/full";
    my $log = "$dir/full/log.paw";
    mkdir "$dir/full";
    my @full = ('unshare', '-rm', 'sh', '-c', "$mounts && exec \"\$\@\"", 'sh');
    skip 'no file system can be mounted here', 5 if (say_of(@full, 'true'))[0] != 0;
    my ($status, $text) = say_of(@full, 'sh', '-c', 'echo $1 | timeout -k 9 120 "$0/bin/eventrec" -p block -n 16 -b 4K --raw --sample=0 -k User -o $2 -- $0/prog/steady 0; '
                                 . 'echo status $?; echo has $($0/bin/eventcnv -E UserWord $2 | wc -l); $0/bin/eventcnv --check $2; $0/bin/eventview summary $2',
                                 $B, $emitted, $log);
    my ($events, $discarded) = $text =~ /eventrec: (\d+) events \((\d+) discarded\)/;
    my ($has) = $text =~ /^has (\d+)$/m;
    my ($checked) = $text =~ /^eventcnv: (\d+) events were discarded/m;

    like $text, qr/^$emitted\n(?:.*\n)*status 0$/m, 'a program that is to wait for room does not wait for a full disk' or diag $text;
    cmp_ok $discarded // 0, '>', 0, 'it loses events';
    is $has + $discarded, $emitted, 'each event is in the log, in memory, or counted as discarded' or diag $text;
    is $checked, $discarded, 'readers count the same';
    unlike $text, qr/ missing|^damage +\d/m, 'and count none twice' or diag $text;
}

done_testing;
