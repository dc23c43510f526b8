#!/usr/bin/perl
# extract.t -- logs that are cut, merged, packed and repaired
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Cwd qw(abs_path);
use EndToEnd qw($Dir run slurp spew);
use JSON::PP qw(decode_json);
use Test::More;

my $B = abs_path($ENV{B} || 'build/cool');
my $cool = ($ENV{VARIETY} // 'cool') eq 'cool';
my $seed = $ENV{SEED} // time;
srand $seed;
diag "SEED=$seed" if $ENV{SEED};
note "SEED=$seed";

sub cnv { run("$B/bin/eventcnv", @_) }

# Writes a log again; TRUE if that went without a word.
sub paw {
    my ($to, @how) = @_;
    my ($status, $out, $err) = cnv('-f', 'paw', '--force', '-o', $to, @how);

    $err =~ s/^.* discarded while recording, for want of room\n//m;
    return is "$status$out$err", '0', join ' ', map({ s/^\Q$Dir\E\///r } @how), 'is written again';
}

sub text { return split /^/m, (cnv(@_))[1] }

# Lines of text with their times in nanoseconds.
sub timed { return map { /^(\d+)\.(\d{9}) (.*)/ ? [$1 * 1_000_000_000 + $2, $3] : () } @_ }

sub summary { return decode_json((run("$B/bin/eventview", '--json', @_))[1]) }

sub heap {
    my $doc = summary(@_);

    return join ' ', map { "$_=$doc->{$_}" } qw(live_objects live_bytes);
}

# is_deeply for many lines, which is a hundred times faster.  Texts are made lines only where they differ.
sub same {
    my ($got, $expected, $name) = @_;
    my $i = 0;

    return pass $name if join("\n", @$got) eq join "\n", @$expected;
    ($got, $expected) = map { [split /\n+/, join "\n", @$_] } $got, $expected;
    ++$i while $i < @$got && $i < @$expected && $got->[$i] eq $expected->[$i];
    fail $name;
    diag sprintf '%d lines, %d expected; line %d: %s, not %s', scalar @$got, scalar @$expected, $i,
        map { $_ // 'nothing' } $got->[$i], $expected->[$i];
}

# ---- Cuts by time ----

# Text with its times in nanoseconds, all later by `shift`: in one go, because there are millions of lines.
sub nanos {
    my ($text, $shift) = @_;

    $text =~ s/^(\d+)\.(\d{9})/$1 * 1_000_000_000 + $2 + $shift/gem;
    return $text;
}

sub firstTime { return $_[0] =~ /^(\d+)\.(\d{9})/ ? $1 * 1_000_000_000 + $2 : 0 }

# The end of the cut log is the window of the whole one, to the nanosecond.  Returns what stands before it.
sub sameWindow {
    my ($log, $cut, $from, @to) = @_;
    my $whole = (cnv('--from', $from, @to, $log))[1];
    my $all = (cnv($cut))[1];
    my ($at, $more) = (0, ($all =~ tr/\n//) - ($whole =~ tr/\n//));
    $at = 1 + index $all, "\n", $at while $more-- > 0;
    my $part = substr $all, $at;
    my $shift = firstTime($whole) - firstTime($part);

    same([nanos($part, $shift)], [nanos($whole, 0)], "$from: events and times are the same");
    return substr $all, 0, $at;
}

# What may live at the end of a log that is cut, as `heap` has it.  A process that has ended before the cut is not in what is
# left; whether one that tells nothing more after it has ended, is not known from the events.
sub endings {
    my ($log, $from) = @_;
    my (%ended, %goesOn);
    for (text($log)) {
        my ($time, $pid) = /^(\S+) (\d+)/ or next;
        $ended{$1} = $time if / ProcessExit pid=(\d+) /;
        $goesOn{$pid} = 1 if $time >= $from;
    }
    my @gone = grep { !$goesOn{$_} } keys %ended;
    return heap($log) if !@gone;
    my @sums = ([0, 0]);
    for my $process (@{summary($log)->{processes}}) {
        my ($pid, $its) = ($process->{pid}, summary('--process', $process->{pid}, $log));
        my @more = map { [$_->[0] + $its->{live_objects}, $_->[1] + $its->{live_bytes}] } @sums;
        @sums = $goesOn{$pid} || !defined $ended{$pid} ? @more : $ended{$pid} < $from ? @sums : (@more, @sums);
    }
    return map { "live_objects=$_->[0] live_bytes=$_->[1]" } @sums;
}

sub cutAt {
    my ($log, $from) = @_;
    my $cut = "$Dir/cut.paw";

    paw($cut, '--from', $from, $log);
    unlike join('', cnv('--check', $cut)), qr/offset|1.*(?<!for want of room)\n/, 'and sound';
    sameWindow($log, $cut, $from);
    my $heap = heap($cut);
    my @may = endings($log, $from);
    is $heap, (grep({ $heap eq $_ } @may), @may)[0], "$from: the same lives at the end (SEED=$seed)";
    cmp_ok summary($cut)->{unmatched}, '<=', summary($log)->{unmatched}, 'and nothing is freed that was not there';
}

system("$B/test/heaptest", 'foreign', "$Dir/foreign.paw") == 0 or die;
# Programs that are recorded, and logs that are made.
my @logs;
for my $kind (qw(churn pools family lost single)) {
    push @logs, "$Dir/$kind.paw";
    system("$B/test/heaptest", $kind, $logs[-1]) == 0 or die "no log of kind $kind";
}
if ($cool && !$ENV{SAN}) {
    for (['perl', 'perl', '-e', 'my %h; $h{$_ % 400} .= "x" x ($_ % 70) for 1 .. 4000'],
         ['crossed', "$B/prog/churn", 3, 2000]) {
        my ($name, @program) = @$_;
        push @logs, "$Dir/$name.paw";
        system("$B/bin/eventrec -o $logs[-1] -- @{[map { quotemeta } @program]} >/dev/null 2>&1") == 0 or die;
    }
}
if ($cool && !$ENV{SAN}) {
    # A program that is recorded from its middle on; cut also while it tells what it already has.
    my $log = "$Dir/late.paw";
    local $ENV{PAWPRINT_MODE} = 'manage';
    system("LD_PRELOAD=$B/lib/libpawprint.so $B/prog/late 2 2 $log >/dev/null") == 0 or die;
    my ($begin, $end) = map { $_->[0] } timed(text('-E', 'StateBegin,StateEnd', $log));
    cutAt($log, sprintf '%.9f', ($begin + rand($end - $begin)) / 1e9) for 1 .. ($ENV{SOAK} ? 60 : 3);
}
for my $log (@logs) {
    my @whole = text($log);
    cutAt($log, $whole[rand @whole] =~ s/ .*//sr) for 1 .. ($ENV{SOAK} ? 20 : 3);
}
{
    my ($status, undef, $err) = cnv('-f', 'paw', '-o', "$Dir/strange.paw", '--from', '0.000001', "$Dir/foreign.paw");
    is "$status$err", "0eventcnv: 1 process has no events to tell what lived at the cut; that is left out\n",
        'a registry without the events for it';
    sameWindow("$Dir/foreign.paw", "$Dir/strange.paw", '0.000001');
}
{
    my $log = $logs[-1];
    my @objects = timed(text('-k', 'Object', $log));
    my ($from, $to) = map { sprintf '%.9f', $objects[@objects * $_][0] / 1e9 } 0.4, 0.6;
    my $cut = "$Dir/part.paw";
    paw($cut, '--from', $from, '--to', $to, $log);
    sameWindow($log, $cut, $from, '--to', $to);
    my ($status, $out, $err) = run("$B/bin/replay", '-a', 'libc', '--verify', $cut);
    is $status, 0, 'a part can be replayed' or diag $err;
    paw($cut, '--no-state', '--from', $from, '--to', $to, $log);
    is sameWindow($log, $cut, $from, '--to', $to), '', '--no-state: nothing else is in it';
}

# ---- Cuts by other things ----
{
    my $cut = "$Dir/kind.paw";
    my $defines = qr/ (?:Intern|Label|ModuleLoad|Thread(?:Start|Name)|TaskName|Process(?:Seen|Start|Exec)|Arena(?:Create|Destroy)|Pool(?:Create|Param|Destroy)) /;
    my @whole = timed(text("$Dir/churn.paw"));
    paw($cut, '-E', 'PoolFree', "$Dir/churn.paw");
    same([map { "@$_" } timed(text($cut))], [map { $_->[1] =~ /$defines| PoolFree / ? "@$_" : () } @whole],
        'with what they refer to');
    paw($cut, '-E', 'PoolFree', '-n', 7, "$Dir/churn.paw");
    is scalar(grep(/ PoolFree /, text($cut))), 7, 'which does not count';
    paw($cut, '-E', 'PoolFree', '--no-state', "$Dir/churn.paw");
    is scalar(text($cut)), scalar(grep { $_->[1] =~ / PoolFree / } @whole), '--no-state: alone';
    # A part of what a filter keeps lives as long as all of what it keeps.
    my ($half, $from) = ("$Dir/half.paw", sprintf '%.9f', $whole[-1][0] / 2e9);
    paw($cut, '-e', 'size > 100 || name == "PoolFree"', "$Dir/churn.paw");
    paw($half, '-e', 'size > 100 || name == "PoolFree"', '--from', $from, "$Dir/churn.paw");
    is heap($half), heap($cut), 'filtered and cut';
    paw($half, '-e', "time >= $from", "$Dir/churn.paw");
    is heap($half), heap("$Dir/churn.paw"), 'cut by a filter';
    paw($cut, '-E', 'PoolFree', '-n', 0, "$Dir/churn.paw");
    is join('', cnv('--check', $cut)), '0', 'a log without events is a log';
}

# ---- Packing ----

# The bytes of events in a log's blocks, which are not packed.
sub events {
    my $bytes = slurp($_[0]);
    my $events = '';

    while ((my $at = index $bytes, "\x8fPAWblk\n") >= 0) {
        my ($size, $rest) = unpack 'VV', substr $bytes, $at + 16, 8;
        $events .= substr $bytes, $at + 128, $rest;
        substr($bytes, 0, $at + $size) = '';
    }
    return $events;
}

for my $log (@logs) {
    my ($raw, $packed, $again) = map { "$Dir/$_.paw" } qw(raw packed again);
    paw($raw, '--raw', $log);
    paw($packed, '--packed', $raw);
    paw($again, '--raw', $packed);
    same([text($again)], [text($log)], 'the same text after unpacking, packing and unpacking');
    cmp_ok -s $packed, '<', -s $raw, 'packed is smaller';
    is events($again), events($raw), 'and the same bytes of events';
}

# ---- Merging ----
{
    my ($both, $twice) = map { "$Dir/$_.paw" } qw(both twice);
    my @two = @logs[-2, -1];
    paw($both, @two);
    same([text($both)], [text(@two)], 'two logs as one');
    paw($twice, $both, $both);
    same([text($twice)], [text($both)], 'a log and itself: each event once');
    system("cat $two[0] $two[1] $two[0] > $Dir/row.paw") == 0 or die;
    paw($both, "$Dir/row.paw");
    same([text($both)], [text(@two)], 'and behind itself');
}

# ---- Repairing ----

# A log with up to five places cut out, overwritten or put in.
sub damage {
    my ($bytes) = @_;

    for (0 .. rand 5) {
        my ($how, $at, $n) = map { int rand $_ } 4, length $bytes, 3000;
        my $with = $how == 0 ? chr int rand 256 : $how == 1 ? '' : $how == 2 ? "\0" x $n : substr $bytes, rand(length $bytes), $n;
        substr($bytes, $at, $how == 3 ? 0 : $how == 0 ? 1 : $n) = $with;
    }
    return $bytes;
}

my $whole = slurp($logs[-1]);
my ($damaged, $repaired) = map { "$Dir/$_.paw" } qw(damaged repaired);
for my $run (1 .. ($ENV{SOAK} ? 100 : 8)) {
    spew($damaged, damage($whole));
    my ($told, $text, $gaps) = cnv($damaged);
    next if $text eq ''; # nothing is left to repair
    my ($status, undef, $err) = cnv('-f', 'paw', '--force', '-o', $repaired, $damaged);
    is $status, $told, "damage $run: the status is $told (SEED=$seed)";
    is $err, $gaps, 'each gap is told';
    my ($lacks, undef, $said) = cnv('--check', $repaired);
    is $lacks, $gaps eq '' ? 0 : 1, 'what is written says that something is missing, if so';
    is $said =~ s/^eventcnv: \Q$repaired\E: it was written from a log that lacked \d+ events?, or more\n//r, '',
        'and is sound otherwise';
    ok join('', text($repaired)) eq $text, 'and has all that could be had';
}

# ---- A full disk ----
{
    my $part = "$Dir/partial.paw";
    my ($status, undef, $err) = run('sh', '-c', "trap '' XFSZ; ulimit -f 500; exec $B/bin/eventcnv -f paw --raw -o $part $logs[-1]");
    is $status, 1, 'a file that cannot grow is a failure';
    like $err, qr/^eventcnv: \Q$part\E: File too large; .*incomplete$/m, 'which is told, and what there is called incomplete';
    my @some = text($part);
    my @all = text($logs[-1]);
    cmp_ok scalar(@some), '>', 0, 'it can be read as far as it goes';
    is scalar(grep { my $line = $_; $line !~ /^\d/ } @some), 0, 'line by line';
}

done_testing;
