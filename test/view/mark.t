#!/usr/bin/perl
# mark.t -- a user event as a time: --from, --to and --at take mark:NAME
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $log = "$Dir/mark.paw";
my ($status, undef, $said) = run("$B/bin/eventrec", '-o', $log, '--', "$B/prog/known",
    qw(m0=100000 wbegin m1=200000 wmiddle f0 m2=300000 wbegin), 'wthe end', 'f1');
is $status, 0, 'recorded' or diag $said;

sub sizes {
    my ($code, $out, $err) = run("$B/bin/eventcnv", '-f', 'csv', '-e', 'size >= 100000 && name == "PoolAlloc"', @_, $log);
    is $code, 0, "@_: status" or diag $err;
    return join ' ', grep { defined && /^\d+$/ && $_ >= 100000 } map { (split /,/)[6] } split /\n/, $out;
}
is sizes(), '100000 200000 300000', 'all';
is sizes('--from', 'mark:begin'), '200000 300000', 'from a mark on: the first of its name';
is sizes('--to', 'mark:middle'), '100000 200000', 'up to one';
is sizes('--from', 'mark:begin', '--to', 'mark:middle'), '200000', 'between two';
is sizes('--from', 'mark:the end'), '', 'a name with a space';

my (undef, $live) = run("$B/bin/eventview", 'live', '--json', '--at', 'mark:the end', $log);
my %large = map { $_->{size} => 1 } map { @{$_->{largest}} } @{decode_json($live)->{processes}};
ok !$large{100000} && $large{200000} && $large{300000}, 'live --at a mark';

my $last = (run("$B/bin/eventcnv", $log))[1] =~ /.*^(\d+\.\d+) [^\n]*\n\z/ms ? $1 : die;
my @late = (run("$B/bin/eventcnv", '--from', 'end-0', $log))[1] =~ /^(\d+\.\d+) /mg;
ok !(grep { $_ < $last } @late), 'nothing that is earlier than the end';
is sizes('--from', 'end-1000'), '100000 200000 300000', 'long before the end is from the beginning on';
is sizes('--to', 'end-1000'), '', 'and nothing is earlier';
is sizes('-e', 'time >= "end-1000" && name == "PoolAlloc"'), '100000 200000 300000', 'in a filter, too';

my @bad = run("$B/bin/eventview", '--from', 'mark:nobody', $log);
is $bad[0], 2, 'no such mark: status';
like $bad[2], qr/--from: the log has no event of the program's own that is called 'nobody'/, 'what is said';
@bad = run("$B/bin/eventcnv", '--from', 'summit', $log);
like $bad[2], qr/'summit' is neither seconds nor HH:MM:SS, nor end-SECONDS, nor mark:NAME/, 'what is no time';

done_testing;
