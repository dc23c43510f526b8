#!/usr/bin/perl
# asked.t -- what is not in a log because somebody asked for that: eventview says so, and eventcnv --check finds nothing
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use File::Temp qw(tempdir);
use IPC::Open2;
use Test::More;
use Time::HiRes ();

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $dir = tempdir(CLEANUP => 1);
my $newest = qr/^newest only    from (\d+\.\d+) s on; (\d+) events? before that w(?:as|ere) overwritten, as was asked for$/m;
my $ended = qr/^ended          at (\d+\.\d+) s, as was asked for; what the program did then is not in the log$/m;

# What the summary of a log says as numbers, when it and live have been looked at: are the lines there that are wanted?
sub asked {
  my ($log, $what, @wanted) = @_;
  my $json = `$B/bin/eventview --json $log`;
  my %of = $json =~ /"(\w+)": ?([\d.]+)/g;
  $of{objects} = 0;
  $of{objects} += $1 while $json =~ /"kind": "Object", "name": "\w+", "count": (\d+)/g;
  for my $view ('summary', 'live') {
    my $out = `$B/bin/eventview $view $log`;
    is_deeply [map { $out =~ $_ ? 1 : 0 } $newest, $ended], \@wanted, "$what: $view says so";
    $json = `$B/bin/eventview $view --json $log`;
    is_deeply [map { ($json =~ /"$_": ([\d.]+)/)[0] > 0 ? 1 : 0 } qw(overwritten recording_ended_at)], \@wanted, "$what: $view says so in JSON";
  }
  is system("$B/bin/eventcnv --check $log"), 0, "$what: nothing is missing that was wanted";
  return \%of;
}

# All is there.
my @allocates = ($^X, '-e', 'for (1 .. 60000) { my @a = map { "x" x 100 } 1 .. 4 }');
my $log = "$dir/all.paw";
is system("$B/bin/eventrec", '-p', 'block', '-o', $log, @allocates), 0, 'a program is recorded';
asked($log, 'all', 0, 0);

# Of one thread how many are missing is known exactly; and it does the same each time.
@ENV{qw(PERL_HASH_SEED PERL_PERTURB_KEYS)} = (0, 0);
$log = "$dir/newest.paw";
my @counted = map {
  my ($policy, $log) = @$_;
  is system("$B/bin/eventrec", '-n', 8, '-p', $policy, '-k', 'Object,System', '-o', $log, @allocates), 0, "the program, $policy";
  $log;
} ['block', "$dir/whole.paw"], ['overwrite', $log];
my $of = asked($log, 'overwrite', 1, 0);
my $whole = asked($counted[0], 'block', 0, 0);
is $of->{overwritten} + $of->{objects}, $whole->{objects}, 'what was overwritten and what is there are all';
cmp_ok $of->{newest_from}, '>', 0, 'the newest begin later';
cmp_ok $of->{newest_from}, '<', $of->{duration}, 'and before the end';
for my $of_copy (1, 2) {
  my $copy = "$dir/newest.$of_copy.paw";
  is system("$B/bin/eventcnv -f paw -o $copy $log"), 0, 'it is written again';
  is asked($copy, 'a copy of that', 1, 0)->{$_}, $of->{$_}, "with the same $_" for qw(overwritten objects);
  $log = $copy;
}

# The process counts what is overwritten: also of streams of which nothing is left, of threads that run at one time, and of blocks
# of which a flush has put the beginning into the log.
for my $mode ('short', 'together') {
  my %of;
  for my $policy ('block', 'overwrite') {
    my $log = "$dir/$mode.$policy.paw";
    is system("$B/bin/eventrec", '-n', 8, '-p', $policy, '-k', 'Object', '-o', $log, "$B/prog/crowd", 50, 3000, $mode), 0, "$mode threads, $policy";
    $of{$policy} = asked($log, "$mode threads, $policy", $policy eq 'overwrite' ? 1 : 0, 0);
  }
  cmp_ok $of{overwrite}{overwritten}, '>', 100000, "$mode threads: most is overwritten";
  my $all = $of{overwrite}{overwritten} + $of{overwrite}{objects};
  cmp_ok abs($all - $of{block}{objects}), '<=', 4, "$mode threads: what was overwritten and what is there are all";
}
SKIP: {
  skip 'no eventctl', 1 unless -x "$B/bin/eventctl";
  my %of;
  for my $policy ('block', 'overwrite') {
    my $log = "$dir/flush.$policy.paw";
    my $eventrec = open2(my $from, my $to, "$B/bin/eventrec", '-n', 8, '-p', $policy, '-k', 'Object', '-o', $log, $^X, '-e',
      '$| = 1; print "$$\n"; while (<STDIN>) { for (1 .. $_) { my $x = "x" x 1000; undef $x } print "done\n" }');
    chomp(my $pid = <$from>);
    for (1 .. 5) {
      print $to "3333\n";
      $to->flush;
      <$from>;
      system "$B/bin/eventctl $pid flush";
    }
    print $to "20000\n";
    close $to;
    waitpid $eventrec, 0;
    $of{$policy} = asked($log, "flushed, $policy", $policy eq 'overwrite' ? 1 : 0, 0);
  }
  cmp_ok abs($of{overwrite}{overwritten} + $of{overwrite}{objects} - $of{block}{objects}), '<=', 4, 'with flushes, too';
}

# Where all are killed the memory has the count: each reader knows it, before and after it is added to the log for good.
{
  my %all;
  for my $policy ('block', 'overwrite') {
    my ($log, $copy) = ("$dir/killed.$policy.paw", "$dir/killed.$policy.copy.paw");
    my $eventrec = open2(my $from, my $to, "$B/bin/eventrec", '-n', 8, '-p', $policy, '-k', 'Object', '-o', $log, $^X, '-e',
      '$| = 1; print "$$\n"; while (<STDIN>) { for (1 .. $_) { my $x = "x" x 1000; undef $x } print "done\n" }');
    chomp(my $pid = <$from>);
    for my $turn (1 .. 5) {
      print $to "10000\n";
      $to->flush;
      <$from>;
    }
    kill STOP => $eventrec;
    kill KILL => $pid, $eventrec;
    waitpid $eventrec, 0;
    Time::HiRes::sleep(0.1);
    my @asked = $policy eq 'overwrite' ? (1, 0) : (0, 0);
    my $before = asked($log, "killed, $policy", @asked);
    is system("$B/bin/eventcnv -f paw -o $copy $log 2> $dir/err"), 0, "killed, $policy: it is written again";
    is system("$B/bin/eventrec --clean $log > $dir/err"), 0, "killed, $policy: what is in memory is added to the log";
    my $after = asked($log, "killed, $policy, cleaned", @asked);
    my $copied = asked($copy, "killed, $policy, a copy", @asked);
    for my $number (qw(overwritten objects newest_from)) {
      is $after->{$number}, $before->{$number}, "killed, $policy: $number are the same in the log";
      is $copied->{$number}, $before->{$number}, "killed, $policy: $number are the same in the copy" if $number ne 'newest_from';
    }
    $all{$policy} = $before->{overwritten} + $before->{objects};
  }
  cmp_ok $all{block}, '>=', 100000, 'killed: all are there where none is overwritten';
  cmp_ok abs($all{overwrite} - $all{block}), '<=', 4, 'killed: what was overwritten and what is there are all';
}

# Where the log does not have that count, what its blocks tell is told: so many, or more.
{
  open my $in, '<:raw', "$dir/newest.paw";
  my $bytes = do { local $/; <$in> };
  my $cut = rindex $bytes, "\x8fPAW", rindex($bytes, "\nforgotten: "); # the last: it may be in the first, too
  open my $out, '>:raw', "$dir/cut.paw";
  print $out substr $bytes, 0, $cut;
  close $out;
  like scalar(`$B/bin/eventview $_ $dir/cut.paw 2>/dev/null`), qr/^newest only    .* \d+ events? before that, or more, were overwritten, as was asked for$/m,
    "without its end, $_" for qw(summary live);
}

# A log that is to stay small lacks its oldest events: how many is told, and is exact for one that lacks nothing else.
{
  my $log = "$dir/small.paw";
  is system("$B/bin/eventrec", '-p', 'block', '-k', 'Object,System', '--max-size', '1M', '-o', $log, @allocates), 0, 'a log that is to stay small';
  my ($said) = `$B/bin/eventview $log 2>&1` =~ /^oldest dropped (\d+) events?, so that the log stays as small as was asked for$/m;
  cmp_ok $said // 0, '>', 0, 'that events were dropped is told';
  for my $view ('summary', 'live') {
    is((`$B/bin/eventview $view --json $log 2>/dev/null` =~ /"dropped": (\d+)/)[0], $said, "$view: in JSON, too");
  }
  my $json = `$B/bin/eventview --json $log 2>/dev/null`;
  my $objects = 0;
  $objects += $1 while $json =~ /"kind": "Object", "name": "\w+", "count": (\d+)/g;
  cmp_ok abs($objects + $said - $whole->{objects}), '<=', 200, 'these and those that are there are all, but for the few of other kinds';
}

# A program that says so when it runs, ignores a signal, and ends when its standard input does.
sub goes {
  my (@options) = @_;
  my ($from, $to);
  my $eventrec = open2($from, $to, "$B/bin/eventrec", @options, $^X, '-e',
    '$SIG{TERM} = "IGNORE"; $| = 1; print "$$\n"; <STDIN>; push @a, "x" x 1000 for 1 .. 500');
  chomp(my $pid = <$from>);
  return ($eventrec, $pid, $to);
}

# Wait until nothing of a process is recorded any more, and let it end.
sub ends {
  my ($eventrec, $pid, $to) = @_;
  for (1 .. 300) {
    last if `$B/bin/eventctl $pid` !~ /\byes\s+yes$/m;
    Time::HiRes::sleep(0.1);
  }
  close $to;
  waitpid $eventrec, 0;
}

SKIP: {
  skip 'no eventctl', 1 unless -x "$B/bin/eventctl";
  $log = "$dir/time.paw";
  my @program = goes('-t', 0.3, '-o', $log);
  ends(@program);
  my $of = asked($log, '--time', 0, 1);
  cmp_ok $of->{recording_ended_at}, '<', $of->{duration}, 'the log goes on: that the program ends is told' if $of->{duration} > 0;
  my $copy = "$dir/copy.paw";
  is system("$B/bin/eventcnv -f paw -o $copy $log"), 0, 'a log is written again';
  asked($copy, 'a copy', 0, 1);
  is system("$B/bin/eventcnv -f paw --to @{[sprintf '%.6f', $of->{recording_ended_at} / 2]} -o $copy --force $log"), 0, 'a part of it';
  asked($copy, 'a copy of what was before', 0, 0);

  $log = "$dir/signal.paw";
  @program = goes('-o', $log);
  kill TERM => $program[0];
  ends(@program);
  asked($log, 'a signal to eventrec that the program ignores', 0, 1);
}

# Nobody asked for the newest only of a program of which kinds were switched off, and the flight recorder was flushed later.
SKIP: {
  skip 'no eventctl', 1 unless -x "$B/bin/eventctl";
  $log = "$dir/flushed.paw";
  my $eventrec = open2(my $from, my $to, "$B/bin/eventrec", '-p', 'block', '-o', $log, $^X, '-e',
    '$| = 1; print "$$\n"; while (<STDIN>) { for (1 .. $_) { my $x = "x" x 1000; undef $x } print "done\n" }');
  my $say = sub { print $to "$_[0]\n"; $to->flush; <$from> };
  chomp(my $pid = <$from>);
  $say->(1000);
  is system("$B/bin/eventctl $pid stop"), 0, 'kinds are switched off';
  Time::HiRes::sleep(0.5);
  $say->(20000);
  is system("$B/bin/eventctl $pid flush"), 0, 'and the flight recorder is flushed';
  close $to;
  waitpid $eventrec, 0;
  my $of = asked($log, 'kinds off, and a flush', 0, 0);
  my $copy = "$dir/flushed.copy.paw";
  is system("$B/bin/eventcnv -f paw -o $copy $log"), 0, 'it is written again';
  asked($copy, 'a copy of that', 0, 0);
  cmp_ok $of->{while_off} + $of->{while_off_missing}, '>=', 40000, 'what came meanwhile is counted';
  for (['summary', $log], ['live', $log], ['summary', $copy]) {
    my ($view, $its) = @$_;
    my $out = `$B/bin/eventview $view $its`;
    my ($from, $events) = $out =~ /^while off      the flight recorder's newest (\d+) events?, from ([\d.]+) s on/m ? ($2, $1) : (0, 0);
    my ($off) = $out =~ /^not recorded   from ([\d.]+) s on, in 1 process: kinds were switched off then or later$/m;
    is $events, $of->{while_off}, "$view: so many are there";
    cmp_ok $from - ($off // 1e9), '>', 0.4, "$view: and since when kinds were off is told by what was sent";
  }
  like scalar(`$B/bin/eventview $log`), qr/ s on; \d+ before that, or more, are not in the log$/m, 'and how many others there were';
}

# A recording that stops for want of room, because eventrec stands still meanwhile, of a program that forks later.
{
  $log = "$dir/stopped.paw";
  system("$B/bin/eventrec", '-n', 8, '-b', '4K', '-p', 'stop', '-k', 'Object,System', '-o', $log, $^X, '-e',
    'kill STOP => getppid; my @a = map { "x" x (100 + $_) } 1 .. 20000; kill CONT => getppid; for (1, 2) { if (!fork) { my @b = map { "y" x $_ } 1 .. 50; exit } wait }');
  my ($from) = `$B/bin/eventview $log` =~ /^not recorded +from ([\d.]+) s on, in 1 process: kinds were switched off then or later$/m;
  my ($last) = `$B/bin/eventcnv -k Object $log` =~ /^([\d.]+) .*\n\z/m;
  is $from, $last, 'since when a process that forks later is not recorded';
}

# A recording that stops, of threads, some of which had begun to tell something, and are done with that later.
for my $run (1 .. 6) {
  $log = "$dir/threads.paw";
  my ($said, %stopped);
  # If eventrec keeps up, which a busy machine may let it do, nothing stops: then it is done again.
  for my $try (1 .. 10) {
    $said = `$B/bin/eventrec --force -n 16 -p stop -o $log $B/prog/churn 8 100000 2>&1`;
    last if %stopped = $said =~ /^eventrec: (\d+) .*: recording stopped after ([\d.]+) s/mg;
  }
  cmp_ok scalar(keys %stopped), '>', 0, "threads, run $run: they stop" or diag $said;
  open my $in, '<', $log or die "$log: $!";
  like do { local $/; scalar <$in> }, qr/^stopped: \d+$/m, "run $run: the process says when in the log";
  close $in;
  for my $pid (sort keys %stopped) {
    my $text = `$B/bin/eventview --process $pid $log`;
    my ($from) = $text =~ /^not recorded +from ([\d.]+) s on, in 1 process: /m;
    my ($first) = `$B/bin/eventcnv --process $pid -E ThreadStart $log 2>$dir/err` =~ /^([\d.]+) /;
    my ($last) = split ' ', (`$B/bin/eventcnv --process $pid -k Object $log 2>$dir/err`)[-1];
    cmp_ok $from // 1e9, '<=', $first + $stopped{$pid} + 0.001, "run $run: what is not recorded begins then" or diag $said, $text;
    unlike $text, qr/^ended /m, "run $run: and that is not as was asked for";
    my $between = (($from // 0) + $last) / 2;
    like scalar(`$B/bin/eventview live --process $pid --at $between $log`), qr/^not recorded +from [\d.]+ s on/m,
      "run $run: it is said of the time in between" if $last > ($from // 0) + 1e-5;
  }
}

# Whatever ends a recording first is the reason that is told.
for my $which (-x "$B/bin/eventctl" ? ('-t', 'signal') : ()) {
  open my $err, '>&', \*STDERR;
  open STDERR, '>', "$dir/err";
  my @program = goes($which eq '-t' ? ('-t', 0.1) : (), '-o', "$dir/reason$which.paw");
  open STDERR, '>&', $err;
  my ($eventrec, $pid) = @program;
  for my $turn (1, 2) {
    kill TERM => $eventrec if $which eq 'signal' || $turn == 2;
    for (1 .. 300) {
      last if `$B/bin/eventctl $pid` !~ /\byes\s+yes$/m;
      Time::HiRes::sleep(0.05);
    }
  }
  ends(@program);
  open my $in, '<', "$dir/err";
  my ($reason) = map { /the last [\d.]+ s of the program/ ? /-t 0.1/ ? '-t' : /signal/ ? 'signal' : $_ : () } <$in>;
  is $reason, $which, "where $which ended it, and a signal comes after that, it says so";
}

# Nothing is ever switched on.
$log = "$dir/never.paw";
is system("$B/bin/eventrec", '--paused', '-o', $log, @allocates), 0, 'a program is not recorded';
is asked($log, '--paused, never started', 0, 0)->{never_recorded}, 1, 'its process is counted';
like scalar(`$B/bin/eventview $_ $log`), qr/^not recorded   1 process: kinds were off from the beginning on$/m, "and told by $_" for qw(summary live);

# Single types of events are chosen: only the collector knows, and each view says so.
{
  my $log = "$dir/types.paw";
  my $program = 'my %h; $h{$_ % 1000} .= "x$_" for 1 .. 2000; if (fork == 0) { exit 3 } wait';
  my $only = sub { my ($names, $some) = @_; qr/^only events    $names, as was asked for$some; what other events would have told is not known$/m };
  is system("$B/bin/eventrec", '-E', 'PoolFree', '-o', $log, $^X, '-e', $program), 0, 'recorded with -E';
  my @numbers = sort { $a <=> $b } map { /^  (\d+) /mg } `$B/bin/eventview $log`;
  is scalar @numbers, 2, 'two processes';
  system "$B/bin/eventcnv -f paw -k Object --process $numbers[0] -o $dir/types.copy.paw $log";
  for my $log ($log, "$dir/types.copy.paw") {
    like scalar `$B/bin/eventview $_ $log`, $only->('PoolFree', ''), "$_ says which" for qw(summary live);
    like scalar `$B/bin/eventview $_ --json $log`, qr/"only_events": "PoolFree"/, "$_ says so in JSON" for qw(summary live);
  }
  for my $process (@numbers) {
    my ($unmatched) = `$B/bin/eventview --process $process $log` =~ /^unmatched +(\d+)/m;
    my $said = `$B/bin/replay -a none --process $process $log 2>&1`;
    is $? >> 8, 1, 'replay has nothing to do';
    like $said, qr/^replay: \S+types\.paw: nothing to replay: no allocation of process $process is in the log$/m,
      'and says so';
    like $said, qr/^replay: not exact: only events: PoolFree, .*not known; $unmatched frees and resizes of objects whose/m,
      'with the reason, and its own frees, not those of its parent';
    like scalar `$B/bin/replay --json -a none --process $process $log 2>/dev/null`, qr/"error": "nothing to replay"/,
      'in JSON, too';
  }
  like scalar `$B/bin/eventview $log $dir/all.paw`, $only->('PoolFree', ' of some processes'), 'beside another log it says that, too';
  unlike scalar `$B/bin/eventview $dir/all.paw`, qr/^only events/m, 'nothing is said where all were recorded';
  my @types = `$B/bin/eventcnv --header $log` =~ /^event: \S+ (\w+)/mg;
  my %types = map { $_ => 1 } @types;
  is system("$B/bin/eventrec", '-E', join(',', keys %types), '--force', '-o', $log, 'true'), 0, 'all types are named';
  my ($names, $others) = `$B/bin/eventview $log` =~ /^only events    (.*) and (\d+) others, /m;
  is +(() = $names =~ /\w+/g) + $others, scalar(keys %types), 'some are named then, and the others counted';
}

# Replay says what is not there, as the views do.
for ([newest => 'newest only: from \d+\.\d+ s on; \d+ events? before that were overwritten'],
     [time => 'ended: at \d+\.\d+ s, as was asked for']) {
  my ($what, $said) = @$_;
  my $log = "$dir/$what.paw";
  next if !-e $log;
  like scalar `$B/bin/replay -a none $log 2>&1`, qr/^replay: not exact: .*$said/m, "replay says of $what";
}

done_testing;
