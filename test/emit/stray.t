#!/usr/bin/env perl
# stray.t -- a program writes over its own blocks in shared memory, over each word of a header, and all of it, over events, or over
# the states of their slots: its events are in the log, or are counted as lost, by everybody who tells of that
#
# SPDX-License-Identifier: BSD-2-Clause
#
# SOAK=1 tries all ways to spoil in all cases.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(regions_of slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
my $prog = "$B/prog/stray";
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $log = "$dir/stray.paw";
my $WORDS = 32; # of a block's header; the threads behind have all of it spoiled, and the last one nothing (test/prog/stray.c)
my $wait = 120;

sub stopped { my ($pid) = @_; return slurp("/proc/$pid/stat") =~ /\) [tT] / }
END { local $?; system "$rec --clean $log >/dev/null 2>&1" if $dir && -e $log }

# lives() -- does the program?
sub lives { return grep { index(slurp("$_/cmdline"), "$prog\0$dir/") == 0 && slurp("$_/stat") !~ /\) [ZX] / } glob '/proc/[0-9]*' }

# record(@what) -- the status of eventrec, when that and the program have ended; undef: one of them does not
sub record {
    my ($which, $how, $policy, $end) = @_;
    my $status;

    unlink $log, "$dir/counts";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/err";
        { no warnings; exec $rec, '-o', $log, '-k', 'User', '-p', $policy, '-b', '4K', '-n', 200, '--', $prog, "$dir/counts", $which, $how, $end }
        POSIX::_exit(99);
    }
    for (1 .. $wait * 200) {
        # It is stopped by the program, which is killed.
        kill CONT => $pid if $end eq 'killed' && stopped($pid) && -s "$dir/counts" && !lives();
        $status = $? if !defined $status && waitpid($pid, POSIX::WNOHANG()) == $pid;
        return $status if defined $status && !lives();
        sleep 0.005;
    }
    kill KILL => $pid, map { m{(\d+)} } lives();
    waitpid $pid, 0;
    return undef;
}

# seen() -- of each thread the events that the log has
sub seen {
    my @seen;

    for (split /\n/, `$cnv -E UserWord $log 2>$dir/said`) {
        push @{$seen[$1]}, $2 if / UserWord id=(\d+) value=(\d+)$/ && $1 < 1000;
    }
    return @seen;
}

# faults($spoiled, $when, $newest) -- what of the log is not as it should be; and how many events it lacks: if only the newest may be
# kept, those behind the first that is there
sub faults {
    my ($spoiled, $when, $newest) = @_;
    my @emitted = unpack 'Q*', slurp("$dir/counts");
    my @seen = seen();
    my $told = `$cnv --check $log 2>&1`;
    my $status = $? >> 8;
    my $counted = $told =~ /(\d+) events? w(?:as|ere) discarded/ ? $1 : 0;
    my ($lacks, @faults, @short) = (0);

    push @faults, 'the program has not come far' if @emitted != $WORDS + 9;
    for my $t (0 .. $#emitted) {
        my %values = map { $_ => 1 } @{$seen[$t] // []};
        my $first = $newest ? $seen[$t][0] // $emitted[$t] : 0;
        my $n = grep { !$values{$_} } $first .. $emitted[$t] - 1;
        push @faults, "thread $t: twice, or never emitted" if @{$seen[$t] // []} != $emitted[$t] - $first - $n;
        push @short, "$t:$n" if $n > 0;
        $lacks += $n;
    }
    push @faults, "events of a block are missing that nobody has written over" if grep { /^$#emitted:/ } @short;
    push @faults, "$lacks events are missing, and --check gives $status: $told" if ($lacks > 0) != ($status == 1) || $status > 1;
    push @faults, "nothing is missing, so nothing is spoiled" if $spoiled && $lacks == 0;
    push @faults, "$lacks events are missing (@short) of blocks that are whole" if !$spoiled && $lacks > 0;
    # Of events that were written over themselves nobody can tell how many there were: one at least.
    my $known = $lacks;
    $known -= ($_ =~ /:(\d+)/)[0] - 1 for grep { /^(?:@{[$#emitted - 1]}|@{[$#emitted - 2]}):/ } @short;
    push @faults, "$lacks events are missing (@short), $counted were counted: $told" if $counted != $known;
    return ($lacks, $counted, map { "$when: $_" } @faults);
}

sub try {
    my ($which, $how, $policy, $end) = @_;
    my $spoiled = $which ne 'none' && $which ne 'region' && $how ne 'state';
    my $newest = $which eq 'region' && $policy eq 'overwrite';
    my $status = record($which, $how, $policy, $end);
    my @faults;

    push @faults, !defined $status ? 'somebody does not come to his end' : "eventrec: status $status"
        if ($status // -1) != ($end eq 'ends' ? 0 : $end eq 'killed' ? 137 << 8 : 9);
    my ($lacks, $counted, @more) = faults($spoiled, 'as it was left', $newest);
    push @faults, @more;
    my $said = slurp("$dir/err");
    push @faults, "blocks find no room: $said" if $which eq 'region' && $said =~ /no more room/;
    if ($end eq 'ends' || $end eq 'killed') {
        my ($last) = $said =~ /\((\d+) discarded\)/;
        push @faults, "eventrec counts " . ($last // 'nothing') . ", and --check $counted: $said" if ($last // -1) != $counted;
        my ($lost) = $said =~ /\d+ blocks? in shared memory w(?:as|ere) written over or cut off by the program; (\d+) events? (?:is|are) lost/;
        push @faults, "eventrec tells of $counted as of " . ($lost // 0) . ": $said" if ($lost // 0) != $counted;
    }
    my $clean = `$rec --clean $log 2>&1`;
    if ($end eq 'both') {
        my ($lost) = $clean =~ /(\d+) events? (?:is|are) lost, because the program had written over/;
        push @faults, "--clean tells of $counted as of " . ($lost // 0) . ": $clean" if ($lost // 0) != $counted;
    }
    my ($after, $then, @rest) = faults($spoiled, 'cleaned', $newest);
    push @faults, @rest;
    push @faults, "--clean makes $then of $counted that are lost" if $then != $counted;
    push @faults, 'something stays: ' . join ' ', regions_of($dir) if regions_of($dir);
    is "@faults", '', "$which, $how, $policy, $end: " . ($spoiled ? "$lacks events are lost, and counted" : 'nothing is lost');
}

my @how = ('ones', 'zeros', 'flip');
my $next = 0;
for my $end ('killed', 'ends', 'both', 'alone') {
    for my $policy ('discard', 'block') {
        try('none', 'ones', $policy, $end);
        for my $which ('open', 'full') {
            try($which, $_, $policy, $end) for $ENV{SOAK} ? @how : $how[$next++ % @how];
        }
    }
}
# Where the state of a slot was written over the block's header tells what it should be.
for my $end ('killed', 'ends', 'both', 'alone') {
    for my $policy ('overwrite', 'discard', 'block') {
        try($_, 'state', $policy, $end) for 'open', 'full';
    }
}
# Where the region says wrong things of all blocks, nobody waits for what cannot come.  (What comes before the second look at a
# count that may be right is discarded, if that is the policy, or overwritten.)
for my $end ('ends', 'alone') {
    try('region', 'full', $_, $end) for 'overwrite', 'discard', 'block';
    try('region', 'many', 'block', $end);
    try('region', 'slots', 'overwrite', $end);
}
try('region', $_, 'block', 'ends') for 'generation', 'length', 'text';

# A program cuts its region's file, behind what is full or before all.
for my $size (1_200_000, 70_000, 0) {
    my $cut = 'my @a = map { "x$_" } 1 .. 3000; truncate $_, ' . $size . ' for grep { !/log$/ } glob "/dev/shm/pawprint-*-$$-*"; kill 9, $$';
    unlink $log;
    my $said = `$rec -o $log -- $^X -e '$cut' 2>&1`;
    like $said, qr/: \d+ blocks? in shared memory w(?:as|ere) written over or cut off by the program; \d+ events? (?:is|are) lost$/m,
        "a region is cut to $size bytes: that is said";
    my $check = `$cnv --check $log 2>&1`;
    is $?, 256, 'and the log does not say that it has all' or diag $said, $check;
}

# cut($size, $signal) -- the same, while eventrec stands still, or is dead: the status of --check, and what it says
sub cut {
    my ($size, $signal) = @_;
    my $cut = "kill '$signal', getppid; " . 'my @a = map { "x$_" } 1 .. 30000; truncate $_, ' . $size
        . ' for grep { !/log$/ } glob "/dev/shm/pawprint-*-$$-*"; kill 9, $$';
    unlink $log;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/err";
        { no warnings; exec $rec, '-o', $log, '--', $^X, '-e', $cut }
        POSIX::_exit(99);
    }
    my $gone;
    for (1 .. $wait * 200) {
        kill CONT => $pid if stopped($pid) && !grep { slurp("$_/stat") =~ /^\d+ \(perl\) [^ZX] $pid / } glob '/proc/[0-9]*';
        last if $gone = waitpid($pid, POSIX::WNOHANG()) == $pid;
        sleep 0.005;
    }
    my $check = `$cnv --check $log 2>&1`;
    return ($? >> 8, $check);
}

for my $size (4096, 0) {
    my ($status, $check) = cut($size, 'STOP');
    is $status, 1, "a region is cut to $size bytes before eventrec has seen it: the log does not say that it has all";
    like $check, qr/^eventcnv: \d+ events? w(?:as|ere) discarded/, 'but that some was lost' or diag slurp("$dir/err");
}
cut(4096, 'KILL');
until_(sub { grep { -s $_ == 4096 && /-(\d+)-\d+$/ && !-e "/proc/$1" } regions_of($dir) });
like `$rec --clean $log 2>&1`, qr/its beginning was written over, or its file cut, by the program, .*; it stays until it is a minute old$/,
    'a region that was cut, of a recording whose eventrec was killed, is told of';
is $?, 125 << 8, 'and stays';
utime 0, time - 120, regions_of($dir);
like `$rec --clean $log 2>&1`, qr/its beginning was written over, or its file cut, by the program, .*; removed$/, 'until it is a minute old';
is join(' ', regions_of($dir)), '', 'nothing stays then';
done_testing;
