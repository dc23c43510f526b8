#!/usr/bin/env perl
# follow.t -- eventcnv --follow: prints what comes, like tail -f, and ends when nobody writes any more
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp until_);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $B = $ENV{B} // 'build/cool';
my $cnv = "$B/bin/eventcnv";
my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/log.paw";

sub append { my ($bytes) = @_; open my $out, '>>:raw', $log or die "$log: $!"; print $out $bytes; close $out or die; return }
sub create { my ($bytes) = @_; unlink $log; append($bytes); return }

# follow(@options) -- eventcnv in the background: its process
sub follow {
    my (@options) = @_;
    unlink "$dir/out", "$dir/err";
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        open STDOUT, '>', "$dir/out" or POSIX::_exit(127);
        open STDERR, '>', "$dir/err" or POSIX::_exit(127);
        $SIG{INT} = 'DEFAULT'; # what a shell starts in the background ignores it
        { no warnings; exec $cnv, '--follow', @options, $log }
        POSIX::_exit(127);
    }
    return $pid;
}

sub ended { my ($pid) = @_; waitpid $pid, 0; return $? & 127 ? 128 + ($? & 127) : $? >> 8 }

# writer(@with) -- a program that writes to the log until it is killed, run by what is given: its process
sub writer {
    my (@with) = @_;
    unlink $log, "$dir/short";
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        open STDOUT, '>', '/dev/null' or POSIX::_exit(127);
        open STDERR, '>', "$dir/short" or POSIX::_exit(127);
        $ENV{PAWPRINT_LOG} = $log;
        { no warnings; exec @with, "$B/prog/death", "$dir/counts", 'kill', 2 }
        POSIX::_exit(127);
    }
    return $pid;
}

# until_out($lines) -- wait until so many lines came, ten seconds at most: the lines that came until then
sub until_out {
    my ($lines) = @_;
    my @first;

    # No more of it is read than is asked for: a program writes faster than this can count.
    until_(sub { open my $in, "<", "$dir/out" or return 0; @first = (); while (@first < $lines && defined(my $line = <$in>)) { push @first, $line } @first == $lines }, 10);
    return join '', @first;
}

my $whole = slurp('test/good/uncounted.paw');
my $text = slurp('test/good/uncounted.txt');
my @at;
push @at, pos($whole) - 8 while $whole =~ /\x8fPAWblk\n/g;
my @lines = split /^/, $text;

create(substr $whole, 0, $at[1]);
my $pid = follow();
is until_out(4), join('', @lines[0 .. 3]), 'what is there is printed';
for my $block (1 .. $#at) {
    append(substr $whole, $at[$block], ($at[$block + 1] // length $whole) - $at[$block]);
    sleep 0.1;
}
is ended($pid), 0, 'it ends when nobody writes any more';
is slurp("$dir/out"), $text, 'and has printed what came';
is slurp("$dir/err"), '', 'without a word';

for my $format (qw(csv json)) {
    create($whole);
    is ended(follow('-f', $format, '-E', 'PoolFree', '--from', '0.000001')), 0, "$format, and filters";
    is slurp("$dir/out"), `$cnv -f $format -E PoolFree --from 0.000001 $log`, 'as without --follow';
}

create(substr $whole, 0, $at[1]);
$pid = follow();
until_out(4);
append(substr($whole, $at[1], 50) . 'x' x 30 . substr $whole, $at[2]);
is ended($pid), 1, 'damage in the middle: status 1';
is slurp("$dir/out"), join('', @lines[0 .. 3, 8 .. $#lines]), 'what is behind it is printed';
like slurp("$dir/err"), qr/^eventcnv: \Q$log\E: offset $at[1]: .*; .*\d+ events? lost\n\z/, 'it is told once';

create($whole);
$pid = follow();
until_out(20);
truncate $log, $at[1];
is ended($pid), 1, 'a log that is cut short';
like slurp("$dir/err"), qr/offset $at[1]: the file was cut short while it was followed; at least 0 events lost/, 'says so';

create($whole);
$pid = follow();
until_out(20);
copy($log, "$dir/other");
rename "$dir/other", $log;
is ended($pid), 1, 'a log that is replaced';
like slurp("$dir/err"), qr/another file has this name now/, 'says so';

# As long as somebody lives who holds the lock on the region that a header names, it goes on.
SKIP: {
    skip 'no telemetry in this variety', 6 if ($ENV{VARIETY} // '') eq 'rash';
    my $writer = writer();
    sleep 0.01 until -s $log;
    $pid = follow('-E', 'UserWord');
    until_out(100);
    kill KILL => $writer;
    waitpid $writer, 0;
    is ended($pid), 0, 'a program that is killed while it is followed';
    my $status = system "$cnv -E UserWord $log >$dir/all 2>$dir/said";
    is $status, 0, 'its log is sound';
    is join('', sort split /^/, slurp("$dir/out") =~ s/^\S+//gmr), join('', sort split /^/, slurp("$dir/all") =~ s/^\S+//gmr),
        'following has printed all of it, too';
    like slurp("$dir/err"), qr/from shared memory/, 'with what it left in memory';
    unlink glob "/dev/shm/pawprint-*-$writer-*";
}

# Killed within a write: what is cut off in the log is whole in memory.
SKIP: {
    skip 'no telemetry in this variety', 3 if ($ENV{VARIETY} // '') eq 'rash';
    my (@unlike, @status);
    my $told = '';
    for my $round (1 .. 2) {
        my $writer = writer("$B/prog/short", $log, 5 * $round);
        until_(sub { -s $log });
        my ($number) = slurp("$dir/short") =~ /^short: (\d+)$/m or skip 'nobody can be traced here', 3;
        $pid = follow('-E', 'UserWord');
        waitpid $writer, 0;
        push @status, ended($pid);
        system "$cnv -E UserWord $log >$dir/all 2>$dir/said";
        push @unlike, $round
            if join('', sort split /^/, slurp("$dir/out") =~ s/^\S+//gmr) ne join('', sort split /^/, slurp("$dir/all") =~ s/^\S+//gmr);
        $told .= slurp("$dir/err") =~ s/^.*(?:from shared memory|came late).*\n//gmr;
        unlink glob "/dev/shm/pawprint-*-$number-*";
    }
    is "@unlike", '', 'killed within a write: following has printed what memory has of the block that is cut off';
    is "@status", '0 0', 'nothing is lost';
    is $told, '', 'and nothing is said to be';
}

# Of ends nothing is said while they are to come: when it ends because it was told to, or because all has come.
SKIP: {
    skip 'programs are recorded by the cool variety', 7 if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
    for my $way ('INT', 'count', 'end') {
        unlink $log, "$dir/end";
        my $recorder = fork // die "fork: $!";
        if ($recorder == 0) {
            open STDOUT, '>', '/dev/null' or POSIX::_exit(127);
            open STDERR, '>', '/dev/null' or POSIX::_exit(127);
            my $program = 'my @keep; while (!-e $ARGV[0]) { push @keep, map { "x" x 99 } 1 .. 20; select undef, undef, undef, 0.05 }';
            { no warnings; exec "$B/bin/eventrec", '-o', $log, 'perl', '-e', $program, "$dir/end" }
            POSIX::_exit(127);
        }
        sleep 0.01 until -s $log;
        $pid = follow($way eq 'count' ? ('-n', 50) : ());
        until_out(50);
        kill INT => $pid if $way eq 'INT';
        is ended($pid), 0, "$way: the following ends" if $way =~ /INT|count/;
        is slurp("$dir/err"), '', 'and says nothing of ends that are to come' if $way =~ /INT|count/;
        open my $out, '>', "$dir/end" or die;
        waitpid $recorder, 0;
        is ended($pid), 0, 'the following ends with the recording' if $way eq 'end';
        is slurp("$dir/err"), '', 'whose end is there' if $way eq 'end';
        ok join('', sort split /^/, slurp("$dir/out") =~ s/^\S+//gmr) eq join('', sort split /^/, `$cnv $log` =~ s/^\S+//gmr), 'and all that came before it' if $way eq 'end';
    }
}

create($whole);
$pid = follow();
until_out(20);
kill INT => $pid;
is ended($pid), 0, 'Ctrl-C ends it';
is slurp("$dir/err"), '', 'quietly';

create($whole);
is ended(follow('-n', 3)), 0, 'a count ends it';
is slurp("$dir/out"), join('', @lines[0 .. 2]), 'after so many';
is system("$cnv --follow $log | head -1 >$dir/out"), 0, 'so does a closed pipe';

# Killed within its first write: nothing in the log is sound, and memory has all of it.
SKIP: {
    skip 'no telemetry in this variety', 3 if ($ENV{VARIETY} // '') eq 'rash';
    my $writer = writer("$B/prog/short", $log, 1);
    waitpid $writer, 0;
    my ($number) = slurp("$dir/short") =~ /^short: (\d+)$/m or skip 'nobody can be traced here', 3;
    is ended(follow('-E', 'UserWord')), 0, 'killed within its first write: it ends';
    ok slurp("$dir/out") eq `$cnv -E UserWord $log 2>$dir/said`, 'with what memory has';
    is slurp("$dir/err"), slurp("$dir/said"), 'and says the same';
    unlink glob "/dev/shm/pawprint-*-$number-*";
}

create('');
$pid = follow();
sleep 0.05;
append($whole);
is ended($pid), 0, 'an empty log is waited for';
is slurp("$dir/out"), $text, 'until something comes';

unlink $log;
is ended(follow()), 1, 'a log that is not there is an error';
like slurp("$dir/err"), qr/No such file/, 'that says so';
is system("$cnv --follow - </dev/null 2>/dev/null") >> 8, 1, 'standard input cannot be followed';
is system("$cnv --follow -f paw $log 2>/dev/null") >> 8, 2, 'nor can a log be written meanwhile';
done_testing;
