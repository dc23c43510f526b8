#!/usr/bin/env perl
# examples/lisp is built from the headers and the library that are installed; recorded, its log says what it collected.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use List::Util qw(sum);
use Test::More;

my $B  = abs_path($ENV{B} // 'build/cool');
my $cc = $ENV{CC} // 'gcc';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library that is installed is built for a sanitizer' if ($ENV{SAN} // '') ne '';

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
delete @ENV{grep { /^PAWPRINT_/ } keys %ENV};
my $said = `make -s install DESTDIR=$dir/root PREFIX=/paw CC='$cc' 2>&1`;
is $?, 0, 'Pawprint is installed' or BAIL_OUT($said);
my $lisp = "$dir/root/paw/share/pawprint/examples/lisp";
$said = `make -s -f $lisp/Makefile OUT=$dir/built CC='$cc' CFLAGS='-O1 -Werror' 2>&1`;
is "$?$said", '0', 'the example builds from what is installed, without a warning' or BAIL_OUT($said);
like `wc -l $lisp/lisp.c`, qr/^(?:[1-5]?\d?\d|600) /, 'it has 600 lines at most';

my $expected = "queens 4\nfirst 11 length 20000\ndone\n200 watched objects are gone\n";
is `$dir/built/lisp $lisp/demo.lisp`, $expected, 'it runs';
is `$B/bin/eventrec -p block -o $dir/lisp.paw -- $dir/built/lisp $lisp/demo.lisp 2>$dir/err`, $expected, 'and is recorded';
is system("$B/bin/eventcnv --check $dir/lisp.paw >/dev/null 2>&1"), 0, 'the log lacks nothing';

my $view = `$B/bin/eventview collections --top 1000 $dir/lisp.paw`;
my ($count) = $view =~ /^collections +(\d+)$/m;
cmp_ok $count, '>=', 10, 'eventview collections shows its collections';
like $view, qr/^stops +\d+: .*the longest \d\.\d+ s, at .*^steps +\d+: .*^reclaimed .*^by length +stops +steps$/ms, 'how long they were, and what they took back';
like $view, qr/^(?=.* threshold )(?=.* client )/s, 'and why they began';
is scalar(() = `$B/bin/eventcnv -E MessagePost $dir/lisp.paw` =~ /\n/g), 200, 'each object that it watches is told once';
is scalar(() = `$B/bin/eventcnv -E TraceEnd $dir/lisp.paw` =~ /\n/g), $count, 'all collections are complete';

my ($live) = `$B/bin/eventview pools --json $dir/lisp.paw` =~ /"class": "AMS".*?"left_bytes": (\d+)/s;
my ($end) = (split /\n/, `$B/bin/eventcnv -E TraceEnd $dir/lisp.paw`)[-1] =~ /marked=(\d+)/;
cmp_ok $live, '>=', $end, 'what lives in the end is what the last collection left, and what came after it';
cmp_ok $live, '<', 2 * $end, 'which is little';

# The program has emitters of two kinds, its own pool's and the one that records its malloc: what both have is shown at
# the end, in any view.
my ($summary) = `$B/bin/eventview $dir/lisp.paw` =~ /^live at end +(\d+) objects/m;
my $objects = `$B/bin/eventview live $dir/lisp.paw`;
my $shown = sum($objects =~ /^  objects +(\d+),/mg);
is $shown, $summary, 'the live objects of both';
like $objects, qr/\bAMS\b/, 'those of its pool';
like $objects, qr/\bmalloc\b/, 'and those that malloc gave';
done_testing;
