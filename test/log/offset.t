#!/usr/bin/perl
# offset.t -- logs whose clocks disagree are aligned as the command line says
#
# SPDX-License-Identifier: BSD-2-Clause

use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use File::Temp qw(tempdir);
use Test::More;

my $bin = ($ENV{B} // 'build/cool') . '/bin';
my $folder = tempdir(CLEANUP => 1);
my ($one, $two) = qw(test/good/threads.paw test/good/handler.paw);

sub run {
    my ($tool, @arguments) = @_;
    my $status = system "$bin/$tool @arguments >$folder/out 2>$folder/err </dev/null";
    return (slurp("$folder/out"), slurp("$folder/err"), $status >> 8);
}

# times($text, $pid) -- ns of a process's events, in order
sub times {
    my ($text, $pid) = @_;
    return map { m{^(\d+)\.(\d{9}) $pid/} ? $1 * 1_000_000_000 + $2 : () } split /\n/, $text;
}

my ($plain) = run('eventcnv', $one, $two);
my @plain = main::times($plain, 17);
ok @plain > 5, 'two logs of one clock';
for my $offset (['handler.paw=2.5'], ["$two=2.5"], ['0,2.5'], ['threads.paw=0,handler.paw=2.5']) {
    my ($out, $err, $status) = run('eventcnv', '--offset', $offset->[0], $one, $two);
    is $status . $err, '0', "--offset $offset->[0]";
    is_deeply [main::times($out, 17)], [map { $_ + 2_500_000_000 } @plain], 'shifts the log that it names';
    is_deeply [main::times($out, 4712)], [main::times($plain, 4712)], 'and no other';
}
my ($out) = run('eventcnv', '--offset', 'handler.paw=-1.000000001', $one, $two);
my ($first) = main::times($plain, 4712);
my ($earlier) = main::times($out, 4712);
is $earlier - $first, 1_000_000_001 - $plain[0], 'backwards, to the nanosecond: the others are later then';
is_deeply [sort { $a <=> $b } main::times($out, '\d+')], [main::times($out, '\d+')], 'and all stand in order';

run('eventcnv', '--offset', '0,2.5', '-f', 'paw', '-o', "$folder/both.paw", $one, $two);
my ($again) = run('eventcnv', "$folder/both.paw");
is_deeply [main::times($again, 17)], [map { $_ + 2_500_000_000 } @plain], 'a log that is written of them is aligned';
my ($summary, undef, $viewed) = run('eventview', 'summary', '--offset', '0,2.5', $one, $two);
is $viewed, 0, 'eventview aligns, too';

# ---- Clocks that differ by years ----

for my $years (9, 20, 200, -9, -200) {
    my $seconds = $years * 365 * 86400;
    my ($text, $err, $status) = run('eventcnv', '--offset', "handler.paw=$seconds", $one, $two);
    is $status, 0, "a clock that is $years years ahead is read";
    is scalar(my @all = main::times($text, '\d+')), scalar(my @were = main::times($plain, '\d+')), 'with all events';
    is_deeply [sort { $a <=> $b } @all], \@all, 'in order of time';
    is scalar(my @told = $err =~ /more than nine years ahead/g), $years > 9 ? 1 : 0, 'and told if that cannot be right';
}

# ---- What cannot be meant ----

for my $wrong (['x' => qr/'x' is no number of seconds/], ['1,2,3' => qr/'3' is one more than there are logs/],
               ['nobody.paw=1' => qr/'nobody.paw' is none of the logs, or several/], ['1e99' => qr/no number/],
               ['' => qr/no number/], ["threads.paw=" => qr/no number/]) {
    my (undef, $err, $status) = run('eventcnv', "--offset='$wrong->[0]'", $one, $two);
    is $status, 2, "--offset '$wrong->[0]' is an error";
    like $err, $wrong->[1], 'that says what is wrong';
}

done_testing;
