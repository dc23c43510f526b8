#!/usr/bin/perl
# formats.t -- what eventcnv writes is read by those that it is written for, and says what text says
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Each format's own reader: sqlite3 for sql, babeltrace2 for ctf (where they are installed), JSON::PP for json. The events that
# it makes of them are compared with the lines of text, field by field. Then every format that --help lists meets every
# damaged log, a full disk, and a reader that goes away.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(run slurp spew);
no warnings qw(portable); # hex numbers of 64 bits
use Encode ();
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $B = $ENV{B} // 'build/cool';
my $eventcnv = "$B/bin/eventcnv";
my $folder = tempdir(CLEANUP => 1);
my %has = map { my $name = $_; $name => scalar grep { -x "$_/$name" } split /:/, $ENV{PATH} } qw(sqlite3 babeltrace2);
my @good = glob 'test/good/*.paw';
my @bad = glob 'test/bad/*.paw';

open STDIN, '<', '/dev/null' or die;

# cnv(argument...) -- standard output, standard error, status
sub cnv {
    my ($status, $out, $err) = run($eventcnv, @_);

    return ($out, $err, $status);
}

# unescaped($string) -- without C's escapes, octal and hex among them
sub unescaped {
    my ($string) = @_;
    my %escape = (n => "\n", t => "\t", r => "\r", a => "\a", b => "\b", f => "\f", v => "\x0b", e => "\e");
    $string =~ s{\\(?:x([0-9a-f]{2})|([0-7]{1,3})|(.))}
                {defined $1 ? chr hex $1 : defined $2 ? chr oct $2 : $escape{$3} // $3}gise;
    return $string;
}

# One event: [ns, pid, tid, name, [parameter, value], ...]. Integers are decimal strings, doubles have six digits, as
# babeltrace2 prints them; strings are bytes.
sub integer { my ($text) = @_; return $text =~ /^0x/i ? sprintf '%u', hex $text : $text }

my $doubles = qr/^(?:d|warmth)$/; # the names of those that the logs here have
sub double { my ($text) = @_; return sprintf '%g', $text + 0 }

sub param {
    my ($name, $text) = @_;
    return [$name, unescaped($1) . ($2 // '')] if $text =~ /^"(.*)"(\.\.\.)?$/s;
    return [$name, $name =~ $doubles ? double($text) : integer($text)];
}

# fromText(argument...) -- the events of a log as text has them
sub fromText {
    my @events;
    my ($out) = cnv(@_);
    for (split /\n/, $out) {
        my ($seconds, $nanos, $pid, $tid, $name, $rest) = /^(\d+)\.(\d{9}) (\d+)\/(\d+) (\S+)(.*)$/ or die "text: $_";
        my @params;
        push @params, param($1, $2) while $rest =~ /\G ([^=]+)=("(?:[^"\\]|\\.)*"(?:\.\.\.)?|\S+)/g;
        push @events, [$seconds * 1_000_000_000 + $nanos, $pid, $tid, $name, @params];
    }
    return \@events;
}

# fromCtf($folder) -- the same by babeltrace2, which must have nothing to complain of but what is in $complaints
sub fromCtf {
    my ($trace, $complaints) = @_;
    my @events;
    my $out = `babeltrace2 --clock-cycles $trace 2>$folder/complaints`;
    is $?, 0, "babeltrace2 reads $trace";
    $complaints //= qr/^$/;
    like slurp("$folder/complaints"), $complaints, 'without another word';
    for (split /\n/, $out) {
        my ($ns, $name, $pid, $tid, $program, $rest) =
            /^\[(\d+)\] \(\S+\) (\S+): \{ vpid = (\d+), vtid = (\d+), procname = "([^"]*)" \}, \{ ?(.*)\}$/
            or die "babeltrace2: $_";
        my @params;
        push @params, param($1, $2) while $rest =~ /\G(?:, )?(\w+) = ("(?:[^"\\]|\\.)*"|[^ ,]+)/g;
        push @events, [$ns + 0, $pid, $tid, $name, @params];
    }
    return \@events;
}

# told($missing) -- what babeltrace2 then says; missing() -- how many it said
sub told { my ($missing) = @_; return $missing ? qr/\A(?:WARNING: Tracer discarded [^\n]*\n)+\z/ : qr/\A\z/ }

sub missing {
    my ($complaints, $missing) = (slurp("$folder/complaints"), 0);
    $missing += $1 while $complaints =~ /discarded (\d+) event/g;
    return $missing;
}

# ctfNames($events) -- with what CTF cannot have in names and strings as it has it; what is unknown has all bits
sub ctfNames {
    my ($events) = @_;
    return [map { my @event = @$_; my @head = splice @event, 0, 4; [@head, map {
        [$_->[0] =~ s/\W/_/gr, $_->[1] eq 'unknown' && $_->[0] ne 'how' ? '18446744073709551615' : $_->[1] =~ s/\0/\xef\xbf\xbd/gr]
    } @event] } @$events];
}

# fromSql($database) -- the same by queries: strings as hex, so that no byte is lost on the way
sub fromSql {
    my ($database) = @_;
    my $query = sub {
        open my $in, '-|', 'sqlite3', $database, $_[0] or die;
        return map { chomp; [split /\|/, $_, -1] } <$in>;
    };
    my $quoted = sub { my ($mark, $name) = @_; return $mark . $name =~ s/$mark/$mark$mark/gr . $mark };
    my @events;

    for ($query->('SELECT tablename, name FROM types')) {
        my ($table, $name) = @$_;
        my @columns = map { [@$_[1, 2]] } grep { $_->[0] > 3 } $query->("PRAGMA table_info(" . $quoted->("'", $table) . ')');
        my $select = join ',', "n, cast(round(time * 1e9) AS INTEGER), pid, tid", map {
            my ($column, $type) = @$_;
            my $name = $quoted->('"', $column);
            $type eq 'TEXT' ? "hex($name)" : $type eq 'REAL' ? "CASE WHEN $name IS NULL THEN 'nan' ELSE printf('%!.17g', $name) END"
                : "CASE WHEN $name IS NULL THEN 'unknown' ELSE printf('%u', $name) END"
        } @columns;
        for my $row ($query->("SELECT $select FROM " . $quoted->('"', $table))) {
            my ($n, $ns, $pid, $tid, @values) = @$row;
            my @params;
            for my $column (@columns) {
                my $value = shift @values;
                (my $param = $column->[0]) =~ s/_+$//;
                push @params, [$param, $column->[1] eq 'TEXT' ? pack('H*', $value) : $column->[1] eq 'REAL' ? double($value) : $value];
            }
            $events[$n - 1] = [$ns, $pid, $tid, $name, @params];
        }
    }
    return \@events;
}

# fromJson, fromCsv -- what is not ASCII is compared as JSON has it: bytes that are no UTF-8 as U+FFFD
sub fromJson {
    my @events;
    my ($out) = cnv('-f', 'json', @_);
    my $json = JSON::PP->new->utf8->allow_bignum;
    for (split /\n/, $out) {
        my ($time) = /^\{"time":([\d.]+),/;
        my $event = $json->decode($_);
        my ($seconds, $nanos) = split /\./, $time;
        push @events, [$seconds * 1_000_000_000 + $nanos, @$event{qw(pid tid name)},
                       map { my $v = $event->{params}{$_}; [$_, !defined $v ? 'unknown' : /$doubles/ ? double($v) : integer(Encode::encode_utf8("$v"))] }
                       sort keys %{$event->{params}}];
    }
    return \@events;
}

sub fromCsv {
    my ($out) = cnv('-f', 'csv', @_);
    my (@events, @rows, @row);
    while ($out =~ /\G(?:"((?:[^"]|"")*)"|([^,\n]*))([,\n])/g) {
        my ($quoted, $plain, $end) = ($1, $2, $3);
        push @row, defined $quoted ? $quoted =~ s/""/"/gr : $plain;
        next if $end eq ',';
        push @rows, [@row];
        @row = ();
    }
    my @head = @{shift @rows};
    my %twice;
    is join(' ', grep { $twice{$_}++ } @head), '', 'csv: no column has the name of another';
    s/^(time|pid|tid|kind|name)_$/$1/ for @head;
    for my $row (@rows) {
        my ($seconds, $nanos) = split /\./, $row->[0];
        push @events, [$seconds * 1_000_000_000 + $nanos, @$row[1, 2, 4],
                       map { [$head[$_], $head[$_] =~ $doubles ? double($row->[$_]) : integer($row->[$_])] }
                       grep { $row->[$_] ne '' } 5 .. $#head];
    }
    return \@events;
}

# sorted($events, $change) -- parameters by name, without empty ones where CSV cannot tell, each value changed
sub sorted {
    my ($events, $change) = @_;
    return [map { my @event = @$_; my @head = splice @event, 0, 4; [@head, map { $change->($_) } sort { $a->[0] cmp $b->[0] } @event] } @$events];
}

# first($n, $events) -- at most so many of them
sub first { my ($n, $events) = @_; return [@$events[0 .. ($n < @$events ? $n : @$events) - 1]] }

# csvValue($text) -- a value as CSV has it: what a terminal would obey, and what is no UTF-8, in octal
sub csvValue {
    my ($text) = @_;
    my $sound = qr/[\t\n\x20-\x7e]|\xc2[\xa0-\xbf]|[\xc3-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}/;
    return $text =~ s/($sound)|(.)/defined $1 ? $1 : sprintf '\\%03o', ord $2/gser;
}

# same($got, $expected, $name) -- is_deeply, with the first event that differs alone
sub same {
    my ($got, $expected, $name) = @_;
    my $show = sub { return join ' ', map { ref ? "$_->[0]=<$_->[1]>" : $_ } @{$_[0] // ['nothing']} };
    is scalar @$got, scalar @$expected, "$name: as many events";
    for my $i (0 .. $#$expected) {
        next if $show->($got->[$i]) eq $show->($expected->[$i]);
        is $show->($got->[$i]), $show->($expected->[$i]), "$name: event $i";
        return;
    }
    pass "$name: each with the same fields";
    return;
}

# ---- A recording of a real program: several processes, strings ----

my $real = "$folder/real.paw";
my $script = 'for my $i (1 .. 3) { my $pid = fork // die; next if $pid; my @a = map { "x" x $_ } 1 .. 900; exit 0 } 1 while wait > 0';
my $recorded = 0;
SKIP: {
    skip 'no events of objects in this variety', 1 if ($ENV{VARIETY} // 'cool') ne 'cool';
    $recorded = system("$B/bin/eventrec -o $real -- $^X -e '$script' >/dev/null 2>$folder/err") == 0 && -s $real;
    ok $recorded, 'a real program is recorded' or diag slurp("$folder/err");
}
my @logs = (@good, $recorded ? $real : ());
my %expected = map { $_ => fromText($_) } @logs;
cmp_ok scalar(keys %{{map { $_->[1] => 1 } @{$expected{$real}}}}), '>', 3, 'which has several processes' if $recorded;

for my $log (@logs) {
    # JSON::PP is slow: of what is large, the beginning.
    same(sorted(fromJson('-k', 'all', '-n', 2000, $log), sub { $_[0] }), sorted(first(2000, $expected{$log}), sub {
        my ($name, $value) = @{$_[0]};
        return [$name, Encode::encode_utf8(Encode::decode('UTF-8', $value))];
    }), "json of $log");
    same(sorted(fromCsv($log), sub { $_[0] }), sorted($expected{$log}, sub { $_[0][1] eq '' || "@{$_[0]}" eq 'disk unknown' ? () : [$_[0][0], csvValue($_[0][1])] }), "csv of $log");
}

# ---- SQL ----

SKIP: {
    skip 'sqlite3 is not installed', 1 unless $has{sqlite3};
    for my $log (@logs) {
        my $database = "$folder/log.db";
        unlink $database;
        cnv('-f', 'sql', '--force', '-o', "$folder/log.sql", $log);
        is `sqlite3 $database < $folder/log.sql 2>&1`, '', "sqlite3 loads $log";
        same(fromSql($database), sorted($expected{$log}, sub { $_[0] }) && $expected{$log}, "sql of $log");
        my (%count, $bytes);
        for (@{$expected{$log}}) {
            my ($size) = map { $_->[0] eq 'size' ? $_->[1] : () } @$_[4 .. $#$_];
            ++$count{$_->[3]};
            $bytes += $size if defined $size && $_->[3] eq 'PoolAlloc';
        }
        is `sqlite3 $database 'SELECT name, count(*) FROM events GROUP BY name ORDER BY name'`,
            join('', map { "$_|$count{$_}\n" } sort keys %count), 'the view has all events';
        is `sqlite3 $database 'SELECT name, sum(events) FROM types GROUP BY name ORDER BY name'`,
            join('', map { "$_|$count{$_}\n" } sort keys %count), 'and so many of each type';
        is `sqlite3 $database 'SELECT sum(size) FROM PoolAlloc'` + 0, $bytes, 'the sum of sizes' if defined $bytes;
        is `sqlite3 $database 'SELECT name FROM events ORDER BY n'`, join('', map { "$_->[3]\n" } @{$expected{$log}}),
            'n is the order of text';
    }
    my $half = int(length(`$eventcnv -f sql $logs[-1]`) / 2);
    system "$eventcnv -f sql $logs[-1] | head -c $half | sqlite3 $folder/half.db >/dev/null 2>&1";
    cmp_ok $half, '>', 1000, 'of half an output';
    is `sqlite3 $folder/half.db .tables`, '', 'nothing is loaded';
}

# ---- CTF ----

SKIP: {
    skip 'babeltrace2 is not installed', 1 unless $has{babeltrace2};
    for my $log (@logs) {
        my (undef, $err, $status) = cnv('-f', 'ctf', '--force', '-o', "$folder/ctf", $log);
        is $status, 0, "$log as CTF";
        my ($discarded) = $err =~ /(\d+) events? w\w+ discarded/;
        same(fromCtf("$folder/ctf", told($discarded)), ctfNames($expected{$log}), "ctf of $log");
        is missing(), $discarded // 0, 'babeltrace2 tells what was discarded';
    }
    my ($wall) = `babeltrace2 --clock-gmt --clock-date $folder/ctf` =~ /^\[([^\]]+)\]/;
    like $wall, qr/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}$/, 'its clock is wall time';
    for my $log (@bad) {
        (my $base = $log) =~ s/\.paw$//;
        -e "$base.txt" or next;
        my (undef, $err) = cnv('-f', 'ctf', '--force', '-o', "$folder/ctf", $log);
        my $lost = 0;
        $lost += $1 while $err =~ /(\d+) events? lost/g;
        same(fromCtf("$folder/ctf", told($lost)), ctfNames(fromText($log)), "ctf of $log");
        is missing(), $lost, 'babeltrace2 tells what is lost';
    }
    # The disk is full in the middle: a limit on the size of files stands for it.
    SKIP: {
        skip 'no real program', 4 unless $recorded;
        my $status = system "bash -c 'trap \"\" XFSZ; ulimit -f 300; exec $eventcnv -f ctf -o $folder/full $real' >$folder/out 2>$folder/err";
        is $status >> 8, 1, 'a disk that is full in the middle of a trace is a failure';
        like slurp("$folder/err"), qr/\Aeventcnv: \S+full: File too large; [^\n]*incomplete[^\n]*\n\z/,
            'which is told once, with what is left behind';
        my $got = fromCtf("$folder/full");
        cmp_ok scalar @$got, '>', 0, 'and what is there can be read';
        same($got, ctfNames(first(scalar @$got, $expected{$real})), 'all of it events from the beginning');
    }
}
{
    my $log = 'test/good/threads.paw';
    my (undef, $err, $status) = cnv('-f', 'ctf', $log);
    is $status, 2, 'a folder needs a name';
    like $err, qr/--output/, 'which is told';
    mkdir "$folder/there" or die;
    (undef, $err, $status) = cnv('-f', 'ctf', '-o', "$folder/there", $log);
    is $status, 1, 'a folder that is there is not written into';
    like $err, qr/there: .*exists.*--force/, 'and it says how it would be';
    (undef, $err, $status) = cnv('-f', 'ctf', '--force', '-o', "$folder/there", $log);
    is "$err$status", '0', 'with --force it is';
    spew("$folder/victim", "precious\n");
    symlink 'victim', "$folder/link.csv" or die;
    (undef, $err, $status) = cnv('-f', 'csv', '--force', '-o', "$folder/link.csv", $log);
    like $err, qr/link\.csv: a symbolic link, which --force does not follow/, '--force follows no link';
    is slurp("$folder/victim"), "precious\n", 'and what it leads to stays';
    (undef, $err, $status) = cnv('-f', 'ctf', '--force', '-o', "$folder/there", $log);
    is "$err$status", '0', 'and again over the trace';
    open my $out, '>', "$folder/there/letter" or die;
    close $out;
    (undef, $err, $status) = cnv('-f', 'ctf', '--force', '-o', "$folder/there", $log);
    is $status, 1, 'but not where something else lies';
    like $err, qr/there: .*letter/, 'which is told';
    (undef, $err, $status) = cnv('-f', 'ctf', '-o', "$folder/no/such/place", $log);
    like "$err$status", qr/place: No such file or directory\n1$/, 'nor where there is no place for it';
    (undef, $err, $status) = cnv('-f', 'ctf', '--force', '-o', $log, $log);
    is $status, 1, 'nor over a file';
    is((fromText($log))->[0][3], 'ArenaCreate', 'which stays as it was');
}

# ---- All formats ----

my ($help) = cnv('--help');
my ($formats) = $help =~ /--format=(\S+)/;
my @formats = split /\|/, $formats;
ok @formats >= 6, "formats: @formats";
my %folder = (ctf => 1);
my ($words) = cnv('-n', '5', 'test/good/threads.paw');
for my $format (@formats) {
    for my $log (@bad) {
        (my $base = $log) =~ s/\.paw$//;
        system 'rm', '-rf', "$folder/bad";
        my (undef, $err, $status) = cnv('-f', $format, '-o', "$folder/bad", $log);
        is $status, 1, "$log as $format: status 1";
        is $err, slurp("$base.err"), 'and what is damaged is told as ever';
    }
    next if $folder{$format};
    my $status = system "$eventcnv -f $format test/good/threads.paw >/dev/full 2>$folder/err";
    is $status >> 8, 1, "$format: a full disk is a failure";
    is slurp("$folder/err"), "eventcnv: standard output: No space left on device\n", 'which is told once';
    $status = system "bash -c 'set -o pipefail; $eventcnv -f $format $logs[-1] 2>$folder/err | head -c 1 >/dev/null'";
    is slurp("$folder/err"), '', "$format: a reader that goes away ends it quietly";
}

# ---- Choices, by formats that keep every event ----

for my $choice (['-n', '7'], ['--from', '0.0000013'], ['--to', '0.0000013'], ['-n', '0'], ['-E', 'PoolFree', '-n3']) {
    my $log = 'test/good/threads.paw';
    my $expected = fromText(@$choice, $log);
    same(sorted(fromJson(@$choice, $log), sub { $_[0] }), sorted($expected, sub {
        [$_[0][0], Encode::encode_utf8(Encode::decode('UTF-8', $_[0][1]))]
    }), "json with @$choice");
    if ($has{sqlite3}) {
        unlink "$folder/log.db";
        cnv('-f', 'sql', '--force', '-o', "$folder/log.sql", @$choice, $log);
        is `sqlite3 $folder/log.db < $folder/log.sql 2>&1`, '', "sql with @$choice";
        same(fromSql("$folder/log.db"), $expected, "sql with @$choice");
    }
    if ($has{babeltrace2}) {
        cnv('-f', 'ctf', '--force', '-o', "$folder/ctf", @$choice, $log);
        same(fromCtf("$folder/ctf"), $expected, "ctf with @$choice");
    }
}

done_testing;
