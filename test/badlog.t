#!/usr/bin/perl
# badlog.t -- damaged logs: what eventcnv says, and what it delivers all the same
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Beside each log in test/bad/ stands what standard error must be (.err) and what standard output must be (.txt, if anything).

use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $eventcnv = ($ENV{B} // 'build/cool') . '/bin/eventcnv';
my $folder = tempdir(CLEANUP => 1);

sub slurp {
    my ($path) = @_;
    open my $in, '<:raw', $path or return undef;
    local $/;
    my $text = <$in>;
    close $in;
    return $text // '';
}

my @logs = glob 'test/bad/*.paw';
ok @logs >= 10, 'there are damaged logs';
for my $log (@logs) {
    (my $base = $log) =~ s/\.paw$//;
    for my $option ('', '--check') {
        my $status = system "$eventcnv $option $log >$folder/out 2>$folder/err";
        is $status, 256, "$log $option: status 1";
        is slurp("$folder/out"), $option ? '' : slurp("$base.txt") // '', 'what is sound is delivered';
        is slurp("$folder/err"), slurp("$base.err") // 'no such file', 'what is not is told';
    }
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

done_testing;
