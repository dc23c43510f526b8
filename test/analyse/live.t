#!/usr/bin/perl
# live.t -- what lived at a time, against another count of the same events
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir make_log run slurp spew view);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $seed = $ENV{SEED} // time;
srand $seed;
diag "SEED=$seed";

sub live {
    my ($status, $out, $err) = view('live', '--json', @_);
    my $doc = eval { decode_json($out) } or die "no JSON ($status): $out$err";

    return wantarray ? ($doc, $status, $err) : $doc;
}

# The oracle: the lines of eventcnv, one after the other, for each time of the list.  A resize happens at its end.  A process
# ends somewhere between its last event and the collector's that tells of it; its header knows when, and another test
# whether that is right: so of what it has then nothing is said, `undef` for a size.
sub oracle {
    my ($log, @times) = @_;
    my (@found, %live, %last, %ended, $kept);
    my @lines = split /\n/, (run("$B/bin/eventcnv", $log))[1];

    $last{(split m{[ /]}, $lines[$_], 3)[1]} = $_ for 0 .. $#lines;
    my %exits = map { / ProcessExit pid=(\d+)/ ? ($1 => 1) : () } @lines;
    my $i = -1;
    for my $line (@lines) {
        ++$i;
        my ($time, $who, $name, @rest) = split ' ', $line;
        push @found, copy(\%live, \%ended, $kept, grep { $last{$_} < $i } keys %exits) and shift @times while @times && $time >= $times[0];
        my ($pid) = $who =~ m{^(\d+)/};
        my %p = map { /^(\w+)=(.*)/ ? ($1 => $2) : () } @rest;
        my $its = $live{$pid} //= {};
        if ($name eq 'ProcessExit' && exists $live{$p{pid}}) {
            # What ends has nothing that lives; but of the last one is told.
            $ended{$p{pid}} = 1;
            $kept = $p{pid} if !defined $kept || $last{$p{pid}} > $last{$kept};
        } elsif ($name =~ /^PoolAlloc(?!Fail)/) {
            $its->{$p{addr}} = $p{size} unless $p{addr} eq '0x0';
        } elsif ($name eq 'PoolFree') {
            delete $its->{$p{addr}};
        } elsif ($name =~ /^PoolResizeEnd/ && $p{addr} ne '0x0') {
            # What a child of fork has from its parent is another test's business.
            $its->{$p{addr}} = $p{size} if delete $its->{$p{old}} || !inherits($log, $pid);
        } elsif ($name eq 'PoolLive') {
            $its->{$p{addr}} //= $p{size};
        }
    }
    push @found, copy(\%live, \%ended, $kept) for @times;
    return @found;
}

# The parent of a process that is a child of fork.
my %forked;
sub inherits {
    my ($log, $pid) = @_;

    $forked{$log} //= {map { /^pid: (\d+)\nparent: (\d+)\nforked: /m ? ($1 => $2) : () }
                       split /^(?=identity: )/m, (run("$B/bin/eventcnv", '--header', $log))[1]};
    return $forked{$log}{$pid};
}

# The threads of a process.
my %threads;
sub threads {
    my ($log, $pid) = @_;

    $threads{"$log $pid"} //= {map { m{^\S+ $pid/(\d+) } ? ($1 => 1) : () }
                               split /\n/, (run("$B/bin/eventcnv", $log))[1]};
    return $threads{"$log $pid"};
}

sub copy {
    my ($live, $ended, $kept, @silent) = @_;
    my %open = map { $ended->{$_} ? () : ($_ => 1) } @silent;
    my @pids = grep { !$ended->{$_} && %{$live->{$_}} } keys %$live;
    @pids = $kept if !@pids && defined $kept;
    # If none lives but such, the last that did is told of, or one of them.
    my $none = !grep { !$open{$_} } @pids;
    my %all = map { my $pid = $_; map { ("$pid $_" => $open{$pid} ? undef : $live->{$pid}{$_}) } keys %{$live->{$pid}} }
        @pids, $none && defined $kept ? $kept : ();
    $_ = undef for $none && %open ? values %all : ();

    return \%all;
}

# The objects that the view names, "pid addr" => size.  Not by JSON::PP, which takes a second for each megabyte.
sub objects {
    my ($log, @options) = @_;
    my ($status, $out, $err) = view('live', '--json', '--top', 1_000_000, @options, $log);
    my %all;

    is($status, 0, "live @options") or diag $err;
    for my $process (split /^  (?=\{"pid": )/m, $out) {
        my ($pid) = $process =~ /^\{"pid": (\d+)/ or next;
        my ($largest) = $process =~ /"largest": \[(.*?)\]/s;
        my $parent = inherits($log, $pid) // '';
        while ($largest =~ /\{"addr": "(\w+)", "size": (\d+)[^}]*?"tid": (\d+)/g) {
            $all{"$pid $1"} = $2 if $3 ne $parent && ($parent eq '' || !threads($log, $parent)->{$3});
        }
    }
    return \%all;
}

# How many objects of either are not among the other's, or of another size.
sub differ {
    my ($one, $two) = @_;
    my $count = grep { !exists $two->{$_} || (defined $two->{$_} && $two->{$_} != $one->{$_}) } keys %$one;

    return $count + grep { !exists $one->{$_} && defined $two->{$_} } keys %$two;
}

sub summary {
    my ($log) = @_;
    my $doc = decode_json((view('--json', $log))[1]);

    return $doc;
}

# At random times, half of them those of events.  An event that was put behind another may be seen on either side of it.
sub compare {
    my ($log, $count, $name) = @_;
    my $sum = summary($log);
    my @event = map { /^(\S+)/ } split /\n/, (run("$B/bin/eventcnv", '-k', 'Object', $log))[1];
    my @times = sort { $a <=> $b }
        map { $_ % 2 ? $event[rand @event] : sprintf '%.9f', rand($sum->{last}) } 1 .. $count;
    my @true = oracle($log, @times, 1e9);
    my ($wrong, $most) = (0, 0);

    for my $i (0 .. $#times) {
        my $got = objects($log, '--at', $times[$i]);
        my $bad = differ($got, $true[$i]);
        diag "$name: at $times[$i]: $bad of " . keys(%$got) if $bad > $sum->{repairs};
        $wrong += $bad > $sum->{repairs};
        $most = keys %$got if keys %$got > $most;
    }
    is($wrong, 0, "$name: what lived at $count times ($most objects at most, $sum->{repairs} repairs)");
    my $end = objects($log);
    cmp_ok(differ($end, $true[-1]), '<=', $sum->{repairs}, "$name: and at the end");
    is(scalar(keys %$end), $sum->{live_objects}, "$name: as the summary says") if @{$sum->{processes}} == 1;
}

subtest 'made logs' => sub {
    compare(make_log('single'), 5, 'one thread');
    my $sum = summary(make_log('churn'));
    my ($true) = oracle("$Dir/churn.paw", 1e9);
    cmp_ok(differ(objects("$Dir/churn.paw"), $true), '<=', $sum->{repairs}, 'four threads');
    cmp_ok($sum->{repairs}, '<=', $sum->{allocations} / 10, 'of which few events are put right') or diag $sum->{allocations};
};

subtest 'a free is missing, of one of two threads' => sub {
    my $log = make_log('lost');
    cmp_ok(0 + keys %{objects($log, '--at', $_)}, '<=', 2, "at $_: each thread has one at most") for 0.0011, 0.0017, 0.0025;
    is(join(' ', keys %{objects($log, '--at', 'end')}), '4711 0x40', 'at the end: what the other thread has');
};

subtest 'real programs' => sub {
    plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my %program = (
        perl => ['perl', '-e', 'my %h; for (1 .. 6000) { $h{$_ % 500} = "x" x ($_ % 300); delete $h{($_ * 7) % 500} }'
                             . ' if (fork == 0) { my @a = map { [$_] } 1 .. 300; exit } wait'],
        sort => ['sort', '--parallel=2', '-S', '1M', "$Dir/numbers"],
        churn => ["$B/prog/churn", 3, 2000],
    );
    spew("$Dir/numbers", join '', map { int(rand 1e6) . "\n" } 1 .. 20000);
    for my $name (sort keys %program) {
        for my $mode ($name eq 'churn' ? qw(observe manage) : 'observe') {
            my $log = "$Dir/$name.$mode.paw";
            my ($status, $out, $err)
                = run("$B/bin/eventrec", '-m', $mode, '-p', 'block', '-o', $log, @{$program{$name}});
            is($status, 0, "$name is recorded") or diag $err;
            compare($log, 20, "$name, $mode");
        }
    }

    my $log = "$Dir/site.paw";
    is((run("$B/bin/eventrec", '-s', 1, '-o', $log, 'perl', '-e', 'my @a = map { [$_] } 1 .. 2000'))[0], 0,
       'with sites');
    my ($half) = (split /\n/, (run("$B/bin/eventcnv", '-e', 'name =~ "^PoolAlloc"', $log))[1])[1500] =~ /^(\S+)/;
    my $process = scalar(live('--at', $half, '--top', 5000, $log))->{processes}[0];
    my %site;
    for (split /\n/, (run("$B/bin/eventcnv", '--to', $half, $log))[1]) {
        $site{$1} = $2 if /PoolAlloc\w*Site .*addr=(\w+) .*site=(\w+)/;
        # A resized object belongs to who has resized it.
        if (/PoolResizeEndSite .*old=(\w+) addr=(0x\w*[1-9a-f]\w*) .*site=(\w+)/) {
            delete $site{$1};
            $site{$2} = $3;
        }
    }
    my @sited = grep { defined $_->{site} } @{$process->{oldest}};
    cmp_ok(scalar @sited, '>', 100, 'objects have sites');
    is(scalar(grep { $_->{site} ne ($site{$_->{addr}} // '') } @sited), 0, 'each its own');
    my $sum = 0;
    $sum += $_->{objects} for @{$process->{sites}};
    is($sum, $process->{objects}, 'and each site its objects');

    # Callers are those of the view of sites, which counts them by itself.
    my $key = sub { join ' ', map { $_ // '-' } @{$_[0]}{qw(function module offset)}, @_[1, 2] };
    for my $depth (1, 8) {
        $log = "$Dir/callers$depth.paw";
        is((run("$B/bin/eventrec", '-s', $depth, '-p', 'block', '-o', $log, 'perl', '-e', 'my @a = map { [$_] } 1 .. 2000'))[0], 0,
           "with $depth callers");
        for my $options ([], ['--skip', '^Perl_more'], ['-e', 'size > 100']) {
            my ($end, $sites) = map { decode_json((view(@$_, '--json', '--top', 100000, @$options, $log))[1]) } ['live'], ['sites'];
            my @had = map { $key->($_, $_->{objects}, $_->{bytes}) } @{$end->{processes}[0]{sites}};
            my @left = map { $_->{left_objects} ? $key->($_, $_->{left_objects}, $_->{left_bytes}) : () } @{$sites->{sites}};
            is_deeply([sort @had], [sort @left], "callers are those of the view of sites @$options");
            is($end->{processes}[0]{sites_in_all}, scalar @left, 'so many');
        }
        my ($text) = (view('live', '--top', 3, $log))[1];
        like($text, qr/^  by caller    \d+, of which:\n(?: +\d+ objects?, \d+ bytes.*  \S+( \(perl\w*\))?\n){3}  largest\n/m, 'they are named')
            or diag $text;
        like($text, qr/, since \S+ s(?: or before)?, by \S+( \(\S+\))?$/m, 'also those of objects');
    }

    $log = "$Dir/churn.manage.paw";
    $process = scalar(live($log))->{processes}[0];
    is(scalar @{$process->{arenas}}, 1, 'our own arena');
    cmp_ok($process->{arenas}[0]{size}, '>', 0, 'has a size');
    is_deeply([map { $_->{class} } @{$process->{pools}}], ['SGF'], 'its pool has a class');
    is($process->{pools}[0]{arena}, $process->{arenas}[0]{arena}, 'and is in it');
};

# The moment at which most lived, against the largest of what lived behind each event that brings something.
sub peak {
    my ($log, $name, @options) = @_;
    my ($most, $when, $passed) = (-1);
    my $bytes = sub { my $sum = 0; $sum += $_->{bytes} for @{$_[0]{processes}}; return $sum };

    my $next = sub { my ($s, $ns) = $_[0] =~ /^(\d+)\.(\d{9})$/ or die; return sprintf '%d.%09d', $s + ($ns == 999999999), ($ns + 1) % 1e9 };
    my %times = map { /^(\S+) \S+ (?:Pool(?!Free)|Process|Thread)/ ? ($1 => 1) : () } split /\n/, (run("$B/bin/eventcnv", @options, $log))[1];
    for my $time (sort { $a <=> $b } keys %times) {
        my $sum = $bytes->(scalar live('--top', 0, '--at', $next->($time), @options, $log));
        ($most, $when) = ($sum, $time) if $sum > $most;
        ++$passed;
    }
    my $peak = live('--top', 1000, '--at', 'peak', @options, $log);
    my $then = live('--top', 1000, '--at', $next->($when), @options, $log);
    is($bytes->($peak), $most, "$name: the peak is the largest of $passed sums");
    cmp_ok(abs($peak->{at} - $when), '<', 1e-6, 'at its time');
    is_deeply($peak->{processes}, $then->{processes}, 'with all that lived then');
    my $doc = decode_json((view('--json', @options, $log))[1]);
    is($bytes->($peak), $doc->{peak_bytes}, 'as the summary has it');
}

subtest 'the peak' => sub {
    peak(make_log($_), $_, '-n', 300) for qw(single pools);
    my $log = "$Dir/family.paw";
    is_deeply(scalar(live('--at', 'end', make_log('family'))), scalar(live(make_log('family'))), 'the end');
    like((view('live', '--at', 'summit', $log))[2], qr/'summit' is neither seconds nor HH:MM:SS/, 'what is none');
    SKIP: {
        skip 'no programs are recorded here', 1 if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
        my $program = 'my $own = "o" x 300000; for my $n (1 .. 4) { if (fork == 0) { my @a = map { "x" x (100000 * $n) } 1 .. 5; undef $a[2]; exit }'
            . ' wait } my @b = map { "y" x 200000 } 1 .. 3; undef @b; my $z = "z" x 150000';
        my ($status, undef, $err) = run("$B/bin/eventrec", '--force', '-o', $log, 'perl', '-e', $program);
        is($status, 0, 'a family whose children have the peak, one after the other') or diag $err;
        peak($log, 'a family', '-e', 'size >= 50000 || name == "PoolFree" || kind == "System"');
    }
};

subtest 'sums' => sub {
    my $doc = live('--at', '0.02', '--top', 3, "$Dir/churn.paw");
    my $process = $doc->{processes}[0];

    is($doc->{at}, 0.02, 'the time');
    for my $list (qw(pools sizes threads)) {
        for my $what (qw(objects bytes)) {
            my $sum = 0;
            $sum += $_->{$what} for @{$process->{$list}};
            is($sum, $process->{$what}, "$list: $what");
        }
    }
    is(scalar @{$process->{$_}}, 3, "$_: as many as asked for") for qw(largest oldest);
    is_deeply([sort { $b->{size} <=> $a->{size} } @{$process->{largest}}], $process->{largest}, 'the largest by size');
    is_deeply([sort { $a->{since} <=> $b->{since} } @{$process->{oldest}}], $process->{oldest}, 'the oldest by age');
    ok(!grep({ $_->{least} > $_->{most} } @{$process->{sizes}}), 'size classes');
    my $pools = live(make_log('pools'))->{processes}[0];
    is_deeply([map { $_->{class} } @{$pools->{pools}}], ['MFS', 'SGF'], 'a pool that was destroyed is gone');
    $pools = scalar(live('--at', '0.0005', "$Dir/pools.paw"))->{processes}[0];
    is_deeply([map { $_->{class} } @{$pools->{pools}}], ['MFS', 'MVFF', 'SGF'], 'and was there before');
    is_deeply($pools->{arenas}, [{arena => '0xa0', size => 1 << 26, grain => 65536, since => 0}], 'arenas');
    is_deeply([map { $_->{pid} } @{live(make_log('family'))->{processes}}], [4711, 5000], 'processes');
};

subtest 'with others, and for people' => sub {
    my ($status, $out, $err) = view('live', '--at', '0.02', "$Dir/churn.paw");
    is($status, 0, 'status');
    like($out, qr/^at\s+0\.020000000 s\nprocess\s+4711 /, 'when, and who');
    like($out, qr/^  $_/m, $_) for qw(objects arenas pools largest oldest), 'by size', 'by thread';
    my $both = decode_json((view('summary', 'live', '--json', "$Dir/churn.paw"))[1]);
    is_deeply($both->{live}, scalar(live("$Dir/churn.paw")), 'two views: one document, the one,');
    is_deeply($both->{summary}, summary("$Dir/churn.paw"), 'and the other');
    is((view('summary', 'live', "$Dir/churn.paw"))[1],
       (view("$Dir/churn.paw"))[1] . "\n" . (view('live', "$Dir/churn.paw"))[1], 'one text behind the other');
    is_deeply(scalar(live('--to', '0.02', "$Dir/churn.paw"))->{processes},
              scalar(live('--at', '0.02', "$Dir/churn.paw"))->{processes}, 'what is not read has not happened');
    is(scalar(live('-k', 'Pool', "$Dir/churn.paw"))->{processes}[0]{objects}, 0, 'without Object events nothing lives');
    is_deeply(scalar(live('--at', '0', "$Dir/churn.paw"))->{processes}, [], 'nor before the first event');
};

subtest 'bad input' => sub {
    for my $case ([['live'], qr/no log is given/], [['lives', "$Dir/churn.paw"], qr/'lives' .*summary, live/],
                  [['live', '--at', 'noon', "$Dir/churn.paw"], qr/--at: 'noon'/],
                  [['--at', 1, "$Dir/churn.paw"], qr/--at has no meaning with summary; it is for live/],
                  [['--top', 10, "$Dir/churn.paw"], qr/--top has no meaning with summary/],
                  [['live', 'live', "$Dir/churn.paw"], qr/twice/]) {
        my ($status, $out, $err) = view(@{$case->[0]});
        is($status, 2, "@{$case->[0]}: status");
        like($err, $case->[1], 'message');
    }
    my $bytes = slurp("$Dir/churn.paw");
    substr($bytes, length($bytes) / 2, 1) ^= "\x40";
    my ($doc, $status, $err) = live(spew("$Dir/damaged.paw", $bytes));
    is($status, 1, 'a damaged log: status');
    like($err, qr/damaged\.paw: offset \d+: .*lost$/m, 'what is missing is told');
    ok($doc->{processes}[0]{objects} > 0, 'and the rest is there');
};

done_testing();
