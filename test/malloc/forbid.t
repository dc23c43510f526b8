#!/usr/bin/env perl
# forbid.t -- a program that installs filters of seccomp is not killed for what the library does, and what it does is recorded
# or counted, to the last event
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv, $so) = ("$B/bin/eventrec", "$B/bin/eventcnv", "$B/lib/libpawprint.so");
my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/log";
my $times = 30000;

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer makes calls of its own' if $ENV{SAN};

sub status {
    my $status = system @_;
    return $status & 127 ? "signal @{[$status & 127]}" : $status >> 8;
}

# allocations() -- those of 77 bytes in the log, and the events that it says were discarded
sub allocations {
    my $count = grep { /PoolAlloc .*size=77$/ } `$cnv $log 2>$dir/said`;
    my $discarded = do { open my $in, '<', "$dir/said" or die $!; local $/; <$in> =~ /(\d+) events were discarded/ ? $1 : 0 };
    return ($count, $discarded);
}

# total() -- all events of the log, with those that were discarded
sub total {
    my $count = grep { /^\S+ \S+ Pool(?:Alloc|Free) / } `$cnv $log 2>/dev/null`;
    return $count + (allocations())[1];
}

plan skip_all => 'no filters of seccomp here' if status("$B/prog/forbid prctl most 1") != 5;

my $syscall = `uname -m` =~ /^x86_64/; # elsewhere the library does not see it
# The calls of the library that a filter may be after: each by itself.
my @single = $syscall ? (39, 186, 234, 302, 9, 28, 46, 72, 5, 1, 2, 257, 263, 110, 202, 14, 73) : ();

for my $way (["$rec -o $log", 'with a collector'], ["env LD_PRELOAD=$so PAWPRINT_LOG=$log", 'alone']) {
    my ($before, $name) = @$way;
    for my $how ('prctl', $syscall ? 'syscall' : ()) {
        for my $what (qw(most threads bad all), $how eq 'prctl' ? @single : ()) {
            my $plain = status("$B/prog/forbid $how $what $times");
            next if $plain ne 5; # it is the program's own call that is killed for
            is status("$before $B/prog/forbid $how $what $times 2>$dir/err"), 5, "$name, $how, $what: the program runs to its end";
            my ($count, $discarded) = allocations();
            is $? >> 8, 0, "$name, $how, $what: the log is sound";
            if ($what eq 'all') {
                cmp_ok $count, '>', 1000, "$name, $how, $what: events are there";
                my $sum = total();
                ok $sum >= 2 * $times && $sum < 2 * $times + 1000, "$name, $how, $what: or counted" or diag $sum;
            } else {
                is "$count $discarded", "$times 0", "$name, $how, $what: nothing is lost";
            }
            system "$rec --clean $log >$dir/said 2>&1";
            unlink $log;
        }
    }
    # What the child of a process does that may not be asked for its number is not recorded; it is not killed.
    is status("$before $B/prog/forbid prctl fork 1000 2>$dir/err"), 5, "$name: a child of fork runs to its end";
    cmp_ok((allocations())[0], '>=', 1000, "$name: and its parent is recorded");
    system "$rec --clean $log >$dir/said 2>&1";
    unlink $log;
}
done_testing;
