#!/usr/bin/env perl
# unread.t -- what dead recordings have left is not lost where it cannot be read, or where --clean is killed
#
# Takes some of the system calls; SOAK=1: all of them.
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(enter_shm slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};
plan skip_all => 'strace is not to be had here'
    if system('strace -o /dev/null -e trace=pread64 -e inject=pread64:error=EIO:when=1000 true >/dev/null 2>&1') != 0;

# All that is in /dev/shm is this test's: it has one of its own.
enter_shm('64m');

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");
chdir $dir or die;

sub left { return glob '/dev/shm/*' }

# The numbers of the program's events in a log's text, in order: "0-99" if each is there once.
sub numbers {
    my ($text) = @_;
    my @values = sort { $a <=> $b } ($text // `$cnv -E UserWord a.paw 2>/dev/null`) =~ / value=(\d+)/g;
    for my $i (1 .. $#values) {
        return "$values[$i - 1], then $values[$i]" if $values[$i] != $values[$i - 1] + 1;
    }
    return @values ? "$values[0]-$values[-1]" : 'none';
}

# make() -- a recording of a program that has a child, all of which are killed with events in memory; what it left is in `kept`
sub make {
    pipe my $from, my $to or die;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        close $to;
        open STDIN, '<&', $from;
        open STDOUT, '>', 'out';
        open STDERR, '>', 'err';
        { no warnings; exec $rec, '-o', 'a.paw', '-b', '4K', '--', "$B/prog/ways" }
        die;
    }
    close $from;
    $to->autoflush;
    print {$to} "20000\nflush\n500\nfork\n5\n";
    my $all = until_(sub { (() = slurp('out') =~ /\n/g) >= 5 });
    my @its = map { /-(\d+)-\d+$/ } grep { !/\.log$/ } left();
    kill STOP => $pid; # before the program, so that it takes nothing of what that leaves
    kill KILL => @its, $pid;
    waitpid $pid, 0;
    until_(sub { !grep { slurp("/proc/$_/stat") =~ /\) [^ZX] / } @its });
    mkdir 'kept';
    system 'cp', '-a', '/dev/shm', 'a.paw', 'kept';
    return $all;
}

# again() -- as it was left
sub again {
    unlink left(), glob 'a.paw*';
    system 'cp -a kept/shm/. /dev/shm && cp -a kept/a.paw .';
    return;
}

sub check { my $said = `$cnv --check a.paw 2>&1`; return ($? >> 8, $said) }

# injected($call, $what, $n, $command, $file) -- so run, with that done to its $n-th such call (of this file): its status, what it said,
# and whether it had so many
sub injected {
    my ($call, $what, $n, $command, $file) = @_;
    my $quick = $what =~ m{^error} ? '-f --seccomp-bpf' : ''; # which delivers no signals
    $quick .= " -P $file" if ($file // '') ne '';
    my $said = `strace $quick -o trace -e trace=$call -e inject=$call:$what:when=$n $command 2>&1`;
    return ($?, $said, slurp('trace') =~ /\(INJECTED\)|\+\+\+ killed/m ? 1 : 0);
}

ok make(), 'a recording is killed';
my @regions = grep { !/\.log$/ } left();
cmp_ok scalar(@regions), '>=', 2, 'and leaves memory' or diag slurp('err');
my $numbers = numbers();
like $numbers, qr/^0-205\d\d$/, 'with which all events are there';

# What cannot be read.
my $Stride = $ENV{SOAK} ? 7 : 61; # of all files; of what is in memory each call fails
for my $case (["$cnv -E UserWord", 'a reader'], ["$rec --clean", '--clean']) {
    my ($command, $what) = @$case;
    my (%runs, @wrong);
    for my $of (map { my $file = $_; map { [$_, $file] } 'pread64', 'lseek' } '', @regions) {
        my ($call, $file) = @$of;
        for (my $n = 1; ; $n += $file ne '' || $n < 4 ? 1 : $Stride) {
            again();
            my ($status, $said, $came) = injected($call, 'error=EIO', $n, "$command a.paw", $file);
            last if !$came;
            ++$runs{$call};
            my $wrong = '';
            if ($what eq 'a reader') {
                my ($all, @lines) = (numbers($said), grep { !/ UserWord / } split /\n/, $said);
                $wrong = "not all is there: $all; @lines" if $all ne $numbers && !grep { !/ took \d+ events/ } @lines;
                system "$rec --clean a.paw >/dev/null 2>&1";
            } else {
                my @stay = left();
                my ($lacks, $how) = check();
                $wrong .= "status $status, and not all is there: $said$how" if $status == 0 && ($lacks || @stay);
                $wrong .= "it is not told: $said" if @stay && $said !~ /Input\/output error/;
                system "$rec --clean a.paw >/dev/null 2>&1" if $status != 0;
            }
            my ($lacks, $how) = check();
            $wrong .= "then $how" if $lacks;
            $wrong .= 'then events ' . numbers() if numbers() ne $numbers;
            $wrong .= "left: @{[left()]}" if left();
            push @wrong, "$call $n of $file: $wrong" if $wrong ne '';
        }
    }
    cmp_ok $runs{$_} // 0, '>', 3, "$what: calls of $_ fail" for 'pread64', 'lseek';
    is_deeply \@wrong, [], "$what: what cannot be read is told, and is there when it can be";
}

# --clean is killed, where it writes or removes something, or there is no room: then it is run again, for this log or for all.
for my $case (['unlinkat', 'signal=KILL'], ['write', 'signal=KILL'], ['write', 'error=ENOSPC']) {
    my ($call, $what) = @$case;
    my ($runs, @wrong) = (0);
    for my $named ('a.paw', '') {
        for (my $n = 1; ; $n += $ENV{SOAK} || $what =~ m{^error} ? 1 : 5) {
            again();
            my ($status, $said, $came) = injected($call, $what, $n, "$rec --clean a.paw");
            last if !$came;
            ++$runs;
            my $stayed = join ' ', left();
            my $then = `$rec --clean $named 2>&1`;
            my ($lacks, $how) = check();
            my $wrong = $lacks ? "then $how" : '';
            $wrong .= 'then events ' . numbers() if numbers() ne $numbers;
            $wrong .= "left: @{[left()]}" if left();
            push @wrong, "$call $n: $wrong ($stayed; $then)" if $wrong ne '';
        }
    }
    cmp_ok $runs, '>', 0, "$what at $call of --clean";
    is_deeply \@wrong, [], 'the next one makes the log whole, and leaves nothing';
}

chdir '/';
done_testing;
