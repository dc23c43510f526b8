#!/usr/bin/env perl
# short.t -- a write that takes only a part of a message costs no event, whoever writes: a program, eventrec --clean, eventctl
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use IPC::Open2;
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = abs_path(tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1));
my ($rec, $ctl, $cnv) = map { "$B/bin/$_" } qw(eventrec eventctl eventcnv);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitizer of leaks cannot be traced' if $ENV{SAN};
plan skip_all => 'nobody may trace another here' if system("$B/prog/short $dir/none -- true 2>/dev/null") >> 8 == 77;
END { local $?; system "$rec --clean $dir/*.paw >/dev/null 2>&1" if defined $dir }

# numbers($log) -- of the program's events, in order: "0-99" if each is there once
sub numbers {
    my ($log) = @_;
    my @values = sort { $a <=> $b } `$cnv -E UserWord $log 2>/dev/null` =~ / value=(\d+)/g;
    for my $i (1 .. $#values) {
        return "$values[$i - 1], then $values[$i]" if $values[$i] != $values[$i - 1] + 1;
    }
    return @values ? "$values[0]-$values[-1]" : 'none';
}

# start(command...) -- a program that obeys lines, and answers each
sub start {
    my (@command) = @_;
    my $pid = open2(my $out, my $in, @command);
    my $tell = sub { for (@_) { print {$in} "$_\n"; $in->flush; <$out> // die 'it has ended' } };
    return ($pid, $tell, sub { close $in; waitpid $pid, 0; return $? });
}

# short($log) -- before a command: its writes to the log are cut short; cut($said): how many were
sub short {
    my ($log) = @_;
    return ("$B/prog/short", $log, '--');
}
sub cut { my ($said) = @_; return $said =~ /^short: (\d+) writes$/m ? $1 : 0 }
sub whole {
    my ($log, $numbers, $who) = @_;
    is numbers($log), $numbers, "$who: each event is in the log, once";
    is `$cnv --check $log 2>&1`, '', 'and nothing else';
}

# A program that writes its log itself.
{
    my $log = "$dir/own.paw";
    my ($pid, $tell, $end) = start('sh', '-c', "PAWPRINT_LOG=$log exec \"\$@\" 2>$dir/said", 'sh', short($log), "$B/prog/ways");
    $tell->(20000, 'flush', 500);
    is $end->(), 0, 'a program whose writes are cut short';
    system "$rec --clean $log >/dev/null";
    whole($log, '0-20499', 'a program');
    cmp_ok cut(`cat $dir/said`), '>', 2, 'though they were cut';
}
{
    my $log = "$dir/left.paw";
    my ($pid, $tell, $end) = start('env', "PAWPRINT_LOG=$log", "$B/prog/ways");
    $tell->(20000, 'flush', 500);
    kill KILL => $pid;
    $end->();
    my $said = `@{[short($log)]} $rec --clean $log 2>&1`;
    like $said, qr/: added to the log; removed$/m, 'eventrec --clean adds what one has left that was killed';
    whole($log, '0-20499', 'eventrec --clean');
    cmp_ok cut($said), '>', 0, 'though its writes were cut';
}
{
    my $log = "$dir/flush.paw";
    my ($pid, $tell, $end) = start('env', "PAWPRINT_LOG=$log", 'PAWPRINT_CONTROL=1', "$B/prog/ways");
    $tell->(20000, 500);
    my $said = `@{[short($log)]} $ctl $pid flush 2>&1`;
    is numbers($log), '0-20499', 'eventctl flush: what a program that sleeps has is in the log';
    cmp_ok cut($said), '>', 0, 'though writes were cut' or diag $said;
    $tell->(500);
    is $end->(), 0, 'it goes on';
    whole($log, '0-20999', 'eventctl flush');
}
done_testing;
