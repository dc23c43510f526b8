#!/usr/bin/perl
# diff.t -- what has changed between two times of a log, and between two logs
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp spew view view_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';

sub sums {
    my ($list, $key) = @_;
    my $sum = 0;
    $sum += $_->{$key} for @$list;
    return $sum;
}

subtest 'mistakes' => sub {
    my $log = "$Dir/single.paw";
    system("$B/test/heaptest", 'single', $log) == 0 or die;
    for my $case ([['diff', $log], qr/between which times, or two logs\?/], [['diff', $log, $log, $log], qr/there are 3 logs/],
                  [['sites,diff', $log, $log], qr/name it alone/], [['diff', '--from', 0, '--by', 'left', $log], qr/--by/]) {
        my ($status, undef, $err) = view(@{$case->[0]});
        is($status, 2, "@{$case->[0]}: usage");
        like($err, $case->[1], 'why');
    }
    is((view('diff', $log, "$Dir/none"))[0], 1, 'a log that is not there');
    my $same = view_json('diff', $log, $log);
    is_deeply($same->{old}, $same->{new}, 'a log is like itself');
};

# What lives at the two times, of all processes together, is what `live` says.
sub between {
    my ($name, $log, $from, $to) = @_;
    my $doc = view_json('diff', '--from', $from, '--to', $to, $log);
    for my $which (['before', $from], ['after', $to]) {
        my $live = view_json('live', '--at', $which->[1], $log);
        for my $what (qw(bytes objects)) {
            is($doc->{"$which->[0]_$what"}, sums($live->{processes}, $what), "$name: $which->[0], $what");
            is(sums($doc->{sites}, "$which->[0]_$what"), $doc->{"$which->[0]_$what"}, 'which the lines add up to');
        }
    }
    cmp_ok($doc->{still_there_bytes}, '<=', $doc->{after_bytes}, 'what was allocated since is among it');
    return $doc;
}

subtest 'made logs' => sub {
    my $log = "$Dir/single.paw";
    my $last = view_json('summary', $log)->{last};
    between('single', $log, sprintf('%.9f', $last * $_->[0]), sprintf('%.9f', $last * $_->[1])) for [0.2, 0.5], [0.5, 0.51], [0, 0.9];
    # Of a log that has no end of it a process lives on, and what it has at the end is what is left.
    my $doc = view_json('diff', '--from', 0, $log);
    my $summary = view_json('summary', $log);
    is($doc->{after_bytes}, $summary->{live_bytes}, 'without --to: up to the end');
    is($doc->{still_there_objects}, $summary->{live_objects}, 'all of it was allocated since the beginning');
    system("$B/test/heaptest", 'family', "$Dir/family.paw") == 0 or die;
    $doc = view_json('diff', '--from', 0, "$Dir/family.paw");
    is($doc->{after_bytes}, view_json('summary', "$Dir/family.paw")->{live_bytes}, 'with what each process had at its end');
};

# No other variety has events per object: what follows records programs.
if (($ENV{VARIETY} // 'cool') ne 'cool') { done_testing; exit }

# The function of a site, or module and offset, as eventcnv --symbols has it.
sub place { $_[0] =~ /\["(.*)"\]$/ ? $1 : $_[0] }

subtest 'between two times, by caller' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    my $log = "$Dir/perl.paw";
    is((run("$B/bin/eventrec", '-s', 1, '-p', 'block', '-o', $log, 'perl', '-e',
            'my %h; for (1 .. 6000) { $h{$_ % 500} = "x" x ($_ % 300); delete $h{($_ * 7) % 500} }'))[0], 0, 'recorded');
    my @event = grep { $_->[2] =~ /^Pool(?!Create|Param)/ } map { [split ' '] } split /\n/, (run("$B/bin/eventcnv", '--symbols', '-k', 'Object', $log))[1] =~ s/\["([^" ]+)[^"]*"\]/["$1"]/gr;
    my ($from, $to) = map { $event[@event * $_][0] } 0.3, 0.8;
    # It begins with an allocation of what is still there then: that is among what was allocated since.
    my %gone;
    for (reverse grep { $_->[0] >= $from && $_->[0] < $to } @event) {
        my ($time, undef, $name, @rest) = @$_;
        my %p = map { /^(\w+)=(.*)/ ? ($1 => $2) : () } @rest;
        $gone{$p{old} // $p{addr}} = 1 if $name =~ /^Pool(?:Free|Resize)/;
        $from = $time if $name =~ /^PoolAlloc/ && !delete $gone{$p{addr}};
    }
    my $doc = between('perl', $log, $from, $to);
    # The oracle: objects with the time of their allocation and their site.
    my (%object, %want);
    my $count = sub {
        my ($key, $since) = @_;
        for (grep { $_->[0] >= $since } values %object) { $want{$_->[2]}{$key} += $_->[1] }
    };
    my $before = 0;
    for (@event) {
        my ($time, undef, $name, @rest) = @$_;
        my %p = map { /^(\w+)=(.*)/ ? ($1 => $2) : () } @rest;
        if ($time >= $from && !$before) { $count->('before_bytes', 0); $before = 1 }
        last if $time >= $to;
        if ($name =~ /^PoolAlloc/) {
            $object{$p{addr}} = [$time, $p{size}, place($p{site})];
        } elsif ($name eq 'PoolFree') {
            delete $object{$p{addr}};
        } elsif ($name =~ /^PoolResizeEnd/ && (my $o = delete $object{$p{old}})) {
            $object{$p{addr}} = [$o->[0], $p{size}, place($p{site})];
        }
    }
    $count->('after_bytes', 0);
    $count->('still_there_bytes', $from);
    my %line = map { ($_->{function} // $_->{module} =~ s{.*/}{}r . '+' . $_->{offset} => $_) } @{$doc->{sites}};
    for my $key (qw(before_bytes after_bytes still_there_bytes)) {
        is_deeply({map { $line{$_}{$key} ? ($_ => $line{$_}{$key}) : () } keys %line},
                  {map { $want{$_}{$key} ? ($_ => $want{$_}{$key}) : () } keys %want}, $key);
    }
    is_deeply(view_json('sites,diff', '--from', $from, '--to', $to, $log)->{diff}, $doc, 'with another view, which begins later, it is the same');
    like((view('diff', '--from', $from, '--to', $to, $log))[1], qr/^between +$from s and $to s$/m, 'for people');
};

subtest 'two logs' => sub {
    plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
    spew("$Dir/grows.new", slurp("$B/prog/grows"));
    chmod 0755, "$Dir/grows.new";
    is((run("$B/bin/eventrec", '-s', 1, '-o', "$Dir/old.paw", "$B/prog/grows", 20))[0], 0, 'the old version is recorded');
    my ($status, $out) = run("$B/bin/eventrec", '-s', 1, '-o', "$Dir/new.paw", "$Dir/grows.new", 50);
    is($status, 0, 'and the new one, which is called otherwise');
    my $doc = view_json('diff', "$Dir/old.paw", "$Dir/new.paw");
    my %of = map { ($_->{function} => $_) } grep { $_->{module} =~ m{/grows} } @{$doc->{sites}};
    is_deeply({map { my $n = $_; ($n => [map { $of{$n}{$_}{peak_bytes}, $of{$n}{$_}{allocated_objects} } qw(old new)]) } keys %of},
              {leak => [20_000, 20, 50_000, 50], churn => [5_000, 20, 5_000, 50], start => [1_000_000, 1, 1_000_000, 1]},
              'the callers of one are those of the other');
    is($doc->{sites}[0]{function}, 'leak', 'the first is who has changed most');
    my $sites = view_json('sites', "$Dir/new.paw");
    is($doc->{new}{$_}, $sites->{$_}, "the new log has its own $_") for qw(peak_bytes left_bytes allocated_bytes temporary_objects);
    like((view('diff', "$Dir/old.paw", "$Dir/new.paw"))[1], qr/^ +19\.5 KiB +48\.8 KiB +\+29\.3 KiB  leak \(grows\.new\)$/m, 'for people');
    like((view('diff', '--by', 'calls', "$Dir/old.paw", "$Dir/new.paw"))[1], qr/^ +20 +50 +\+30  leak \(grows\.new\)$/m, 'by calls');
    is((view('diff', "$Dir/old.paw", "$Dir/old.paw"))[1] =~ /more that changed|grows\)/, '', 'no line where nothing has changed');
};

done_testing;
