#!/usr/bin/env perl
# newest.t -- where the newest events are kept, what is there of each thread are its newest, without a hole, and all
# others are counted: with fewer places for blocks than there are threads, too
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(with_shm can_mount);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $first = 5000; # as test/prog/newest.c has it

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

# tails($log, $objects) -- of each thread the numbers of its allocations that a log has, as ranges
sub tails {
    my ($log, $objects) = @_;
    my %tail;

    open my $in, '-|', "$B/bin/eventcnv", '-E', 'PoolAlloc', '-e', "size >= $first", $log or die "eventcnv: $!";
    while (<$in>) {
        my ($thread, $size) = m{^\S+ \d+/(\d+) PoolAlloc .*size=(\d+)$} or next;
        my ($ranges, $number) = ($tail{$thread} //= [], $size - $first);
        next if $number >= $objects;
        if (@$ranges && $ranges->[-1][1] + 1 == $number) {
            ++$ranges->[-1][1];
        } else {
            push @$ranges, [$number, $number];
        }
    }
    close $in or fail "eventcnv: status $?";
    return \%tail;
}

# counts($log) -- how many events of objects there are, and how many were overwritten
sub counts {
    my ($log) = @_;
    my $of = decode_json(scalar `$B/bin/eventview --json $log`);
    my $there = `$B/bin/eventcnv -f csv -k Object $log | wc -l`;

    return ($there, $of->{overwritten});
}

# How much there is in /dev/shm, and the threads: there is room for blocks of all of them, or for some or few.
for (['150k', 50, 3000, 'Object'], ['200k', 50, 3000, 'Object,+Sync'], ['1m', 300, 500, 'Object'],
     ['2m', 600, 500, 'Object'], ['64m', 50, 3000, 'Object'], ['64m', 4500, 200, 'Object']) {
    my ($size, $threads, $objects, $kinds) = @$_;
    my $what = "$threads threads, $size, $kinds";
    my $log = "$dir/newest.paw";
    my @record = ("$B/bin/eventrec", '-p', 'overwrite', '-b', '4K', '-n', 4, '-k', $kinds, '-o', $log, '--');

  SKIP: {
        skip 'no file system can be mounted here', 1 if !can_mount();
        unlink $log;
        my $status = system('sh', '-c', "exec 2>$dir/err \"\$\@\"", 'sh',
                            with_shm($size, @record, "$B/prog/newest", $threads, $objects));
        my $said = do { open my $in, '<', "$dir/err" or die; local $/; <$in> // '' };
        skip "$what: there cannot be so many here", 1 if $status >> 8 == 77;
        is $status, 0, "$what: they are recorded" or diag $said;
        my $tail = tails($log, $objects);
        my @bad = grep { @{$tail->{$_}} != 1 || $tail->{$_}[0][1] != $objects - 1 } sort { $a <=> $b } keys %$tail;
        is keys %$tail, $threads, "$what: of each thread something is kept";
        my @some = map { "thread $_: " . join ' ', map { "$_->[0]-$_->[1]" } @{$tail->{$_}} } splice @bad, 0, 9;
        is join("\n", @some), '', "$what: up to its newest, without a hole" or diag 'and of ' . @bad . ' other threads';
        my ($there, $overwritten) = counts($log);
        cmp_ok $overwritten, '>', 0, "$what: some were overwritten";
        # An event of an object has at least 20 bytes, and each thread may have a block besides those that are full.
        cmp_ok $there, '<=', ($threads + 4) * 4096 / 20, "$what: and no more is kept than the blocks can have";
        # To begin a thread, libc allocates an object or two.
        my $all = 2 * $threads * $objects;
        cmp_ok $there + $overwritten, '>=', $all, "$what: what is not there is counted" or diag "$there + $overwritten";
        cmp_ok $there + $overwritten, '<=', $all + 3 * $threads, "$what: and nothing else" if $kinds eq 'Object';
        is system("$B/bin/eventcnv --check $log"), 0, "$what: and nothing is lost";
    }
}

done_testing;
