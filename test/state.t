#!/usr/bin/perl
# state.t -- a program that is recorded from its middle on: the log begins with what already is
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use File::Temp qw(tempdir);
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



# Switched off for a while, and on again: nothing tells of that time, and that is said.
SKIP: {
  skip "no eventctl", 13 unless -x "$B/bin/eventctl";
  require IPC::Open2;
  require Time::HiRes;
  my $log = "$dir/gap.paw";
  my ($from, $to);
  my $pid = do {
    local @ENV{qw(PAWPRINT_LOG LD_PRELOAD)} = ($log, "$ENV{PWD}/$B/lib/libpawprint.so");
    IPC::Open2::open2($from, $to, $^X, '-e', '$| = 1; while (<STDIN>) { push @a, "x" x 1000 for 1 .. 500; print }');
  };
  my $allocates = sub { print {$to} "go\n"; return scalar <$from> };
  $to->autoflush(1);
  is $allocates->(), "go\n", 'a program allocates';
  is system("$B/bin/eventctl $pid stop"), 0, 'recording is switched off';
  my $stopped = Time::HiRes::time();
  is $allocates->(), "go\n", 'it goes on';
  my $starts = Time::HiRes::time();
  is system("$B/bin/eventctl $pid start"), 0, 'recording is switched on';
  is $allocates->(), "go\n", 'and on';
  close $to;
  waitpid $pid, 0;
  my $of = summary($log);
  is $of->{not_recorded_times}, 1, 'a gap is known';
  cmp_ok $of->{not_recorded_seconds}, '>=', $starts - $stopped, 'which is not shorter than it was';
  cmp_ok $of->{not_recorded_seconds}, '<=', $of->{duration}, 'nor longer than all';
  my $line = qr/^not recorded   up to \d+\.\d{3} s, until \d+\.\d+ s: kinds were switched on again then/m;
  like scalar(`$B/bin/eventview $_ $log`), $line, "eventview $_ says so" for 'summary', 'live', 'live --at peak --process perl';
  like scalar(`$B/bin/replay -a none $log 2>&1`), qr/not exact: up to \d+\.\d{3} s were not recorded/, 'and replay';
  is summary("$dir/manage.1.paw")->{not_recorded_times}, 0, 'a log that was opened in the middle has none';
}

done_testing;
