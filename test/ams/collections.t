#!/usr/bin/env perl
# What a collected pool tells, and what readers make of it, against what the program itself counts.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/log.paw";

# The lines of eventcnv: [name, {parameter => value}].
sub events {
    my ($file, @options) = @_;

    open my $cnv, '-|', "$B/bin/eventcnv", @options, $file or die "eventcnv: $!\n";
    my @events = map { /^\S+ \S+ (\w+) ?(.*)$/ ? [$1, {map { /^(\w+)="?([^"]*)/ } split ' ', $2}] : () } <$cnv>;
    ok close $cnv, "eventcnv @options reads it";
    return @events;
}

my $said = do {
    local $ENV{PAWPRINT_LOG} = $log;
    `$B/prog/collects`;
};
my ($collections, $reclaimed, $left, $bytes) = $said =~ /^(\d+) collections, (\d+) reclaimed, (\d+) left, (\d+) bytes$/
    or BAIL_OUT("collects: $said");

my %count;
my @events = events($log);
$count{$_->[0]}++ for @events;
is $count{$_} // 0, $collections, "a $_ event for each collection" for qw(TraceStart TraceFlip TraceEnd);
is $count{TraceStepBegin}, $count{TraceStepEnd}, 'steps begin and end';
is $count{PoolReclaim}, $reclaimed, 'a PoolReclaim event for each object that was taken back';
is $count{RootCreate}, 2, 'two roots are made';
is $count{RootDestroy}, 1, 'and one is destroyed';
is $count{MessagePost}, 1, 'an object was finalized';
is $count{RefFix} // 0, 0, 'nothing is told of references unless that is asked for';
my ($segs, $traces) = (0, 0);
for my $event (@events) {
    my ($name, $of) = @$event;
    $segs += $of->{reclaimed} if $name eq 'SegReclaim';
    $traces += $of->{reclaimed} if $name eq 'TraceEnd';
    is $of->{marked} + $of->{reclaimed}, $of->{condemned}, "collection $of->{trace}: what is not marked is reclaimed"
        if $name eq 'TraceEnd';
}
is scalar(grep { $_->[0] eq 'TraceEnd' && $_->[1]{mark} != sprintf '%.9f', $_->[1]{mark} } @events), 0,
    'times have no more digits than nanoseconds';
is $segs, $traces, 'segments and collections agree on what was taken back';

my $live = `$B/bin/eventview live --at end --json $log`;
is $?, 0, 'eventview live understands it';
my ($total) = $live =~ /"objects":\s*(\d+)/;
my ($size) = $live =~ /"bytes":\s*(\d+)/;
is $total, $left, 'as many objects live in the end as the program says';
is $size, $bytes, 'of as many bytes';
like `$B/bin/eventview $log`, qr/^frees +$reclaimed$/m, 'the summary counts what was reclaimed as freed';

my $json = `$B/bin/eventview collections --json $log`;
is $?, 0, 'eventview collections';
my ($head) = $json =~ /^(.*?)"lengths"/s;
my %whole = $head =~ /"(\w+)": ([\d.]+)/g;
is $whole{count}, $collections, 'as many collections as the program says';
is $whole{incomplete}, 0, 'all of them complete';
is $whole{reclaimed}, $traces, 'they took back what their events say';
is $whole{pauses}, 2 * $collections, 'each stopped once, and was done in one step';
is $whole{stops}, $collections, 'which are told apart: stops of all threads';
is $whole{steps}, $collections, 'and steps of one';
is sprintf('%.9f', $whole{stopped} + $whole{stepped}), $whole{paused}, 'together they are all pauses';
cmp_ok $whole{paused}, '<', $whole{span}, 'they take a part of the time';
cmp_ok $whole{longest}, '<=', $whole{paused}, 'the longest pause is one of them';
my $lengths = 0;
$lengths += $_ for $json =~ /"below": [\d.]+, "pauses": (\d+)/g;
is $lengths, $whole{pauses}, 'the histogram has all pauses';
my $stops = 0;
$stops += $_ for $json =~ /"below": [\d.]+, "pauses": \d+, "stops": (\d+)/g;
is $stops, $collections, 'and tells stops from steps';
my @rows = $json =~ /"reclaimed": (\d+), "pauses": 2/g;
is scalar(@rows), $collections, 'each collection has a row';
my $sum = 0;
$sum += $_ for @rows;
is $sum, $whole{reclaimed}, 'and their bytes add up';
like `$B/bin/eventview collections $log`, qr{^collections +$collections\n.*^stops +$collections: .*^steps +$collections: .*^process +pool }ms, 'people get a table';
like `$B/bin/eventview collections -E PoolAlloc $log`, qr/^collections +0$/m, 'nothing is there where nothing was chosen';

my @lane = grep { /"tid":4194304,/ } split /\n/, `$B/bin/eventcnv -f chrome $log`;
is scalar(grep { /"ph":"M".*"name":"collections"/ } @lane), 1, 'a picture has a lane for collections';
is scalar(grep { /"ph":"B".*"name":"Trace"/ } @lane), $collections, 'with a slice for each';
is scalar(grep { /"ph":"B".*"name":"TraceStep"/ } @lane), $collections, 'and for each step';
is scalar(grep { /"ph":"B"/ } @lane), scalar(grep { /"ph":"E"/ } @lane), 'all of which end';
is scalar(grep { /^5 \S+ \S+ T .* collections"/m } `$B/bin/eventcnv -f paje $log`), 1, 'in paje, too';

my $replayed = `$B/bin/replay -n 1 --verify $log 2>&1`;
is $?, 0, 'it is replayed';
like $replayed, qr/^replay: not exact: .*AMS are MVFF here: objects are freed where they were reclaimed/m, 'in a manual pool, which is said';
like $replayed, qr/^pawprint +${\($count{PoolAlloc} + $count{PoolReclaim})} /m, 'with as many operations as there were allocations and reclaimed objects';

# A log that is opened while the program runs begins with what there is.
my $late = "$dir/late.paw";
($left, $bytes) = `$B/prog/collects 3000 $late` =~ / (\d+) left, (\d+) bytes$/;
cmp_ok scalar(() = `$B/bin/eventcnv -E PoolLive $late` =~ /\n/g), '>', 100, 'a log that begins late has the objects that there are';
$live = `$B/bin/eventview live --at end --json $late`;
is +($live =~ /"objects":\s*(\d+)/)[0], $left, 'and of what is left in the end as many as the program says';
is +($live =~ /"bytes":\s*(\d+)/)[0], $bytes, 'of as many bytes';

# What a flip has to do: threads are stopped by signals, and their stacks, and the roots, are scanned.
my $threads = "$dir/threads.paw";
do { local $ENV{PAWPRINT_LOG} = $threads; `$B/prog/collects 500 - 3` };
my @flips = map { $_->[1] } events($threads, '-E', 'TraceFlip');
my @scans = map { $_->[1] } events($threads, '-E', 'TraceScan');
is scalar(grep { $_->{threads} == 3 && $_->{signals} >= 3 } @flips), 10, 'each flip tells of three threads, and of a signal to each at least';
is scalar(grep { $_->{kind} == 1 } @scans), 30, 'in each their three stacks are scanned';
is scalar(grep { $_->{kind} == 0 && $_->{refs} == 500 } @scans), 10, 'and the table of roots';
for my $flip (@flips) {
    my $refs = 0;
    $refs += $_->{refs} for grep { $_->{trace} == $flip->{trace} } @scans;
    is $flip->{refs}, $refs, "collection $flip->{trace}: a flip has the references of all that was scanned";
}

# A thread that does not stop in time: the others stand still until the collection is abandoned.
my $late_thread = "$dir/late_thread.paw";
do { local $ENV{PAWPRINT_LOG} = $late_thread; `$B/prog/collects 500 - 1 late` };
is $?, 0, 'a collection is abandoned';
my ($seconds) = map { $_->[1]{seconds} } events($late_thread, '-E', 'TraceAbandon');
cmp_ok $seconds, '>', 0.9, 'after a second';
($head) = `$B/bin/eventview collections --json $late_thread` =~ /^(.*?)"lengths"/s;
%whole = $head =~ /"(\w+)": ([\d.]+)/g;
is "$whole{count} $whole{abandoned} $whole{stops}", '10 1 11', 'this is among the stops, besides those of the collections';
is $whole{longest_stop}, sprintf('%.9f', $seconds), 'of which it is the longest one';
is $whole{abandoned_stopped}, $whole{longest_stop}, 'it is said apart, too';
cmp_ok $whole{covered}, '>', $seconds, 'and a part of the time in which threads paused';
like `$B/bin/eventview collections $late_thread`, qr/^abandoned +1: .* stood still for \Q$whole{longest_stop}\E s in all, .*^stops +11: .* the longest \Q$whole{longest_stop}\E s, /ms, 'people are told';

# Of a part of the time.  The first collection is seen for a part of its stop.
my ($flip) = `$B/bin/eventcnv -E TraceAbandon $late_thread` =~ /^(\S+)/;
my ($from, $to) = map { sprintf '%.9f', $_ } $flip - 0.25, $flip + 0.25e-3;
($head) = `$B/bin/eventview collections --from $from --to $to --json $late_thread` =~ /^(.*?)"lengths"/s;
%whole = $head =~ /"(\w+)": ([\d.]+)/g;
is $whole{span}, sprintf('%.9f', $to - $from), 'what is shown of a part of the time is of so much time';
cmp_ok abs($whole{covered} - 0.25), '<', 0.25e-3, 'of which threads paused only in that part';
like `$B/bin/eventview collections --from $from --to $to $late_thread`, qr/^stop or step +in (?:99\.\d+|100\.00)% of \Q$whole{span}\E s$/m, 'people are told';
unlike `$B/bin/eventview collections --to 0 $late_thread`, qr/nothing is known/, 'no collection in a part is something that is known';

# Where nothing tells of collections.
my $without = "$dir/without.paw";
do { local @ENV{qw(PAWPRINT_LOG PAWPRINT_KINDS)} = ($without, '-Trace'); `$B/prog/collects 500` };
like `$B/bin/eventview collections $without`, qr/^no Trace events: nothing is known of collections$/m, 'it is said if there are no events of collections';
like `$B/bin/eventview collections --json $without`, qr/"collections_known": false/, 'in JSON, too';
do { local $ENV{PAWPRINT_LOG} = "$dir/idle.paw"; `$B/prog/shares 0` };
like `$B/bin/eventview collections --json $dir/idle.paw`, qr/"count": 0,.*"collections_known": true/s, 'and not of a program that has not collected';

# Threads that share a pool: one does a whole collection, and others that want memory meanwhile wait for its end.
my $shared = "$dir/shared.paw";
($collections) = do { local $ENV{PAWPRINT_LOG} = $shared; `$B/prog/shares` } =~ /^(\d+) collections$/ or BAIL_OUT('shares fails');
cmp_ok $collections, '>', 5, 'threads that share a pool make it collect';
($head) = `$B/bin/eventview collections --json $shared` =~ /^(.*?)"lengths"/s;
%whole = $head =~ /"(\w+)": ([\d.]+)/g;
is "$whole{count} $whole{incomplete}", "$collections 0", 'as often as it says';
is $whole{stops}, $collections, 'each collection of theirs is a stop';
is $whole{steps}, $collections, 'and one step';
is $whole{covered}, $whole{paused}, 'and no two of them are at a time: nobody waits in a step for that of another thread';

my $refs = "$dir/refs.paw";
system("$B/bin/eventrec -k +Ref -o $refs -- $B/prog/collects 500 >/dev/null 2>&1") == 0 or BAIL_OUT('eventrec fails');
%count = ();
my $marks = 0;
my $flips = 0;
for my $event (events($refs)) {
    $count{$event->[0]}++;
    $marks += $event->[1]{marks} if $event->[0] eq 'RefFix';
}
cmp_ok $count{RefFix}, '>', 1000, 'with -k +Ref each reference is told';
cmp_ok $marks, '>', 100, 'and which of them mark an object';
cmp_ok $marks, '<=', $count{RefFix}, 'no more than there are';
done_testing;
