#!/usr/bin/env perl
# example.t -- an allocator of one's own, with a registry of its own, and its log in the unmodified tools
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $cc = $ENV{CC} // 'gcc';
my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/tiny.paw";

# Of whoever called us: the number of its jobs is not ours.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
my $said = `make -s -C examples/tiny OUT=$dir CC='$cc' PERL='@{[$ENV{PERL} // 'perl']}' 2>&1`;
is $?, 0, 'the example builds' or BAIL_OUT($said);
is $said, '', 'without a warning';

my $out = `PAWPRINT_LOG=$log $dir/tiny`;
my ($got, $put) = $out =~ /^(\d+) cells got, (\d+) put$/;
ok $got, 'it runs' or diag $out;

my @lines = split /\n/, `$B/bin/eventcnv $log 2>$dir/err`;
is $?, 0, 'eventcnv reads its log';
is do { local (@ARGV, $/) = "$dir/err"; <> // '' }, '', 'and has nothing to say about it';
my %count;
++$count{(split)[2]} for @lines;
is $count{CellGet}, $got, 'each cell that it got';
is $count{CellPut}, $put, 'and each that it put';
like $lines[0], qr/^0\.000000000 \d+\/\d+ HeapOpen heap=0x[0-9a-f]+ size=200000 name="demo"$/, 'with names, parameters and letters of its own';
like $lines[-1], qr/ HeapFull heap=0x[0-9a-f]+ size=\d+ filled=(?:1|0\.9\d+)$/, 'doubles';
is $count{Round}, int(($got + 1 + 999) / 1000), 'and types that it defines while it runs';
like `$B/bin/eventcnv --describe -E HeapFull $log`, qr/ heap 0x[0-9a-f]+ has no \d+ bytes: it is [01]\.?\d* full$/, 'in words';
is scalar(() = `$B/bin/eventcnv -k Heap $log` =~ /\n/g), 2, 'its kinds can be chosen';
like `$B/bin/eventcnv --verbose -n 1 $log`, qr/\bHeap\b/, 'and are named';
$out = `PAWPRINT_LOG=$dir/none.paw PAWPRINT_KINDS=Object $dir/tiny 2>&1`;
like $out, qr/pawprint: kinds: .*Object.*Heap.*Cell.*Note/, 'it knows none of Pawprint\'s kinds';
unlike `nm $dir/tiny`, qr/ArenaCreate|PoolAlloc/, 'nor its memory manager';
done_testing;
