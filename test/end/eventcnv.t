#!/usr/bin/perl
# eventcnv.t -- eventcnv as its users meet it: formats, choices, errors
#
# SPDX-License-Identifier: BSD-2-Clause
#
# The logs in test/good/ were written once and stay; beside each stands what eventcnv must make of it.

use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp run);
use File::Temp qw(tempdir);
use Test::More;

my $eventcnv = ($ENV{B} // 'build/cool') . '/bin/eventcnv';
my $folder = tempdir(CLEANUP => 1);
$ENV{TZ} = 'UTC';

open STDIN, '<', '/dev/null' or die;

# cnv(argument...) -- standard output, standard error, status
sub cnv {
    my ($status, $out, $err) = run($eventcnv, @_);

    return ($out, $err, $status);
}

# ---- Formats ----

my %formats = (
    txt => [], csv => ['-f', 'csv'], json => ['-f', 'json'], verbose => ['--verbose'], describe => ['--describe'],
    header => ['--header'],
);
for my $log (glob 'test/good/*.paw') {
    (my $base = $log) =~ s/\.paw$//;
    for my $suffix (sort keys %formats) {
        -e "$base.$suffix" or next;
        my $expected = slurp("$base.$suffix");
        my ($out, $err, $status) = cnv(@{$formats{$suffix}}, $log);
        is $out, $expected, "$log as $suffix";
        is $status, 0, 'and the status is 0';
        is $err, slurp("$base.err"), 'and standard error is as it should be';
    }
    for my $how ('--raw', '--packed') {
        my (undef, $err, $status) = cnv('-f', 'paw', $how, '--force', '-o', "$folder/again.paw", $log);
        is $status, 0, "$log as a log again, $how";
        is((stat "$folder/again.paw")[2] & 0777, 0600, 'which only its owner may read');
        my ($out) = cnv("$folder/again.paw");
        is $out, slurp("$base.txt"), 'and which says the same';
    }
}

# ---- Choices ----

my $log = 'test/good/threads.paw';
my @all = split /^/, slurp('test/good/threads.txt');

sub chosen {
    my ($name, $want, @arguments) = @_;
    my ($out, $err, $status) = cnv(@arguments, $log);
    is $out, join('', grep { $want->($_) } @all), $name;
    is "$err$status", '0', 'and nothing else';
}

chosen('-k takes kinds', sub { $_[0] =~ / Pool(?:Create) / }, '-k', 'Pool');
chosen('-k leaves kinds out', sub { $_[0] !~ / Pool(?:Alloc|Free) / }, '-k', '-Object');
chosen('-k none', sub { 0 }, '-k', 'none');
chosen('-E takes types', sub { $_[0] =~ / (?:PoolFree|UserNone)\b/ }, '-E', 'PoolFree,UserNone');
chosen('--from is inclusive', sub { $_[0] ge '0.000001300' }, '--from', '0.0000013');
chosen('--to is exclusive', sub { $_[0] lt '0.000001300' }, '--to', '0.0000013');
chosen('wall time', sub { $_[0] ge '4' }, '--from', '00:00:04');
my $n = 0;
chosen('-n', sub { $n++ < 7 }, '-n', '7');
my $m = 0;
chosen('all at once', sub { $_[0] =~ /PoolFree/ && $_[0] ge '0.0000012' && $m++ < 3 },
       '-k', 'Object', '-E', 'PoolFree', '--from', '0.0000012', '-n3');
{
    my ($out, $err, $status) = cnv('--check', $log);
    is "$out$err$status", '0', '--check says nothing of a sound log';
}
{
    my ($out, $err, $status) = cnv('-f', 'paw', '-k', 'Object', '--no-state', '-o', "$folder/objects.paw", $log);
    is "$out$err$status", '0', 'a filtered log is written';
    ($out) = cnv('--header', "$folder/objects.paw");
    my $before = slurp('test/good/threads.header');
    is scalar(() = $out =~ /^end: \d+$/mg), scalar(() = $out =~ /^pid:/mg), 'each process is closed';
    s/^(?:identity|sync|end|copy|processes): .*\n//mg for $out, $before;
    is $out, $before, 'with the headers of its processes';
    ($out) = cnv("$folder/objects.paw", $log);
    is scalar(() = $out =~ /\n/g), @all + (() = "@all" =~ /Pool(?:Alloc|Free) /g), 'it can be read together with the old one';
}

# ---- Copies beside what they were copied from ----

{
    # read(logs) -- what is said of them, by --check, which gives 0: nothing is missing
    my $said = sub {
        my (undef, $err, $status) = cnv('--check', @_);
        is $status, 0, 'nothing is missing in ' . join ' and ', map { s/.*\///r } @_;
        return $err;
    };
    my ($copy, $again, $pair) = map { "$folder/$_.paw" } qw(beside.copy beside.again beside.both);
    my $twice = 'too, and at least one is a copy by eventcnv -f paw: (?:it counts as two processes|each counts as two), '
        . 'and what both have of it twice';
    my ($n) = scalar(() = (cnv('--header', $log))[0] =~ /^pid:/mg);
    my $they = $n > 1 ? "$n processes \\(\\d+ \\.\\.\\.\\) are" : 'process \\d+ is';

    cnv('-f', 'paw', '-o', $copy, $log);
    cnv('-f', 'paw', '-o', $again, $copy);
    is $said->($copy), '', 'of a copy nothing is said';
    is $said->($again), '', 'nor of a copy of that';
    is $said->($copy, $copy), '', 'nor of a log that is named twice';
    like $said->($log, $copy), qr/^eventcnv: $copy: $they in $log, $twice\n\z/, 'of a log and its copy it is, in one line';
    like $said->($log, $again), qr/^eventcnv: $again: $they in $log, $twice\n\z/, 'and of a log and a copy of its copy';
    is scalar(() = $said->($log, $copy, $again) =~ /, $twice$/mg), 2, 'of three logs: of two pairs';
    cnv('-f', 'paw', '-o', $pair, $log, $copy);
    is((cnv($pair))[0], (cnv($log, $copy))[0], 'both copied together keep their processes apart');
    like $said->($pair, $log), qr/$twice/, 'which is told again beside one of them';
    system "cat $log $copy > $pair";
    like $said->($pair), qr/^eventcnv: $pair: .*in it twice, once at least as eventcnv -f paw copied.*\n\z/, 'and in one file';
    is $said->($log, 'test/good/foreign.paw'), '', 'of other logs nothing is';
}

# ---- Where logs come from, and where text goes ----

is `cat $log | $eventcnv -`, join('', @all), 'standard input, though it cannot seek';
is `$eventcnv - < $log`, join('', @all), 'and where it can';
is `cat $log $log | $eventcnv -`, join('', @all), 'a log behind itself is the same log';
is `$eventcnv $log test/good/foreign.paw | wc -l` + 0, @all + (() = slurp('test/good/foreign.txt') =~ /\n/g), 'two logs at once';
is `$eventcnv $log | head -1`, $all[0], 'a closed pipe';
{
    my $status = system "bash -c 'set -o pipefail; $eventcnv $log $log $log | head -c 1 >/dev/null' 2>$folder/err";
    is slurp("$folder/err"), '', 'ends it quietly';
}
SKIP: {
    skip 'no /dev/full', 2 unless -e '/dev/full';
    my $status = system "$eventcnv $log >/dev/full 2>$folder/err";
    is $status >> 8, 1, 'a full disk is a failure';
    like slurp("$folder/err"), qr/^eventcnv: standard output: No space left on device$/, 'which is told, with the reason';
}
{
    my ($out, $err, $status) = cnv('-o', "$folder/x.txt", $log);
    is "$out$err$status", '0', '-o';
    is slurp("$folder/x.txt"), join('', @all), 'has the text';
    (undef, $err, $status) = cnv('-o', "$folder/x.txt", $log);
    is $status, 1, 'what is there is not overwritten';
    like $err, qr/x\.txt: .*exists.*--force/, 'and it says how it would be';
    (undef, $err, $status) = cnv('--force', '-o', "$folder/x.txt", '-n1', $log);
    is slurp("$folder/x.txt"), $all[0], 'with --force it is';
}
{
    system "cp $log $folder/own.paw";
    my (undef, $err, $status) = cnv('-f', 'paw', '--force', '-o', "$folder/own.paw", "$folder/own.paw");
    is $status, 1, 'a log is not written over itself';
    is slurp("$folder/own.paw"), slurp($log), 'and stays as it was';
    like $err, qr/own\.paw.*itself/, 'which is told';
}

# ---- Errors ----

for (
    [2, qr/no log is given/], [2, qr/--format.*xml/, '-f', 'xml', $log], [2, qr/no option/, '--nonsense', $log],
    [2, qr/'Objekt'.*Arena, Pool, Object, User/, '-k', 'Objekt', $log],
    [2, qr/'PoolAllok'.*PoolAlloc/, '-E', 'PoolAllok', $log], [2, qr/--from: 'x'/, '--from', 'x', $log],
    [2, qr/--to: '1:2'/, '--to', '1:2', $log], [1, qr/nothere\.paw: No such file/, "$folder/nothere.paw"],
    [1, qr/test: Is a directory/, 'test'], [1, qr/No such file or directory/, '-o', "$folder/no/such/place", $log],
    [2, qr/--raw.*paw/, '--raw', $log], [2, qr/not both/, '-f', 'paw', '--raw', '--packed', $log],
    [2, qr/--verbose.*text/, '-v', '-f', 'csv', $log], [2, qr/not both/, '-v', '--describe', $log],
    [2, qr/--value .*--format=text; .*--format=folded/, '--value', 'bytes', $log],
    [2, qr/--thin .*--format=csv; .*--format=chrome and --format=paje/, '-f', 'csv', '--thin', 0, $log],
    [2, qr/--format has no meaning with --check/, '--check', '-f', 'text', $log],
    [2, qr/--output has no meaning with --check/, '--check', '-o', "$folder/x", $log],
    [2, qr/--header has no meaning with --check/, '--check', '--header', $log],
    [2, qr/--kinds has no meaning with --header/, '--header', '-k', 'Object', $log],
    [2, qr/--count has no meaning with --index/, '--index', '-n', 1, $log],
    [2, qr/--follow has no meaning with --format=sql/, '--follow', '-f', 'sql', $log],
) {
    my ($expected, $message, @arguments) = @$_;
    my ($out, $err, $status) = cnv(@arguments);
    is $status, $expected, "status $expected for: eventcnv @arguments";
    like $err, qr/^eventcnv: .*$message/, 'with a message';
    is $out, '', 'and no output';
}
{
    my ($out, $err, $status) = cnv('--help');
    is "$err$status", '0', '--help';
    like $out, qr/--format=text\|csv\|json\|.*paw/, 'says what there is';
    ($out, $err, $status) = cnv('--version');
    like "$out$err$status", qr/^eventcnv \(Pawprint\) \d.*\n0$/, '--version';
}

done_testing;
