#!/usr/bin/perl
# agree.t -- all views of a log say the same where they say the same thing: threads whose stamps contradict each other,
# events that are missing, families of processes at random, parts of logs
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir family_words make_log run);
use JSON::PP qw(decode_json);
use List::Util qw(sum0 max);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $seed = $ENV{SEED} // int rand 2 ** 31;
diag "SEED=$seed" if $ENV{SEED};
note "SEED=$seed";
srand $seed;

# All of them together, and each alone.
sub agree {
    my ($what, @options) = @_;
    my @views = qw(summary sizes lifetimes pools timeline threads events);
    my ($status, $out, $err) = run("$B/bin/eventview", join(',', @views), '--json', '--top', 1 << 30, '--slices', 1 + int rand 99, @options);
    my $view = eval { decode_json($out) } or return fail "$what: no JSON ($status): $err";
    my ($sum, $sizes, $lives, $pools, $time, $threads, $events) = @$view{@views};
    my @wrong;
    my $same = sub { push @wrong, "$_[0]: $_[1] and $_[2]" if $_[1] != $_[2] };

    $same->('peak by size', $sizes->{peak_bytes}, $sum->{peak_bytes});
    $same->('peak by class', sum0(map { $_->{peak_objects} } @{$sizes->{classes}}), $sum->{peak_objects});
    $same->('peak over time', max(map { $_->{live_bytes_peak} // 0 } @{$time->{slices}}), $sum->{peak_bytes});
    $same->('left by size', $sizes->{left_bytes}, $sum->{live_bytes});
    $same->('left by exact size', sum0(map { $_->{left_objects} } @{$sizes->{sizes}}), $sum->{live_objects});
    $same->('left by pool', sum0(map { $_->{left_bytes} } @{$pools->{pools}}), $sum->{live_bytes});
    $same->('left by age', $lives->{left_objects}, $sum->{live_objects});
    $same->('allocated by size', $sizes->{allocated_bytes}, $sum->{total_bytes});
    $same->('allocated by pool', sum0(map { $_->{allocated_bytes} } @{$pools->{pools}}), $sum->{total_bytes});
    $same->('allocated over time', sum0(map { $_->{allocated_bytes} } @{$time->{slices}}), $sum->{total_bytes});
    $same->('allocated by thread', sum0(map { $_->{allocated_bytes} } map { @{$_->{by_thread}} } @{$sum->{processes}}), $sum->{total_bytes});
    $same->('gone', $lives->{gone_objects} + $lives->{earlier_objects}, $sum->{frees} + $sum->{without_free});
    $same->('gone by time', sum0(map { $_->{objects} } @{$lives->{seconds}}), $lives->{gone_objects});
    $same->('gone by bytes', sum0(map { $_->{objects} } @{$lives->{meanwhile}}), $lives->{gone_objects});
    $same->('temporary', $lives->{temporary_objects}, $sum->{temporary_objects});
    $same->('frees over time', sum0(map { $_->{frees} } @{$time->{slices}}), $sum->{frees});
    $same->('events', $events->{events}, $sum->{events});
    $same->('events over time', sum0(map { $_->{events} } @{$time->{slices}}), $sum->{events});
    is "@wrong", '', $what;
    my $one = $views[1 + rand 6];
    my @of = ($one =~ /^(sizes|pools|threads)$/ ? ('--top', 1 << 30) : (), $one eq 'timeline' ? ('--slices', scalar @{$time->{slices}}) : ());
    my (undef, $alone) = run("$B/bin/eventview", $one, '--json', @of, @options);
    is_deeply decode_json($alone), $view->{$one}, "$one alone says the same";
    return $view;
}

for my $kind (qw(single churn lost)) {
    my $log = make_log($kind);
    agree("$kind: all", $log);
    my ($first, $last) = @{agree("$kind: so many", '-n', 1000 + int rand 1000, $log)->{events}}{qw(first last)};
    agree("$kind: a part", '--from', sprintf('%.9f', $last / 3), '--to', sprintf('%.9f', $last * 0.9), $log);
    agree("$kind: a filter", '-e', 'size < 100', $log);
}

# Families at random.
for my $round ($ENV{SAN} ? () : 1 .. 4) { # nothing can be preloaded into a sanitized program
    my @words = family_words(0);
    my $log = "$Dir/family$round.paw";
    my ($status, undef, $said) = run("$B/bin/eventrec", '-o', $log, $round % 2 ? () : ('-m', 'manage'), '--', "$B/prog/known", @words);
    is $status, 0, "family $round is recorded" or diag "@words: $said";
    my $all = agree("family $round", $log);
    my @pids = map { $_->{pid} } @{$all->{summary}{processes}};
    agree("family $round: one process", '--process', $pids[rand @pids], $log);
    agree("family $round: a part", '--from', sprintf('%.9f', rand $all->{events}{last}), $log);
}

agree('several logs', map { "$Dir/$_.paw" } $ENV{SAN} ? qw(single churn) : qw(family1 churn family2));

done_testing;
