#!/usr/bin/env perl
# senders.t -- what a process that sends by itself has left belongs to the log that its receiver made for it, and to no other
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv, $so) = ("$B/bin/eventrec", "$B/bin/eventcnv", "$B/lib/libpawprint.so");
my $dir = tempdir(CLEANUP => 1);
my $count = 1500;

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};

# wait_for($code) -- wait until it is true, half a minute at most
sub wait_for { for (1 .. 600) { return 1 if $_[0]->(); sleep 0.05 } return 0 }

# lines($path) -- of a file, none if it is not there
sub lines { open my $in, '<', $_[0] or return; return <$in> }

# family($name) -- record a process and its child, kill both and then the receiver; the logs of the two
sub family {
    my ($name) = @_;
    my $listen = fork // die;
    if ($listen == 0) {
        open STDERR, '>', "$dir/$name.err" or die;
        exec $rec, '--listen', "unix:$dir/$name.sock", '-o', "$dir/$name" or die;
    }
    wait_for(sub { -S "$dir/$name.sock" }) or diag lines("$dir/$name.err");
    my $family = fork // die;
    if ($family == 0) {
        @ENV{qw(LD_PRELOAD PAWPRINT_LOG PAWPRINT_KINDS)} = ($so, "unix:$dir/$name.sock", 'Object');
        open STDOUT, '>', "$dir/$name.out" or die;
        exec "$B/prog/siblings", $count or die;
    }
    wait_for(sub { (() = lines("$dir/$name.out")) == 2 }) or diag 'the family does not get on';
    my %pid = map { split } lines("$dir/$name.out");
    kill KILL => values %pid;
    waitpid $family, 0;
    sleep 0.5; # who listens has what came
    kill TERM => $listen;
    waitpid $listen, 0;
    my %log;
    for my $log (glob "$dir/$name.*.paw") {
        my ($pid) = `$cnv --header $log 2>/dev/null` =~ /^pid: (\d+)$/m;
        for my $who (keys %pid) { $log{$who} = $log if $pid{$who} == ($pid // 0) }
    }
    return %log;
}

# holds($log) -- objects of the process and of its child, and the status of --check
sub holds {
    my ($log) = @_;
    my $text = `$cnv -k Object $log 2>/dev/null`;
    my %n = (777 => 0, 555 => 0);
    ++$n{$1} while $text =~ /\bPoolAlloc .*size=(777|555)\b/g;
    return "$n{777} $n{555}, " . (system("$cnv --check $log 2>/dev/null") >> 8);
}

my %log = family('one');
is join(' ', sort keys %log), 'child parent', 'each process has a log of its own';
is holds($log{parent}), "$count 0, 0", 'the log of the process gets what it left, and nothing of its child';
is holds($log{child}), "0 $count, 0", 'and the other way';
is system("$rec --clean $log{parent} >$dir/said 2>&1"), 0, 'what is left of the process is added' or diag lines("$dir/said");
is holds($log{parent}), "$count 0, 0", 'to its log';
is holds($log{child}), "0 $count, 0", 'and what is left of the child is there still';
is system("$rec --clean $log{child} >$dir/said 2>&1"), 0, 'until it is added' or diag lines("$dir/said");
is holds($log{child}), "0 $count, 0", 'to that of the child';

%log = family('both');
is system("$rec --clean $log{child} $log{parent} >$dir/said 2>&1"), 0, 'both are named' or diag lines("$dir/said");
is holds($log{parent}), "$count 0, 0", 'the process has its own';
is holds($log{child}), "0 $count, 0", 'and so has the child';
is join('', grep { m{/pawprint-} && !/: added to the log; removed$/ } lines("$dir/said")), '', 'and nothing stays';
done_testing;
