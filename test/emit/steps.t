#!/usr/bin/env perl
# steps.t -- a program that becomes another one is killed at each of its system calls: what both have allocated is in the log, and
# nothing is left
#
# Takes some of the calls, from a seed that is printed; SOAK=1: all of them.  SEED=N takes the same.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(regions_of);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep time);

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($rec, $cnv, $steps) = ("$B/bin/eventrec", "$B/bin/eventcnv", "$B/prog/steps");

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

plan skip_all => 'no process can be traced here' if system("$steps 1 >/dev/null") >> 8 == 77;

my $seed = $ENV{SEED} // int time;
my $patience = 1; # s that a program waits for eventrec's answer, after which it goes on by itself
my $stride = $ENV{SOAK} ? 1 : 12;
diag "SEED=$seed";

END { local $?; unlink map { ($_, "$_.log") } regions_of($dir) if $dir }

# once($log, $call, $case) -- record it so; what it wrote, its number, and whether it had ended before; or nothing
sub once {
    my ($log, $call, $case) = @_;
    my %command = (
        collected => "$rec -o $log -- $steps $call",
        orphaned => "$rec -o $log -- $steps $call orphan", # eventrec dies, and who is left writes to the same pipe
        alone => "LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=$log $steps $call",
    );
    my ($marks, $pid, $how) = `exec 2>$dir/err; $command{$case}` =~ /^(1?2?) (\d+) (killed|ended)$/m;
    return defined $pid ? ($marks, $pid, $how eq 'ended') : ();
}

# killed($log, $call, $case) -- the same.  That eventrec was killed is known to those whom it has answered: where the machine
# stood still for so long that it may not have, it is done again.
sub killed {
    my ($log, $call, $case) = @_;
    my @it;

    for (1 .. 5) {
        my $begin = time;
        @it = once($log, $call, $case);
        last if $case ne 'orphaned' || time - $begin < $patience;
        system "$rec --clean $log >/dev/null 2>&1";
        unlink glob "$log*";
    }
    return @it;
}

# amiss($log, $marks, $pid) -- what is wrong with the log, in words; '' if nothing is
sub amiss {
    my ($log, $marks, $pid) = @_;
    my @wrong;

    for (1 .. 1000) {
        last if `$cnv --check $log 2>&1` !~ /still running|about to write/;
        sleep 0.005;
    }
    system "$rec --clean $log >/dev/null 2>&1";
    my $check = `$cnv --check $log 2>&1`;
    push @wrong, "check: $check" if $check ne '' || $? != 0;
    my $events = `$cnv -E PoolAlloc $log 2>&1`;
    for (1, 2) {
        my $size = 1001 * $_;
        my $count = () = $events =~ /^\S+ $pid\/\d+ PoolAlloc .*\bsize=$size\b/mg;
        push @wrong, "$count objects of the program $_" if $count > 100 || ($marks =~ /$_/ && $count < 100);
    }
    push @wrong, "left: @{[regions_of($dir)]}" if regions_of($dir);
    return join '; ', @wrong;
}

for my $case ('collected', 'orphaned', 'alone') {
    my ($call, $runs) = ($seed % $stride + 1, 0);
    my @wrong;
    for (my $over = 0; !$over && $call < 2000; $call += $stride) {
        my $log = "$dir/$case.$call.paw";
        my ($marks, $pid, $ended) = killed($log, $call, $case);
        my $wrong = defined $pid ? amiss($log, $marks, $pid) : 'it did not run';
        push @wrong, "call $call: $wrong" if $wrong ne '';
        $over = $ended // 1;
        ++$runs;
        unlink glob "$log*";
    }
    cmp_ok $runs, '>=', 40 / $stride, "$case: it was killed so often";
    is_deeply \@wrong, [], "$case: what was allocated is in the log, wherever the kill came, and nothing is left";
}
done_testing;
