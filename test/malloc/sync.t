#!/usr/bin/perl
# sync.t -- threads and what they wait for, as a preloaded library sees it: nothing changes for the program
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use File::Temp qw(tempdir);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per operation in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $dir = tempdir(CLEANUP => 1);

# Run the program under eventrec; returns the log's lines and what the program printed.
sub record {
  my ($name, @options) = @_;
  my $log = "$dir/$name.paw";

  system("$B/bin/eventrec -o $log @options $B/prog/sync > $dir/out 2> $dir/err") == 0 or diag(slurp("$dir/err"));
  is $?, 0, "$name: the program ends as it should";
  return ([split /\n/, `$B/bin/eventcnv $log`], slurp("$dir/out"), $log);
}

my $plain = `$B/prog/sync`;
unlike $plain, qr/wrong/, 'without the library every call returns what it should';

my ($lines, $out, $log) = record('default');
is scalar(grep(/ (?:Mutex|Rwlock|Cond|Sem|Barrier|Spin|ThreadCreate|ThreadJoin)/, @$lines)), 0, 'by default nothing of kind Sync';
is scalar(grep(/ ThreadStart /, @$lines)), 9, 'every thread begins, the first one too, and those that allocate nothing';
is scalar(grep(/ ThreadEnd /, @$lines)), 8, 'and ends';
is scalar(grep(/ ThreadName .* name="(?:holder|waiter)"/, @$lines)), 2, 'and is named, by both ways there are';
my %start = map { / ThreadStart thread=(\d+)/ ? ($1 => 1) : () } @$lines;
is scalar(grep { !$start{$_} } map { / ThreadEnd thread=(\d+)/ ? $1 : () } @$lines), 0, 'by the numbers that they began with';

($lines, $out, $log) = record('sync', '-k', '+Sync');
unlike $out, qr/wrong/, 'traced, every call returns what it should';
my %is = $out =~ /^(\w+) (0x[0-9a-f]+)$/mg;

# What was told of one object: names and, where there is one, the result.
sub told {
  my ($object) = @_;

  my @told = map { [/ (\w+) thread=\d+ (?:.* )?\w+=$is{$object}(?: |$)/, / result=(\d+)/] } @$lines;

  return join ' ', map { join ':', @$_ } grep { @$_ && $_->[0] =~ /[A-Z]/ } @told;
}

like told('mutex'), qr/^MutexInit MutexAcquire:0 MutexAcquire:16 MutexRequest MutexAcquire:110 MutexRequest MutexRelease MutexAcquire:0 /,
  'a mutex: had at once, not had, not had in time, waited for';
like told('mutex'), qr/ MutexDestroy$/, 'and destroyed';
is told('rwlock'), 'RwlockAcquire:0 RwlockRequest RwlockRelease RwlockAcquire:0 RwlockRelease RwlockDestroy', 'a read-write lock';
is told('spin'), 'SpinInit SpinAcquire:0 SpinRequest SpinRelease SpinAcquire:0 SpinRelease SpinDestroy', 'a spin lock';
is told('sem'), 'SemInit SemRequest SemPost SemAcquire:0 SemAcquire:11 SemPost SemAcquire:0 SemDestroy',
  'a semaphore; a wait that was cancelled before it began has not begun';
is told('empty'), 'SemInit SemRequest SemAcquire:125', 'a wait for a semaphore that is cancelled has an end';
is told('never'), 'CondInit CondWaitBegin CondWaitEnd:110 CondWaitBegin CondWaitEnd:125', 'and one for a condition; one that was too long';
is told('cond'), 'CondInit CondWaitBegin CondSignal CondBroadcast CondWaitEnd:0 CondDestroy', 'a condition that comes true';
is told('recursive'), 'MutexInit MutexAcquire:0 MutexAcquire:0 MutexRelease MutexRelease MutexDestroy', 'a recursive mutex';
is told('robust'), 'MutexInit MutexAcquire:0 MutexAcquire:130 MutexAcquire:35 MutexRelease MutexRelease',
  'a robust one whose owner died, and who has it asks again';
my @barrier = told('barrier') =~ /(\w+)/g;
is join(' ', (grep { $_ ne 'BarrierBlock' } @barrier)[0 .. 2], $barrier[-1]), 'BarrierInit BarrierReach BarrierReach BarrierDestroy', 'a barrier that both reach';
is scalar(grep { $_ eq 'BarrierBlock' } @barrier), 1, 'and one of them is blocked';
is scalar(grep { $_ eq 'BarrierResume' } @barrier), 2, 'before they go on';

# Each wait has its end, in the same thread, and nothing of the thread's in between.
my (%waits, $bad);
for (@$lines) {
  my ($thread, $event) = m{^\S+ \d+/(\d+) (\w+)} or next;
  next if $event eq 'BarrierBlock' && ($waits{$thread} // '') eq 'BarrierReach';
  if (defined $waits{$thread}) {
    my ($what) = $waits{$thread} =~ /^(Mutex|Rwlock|Spin|Sem|Cond|ThreadJoin|Barrier)/;
    $bad .= "$waits{$thread} then $event; " unless $event =~ /^$what(?:Acquire|WaitEnd|End|Resume)$/;
    delete $waits{$thread};
  }
  $waits{$thread} = $event if $event =~ /Request$|WaitBegin$|JoinBegin$|BarrierReach$/;
}
is $bad, undef, 'each wait is followed by its end';
is_deeply \%waits, {}, 'and none is left';
is scalar(grep(/ ThreadCreate /, @$lines)), 8, 'creations';
is scalar(grep(/ ThreadJoinEnd .*result=0/, @$lines)), 6, 'joins';
is scalar(grep(/ ThreadDetach /, @$lines)), 1, 'a detachment';
is scalar(grep(/ ThreadExit /, @$lines)), 1, 'an exit';

my $words = `$B/bin/eventcnv --describe $log`;
like $words, qr/ thread \d+ initialised barrier $is{barrier} for 2 threads$/m, 'in words';
is scalar(() = $words =~ / barrier $is{barrier}$/mg), 3, 'as the threads require it, and at last destroy it';
like $words, qr/ thread (\d+) requires barrier $is{barrier}\n(?:.*\n)*?.* blocked thread: \1, at barrier $is{barrier}, which waits for 1 more\n(?:.*\n)*?.* thread \1 goes on behind barrier $is{barrier} /, 'who is blocked, and goes on';

($lines) = record('all', '-k', 'all');
ok scalar(grep(/ MutexAcquire /, @$lines)), '`all\' is everything';
($lines) = record('only', '-k', 'Sync');
ok !grep(/ (?:ThreadStart|PoolAlloc|PoolFree)/, @$lines), 'or only that';

# The whole thing in a program whose memory we manage: our own locks are no mutexes of the program's.
($lines, $out) = record('manage', '-m', 'manage', '-k', '+Sync');
unlike $out, qr/wrong/, 'managed and traced, every call returns what it should';
my %known = map { $_ => 1 } values %{ { $out =~ /^(\w+) (0x[0-9a-f]+)$/mg } };
is scalar(grep { !$known{$_} } map { / Mutex\w+ thread=\d+ mutex=(\S+)/ ? $1 : () } @$lines), 0, 'and only the program\'s mutexes are told of';

done_testing;
