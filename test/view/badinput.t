#!/usr/bin/perl
# badinput.t -- all formats and views of programs with hostile names, of logs without their beginning or end, and of
# modules that are gone or have been replaced
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp spew view);
use Encode qw(decode FB_CROAK);
use JSON::PP ();
use Profile qw(message);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my @formats = qw(text csv json sql chrome paje folded pprof);
my @views = qw(summary events sites sizes lifetimes live leaks growth timeline pools threads);
my $json = JSON::PP->new->utf8;

sub cnv { run("$B/bin/eventcnv", @_) }
# ---- Names with quotes, markup, control characters, and bytes that are no text ----

my $name = "<script>'\"&;\\\e]0;\x07\n\xff%s";
my $program = "$Dir/$name";
spew($program, slurp("$B/prog/large"));
chmod 0755, $program;
my $log = "$Dir/odd.paw";
is((run("$B/bin/eventrec", '-p', 'block', '-s', 16, '-o', $log, '--', $program))[0], 0,
   'a program with such a name is recorded');

for my $format (@formats) {
    for my $symbols ([], $format =~ /^(?:sql|paje)$/ ? () : ['--symbols']) {
        my ($status, $out, $err) = cnv('-f', $format, @$symbols, '--force', '-o', "$Dir/out", $log);
        is $status, 0, "$format @$symbols" or diag $err;
        my @strings = $format eq 'pprof' ? @{message(slurp("$Dir/out"))->{6}} : slurp("$Dir/out") =~ s/\n/ /gr;
        ok !(grep { /[\x00-\x08\x0b-\x1f\x7f]/ } @strings), 'has no control characters';
        ok !(grep { !eval { decode('UTF-8', my $copy = $_, FB_CROAK); 1 } } @strings), 'is UTF-8';
        ok scalar(grep { /<script>|3c7363726970743e/ } @strings), 'and shows the name';
    }
}
ok eval { $json->decode((cnv('-f', 'chrome', $log))[1]); 1 }, 'a chrome trace is JSON';
ok eval { $json->decode($_) for split /\n/, (cnv('-f', 'json', $log))[1]; 1 }, 'lines of JSON are JSON';
run("$B/bin/eventrec", '-p', 'block', '-s', 16, '-o', "$Dir/plain.paw", '--', "$B/prog/large");
sub frames { return [map { tr/;// } split /\n/, (cnv('-f', 'folded', @_))[1]] }
is_deeply(frames($log), frames("$Dir/plain.paw"),
    'a folded stack has as many frames as that of a program whose name is plain');

# An SQL string ends where it should: what is executed is what eventcnv wrote.
SKIP: {
    skip 'there is no sqlite3', 1 unless grep { -x "$_/sqlite3" } split /:/, $ENV{PATH};
    my $sql = "$Dir/out.sql";
    cnv('-f', 'sql', '--force', '-o', $sql, $log);
    my $script = 'sqlite3 "$1" < "$2" && sqlite3 "$1" "select count(*) from events"';
    my ($status, $out, $err) = run('sh', '-c', $script, 'sh', "$Dir/out.db", $sql);
    is "$err" . ($out + 0), scalar(() = (cnv($log))[1] =~ /\n/g), 'SQL is taken as a whole';
}

for my $view (@views) {
    my ($status, $out, $err) = view($view, $log);
    is $status, 0, "$view" or diag $err;
    unlike $out =~ s/\n/ /gr, qr/[\x00-\x1f\x7f]/, 'has no control characters';
    ok eval { decode('UTF-8', my $copy = $out, FB_CROAK); 1 }, 'is UTF-8';
    ($status, $out) = view($view, '--json', $log);
    ok eval { $json->decode($out); 1 }, 'and is JSON' or diag $@;
}
like((view('sites', $log))[1], qr/ main \(<script>/, 'a module is called by its name, and has its symbols');

# ---- Logs without their beginning or end ----

# counts($what, $log, @options) -- no number is negative in any view; returns the summary
sub counts {
    my ($what, @arguments) = @_;

    for my $view (@views) {
        next if $view eq 'growth'; # slopes are
        my ($status, $out, $err) = view($view, '--json', @arguments);
        ok eval { $json->decode($out); 1 }, "$what: $view" or diag "$status $err";
        unlike $out, qr/[:\[,] ?-\d|1844674407\d{10}/, 'has no negative number';
    }
    return $json->decode((view('summary', '--json', @arguments))[1]);
}

my $whole = "$Dir/whole.paw";
run("$B/bin/eventrec", '-p', 'block', '-s', 8, '-o', $whole, '--', $^X, '-e',
    'my @a; for (1 .. 20000) { $a[$_ % 5000] = [$_]; fork // die if $_ == 1000 }');
my $all = counts('whole', $whole);
is $all->{unmatched}, 0, 'in a whole log all frees have objects' or diag explain $all;

my @frees = (cnv('-E', 'PoolFree', $whole))[1] =~ /^(\S+)/mg;
my $half = $frees[@frees / 2];
my $late = "$Dir/late.paw";
is((cnv('-f', 'paw', '--no-state', '--from', $half, '-o', $late, $whole))[0], 0, 'a log that begins late');
my $its = counts('late', $late);
cmp_ok $its->{unmatched}, '>', 0, 'frees of what came before are counted apart';
my $sum = $json->decode((view('sites', '--json', '--top', 100000, $late))[1]);
my $left = 0;
$left += $_->{left_bytes} for @{$sum->{sites}};
is $left, $its->{live_bytes}, 'and callers have what the summary has';

my $bytes = slurp($whole);
for my $part (3, 5, 8) {
    my $cut = spew("$Dir/cut$part.paw", substr $bytes, 0, length($bytes) * $part / 10) && "$Dir/cut$part.paw";
    $its = counts("cut at $part tenths", $cut);
    cmp_ok $its->{allocations}, '<', $all->{allocations}, 'has fewer allocations';
    my ($status, $out, $err) = cnv('--check', $cut);
    is $status, 1, 'and is not whole';
    my $hole = substr($bytes, 0, length($bytes) * $part / 20) . substr $bytes, length($bytes) * $part / 10;
    spew("$Dir/hole$part.paw", $hole);
    counts("without a part before $part tenths", "$Dir/hole$part.paw");
}

# ---- No stacks ----

{
    my $none = "$Dir/none.paw";
    run("$B/bin/eventrec", '-p', 'block', '-o', $none, '--', "$B/prog/large");
    for my $view (qw(sites leaks growth)) {
        my ($status, $out) = view($view, $none);
        is $status, 0, "$view of a log without stacks";
        like $out, qr/not recorded.*eventrec -s/, 'says how they are recorded';
    }
}

# ---- Modules that are gone, or others ----

for my $is ('gone', 'another', 'no file of code') {
    my $path = "$Dir/module";
    unlink $path;
    spew($path, slurp("$B/prog/large"));
    chmod 0755, $path;
    run("$B/bin/eventrec", '-p', 'block', '-s', 8, '--force', '-o', "$Dir/module.paw", '--', $path);
    unlink $path;
    spew($path, slurp("$B/prog/sites")) if $is eq 'another';
    spew($path, 'x' x 10000) if $is eq 'no file of code';
    my ($status, $out, $err) = view('sites', "$Dir/module.paw");
    is $status, 0, "sites where the program's file is $is";
    like $out, qr/ module\+0x/, 'have module and place';
    unlike $out, qr/\(module\)/, 'and no wrong names';
    like $err, qr{^eventview: \Q$path\E: }m, 'which is told';
    is((cnv('-f', $_, '--symbols', '--force', '-o', "$Dir/out", "$Dir/module.paw"))[0], 0, "and $_ is written")
        for qw(text chrome folded pprof);
}
done_testing;
