#!/usr/bin/perl
# who.t -- eventview summary: allocated, freed and temporary by process and thread; discarded by stream
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run);
use JSON::PP qw(decode_json);
use List::Util qw(sum0);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

sub summary {
    my ($status, $out, $err) = run("$B/bin/eventview", '--json', @_);
    is $status, 0, 'status' or diag $err;
    return decode_json($out);
}

# By thread, from the lines: addresses are of their process, and a child of fork has its parent's.
sub oracle {
    my ($log) = @_;
    my (%who, %object, %just);
    open my $in, '-|', "$B/bin/eventcnv", $log or die $!;
    while (<$in>) {
        my ($pid, $tid, $name, $rest) = m{^\S+ (\d+)/(\d+) (Pool\w+) (.*)} or next;
        my %p = $rest =~ /(\w+)=(\w+)/g;
        my $sum = $who{"$pid/$tid"} //= {map { $_ => 0 } qw(allocations frees resizes allocated_bytes freed_bytes temporary_objects temporary_bytes)};
        $object{$pid} = {map { %$_ } values %object} if !$object{$pid}; # its one parent's
        my $mine = $object{$pid};
        if ($name =~ /^PoolAlloc(Zero|Aligned)?$/) {
            ++$sum->{allocations};
            $sum->{allocated_bytes} += $mine->{$p{addr}} = $p{size};
            $just{$tid} = $p{addr};
        } elsif ($name eq 'PoolFree') {
            ++$sum->{frees};
            $sum->{freed_bytes} += $mine->{$p{addr}};
            if (($just{$tid} // '') eq $p{addr}) {
                ++$sum->{temporary_objects};
                $sum->{temporary_bytes} += $mine->{$p{addr}};
            }
            delete $mine->{$p{addr}};
            $just{$tid} = '';
        } elsif ($name eq 'PoolResizeEnd') {
            my $more = $p{size} - delete $mine->{$p{old}};
            ++$sum->{resizes};
            $sum->{$more > 0 ? 'allocated_bytes' : 'freed_bytes'} += abs $more;
            $mine->{$p{addr}} = $p{size};
            $just{$tid} = '';
        }
    }
    delete @who{grep { !sum0 @{$who{$_}}{qw(allocations frees resizes)} } keys %who};
    return \%who;
}

my $log = "$Dir/who.paw";
my ($status, undef, $said) = run("$B/bin/eventrec", '-o', $log, '--', "$B/prog/known",
    qw(m0=1000000 m1=100000 t x5=200000 f1 m2=300000 r2=150000 . r0=1500000 k f2 m3=110000 . x3=120000));
is $status, 0, 'recorded' or diag $said;
my $view = summary($log);
my %is;
for my $process (@{$view->{processes}}) {
    for my $thread (@{$process->{by_thread}}) {
        $is{"$process->{pid}/$thread->{tid}"} = {map { $_ => $thread->{$_} } grep { $_ ne 'tid' } keys %$thread};
    }
    is $process->{allocated_bytes}, sum0(map { $_->{allocated_bytes} } @{$process->{by_thread}}), 'a process has what its threads have';
}
my $true = oracle($log);
is_deeply \%is, $true, 'each thread of each process';
is scalar keys %is, 3, 'which are three';
is $view->{temporary_objects}, sum0(map { $_->{temporary_objects} } values %is), 'temporary objects, all together';
cmp_ok $view->{temporary_bytes}, '>=', 5 * 200000 + 3 * 120000, 'ours among them';
is $view->{total_bytes}, sum0(map { $_->{allocated_bytes} } values %is), 'allocated in all';
is $view->{freed_bytes}, sum0(map { $_->{freed_bytes} } values %is), 'freed';
is $view->{total_bytes} + $view->{inherited_bytes} - $view->{freed_bytes}, $view->{live_bytes}, 'the rest lives';

my ($text) = (run("$B/bin/eventview", $log))[1];
like $text, qr/^by process +allocations +allocated +freed +temporary$/m, 'for people: by process';
like $text, qr/^by thread +allocations +allocated +freed +temporary\n(  \d+\/\d+ .*\n){3}/m, 'and thread';

my $short = summary('test/good/discarded.paw');
is sum0(map { $_->{events} } @{$short->{discarded_by_stream}}), $short->{discarded}, 'discarded, by stream';
is $short->{discarded_by_stream}[0]{kind}, 'Object', 'of which kind';
like +(run("$B/bin/eventview", 'test/good/discarded.paw'))[1], qr/^discarded +10 events\n  17\/18 +10 Object$/m, 'for people';
is_deeply $view->{discarded_by_stream}, [], 'none';

done_testing;
