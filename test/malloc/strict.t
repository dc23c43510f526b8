#!/usr/bin/env perl
# strict.t -- a program that forbids itself system calls, or the processor's counter, is not killed for what the library
# does, and its events are there
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv, $so) = ("$B/bin/eventrec", "$B/bin/eventcnv", "$B/lib/libpawprint.so");
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer makes calls of its own' if $ENV{SAN};

# moments($size) -- of the allocations of that many bytes in the log, in their order in it; sound: the log is whole, too
sub moments {
    my ($size) = @_;
    my @times = map { /^(\S+) \S+ PoolAlloc .*size=$size$/ ? $1 : () } `$cnv $dir/log 2>$dir/said`;
    is $?, 0, 'the log is sound';
    return @times;
}

for (['seccomp, strict', "$B/prog/strict", 77, 50000, 50000], ['without the counter', "$B/prog/uncounted", 78, 100, '']) {
    my ($what, $program, $size, $due, @arguments) = @$_;
    SKIP: {
        skip "$what is not to be had here", 1 if (system { $program } $program, 1) >> 8 != 5;
        is system("$rec -o $dir/log $program @arguments 2>$dir/err") >> 8, 5, "$what: the program runs to its end";
        my @times = moments($size);
        my $discarded = do { open my $in, '<', "$dir/err"; local $/; <$in> =~ /\((\d+) discarded\)/ ? $1 : -1 };
        cmp_ok scalar(@times) + $discarded, '>=', $due, "$what: its events are there, or counted";
        cmp_ok scalar(@times), '>=', $due / 100, "$what: and not only the first";
        is_deeply [sort { $a <=> $b } @times], \@times, "$what: in order";
        cmp_ok $times[-1] - $times[0], '<', 60, "$what: and time goes on as it did";
        unlink "$dir/log";

        # By itself: what cannot be written stays where readers find it.
        is system("LD_PRELOAD=$so PAWPRINT_LOG=$dir/log $program @{[$arguments[0] ? 20000 : '']} 2>$dir/err") >> 8, 5, "$what: and so it does without a collector";
        is scalar(moments($size)), $arguments[0] ? 20000 : $due, "$what: nothing is lost";
        system "$rec --clean $dir/log >$dir/said 2>&1";
        unlink "$dir/log";
    }
}
done_testing;
