#!/usr/bin/perl
# baseline.t -- eventrec --baseline: the program is run once more, unrecorded, and the log and its readers say what it took
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir slurp spew run);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $log = "$Dir/run.paw";
my $out = "$Dir/out";

# Record a program with its standard input from a file; (status, standard error), its output is in $out.
sub record {
    my ($input, @command) = @_;
    my $said = "$Dir/said";
    my $pid = fork // die;

    if ($pid == 0) {
        open STDIN, '<', $input or die;
        open STDOUT, '>', $out or die;
        open STDERR, '>', $said or die;
        exec "$B/bin/eventrec", '--baseline', '--force', '-o', $log, @command or die;
    }
    waitpid $pid, 0;
    return ($? >> 8, slurp($said));
}

sub told {
    my (undef, $text) = run("$B/bin/eventcnv", '-E', 'ProcessBaseline', $log);
    return map { {/(\w+)=(\d+)/g} } split /\n/, $text;
}

# What a program takes that touches 40 MB, and counts for a while, with its number of runs in a file.
my $program = spew("$Dir/program.pl", <<'END');
my ($runs, $how) = @ARGV;
open my $file, '>>', $runs; print $file defined $ENV{LD_PRELOAD} ? "recorded\n" : "not\n"; close $file;
my $lines = () = <STDIN>;
my $text = 'x' x 40_000_000;
my $sum = 0;
$sum += $_ for 1 .. 2_000_000;
print "$lines lines\n";
my @runs = do { open my $again, '<', $runs; <$again> };
exit($how eq 'differs' ? @runs : $how eq 'same' ? 3 : 0) unless $how eq 'dies' && @runs > 1;
kill 9, $$;
END
my $input = spew("$Dir/input", "line\n" x 1000);

subtest 'a program with input' => sub {
    my ($status, $said) = record($input, $^X, $program, "$Dir/runs", 'same');
    is($status, 3, 'the status is that of the first run');
    is(slurp($out), "1000 lines\n", 'and so is the output');
    is(slurp("$Dir/runs"), "recorded\nnot\n", 'it was run twice, and once unrecorded');
    my @told = told();
    is(@told, 1, 'the log says what the second run took') or diag $said;
    my ($its) = (run("$B/bin/eventcnv", '-E', 'ProcessStart', $log))[1] =~ / pid=(\d+)/;
    is($told[0]{pid}, $its, 'with the process that was recorded');
    # By construction 40 MB, and perl's own; the text may be there twice while it is made.
    cmp_ok($told[0]{resident}, '>', 40_000_000, 'resident: what it has touched, at least');
    cmp_ok($told[0]{resident}, '<', 110_000_000, 'and little more');
    my $seconds = ($told[0]{user} + $told[0]{system}) / 1e6;
    cmp_ok($seconds, '>', 0.01, 'it ran');
    like($said, qr/^eventrec: --baseline: unrecorded it took [\d.]+ s of processor time and [\d.]+ MiB; recorded [\d.]+ s/m, 'that is said');
    is((run("$B/bin/eventcnv", '--check', $log))[0], 0, 'the log is whole');

    my $summary = decode_json((run("$B/bin/eventview", 'summary', '--json', $log))[1]);
    is($summary->{unrecorded_resident_bytes}, $told[0]{resident}, 'the summary has it');
    like((run("$B/bin/eventview", 'summary', $log))[1], qr/^unrecorded +[\d.]+ s of processor time, resident \d+ bytes .* at most/m, 'for people');
    # With libc, which served the program, it takes what it took.
    my $replay = decode_json((run("$B/bin/replay", '--json', '-n', 3, '-a', 'libc', $log))[1]);
    my ($libc) = @{$replay->{allocators}};
    cmp_ok(abs($libc->{cpuSeconds}[1] - $seconds), '<', 1e-3, 'replay begins with its processor time');
    cmp_ok(abs($libc->{residentBytes}[1] - $told[0]{resident}), '<', 1000, 'and with its memory');
};

subtest 'only some events' => sub {
    my ($status, $said) = record($input, '-E', 'PoolAlloc', $^X, $program, "$Dir/some", 'zero');
    is($status, 0, 'recorded') or diag $said;
    is(scalar(told()), 1, 'this one is among them');
};

subtest 'runs that say nothing' => sub {
    my ($status, $said) = record($input, $^X, $program, "$Dir/differ", 'differs');
    is($status, 1, 'another status');
    like($said, qr/--baseline: run again it ended with status 2, and not 1; what it took is not in the log/, 'is said');
    is(scalar(told()), 0, 'and the log has nothing of it');
    (undef, $said) = record($input, $^X, $program, "$Dir/die", 'dies');
    like($said, qr/--baseline: run again it ended with signal 9, and not 0/, 'a death by a signal');
    ($status, $said) = record('/dev/null', 'sh', '-c', 'kill -9 $$');
    is($status, 137, 'a program that dies when it is recorded');
    like($said, qr/--baseline: the program was not run again: the program was ended by a signal/, 'is not run again');
    ($status, $said) = record('/dev/null', '-t', '0.2', 'sleep', '1');
    like($said, qr/--baseline: the program was not run again: the recording ended before the program did/, 'a recording that ends earlier');
};

# What is meant to end eventrec ends the second run, one that does not listen, too.
subtest 'ended meanwhile' => sub {
    my $stays = spew("$Dir/stays.pl", '$SIG{TERM} = "IGNORE"; open my $file, ">>", $ARGV[0]; print $file "run\n"; close $file; '
                     . 'if (-s $ARGV[0] > 4) { sleep 1 for 1 .. 600 }');
    my $pid = fork // die;
    if ($pid == 0) {
        open STDIN, '<', '/dev/null' or die;
        open STDERR, '>', "$Dir/said" or die;
        exec "$B/bin/eventrec", '--baseline', '--force', '-o', $log, $^X, $stays, "$Dir/stays" or die;
    }
    select undef, undef, undef, 0.05 until (-s "$Dir/stays" // 0) > 4 || waitpid($pid, 1) > 0;
    kill 'TERM', $pid;
    waitpid $pid, 0;
    is($? >> 8, 0, 'the status is that of the first run');
    like(slurp("$Dir/said"), qr/--baseline: run again it ended with signal 9, and not 0/, 'the second run was ended');
};

subtest 'a family' => sub {
    record('/dev/null', 'sh', '-c', "$^X -e 'my \@a = map { [\$_] } 1 .. 50000'; :");
    is(scalar(told()), 1, 'has a second run, too');
    my $replay = (run("$B/bin/replay", '--process', 'sh', '-n', 3, '-a', 'libc', $log))[1];
    my ($told) = told();
    my ($now) = $replay =~ /^libc +([\d.]+) \(/m;
    cmp_ok($now, '<', ($told->{user} + $told->{system}) / 1e6, 'whose time is not taken for that of one process') if defined $now;
};

subtest 'a pipe' => sub {
    my $said = `echo | $B/bin/eventrec --baseline --force -o $log cat 2>&1`;
    is($? >> 8, 125, 'as input is refused');
    like($said, qr/--baseline: standard input is a pipe, which the second run would find empty; redirect it from a file/, 'with what to do');
};

done_testing;
