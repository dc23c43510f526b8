#!/usr/bin/perl
# statedump.t -- a program that is recorded from its middle on: the log begins with what already is
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use File::Temp qw(tempdir);
use Time::HiRes ();
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $dir = tempdir(CLEANUP => 1);

# Run the program so that it opens its log in the middle; returns what it printed.
sub late {
  my ($log, $mode, @arguments) = @_;
  local $ENV{PAWPRINT_MODE} = $mode;
  my $out = `LD_PRELOAD=\$PWD/$B/lib/libpawprint.so $B/prog/late @arguments $log`;

  is $?, 0, "$mode: the program ends as it should";
  return $out;
}

sub summary {
  my ($log) = @_;
  my $json = `$B/bin/eventview --json $log`;
  my %of;
  $of{$1} = $2 while $json =~ /"(\w+)": ?([\d.]+)/g;
  return \%of;
}

my @runs = $ENV{SOAK} ? 1 .. 100 : 1 .. 5;
for my $run (@runs) {
  my $log = "$dir/manage.$run.paw";
  my $out = late($log, 'manage', 1 + $run % 4, 2);
  my $sum = summary($log);

  is $sum->{$_}, 0, "run $run: $_: none" for qw(unmatched overlaps unfinished gaps discarded);
  my %live = map { / PoolLive pool=\S+ addr=(\S+) size=(\d+)/ ? ($1 => $2) : () } `$B/bin/eventcnv -E PoolLive $log`;
  my @missing = grep { my ($addr, $size) = split; ($live{$addr} // 0) < $size } split /\n/, $out;
  is_deeply \@missing, [], "run $run: what nobody touched is told of";
  cmp_ok $sum->{objects_at_first}, '>', 0, "run $run: objects were there at first ($sum->{objects_at_first})";
  cmp_ok $sum->{live_objects}, '<', (1 + $run % 4) + 40, "run $run: and those that were freed are gone ($sum->{live_objects} left)";
}

my $log = "$dir/manage.1.paw";
my @lines = `$B/bin/eventcnv $log`;
my ($begin) = grep { $lines[$_] =~ / StateBegin / } 0 .. $#lines;
my ($end) = grep { $lines[$_] =~ / StateEnd / } 0 .. $#lines;
ok defined $begin && defined $end && $begin < $end, 'the state has a beginning and an end';
is scalar(grep { !/ (?:StateBegin|Pool|Seg|Arena)/ } @lines[0 .. $begin]), 0, 'what comes before it are only other threads\' events';
# Who asks while it is told has it told once more.
cmp_ok scalar(grep(/ PoolCreate .*class="SGF"/, @lines)), '>=', 1, 'the pool is named';
cmp_ok scalar(grep(/ ArenaCreate /, @lines)), '>=', 1, 'and its arena';
cmp_ok scalar(grep(/ ThreadStart /, @lines)), '>=', 3, 'threads are';
ok scalar(grep(/ ModuleLoad .*\/prog\/late"/, @lines)), 'and modules';
my $words = `$B/bin/eventcnv --describe -k System $log`;
like $words, qr/the process tells what already is/, 'in words';

my $replay = `$B/bin/replay -j merged -a libc $log 2>&1`;
is $?, 0, 'it can be replayed' or diag $replay;
unlike $replay, qr/not exact/, 'exactly';
$replay = `$B/bin/replay -a pawprint $log 2>&1`;
is $?, 0, 'also in threads, on our own pools' or diag $replay;
unlike $replay, qr/not exact/, 'exactly';

# The same by command, and twice: the program opens one more way out later.
SKIP: {
  skip 'no eventctl', 3 unless -x "$B/bin/eventctl";
  my $switched = "$dir/switched.paw";
  my $pid = fork // die "fork: $!";
  if ($pid == 0) {
    open STDOUT, '>', '/dev/null';
    @ENV{qw(PAWPRINT_PAUSED PAWPRINT_LOG PAWPRINT_MODE LD_PRELOAD)} = (1, $switched, 'manage', "$ENV{PWD}/$B/lib/libpawprint.so");
    exec "$B/prog/late", 3, 30, 'none:' or die "late: $!";
  }
  select undef, undef, undef, 0.2;
  my $switch = `$B/bin/eventctl $pid start 2>&1`;
  my $status = $?;
  waitpid $pid, 0;
  is $status, 0, 'recording is switched on from outside' or diag $switch;
  my $begins = () = `$B/bin/eventcnv -E StateBegin $switched`;
  cmp_ok $begins, '>=', 1, 'the program tells what is';
  my $sum = summary($switched);
  is $sum->{unmatched} + $sum->{overlaps} + $sum->{unfinished}, 0, 'everything fits together';
}

# A pool of first fit, whose objects nobody has seen come: what lives is what the program itself counts.
for my $seed (1 .. ($ENV{SOAK} ? 30 : 3)) {
  require IPC::Open2;
  my $log = "$dir/mvff.$seed.paw";
  my ($from, $to);
  my $pid = do {
    local @ENV{qw(PAWPRINT_PAUSED PAWPRINT_LOG)} = (1, $log);
    IPC::Open2::open2($from, $to, "$B/prog/mvff", $seed);
  };
  is scalar(<$from>), "ready\n", "MVFF, seed $seed: the program is in its middle";
  is system("$B/bin/eventctl $pid start"), 0, 'recording is switched on';
  print {$to} "go\n";
  close $to;
  my %counted = map { split } <$from>;
  waitpid $pid, 0;
  is $?, 0, 'it ends';
  my $told = () = `$B/bin/eventcnv -E PoolLive $log`;
  cmp_ok $told, '>', 1000, 'its objects are told';
  my $json = `$B/bin/eventview live --json --top 1000000 $log`;
  my ($largest) = $json =~ /"largest": \[(.*?)\]/s;
  my %shown = $largest =~ /"addr": "(0x[0-9a-f]+)", "size": (\d+)/g;
  is_deeply [sort keys %shown], [sort keys %counted], 'eventview live shows those that the program counts';
  is scalar(grep { my $size = $shown{$_} // 0; $size != $counted{$_} && $size != $counted{$_} + -$counted{$_} % 32 } keys %counted), 0,
    'with their sizes, or the room that they take';
  my ($bytes) = $json =~ /"objects": \d+, "bytes": (\d+)/;
  my $sum = 0;
  $sum += $_ for values %shown;
  is $bytes, $sum, 'and adds them up';
  my $of = summary($log);
  is $of->{unmatched} + $of->{overlaps} + $of->{unfinished}, 0, 'everything fits together';
}

my $observed = "$dir/observe.paw";
late($observed, 'observe', 2, 1);
@lines = `$B/bin/eventcnv -k Pool,System $observed`;
cmp_ok scalar(grep(/ PoolCreate .*class="malloc"/, @lines)), '>=', 1, 'a foreign malloc is named';
cmp_ok summary($observed)->{unmatched} + summary($observed)->{early}, '>', 0, 'of its objects nobody knows';

# Kinds that are off, for a while, at first or at last: nothing tells of that time, and that is said.

my $since = qr/^not recorded   for up to \d+\.\d{3} s, until \d+\.\d+ s: kinds were switched on then/m;
my $at_last = qr/^not recorded   from \d+\.\d+ s on, in 1 process: kinds were switched off then or later/m;

# What the views say of a log: how many gaps there were, in how many processes kinds were off at last, and always.
sub is_off {
  my ($log, $wanted, $what) = @_;
  my $of = summary($log);
  is_deeply [@$of{qw(not_recorded_times not_recorded_at_end never_recorded)}], $wanted, "$what: what was off";
  for my $view ('summary', 'live') {
    my $out = `$B/bin/eventview $view $log`;
    is_deeply [scalar($out =~ $since), scalar($out =~ $at_last)], [map { $_ ? 1 : '' } @$wanted[0, 1]], "$what: $view says so";
  }
  is scalar(`$B/bin/replay -a none $log 2>&1` =~ /not exact:.* recorded: /), $wanted->[0] || $wanted->[1] ? 1 : '',
    "$what: replay says so";
  return $of;
}

# A program that allocates 500 objects for each line, and then answers: its number, and a function that has it do so.
our @allocates = ($^X, '-e', '$| = 1; print "$$\n"; while (<STDIN>) { push @a, "x" x 1000 for 1 .. 500; print }');

sub allocating {
  my (@command) = @_;
  require IPC::Open2;
  my ($from, $to);
  my $child = IPC::Open2::open2($from, $to, @command, @allocates);
  $to->autoflush(1);
  chomp(my $pid = <$from>);
  my $allocates = sub { print {$to} "go\n"; is scalar(<$from>), "go\n", 'a program allocates' };
  return ($pid, $allocates, sub { close $to; waitpid $child, 0 });
}

sub ctl {
  my (@words) = @_;
  is system("$B/bin/eventctl", @words), 0, "eventctl $words[1]";
}

SKIP: {
  skip "no eventctl", 1 unless -x "$B/bin/eventctl";
  my %alone = (LD_PRELOAD => "$ENV{PWD}/$B/lib/libpawprint.so");
  my ($pid, $allocates, $ends);

  my $log = "$dir/gap.paw";
  {
    local @ENV{qw(PAWPRINT_LOG LD_PRELOAD)} = ($log, $alone{LD_PRELOAD});
    ($pid, $allocates, $ends) = allocating();
  }
  $allocates->();
  ctl($pid, 'stop');
  my $stopped = Time::HiRes::time();
  $allocates->();
  my $starts = Time::HiRes::time();
  ctl($pid, 'start');
  $allocates->();
  $ends->();
  my $of = is_off($log, [1, 0, 0], 'off and on');
  my ($long, $until) = `$B/bin/eventview $log` =~ /up to (\S+) s, until (\S+) s/;
  my $between = $until - $long / 2;
  like scalar(`$B/bin/eventview live --at $between $log`), $at_last, 'in between kinds are off';
  unlike scalar(`$B/bin/eventview live --at @{[($until - $long) / 2]} $log`), $at_last, 'before that they are not';
  unlike scalar(`$B/bin/eventview summary -n 8 $log`), $at_last, 'nor is anything said of eight events';
  cmp_ok $of->{not_recorded_seconds}, '>=', $starts - $stopped, 'a gap is not shorter than it was';
  cmp_ok $of->{not_recorded_seconds}, '<=', $of->{duration}, 'nor longer than all';
  like scalar(`$B/bin/eventview live --at peak --process perl $log`), $since, 'and it is said of the one process';
  is_off("$dir/manage.1.paw", [0, 0, 0], 'a log that was opened in the middle');

  # Nothing is recorded at first.
  for my $way ("$B/bin/eventrec -o", "env PAWPRINT_PAUSED=1 LD_PRELOAD=$alone{LD_PRELOAD} PAWPRINT_LOG=") {
    my $with = $way =~ /eventrec/ ? 'with a collector' : 'without one';
    $log = "$dir/paused." . ($way =~ /eventrec/ ? 1 : 2) . '.paw';
    ($pid, $allocates, $ends) = allocating($way =~ /eventrec/ ? (split(' ', $way), $log, '--paused', '--') : split ' ', "$way$log");
    $allocates->();
    ctl($pid, 'start');
    $allocates->();
    $ends->();
    is_off($log, [1, 0, 0], "paused at first, $with");
    my $copy = "$dir/copy.paw";
    system "$B/bin/eventcnv -f paw -o $copy --force $log";
    is_off($copy, [1, 0, 0], 'a copy of that log');
    system "$B/bin/eventcnv -f paw --from 1000 -o $copy --force $log";
    is summary($copy)->{never_recorded}, 0, 'but one of a part says nothing of what was before';
  }

  # Nothing is recorded from some time on.
  for my $way ("$B/bin/eventrec -o", "env LD_PRELOAD=$alone{LD_PRELOAD} PAWPRINT_LOG=") {
    my $with = $way =~ /eventrec/ ? 'with a collector' : 'without one';
    $log = "$dir/stopped." . ($way =~ /eventrec/ ? 1 : 2) . '.paw';
    ($pid, $allocates, $ends) = allocating($way =~ /eventrec/ ? (split(' ', $way), $log, '--') : split ' ', "$way$log");
    $allocates->();
    ctl($pid, 'stop');
    ctl($pid, 'flush');
    $allocates->();
    like scalar(`$B/bin/eventview summary $log 2>/dev/null`), $at_last, "switched off, $with: it is known while the program runs";
    $ends->();
    is_off($log, [0, 1, 0], "off at last, $with");
    my ($from) = `$B/bin/eventview summary $log` =~ /from (\S+) s on, in 1 process/;
    my $middle = $from / 2;
    $from += 1e-6;
    unlike scalar(`$B/bin/eventview summary -n 8 $log`), $at_last, 'nothing is said of eight events';
    like scalar(`$B/bin/eventview live --at $from $log`), $at_last, 'it is said of that time';
    unlike scalar(`$B/bin/eventview live --at $middle $log`), $at_last, 'not of a time before that';
    unlike scalar(`$B/bin/eventview summary --to $middle $log`), $at_last, 'nor of events before it';
    my $copy = "$dir/copy.paw";
    system "$B/bin/eventcnv -f paw -o $copy --force $log";
    is_off($copy, [0, 1, 0], 'a copy of that log');
    system "$B/bin/eventcnv -f paw --to $middle -o $copy --force $log";
    is_off($copy, [0, 0, 0], 'the beginning of that log');
  }

  # Killed meanwhile, where nobody collects: the memory that it leaves says so.
  $log = "$dir/killed.paw";
  {
    local @ENV{qw(PAWPRINT_LOG LD_PRELOAD)} = ($log, $alone{LD_PRELOAD});
    ($pid, $allocates, $ends) = allocating();
  }
  $allocates->();
  ctl($pid, 'stop');
  kill KILL => $pid;
  $ends->();
  like scalar(`$B/bin/eventview summary $log 2>/dev/null`), $at_last, 'off at last, and killed: it is known';
  is system("$B/bin/eventrec --clean $log >/dev/null 2>&1"), 0, 'what it left is put into the log';
  is_off($log, [0, 1, 0], 'off at last, killed, and put into the log');

  # Of a family nobody is switched on but one.
  $log = "$dir/family.paw";
  ($pid, $allocates, $ends) = allocating("$B/bin/eventrec", '-o', $log, '--paused', '--', 'sh', '-c', '"$@"; true', 'sh');
  ctl($pid, 'start');
  $allocates->();
  $ends->();
  is summary($log)->{never_recorded}, 1, 'a process that was never switched on is counted';
  like scalar(`$B/bin/eventview summary $log`), qr/^not recorded   1 process: kinds were off from the beginning on/m, 'and told';
}

# Where other threads are busy, whose events stand before what tells that kinds are on again.
for my $threads (1, 3, 8) {
  my $log = "$dir/busy.$threads.paw";
  is scalar(`$B/bin/eventrec -o $log $B/prog/switch on $threads 2>/dev/null`), "0\n", "$threads busy threads: switched by the program";
  cmp_ok is_off($log, [1, 0, 0], "$threads busy threads, by the program itself")->{not_recorded_seconds}, '>=', 0.02, 'for as long as that was';
  next unless -x "$B/bin/eventctl";
  local @allocates = ("$B/prog/switch", 'wait', $threads);
  for my $off ('stop', '-Object') {
    my $log = "$dir/busy.$threads.$off.paw";
    my ($pid, $allocates, $ends) = allocating("$B/bin/eventrec", '-o', $log, '--');
    ctl($pid, $off);
    my $stopped = Time::HiRes::time();
    $allocates->();
    select undef, undef, undef, 0.1;
    my $starts = Time::HiRes::time();
    ctl($pid, $off eq 'stop' ? 'start' : '+Object');
    $allocates->();
    $ends->();
    my $of = is_off($log, [1, 0, 0], "$threads busy threads, by eventctl $off");
    cmp_ok $of->{not_recorded_seconds}, '>=', $starts - $stopped, 'a gap is not shorter than it was';
    my ($until) = `$B/bin/eventview $log` =~ /up to \S+ s, until (\S+) s/;
    like scalar(`$B/bin/eventview live --at @{[sprintf '%.6f', $until - ($starts - $stopped) / 2]} $log`), $at_last, 'in between kinds are off';
    unlike scalar(`$B/bin/eventview live --at @{[sprintf '%.6f', $until - $of->{not_recorded_seconds} - 0.0001]} $log`), $at_last, 'before that they are not';
  }
  my $log_paused = "$dir/busy.$threads.paused.paw";
  my ($pid, $allocates, $ends) = allocating("$B/bin/eventrec", '--paused', '-o', $log_paused, '--');
  $allocates->();
  ctl($pid, 'start');
  $allocates->();
  ctl($pid, '+Sync');
  $allocates->();
  $ends->();
  is_off($log_paused, [1, 0, 0], "$threads busy threads, paused at first, and other kinds are switched on later");
}

# The program itself does it.
for (['none', 0, 0], ['off', 0, 1], ['bit', 0, 1], ['on', 1, 0]) {
  my ($how, @wanted) = @$_;
  my $log = "$dir/own.$how.paw";
  is scalar(`$B/bin/eventrec -o $log $B/prog/switch $how 2>/dev/null`), "0\n", "a program switches kinds: $how";
  is_off($log, [@wanted, 0], "by the program itself, $how");
}

# A dump that is stopped tells all the same which stacks the events have that were sent until then.
{
  my $stacks = "$dir/stacks.paw";
  my ($lost, $events) = (0, 0);
  for my $wait (0.005, 0.03) {
    my $pid = IPC::Open2::open2(my $says, my $hears, "$B/bin/eventrec", '--force', '--paused', '--sample=0', '-s', 24, '-p', 'block', '-o', $stacks, '--',
                    "$B/prog/frames", 0, 4);
    chomp(my $program = <$says>);
    Time::HiRes::sleep(0.1);
    ctl($program, 'start');
    Time::HiRes::sleep($wait);
    ctl($program, 'stop');
    # A program that ends within a dump has lost the rest: wait until the log does not grow any more.
    for (my ($size, $looks) = (-1, 0); $size != -s $stacks && ++$looks < 50; ) {
      $size = -s $stacks;
      Time::HiRes::sleep(0.4);
    }
    close $hears;
    waitpid $pid, 0;
    my $sites = `$B/bin/eventview sites --json $stacks`;
    ($lost, $events) = ($lost + ($sites =~ /"stacks_lost": (\d+)/)[0], $events + ($sites =~ /"allocated_objects": (\d+)/)[0]);
  }
  cmp_ok $events, '>', 0, 'a dump was stopped after events were sent';
  is $lost, 0, 'the stacks of all of them are known';
}

# The flight recorder keeps the newest events only, and the frames of their stacks were told long before: they are in the log.
{
  my $newest = "$dir/newest.paw";
  my $pid = IPC::Open2::open2(my $says, my $hears, "$B/bin/eventrec", '--paused', '--sample=0', '-s', 24, '-o', $newest, '--', "$B/prog/frames", 0, 4);
  chomp(my $program = <$says>);
  Time::HiRes::sleep(0.3);
  ctl($program, 'flush');
  close $hears;
  waitpid $pid, 0;
  my $sites = `$B/bin/eventview sites --json $newest`;
  cmp_ok +($sites =~ /"allocated_objects": (\d+)/)[0], '>', 0, 'the flight recorder of a paused program is flushed';
  is +($sites =~ /"stacks_lost": (\d+)/)[0], 0, 'and the stacks of its events are known';
}

# A recording that is ended is over: it covers all of its time.
my $timed = "$dir/timed.paw";
system "$B/bin/eventrec -t 0.3 -o $timed $B/prog/steady 2>/dev/null";
is_off($timed, [0, 0, 0], 'a recording that was ended');

done_testing;
