#!/usr/bin/perl
# growth.t -- whose memory rises, and by how much, against another count of the same events
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run view view_json);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $log = "$Dir/grows.paw";
sub of { ($_[0]{module} // '') =~ m{/grows$} ? $_[0]{function} : '' }

# What rises in time is to be seen.  A busy machine may let the program begin late, or end late, when it has freed all: so
# it runs longer, up to 6 s, until that is short beside it.
my ($doc, $status, $out, $err);
for my $steps (200, 800, 3000) {
    ($status, $out, $err) = run("$B/bin/eventrec", '--force', '-s', 1, '-o', $log, "$B/prog/grows", $steps);
    ($doc) = eval { decode_json((view('--json', 'growth', $log))[1]) };
    last if $doc && @{$doc->{growing}} == 1 && $doc->{growing}[0]{fit} > 0.8 && $doc->{growing}[0]{slices}[2] > 4096;
}
is($status, 0, 'recorded') or diag $err;
$doc = view_json('growth', $log);
is_deeply([map { of($_) } @{$doc->{growing}}], ['leak'], 'what rises is what leaks: not what was had at once, nor what comes and goes');
my $leak = $doc->{growing}[0];
cmp_ok($leak->{fit}, '>', 0.8, 'its fit');
is((view('growth', $log))[1] =~ /^growing +1 caller: /m, 1, 'for people');
like((view('growth', $log))[1], qr/^ +[\d.]+ KiB +[01]\.\d\d( +[\d.]+ KiB){4}  leak \(grows\)$/m, 'with its quarters');
like((view('growth', '-e', 'size == 1000000', $log))[1], qr/ all 1 caller$/m, 'one caller is no callers');

# The means of all slices, of all callers and of the one that leaks: bytes times seconds, event by event.
my ($begin, $end) = @$doc{qw(from to)};
my (%area, %object);
my $live = sub {
    my ($name, $from, $to, $bytes) = @_;
    for my $i (0 .. 15) {
        my ($a, $b) = map { $begin + ($end - $begin) * $_ / 16 } $i, $i + 1;
        my ($low, $high) = ($from > $a ? $from : $a, $to < $b ? $to : $b);
        $area{$name}[$i] += $bytes * ($high - $low) / ($b - $a) if $high > $low;
    }
};
my $is = sub { my ($o, $time) = @_; $live->($_, $o->[0], $time, $o->[1]) for 'all', $o->[2] ? 'leak' : () };
for (split /\n/, (run("$B/bin/eventcnv", '-k', 'Object', $log))[1]) {
    my ($time, undef, $name, @rest) = split ' ';
    my %p = map { /^(\w+)=(.*)/ ? ($1 => $2) : () } @rest;
    if ($name =~ /^PoolAlloc/) {
        $object{$p{addr}} = [$time, $p{size}, $p{size} == 1000];
    } elsif ($name =~ /^PoolFree/ && (my $o = delete $object{$p{addr}})) {
        $is->($o, $time);
    } elsif ($name =~ /^PoolResizeEnd/ && (my $old = delete $object{$p{old}})) {
        $is->($old, $time);
        $object{$p{addr}} = [$time, $p{size}, 0];
    }
}
$is->($_, $end) for values %object;
for my $name ('all', 'leak') {
    my $got = $name eq 'all' ? $doc->{all}{slices} : $leak->{slices};
    is(scalar(grep { abs($got->[$_] - ($area{$name}[$_] // 0)) > 5 } 0 .. 15), 0, "$name: the mean of each slice")
        or diag "@$got\n@{$area{$name}}";
}
my ($n, $sx, $sy, $sxx, $sxy) = (16, 0, 0, 0, 0);
for my $i (0 .. 15) {
    my ($x, $y) = (($i + 0.5) * ($end - $begin) / 16, $leak->{slices}[$i]);
    $sx += $x; $sy += $y; $sxx += $x * $x; $sxy += $x * $y;
}
my $slope = ($n * $sxy - $sx * $sy) / ($n * $sxx - $sx * $sx);
cmp_ok(abs($slope - $leak->{bytes_a_second}), '<', abs($slope) * 1e-4 + 1, 'the slope is that of the nearest line');
my $half = view_json('growth', '--to', $begin + ($end - $begin) / 2, $log);
cmp_ok(abs($half->{to} - $begin - ($end - $begin) / 2), '<', 1e-6, 'half of the run has its own quarters');

# A part that begins later knows what was there: two of the run's slices have the mean of one of its half's.
my $middle = $begin + ($end - $begin) / 2;
my $later = view_json('growth', '--from', sprintf('%.9f', $middle), $log);
is($later->{growing}[0]{function}, $leak->{function}, 'the second half has the same leak');
for my $pair ([$later->{all}, $doc->{all}, 'all'], [$later->{growing}[0], $leak, 'the leak']) {
    my ($half, $whole, $name) = (map({ $_->{slices} } @$pair[0, 1]), $pair->[2]);
    my @off = map { abs(($half->[2 * $_] + $half->[2 * $_ + 1]) / 2 - $whole->[8 + $_]) } 0 .. 7;
    is(scalar(grep { $_ > 50 } @off), 0, "$name: with what lived before") or diag "@off";
}
is_deeply(view_json('growth,leaks', $log)->{growth}, $doc, 'with another view it is the same');

done_testing;
