#!/usr/bin/env perl
# definitions.t -- what explains the events of a log is there soon: a log that was cut off has modules and stacks
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run slurp);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my ($log, $cut) = ("$Dir/whole.paw", "$Dir/cut.paw");

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

my $program = 'for my $i (1 .. 150000) { push @list, "x" x ($i % 100); splice @list, 0, 50 if @list > 100 }';
# A program that waits for eventrec, so that this has many rounds, however busy the machine is.
my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 16, '-p', 'block', '-n', 16, '-o', $log, '--',
    $ENV{PERL} || 'perl', '-e', "my \@list; $program");
is $status, 0, 'a recording' or diag $err;
my ($events) = $err =~ /^eventrec: (\d+) events \(0 discarded\)/m;
my ($checked, undef, $lacks) = run("$B/bin/eventcnv", '--check', $log);
is $checked, 0, 'nothing is missing' or diag $lacks;
my (undef, $text) = run("$B/bin/eventcnv", $log);
is scalar(() = $text =~ /\n/g), $events, 'and each event is there once';

my $whole = slurp($log);
cmp_ok length $whole, '>', 500000, 'it has some hundred blocks';
open my $out, '>', $cut or die;
print $out substr $whole, 0, length($whole) * 0.6;
close $out;
(undef, $text) = run("$B/bin/eventcnv", '-E', 'ModuleLoad', $cut);
like $text, qr{/libc\.so}, 'if it is cut off, it has the modules';
(undef, $text) = run("$B/bin/eventview", 'sites', $cut);
like $text, qr/^ *\d+\.\d% .* Perl_\w+/m, 'and who called has a name';
unlike $text, qr/\(not known\)|lost stacks/, 'and its stack is known' or diag $text;

done_testing;
