#!/usr/bin/env perl
# leaderless.t -- a process whose first thread has ended before it ends as others do: all is in its log, and nothing stays
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $log = "$dir/l.paw";

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitizer has threads of its own' if $ENV{SAN};

for my $how (qw(key raw)) {
    for my $end (qw(return exit _exit)) {
        for my $way (['with a collector', "$B/bin/eventrec", '-o', $log],
                     ['without one', 'env', "LD_PRELOAD=$B/lib/libpawprint.so", "PAWPRINT_LOG=$log"]) {
            my ($what, @command) = @$way;
            # libc counts a thread that has ended past it, and so does not see the last one return.
            next if $how eq 'raw' && $end eq 'return' && $what eq 'without one';
            my $status = system join ' ', @command, "$B/prog/leaderless", $how, $end, "2>$dir/err";
            is $status >> 8, $end eq 'return' ? 0 : 3, "$how, $end, $what: its status";
            my $said = `$B/bin/eventcnv --check $log 2>&1`;
            is "$?: $said", '0: ', "... its log is whole, and nothing has stayed in shared memory";
            my $count = () = `$B/bin/eventcnv -E PoolAlloc -e 'size == 100' $log` =~ /PoolAlloc/g;
            cmp_ok $count, '>=', 10000 + ($how eq 'key'), '... with what both threads did';
            unlink $log;
        }
    }
}

done_testing;
