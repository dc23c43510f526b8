#!/usr/bin/perl
# consumers.t -- recordings of several real programs in every format, read by whom it is for; and in every view
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
#
# formats.t and drawn.t go into what each format says of odd and damaged logs.  Here are ordinary logs, and the programs that
# people open them with: what these find must be what the lines of text say.  A program that is not installed is skipped.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP qw(decode_json);
use Profile qw(profile);
use EndToEnd qw($Dir run slurp spew);
use Registry;
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'nothing is recorded of objects here' if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
my %has = map { my $name = $_; $name => scalar grep { -x "$_/$name" } split /:/, $ENV{PATH} }
    qw(sqlite3 python3 jq babeltrace2 pj_dump vite);

sub cnv { run("$B/bin/eventcnv", '--force', @_) }
sub words { my ($command) = @_; return split /\n/, scalar `$command` }

# fromText($log) -- what the lines of text come to.  Threads are known by their own numbers: a process that becomes another
# program keeps its number, and has two lives in pictures.
sub fromText {
    my ($log) = @_;
    my (%live, %text);
    my ($status, $out) = cnv($log);

    $text{bytes} = $text{sizes} = 0;
    for (split /\n/, $out) {
        my ($time, $who, $name, @rest) = split ' ';
        my %p = map { /^(\w+)=(.*)/ ? ($1 => $2) : () } @rest;
        my ($pid, $tid) = split m{/}, $who;
        ++$text{events};
        ++$text{name}{$name};
        $text{lane}{$tid} = 1;
        ++$text{large}{$name} if ($p{size} // 0) >= 1 << 20;
        $text{sizes} += $p{size} // 0;
        next if $name !~ /^Pool(?:Alloc|Free|ResizeEnd)/ || $name eq 'PoolAllocFail' || ($p{addr} // '') eq '0x0';
        delete $live{$pid, $p{pool}, $p{old} // $p{addr}};
        $live{$pid, $p{pool}, $p{addr}} = $p{size} if defined $p{size};
    }
    $text{bytes} += $_ for values %live;
    $text{ends} = ($text{name}{ProcessExit} // 0) + ($text{name}{ProcessExec} // 0);
    return \%text;
}

sub counts { my ($count) = @_; return join ' ', map { "$_:$count->{$_}" } sort keys %$count }

# ---- The programs ----

spew("$Dir/small.c", "#include <stdio.h>\nint main(void) { puts(\"small\"); return 0; }\n");
my ($cc) = compilers();
my @programs = (
    [perl => $ENV{PERL} // 'perl', '-e', 'my %h; $h{$_ % 700} = "x" x ($_ % 3000) for 1 .. 1500; print scalar keys %h'],
    [compiler => $cc, '-c', '-o', "$Dir/small.o", "$Dir/small.c"],
    [make => 'make', '-np', '-C', $Dir, '-f', '/dev/null', 'small.c'],
);
push @programs, [database => 'sqlite3', ':memory:', 'CREATE TABLE t(a, b); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL ' .
    'SELECT x + 1 FROM c WHERE x < 900) INSERT INTO t SELECT x, hex(x) FROM c; SELECT count(*) FROM t'] if $has{sqlite3};
# Where python3 is a script that looks for python, that forks, and a child begins with its parent's objects: not here.
my ($python) = $has{python3} ? words('python3 -c "import sys; print(sys.executable)"') : ();
push @programs, [threads => $python, '-c', 'import threading; t = [threading.Thread(target=lambda: [str(i) * 9 for i in ' .
    'range(9999)]) for i in range(3)]; [x.start() for x in t]; [x.join() for x in t]'] if $python;

my ($help) = `$B/bin/eventcnv --help` =~ /--format=(\S+)/;
my @formats = split /\|/, $help;
my @views = `$B/bin/eventview --help` =~ /^  (\w+): /mg;
cmp_ok scalar(@views), '>=', 2, "views: @views";

# Every format that --help lists has somebody who reads it.
my %reader = (text => \&readText, csv => \&readCsv, json => \&readJson, sql => \&readSql, ctf => \&readCtf, chrome => \&readChrome,
              paje => \&readPaje, folded => \&readFolded, pprof => \&readPprof,
              paw => \&readPaw);
is join(' ', sort keys %reader), join(' ', sort @formats), "formats: @formats";

for my $program (@programs) {
    my ($name, @command) = @$program;
    my $log = "$Dir/$name.paw";
    my ($status, undef, $err) = run("$B/bin/eventrec", '-k', '+Sync', '-o', $log, '--', @command);
    my ($recorded) = $err =~ /^eventrec: (\d+) events \(0 discarded\)/m;
    is "$status", 0, "$name is recorded, and ends as ever" or diag $err;
    my $text = fromText($log);
    is $text->{events}, $recorded // 'without loss', 'text has as many lines as events were recorded';
    my (undef, $json) = run("$B/bin/eventview", '--json', $log);
    my $summary = decode_json($json);
    for my $format (@formats) {
        system 'rm', '-rf', "$Dir/out";
        ($status, my $out, $err) = cnv('-f', $format, '-o', "$Dir/out", $log);
        is "$status $out$err", '0 ', "$name as $format";
        ok -s (-d "$Dir/out" ? "$Dir/out/events" : "$Dir/out"), 'is there';
        $reader{$format}->("$Dir/out", $log, $text, $summary);
    }
    for my $view (@views) {
        my @needs = $view eq 'diff' ? ('--from', 0, '--to', 3600) : $view eq 'report' ? ('-o', "$Dir/report.html") : ();
        ($status, my $out, $err) = run("$B/bin/eventview", $view, @needs, $log);
        is "$status$err", '0', "$name: $view";
        isnt $out, '', 'has lines';
        ($status, $out) = run("$B/bin/eventview", $view, $view eq 'report' ? () : @needs, '--json', $log);
        ok eval { decode_json($out) }, 'and is JSON for programs';
    }
}

# ---- Who reads ----

sub readText {
    my ($path, $log, $text) = @_;
    is scalar(() = slurp($path) =~ /\n/g), $text->{events}, 'a line for each event';
}

sub readCsv {
    my ($path, $log, $text) = @_;
    my $lines = join "\n", map { "$_|$text->{name}{$_}" } sort keys %{$text->{name}};

    SKIP: {
        skip 'sqlite3 is not installed', 1 unless $has{sqlite3};
        is join("\n", words("sqlite3 :memory: '.import --csv $path events' " .
                            "'SELECT name, count(*) FROM events GROUP BY name ORDER BY name' 2>&1")), $lines, 'sqlite3 imports it';
    }
    SKIP: {
        skip 'python3 is not installed', 1 unless $has{python3};
        my $script = 'import csv, sys, collections; c = collections.Counter(); s = 0' . "\n" .
            'for row in csv.DictReader(sys.stdin): c[row["name"]] += 1; s += int(row["size"] or 0)' . "\n" .
            'print("\n".join("%s|%d" % (k, c[k]) for k in sorted(c)), s, sep="\n")';
        is join("\n", words("python3 -c '$script' < $path 2>&1")), "$lines\n$text->{sizes}", 'python3 reads it';
    }
}

sub readJson {
    my ($path, $log, $text) = @_;
    SKIP: {
        skip 'jq is not installed', 1 unless $has{jq};
        is join("\n", words("jq -rn 'reduce inputs as \$e ({}; .[\$e.name] += 1 | .[\"\"] += (\$e.params.size // 0)) | " .
                            "to_entries | sort_by(.key) | .[] | .key + \":\" + (.value | tostring)' $path 2>&1")),
            join("\n", ":$text->{sizes}", map { "$_:$text->{name}{$_}" } sort keys %{$text->{name}}), 'jq reads it';
    }
}

# The questions are those of the manual page: each is answered, and what can be counted by text is as text says.
sub readSql {
    my ($path, $log, $text) = @_;
    SKIP: {
        skip 'sqlite3 is not installed', 1 unless $has{sqlite3};
        unlink "$path.db";
        is `sqlite3 $path.db < $path 2>&1`, '', 'sqlite3 loads it';
        my @questions = slurp('man/eventcnv.1') =~ /^(SELECT .*;)$/mg;
        cmp_ok scalar(@questions), '>', 3, 'the manual page has questions';
        my ($status, $out, $err) = run('sqlite3', "$path.db", @questions);
        is "$status$err", '0', 'which are all understood';
        is join(' ', map { s/\|/:/r } grep { /^\w+\|\d+$/ && /^[A-Z]/ } split /\n/, $out), counts($text->{name}), 'events by name';
    }
}

sub readCtf {
    my ($path, $log, $text) = @_;
    SKIP: {
        skip 'babeltrace2 is not installed', 1 unless $has{babeltrace2};
        my ($status, $out, $err) = run('babeltrace2', $path);
        is "$status$err", '0', 'babeltrace2 reads it without another word';
        my %got;
        ++$got{$_} for $out =~ /^\[\S+\] \(\S+\) (\S+): /mg;
        is counts(\%got), counts($text->{name}), 'and finds the same events';
        ($status, $out, $err) = run('babeltrace2', $path, '-c', 'sink.utils.counter', '--params=step=+0');
        is $out =~ /(\d+) Event messages/ && $1, $text->{events}, 'its counter counts them';
        is join(' ', $out =~ /(\d+) Discarded/g), '0 0', 'and nothing that is missing';
    }
}

# atLast($text, [live bytes of a process]...) -- with a process that has ended its objects have gone; before, they are
# those that text has allocated and not freed.  Of a family text does not tell that: a child begins with its parent's.
sub atLast {
    my ($text, @processes) = @_;
    return if @processes > 1 || $text->{ends} > 2;
    my ($bytes, $gone) = (0, 0);

    for my $values (@processes) {
        my $ended = @$values > 1 && $values->[-1] == 0;
        $bytes += $values->[$ended ? -2 : -1];
        $gone += $ended;
    }
    is $bytes, $text->{bytes}, 'its last live bytes are those of text';
    cmp_ok $gone, '<=', $text->{ends}, 'and they go with the process';
}

sub readChrome {
    my ($path, $log, $text, $summary) = @_;
    cnv('-f', 'chrome', '--thin', '0', '-o', $path, $log);
    my $events = decode_json(slurp($path))->{traceEvents};
    my %lane = map { $_->{name} eq 'thread_name' ? ($_->{tid} => 1) : () } @$events;
    my %live;

    push @{$live{$_->{pid}}}, $_->{args}{value} for grep { $_->{name} eq 'live bytes' } @$events;
    atLast($text, values %live);
    is join(' ', sort keys %lane), join(' ', sort keys %{$text->{lane}}), 'each thread has a lane';
}

sub readPaje {
    my ($path, $log, $text, $summary) = @_;
    SKIP: {
        skip 'pj_dump is not installed', 1 unless $has{pj_dump};
        cnv('-f', 'paje', '--thin', '0', '-o', $path, $log);
        my ($status, $out, $err) = run('pj_dump', $path);
        is "$status$err", '0', 'pj_dump reads it without another word';
        my (%lane, %live, %event, %state, $processes, $peak);
        for my $row (map { [split /, /] } split /\n/, $out) {
            my ($what, $where, $type, $last) = @$row[0, 1, 2, -1];
            ++$processes if $what eq 'Container' && $type eq 'Process';
            $lane{$1} = 1 if $what eq 'Container' && $type eq 'Thread' && $last =~ m{^\d+/(\d+) };
            ++$event{$last} if $what eq 'Event';
            ++$state{$last} if $what eq 'State';
            next if $what ne 'Variable' || $type ne 'live bytes' || $where =~ / pool /;
            push @{$live{$where}}, $last + 0;
            $peak = $last + 0 if $last > ($peak // -1);
        }
        atLast($text, values %live);
        is $peak, $summary->{peak_bytes}, 'and the peak is that of the summary' if keys %live == 1;
        is $processes, @{$summary->{processes}} + @{$summary->{collectors}}, 'each process is a container';
        is join(' ', sort keys %lane), join(' ', sort keys %{$text->{lane}}), 'each thread, too';
        is counts(\%event), counts({map { my $n = /^PoolAlloc/ ? $text->{large}{$_} : $text->{name}{$_}; ($_ => $n // 0) } keys %event}),
            'marks are events of text';
        is $state{$_->[0]} // 0, $text->{name}{$_->[1]} // 0, "$_->[1] begins a state"
            for ['PoolResize', 'PoolResizeBegin'], ['Thread', 'ThreadStart'];
    }
    SKIP: {
        skip 'vite is not installed', 1 unless $has{vite};
        cnv('-f', 'paje', '-o', $path, $log);
        local @ENV{qw(QT_QPA_PLATFORM XDG_RUNTIME_DIR HOME)} = ('offscreen', $Dir, $Dir);
        my ($status, $out, $err) = run('timeout', '60', 'vite', '-e', "$path.svg", $path);
        is $status, 0, 'ViTE makes a picture of it';
        like "$out$err", qr/^0 errors and 0 warnings/m, 'finds no errors';
        unlike "$out$err", qr/entity/i, 'and complains of nothing else';
        my $svg = slurp("$path.svg");
        is scalar(grep { $svg !~ m{/$_[ <]} } keys %{$text->{lane}}), 0, 'each thread is in it';
    }
}

sub readPprof {
    my ($path, $log, $text, $summary) = @_;
    my @sum = (0) x 6;

    for my $sample (@{profile($path)->{samples}}) {
        $sum[$_] += $sample->{values}[$_] for 0 .. 5;
    }
    is "@sum[0, 1, 2, 3, 5]", "@$summary{qw(allocations total_bytes live_objects live_bytes peak_bytes)}",
        'its sums are those of the summary';
}

sub readFolded {
    my ($path, $log, $text, $summary) = @_;
    my $sum = 0;

    $sum += $_ for slurp($path) =~ / (\d+)$/mg;
    is $sum, $summary->{total_bytes}, 'its sum is that of the summary';
}

sub readPaw {
    my ($path, $log, $text) = @_;
    is +(cnv($path))[1], (cnv($log))[1], 'it is the same log';
}

done_testing;
