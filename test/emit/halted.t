# halted.t -- a thread that a debugger has stopped, wherever it is, keeps nobody else waiting, and loses nothing
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $turns = $ENV{SOAK} ? 300 : 30;

plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
plan skip_all => 'ptrace and a sanitizer of threads do not go together' if $ENV{SAN};

# The numbers of each thread's events in a log, as ranges; and what eventcnv says besides.
sub seen {
    my ($log) = @_;
    my ($status, $out, $err) = run("$B/bin/eventcnv", '-E', 'UserWord', $log);
    my @seen;

    while ($out =~ / UserWord id=(\d+) value=(\d+)$/mg) {
        my $ranges = $seen[$1 - 1] //= [];
        if (@$ranges && $ranges->[-1][1] == $2 - 1) {
            $ranges->[-1][1] = $2;
        } else {
            push @$ranges, [$2, $2];
        }
    }
    return ($err, map { join ' ', map { "$_->[0]-$_->[1]" } @{$_ // []} } @seen);
}

for my $way (['with a collector', "$B/bin/eventrec", '-k', 'User', '-p', 'block', '-b', '4K', '-o', "$Dir/log.paw", '--'],
             ['without', 'env', "PAWPRINT_LOG=$Dir/log.paw", 'PAWPRINT_KINDS=User']) {
    my ($name, @before) = @$way;

    unlink "$Dir/log.paw";
    my ($status, $out, $err) = run('timeout', 600, @before, "$B/prog/halted", $turns, "$B/bin/eventctl");
    SKIP: {
        skip 'nobody may stop threads here', 3 if $status == 77;
        is $status, 0, "$name: the others go on, $turns times" or diag "status $status\n$out$err";
        my @counts = $out =~ /^(\d+) (\d+) (\d+)$/m;
        my ($said, @seen) = seen("$Dir/log.paw");
        is_deeply \@seen, [map { '0-' . ($_ - 1) } @counts], "$name: all that each has emitted is in the log, once";
        is $said, '', "$name: and nothing is damaged";
    }
}

done_testing;
