# stays.t -- a recording that stays on, with --max-size: neither the log nor the memory of anybody grows
#
# SPDX-License-Identifier: BSD-2-Clause
#
# SOAK=1 looks at it for three minutes instead of some seconds.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run slurp);
use Test::More;
use Time::HiRes qw(sleep time);

my $B = $ENV{B} || 'build/cool';
my $seconds = $ENV{SOAK} ? 180 : 4;
my $size = 2 << 20;

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'what a sanitizer keeps is not the memory of eventrec' if $ENV{SAN};

# Objects of all sizes at ever new addresses, and a few children.
my $program = 'use Time::HiRes qw(time sleep); my $end = time + $ARGV[0]; my (@list, $n); while (time < $end) {'
    . ' push @list, [map { "x" x ($_ % 301) } 1 .. 100]; splice @list, rand @list, 1 if @list > 300;'
    . ' if (++$n % 500 == 0) { sleep 0.01 } if ($n == 2000) { system "/bin/true" } }';
my $log = "$Dir/stays.paw";
open my $out, '>', "$Dir/out" or die;
my $pid = fork // die "fork: $!";
if ($pid == 0) {
    open STDOUT, '>&', $out;
    open STDERR, '>', "$Dir/err";
    exec "$B/bin/eventrec", '--max-size', $size, '-o', $log, '--', $ENV{PERL} || 'perl', '-e', $program, $seconds;
}

# resident($pid) -- KiB of memory; what is shared is counted apart
sub resident {
    my $status = slurp("/proc/$_[0]/status");
    my %of = $status =~ /^(VmRSS|RssShmem):\s+(\d+)/mg;

    return ($of{VmRSS} // 0) - ($of{RssShmem} // 0);
}

# children($pid) -- as the kernel lists them
sub children { return -e "/proc/$_[0]/task/$_[0]/children" ? split ' ', slurp("/proc/$_[0]/task/$_[0]/children") : () }

# shared() -- KiB of the regions of this recording, as allocated
sub shared {
    my $sum = 0;

    for my $child (children($pid)) {
        my %seen;
        for (split /\n/, slurp("/proc/$child/maps")) {
            $sum += ((stat $1)[12] // 0) / 2 if m{ (/dev/shm/pawprint-\S+)$} && !$seen{$1}++;
        }
    }
    return $sum;
}

# disk() -- bytes that the log takes: what was given up at its beginning is a hole
sub disk { return ((stat $log)[12] // 0) * 512 }

my (@disk, @recorder, @program, @shared);
my $begin = time;
while (waitpid($pid, 1) == 0) {
    sleep $seconds / 100;
    my ($child) = children($pid);
    push @disk, disk();
    push @recorder, resident($pid);
    push @program, defined $child ? resident($child) : 0;
    push @shared, shared();
    last if time > $begin + $seconds + 300;
}
my $status = $?;

# Of a series: the most in its second quarter, and in its last.
sub most { my $most = 0; $_ > $most and $most = $_ for @_; return $most }
sub early { return most(@_[@_ / 4 .. @_ / 2 - 1]) }
sub late { return most(@_[@_ * 3 / 4 .. $#_]) }

is $status, 0, 'it comes to its end' or diag slurp("$Dir/err");
my ($events, $bytes) = slurp("$Dir/err") =~ /^eventrec: (\d+) events .*?, (\d+) bytes/m;
cmp_ok scalar(@disk), '>', 20, 'looked at often';
cmp_ok $events // 0, '>', 100000, 'a recording of many events';
cmp_ok most(@disk), '<=', 2 * $size + (1 << 20), 'the log never takes much more of the disk than twice what was asked for';
cmp_ok disk(), '<=', $size + (1 << 19), 'and in the end what was asked for';
cmp_ok most(@shared), '<=', 72 << 10, 'no more memory is shared than is said';
cmp_ok most(@recorder), '<=', 16 << 10, 'and eventrec has little of its own';
# Some seconds are too short for that: how much they need for a moment depends on who has the processors.
if ($ENV{SOAK}) {
    cmp_ok late(@recorder), '<=', early(@recorder) * 1.25 + 2048, 'eventrec has as much memory late as early';
    cmp_ok late(@program), '<=', early(@program) * 1.25 + 2048, 'and so has the program';
    # What they share is as much as was ever full at one time: where other work holds eventrec up for a moment that is more, and
    # stays.  What somebody forgets is more with each second.
    my ($most, $more) = (most(@shared[0 .. @shared / 2 - 1]), 0);
    for (@shared[@shared / 2 .. $#shared]) {
        next if $_ <= $most;
        $most = $_;
        ++$more;
    }
    cmp_ok $more, '<=', @shared / 8, 'and what they share does not grow on and on';
}
note sprintf 'log %d bytes at most, KiB: eventrec %d, %d; program %d, %d; shared %d, %d', most(@disk), early(@recorder),
    late(@recorder), early(@program), late(@program), early(@shared), late(@shared);
my ($checked, undef, $err) = run("$B/bin/eventcnv", '-n', 1000, $log);
is $checked, 0, 'what is there can be read' or diag $err;
my ($discarded) = slurp("$Dir/err") =~ /^eventrec: \d+ events \((\d+) discarded\)/m;
($checked, undef, $err) = run("$B/bin/eventcnv", '--check', $log);
is $checked, $discarded ? 1 : 0, 'and nothing is missing but what was dropped on purpose, or discarded' or diag $err;

done_testing;
