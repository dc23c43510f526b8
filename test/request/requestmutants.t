#!/usr/bin/perl
# requestmutants.t -- the request test finds out each mistake at a boundary of the service
#
# SPDX-License-Identifier: BSD-2-Clause
#
# The service's sources are copied, one place is changed, and test/request/requesttest.c gives random sets of requests to what
# comes of it.  A mutant is found out by a difference that the oracle names, and by nothing else: not by a crash, nor by
# the time that it takes.  Where an AVER noticed it first, other sets are tried.
#
# That a start counts as ahead which is here is no mistake, so no mutant does it: schedulerBegin then leaps to where the
# pass stands; and in schedulerEnd a request that starts here and waits was given its slot for a new pass: nothing is
# read, and it joins in the next step.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp spew);
use Test::More;

use constant {SETS => 20000, SIGABRT => 6, TRIES => 20};

my $B = $ENV{B} || 'build/cool';
my $cc = $ENV{CC} || 'gcc';
my $given = $ENV{SEED} // time;
my $seed = $given * 1000003 | 1;
my @sources = map { "code/request/$_.c" } qw(requestservice scheduler dispatch);
my $now = '&service->current';
my $variety = {hot => '-DVARIETY_HOT', rash => '-DVARIETY_RASH'}->{$ENV{VARIETY} // 'cool'};
my @flags = ('-std=gnu11', '-O0', '-D_GNU_SOURCE', '-Icode', "-I$B/gen", '-Itest/lib', defined $variety ? $variety : (),
             $ENV{SAN} ? ("-fsanitize=$ENV{SAN}", '-fno-sanitize-recover=all') : ());
my @libraries = ('-Wl,--start-group', (map { "$B/lib/room-$_.a" } qw(request recover filter log format base)), '-Wl,--end-group', qw(-ldl -lpthread));

# What is wrong, the file, the place as it is, and as it is in the mutant.
my @mutants = (
    ['a start that is a unit late', 'requestservice',
     'PawPositionOfTime(&filed->start, service->log, request->from);' =>
     'PawPositionOfTime(&filed->start, service->log, request->from); filed->start.fine += filed->start.fine + 1 != 0;'],
    ['a start that is a unit early', 'requestservice',
     'PawPositionOfTime(&filed->start, service->log, request->from);' =>
     'PawPositionOfTime(&filed->start, service->log, request->from); filed->start.fine -= filed->start.fine > 0;'],
    ['an end that is a unit late', 'requestservice',
     'PawPositionOfTime(&filed->end, service->log, request->to);' =>
     'PawPositionOfTime(&filed->end, service->log, request->to); filed->end.fine += filed->end.fine + 1 != 0;'],
    ['a start compared by its time only', 'requestservice',
     'LogPositionCompare(&filed->start, request->start) < 0' => 'filed->start.fine < request->start->fine'],
    ['bounds of a run compared by their times only', 'scheduler',
     'LogPositionCompare(bound, endReturn) < 0' => 'bound->fine < endReturn->fine'],
    ['nobody joins a pass', 'scheduler',
     "filed->bit != 0 && LogPositionCompare(&filed->start, $now) == 0" => 'FALSE'],
    ['who starts before a pass joins it', 'scheduler',
     "filed->bit != 0 && LogPositionCompare(&filed->start, $now) == 0" =>
     "filed->bit != 0 && LogPositionCompare(&filed->start, $now) <= 0"],
    ['no start is ahead for the end of a run', 'scheduler',
     "LogPositionCompare(&filed->start, $now) <= 0" => 'TRUE'],
    ['no start is ahead for a leap', 'scheduler', "LogPositionCompare(&next->start, $now) > 0" => 'FALSE'],
    ['the end is inclusive', 'requestservice',
     "LogPositionCompare(&filed->end, $now) <= 0" => "LogPositionCompare(&filed->end, $now) < 0"],
    ['the end comes an event early', 'requestservice',
     "LogPositionCompare(&filed->end, $now) <= 0" => 'filed->end.fine <= service->current.fine + 1'],
    ['the count never ends it', 'requestservice', 'filed->left == 0 ||' => 'FALSE ||'],
    ['the count ends it one early', 'requestservice', 'filed->left == 0 ||' => 'filed->left <= 1 ||'],
    ['the count of who takes all events does not end a run', 'dispatch',
     'return --filed->left == 0' => 'return --filed->left == UINT64_MAX'],
    ['the count of who refuses events does not end a run', 'dispatch', 'ends |= --filed->left == 0' => '--filed->left'],
    ['a block is skipped that begins just before the end', 'dispatch',
     'LogPositionCompare(&filed->end, &opened) > 0' => 'filed->end.fine > opened.fine + 16'],
    ['a block is skipped that ends just at the start', 'dispatch',
     'filed->start.fine <= last' => 'filed->start.fine < last'],
    ['kinds are not looked at before hooks of streams', 'requestservice',
     'ServiceKind(request->kinds, stream->kind)' => 'TRUE'],
    ['kinds are not looked at for types', 'dispatch', 'LogRequestChooses(request, &process->public, type)' =>
     '(request->choose == NULL || request->choose(request->data, &process->public, type))'],
    ['low priority goes first', 'scheduler',
     'return a->high' => 'return b->high'],
    ['who starts last goes first', 'scheduler',
     'LogPositionCompare(&a->start, &b->start) < 0' => 'LogPositionCompare(&a->start, &b->start) > 0'],
    ['an equal priority makes others give way', 'scheduler', 'waiting && !served' => 'waiting >= served'],
    ['high priority waits', 'scheduler', 'waiting && !served' => 'FALSE'],
    ['equal hooks in reverse', 'dispatch',
     'entry->priority < service->entry[i - 1].priority' => 'entry->priority <= service->entry[i - 1].priority'],
    ['hooks not by priority', 'dispatch', 'entry->priority < service->entry[i - 1].priority' => 'FALSE'],
    ['a pass is held to reckon with all that are served', 'scheduler',
     '(pass->slots & service->filed[i]->bit) == 0' => 'FALSE'],
    ['a pass goes on reckoning with whoever came later', 'requestservice',
     'service->pass.slots &= ~filed->bit;
  for' => 'for'],
    ['a saved pass of another place is gone on with', 'scheduler',
     "LogPositionCompare(&service->current, &saved->reading->position) == 0" => 'TRUE'],
);

# compiled($to, @sources) -- link sources and objects with the reader's libraries
sub compiled {
    my ($to, @sources) = @_;

    my ($status, $out, $err) = run($cc, @flags, '-o', $to, @sources, @libraries);
    return $status == 0 || diag("$out$err") && 0;
}

# served($program) -- its status and what it says of the first set that goes wrong
sub served {
    my ($program) = @_;
    my ($status, $said);

    local $ENV{ASAN_OPTIONS} = 'detect_leaks=0'; # who stops at a difference leaves things, and what it has said would be lost
    for (1 .. TRIES) {
        ($status, $said) = run($program, $seed, SETS, "$Dir/log.paw");
        last if $status != 128 + SIGABRT;
        $seed += SETS;
    }
    chomp $said;
    return ($status, $said);
}

print "# SEED=$given\n";
for my $source ('test/request/requesttest.c', @sources) {
    my ($name) = $source =~ m{(\w+)\.c$};
    my ($status, $out, $err) = run($cc, @flags, '-c', '-o', "$Dir/$name.o", $source);
    is "$status$out$err", '0', "$source compiles" or BAIL_OUT('nothing can be tested');
}
my @objects = map { m{(\w+)\.c$} ? "$Dir/$1.o" : () } @sources;
ok compiled("$Dir/right", "$Dir/requesttest.o", @objects), 'the service without a mistake, built as the mutants are,';
my ($status, $said) = served("$Dir/right");
is "$status$said", '0', 'stands ' . SETS . ' sets';
for my $mutant (@mutants) {
    my ($what, $file, $place, $wrong) = @$mutant;
    my $text = slurp("code/request/$file.c");
    my $places = () = $text =~ /\Q$place\E/g;
    is $places, 1, "code/request/$file.c: one `$place'" or next;
    $text =~ s/\Q$place\E/$wrong/;
    spew("$Dir/mutant.c", $text);
    my @others = grep { $_ ne "$Dir/$file.o" } @objects;
    ok compiled("$Dir/mutant", "$Dir/requesttest.o", "$Dir/mutant.c", @others), 'compiles' or next;
    ($status, $said) = served("$Dir/mutant");
    ok $status == 1 && $said ne '', "found out: $what";
    print "# status $status: $said\n";
}
done_testing;
