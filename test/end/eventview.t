#!/usr/bin/perl
# eventview.t -- what logs are said to hold
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

sub summary {
    my ($status, $out, $err) = view('--json', @_);
    my $doc = eval { decode_json($out) };

    die "no JSON ($status): $out$err" unless $doc;
    return ($status, $doc, $err);
}

my $churn = make_log('churn');

# What the lines of eventcnv come to, counted here: the oracle for a log of one thread.
sub oracle {
    my ($log) = @_;
    my ($status, $out) = run("$B/bin/eventcnv", $log);
    my (%size, %sum, %old, %begin);
    my ($bytes, $peak) = (0, 0);

    $sum{$_} = 0 for qw(events allocations frees resizes failed_resizes total_bytes);
    for my $line (split /\n/, $out) {
        my ($time, $who, $name, @rest) = split ' ', $line;
        my %p = map { /^(\w+)=(.*)/ } @rest;
        ++$sum{events};
        ++$sum{name}{$name};
        if ($name =~ /^PoolAlloc/) {
            ++$sum{allocations};
            ++$sum{size}{$p{size}};
            $size{$p{addr}} = $p{size};
            $bytes += $p{size};
            $sum{total_bytes} += $p{size};
            $sum{lifetime} -= $time;
        } elsif ($name eq 'PoolFree') {
            ++$sum{frees};
            $bytes -= delete $size{$p{addr}};
            $sum{lifetime} += $time;
        } elsif ($name eq 'PoolResizeEnd') {
            ++$sum{$p{addr} eq '0x0' ? 'failed_resizes' : 'resizes'};
            next if $p{addr} eq '0x0';
            my $old = delete $size{$p{old}};
            $size{$p{addr}} = $p{size};
            $bytes += $p{size} - $old;
            $sum{total_bytes} += $p{size} - $old if $p{size} > $old;
        }
        $peak = $bytes if $bytes > $peak;
    }
    @sum{qw(live_objects live_bytes peak_bytes)} = (scalar(keys %size), $bytes, $peak);
    return \%sum;
}

subtest 'every number, against another count' => sub {
    my $log = make_log('single');
    my $true = oracle($log);
    my ($status, $doc, $err) = summary($log);

    is($status, 0, 'status');
    is($err, '', 'silent');
    is($doc->{$_}, $true->{$_}, $_)
        for qw(events allocations frees resizes failed_resizes total_bytes live_objects live_bytes peak_bytes);
    is_deeply({map { $_->{name} => $_->{count} } @{$doc->{types}}}, $true->{name}, 'types');
    my %size = %{$true->{size}};
    is($_->{count}, $size{$_->{size}}, "size $_->{size}") for @{$doc->{sizes}};
    is($doc->{sizes}[0]{count}, (sort { $b <=> $a } values %size)[0], 'the most frequent size comes first');
    is($doc->{$_}, 0, "$_: none") for qw(unmatched overlaps unfinished repairs discarded gaps lost);
    cmp_ok($doc->{duration}, '>', 0.1, 'duration');
    is($doc->{threads}, 1, 'threads');
};

# What is missing costs one finding, and each number after it is right again.
subtest 'a free is missing, of one of two threads' => sub {
    my $log = make_log('lost');
    my (undef, $doc) = summary($log);
    my $true = oracle($log);

    is($doc->{$_}, $true->{$_}, $_) for qw(allocations frees resizes total_bytes);
    is($doc->{overlaps}, 1, 'one object went without one');
    is($doc->{$_}, 0, "$_: none") for qw(unmatched unfinished repairs);
    is($doc->{live_objects}, 1, 'nothing but what the other thread has lives on');
    my ($live) = view('live', '--json', $log);
    is($live, 0, 'live: status');
};

subtest 'threads whose stamps contradict each other' => sub {
    my ($status, $doc) = summary($churn);

    is($status, 0, 'status');
    is($doc->{threads}, 4, 'threads');
    is($doc->{unmatched} + $doc->{overlaps} + $doc->{unfinished}, 0, 'every event finds its match');
    cmp_ok($doc->{repairs}, '>', 10, 'by repairs, which are counted');
    is($doc->{allocations} - $doc->{frees}, $doc->{live_objects}, 'what came and did not go lives');
};

subtest 'for people' => sub {
    my ($status, $out, $err) = view($churn);

    is($status, 0, 'status');
    like($out, qr/^$_\s+\S/m, $_)
        for qw(processes threads duration events allocations frees resizes peak sizes discarded damage unmatched repairs),
            'live at end', 'mean lifetime';
    like($out, qr/^    PoolAlloc\s+\d+$/m, 'types under their kind');
    is((view('summary', $churn))[1], $out, 'the view has a name');
    is((view($churn, $churn))[0], 0, 'the same log twice is no disaster');
};

subtest 'filters' => sub {
    for my $part (['-k', 'Pool'], ['-E', 'PoolFree'], ['--from', '0.01'], ['-e', 'size > 100']) {
        like((view('summary', @$part, $churn))[1], qr/^$_ +\d+ with events that were asked for$/m, "@$part: $_ that had none are not known of")
            for 'processes', 'threads';
    }
    unlike((view('summary', $churn))[1], qr/asked for$/m, 'of the whole all are');

    my ($all) = (summary($churn))[1];
    my ($frees) = (summary('-E', 'PoolFree', $churn))[1];
    my ($none) = (summary('-k', 'Pool', $churn))[1];
    my ($few) = (summary('-n', 100, $churn))[1];
    my ($early) = (summary('--to', '0.01', $churn))[1];
    my ($late) = (summary('--from', '0.01', $churn))[1];

    is_deeply([map { $_->{name} } @{$frees->{types}}], ['PoolFree'], '--events');
    is($none->{events}, 1, '--kinds');
    ok(!$none->{objects_known}, 'without Object events nothing is known of objects');
    is_deeply([sort keys %$none], [sort keys %$all], 'which the document says with the same members as any other');
    is("@$none{qw(allocations live_objects peak_bytes)}", "0 0 0", 'that are 0');
    is($few->{events}, 100, '--count');
    is($early->{events} + $late->{events}, $all->{events}, '--from begins where --to ends');
    cmp_ok($late->{unmatched}, '>', 0, 'what began before is unmatched');
    for my $case (['-k', 'Objekt'], ['-E', 'PoolFrei'], ['--from', 'noon']) {
        my ($status, $out, $err) = view(@$case, $churn);
        is($status, 2, "@$case: status");
        like($err, qr/$case->[1]/, 'message');
    }
    is((view('--from', '0.01', '--to', '0.01', $churn))[0], 0, 'no time at all is a part');
    my ($status, $out, $err) = view('--from', '0.02', '--to', '0.01', $churn);
    is($status, 2, 'one that ends before it begins: status');
    is($err, "eventview: --to: 0.01 is before --from=0.02\ntry 'eventview --help'\n", 'message');
};

subtest 'logs that lack something' => sub {
    my ($status, $out, $err) = view(make_log('none'));
    is($status, 0, 'no Object events: status');
    like($out, qr/^no Object events: nothing is known of allocations$/m, 'which is said');

    my ($part) = (summary(make_log('part')))[1];
    is($part->{$_->[0]}, $_->[1], $_->[0]) for ['unmatched', 1], ['overlaps', 1], ['discarded', 5], ['without_free', 1];
    $out = (view("$Dir/part.paw"))[1];
    like($out, $_, "one is one: $_") for qr/, and 1 object that went without one$/m, qr/^overlaps +1 allocation where /m,
        qr/^unmatched +1 free or resize of /m, qr/^discarded +5 events$/m, qr/^repairs +0 events put /m;

    ($status, $out, $err) = view(make_log('newer'));
    is($status, 1, 'events newer than this program are refused');
    like($err, qr/newer.*--force/, 'with the way out');
    is((view('--force', "$Dir/newer.paw"))[0], 0, 'which works');

    my $bytes = slurp($churn);
    substr($bytes, length($bytes) / 2, 1) ^= "\x40";
    ($status, $out, $err) = view(spew("$Dir/damaged.paw", $bytes));
    is($status, 1, 'a damaged log: status');
    like($err, qr/^eventview: \Q$Dir\E\/damaged\.paw: offset \d+: .*lost$/m, 'the damage is named');
    like($out, qr/^damage\s+\d+ places?, \d+ events? lost$/m, 'and counted; the rest is there');
};

subtest 'several processes, other machines, huge sizes' => sub {
    my ($family) = (summary(make_log('family')))[1];
    my ($foreign) = (summary(make_log('foreign')))[1];
    my ($huge) = (summary(make_log('huge')))[1];
    my ($pools) = (summary(make_log('pools')))[1];

    is_deeply([sort map { $_->{pid} } @{$family->{processes}}], [4711, 5000], 'processes');
    is($foreign->{peak_bytes}, 150, 'another registry, another byte order');
    is($huge->{allocations}, 2, 'huge sizes');
    is($pools->{without_free}, 300, 'objects that went with their pool');
};

SKIP: {
    skip 'no eventrec', 1 unless -x "$B/bin/eventrec";
    skip 'no events of objects in this variety', 1 if ($ENV{VARIETY} // 'cool') ne 'cool';
    subtest 'real threads that swap objects: no address lives twice' => sub {
        my $log = "$Dir/swap.paw";

        spew("$Dir/swap.c", <<'END');
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
static void *box[64];
static void *run(void *seed)
{
  uint64_t s = (uintptr_t)seed * 7919 + 1;
  for (int i = 0; i < 300000; ++i) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    void *p = malloc((s >> 20) % 200 + 1);
    if (s >> 60 == 0)
      p = realloc(p, (s >> 30) % 2000 + 1);
    free(__atomic_exchange_n(&box[s % 64], p, __ATOMIC_ACQ_REL));
  }
  return NULL;
}
int main(void)
{
  pthread_t thread[3];
  for (uintptr_t i = 0; i < 3; ++i)
    pthread_create(&thread[i], NULL, run, (void *)(i + 1));
  for (int i = 0; i < 3; ++i)
    pthread_join(thread[i], NULL);
  return 0;
}
END
        system(split(' ', $ENV{CC} || 'cc'), '-O1', '-pthread', '-o', "$Dir/swap", "$Dir/swap.c") == 0 or die 'no program';
        is((run("$B/bin/eventrec", '-o', $log, "$Dir/swap"))[0], 0, 'is recorded');
        my ($status, $doc) = summary($log);
        is($status, 0, 'and read');
        cmp_ok($doc->{allocations}, '>=', 900000, 'all of it');
        is($doc->{threads}, 4, 'by thread');
        is($doc->{$_}, 0, "$_: none") for qw(overlaps unmatched unfinished discarded lost);
        is($doc->{allocations} - $doc->{frees}, $doc->{live_objects}, 'every object is accounted for');
        diag("$doc->{repairs} repairs") if $doc->{repairs} > 0;
    };
}

subtest 'usage' => sub {
    for my $case ([[], qr/no log is given/], [['summary'], qr/no log is given/], [['--sideways', $churn], qr/sideways/]) {
        my ($status, $out, $err) = view(@{$case->[0]});
        is($status, 2, "@{$case->[0]}: status");
        like($err, $case->[1], 'message');
    }
    is_deeply([view('summary,live', $churn)], [view('summary', 'live', $churn)], 'several views, separated by commas');
    {
        my ($status, $out, $err) = view($churn, 'sites');
        is($status, 2, 'a view behind the log: status');
        like($err, qr/no file 'sites'; the view of this name is named before the logs: eventview sites \Q$churn\E$/m, 'message');
    }
    for my $case (['live,site' => qr/'live,site' is neither a view nor a file; views are: /], ['live,' => qr/'live,' is neither/],
        ['live,summary,live' => qr/live is named twice/]) {
        my ($status, $out, $err) = view($case->[0], $churn);
        is($status, 2, "$case->[0]: status");
        like($err, $case->[1], 'message');
    }
    for my $bytes ('', "text\n" x 100) {
        my ($status, $out, $err) = view(spew("$Dir/no.paw", $bytes));
        is($status, 1, 'no log: status');
        like($err, qr/^eventview: \S+no\.paw: /, 'named');
    }
    is((view("$Dir/absent.paw"))[0], 1, 'a log that is not there');
    SKIP: {
        skip 'no /dev/full', 1 unless -e '/dev/full';
        is(system("$B/bin/eventview $churn > /dev/full 2> $Dir/full") >> 8, 1, 'a full disk: status');
        like(slurp("$Dir/full"), qr/standard output: No space/, 'message');
    }
};

done_testing();
