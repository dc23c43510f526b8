# witness.t -- what the collector itself tells of a recording: the tree of processes, samples, and the line that moves
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $perl = $ENV{PERL} // 'perl';
my $dir = tempdir(CLEANUP => 1);
delete $ENV{LD_PRELOAD};

plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // 'cool') eq 'rash';
plan skip_all => 'the library is not sanitized, and must not be loaded into programs that are'
    if ($ENV{SAN} // '') =~ /thread/;

# Records a program; returns its status and the log's lines, without their times.
sub record {
    my ($name, $options, @command) = @_;
    my $status = system("$B/bin/eventrec", '-o', "$dir/$name.paw", @$options, '--', @command);

    return ($status >> 8, lines("$dir/$name.paw"));
}

sub lines {
    my ($log) = @_;
    open my $in, '-|', "$B/bin/eventcnv", $log or die;
    my @lines = map { s/^\S+ //r =~ s/\n//r } <$in>;
    return @lines;
}

open my $stderr, '>&', \*STDERR or die;
open STDERR, '>', "$dir/stderr" or die;

{
    my ($status, @lines) = record('family', [], 'sh', '-c', "(exec sleep 0.3) & $perl -e 'exit 5'; wait; exit 3");
    my @own = grep { /^\S+ (?:Process(?!Peak)|Task|Machine)/ } @lines; # its peak a process tells itself,
    @own = grep { !m{^(\d+)/(\d+) TaskSample pid=\1 task=\2 .* state="X"$} } @own; # and a thread its end
    my ($collector) = $own[0] =~ m{^(\d+)/};
    my ($pid) = "@own" =~ /ProcessStart pid=(\d+) parent=$collector name="\w+"/;
    is $status, 3, 'a family is recorded';
    is((grep { !m{^$collector/} } @own), 0, 'one process tells what is seen from outside');
    ok $pid, 'it is the parent of the program';
    ok((grep { /ProcessSeen pid=$$ parent=/ } @own), 'others were there already');
    ok !(grep { /ProcessSeen pid=$pid / } @own), 'the program was not';
    ok((grep { /ProcessStart pid=\d+ parent=$pid / } @own), 'it has children');
    ok((grep { m{ProcessExec pid=\d+ program=".*/sleep"} } @own), 'one of which becomes another program');
    ok((grep { /ProcessExit pid=$pid status=3 how="exit"/ } @own), 'its end is told, with its status');
    ok((grep { /TaskName pid=$pid task=$pid name="sh"/ } @own), 'threads have names');
    ok((grep { /TaskSample pid=$pid task=$pid .* state="X"/ } @own), 'and a last sample');
    my $json = `$B/bin/eventview --json $dir/family.paw`;
    my ($recorded) = $json =~ /"processes": \[(.*?)\],\n "/s;
    unlike $recorded, qr/"pid": $collector,/, 'who watched is no recorded process in the summary';
    like $json, qr/"collectors": \[\s*\{"pid": $collector,/, 'but named beside them';
    like `$B/bin/eventcnv --header $dir/family.paw`, qr/^role: "collector"$/m, 'the log says which it is';
    is system("$B/bin/eventcnv --check $dir/family.paw"), 0, 'and is sound';
    SKIP: {
        skip 'no events of objects in this variety', 1 if ($ENV{VARIETY} // 'cool') ne 'cool';
        is system("$B/bin/replay -a libc $dir/family.paw > $dir/replay.txt"), 0, 'and can be replayed';
    }
}
{
    my ($status, @lines) = record('killed', [], $perl, '-e', 'kill 9, $$');
    is $status, 137, 'a program dies of a signal';
    ok((grep { /ProcessExit pid=\d+ status=9 how="signal"/ } @lines), 'and that is told');
    my ($major, $minor) = (POSIX::uname())[2] =~ /^(\d+)\.(\d+)/;
  SKIP: {
        skip 'this system does not say it', 2 if $major < 6 || ($major == 6 && $minor < 15);
        ($status, @lines) = record('reaped', [], 'perl', '-e', 'if (!fork) { select undef, undef, undef, 0.3; kill 11, $$; sleep 1 } wait');
        ok((grep { /ProcessExit pid=\d+ status=11 how="signal"/ } @lines), 'also of one that is not our child, and whose parent waits for it');
        ok(!(grep { /ProcessExit .*how="unknown"/ } @lines), 'nobody ends in a way that is not known');
    }
}
{
    my ($status, @lines) = record('busy', ['--sample', '10'], $perl,
        '-e', 'my $x = "x" x 30e6; my $end = times + 0.3; 1 while times < $end; select undef, undef, undef, 0.6');
    my @samples = grep { /TaskSample/ } @lines;
    my ($running, $blocked) = $samples[-1] =~ /running=(\d+) .* blocked=(\d+)/;
    my ($resident) = sort { $b <=> $a } map { /ProcessSample.* resident=(\d+)/ } @lines;
    cmp_ok scalar @samples, '>', 3, 'a program that works is sampled again and again';
  SKIP: {
        skip 'this system does not measure how long threads run', 2 if $running > 1e12;
        cmp_ok $running, '>=', 250_000, 'it has run about as long as it says';
        cmp_ok $blocked, '>', 0, 'and slept'; # how long, depends on when the machine let eventrec look
    }
    cmp_ok $resident, '>', 25e6, 'it has its memory';
    my ($first, $last) = map { /idle=(\d+)/ } (grep { /MachineSample/ } @lines)[0, -1];
    cmp_ok $last, '>=', $first, 'the machine idles on';
}
{
    my ($status, @lines) = record('never', ['--sample', '0'], 'true');
    is((grep { /Sample/ } @lines), 0, 'without samples there are none,');
    ok((grep { /ProcessExit/ } @lines), 'but the tree');
    ($status, @lines) = record('nothing', ['-k', '-System'], 'true');
    is((grep { /Process|Task|Machine/ } @lines), 0, 'without the kind System there is nothing of it,');
    like `$B/bin/eventcnv --header $dir/nothing.paw`, qr/^role: "collector"$/m, 'but its header block has the types';
    ($status, @lines) = record('some', ['-E', 'ProcessExit'], 'true');
    is((grep { !/ProcessExit/ } @lines), 0, 'single types can be chosen');
    is scalar @lines, 1, 'here too';
}
{
    my ($status, @lines) = record('timed', ['-t', '0.2'], 'sleep', '0.5');
    ok !(grep { /ProcessExit/ } @lines), 'when the recording is over, nothing is told any more';
}

{
    my $socket = "$dir/socket";
    my $listener = fork // die;
    if ($listener == 0) {
        open STDOUT, '>', '/dev/null';
        exec "$B/bin/eventrec", '--listen', "unix:$socket", '-o', "$dir/heard";
        exit 1;
    }
    my $heard = sub { grep { /ProcessExit pid=\d+ status=7 how="exit"/ } map { lines($_) } glob "$dir/heard*.paw" };
    for (1 .. 200) { last if -S $socket; select undef, undef, undef, 0.05 }
    system("$B/bin/eventrec", '--to', "unix:$socket", 'sh', '-c', 'exit 7');
    is $? >> 8, 7, 'what goes over a socket';
    for (1 .. 200) { last if $heard->(); select undef, undef, undef, 0.05 }
    ok $heard->(), 'has it, too';
    kill 'TERM', $listener;
    waitpid $listener, 0;
}
open STDERR, '>&', $stderr or die;
{
    local $ENV{TERM} = 'xterm';
    my $program = 'for (1 .. 200000) { $h{$_} = "x$_" } print "Name: "; $| = 1; select undef, undef, undef, 1.2';
    my $screen = `$B/prog/terminal 100 $B/bin/eventrec -o $dir/line.paw $perl -e '$program'`;
  SKIP: {
        skip 'no terminal to be had', 4 if $? >> 8 == 125;
        is $?, 0, 'a program runs on a terminal';
        my @shown = $screen =~ m{\eD\e\[A\e7\e\[B\r(eventrec: .*? events/s, .*? events, .*?, \d+ discarded, resident .*?)\e\[K\e8}g;
        cmp_ok scalar @shown, '>=', 2, 'a line moves';
        like $shown[-1], qr/resident \d[\d.]* MiB$/, 'which says how much memory the program has';
        like $screen, qr/\eD\e\[A\e7\e\[B\r\e\[K\e8eventrec: \d+ events/, 'and is gone before the summary comes';
    }
    $screen = `TERM=dumb $B/prog/terminal 100 $B/bin/eventrec -o $dir/dumb.paw sleep 0.8`;
    unlike $screen, qr/\e/, 'where the cursor cannot be moved there is none';
}
done_testing;
