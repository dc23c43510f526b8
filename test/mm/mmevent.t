#!/usr/bin/perl
# mmevent.t -- the memory manager's own events: one for each call of the client, and books that balance
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => "no events per object in this variety" if ($ENV{VARIETY} // 'cool') ne 'cool';
-x "$B/bin/eventcnv" or BAIL_OUT("eventcnv is not built");

my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/log.paw";
my @expected = do {
  local $ENV{PAWPRINT_LOG} = $log;
  open my $run, '-|', "$B/test/pooltest", 'events' or die "pooltest: $!";
  <$run>;
};
is $?, 0, 'a program uses all classes of pools';

open my $cnv, '-|', "$B/bin/eventcnv", $log or die "eventcnv: $!";
my (@object, @wrong, %class);
my %sum = (committed => 0, reserved => 0, segments => 0);
my %most = %sum;
my %change = (
  ArenaCommit  => [committed => 1], ArenaDecommit => [committed => -1], ArenaReserve => [reserved => 1],
  ArenaRelease => [reserved => -1], SegAlloc      => [segments => 1],   SegFree      => [segments => -1],
);
# Events of one moment, of different kinds, are in no order: books are looked at when time has gone on.
my ($moment, $last) = ('', '');
while (my $line = <$cnv>) {
  my ($time, $name, $rest) = $line =~ /^(\S+) \S+ ((\w+) .*\n)/ ? ($1, $3, $2) : next;
  push @wrong, $last if $time ne $moment && ($sum{segments} > $sum{committed} || $sum{committed} > $sum{reserved});
  ($moment, $last) = ($time, $rest);
  if ($name =~ /^Pool(?:Alloc|Free|Resize)/) {
    push @object, $rest;
  } elsif ($change{$name}) {
    my ($what, $sign) = @{ $change{$name} };
    $sum{$what} += $sign * ($rest =~ /size=(\d+)/)[0];
    $most{$what} = $sum{$what} if $sum{$what} > $most{$what};
    push @wrong, $rest if $sum{$what} < 0;
  } elsif ($rest =~ /^PoolCreate pool=(\S+) .*class="(\w+)"/) {
    $class{$1} = $2;
  } elsif ($rest =~ /^PoolParam pool=(\S+) value=(\d+) name="(\w+)"/) {
    $class{$1} .= " $3=$2";
  } elsif ($rest =~ /^PoolDestroy pool=(\S+)/) {
    push @{ $class{gone} }, delete $class{$1};
  }
}
ok close $cnv, 'its log is sound';

is scalar @object, scalar @expected, 'each call of the client leaves one event, a resize two';
my ($wrong) = grep { ($object[$_] // '') ne ($expected[$_] // '') } 0 .. $#expected;
is $wrong, undef, 'in order, with what was asked for and what was had'
  or diag "event $wrong: got $object[$wrong]expected $expected[$wrong]";
is_deeply $class{gone},
  ['MFS unitSize=3000 extendBy=65536', 'MVFF extendBy=65536 align=16 spare=65536', 'SGF emptySlabs=4'],
  'pools tell their class and every parameter in force';
ok $most{$_} > 1 << 20, "memory is $_" for qw(committed reserved);
is $wrong[0], undef, 'never more of it is used than committed, or committed than reserved';
is $sum{$_}, 0, "what is $_ adds up to nothing in the end" for qw(committed reserved segments);
done_testing;
