#!/usr/bin/perl
# agree.t -- a report says of spans between its slices what the other views say of them
#
# A view of all events before a border is the oracle: what two such views differ by happened between the borders.  Logs
# are those of threads whose stamps contradict each other, of missing events, and of families of processes at random.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have more than 32 bits
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir family_words make_log run);
use JSON::PP qw(decode_json);
use List::Util qw(sum0 max first);
use ReportData qw(parsed series table live_at);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $seed = $ENV{SEED} // int rand 2 ** 31;
diag "SEED=$seed" if $ENV{SEED};
note "SEED=$seed";
srand $seed;

sub json {
    my (@command) = @_;
    my ($status, $out, $err) = run("$B/bin/eventview", @command);

    $out =~ s/\{"size": [^{}]*\},\s*//g; # exact sizes are thousands, and not compared
    return eval { decode_json($out) } // die "@command: no JSON ($status): $err";
}

sub seconds { return sprintf '%d.%09d', int($_[0] / 1e9), $_[0] % 1_000_000_000 }

sub place { return join ' ', map { $_ // '-' } @{$_[0]}{qw(function module offset none)} }

# report(@options) -- the data of a report, its numbers by slice unpacked, and rows of sites put together by caller
sub report {
    my ($status, $out, $err) = run("$B/bin/eventview", 'report', '--json', @_);
    my $report = eval { parsed($out) } // die "report @_: no JSON ($status): $err";

    $report->{total}{$_} = [series($report->{total}{$_})] for grep { !/start/ } keys %{$report->{total}};
    $report->{$_} = table($report->{$_}) for qw(bysite bysize bylife bypool bythread bytype);
    return $report;
}

# of($report, $rows, $field, $from, $to) -- what these rows have of a field in the slices of a span
sub of {
    my ($report, $rows, $field, $from, $to) = @_;

    return sum0(map { my $row = $_; map { $row->{$_}{$field} } grep { $_ >= $from && $_ < $to } keys %$row } @$rows);
}

# sites($report) -- rows by caller, as the view `sites' tells callers apart
sub sites {
    my ($report) = @_;
    my %rows;

    for my $i (0 .. $#{$report->{sites}}) {
        my $site = $report->{sites}[$i];
        push @{$rows{$site->{other} ? 'other' : place($report->{functions}[$site->{function}])}}, $i;
    }
    return \%rows;
}

# What views say of all events before a border that a report's slices add up to.
sub before {
    my ($report, $border, @options) = @_;
    my $to = seconds($report->{start} + $border * $report->{slice});
    my @to = $border < $report->{slices} ? ('--to', $to) : ();

    return json('summary,sites,sizes,lifetimes,pools,events,timeline', '--json', '--top', 1 << 30, '--slices', 1,
                @options, @to);
}

# flat($view) -- the numbers of these views that can be subtracted, by name
sub flat {
    my ($view) = @_;
    my %flat = map { $_ => $view->{summary}{$_} } qw(allocations frees resizes total_bytes freed_bytes temporary_objects
                                                     temporary_bytes);

    $flat{events} = $view->{events}{events};
    $flat{"type $_->{kind} $_->{name}"} += $_->{events} for @{$view->{events}{types}};
    for my $site (@{$view->{sites}{sites}}) {
        $flat{"site $_ " . place($site)} += $site->{$_}
            for qw(allocated_objects allocated_bytes resizes temporary_objects);
    }
    for my $class (@{$view->{sizes}{classes}}) {
        $flat{"size $_ $class->{from}"} += $class->{$_} for qw(allocations allocated_bytes resizes);
    }
    for my $pool (@{$view->{pools}{pools}}) {
        $flat{"pool $_ $pool->{pid} " . hex $pool->{pool}} += $pool->{$_} for qw(allocations allocated_bytes resizes);
    }
    $flat{"life objects $_->{from}"} += $_->{objects} for @{$view->{lifetimes}{seconds}};
    $flat{"life bytes $_->{from}"} += $_->{bytes} for @{$view->{lifetimes}{seconds}};
    return \%flat;
}

# span($report, $from, $to) -- the same of a report
sub span {
    my ($report, @span) = @_;
    my %total = (allocations => 'allocs', total_bytes => 'alloc_bytes', freed_bytes => 'free_bytes');
    my %row = (allocated_objects => 'allocs', allocations => 'allocs', allocated_bytes => 'alloc_bytes',
               temporary_objects => 'temporary', resizes => 'resizes');
    my (%span, $sites);

    for my $name (qw(allocations frees resizes total_bytes freed_bytes temporary_objects temporary_bytes)) {
        $span{$name} = sum0(@{$report->{total}{$total{$name} // $name}}[$span[0] .. $span[1] - 1]);
    }
    $span{events} = of($report, $report->{bytype}, 'events', @span);
    $span{events_by_thread} = of($report, $report->{bythread}, 'events', @span);
    for my $i (0 .. $#{$report->{types}}) {
        my $type = $report->{types}[$i];
        $span{"type $type->{kind} $type->{name}"} += of($report, [$report->{bytype}[$i]], 'events', @span);
    }
    $sites = sites($report);
    for my $name (keys %$sites) {
        my @rows = map { $report->{bysite}[$_] } @{$sites->{$name}};
        $span{"site $_ $name"} = of($report, \@rows, $row{$_}, @span)
            for qw(allocated_objects allocated_bytes resizes temporary_objects);
    }
    for my $i (0 .. $#{$report->{sizes}}) {
        $span{"size $_ $report->{sizes}[$i]"} = of($report, [$report->{bysize}[$i]], $row{$_}, @span)
            for qw(allocations allocated_bytes resizes);
    }
    for my $i (0 .. $#{$report->{pools}}) {
        my $pool = $report->{pools}[$i];
        my $name = $pool->{other} ? 'other' : "$pool->{pid} " . hex $pool->{pool};
        $span{"pool $_ $name"} += of($report, [$report->{bypool}[$i]], $row{$_}, @span)
            for qw(allocations allocated_bytes resizes);
    }
    for my $i (0 .. $#{$report->{lifetimes}}) {
        my $from = $report->{lifetimes}[$i] / 1e9;
        $span{"life $_ $from"} = of($report, [$report->{bylife}[$i]], $_, @span) for qw(objects bytes);
    }
    return \%span;
}

# cell($row, $slice, $field) -- 0 where the row has not changed
sub cell {
    my ($row, $slice, $field) = @_;

    return $row->{$slice} ? $row->{$slice}{$field} : 0;
}

# lives($report) -- what lives is what came less what went, in each table and slice, and never below nothing
sub lives {
    my ($report, $wrong) = @_;
    my $total = $report->{total};

    for my $table (qw(bysite bysize bypool)) {
        my $rows = $report->{$table};
        my (%live, %all, %changed);
        for my $i (0 .. $#$rows) {
            push @{$changed{$_}}, $i for keys %{$rows->[$i]};
        }
        for my $slice (0 .. $report->{slices} - 1) {
            my %said = (bytes => [$total->{live_peak}[$slice], $total->{live_end}[$slice]],
                        objects => [$total->{objects_peak}[$slice], $total->{objects_end}[$slice]]);
            for my $what (qw(bytes objects)) {
                my $at = ($all{$what} // 0) + sum0(map { $rows->[$_]{$slice}{"peak_$what"} } @{$changed{$slice}});
                push @$wrong, "$table: $what at the peak of slice $slice: $at and $said{$what}[0]"
                    if $at != $said{$what}[0];
                for my $i (@{$changed{$slice}}) {
                    my $cell = $rows->[$i]{$slice};
                    my $more = $cell->{"in_$what"} - $cell->{"out_$what"};
                    my $before = $live{$what}[$i] // 0;
                    push @$wrong, "$table: $what of row $i below nothing in slice $slice"
                        if $before + $more < 0 || $before + $cell->{"peak_$what"} < 0;
                    $live{$what}[$i] += $more;
                    $all{$what} += $more;
                }
                push @$wrong, "$table: $what in slice $slice: $all{$what} and $said{$what}[1]"
                    if ($all{$what} // 0) != $said{$what}[1];
            }
        }
    }
}

# peak($report, $view) -- the peak of the whole run: which rows had what then
sub peak {
    my ($report, $view, $wrong) = @_;
    my $peaks = $report->{total}{live_peak};
    my $most = max(@$peaks);
    my $slice = first { $peaks->[$_] == $most } 0 .. $#$peaks;
    my %said = (bytes => $view->{summary}{peak_bytes}, objects => $view->{summary}{peak_objects});
    my $begin = $report->{start} + $slice * $report->{slice};

    push @$wrong, "peak: $most and $said{bytes}" if $most != $said{bytes};
    return if $most == 0;
    push @$wrong, "peak: $report->{total}{objects_peak}[$slice] objects and $said{objects}"
        if $report->{total}{objects_peak}[$slice] != $said{objects};
    # Times of years have no more digits than a double has.
    my ($have, $want) = map { sprintf '%.14g', $_ }
        $begin + $report->{total}{peak_at}[$slice], $view->{summary}{peak_at} * 1e9;
    push @$wrong, "the peak's time: $have and $want" if $have != $want;
    for my $what (qw(bytes objects)) {
        my $at = sub { my ($row) = @_; live_at($row, $slice, $what) + cell($row, $slice, "peak_$what") };
        my %class = map { $_->{from} => $_->{"peak_$what"} } @{$view->{sizes}{classes}};
        for my $i (0 .. $#{$report->{sizes}}) {
            my ($have, $want) = ($at->($report->{bysize}[$i]), $class{$report->{sizes}[$i]} // 0);
            push @$wrong, "$what of size $report->{sizes}[$i] at the peak: $have and $want" if $have != $want;
        }
        my ($sites, %site) = (sites($report));
        $site{place($_)} += $_->{"peak_$what"} for @{$view->{sites}{sites}};
        for my $name (grep { $_ ne 'other' } keys %$sites) {
            my $have = sum0(map { $at->($report->{bysite}[$_]) } @{$sites->{$name}});
            push @$wrong, "$what of `$name' at the peak: $have and " . ($site{$name} // 0)
                if $have != ($site{$name} // 0);
        }
    }
}

# kept($report, $slices, $wrong, @options) -- the slices at whose end only a process that has ended lives in the report:
# while no other does, the one with the latest event counts as living, as for the view `live'; the view `timeline' does
# not have it any more
sub kept {
    my ($report, $slices, $wrong, @options) = @_;
    my $objects = $report->{total}{objects_end};
    my %kept = map { $_ => 1 } grep { $objects->[$_] > 0 && !$slices->[$_]{live_objects} } 0 .. $#$slices - 1;
    my ($one) = (sort { $a <=> $b } keys %kept)[rand keys %kept];

    if (defined $one) {
        my $at = seconds($report->{start} + ($one + 1) * $report->{slice});
        my $live = sum0(map { $_->{objects} } @{json('live', '--json', '--at', $at, @options)->{processes}});
        push @$wrong, "objects at $at, where one process is kept: $objects->[$one] and $live"
            if $live != $objects->[$one];
    }
    return \%kept;
}

# timeline($what, $end, @options) -- slice by slice the numbers are those of the view of that name.  Both cut time at
# the same borders where the time is a multiple of the number of slices.
sub timeline {
    my ($what, $end, @options) = @_;
    my @to = ('--to', seconds($end - $end % 1024));
    my $report = report(@options, @to);
    my $slices = json('timeline', '--json', '--slices', $report->{slices}, @options, @to)->{slices};
    my %view = (live_end => 'live_bytes', live_peak => 'live_bytes_peak', objects_end => 'live_objects',
                allocs => 'allocations', alloc_bytes => 'allocated_bytes', frees => 'frees', resizes => 'resizes',
                mapped_end => 'mapped_bytes', mapped_peak => 'mapped_bytes_peak', resident_end => 'resident_bytes',
                resident_peak => 'resident_bytes_peak');
    my @wrong;
    my $kept = kept($report, $slices, \@wrong, @options);

    for my $name (sort keys %view) {
        my $unknown = $name =~ /^(mapped|resident)/ ? -1 : 0;
        my @said = map { $_->{$view{$name}} // $unknown } @$slices;
        my @bad = grep { $report->{total}{$name}[$_] != $said[$_] } 0 .. $#said;
        @bad = grep { !$kept->{$_} && !$kept->{$_ - 1} } @bad if $name =~ /^(live|objects)_/;
        push @wrong, @bad . " slices of $name, the first $bad[0]: $report->{total}{$name}[$bad[0]] and $said[$bad[0]]"
            if @bad;
    }
    my @events = map { of($report, $report->{bytype}, 'events', $_, $_ + 1) } 0 .. $#$slices;
    my @bad = grep { $events[$_] != $slices->[$_]{events} } 0 .. $#$slices;
    push @wrong, "events of slices @bad" if @bad;
    lives($report, \@wrong);
    splice @wrong, 12 if @wrong > 12;
    is "@wrong", '', "$what: the same as `timeline' in $report->{slices} slices" or diag join "\n", @wrong;
}

# quiet($report) -- the borders at which nothing is held back.  An allocation where an object lives waits for 10 us for
# the free that may be late (design/view.md .heap.order), if there are several threads, and counts in the slice in which
# that is over; but a view that ends at a border waits no longer.  Then operations are fewer than their events, and will
# be as many later.
sub quiet {
    my ($report) = @_;
    my (%behind, %least);

    for my $case ([allocs => qr/^PoolAlloc(?!Fail)/], [resizes => qr/^PoolResizeEnd/]) {
        my ($total, $named) = @$case;
        my @events = (0) x $report->{slices};
        for my $i (grep { $report->{types}[$_]{name} =~ $named } 0 .. $#{$report->{types}}) {
            my $row = $report->{bytype}[$i];
            $events[$_] += $row->{$_}{events} for keys %$row;
        }
        my $behind = 0;
        $behind{$total} = [0, map { $behind += $events[$_] - $report->{total}{$total}[$_] } 0 .. $#events];
    }
    my @quiet;
    for my $border (reverse 1 .. $report->{slices}) {
        my $held = 0;
        for my $total (keys %behind) {
            my $now = $behind{$total}[$border];
            $held ||= defined $least{$total} && $now > $least{$total};
            $least{$total} = $now if !defined $least{$total} || $now < $least{$total};
        }
        push @quiet, $border if !$held && $border < $report->{slices};
    }
    return @quiet;
}

# agree($what, @options) -- a report of these logs, and the views, at some borders
sub agree {
    my ($what, @options) = @_;
    my $report = report(@options);
    my @quiet = quiet($report);
    my @borders = sort { $a <=> $b } map { $quiet[rand @quiet] } 1 .. 2;
    my $past = {};
    my $whole = before($report, $report->{slices}, @options);
    my $repaired = $whole->{summary}{repairs} > 0;
    my ($view, @wrong);

    lives($report, \@wrong);
    for my $i (0 .. 2) {
        my ($from, $to) = ($i == 0 ? 0 : $borders[$i - 1], $borders[$i] // $report->{slices});
        $view = $i < 2 ? before($report, $to, @options) : $whole;
        my ($flat, $span) = (flat($view), span($report, $from, $to));
        for my $name (sort keys %$flat) {
            # Where stamps contradict each other, a view that ends at a border settles there what is held back, and the
            # report does not: then all of it is compared, and no parts.
            next if $repaired;
            my $want = $flat->{$name} - ($past->{$name} // 0);
            push @wrong, "$name in [$from, $to): " . ($span->{$name} // 'nothing') . " and $want"
                if ($span->{$name} // 0) != $want;
        }
        push @wrong, map { "$_ in [$from, $to): $span->{$_}, which no view has" }
            grep { !$repaired && $_ ne 'events_by_thread' && !/^life / && !/ other$/ && $span->{$_} != 0 && !exists $flat->{$_} }
            sort keys %$span;
        push @wrong, "events by thread: $span->{events_by_thread} and $span->{events}"
            if $span->{events_by_thread} != $span->{events};
        my $live = $view->{timeline}{slices}[-1];
        $live->{live_bytes_peak} //= 0;
        my $most = max(@{$report->{total}{live_peak}}[0 .. $to - 1]);
        push @wrong, "peak before border $to: $most and $live->{live_bytes_peak}"
            if $most != $live->{live_bytes_peak} && (!$repaired || $i == 2);
        $past = $flat;
    }
    my $all = span($report, 0, $report->{slices});
    for my $name (grep { /^life / || $repaired } keys %$past) {
        push @wrong, "$name: " . ($all->{$name} // 'nothing') . " and $past->{$name}" if ($all->{$name} // 0) != $past->{$name};
    }
    peak($report, $view, \@wrong);
    splice @wrong, 12 if @wrong > 12;
    is "@wrong", '', "$what: $report->{slices} slices, borders @borders" or diag join "\n", @wrong;
    return ($report, $view);
}

for my $kind (qw(single churn lost)) {
    my $log = make_log($kind);
    my ($report) = agree("$kind: all", $log);
    agree("$kind: so many", '-n', 1000 + int rand 1000, $log);
    agree("$kind: what is earlier", '--to', seconds(int($report->{end} * (0.3 + rand 0.6))), $log);
    timeline($kind, $report->{end}, $log);
    timeline("$kind: a filter", $report->{end}, '-e', 'size < 100', $log);
}

# Families at random.
for my $round ($ENV{SAN} ? () : 1 .. 2) { # nothing can be preloaded into a sanitized program
    my @words = family_words(0);
    my $log = "$Dir/family$round.paw";
    my @record = $round % 2 ? ('-s', 8) : ('-s', 1);
    my ($status, undef, $said) = run("$B/bin/eventrec", @record, '-o', $log, '--', "$B/prog/known", @words);
    is $status, 0, "family $round is recorded" or diag "@words: $said";
    my ($report, $view) = agree("family $round", $log);
    my @pids = map { $_->{pid} } @{$view->{summary}{processes}};
    timeline("family $round", $report->{end}, $log);
    timeline("family $round: one process", $report->{end}, '--process', $pids[rand @pids], $log);
}

# More stacks than a report has rows for: a function has a row for what else it has, so its numbers stay exact.
if (!$ENV{SAN}) {
    my $log = "$Dir/stacks.paw";
    my ($status, undef, $said) = run("$B/bin/eventrec", '-s', 32, '-o', $log, '--', $^X, '-MTest::More', '-e',
                                     'my %h; $h{$_ % 100} = [map { { $_ => "x" x $_ } } 1 .. 20] for 1 .. 300');
    is $status, 0, 'many stacks are recorded' or diag $said;
    my ($report, $view) = agree('many stacks', $log);
    my @rest = grep { $_->{rest} } @{$report->{sites}};
    cmp_ok scalar(@{$report->{sites}}), '>', 301, 'there are more than 300 stacks';
    is scalar(@{$report->{sites}}), 300 + @rest + 1, 'others are told apart by function';
    my @fields = qw(peak_bytes left_bytes allocated_bytes allocated_objects temporary_objects resizes earlier_bytes);
    my ($all, %its) = (sites($report));
    for my $name (keys %$all) {
        $its{$name} = join ' ', map { my $of = $_; sum0(map { $report->{sites}[$_]{$of} } @{$all->{$name}}) } @fields;
    }
    is delete $its{other}, '0 0 0 0 0 0 0', 'nothing is left for all other functions';
    is_deeply \%its, {map { place($_) => join ' ', @$_{@fields} } @{$view->{sites}{sites}}},
        'each function has what the view `sites\' says';
}

agree('several logs', map { "$Dir/$_.paw" } $ENV{SAN} ? qw(single churn) : qw(family1 churn family2));

done_testing;
