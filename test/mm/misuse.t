#!/usr/bin/perl
# misuse.t -- a program that does something wrong with memory of ours ends with a message that names it, and its events
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have more than 32 bits
use lib 'test/lib';
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no program is managed under sanitizers' if $ENV{SAN};

my $recorder = "$B/bin/eventrec";
my $variety = $ENV{VARIETY} // 'cool';
my %says = (
    freed => 'free or resize of an object that is free already',
    inner => 'free or resize of an address inside an object',
    foreign => 'free or resize of what is no object',
    overwritten => 'a free block was written to, after it was freed or beyond the end of the object before it',
);
my %acts = (
    'twice' => 'freed', 'twice-later' => 'freed', 'twice-there' => 'freed', 'here-and-there' => 'freed',
    'resize-freed' => 'freed', 'inner' => 'inner', 'inner-aligned' => 'inner', 'resize-inner' => 'inner',
    'stack' => 'foreign', 'global' => 'foreign', 'never' => 'foreign',
    'overrun' => 'overwritten', 'after-free' => 'overwritten',
);

# Sizes of one unit, with and without a direct list, of slabs of one grain and of several, and of objects that are segments.
for my $size (16, 100, 1024, 1025, 16384, 16385, 65536, 100000) {
    for my $act (sort keys %acts) {
        my $what = $acts{$act};
        next if $size == 16 && $act eq 'inner-aligned';  # is the next object
        $what = 'foreign' if $size == 65536 && $act eq 'twice-later'; # its slab, of two blocks, has gone
        if ($size > 65536) {
            next if $what eq 'overwritten' || $act =~ /never|there/;  # the other thread has a slab there by then
        }
        my ($status, $out, $err) = run($recorder, '-m', 'manage', '-o', "$Dir/$act.$size.paw", '--', "$B/prog/misuse", $act, $size);
        my ($p) = $out =~ /^(0x[0-9a-f]+)$/m;
        my $named = join '|', map { sprintf '0x%x', hex($p) + $_ } 0, 8, 16;
        my ($message) = $err =~ /^(pawprint: $says{$what}: (?:$named).*; pool 0x[0-9a-f]+, class SGF)$/m;
        is $status, 134, "$act of $size bytes: the program is aborted";
        ok $message, 'and that is why' or diag "$err of $p";
        like $message // '', qr/ which is \d+ bytes behind \Q$p\E, a block of \d+ bytes; /, 'it says where the object begins' if $what eq 'inner';
        next if $variety ne 'cool';
        my @events = $err =~ /^pawprint: -\d+\.\d{9} \d+ (Pool\w+) .*\Q$p\E/mg;
        is $events[0] // '', 'PoolAlloc', 'the events of the object begin with its allocation' if $what ne 'foreign';
        my $frees = () = grep { /^Pool(?:Free|ResizeBegin)$/ } @events;
        # What the other thread did may have been written to the log with its last block.
        cmp_ok $frees, '>=', $act =~ /there/ ? 1 : 2, 'both calls are among them' if $what eq 'freed';
    }
}

# Where the kind of objects is off nothing is known of them, which is said.
if ($variety eq 'cool') {
    my ($status, $out, $err) = run($recorder, '-k', 'Pool', '-m', 'manage', '-o', "$Dir/kinds.paw", '--', "$B/prog/misuse", 'twice', 100);
    like $err, qr/^pawprint: traceback: no event of this address, or none any more$/m, 'that there are no events of the object is said';
    unlike $err, qr/ PoolMisuse /, 'and not by the event of the finding';
}

# A link of which only some bits were changed: it is followed if the block is small, and then nobody knows whose it was.
for my $size (16, 100, 1024, 1025, 16384) {
    for my $act ('after-free-even', 'after-free-odd') {
        my ($status, $out, $err) = run($recorder, '-m', 'manage', '-o', "$Dir/$act.$size.paw", '--', "$B/prog/misuse", $act, $size);
        my $p = hex(($out =~ /^(0x[0-9a-f]+)$/m)[0] // 0);
        my ($near, $at) = $err =~ /^pawprint: $says{overwritten}: (near |)(0x[0-9a-f]+), a block of \d+ bytes.*; pool/m;
        is $status, 134, "$act of $size bytes: the program is aborted";
        if ($size > 1024) {
            is "$near$at", sprintf('0x%x', $p), 'the block is named';
        } else {
            like $err, qr/^pawprint: $says{overwritten}: near 0x[0-9a-f]+, a block of \d+ bytes that was handed out since; pool /m, 'it is said to be near';
            cmp_ok abs(hex($at) - $p), '<', 65536, 'which it is';
            unlike $err, qr/traceback/, 'and no events of an address are looked for that is no block';
        }
    }
}

# Fences: behind large objects, and between slabs.
for my $case (['beyond', 65537], ['beyond', 100000], ['beyond', 5000001], ['beyond-resized', 100000], ['beyond-resized', 900001],
              (map { ['before-first', $_], ['beyond-last', $_] } 48, 100, 700, 3500)) {
    my ($act, $size) = @$case;
    my $says = $act eq 'before-first' ? 'before' : 'behind';
    my ($status, $out, $err) = run($recorder, '-m', 'manage', '-o', "$Dir/$act.$size.paw", '--', "$B/prog/misuse", $act, $size);
    my ($p) = $out =~ /^(0x[0-9a-f]+)$/m;
    is $status, 134, "$act, $size bytes: the program is aborted";
    like $err, qr/^pawprint: the memory $says an object was written to: \Q@{[$p \/\/ '?']}\E\b.*; pool 0x[0-9a-f]+, class SGF$/m, 'and that is why';
}
{
    local $ENV{PAWPRINT_ON_ERROR} = 'report';
    for my $case (['beyond', 100000, 100], ['before-first', 48, 1], ['beyond-last', 48, 1], ['usable', 100000, 0], ['usable', 48, 0]) {
        my ($act, $size, $times) = @$case;
        my ($status, undef, $err) = run($recorder, '-m', 'manage', '-o', "$Dir/fence.$act.$size.paw", '--', "$B/prog/misuse", $act, $size, $times || 1);
        my $told = () = $err =~ /^pawprint: the memory /mg;
        is "$status $told", "0 $times", "$act, $size bytes: the program goes on, having been told $times times";
    }
}

# The program may go on.
$acts{$_} = 'overwritten' for qw(after-free-even after-free-odd);
for my $act (sort keys %acts) {
    local $ENV{PAWPRINT_ON_ERROR} = 'report';
    my ($status, $out, $err) = run($recorder, '-m', 'manage', '-o', "$Dir/go.$act.paw", '--', "$B/prog/misuse", $act, 48, 100);
    my $told = () = $err =~ /^pawprint: $says{$acts{$act}}: /mg;
    is $status, 0, "$act, a hundred times: the program goes on to its end";
    is $told, 100, 'having been told of each';
}
{
    local $ENV{PAWPRINT_ON_ERROR} = 'shrug';
    my ($status, $out, $err) = run($recorder, '-m', 'manage', '-o', "$Dir/shrug.paw", '--', "$B/prog/misuse", 'twice', 48);
    is $status, 134, 'with another word in PAWPRINT_ON_ERROR it is aborted';
    like $err, qr/^pawprint: PAWPRINT_ON_ERROR: shrug: it is neither report nor abort$/m, 'and the word is refused';
}
done_testing;
