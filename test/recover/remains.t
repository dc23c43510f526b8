#!/usr/bin/env perl
# remains.t -- what is left where a kill comes at an unlucky moment is found, and then nothing is left
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(can_mount regions_of slurp until_ with_shm);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

sub lives { my ($pid) = @_; return slurp("/proc/$pid/stat") =~ /\) [^ZX] / }
END { local $?; unlink map { ($_, "$_.log") } regions_of($dir) if $dir }

# started(@command) -- in the background
sub started {
    my (@command) = @_;
    unlink "$dir/out";
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        open STDERR, '>', "$dir/err";
        open STDOUT, '>', "$dir/out";
        { no warnings; exec @command }
        POSIX::_exit(99);
    }
    return $pid;
}

# The collector is killed before a header block of a process is in the log, and the process becomes another program.
{
    my $log = "$dir/other.paw";
    my $program = 'my $rec = getppid; if (fork == 0) { my @some = map { "x$_" } 1 .. 300; kill KILL => $rec; exec $^X, "-e", 1 } wait';
    my $pid = started($rec, '-o', $log, '--', $^X, '-e', $program);
    waitpid $pid, 0;
    until_(sub { `$cnv --check $log 2>&1` !~ /still running|about to write/ });
    system "$rec --clean $log >/dev/null 2>&1";
    my $said = `$cnv --check $log 2>&1`;
    is $said, '', 'what a process had before it became another program is in the log, and can be read';
    is_deeply [regions_of($dir)], [], 'and nothing is left';
}

# The same where only the newest were to be kept: what was overwritten is not missing.  And where the recording had stopped for want
# of room: what the flight recorder has had since is nobody's loss.
for my $case (['overwrite', '', qr/^\z/, 'nothing is missing'],
              ['stop', 'kill STOP => $rec;', qr/^eventcnv: \d+ events? w(?:as|ere) discarded .*\n\z/, 'the events that found no room are missing']) {
    my ($policy, $first, $says, $what) = @$case;
    my $log = "$dir/$policy.paw";
    my $program = 'syswrite STDOUT, "$$\n"; my $rec = getppid; ' . $first . ' my @some = map { "x" x (100 + $_) } 1 .. 5000; '
        . 'kill KILL => $rec; 1 while getppid == $rec; exec $^X, "-e", 1';
    my $pid = started($rec, '-o', $log, '-k', 'Object', '-p', $policy, '-b', '4K', '-n', 8, '--', $^X, '-e', $program);
    waitpid $pid, 0;
    # While it is becoming the other program nothing tells that it runs.
    until_(sub { slurp("$dir/out") =~ /^(\d+)\n/ && !lives($1) }) or diag 'it does not end';
    system "$rec --clean $log >/dev/null 2>&1";
    like scalar `$cnv --check $log 2>&1`, $says, "-p $policy, and the program becomes another one: $what";
    is_deeply [regions_of($dir)], [], 'and nothing is left';
}

# A program that writes to a file alone becomes another one, and has emitted nothing.
{
    my $log = "$dir/nothing.paw";
    my $one = 'my @some = map { "x$_" } 1 .. 300; exec $^X, "-e", 1';
    system 'env', "LD_PRELOAD=$B/lib/libpawprint.so", "PAWPRINT_LOG=$log", 'PAWPRINT_KINDS=none', $^X, '-e', $one;
    is scalar `$cnv --check $log 2>&1`, '', 'of a program that has emitted nothing nothing is missing when it becomes another one';
    is_deeply [regions_of($dir)], [], 'and nothing is left';
}

# Where /dev/shm has no room the region is beside the log.
SKIP: {
    my @small = with_shm('16k');
    skip 'no file system can be mounted here', 3 if !can_mount();
    my $log = "$dir/beside.paw";
    my $pid = started(@small, $rec, '-o', $log, '--', $^X, '-e', '$| = 1; my @some = map { "x$_" } 1 .. 3000; print "$$\n"; sleep 60');
    until_(sub { slurp("$dir/out") =~ /\n/ }) or diag slurp("$dir/err");
    my ($child) = slurp("$dir/out") =~ /(\d+)/;
    cmp_ok scalar(my @beside = glob "$log.region-*"), '>', 0, 'a region lies beside the log';
    kill KILL => $pid, $child;
    waitpid $pid, 0;
    until_(sub { !lives($child) });
    my $said = `$rec --clean $log 2>&1`;
    like $said, qr/^\Q$log\E: \d+ blocks that lay beside it added$/m, 'after a kill --clean adds what it has';
    is_deeply [glob "$log.region-*"], [], 'and it is gone';
}

# A process was killed while it made its region.
{
    my $log = "$dir/unborn.paw";
    my $dead = started('true');
    my $region = "/dev/shm/pawprint-5eed5eed5eed5eed-$dead-0";
    waitpid $dead, 0;
    open my $file, '>', $region or die;
    truncate $file, 537919488;
    close $file;
    symlink $log, "$region.log";
    my $said = `$rec --clean $log 2>&1`;
    like $said, qr/^\Q$region\E: of process $dead, /, 'a region that never had a header is named';
    ok !-e $region && !-l "$region.log", 'and is gone';
}

# A process without a collector is killed at its own end: before it writes that into the log, or between that and the end
# of its region.
for my $call ('header', 'remove') {
    my $log = "$dir/final$call.paw";
    my $pid = started('env', "LD_PRELOAD=$B/lib/libpawprint.so", "PAWPRINT_LOG=$log", "$B/prog/final", $call);
    waitpid $pid, 0;
    SKIP: {
        skip 'no system call can be forbidden here', 5 if $? >> 8 == 5;
        is $? & 127, POSIX::SIGSYS(), "$call: it is killed";
        is scalar(regions_of($dir)), 1, 'its region is left';
        my $said = `$cnv --check $log 2>&1` =~ s/^[^\n]*: took \d+ events of process \d+ from shared memory: [^\n]*\n//r;
        is "$said$?", '0', 'and nothing is missing';
        system "$rec --clean $log >/dev/null 2>&1";
        is `$cnv --check $log 2>&1` . $?, '0', 'nor is behind --clean';
        is_deeply [regions_of($dir)], [], 'which leaves nothing';
    }
}

done_testing;
