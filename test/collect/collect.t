#!/usr/bin/env perl
# collect.t -- eventrec collects: however program and collector end, what was emitted is in the log, each event once
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
#
# SOAK=1 kills 200 times instead of 12.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(region_of slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX qw(:sys_wait_h :signal_h);
use Test::More;
use Time::HiRes qw(sleep time);

my $B = abs_path($ENV{B} // 'build/cool');
my $CC = $ENV{CC} // 'gcc';
my $rec = "$B/bin/eventrec";
my $cnv = "$B/bin/eventcnv";
my $root = abs_path('.');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $seed = $ENV{SEED} // int(time);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
-x $rec or BAIL_OUT("eventrec is not built in $B");
srand $seed;
diag "SEED=$seed";
chmod 0755, $dir;

# ---- A program that says by its own means what it has emitted ------------------------------------------------------

open my $source, '>', "$dir/tell.c" or die;
print $source <<'END';
/* tell COUNTS MODE THREADS EVENTS -- each thread t emits UserWord (t + 1, 0), (t + 1, 1) ... and counts them in a file */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "pawprint.h"
static uint64_t *counts;
static uint64_t events;
static int slow;
static void *run(void *number)
{
  uintptr_t t = (uintptr_t)number;
  uint64_t i;
  struct timespec nap = {0, 50000};
  for (i = 0; events == 0 || i < events; ++i) {
    EventUserWord(t + 1, i);
    __atomic_store_n(&counts[t], i + 1, __ATOMIC_RELEASE);
    if (slow && i % 64 == 0)
      nanosleep(&nap, NULL);
  }
  return NULL;
}
int main(int argc, char **argv)
{
  pthread_t thread[64];
  uintptr_t t, threads = (uintptr_t)atoi(argv[3]);
  const char *mode = argv[2];
  int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  events = strtoull(argv[4], NULL, 10);
  slow = strncmp(mode, "slow", 4) == 0;
  if (fd < 0 || ftruncate(fd, 4096) != 0)
    return 2;
  counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  for (t = 0; t < threads; ++t)
    pthread_create(&thread[t], NULL, run, (void *)t);
  if (strcmp(mode, "join") == 0 || slow)
    for (t = 0; t < threads; ++t)
      pthread_join(thread[t], NULL);
  else
    while (__atomic_load_n(&counts[0], __ATOMIC_ACQUIRE) < 20000)
      usleep(100);
  if (strcmp(mode, "_exit") == 0)
    _exit(0);
  if (strcmp(mode, "abort") == 0)
    abort();
  if (strcmp(mode, "segv") == 0)
    *(volatile int *)(uintptr_t)argc = 1;
  exit(0);
}
END
close $source;
my $tell = "$dir/tell";
system("$CC -O2 -w -pthread -I$root/code/emit -I$root/code -I$B/gen -o $tell $dir/tell.c -L$B/lib -lpawprint -Wl,-rpath,$B/lib") == 0
    or BAIL_OUT('the program that tells cannot be built');

# ---- What there is, and what should be -----------------------------------------------------------------------------

# What processes of these logs left in memory: the file's first page names the log, or the link beside it; or it was made for one
# of ours, which was killed before that.
my %ours;
my %others = map { $_ => 1 } glob '/dev/shm/pawprint-*'; # were there before
sub regions { return grep { region_of($_, $dir, \%ours) } grep { !$others{$_} } glob("/dev/shm/pawprint-[0-9a-f]*[0-9] $dir/*.region-*") }

END { unlink map { ($_, "$_.log") } regions() if $dir }

sub counts {
    open my $in, '<:raw', "$dir/counts" or return ();
    local $/;
    my @counts = unpack 'Q*', <$in> // '';
    pop @counts while @counts && $counts[-1] == 0;
    return @counts;
}

# start($log, @words) -- eventrec, in the background; its standard error goes to $dir/err
sub start {
    my ($log, @words) = @_;

    unlink "$dir/$log", "$dir/counts", map { ($_, "$_.log") } regions();
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/err";
        open STDOUT, '>', "$dir/out";
        open STDIN, '<', '/dev/null';
        $SIG{INT} = 'DEFAULT'; # what a shell starts in the background ignores it
        { no warnings; exec $rec, '-o', "$dir/$log", @words }
        POSIX::_exit(99);
    }
    return $pid;
}

# record($log, @words) -- the same, to its end; the status as a shell has it, and what it said
sub record {
    my $pid = start(@_);
    waitpid $pid, 0;
    return (WIFSIGNALED($?) ? 1000 + WTERMSIG($?) : WEXITSTATUS($?), slurp("$dir/err"));
}

# child($pid) -- its only child, as soon as there is one that runs a program of its own
sub child {
    my ($pid) = @_;

    for (1 .. 2000) {
        my ($child) = split ' ', slurp("/proc/$pid/task/$pid/children");
        $ours{$child} = 1 if defined $child;
        return $child if defined $child && (readlink "/proc/$child/exe" // '') ne (readlink "/proc/$pid/exe" // '');
        sleep 0.002;
    }
    die 'it has started nothing';
}

# running($pid) -- also when only some of its threads have not come to their end
sub running { my ($pid) = @_; return grep { slurp($_) =~ /\) [^ZX] / } glob("/proc/$pid/task/*/stat") }

# seen($log) -- for each thread the values of its events, as the log has them; and what eventcnv said
sub seen {
    my ($log) = @_;
    my @seen;

    open my $in, '-|', "$cnv -E UserWord $dir/$log 2>$dir/said" or die "$cnv: $!";
    while (<$in>) {
        push @{$seen[$1 - 1]}, $2 if / UserWord id=(\d+) value=(\d+)$/;
    }
    close $in;
    return ($?, \@seen, slurp("$dir/said"));
}

# faults($log, $more) -- what of it is not as the program says; $more: events that each thread may have been about to count
sub faults {
    my ($log, $more) = @_;
    my @counts = counts();
    return @counts ? ("@counts events of its threads, and no log") : () if !-s "$dir/$log";
    my ($status, $seen, $said) = seen($log);
    my @faults = $status != 0 ? ("eventcnv: $said") : ();

    for my $t (0 .. $#counts) {
        my @values = @{$seen->[$t] // []};
        my ($n, $odd) = (scalar @values, 0);
        push @faults, "thread $t: $n events of $counts[$t]" if $n < $counts[$t] || $n > $counts[$t] + $more;
        ++$odd while $odd < $n && $values[$odd] == $odd;
        push @faults, "thread $t: event $odd is not where it should be" if $odd < $n;
    }
    return @faults;
}

sub summary { return slurp("$dir/err") =~ /^eventrec: (\d+) events \((\d+) discarded\)/m }

# ---- Ends ----------------------------------------------------------------------------------------------------------

for (['join', 0, 3000], ['exit', 0, 0], ['_exit', 0, 0], ['abort', 134, 0], ['segv', 139, 0]) {
    my ($mode, $expected, $events) = @$_;
    my ($status, $said) = record("$mode.paw", '--', $tell, "$dir/counts", $mode, 3, $events);
    is $status, $expected, "$mode: it ended so";
    like $said, qr/\Aeventrec: \d+ events \(0 discarded\), \d+ bytes, \d+\.\d+ s -> \S+\n\z/, "$mode: nothing to tell but one line";
    is_deeply [faults("$mode.paw", 1)], [], "$mode: every event is in the log, once";
    is `$cnv --check $dir/$mode.paw 2>&1`, '', "$mode: which knows that it is whole";
    is_deeply [regions()], [], "$mode: nothing is left in memory";
}

my $kills = $ENV{SOAK} ? 200 : 4;
my (%bad, %left);
my $events = 0;
for my $i (1 .. $kills) {
    for my $who ('program', 'collector', 'both') {
        %ours = (); # the system gives numbers of processes again, to others, too
        my $pid = start('kill.paw', '--', $tell, "$dir/counts", 'slow', 2 + $i % 3, 0);
        my $program = child($pid);
        sleep rand($i % 4 == 0 ? 0.004 : 0.05);
        if ($who eq 'collector') {
            kill KILL => $pid;
            waitpid $pid, 0;
            my ($before) = (@{[counts()]}, 0);
            until_(sub { my ($now) = counts(); ($now // 0) > $before + 1000 }) or ++$bad{still};
            $bad{ended} += !running($program);
            sleep rand(0.02);
            kill KILL => $program;
            until_(sub { !running($program) });
        } else {
            kill KILL => $program;
            kill KILL => $pid if $who eq 'both';
            waitpid $pid, 0;
            until_(sub { !running($program) });
        }
        # Where the collector was killed before a whole header block was in the log, readers say that nothing can be
        # read, and --clean brings all there; unless the program had emitted nothing, and has no memory yet.
        my @faults = faults('kill.paw', 1);
        my $empty = $who ne 'program' && (regions() || !counts())
            && (!-s "$dir/kill.paw" || grep { /in its first block: nothing of it can be read$/ } @faults);
        @faults = () if $empty;
        $events += $_ for counts();
        diag "$who $i: $_" for @faults;
        $bad{$who} += @faults > 0;
        $left{$who} += regions() > 0;
        if (regions()) {
            my @left = regions();
            my $clean = `$rec --clean $dir/kill.paw 2>&1`;
            # What has no link yet was never given to a process, and is empty.
            for my $region (@left) {
                next if $clean =~ m{^\Q$region\E: of process \d+, .* log (?:\Q$dir\E/kill\.paw: added to the log|none: nobody asked for one); removed$}m;
                diag "clean $i: $region: $clean";
                ++$bad{clean};
            }
            @faults = faults('kill.paw', 1);
            diag "clean $i: $_" for @faults;
            $bad{clean} += @faults > 0 || regions() > 0;
        }
    }
}
is $bad{program}, 0, "$kills times the program killed at random: no event of $events is lost, none twice, none invented";
is $left{program}, 0, 'and nothing is left in memory';
is $bad{collector}, 0, "$kills times the collector: the program goes on, and its log is whole";
is $bad{still} // 0, 0, 'it never stands still';
is $bad{ended}, 0, 'nor ends';
is $bad{both}, 0, "$kills times both at once: one command delivers what they had";
is $bad{clean} // 0, 0, 'and eventrec --clean names it, and adds it to the log';

# ---- Policies ------------------------------------------------------------------------------------------------------

# held($policy, $events) -- record while the collector is stopped for a moment, so that no block is free
sub held {
    my ($policy, $events) = @_;
    my $pid = start("$policy.paw", '-k', 'User', '-p', $policy, '-b', '4K', '-n', 4, '--', $tell, "$dir/counts", 'slow', 3, $events);
    my $program = child($pid);
    until_(sub { (counts())[0] });
    kill STOP => $pid;
    sleep 0.1;
    my @held = counts();
    kill CONT => $pid;
    waitpid $pid, 0;
    return @held;
}

{
    held('discard', 100000);
    my ($delivered, $discarded) = summary();
    my $sent = 0;
    $sent += $_ for counts();
    is $delivered + $discarded, $sent, 'discard: what was sent is what was delivered and what was discarded';
    cmp_ok $discarded, '>', 0, 'discard: and something was';
    my (undef, $seen) = seen('discard.paw');
    my @odd = grep { my $v = $seen->[$_]; grep { $v->[$_] <= $v->[$_ - 1] } 1 .. $#$v } 0 .. 2;
    is "@odd", '', 'discard: what is there is in order';
}
{
    my @held = held('block', 60000);
    is_deeply [summary()], [180000, 0], 'block: nothing is discarded';
    is_deeply [faults('block.paw', 0)], [], 'block: and all is there';
    cmp_ok $held[0] // 60000, '<', 60000, 'block: the threads waited';
}
{
    held('stop', 100000);
    like slurp("$dir/err"), qr/^eventrec: \d+ \(\S+tell\): recording stopped after \d+\.\d{3} s/m, 'stop: the summary says when';
    my (undef, $seen) = seen('stop.paw');
    # No gap in any thread's numbers: the last of n events, from 0 on, in order, has the number n - 1.
    my @odd = grep { my $v = $seen->[$_] // []; grep { $v->[$_] != $_ } 0 .. $#$v } 0 .. 2;
    is "@odd", '', 'stop: what came before is whole, of each thread';
    cmp_ok scalar(grep { @{$seen->[$_] // []} } 0 .. 2), '>', 0, 'stop: and something did';
    cmp_ok scalar(grep { $seen->[$_] && @{$seen->[$_]} < (counts())[$_] } 0 .. 2), '>', 0, 'stop: and something came after';
}
{
    held('overwrite', 100000);
    like slurp("$dir/err"), qr/^eventrec: \d+ \(\S+tell\): only the newest events were kept; \d+ older blocks? w(?:as|ere) overwritten$/m,
        'overwrite: the summary says how much was';
    my (undef, $seen) = seen('overwrite.paw');
    my @odd = grep { my $v = $seen->[$_] // []; grep { $v->[$_] != $v->[$_ - 1] + 1 } 1 .. $#$v } 0 .. 2;
    is "@odd", '', 'overwrite: what is there of each thread is without a gap';
    # A thread that ended long before the others may have nothing left.
    my @kept = grep { @{$_ // []} } @$seen;
    ok @kept > 0 && !grep({ $_->[-1] != 99999 } @kept), 'overwrite: and its newest events are, unless all was overwritten'
        or diag join ', ', map { "to $_->[-1]" } @kept;
    like `$cnv --check $dir/overwrite.paw 2>&1`, qr/\A(?:eventcnv: \d+ events? \w+ discarded while recording[^\n]*\n)?\z/,
        'overwrite: and nothing is missing that was not counted';
}

{
    # Both killed: what was kept is in memory, and what was overwritten no loss.
    my $pid = start('flight.paw', '-k', 'User', '-p', 'overwrite', '-b', '4K', '-n', 6, '--', $tell, "$dir/counts", 'join', 1, 0);
    my $program = child($pid);
    until_(sub { ((counts())[0] // 0) > 30000 });
    kill KILL => $pid, $program;
    waitpid $pid, 0;
    until_(sub { !running($program) });
    my ($count) = counts();
    my (undef, $seen, $said) = seen('flight.paw');
    my @values = @{$seen->[0] // []};
    my @odd = grep { $values[$_] != $values[$_ - 1] + 1 } 1 .. $#values;
    ok @values > 100 && !@odd && $values[-1] >= $count - 1, 'overwrite, and all are killed: the newest are there'
        or diag "from $values[0] to $values[-1] of $count, jumps at @values[@odd]; $said";
    unlike $said, qr/missing/, 'and nothing else is missed';
    system("$rec --clean $dir/flight.paw >/dev/null 2>&1");
    unlike `$cnv --check $dir/flight.paw 2>&1`, qr/missing/, 'also when the log has them';
}

{
    # Both killed before a header block of the program reached the log: it is in memory, too, and goes where the events go.
    my $pid = start('early.paw', '--', $tell, "$dir/counts", 'slow', 1, 0);
    my $program = child($pid);
    # What eventrec has made the program has, too: who has been asked and does not answer leaves a program to itself.
    until_(sub { open my $maps, '<', "/proc/$program/maps" or return 0; grep { m{ /dev/shm/pawprint-} } <$maps> });
    kill STOP => $pid;
    until_(sub { ((counts())[0] // 0) > 2000 });
    kill KILL => $pid, $program;
    waitpid $pid, 0;
    until_(sub { !running($program) });
    my ($region) = regions();
    my $there = -s "$dir/early.paw";
    system('cp', '--sparse=always', $region, "$dir/kept") if $region;
    system("$rec --clean $dir/early.paw >/dev/null 2>&1");
    my $size = -s "$dir/early.paw";
    cmp_ok $size, '>', $there, 'killed at the beginning: something is added';
    is_deeply [faults('early.paw', 1)], [], 'and it can be read';
    is `$cnv --check $dir/early.paw 2>&1`, '', 'and is whole';
    # Who adds it may be killed, too, in the header block or in a block of events.  That is told.
    my @again;
    for my $cut ($region ? ($there, $there + 20 + int rand 3000, $there + 20 + int rand $size - $there - 20, $size - 1, $size) : ()) {
        truncate "$dir/early.paw", $cut;
        system('cp', '--sparse=always', "$dir/kept", $region);
        symlink "$dir/early.paw", "$region.log";
        system("$rec --clean $dir/early.paw >/dev/null 2>&1");
        push @again, map { "cut at $cut of $size: $_" } grep { !/^eventcnv: / } faults('early.paw', 1);
        push @again, map { "$_ is left" } regions();
    }
    is_deeply \@again, [], 'and what was added in part is added again';
}

{
    # Blocks are asked for while the program uses them again and again.
    my $pid = start('asked.paw', '-k', 'User', '-p', 'overwrite', '-n', 200, '--', $tell, "$dir/counts", 'join', 3, 0);
    my $program = child($pid);
    until_(sub { (counts())[0] });
    my $asked = 0;
    $asked += system("$B/bin/eventctl $program flush >/dev/null 2>&1") == 0 for 1 .. 4;
    kill TERM => $program;
    waitpid $pid, 0;
    my (undef, $discarded) = summary();
    # A sanitized collector may be slower than the program.
    cmp_ok $asked, '>', 0, 'overwrite: what the buffers hold can be asked for' unless $ENV{SAN};
    is $discarded, 0, 'overwrite: and nothing is discarded for that';
    my (undef, $seen) = seen('asked.paw');
    my @odd = grep { my $v = $seen->[$_] // []; grep { $v->[$_] <= $v->[$_ - 1] } 1 .. $#$v } 0 .. 2;
    is "@odd", '', 'overwrite: nothing is there twice';
}

# ---- What is wanted ------------------------------------------------------------------------------------------------

{
    my ($status, $said) = record('near.paw', '-E', 'PoolAlloc,PoolFre', '--', 'true');
    is $status, 125, 'an event that there is not is an error';
    like $said, qr/no event is called 'PoolFre'; near it are PoolFree,/, 'which names those that are like it';
    record('events.paw', '-E', 'PoolAlloc,PoolFree', '--', 'perl', '-e', 'my @a = map { "x$_" } 1 .. 1000');
    my %names = map { $_ => 1 } `$cnv $dir/events.paw` =~ /^\S+ \S+ (\w+)/mg;
    is_deeply [sort keys %names], ['PoolAlloc', 'PoolFree'], '-E: only these';
    is `$cnv --check $dir/events.paw 2>&1`, '', 'and the log is whole';
    # Events with callers have types of their own, which come in the place of those that are named.
    for my $row (['PoolAllocSite PoolFree', '-s', 1], ['PoolAllocSite PoolFree', '-r', 'libc.so'],
                 ['PoolAllocStack PoolFree', '-s', 8], ['PoolAllocStack PoolFreeStack', '-s', 8, '--stack-frees']) {
        my ($due, @callers) = @$row;
        record('events.paw', '-E', 'PoolAlloc,PoolFree', @callers, '--', 'perl', '-e', 'my @a = map { "x$_" } 1 .. 1000');
        %names = map { $_ => 1 } `$cnv $dir/events.paw` =~ /^\S+ \S+ (\w+)/mg;
        is join(' ', sort grep { /^Pool/ } keys %names), $due, "-E @callers: and those that come in their place";
        ok $names{ModuleLoad}, "-E @callers: with what says who called";
    }
    # And whoever names those that another depth of stacks would have gets those that come.
    for my $row (['PoolAlloc PoolFree'], ['PoolAllocSite PoolFree', '-s', 1], ['PoolAllocStack PoolFree', '-s', 8]) {
        my ($due, @callers) = @$row;
        for my $end ('Site', 'Stack') {
            record('events.paw', '-E', "PoolAlloc$end,PoolFree", @callers, '--', 'perl', '-e', 'my @a = map { "x$_" } 1 .. 1000');
            %names = map { $_ => 1 } `$cnv $dir/events.paw` =~ /^\S+ \S+ (\w+)/mg;
            is join(' ', sort grep { /^Pool/ } keys %names), $due, "-E PoolAlloc$end @callers";
        }
    }
}
{
    my ($status) = record('process.paw', '--process', 'sort', '--', 'sh', '-c', 'echo b | sort | cat; perl -e 1');
    my %programs = map { $_ => 1 } `$cnv --header $dir/process.paw` =~ m{^program: "\S*?([^/"]+)"$}mg;
    delete $programs{eventrec}; # what it sees of processes it tells itself
    # What cannot reach a slow collector in time writes to the log itself, whoever it is.
    is_deeply [sort keys %programs], ['sort'], '--process: only that program' unless $ENV{SAN};
    (undef, my $said) = record('sh.paw', '--process', 'sh', '--', 'sh', '-c', 'perl -e 1; :');
    unlike $said, qr/not seen/, '--process: by the name that was used, which may be a link';
    (undef, $said) = record('nobody.paw', '--process', 'nobody', '--', 'true');
    like $said, qr/^eventrec: --process: no process of the family was called 'nobody'$/m, 'a process that there was not is told';
    unlike $said, qr/not seen/, 'and nothing else';
    ($status) = record('alone.paw', '--no-follow', '--', 'perl', '-e', 'system "sort /dev/null"; 1');
    %programs = map { $_ => 1 } `$cnv --header $dir/alone.paw` =~ m{^program: "\S*?([^/"]+)"$}mg;
    delete $programs{eventrec};
    ok !$programs{sort} && %programs == 1, '--no-follow: only the program itself';
}
{
    my $pid = start('time.paw', '-t', '0.15', '--', $tell, "$dir/counts", 'slow', 1, 0);
    my $program = child($pid);
    ok until_(sub { `$B/bin/eventctl $program 2>/dev/null` =~ /^User +no/m }), '-t: the recording ends';
    my ($then) = counts();
    ok until_(sub { (counts())[0] > ($then // 0) + 1000 }), 'and the program goes on';
    kill TERM => $program;
    waitpid $pid, 0;
    like slurp("$dir/err"), qr/^eventrec: -t 0\.15: the recording ended then; the last \d+\.\d{3} s of the program are not in it$/m, 'which is said';
    my (undef, $seen) = seen('time.paw');
    my @values = @{$seen->[0] // []};
    ok @values <= ($then // 0) && (!@values || $values[-1] == $#values), 'what came before is there, and nothing else';
    record('paused.paw', '--paused', '--', $tell, "$dir/counts", 'join', 1, 1000);
    is_deeply [(seen('paused.paw'))[1]], [[]], '--paused: nothing is sent';
}

# ---- Signals -------------------------------------------------------------------------------------------------------

for my $signal ('INT', 'TERM') {
    my $pid = start('signal.paw', '--', $tell, "$dir/counts", 'slow', 2, 0);
    child($pid);
    until_(sub { ((counts())[0] // 0) > 1000 });
    kill $signal => $pid;
    waitpid $pid, 0;
    is $? >> 8, 128 + ($signal eq 'INT' ? 2 : 15), "SIG$signal is passed on, and eventrec ends as the program did";
    is_deeply [faults('signal.paw', 1)], [], 'with a whole log';
}
{
    my $pid = start('idle.paw', '--', 'sleep', '60');
    my $program = child($pid);
    my $used = sub {
        my ($switches) = slurp("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m;
        my @times = (split ' ', slurp("/proc/$pid/stat"))[13, 14];
        return ($times[0] + $times[1], $switches, time);
    };
    sleep 0.4;
    my @before = $used->();
    sleep 0.6;
    my @after = $used->();
    kill TERM => $program;
    waitpid $pid, 0;
    cmp_ok $after[0] - $before[0], '<=', 2, 'while nothing happens the collector uses no processor';
    cmp_ok $after[1] - $before[1], '<=', 100 * ($after[2] - $before[2]), 'and hardly wakes';
}

# ---- The family ----------------------------------------------------------------------------------------------------

{
    my ($status, $said) = record('daemon.paw', '--', 'sh', '-c', "$tell $dir/counts slow 1 400000 & sleep 0.2; exit 4");
    is $status, 4, 'a program that leaves somebody behind';
    like $said, qr/^eventrec: 1 of its processes still runs, and writes to the log$/m, 'which is told';
    until_(sub { ((counts())[0] // 0) >= 400000 && !regions() });
    is_deeply [faults('daemon.paw', 0)], [], 'and who goes on, to the last event';
}
SKIP: {
    skip 'the library stays out of such a program', 5 if ($ENV{SAN} // '') eq 'thread';
    # Children that have not run since the fork have no memory of their own yet, and are counted all the same.  So many
    # others are there that eventrec does not see all at one go.
    my @others = map { my $pid = fork // die; if (!$pid) { sleep 60; POSIX::_exit(0) } $pid } 1 .. 150;
    system('mkfifo', "$dir/fifo") == 0 or die;
    open my $fifo, '+<', "$dir/fifo" or die;
    my ($status, $said) = record('newborn.paw', '--', "$B/prog/clones", 3, "$dir/fifo");
    kill KILL => @others;
    waitpid $_, 0 for @others;
    is $status, 0, 'a program that ends before its children have run';
    like $said, qr/^eventrec: 3 of its processes still run, and write to the log$/m, 'which is told';
    like `$cnv --check $dir/newborn.paw 2>&1`, qr/: 3 of its \d+ processes are not in the log$/m, 'by the log, too, as long as they have written nothing';
    syswrite $fifo, '...';
    my $frees = sub { scalar(() = `$cnv -E PoolFree $dir/newborn.paw 2>$dir/said` =~ /PoolFree/g) };
    until_(sub { $frees->() >= 400 && !regions() });
    cmp_ok $frees->(), '>=', 400, 'and they do';
    is `$cnv --check $dir/newborn.paw 2>&1`, '', 'to the last event';
}
{
    # The collector's own header block has the registry's lines, first and once more at the end; the others name them.
    record('registry.paw', '--', 'sh', '-c', "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do $tell $dir/counts join 1 1; done");
    my $bytes = slurp("$dir/registry.paw");
    my $lines = () = $bytes =~ /^event: 0x\w+ UserWord /mg;
    my %named = map { $_ => 1 } $bytes =~ /\x8fPAWhdr\n[^\x8f]*?^pid: (\d+)\n[^\x8f]*?^registry: \d+ /mg;
    is $lines, 2, 'the registry is written once for a recording, and once more at its end';
    cmp_ok scalar(keys %named), '>=', 20, 'and each of twenty short processes names it';
    my $all = () = `$cnv -E UserWord $dir/registry.paw 2>$dir/said` =~ / UserWord id=1 value=0$/mg;
    is "$all " . slurp("$dir/said"), '20 ', 'by which their events are understood';
}
SKIP: {
    open my $c, '>', "$dir/static.c" or die;
    print $c "#include <unistd.h>\nint main(int argc, char **argv) { usleep(argc > 1 ? 999999 : 0); return 0; }\n";
    close $c;
    skip 'no static libc', 3 if system("$CC -w -static -o $dir/static $dir/static.c 2>/dev/null") != 0;
    my ($status, $said) = record('static.paw', '--', 'sh', '-c', "cd $dir; ./static; $dir/static; true");
    my @named = $said =~ /^eventrec: not seen: \Q$dir\E\/static: static/mg;
    is scalar(@named), 1, 'a static program somewhere in the family is named, once';
    ($status, $said) = record('static.paw', '--', 'perl', '-e', "system { '$dir/static' } 'static'; exec { '$dir/static' } 'static'");
    @named = $said =~ /^eventrec: not seen: \Q$dir\E\/static: static/mg;
    is scalar(@named), 1, 'also where another one replaces itself by it';
    # Started by one that is not seen itself, but long enough there.
    system("cp $dir/static $dir/other");
    ($status, $said) = record('static.paw', '--', 'env', '-u', 'LD_PRELOAD', 'sh', '-c', "$dir/other long; true");
    like $said, qr/^eventrec: not seen: \Q$dir\E\/other: static/m, 'or is started by one that does not tell';
}

# ---- Where the way is barred ---------------------------------------------------------------------------------------

# enclosed($what, $log, $setup) -- record a program within namespaces of its own
sub enclosed {
    my ($what, $flags, $setup) = @_;
  SKIP: {
        skip "unshare $flags is not permitted here", 2 if system("unshare $flags sh -c '$setup true' >/dev/null 2>&1") != 0;
        my ($status) = record('enclosed.paw', '-p', 'block', '--', 'unshare', split(' ', $flags), 'sh', '-c',
                              "$setup $tell $dir/counts join 2 20000");
        is $status, 0, "$what: the program runs";
        is_deeply [faults('enclosed.paw', 0)], [], "$what: and its log is whole";
        diag slurp("$dir/err") if !Test::More->builder->is_passing;
    }
    return;
}

enclosed('another network, where the collector cannot be reached', '-rn', '');
enclosed('other process numbers', '-rpf', '');
enclosed('a small /dev/shm', '-rm', 'mount -t tmpfs -o size=600k none /dev/shm;');
enclosed('no /dev/shm to write to', '-rm', 'mount -t tmpfs -o ro none /dev/shm;');
is_deeply [regions()], [], 'nothing is left in memory';

SKIP: {
    skip 'not root: no chroot', 2 if $> != 0;
    my $inside = "$dir/root";
    mkdir $inside;
    my @libs = map { /(\/\S+\.so[^\s:]*) \(/ ? $1 : () } `ldd $tell $B/lib/libpawprint.so`;
    for my $file ($tell, "$B/lib/libpawprint.so", @libs) {
        my ($folder) = $file =~ m{^(.*)/};
        system('mkdir', '-p', "$inside$folder");
        system('cp', '-L', $file, "$inside$file");
    }
    my $chroot = `sh -c 'command -v chroot'`;
    chomp $chroot;
    skip 'no chroot', 2 if !$chroot || system("$chroot $inside $tell /counts join 1 1 2>/dev/null") != 0;
    my ($status) = record('chroot.paw', '--', $chroot, $inside, $tell, '/counts', 'join', 2, 20000);
    is $status, 0, 'in a chroot, without /proc and /dev: the program runs';
    my (undef, $seen) = seen('chroot.paw');
    is_deeply [map { scalar @$_ } @$seen], [20000, 20000], 'and its log is whole';
}

done_testing;
