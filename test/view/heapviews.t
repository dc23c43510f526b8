#!/usr/bin/perl
# heapviews.t -- eventview sizes, lifetimes, pools and timeline: against a count of what eventcnv gives as CSV, and for
# programs whose allocations are known
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
my @views = qw(sizes lifetimes pools timeline);

sub record {
    my ($name, @command) = @_;
    my $log = "$Dir/$name.paw";
    my ($status, undef, $said) = run("$B/bin/eventrec", '--force', '-o', $log, @command);

    is $status, 0, "$name is recorded" or diag $said;
    return $log;
}

# All views in one pass; a large --top, so that all sizes are there.
sub views {
    my ($status, $out, $err) = run("$B/bin/eventview", join(',', @views, 'summary'), '--json', '--top', 1000000, @_);

    is $status, 0, 'status' or diag $err;
    return decode_json($out);
}

# ---- What the events of a log of one process, with one thread, come to ----

sub class { my ($n, $base) = @_; my $class = 0; while ($n >= 1) { ++$class; $n /= $base } return $class }

sub oracle {
    my ($log, $slices, $from, $to) = @_;
    my (%object, %begun, %size, %pool, %time, %mean, %peakSize, @slice);
    my ($clock, $live, $peak, $last) = (0, 0, 0, 0);
    my %sum = map { $_ => 0 } qw(gone gone_bytes temporary lifetime);
    my ($index, $just) = ({}, '');
    open my $in, '-|', "$B/bin/eventcnv", '-f', 'csv', $log or die $!;
    my $at = sub { my $i = int(($_[0] - $from) * $slices / ($to - $from)); return $i };

    while (<$in>) {
        chomp;
        my @field = split /,/, $_, -1;
        if ($. == 1) {
            $index->{$field[$_]} //= $_ for 0 .. $#field;
            next;
        }
        my ($name, %p) = ($field[4], map { $_ => $field[$index->{$_}] } qw(pool addr size old pid));
        my $ns = $field[0] =~ s/\.//r + 0;
        ++$slice[$at->($ns)]{events};
        next if $name !~ /^Pool(Alloc|Free|Resize)/;
        my $slice = $slice[$at->($ns)];
        my $change = sub {
            my ($size, $objects) = @_;
            $live += $size;
            $size{abs $size}{live} += $objects if $objects;
            $slice[$at->($ns)]{live} = $live;
            $slice[$at->($ns)]{most} = $live if $live > ($slice[$at->($ns)]{most} // 0);
            my $pool = $pool{$p{pool}} //= {live => 0, peak => 0, allocs => 0, objects => 0};
            $pool->{live} += $size;
            $pool->{objects} += $objects;
            $pool->{peak} = $pool->{live} if $pool->{live} > $pool->{peak};
            return if $live <= $peak;
            $peak = $live;
        };
        if ($name =~ /^PoolAlloc/ && $p{addr} ne '') {
            $clock += $p{size};
            $object{$p{addr}} = {size => $p{size}, time => $ns, clock => $clock};
            ++$size{$p{size}}{allocs};
            ++$slice->{allocs};
            $change->($p{size}, 1);
            ++$pool{$p{pool}}{allocs};
            $just = $p{addr};
        } elsif ($name eq 'PoolFree') {
            my $object = delete $object{$p{addr}} or die "a free of nothing";
            $change->(-$object->{size}, -1);
            ++$slice->{frees};
            ++$sum{gone};
            $sum{gone_bytes} += $object->{size};
            ++$sum{temporary} if $just eq $p{addr};
            $sum{lifetime} += $ns - $object->{time};
            ++$time{class(int(($ns - $object->{time}) / 1000), 10)};
            ++$mean{class($clock - $object->{clock}, 4)};
            $just = '';
        } elsif ($name eq 'PoolResizeEnd' && $p{addr} ne '0x0') {
            my $object = delete $object{$p{old}} or die "a resize of nothing";
            my $more = $p{size} - $object->{size};
            --$size{$object->{size}}{live};
            ++$size{$p{size}}{live};
            ++$size{$p{size}}{resizes};
            ++$slice->{resizes};
            $clock += $more if $more > 0;
            $object->{size} = $p{size};
            $object{$p{addr}} = $object;
            $change->($more, 0);
            $just = '';
        }
    }
    return {sum => \%sum, size => \%size, pool => \%pool, time => \%time, mean => \%mean, slice => \@slice, peak => $peak,
            live => $live, objects => scalar keys %object, clock => $clock};
}

sub counts {
    my ($rows, $class) = @_;

    return {map { $class->($_->{from}) => $_->{objects} } @$rows};
}

for my $kind (['observed'], ['managed', '-m', 'manage']) {
    my ($name, @how) = @$kind;
    my $log = record($name, @how, '--', $^X, '-e',
                     'my @a; for (1 .. 20000) { push @a, "x" x ($_ % 700); shift @a if @a > 300; $b .= "y" if $_ % 3 == 0 } sleep 0');
    my $view = views('--slices', 20, $log);
    my $seconds = sub { return int($_[0] * 1e9 + 0.5) };
    my $true = oracle($log, 20, $seconds->($view->{timeline}{from}), $seconds->($view->{timeline}{to}));
    my ($sizes, $lives, $pools, $time) = @$view{@views};

    my %is = map { $_->{size} => $_ } @{$sizes->{sizes}};
    my ($wrong, $objects) = (0, 0);
    for my $size (keys %{$true->{size}}) {
        my $its = $true->{size}{$size};
        ++$wrong if ($is{$size}{allocations} // 0) != ($its->{allocs} // 0) || ($is{$size}{resizes} // 0) != ($its->{resizes} // 0)
                 || ($is{$size}{left_objects} // 0) != ($its->{live} // 0);
    }
    is $wrong, 0, "$name: sizes: each size's allocations, resizes and what is left";
    is $sizes->{peak_bytes}, $true->{peak}, 'the peak is right,';
    $objects += $_->{peak_bytes} for @{$sizes->{classes}};
    is $objects, $true->{peak}, 'and classes sum up to it';
    is $sizes->{left_objects}, $true->{objects}, 'what is left';
    is $sizes->{allocated_bytes}, $view->{summary}{total_bytes}, 'allocated in all, as the summary has it';
    cmp_ok $sizes->{sizes}[0]{allocations}, '>=', $sizes->{sizes}[1]{allocations}, 'the most frequent comes first';

    is $lives->{gone_objects}, $true->{sum}{gone}, 'lifetimes: those that went';
    is $lives->{gone_bytes}, $true->{sum}{gone_bytes}, 'their bytes';
    is $lives->{temporary_objects}, $true->{sum}{temporary}, 'temporaries';
    is $lives->{left_objects}, $true->{objects}, 'those that did not';
    cmp_ok abs($lives->{mean_lifetime} - $true->{sum}{lifetime} / 1e9 / $true->{sum}{gone}), '<', 1e-8, 'mean lifetime';
    is_deeply counts($lives->{seconds}, sub { class(int($_[0] * 1e6 + 0.5), 10) }), $true->{time}, 'by time';
    is_deeply counts($lives->{meanwhile}, sub { class($_[0], 4) }), $true->{mean}, 'by bytes that were allocated meanwhile';

    $wrong = 0;
    for my $pool (@{$pools->{pools}}) {
        my $its = $true->{pool}{$pool->{pool}} // {};
        ++$wrong if $pool->{left_bytes} != $its->{live} || $pool->{peak_bytes} != $its->{peak}
                 || $pool->{allocations} != $its->{allocs} || $pool->{left_objects} != $its->{objects};
    }
    is $wrong, 0, 'pools: objects, bytes and peak of each';
    is scalar @{$pools->{pools}}, scalar keys %{$true->{pool}}, 'and no other';
    is $pools->{pools}[0]{class}, $name eq 'managed' ? 'SGF' : 'malloc', 'its class';

    my $now = 0;
    my @bad;
    for my $i (0 .. 19) {
        my ($is, $its) = ($time->{slices}[$i], $true->{slice}[$i] // {});
        $now = 0 if !defined $its->{most} && $i > 0 && $time->{slices}[$i - 1]{live_bytes} == 0; # the process has ended
        my $most = ($its->{most} // 0) > $now ? $its->{most} : $now;
        $now = $its->{live} // $now;
        push @bad, $i if $is->{events} != ($its->{events} // 0) || $is->{allocations} != ($its->{allocs} // 0)
                      || $is->{frees} != ($its->{frees} // 0) || $is->{resizes} != ($its->{resizes} // 0)
                      || $is->{live_bytes_peak} != $most
                      || ($is->{live_bytes} != $now && $is->{live_bytes} != 0);
    }
    is "@bad", '', 'timeline: each slice';
}

# ---- Programs whose allocations are known; sizes from 100000 on are theirs ----

if ($ENV{SAN}) {
    note 'nothing can be preloaded into a sanitized program';
    done_testing;
    exit;
}

sub ours { return {map { $_->{size} => $_ } grep { $_->{size} >= 100000 } @{$_[0]{sizes}{sizes}}} }

subtest 'sizes and lifetimes, by construction' => sub {
    my $log = record('known', '--', "$B/prog/known", qw(m0=100000 m1=100000 m2=300000 f1 f2 m3=200000 r3=500000 x7=120000
                     s20 f0 z4=110000 wend));
    my $view = views($log);
    my $size = ours($view);

    is_deeply [map { $size->{100000}{$_} } qw(allocations allocated_bytes left_objects peak_objects)], [2, 200000, 0, 1],
        'two of one size, one of which lives at the peak';
    is_deeply [map { $size->{300000}{$_} } qw(allocations left_objects peak_objects)], [1, 0, 0], 'one that went before the peak';
    is_deeply [map { $size->{500000}{$_} } qw(allocations resizes allocated_bytes left_objects peak_objects)],
        [0, 1, 300000, 1, 1], 'what was resized has its new size';
    is $size->{120000}{allocations}, 7, 'seven that went at once';
    my %class = map { $_->{from} => $_ } @{$view->{sizes}{classes}};
    is $class{65536}{allocations} + $class{131072}{allocations}, 2 + 7 + 1 + 1, 'by powers of two';
    cmp_ok $view->{lifetimes}{temporary_bytes}, '>=', 7 * 120000, 'those are temporary';
    my $slow = 0;
    $slow += $_->{objects} for grep { $_->{from} >= 0.009 } @{$view->{lifetimes}{seconds}};
    cmp_ok $slow, '>=', 1, 'and one lived through a sleep';
};

subtest 'gigabytes are allocated while objects live' => sub {
    my @words = map { ("m$_=" . 1000 * $_, 'x' . (1 + $_ % 3) . '=' . (300000000 + 77777777 * $_)) } 1 .. 12;
    my $log = record('gigabytes', '--', "$B/prog/known", @words, map { ("f$_", 'x1=900000000') } 3, 1, 12, 7, 2, 11, 4, 5);
    my $lives = decode_json((run("$B/bin/eventview", 'lifetimes', '--json', $log))[1]);
    my $true = oracle($log, 1, 0, 1e12);

    cmp_ok $true->{clock}, '>', 2 ** 33, 'many rounds of the clock';
    is_deeply counts($lives->{meanwhile}, sub { class($_[0], 4) }), $true->{mean}, 'by bytes that were allocated meanwhile';
};

subtest 'fork: each process has its own' => sub {
    my $log = record('family', '--', "$B/prog/known", qw(m0=1000000 m1=200000 k0 f0 m2=300000 . f1 m3=400000));
    my $view = views($log);
    my $size = ours($view);

    is $size->{1000000}{allocations}, 1, 'one allocation';
    is $size->{1000000}{left_objects}, 1, 'which the child freed, and the parent did not';
    is $size->{200000}{left_objects}, 1, 'another one is the other way round';
    is $size->{300000}{left_objects}, 1, "the child's own";
    is $size->{$_}{peak_objects}, $_ == 400000 ? 0 : $_ == 1000000 ? 2 : 2, "$_ at the peak" for 1000000, 200000;
    is $view->{sizes}{$_ . '_bytes'}, $view->{summary}{{peak => 'peak_bytes', left => 'live_bytes'}->{$_}}, "$_ as the summary has it"
        for qw(peak left);
    is $view->{lifetimes}{left_objects}, $view->{summary}{live_objects}, 'what lives on';
    is scalar @{$view->{pools}{pools}}, 2, 'a pool of each';
    my $left = 0;
    $left += $_->{left_bytes} for @{$view->{pools}{pools}};
    is $left, $view->{summary}{live_bytes}, 'which sum up';
    my ($most) = sort { $b <=> $a } map { $_->{live_bytes_peak} } @{$view->{timeline}{slices}};
    is $most, $view->{summary}{peak_bytes}, "the timeline's peak is that of both";
    my (undef, $child) = run("$B/bin/eventview", 'sizes', '--json', '--process', (sort { $b <=> $a } map { $_->{pid} } @{$view->{pools}{pools}})[0], $log);
    is ours({sizes => decode_json($child)})->{200000}{left_objects}, 1, 'the child alone has what it inherited';
};

subtest 'mapped bytes' => sub {
    my $log = record('mapped', '--', "$B/prog/mapped");
    my $view = views($log);
    my ($most) = sort { $b <=> $a } map { $_->{mapped_bytes_peak} } @{$view->{timeline}{slices}};

    is $most, $view->{summary}{peak_mapped_bytes}, 'the peak is that of the summary';
};

subtest 'arenas and pools of ours' => sub {
    my $log = "$Dir/mvff.paw";
    { local $ENV{PAWPRINT_LOG} = $log; system "$B/prog/labels >$Dir/addresses" }
    my $view = views($log);
    my ($arena) = @{$view->{pools}{arenas}};
    my ($pool) = @{$view->{pools}{pools}};

    is $pool->{arena}, $arena->{arena}, 'the pool is in the arena';
    is $pool->{class}, 'MVFF', 'its class';
    is_deeply [map { $pool->{$_} } qw(allocations gone left_objects left_bytes peak_bytes)], [4, 1, 3, 54321 + 123 + 77, 54321 + 123 + 77], 'objects';
    cmp_ok $pool->{segment_bytes}, '>=', $pool->{left_bytes}, 'they lie in its segments';
    cmp_ok $arena->{committed}, '>=', $pool->{segment_bytes}, 'which are committed';
    cmp_ok $arena->{reserved}, '>=', $arena->{committed}, 'in what is reserved';
};

subtest 'for people' => sub {
    my ($status, $out) = run("$B/bin/eventview", 'sizes,lifetimes,pools,timeline', "$Dir/known.paw");

    is $status, 0, 'status';
    utf8::decode($out);
    unlike $out, qr/^.{81}/m, 'no line is longer than 80 columns';
    like $out, qr/\x{2588}/, 'bars of blocks';
    local $ENV{LC_ALL} = 'C';
    like +(run("$B/bin/eventview", 'timeline', "$Dir/known.paw"))[1], qr/\A[\x00-\x7f]+\z/, 'without UTF-8: none';
    my @none = run("$B/bin/eventview", 'sizes,lifetimes,pools,timeline', '-k', 'System', "$Dir/known.paw");
    is scalar(() = $none[1] =~ /^no Object events: nothing is known of allocations$/mg), 4, 'a choice without Object events is told';
    like +(run("$B/bin/eventview", 'sizes', 'test/good/discarded.paw'))[1], qr/^discarded +10 events$/m, 'what was discarded';
    is +(run("$B/bin/eventview", 'timeline', '--slices', 0, "$Dir/known.paw"))[0], 2, '--slices 0 is a mistake';
    is +(run("$B/bin/eventview", 'sizes', '--slices', 3, "$Dir/known.paw"))[0], 2, 'and so is what means nothing';
};

subtest 'logs of a moment' => sub {
    my ($log, $short) = ("$Dir/known.paw", "$Dir/short.paw");
    my @time = map { /^(\S+)/ } grep { /PoolAlloc/ } split /^/m, (run("$B/bin/eventcnv", $log))[1];
    my $alike = sub { my ($of) = @_; return join ' ', map { "$_ $of->{summary}{$_}" } qw(events allocations frees resizes) };

    for my $case (['one event', '-n', 1, '-E', 'PoolAlloc'], ['some hundred nanoseconds', '--from', $time[0], '--to', $time[1]]) {
        my ($name, @choice) = @$case;
        is +(run("$B/bin/eventcnv", '-f', 'paw', '--no-state', '--force', '-o', $short, @choice, $log))[0], 0, "a log of $name";
        my $view = decode_json((run("$B/bin/eventview", '--json', 'summary,timeline', $short))[1]);
        my @slices = @{$view->{timeline}{slices}};
        my %sum;
        for my $slice (@slices) { $sum{$_} += $slice->{$_} for qw(events allocations frees resizes) }
        is $alike->({summary => \%sum}), $alike->($view), 'its slices add up to the summary';
        my %from = map { sprintf('%.9f', $_->{from}) => 1 } @slices;
        is scalar(keys %from), scalar(@slices), 'no two begin in one nanosecond';
        my $text = (run("$B/bin/eventview", 'timeline', $short))[1];
        like $text, qr/^slices +\d+ of \d\.\d*[1-9]\d* s/m, 'each has a length';
        unlike $text, qr/ a second|inf|nan/, 'one moment has no rate' if $name =~ /one/;
    }
    my $text = (run("$B/bin/eventview", 'timeline', '--from', 1000, $log))[1];
    like $text, qr/^slices +none: there is no event in the time that was asked for$/m, 'where there is no event, no slice';
    unlike $text, qr/ of 0\.0/, 'with no length';
};

done_testing;
