# Counted.pm -- records a command while an independent library counts its calls, and reads both results
#
# prog/counter.so is a malloc that is preloaded behind ours and counts the calls that reach it.  It knows nothing of
# Pawprint.
#
# SPDX-License-Identifier: BSD-2-Clause
package Counted;
use strict;
use warnings;
use Exporter qw(import);
use POSIX ();
use Test::More ();

our @EXPORT = qw(@CountedNames countedRecord countedCalls countedEvents countedSlurp);

# The event types that are counted, in the order of the counter's records.
our @CountedNames = qw(PoolAlloc PoolFree PoolAllocZero PoolResizeBegin PoolAllocAligned PoolAllocFail);

sub countedSlurp {
    my ($file, $most) = @_;

    open my $in, '<:raw', $file or return '';
    local $/ = \($most // 1 << 30);
    return scalar <$in> // '';
}

# countedRecord($B, $log, $counts, $out, @command) -- run the command under eventrec, which writes $log, and under the
# counter, which writes $counts; "$out.out" and "$out.err" get what is printed.  Returns the wait status.
sub countedRecord {
    my ($B, $log, $counts, $out, @command) = @_;
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$out.out";
        open STDERR, '>', "$out.err";
        @ENV{qw(LD_PRELOAD COUNTER)} = ("$B/prog/counter.so", $counts);
        { no warnings; exec "$B/bin/eventrec", '-o', $log, '--', @command }
        POSIX::_exit(99);
    }
    waitpid $pid, 0;
    return $?;
}

# countedCalls($B, $counts) -- for each process number the counts that are not zero, as the counter has them.  eventrec
# itself, and what it does before it runs the program, is not in the log.
sub countedCalls {
    my ($B, $counts) = @_;
    my ($bytes, %calls) = (countedSlurp($counts));
    my $itself = (stat "$B/bin/eventrec")[1];

    return {} if length $bytes < 8;
    for my $index (1 .. unpack 'Q', $bytes) {
        my ($pid, @counts) = unpack 'Q8', substr $bytes, 64 * $index, 64;
        next if pop @counts == $itself;
        $calls{$pid}{$CountedNames[$_]} += $counts[$_] for grep { $counts[$_] } 0 .. $#CountedNames;
    }
    return \%calls;
}

# countedEvents($B, $log) -- the same, as the log has them; an eventcnv that fails is a failed test
sub countedEvents {
    my ($B, $log) = @_;
    my %events;
    my $names = join ',', @CountedNames;

    open my $in, '-|', "$B/bin/eventcnv", '-E', $names, $log or die "eventcnv: $!";
    while (<$in>) {
        ++$events{$1}{$2} if m{^\S+ (\d+)/\d+ (\w+)};
    }
    close $in or Test::More::fail "eventcnv of $log: status " . ($? >> 8);
    return \%events;
}

1;
