#!/usr/bin/perl
# badlog.t -- damaged logs: what eventcnv says, and what it delivers all the same
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Beside each log in test/bad/ stands what standard error must be (.err) and what standard output must be (.txt, if anything).

use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use File::Temp qw(tempdir);
use Test::More;

my $bin = ($ENV{B} // 'build/cool') . '/bin';
my $eventcnv = "$bin/eventcnv";
my $folder = tempdir(CLEANUP => 1);

my @logs = glob 'test/bad/*.paw';
ok @logs >= 10, 'there are damaged logs';
for my $log (@logs) {
    (my $base = $log) =~ s/\.paw$//;
    for my $option ('', '--check') {
        my $status = system "$eventcnv $option $log >$folder/out 2>$folder/err";
        is $status, 256, "$log $option: status 1";
        is slurp("$folder/out"), $option ? '' : slurp("$base.txt"), 'what is sound is delivered';
        is slurp("$folder/err"), -e "$base.err" ? slurp("$base.err") : 'no such file', 'what is not is told';
    }
}

# A copy has of a damaged log what is sound, at the times at which the log has it.
for my $log (@logs) {
    next unless slurp($log =~ s/\.paw$/.txt/r);
    system "$eventcnv -f paw -o $folder/copy.paw $log 2>/dev/null";
    is `$eventcnv $folder/copy.paw 2>/dev/null`, `$eventcnv $log 2>/dev/null`, "a copy of $log has the same events";
    unlink "$folder/copy.paw";
}

# What is cut off before anything can be read is still known for a log.
for my $size (8, 100, 500) {
    open my $out, '>:raw', "$folder/head.paw" or die;
    print $out substr slurp('test/good/threads.paw'), 0, $size;
    close $out;
    is system("$eventcnv $folder/head.paw >$folder/out 2>$folder/err"), 256, "the first $size bytes of a log: status 1";
    is slurp("$folder/err"), "eventcnv: $folder/head.paw: the log is cut off or damaged in its first block: "
        . "nothing of it can be read\n", 'which is told';
}

# One is one.
{
    my ($whole, $log) = (slurp('test/good/threads.paw'), "$folder/once.paw");
    open my $out, '>:raw', $log or die;
    print $out $whole, "junk\n", $whole;
    close $out;
    like `$bin/eventview $log 2>$folder/err`, qr/^damage +1 place, 0 events lost$/m, 'damage in one place';
}

# The same fault in thousands of places: eight are told, the others counted, and the count of damage has all.
{
    my ($whole, $times, $log) = (slurp('test/good/threads.paw'), 3000, "$folder/often.paw");
    my @places = map { $_ * length($whole) + ($_ - 1) * length "junk\n" } 1 .. 8;
    open my $out, '>:raw', $log or die;
    print $out $whole, "junk\n$whole" x $times;
    close $out;
    for (["$eventcnv $log", 1, slurp('test/good/threads.txt')], ["$eventcnv --check $log", 1, ''],
         ["$bin/eventview summary $log", 1, qr/^damage +$times places, /m], ["$bin/eventview --json $log", 1, qr/"gaps": $times\b/],
         ["$bin/replay -a none $log", 0, qr/^none /m]) {
        my ($command, $status, $answer) = @$_;
        my ($tool) = $command =~ m{/(\w+) };
        is system("$command >$folder/out 2>$folder/err") >> 8, $status, "$command: status";
        like slurp("$folder/out"), ref $answer ? $answer : qr/\A\Q$answer\E\z/, 'what is sound is read';
        is join('', grep { /no block here/ } split /^/, slurp("$folder/err")),
            join('', map { "$tool: $log: offset $_: no block here; at least 0 events lost\n" } @places)
            . "$tool: ... and @{[$times - 8]} more of these: no block here\n", 'a fault that repeats is told eight times, and counted';
    }
}

done_testing;
