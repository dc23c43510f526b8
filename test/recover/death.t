#!/usr/bin/env perl
# death.t -- however a program ends, what it has emitted is in its log: each event once, and none that never was
#
# SPDX-License-Identifier: BSD-2-Clause
#
# SOAK=1 kills 200 programs instead of 25.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(region_of);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $B = $ENV{B} // 'build/cool';
my $prog = "$B/prog/death";
my $cnv = "$B/bin/eventcnv";
my $dir = tempdir(CLEANUP => 1);
my $seed = $ENV{SEED} // time;

plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
-x $_ or BAIL_OUT("$_ is not there") for $prog, $cnv;
srand $seed;
note "SEED=$seed";

# What processes of this log left in memory: the file's first page names the log, or the link beside it; or it was made for one
# of ours, which was killed before that.
my %ours;
sub regions { return grep { region_of($_, $dir, \%ours) } glob("/dev/shm/pawprint-[0-9a-f]*[0-9] $dir/log.region-*") }

# leavings() -- those, and the links beside them.  A process that is killed before it has made its region leaves the link alone,
# which eventrec --clean removes.
sub leavings {
    return (map { ($_, "$_.log") } regions()),
        grep { (readlink // '') =~ /^\Q$dir\E/ } glob '/dev/shm/pawprint-*.log';
}

END { unlink leavings() }

# start($mode) -- a child that records into $dir/log
sub start {
    my ($mode, $threads) = @_;

    unlink "$dir/log", "$dir/counts", leavings();
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/stderr" or POSIX::_exit(127);
        $ENV{PAWPRINT_LOG} = "$dir/log";
        { no warnings; exec $prog, "$dir/counts", $mode, $threads }
        POSIX::_exit(127);
    }
    $ours{$pid} = 1;
    return $pid;
}

# What the program itself says that it has emitted.
sub counts {
    open my $in, '<:raw', "$dir/counts" or return ();
    local $/;
    my $bytes = <$in> // '';
    return unpack 'Q*', $bytes;
}

# faults($more) -- what of the log is not as the program says; $more: events that each thread may have been about to count
sub faults {
    my ($more) = @_;
    my @counts = counts();
    my (@seen, @faults);

    # It may not have come that far as to emit anything.
    return (grep { $_ } @counts) ? ("@counts events of its threads, and no log") : () unless -s "$dir/log";
    open my $in, '-|', "$cnv -E UserWord $dir/log 2>$dir/said" or die "$cnv: $!";
    while (<$in>) {
        push @faults, "a line that is none: $_" unless / UserWord id=(\d+) value=(\d+)$/;
        ++$seen[$1 - 1][$2];
    }
    close $in or push @faults, 'eventcnv: ' . said("$dir/said");
    for my $t (0 .. $#counts) {
        my $seen = $seen[$t] // [];
        my $n = @$seen;
        push @faults, "thread $t: $n events of $counts[$t]" if $n < $counts[$t] || $n > $counts[$t] + $more;
        my @odd = grep { ($seen->[$_] // 0) != 1 } 0 .. $n - 1;
        push @faults, "thread $t: event $odd[0] is there " . ($seen->[$odd[0]] // 0) . ' times' if @odd;
    }
    push @faults, "events of threads that never were" if @seen > @counts;
    return @faults;
}

sub said { open my $in, '<', $_[0] or return ''; local $/; return scalar <$in> }

for (['alone', 0], ['return', 0], ['exit', 0], ['thread-exit', 0], ['_exit', 0], ['abort', 6], ['aver', 6], ['segv', 11]) {
    my ($mode, $signal) = @$_;
    next if $mode eq 'segv' && $ENV{SAN}; # it has a handler of its own
    my $pid = start($mode, $mode eq 'alone' ? 1 : 3);
    waitpid $pid, 0;
    is $? & 127, $signal, "$mode: it ended so";
    is_deeply [faults(1)], [], "$mode: every event is in the log, once";
    is scalar(regions()), 0, "$mode: nothing is left in memory" if $mode eq 'alone';
    if ($mode eq 'aver') {
        my $text = said("$dir/stderr");
        like $text, qr{death\.c:\d+: assertion failed: counts == }, 'a failed AVER says what failed';
        like $text, qr{^pawprint: -\d+\.\d{9} \d+ UserWord id=\d value=\d+$}m, 'and prints the newest events';
        # How many depends on how full each thread's newest block is.
        my @age = $text =~ /^pawprint: -([\d.]+) /mg;
        is_deeply \@age, [sort { $b <=> $a } @age], 'the newest last';
    }
}

my ($bad, $events) = (0, 0);
my $kills = $ENV{SOAK} ? 200 : 25;
for my $i (1 .. $kills) {
    my $pid = start('kill', 2 + $i % 3);
    sleep rand($i % 5 == 0 ? 0.004 : 0.03);
    kill KILL => $pid;
    waitpid $pid, 0;
    my @faults = faults(1);
    $events += $_ for counts();
    diag "kill $i: $_" for @faults;
    $bad += @faults > 0;
}
is $bad, 0, "$kills times kill -9 at random: no event of $events is lost, none twice, none invented";
done_testing;
