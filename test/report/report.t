#!/usr/bin/perl
# report.t -- each number of a report is that of the events, slice by slice, and of the views
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have more than 32 bits
use lib 'test/lib';
use EndToEnd qw($Dir run slurp spew);
use JSON::PP qw(decode_json);
use MIME::Base64 qw(decode_base64);
use List::Util qw(sum0);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'no program is recorded under sanitizers' if $ENV{SAN};
my ($recorder, $view, $cnv) = map { "$B/bin/$_" } qw(eventrec eventview eventcnv);

my $seed = $ENV{SEED} // time;
srand $seed;
note "SEED=$seed";

# ---- Reading a report ----

sub report {
    my (@arguments) = @_;
    my ($status, $out, $err) = run($view, 'report', '--json', @arguments);

    is $status, 0, "report @arguments" or diag $err;
    return decode_json($out);
}

# varints($bytes) -- the numbers in it, as they are
sub varints {
    my ($bytes) = @_;
    my ($number, $scale, @numbers) = (0, 1);

    for my $byte (unpack 'C*', $bytes) {
        $number += ($byte & 127) * $scale;
        $scale *= 128;
        next if $byte > 127;
        push @numbers, $number;
        ($number, $scale) = (0, 1);
    }
    return @numbers;
}
sub signed { return $_[0] % 2 ? -($_[0] + 1) / 2 : $_[0] / 2 }

# series($base64) -- the number of each slice
sub series {
    my $sum = 0;
    return map { $sum += signed($_) } varints(decode_base64($_[0]));
}

# table($packed) -- rows of hashes by slice: [{slice => {field => number}}]
sub table {
    my ($packed) = @_;
    my @numbers = varints(decode_base64($packed->{data}));
    my @rows;

    for my $row (0 .. $packed->{rows} - 1) {
        my $slice = -1;
        $rows[$row] = {};
        while ((my $gap = shift @numbers) != 0) {
            $slice += $gap;
            my %cell = map { $_ => signed(shift @numbers) } @{$packed->{fields}};
            $rows[$row]{$slice} = \%cell;
        }
    }
    is scalar(@numbers), 0, 'a table ends with its last row';
    return \@rows;
}

# field($row, $name) -- the sum of a field over all slices
sub field { my ($row, $name) = @_; return sum0(map { $_->{$name} } values %$row) }

# ---- What the events say ----

# events($log) -- [ns, pid, tid, name, {parameters}] of each
sub events {
    my ($log) = @_;
    open my $in, '-|', "$cnv --symbols $log 2>/dev/null" or die "$cnv: $!";
    my @events;
    while (<$in>) {
        my ($s, $ns, $pid, $tid, $name, $rest) = /^(\d+)\.(\d{9}) (\d+)\/(\d+) (\w+)(.*)$/ or die "no event: $_";
        push @events, [$s * 1e9 + $ns, $pid, $tid, $name, parameters($rest)];
    }
    close $in;
    return \@events;
}

# parameters($text) -- by name; a site by its function, or by where it is
sub parameters {
    my ($text) = @_;
    my %its = $text =~ / (\w+)=("(?:[^"\\]|\\.)*"|[^\s\[]+)/g;
    $its{symbol} = $1 =~ s/ (?:in|at) .*//r if $text =~ / site=\S+?\["([^"]*)"/;
    return \%its;
}

sub class { my ($size) = @_; my $class = 0; for (; $size > 0; $size >>= 1) { ++$class } return $class }
sub decade { my ($us) = @_; my $decade = 0; for ($us = int $us; $us > 0; $us = int($us / 10)) { ++$decade } return $decade }

# oracle($events, $pid, $report) -- what a program with one thread did, by slice
sub oracle {
    my ($events, $pid, $report) = @_;
    my %o = map { $_ => [(0) x $report->{slices}] }
        qw(live_end live_peak objects_end objects_peak peak_at allocs alloc_bytes frees free_bytes resizes);
    my ($at, $bytes, $objects, %live, %begun) = (0, 0, 0);
    my $slice = sub {
        my ($time) = @_;
        my $to = int(($time - $report->{start}) / $report->{slice});
        for (; $at < $to; ++$at) {
            ($o{live_end}[$at], $o{objects_end}[$at]) = ($bytes, $objects);
            ($o{live_peak}[$at + 1], $o{objects_peak}[$at + 1]) = ($bytes, $objects);
        }
    };
    my $peak = sub {
        my ($time) = @_;
        return if $bytes <= $o{live_peak}[$at];
        ($o{live_peak}[$at], $o{objects_peak}[$at]) = ($bytes, $objects);
        $o{peak_at}[$at] = $time - $report->{start} - $at * $report->{slice};
    };
    my $come = sub {
        my ($addr, $size, $site, $time, $born) = @_;
        $live{$addr} = [$size, $site, $born];
        $o{bysize}{class($size)}{$at}{in} += $size;
        $o{bysite}{$site}{$at}{in} += $size;
    };
    my $go = sub {
        my ($addr) = @_;
        my ($size, $site, $born) = @{delete $live{$addr} // return};
        $o{bysize}{class($size)}{$at}{out} += $size;
        $o{bysite}{$site}{$at}{out} += $size;
        return ($size, $site, $born);
    };
    for (@$events) {
        my ($time, $its, $tid, $name, $p) = @$_;
        $o{types}{$name}{int(($time - $report->{start}) / $report->{slice})}++;
        next if $its != $pid;
        $o{events}{$tid}{int(($time - $report->{start}) / $report->{slice})}++;
        if ($name =~ /^PoolAlloc(?:Zero|Aligned)?(?:Site)?$/) {
            $slice->($time);
            $come->($p->{addr}, $p->{size}, $p->{symbol} // 0, $time, $time);
            $o{bysite}{$p->{symbol} // 0}{$at}{allocs}++;
            $bytes += $p->{size};
            ++$objects;
            $o{allocs}[$at]++;
            $o{alloc_bytes}[$at] += $p->{size};
            $peak->($time);
        } elsif ($name eq 'PoolFree') {
            $slice->($time);
            my ($size, $site, $born) = $go->($p->{addr});
            $bytes -= $size;
            --$objects;
            $o{frees}[$at]++;
            $o{free_bytes}[$at] += $size;
            $o{lives}{decade(($time - $born) / 1000)}{$at}++;
        } elsif ($name =~ /^PoolResizeEnd/ && $p->{addr} ne '0x0') {
            $slice->($time);
            my ($size, $site, $born) = $go->($p->{old});
            $come->($p->{addr}, $p->{size}, $p->{symbol} // 0, $time, $born);
            my $more = $p->{size} - $size;
            $bytes += $more;
            $o{resizes}[$at]++;
            $o{$more > 0 ? 'alloc_bytes' : 'free_bytes'}[$at] += abs $more;
            $peak->($time);
        }
    }
    $slice->($report->{start} + $report->{slice} * ($report->{slices} - 1));
    ($o{live_end}[$at], $o{objects_end}[$at]) = ($bytes, $objects);
    $o{last} = {bytes => $bytes, objects => $objects};
    return \%o;
}

# The numbers of a row by slice, as text: rows are found by these.
sub inOut {
    my ($row, @fields) = @_;
    return join ' ', map { my $slice = $_; "$slice:" . join ',', map { $row->{$slice}{$_} // 0 } @fields } sort { $a <=> $b } keys %$row;
}

# ---- A program with one thread ----

my $program = spew("$Dir/program.pl", <<'END');
srand shift;
my %table;
for my $round (1 .. 6) {
    $table{int rand 2000} = 'x' x int rand(rand() < 0.02 ? 20000 : 200) for 1 .. 3000;
    delete @table{grep { rand() < 0.5 } keys %table};
    my $grows = '';
    $grows .= 'y' x int rand 100 for 1 .. 300;
}
END
my $log = "$Dir/one.paw";
my ($status, $out, $err) = run($recorder, '-s', 1, '-o', $log, '--', $^X, $program, $seed);
is $status, 0, 'a program is recorded' or diag $err;
my $report = report($log);
my $events = events($log);
my ($pid) = map { $_->{pid} } grep { $_->{name} eq 'perl' } @{$report->{processes}};
ok $pid, 'the report names it' or diag explain $report->{processes};
my $o = oracle($events, $pid, $report);

is $report->{events}, scalar(@$events), 'as many events as eventcnv has';
{
    my %total = map { $_ => [series($report->{total}{$_})] } keys %{$report->{total}};
    for my $name (qw(allocs alloc_bytes frees free_bytes resizes)) {
        is_deeply $total{$name}, $o->{$name}, "$name by slice";
    }
    for my $name (qw(live_end live_peak objects_end objects_peak peak_at)) {
        is_deeply $total{$name}, $o->{$name}, "$name by slice";
    }
    is $total{live_end}[-1], $o->{last}{bytes}, 'what it had when it ended still counts';
    is_deeply [grep { $_ < -1 } @{$total{mapped_end}}, @{$total{resident_end}}], [], 'mapped and resident bytes are known, or -1';
}
{
    my @rows = map { my %row = %$_; $_ = \%row } @{table($report->{bysize})};
    my @wrong = grep { my $class = $_; my $row = $rows[$class];
        grep { ($row->{$_}{in_bytes} // 0) != ($o->{bysize}{$class}{$_}{in} // 0) } keys %{$o->{bysize}{$class}}, keys %$row } 0 .. $#rows;
    is_deeply \@wrong, [], 'bytes that came, by size and slice';
    is sum0(map { field($_, 'in_objects') - field($_, 'out_objects') } @rows), $o->{last}{objects}, 'what is left, by size';
    is scalar(@rows), scalar(@{$report->{sizes}}), 'each row of sizes has its least size';
}
{
    my $rows = table($report->{bysite});
    is scalar(@$rows), scalar(@{$report->{sites}}), 'there are as many rows as callers';
    my %mine = map { inOut($_, qw(allocs in_bytes)) => 1 } grep { %$_ } @$rows;
    my %its;
    for my $site (values %{$o->{bysite}}) {
        my %row = map { $_ => {allocs => $site->{$_}{allocs} // 0, in_bytes => $site->{$_}{in} // 0} } keys %$site;
        delete @row{grep { !$row{$_}{allocs} && !$row{$_}{in_bytes} } keys %row};
        $its{inOut(\%row, qw(allocs in_bytes))} = 1;
    }
    my %found = map { my $row = $_; my %row = map { $_ => $row->{$_} } grep { $row->{$_}{allocs} || $row->{$_}{in_bytes} } keys %$row;
                      inOut(\%row, qw(allocs in_bytes)) => 1 } grep { %$_ } @$rows;
    is_deeply [sort keys %found], [sort keys %its], 'allocations and bytes by caller and slice';
    my ($peak) = sort { $b->[0] <=> $a->[0] || $a->[1] <=> $b->[1] } do { my $i = 0; map { [$_, $i++] } series($report->{total}{live_peak}) };
    is $report->{peak}{bytes}, $peak->[0], 'the peak is the highest of all slices';
    is $report->{peak}{slice}, $peak->[1], 'in the first slice that has it';
    for my $i (0 .. $#$rows) {
        my ($live, $at) = (0, $rows->[$i]{$peak->[1]});
        $live += $rows->[$i]{$_}{in_bytes} - $rows->[$i]{$_}{out_bytes} for grep { $_ < $peak->[1] } keys %{$rows->[$i]};
        $live += $at->{peak_bytes} if $at;
        next if $live == $report->{sites}[$i]{peak_bytes};
        fail "caller $i has at the peak what it is said to have: $live";
    }
    my %sites = %{decode_json((run($view, 'sites', '--json', $log))[1])};
    is sum0(map { $_->{peak_bytes} } @{$report->{sites}}), $sites{peak_bytes}, 'at the peak, all together, as the view has it';
    is sum0(map { $_->{allocated_objects} } @{$report->{sites}}), $sites{allocated_objects}, 'allocations';
    is sum0(map { field($_, 'allocs') } @$rows), $sites{allocated_objects}, 'in all slices';
    is sum0(map { field($_, 'alloc_bytes') } @$rows), $sites{allocated_bytes}, 'and bytes';
    is sum0(map { field($_, 'temporary') } @$rows), $sites{temporary_objects}, 'temporary objects';
    is sum0(map { field($_, 'resizes') } @$rows), $sites{resizes}, 'resizes';
}
{
    my $rows = table($report->{bylife});
    my %mine = map { my $i = $_; %{$rows->[$i]} ? ($i => {map { $_ => $rows->[$i]{$_}{objects} } keys %{$rows->[$i]}}) : () } 0 .. $#$rows;
    # Those that live when the process ends are not freed.
    is_deeply \%mine, $o->{lives}, 'lifetimes by slice';
    $rows = table($report->{bytype});
    my %types = map { my $i = $_; $report->{types}[$i]{name} => {map { $_ => $rows->[$i]{$_}{events} } keys %{$rows->[$i]}} } 0 .. $#$rows;
    is_deeply \%types, $o->{types}, 'events by type and slice';
    $rows = table($report->{bythread});
    my ($row) = grep { ($report->{threads}[$_]{pid} // 0) == $pid } 0 .. $#{$report->{threads}};
    is_deeply {map { $_ => $rows->[$row]{$_}{events} } grep { $rows->[$row]{$_}{events} } keys %{$rows->[$row]}}, $o->{events}{$pid}, 'events of its thread by slice';
    is field($rows->[$row], 'allocs'), sum0(@{$o->{allocs}}), 'and its allocations';
    my %threads = %{decode_json((run($view, 'threads', '--json', $log))[1])};
    my ($its) = grep { $_->{pid} == $pid } @{$threads{threads}};
    for (['user_ns', 'user'], ['system_ns', 'system'], ['waiting_ns', 'waiting'], ['blocked_ns', 'blocked']) {
        my ($mine, $name) = @$_;
        next if !defined $its->{$name};
        is field($rows->[$row], $mine), sprintf('%.0f', $its->{$name} * 1e9), "$name, as the view has it";
    }
}

# ---- The events themselves ----
{
    my $raw = $report->{raw};
    my @numbers = varints(decode_base64($raw->{data}));
    my ($wrong, $shown) = (0, 0);
    for my $window (@{$report->{windows}}) {
        my ($time, %last) = ($window->{from}, P => 0, A => 0);
        for my $i (0 .. $window->{count} - 1) {
            my $event = $events->[$window->{first} + $i];
            $time += shift @numbers;
            my $type = $report->{types}[shift @numbers];
            my $thread = (@{$report->{threads}}, @{$report->{raw_threads}})[shift @numbers];
            my @said;
            for my $param (@{$type->{params}}) {
                my $value = shift @numbers;
                if ($param->{sort} =~ /[PA]/) {
                    $last{$param->{sort}} += signed($value);
                    $value = sprintf '0x%x', $last{$param->{sort}};
                } elsif ($param->{sort} eq 'S') {
                    next;
                } elsif ($param->{sort} eq 'D') {
                    die 'no double is expected here';
                }
                push @said, "$param->{name}=$value";
            }
            shift @numbers if $type->{site};
            my @its = map { "$_->{name}=" . ($event->[4]{$_->{name}} // '') } grep { $_->{sort} ne 'S' } @{$type->{params}};
            next if $time == $event->[0] && $type->{name} eq $event->[3] && $thread->{tid} == $event->[2] && "@said" eq "@its" =~ s/=unknown\b/=18446744073709551615/r;
            diag "at $time: $type->{name} @said; it is $event->[0]: $event->[3] @its" if $wrong++ < 3;
        }
        $shown += $window->{count};
        is $window->{count}, $window->{events}, "all events of the window `$window->{why}' are there";
    }
    is $wrong, 0, "each of $shown events is what eventcnv says";
    is $shown, $raw->{count}, 'and there are as many as is said';
    is $report->{windows}[-1]{first} + $report->{windows}[-1]{count}, scalar(@$events), 'up to the end';
}

# ---- A part of the time, a family, and what nobody expects ----
{
    my ($from, $to) = map { sprintf '%.9f', $_ * $report->{end} / 1e9 } 0.3, 0.6;
    my $part = report('--from', $from, '--to', $to, $log);
    my %counts = %{decode_json((run($view, 'events', '--json', '--from', $from, '--to', $to, $log))[1])};
    is $part->{events}, $counts{events}, 'a part of the time: its events';
    is_deeply [grep { $_ < 0 } series($part->{total}{live_end})], [], 'nothing is negative';
    is_deeply [grep { my $row = $_; my $live = 0; grep { ($live += $row->{$_}{in_objects} - $row->{$_}{out_objects}) < 0 } sort { $a <=> $b } keys %$row }
               @{table($part->{bysite})}, @{table($part->{bysize})}, @{table($part->{bypool})}], [], 'in no row';
}
{
    my $family = "$Dir/family.paw";
    ($status, $out, $err) = run($recorder, '-s', 16, '-o', $family, '--', $^X, '-e', <<'END');
my @list = map { 'x' x 1000 } 1 .. 500;
for my $child (1 .. 3) {
    next if fork;
    my @more = map { 'y' x 3000 } 1 .. 200;
    splice @list, 0, 100;
    exit 0;
}
1 while wait > 0;
END
    my $its = report($family);
    my %summary = %{decode_json((run($view, 'summary', '--json', $family))[1])};
    my @peaks = series($its->{total}{live_peak});
    my ($most) = sort { $b <=> $a } @peaks;
    is $most, $summary{peak_bytes}, 'the peak of a family';
    my $left = (series($its->{total}{live_end}))[-1];
    my %leaks = %{decode_json((run($view, 'sites', '--json', $family))[1])};
    for my $name (qw(bysite bysize bypool)) {
        my $rows = table($its->{$name});
        is sum0(map { field($_, 'in_bytes') - field($_, 'out_bytes') } @$rows), $left, "$name: what came has gone, or lives in who ended last";
        is $left + sum0(map { field($_, 'ended_bytes') } @$rows), $leaks{left_bytes}, "$name: what is left in all, as the view has it";
        my @wrong = grep { my $row = $_; my $live = 0; grep { ($live += $row->{$_}{in_bytes} - $row->{$_}{out_bytes}) < 0 } sort { $a <=> $b } keys %$row } @$rows;
        is scalar(@wrong), 0, "$name: no row is ever below 0";
    }
    ok +(grep { @{$_->{stack}} > 3 } @{$its->{sites}}), 'callers are stacks';
}
{
    my $empty = "$Dir/empty.paw";
    run($recorder, '-k', 'none', '-o', $empty, '--', '/bin/true');
    my $its = report($empty);
    is $its->{callers}, 'none', 'a log without objects has a report, too';
    my ($status, undef, $err) = run($view, 'report', $log);
    is $status, 2, 'a report wants a file';
    like $err, qr/^eventview: report: to which file\?  -o FILE, or --json for its data$/m, 'and says so';
    ($status, $out, $err) = run($view, 'report', '-o', "$Dir/r.html", $log);
    is "$status $out", "0 $Dir/r.html\n", 'the page is written';
    my $page = slurp("$Dir/r.html");
    like $page, qr/^<!DOCTYPE html>/i, 'a page of HTML';
    cmp_ok length $page, '<', 5e6, 'of less than 5 MB';
    ($status) = run($view, 'report', '-o', "$Dir/r.html", $log);
    is $status, 0, 'a report is replaced';
    spew("$Dir/mine.txt", "a text of mine\n");
    ($status, undef, $err) = run($view, 'report', '-o', "$Dir/mine.txt", $log);
    is $status, 1, 'another file is not';
    like $err, qr/mine\.txt: it is there, and is no report$/m, 'and that is said';
    is slurp("$Dir/mine.txt"), "a text of mine\n", 'it is as it was';
    for my $begin ($page =~ /^(.*?<meta charset="utf-8">\n)/s, substr $page, 0, 100) {
        spew("$Dir/mine.html", $begin);
        ($status) = run($view, 'report', '-o', "$Dir/mine.html", $log);
        is $status, 1, 'nor is a page that begins as a report, in ' . length($begin) . ' bytes';
        is slurp("$Dir/mine.html"), $begin, 'and stays as it was';
    }
    ($status, undef, $err) = run($view, 'report', '-o', "$Dir/no/folder/r.html", $log);
    is $status, 1, 'a folder that is not there';
    is_deeply [glob "$Dir/*.html.*"], [], 'nothing is left behind';
}
{
    # A name that would end the element of the data, if it could.
    mkdir "$Dir/x";
    my $evil = "$Dir/x/<script>alert(1)<\xc2\xb7script>";
    link '/bin/true', $evil or system 'cp', '/bin/true', $evil;
    run($recorder, '-o', "$Dir/evil.paw", '--', $evil, '</script><!--');
    run($view, 'report', '-o', "$Dir/evil.html", "$Dir/evil.paw");
    my ($data) = slurp("$Dir/evil.html") =~ /<script type="application\/json" id="data">(.*?)<\/script>/s;
    unlike $data, qr/[<>&]/, 'no name of a log begins or ends an element';
    my $its = decode_json($data);
    ok +(grep { $_->{name} =~ /^<script>alert\(1\)</ } @{$its->{processes}}), 'and it is there as it is';
}
done_testing;
