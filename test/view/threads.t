#!/usr/bin/perl
# threads.t -- eventview threads: against a count of what eventcnv gives as CSV
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my %wait = (MutexRequest => ['mutex', 1], MutexAcquire => ['mutex', 0], RwlockRequest => ['rwlock', 1], RwlockAcquire => ['rwlock', 0],
            SpinRequest => ['spin', 1], SpinAcquire => ['spin', 0], BarrierReach => ['barrier', 1], BarrierResume => ['barrier', 0],
            CondWaitBegin => ['cond', 1], CondWaitEnd => ['cond', 0], SemRequest => ['sem', 1], SemAcquire => ['sem', 0],
            ThreadJoinBegin => ['thread', 1], ThreadJoinEnd => ['thread', 0]);

sub oracle {
    my (@options) = @_;
    my (%row, %index);
    open my $in, '-|', "$B/bin/eventcnv", '-f', 'csv', @options or die $!;
    while (<$in>) {
        chomp;
        my @field = split /,/, $_, -1;
        if ($. == 1) {
            $index{$field[$_]} //= $_ for 0 .. $#field;
            next;
        }
        my ($time, $pid, $tid, undef, $name) = @field;
        my $ns = $time =~ s/\.//r + 0;
        my $row = $row{"$pid/$tid"} //= {};
        if ($name eq 'TaskSample') {
            my $its = $row{$field[$index{pid_}] . '/' . $field[$index{task}]} //= {};
            my $own = $field[$index{pid_}] == $pid;
            next if $its->{ended} && !$own; # read before its end, and told after it
            $its->{ended} = $own;
            for my $field (qw(running user system waiting blocked disk)) { # the collector's clocks are coarser
                my $word = $field[$index{$field}];
                $its->{$field} = $word if $word ne '' && !($own && ($its->{$field} // 0) > $word);
            }
            ++$its->{samples};
        }
        ++$row->{events};
        ++$row->{calls} if $name =~ /^Pool(Alloc(Zero|Aligned)?|Free|ResizeBegin)$/;
        $row->{resizeSince} = $ns if $name eq 'PoolResizeBegin';
        $row->{resizing} += $ns - $row->{resizeSince} if $name eq 'PoolResizeEnd';
        next if !$wait{$name};
        my ($for, $begins) = @{$wait{$name}};
        if ($begins) {
            $row->{since}{$for} = $ns;
        } elsif (defined(my $since = delete $row->{since}{$for})) {
            ++$row->{wait}{$for}{count};
            $row->{wait}{$for}{ns} += $ns - $since;
        }
    }
    return \%row;
}

sub compare {
    my ($what, @options) = @_;
    my ($status, $out, $err) = run("$B/bin/eventview", 'threads', '--json', @options);
    my $view = decode_json($out);
    my $true = oracle(@options);
    my (@wrong, %seen);

    is $status, 0, "$what: status" or diag $err;
    for my $row (@{$view->{threads}}) {
        my $who = "$row->{pid}/$row->{tid}";
        my $its = $true->{$who} or push @wrong, "$who is not there" and next;
        $seen{$who} = 1;
        push @wrong, "$who: events" if $row->{events} != ($its->{events} // 0);
        push @wrong, "$who: calls" if $row->{allocator_calls} != ($its->{calls} // 0);
        push @wrong, "$who: resizing" if abs($row->{resizing} - ($its->{resizing} // 0) / 1e9) > 2e-9;
        push @wrong, "$who: samples" if $row->{samples} != ($its->{samples} // 0);
        for my $field (qw(running user system waiting blocked disk)) {
            push @wrong, "$who: $field" if defined $row->{$field} != (($its->{$field} // '') ne '')
                                        || (defined $row->{$field} && abs($row->{$field} * 1e6 - $its->{$field}) > 0.6);
        }
        push @wrong, "$who: elapsed" if defined $row->{elapsed} && defined $row->{waiting}
            && abs($row->{elapsed} - $row->{running} - $row->{waiting} - $row->{blocked}) > 3e-6;
        push @wrong, "$who: ps" if defined $row->{ps} && abs($row->{ps} - ($row->{user} + $row->{system}) / $row->{elapsed}) > 1e-5;
        my %waits = map { $_->{for} => $_ } @{$row->{waits}};
        for my $for (map { $_->[0] } grep { $_->[1] } values %wait) {
            push @wrong, "$who: waits for $for" if ($waits{$for}{count} // 0) != ($its->{wait}{$for}{count} // 0)
                || abs(($waits{$for}{seconds} // 0) - ($its->{wait}{$for}{ns} // 0) / 1e9) > 2e-9
                || defined $waits{$for}{since} != defined $its->{since}{$for};
        }
        my $on = $row->{on_unknown_processors};
        $on += $_->{events} for @{$row->{processors}};
        push @wrong, "$who: processors" if $on != $row->{events};
    }
    push @wrong, "$_ is missing" for grep { !$seen{$_} && ($true->{$_}{calls} || $true->{$_}{samples}) } keys %$true;
    is "@wrong", '', "$what: every figure of each thread";
    return $view;
}

my $log = "$Dir/threads.paw";
my ($status, undef, $said) = run("$B/bin/eventrec", '-o', $log, '-k', '+Sync', '--sample', 10, '--', "$B/prog/sync");
is $status, 0, 'recorded' or diag $said;
my ($view) = compare('threads and locks', $log);
ok $view->{sampled} && $view->{sync_known}, 'what is known is said';
cmp_ok scalar @{$view->{threads}}, '>', 1, 'several threads';
cmp_ok scalar(grep { @{$_->{waits}} } @{$view->{threads}}), '>', 0, 'some of which wait';

# Cut in the middle of a wait.
my ($wait) = grep { / (Mutex|Rwlock|Sem|Barrier|CondWait|ThreadJoin)(Request|Reach|Begin) / }
             split /\n/, (run("$B/bin/eventcnv", $log))[1];
my ($time, $who) = $wait =~ /^(\d+\.\d+) (\S+)/;
my $cut = compare('cut in a wait', '--to', sprintf('%.9f', $time + 2e-9), $log);
my ($stuck) = grep { "$_->{pid}/$_->{tid}" eq $who } @{$cut->{threads}};
ok scalar(grep { defined $_->{since} } @{$stuck->{waits}}), 'who waits at the end is known';
like +(run("$B/bin/eventview", 'threads', '--to', sprintf('%.9f', $time + 2e-9), $log))[1],
    qr/^still waiting  $who for \w+ 0x[0-9a-f]+, since \d+\.\d{9} s$/m, 'and is named';

# Threads that come and go between two samples tell themselves what they did.
for my $work (100, 4000) {
    my $brief = "$Dir/brief.paw";
    unlink $brief;
    my @said = split /\n/, (run("$B/bin/eventrec", '-o', $brief, '--sample', 1000, '--', "$B/prog/briefs", 30, $work))[1];
    my $briefs = compare("threads of $work us", $brief);
    my %row = map { $_->{tid} => $_ } @{$briefs->{threads}};
    my ($main) = grep { $_->{pid} == $_->{tid} && defined $_->{elapsed} } @{$briefs->{threads}};
    my (@wrong, $all);
    for my $line (@said) {
        my ($tid, $running, $elapsed) = split / /, $line;
        my $row = $row{$tid} // {};
        my @its = map { defined $row->{$_} ? 1e6 * $row->{$_} : -1e9 } qw(running elapsed);
        # What is not within the thread's own measurement: its start, its output, its end.
        push @wrong, "$tid ran $running, not $its[0]" if $its[0] < $running - 1 || $its[0] > $running * 1.5 + 1000;
        push @wrong, "$tid took $elapsed, not $its[1]" if $its[1] < $elapsed - 1000;
        $all += $its[1];
        push @wrong, "$tid has no waiting" if $work > 1000 && !defined $row->{waiting};
    }
    is scalar @said, 30, 'which say themselves';
    is "@wrong", '', 'what they did';
    cmp_ok $all, '<', 1e6 * $main->{elapsed} + 5000, 'one after the other' if defined $main;
    my @window = @{decode_json((run("$B/bin/eventview", 'threads', '--json', '--from', 0.003, $brief))[1])->{threads}};
    my @begun = grep { defined $_->{elapsed} && defined $row{$_->{tid}}{elapsed} && $_->{pid} != $_->{tid} } @window;
    cmp_ok scalar(grep { abs($_->{running} - $row{$_->{tid}}{running}) > 1e-6 } @begun), '<=', 1,
        'a thread that begins in a window has all of its time'; # one may have begun before
    cmp_ok scalar @begun, '>', 10, 'such are most of them';
}

my $busy = "$Dir/busy.paw";
run("$B/bin/eventrec", '-o', $busy, '--sample', 10, '--', $^X, '-e', 'select undef, undef, undef, 0.2; my $t = times; 1 while times - $t < 0.25');
my ($perl) = grep { $_->{samples} } @{compare('a program that runs and sleeps', $busy)->{threads}};
SKIP: {
    skip 'the system does not say how long threads ran', 4 if !defined $perl->{elapsed};
    is $perl->{name}, 'perl', 'its name';
    cmp_ok $perl->{running}, '>', 0.2, 'it has run,';
    cmp_ok $perl->{blocked}, '>', 0.15, 'and slept,';
    cmp_ok $perl->{elapsed}, '>', 0.4, 'which is its time';
}
my $part = decode_json((run("$B/bin/eventview", 'threads', '--json', '--from', 0.22, $busy))[1]);
my ($later) = grep { $_->{samples} } @{$part->{threads}};
cmp_ok $later->{elapsed} // 0, '<=', ($perl->{elapsed} // 1) - 0.15, 'a window has the time between its samples';
my ($text) = (run("$B/bin/eventview", 'threads', $busy))[1];
like $text, qr/^thread +elapsed +running +user +system +waiting +blocked +ps$/m, 'for people: a head';
like $text, qr/^waits +were not recorded: eventrec -k \+Sync$/m, 'what was not recorded';
unlike $text, qr/^.{81}/m, 'no line is longer than 80 columns';
like +(run("$B/bin/eventview", 'threads', '-k', 'Object', $busy))[1], qr/^times +are not known: there are no samples/m, 'no samples are told';

done_testing;
