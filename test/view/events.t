#!/usr/bin/perl
# events.t -- eventview events: counts, bytes and rates, against what the lines of eventcnv come to
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
my $log = "$Dir/events.paw";

# Bytes of an event by its format, as the registry has them; a string's come on top.
my (%bytes, %string);
my $registry = slurp('code/eventdef.h');
while ($registry =~ /^RELATION\((\w+), \w+, \w+, \w+, (\w+)\)/mg) {
    my ($name, $format) = ($1, $2);
    $bytes{$name} = 8 + 8 * ($format =~ tr/PAWD//) + 4 * ($format =~ tr/U//);
    $string{$name} = $format =~ /S/;
}

sub oracle {
    my (@options) = @_;
    my ($status, $out) = run("$B/bin/eventcnv", '-f', 'csv', @options);
    my %count;

    for my $line (split /\n/, $out) {
        my ($time, undef, undef, $kind, $name) = split /,/, $line;
        next if $time eq 'time';
        ++$count{$name}{events};
        $count{$name}{kind} = $kind;
        $count{$name}{first} //= $time;
        $count{$name}{last} = $time;
    }
    return \%count;
}

sub compare {
    my ($what, @options) = @_;
    my ($status, $out, $err) = run("$B/bin/eventview", 'events', '--json', @options);
    my $view = decode_json($out);
    my $true = oracle(@options);
    my ($sum, $wrong, %kind) = (0, 0);

    is $status, 0, "$what: status" or diag $err;
    is_deeply {map { $_->{name} => $_->{events} } @{$view->{types}}}, {map { $_ => $true->{$_}{events} } keys %$true}, "$what: types";
    for my $type (@{$view->{types}}) {
        my $its = $true->{$type->{name}};
        $sum += $type->{events};
        $kind{$type->{kind}} += $type->{events};
        ++$wrong if $type->{kind} ne $its->{kind} || abs($type->{first} - $its->{first}) > 1e-6 || abs($type->{last} - $its->{last}) > 1e-6;
        ++$wrong if !$string{$type->{name}} && $type->{bytes} != $type->{events} * $bytes{$type->{name}};
        ++$wrong if abs($type->{a_second} - $type->{events} / ($view->{last} - $view->{first})) > 0.01 + 1e-4 * $type->{a_second};
    }
    is $wrong, 0, "$what: kinds, bytes, rates, first and last";
    is $view->{events}, $sum, "$what: all of them";
    is_deeply {map { $_->{kind} => $_->{events} } @{$view->{kinds}}}, \%kind, "$what: by kind";
    return $view;
}

my ($status, undef, $said) = run("$B/bin/eventrec", '-o', $log, '-k', '+Sync', '--', $^X, '-e', 'my @a = map { "x" x $_ } 1 .. 3000; system "true"');
is $status, 0, 'recorded' or diag $said;
compare('all', $log);
compare('some kinds', '-k', 'System,Arena', $log);
compare('a time', '--to', '0.01', $log);
compare('a filter', '-e', 'tid == pid', $log);
compare('so many', '-n', 100, $log);
compare('two logs', $log, 'test/good/discarded.paw');
is compare('one process', '--process', 'true', $log)->{discarded}, 0, 'nothing is missing';
cmp_ok compare('a log that lacks some', 'test/good/discarded.paw')->{discarded}, '>', 0, 'what is missing is said';

my (undef, $text) = run("$B/bin/eventview", 'events', $log);
like $text, qr/^ +events +share +bytes +a second$/m, 'for people: a head';
unlike $text, qr/^.{81}/m, 'no line is longer than 80 columns';
my (undef, $both) = run("$B/bin/eventview", 'events,summary', '--json', $log);
$both = decode_json($both);
is $both->{events}{events}, $both->{summary}{events}, 'with another view, in one pass';

done_testing;
