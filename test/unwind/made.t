#!/usr/bin/perl
# made.t -- stacks go through code of which no description tells, where it keeps frame pointers, and end there else
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my ($status, undef, $said) = run("$B/bin/eventrec", '-s', 16, '-o', "$Dir/made.paw", '--', "$B/prog/made");
is $status, 0, 'a program that makes code is recorded' or diag $said;
my $folded = (run("$B/bin/eventcnv", '-f', 'folded', '--symbols', "$Dir/made.paw"))[1];
like $folded, qr/^made;.*main;[^;]+;withPointer(?:;allocate)? 1001$/m, 'code with a frame pointer is a frame as any other';
like $folded, qr/^made;\?;[^;]+;withNothing(?:;allocate)? 1002$/m, 'where rbp leads nowhere the stack ends';
like $folded, qr/^made;\?;[^;]+;withOther(?:;allocate)? 1003$/m, 'nor is it taken for a frame where no call has been';
diag $folded if !Test::More->builder->is_passing;

done_testing;
