#!/usr/bin/perl
# leaks.t -- what was never freed, with and without suppressions
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run spew view view_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $log = "$Dir/leaks.paw";
my ($status, $out, $err) = run("$B/bin/eventrec", '-s', 1, '-o', $log, "$B/prog/sites");
is($status, 0, 'recorded') or diag $err;
# The function of the program that a line is of.
sub of { ($_[0]{module} // '') =~ m{/sites$} ? $_[0]{function} : '' }

my $doc = view_json('leaks', $log);
my %of = map { (of($_) => $_) } @{$doc->{leaks}};
delete $of{''};
is_deeply({map { ($_ => [@{$of{$_}}{qw(bytes objects had_objects allocated_objects earlier_objects resizes)}]) } keys %of},
          {keeper => [170_000, 170, 200, 100, 100, 0], regrow => [2_000, 2, 2, 0, 1, 9], aligner => [6 * 4096, 6, 10, 7, 3, 0],
           child => [2_500, 5, 5, 5, 0, 0]}, 'what each function left, in both processes');
is(of($doc->{leaks}[0]), 'keeper', 'the largest comes first');
my $summary = view_json('summary', $log);
is_deeply([@$doc{qw(left_bytes left_objects)}], [@$summary{qw(live_bytes live_objects)}], 'in all: what the summary has live at end');
my ($bytes, $objects) = (0, 0);
$bytes += $_->{bytes}, $objects += $_->{objects} for @{$doc->{leaks}};
is_deeply([$bytes, $objects], [@$doc{qw(left_bytes left_objects)}], 'which is the sum of the lines');

my $file = spew("$Dir/supp", "# known\nleak:nothing like that\nleak:prog*/sites\$\nleak:sites\n");
my $rest = view_json('leaks', "--suppressions=$file", $log);
is(scalar(grep { of($_) } @{$rest->{leaks}}), 0, 'what a file names is left out');
is_deeply($rest->{suppressions}, [{pattern => 'nothing like that', bytes => 0, objects => 0},
    {pattern => 'prog*/sites$', bytes => 199_076, objects => 183},
    {pattern => 'sites', bytes => 0, objects => 0}], 'by the first pattern that matches, which is said');
is($rest->{left_bytes} + $rest->{suppressed_bytes}, $doc->{left_bytes}, 'nothing is lost by that');
like((view('leaks', "--suppressions=$file", $log))[1], qr/^suppressed +183 objects, 199076 bytes \(194\.4 KiB\): leak:prog\*\/sites\$$/m,
     'for people, too');
like((view('leaks', $log))[1], qr/^ +166\.0 KiB +170 +200 +85\.0%  keeper \(sites\)$/m, 'a line');
my $one = view_json('leaks', '--suppressions=' . spew("$Dir/one", "leak:^keep*r\$\n"), $log);
is_deeply([map { of($_) || () } @{$one->{leaks}}], [qw(aligner child regrow)], 'a pattern may name a function');
spew("$Dir/bad", "thread:x\n");
($status, undef, $err) = view('leaks', "--suppressions=$Dir/bad", $log);
is($status, 1, 'a file of something else');
like($err, qr{^eventview: \S+/bad: line 1 is not leak:PATTERN$}, 'is named');
is((view('sites', "--suppressions=$file", $log))[0], 2, 'it means nothing to other views');

done_testing;
