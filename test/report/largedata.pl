#!/usr/bin/perl
# largedata.pl -- the data of a report, as large as any unless less is asked for
#
# SPDX-License-Identifier: BSD-2-Clause
#
#   largedata.pl [SEED [NAME [SLICES [RAW]]]]    prints it; NAME is what was recorded, RAW the number of raw events
#
# It is made from a simulation that the numbers agree with, so the page can be looked at and measured with it.
use strict;
use warnings;
use JSON::PP ();
use MIME::Base64 qw(encode_base64);

my ($seed, $name, $N, $RAW) = map { $ARGV[$_] // (1, 'simulated', 1024, 100_000)[$_] } 0 .. 3;
my ($SITES, $THREADS) = (300, 64);
srand $seed;
my $slice = 1_000_000; # ns
my $pi = 4 * atan2 1, 1;

sub varint {
    my ($n) = @_;
    my $out = '';
    while ($n >= 128) {
        $out .= chr($n % 128 + 128);
        $n = int($n / 128);
    }
    return $out . chr $n;
}

sub zigzag {
    my ($n) = @_;
    return varint($n < 0 ? -2 * $n - 1 : 2 * $n);
}

sub series {
    my ($last, $out) = (0, '');
    for my $value (@_) {
        $out .= zigzag($value - $last);
        $last = $value;
    }
    return encode_base64($out, '');
}

# packed($fields, \@rows): each row is a list by slice of lists by field, or undef
sub packed {
    my ($fields, $rows) = @_;
    my $out = '';
    for my $row (@$rows) {
        my $last = -1;
        for my $i (0 .. $N - 1) {
            next if !$row->[$i] || !grep { $_ } @{$row->[$i]};
            $out .= varint($i - $last) . join '', map { zigzag($_) } @{$row->[$i]};
            $last = $i;
        }
        $out .= varint(0);
    }
    return {rows => scalar @$rows, fields => $fields, data => encode_base64($out, '')};
}

my @verbs = qw(parse read make copy intern build grow hash list node);
my @nouns = qw(token line scope table value string type block file state);
my @functions = map { {name => "$verbs[$_ % 10]_$nouns[$_ / 10 % 10]" . ($_ >= 100 ? int($_ / 100) : ''),
                       module => $_ % 7 ? "/usr/bin/$name" : '/usr/lib/x86_64-linux-gnu/libexample.so.1',
                       file => 'src/' . (qw(parse lex tree io))[$_ % 4] . '.c', line => 10 + $_ * 7} } 0 .. 399;
my @sites = map {
    my $row = $_;
    my @stack = ($row, map { 300 + int(($row * 37 % 97) / $_ ** 2) % 90 } reverse 1 .. 2 + $row % 7);
    {stack => [@stack, 399], function => $row, module => $functions[$row]{module}, offset => 4096 + 16 * $row}
} 0 .. $SITES - 1;
push @sites, {stack => [], function => -1, module => '', offset => 0, other => JSON::PP::true};

# Each site has bytes that go up and down in its own way.
my (@bysite, @live, @peak, @objects, @bytesof);
my (@allocs, @alloc_bytes, @frees, @free_bytes);
for my $row (0 .. $SITES) {
    my $size = 16 * (1 + int rand 40);
    my $most = int(3_000_000 / (1 + $row) ** 1.1);
    my ($phase, $turns, $now) = (rand 2 * $pi, 0.3 + rand 5, 0);
    for my $i (0 .. $N - 1) {
        my $wave = 0.5 - 0.5 * cos(2 * $pi * $turns * $i / $N + $phase);
        my $want = int($most * $wave * ($i / $N + 0.2) * (0.9 + rand 0.2) / $size);
        $want = 0 if rand() < 0.3 && $row > 40;
        my $come = $want > $now ? $want - $now + int rand 4 : int rand 3;
        my $go = $now + $come - $want;
        if ($row > 40 && rand() < 0.4) {
            ($come, $go, $want) = (0, 0, $now);
        }
        my $high = $come ? int(($come - 1) / 3) : 0;
        my @come = ($come, $come * $size);
        $bysite[$row][$i] = [@come, int($come / 7), int($come / 11), @come, $go, $go * $size, $high * $size, $high];
        $peak[$i] += ($now + $high) * $size;
        $bytesof[$i] += $now + $high;
        $allocs[$i] += $come;
        $alloc_bytes[$i] += $come * $size;
        $frees[$i] += $go;
        $free_bytes[$i] += $go * $size;
        $now = $want;
        $live[$i] += $now * $size;
        $objects[$i] += $now;
    }
}
for my $i (0 .. $N - 1) {
    $peak[$i] = $live[$i] if $peak[$i] < $live[$i];
}
my @mapped = map { my $i = $_; 40e6 + 1048576 * int(20 * $i / $N) } 0 .. $N - 1;
my @resident = map { int($peak[$_] * 1.2 + 8e6) } 0 .. $N - 1;

my @threads = map { {pid => 4711, tid => 4711 + $_, process => 0,
                     name => $_ ? (qw(worker reader writer timer))[$_ % 4] : $name,
                     begin => 0, end => $N * $slice} } 0 .. $THREADS - 1;
push @threads, {other => JSON::PP::true, name => '3 other threads'};
my @bythread = map {
    my $t = $_;
    my $busy = 1 / (1 + $t / 6);
    [map {
        my $on = sin($_ / 40 + $t) > -0.3 ? $busy : 0.02;
        my $run = int($slice * $on * (0.6 + rand 0.3));
        my $wait = int(($slice - $run) * 0.2 * rand);
        my $n = int(200 * $on * rand);
        [$n, int($n / 2), $n * 40, int($n / 2), $n * 38, int($run * 0.8), int($run * 0.2), $wait, $slice - $run - $wait,
         int(($slice - $run - $wait) * ($t % 3 ? 0 : 0.5))]
    } 0 .. $N - 1]
} 0 .. $THREADS;

my @types = (
    ['PoolAllocStack', 'Object', 'allocates %size bytes at %addr from pool %pool', 1,
     [pool => 'P'], [addr => 'A'], [size => 'W'], [stack => 'W']],
    ['PoolFree', 'Object', 'frees %addr of pool %pool', 0, [pool => 'P'], [addr => 'A']],
    ['PoolResizeBegin', 'Object', 'begins to resize %old of pool %pool to %size bytes', 0,
     [pool => 'P'], [old => 'A'], [size => 'W']],
    ['PoolResizeEndStack', 'Object', 'has resized %old of pool %pool: %addr, %size bytes', 1,
     [pool => 'P'], [old => 'A'], [addr => 'A'], [size => 'W'], [stack => 'W']],
    ['MemoryMap', 'Arena', 'maps %size bytes at %base', 0, [base => 'A'], [size => 'W']],
    ['TraceBegin', 'Trace', 'begins collection %trace', 0, [trace => 'W']],
    ['TraceEnd', 'Trace', 'ends collection %trace', 0, [trace => 'W']],
    ['MutexRequest', 'Sync', 'thread %th asks for mutex %mutex', 0, [th => 'U'], [mutex => 'P']],
    ['MutexAcquire', 'Sync', 'thread %th has mutex %mutex', 0, [th => 'U'], [mutex => 'P']],
    ['UserString', 'User', 'says %string', 0, [string => 'S']],
    ['UserDouble', 'User', 'has %value', 0, [value => 'D']],
    ['Huge', 'User', 'has %word', 0, [word => 'W']]);
my @bytype = map { my $t = $_; [map { [int rand(4000 / (1 + $t))] } 0 .. $N - 1] } 0 .. $#types;

my (@windows, $raw);
my $first = 0;
for my $w (['the beginning', 0, 0.2], ['the peak', 0.7, 0.4], ['the end', 0.95, 0.4]) {
    my ($why, $at, $part) = @$w;
    my $from = int($N * $at) * $slice;
    my $n = int($RAW * $part);
    my $length = int($N / 40) * $slice;
    push @windows, {why => $why, from => $from, to => $from + $length, first => $first + 1000 * @windows, count => $n};
    $first += $n + 100_000;
    my %last = (P => 0, A => 0);
    my %next;
    for my $i (1 .. $n) {
        my $thread = int($THREADS * rand() ** 3);
        my $type = delete $next{$thread} // (0, 0, 0, 1, 1, 1, 2, 4, 5, 7, 9, 10, 11)[int rand 13];
        $type = 0 if ($type == 4 || $type == 5 || $type >= 9) && rand() < 0.9;
        $next{$thread} = $type + 1 if $type == 2 || $type == 5 || $type == 7;
        $raw .= varint(int($length / $n)) . varint($type) . varint($thread);
        my (undef, undef, undef, $site, @params) = @{$types[$type]};
        for (@params) {
            my ($param, $sort) = @$_;
            if ($sort eq 'P' || $sort eq 'A') {
                my $value = $sort eq 'P' ? 93_823_560_581_120 : 139_637_976_727_552 + 16 * int rand 1e6;
                $raw .= zigzag($value - $last{$sort});
                $last{$sort} = $value;
            } elsif ($sort eq 'D') {
                $raw .= pack 'd<', 0.5 + int rand 100;
            } elsif ($param eq 'word') {
                $raw .= "\xff" x 9 . "\x01"; # 2^64 - 1
            } else {
                $raw .= varint($sort eq 'S' ? int rand 3 : int rand 5000);
            }
        }
        $raw .= varint(int rand $SITES + 1) if $site;
    }
}
my $most = 0;
for (0 .. $N - 1) {
    $most = $_ if $peak[$_] > $peak[$most];
}

my @heap = qw(allocs alloc_bytes in_objects in_bytes out_objects out_bytes peak_bytes);
my (@bysize, @bylife, @bypool);
for my $i (0 .. $N - 1) {
    for my $class (0 .. 20) {
        my $n = int(200 * exp(-($class - 6) ** 2 / 8));
        my $bytes = $n * 2 ** $class;
        $bysize[$class][$i] = [$n, $bytes, $n, $bytes, $n, $bytes, 2 ** $class];
    }
    for my $class (0 .. 7) {
        my $n = int(100 * exp(-($class - 3) ** 2 / 3));
        $bylife[$class][$i] = [$n, $n * 64];
    }
    my @come = ($allocs[$i], $alloc_bytes[$i]);
    $bypool[0][$i] = [@come, @come, $frees[$i], $free_bytes[$i], 0];
}
$bypool[1] = [];

my %data = (
    format => 1, version => '1.0.0', made => '2026-11-25T15:00:00Z', logs => ["$name.paw"], filter => '',
    command => "eventview report -o run.html $name.paw", wall => '1764082800000000000', start => 0,
    end => $N * $slice - 1234, slice => $slice, slices => $N, events => 3_210_987, discarded => 12, gaps => 0,
    lost => 0,
    notes => ['stacks are those of machine code: the frames of a language that is interpreted are not shown'],
    callers => 'stacks', machine => 'Linux 6.1, 2 processors',
    peak => {time => $most * $slice, bytes => $peak[$most], objects => $bytesof[$most], slice => $most},
    processes => [{pid => 4711, name => $name, begin => 0, end => undef, how => 'runs'}],
    threads => \@threads, raw_threads => [], functions => \@functions, sites => \@sites, windows => \@windows,
    marks => [map { {time => $_ * int($N * $slice / 61), name => "mark $_", thread => 0, text => "mark $_"} } 1 .. 60],
    marks_all => 60, sizes => [map { 2 ** $_ } 0 .. 20], lifetimes => [0, map { 10 ** $_ } 3 .. 9],
    collections_all => 90, collections => [map { {
        pid => 4711, process => 0, pool => '0x7f0c1f9e1000', number => $_, why => 'client',
        begin => int($N * $slice * $_ / 41), end => $_ == 40 ? undef : int($N * $slice * ($_ + 0.4) / 41),
        condemned => 4_000_000, reclaimed => 100_000 * $_, pauses => 2, paused => 3_000_000 + $_, longest => 2_000_000 + $_,
        phases => [[0, int($N * $slice * $_ / 41), 1_000_000], [1, int($N * $slice * ($_ + 0.2) / 41), 2_000_000 + $_]]
    } } 1 .. 40],
    pools => [{pid => 4711, pool => '0x7f0c1f9e0000', class => 'malloc', label => ''}, {other => JSON::PP::true}],
    types => [map {
        my ($type, $kind, $format, $site, @params) = @$_;
        {name => $type, kind => $kind, format => $format, site => $site ? JSON::PP::true : JSON::PP::false,
         params => [map { {name => $_->[0], sort => $_->[1]} } @params]}
    } @types]);

my %series = (
    live_end => \@live, live_peak => \@peak, objects_end => \@objects, objects_peak => \@bytesof, allocs => \@allocs,
    alloc_bytes => \@alloc_bytes, frees => \@frees, free_bytes => \@free_bytes, mapped_end => \@mapped,
    mapped_peak => \@mapped, resident_end => \@resident, resident_peak => \@resident,
    peak_at => [(int($slice / 3)) x $N], resizes => [(3) x $N], temporary_objects => [(5) x $N],
    temporary_bytes => [(80) x $N]);
$data{total} = {live_start => 0, objects_start => 0, map { $_ => series(@{$series{$_}}) } keys %series};

$data{bysite} = packed([qw(allocs alloc_bytes temporary resizes in_objects in_bytes out_objects out_bytes peak_bytes
                           peak_objects)], \@bysite);
$data{bysize} = packed(\@heap, \@bysize);
$data{bylife} = packed([qw(objects bytes)], \@bylife);
$data{bypool} = packed(\@heap, \@bypool);
$data{bythread} = packed([qw(events allocs alloc_bytes frees free_bytes user_ns system_ns waiting_ns blocked_ns
                             lock_ns)], \@bythread);
$data{bytype} = packed(['events'], \@bytype);
$data{raw} = {
    count => $RAW, data => encode_base64($raw, ''),
    strings => ['loading', 'ready', '</script><script>alert(1)</script>']};

print JSON::PP->new->ascii->canonical->encode(\%data) =~ s/([<>&])/sprintf '\\u%04x', ord $1/ger;
