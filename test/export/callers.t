#!/usr/bin/perl
# callers.t -- a part of a log knows who asked for what lived where it begins
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have 64 bits
use FindBin;
use lib "$FindBin::Bin/../lib";
use Cwd qw(abs_path);
use EndToEnd qw($Dir run);
use JSON::PP qw(decode_json);
use Test::More;

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $B = abs_path($ENV{B} || 'build/cool');
my @program = ('perl', '-e', 'my (%h, @a); $h{$_ % 900} .= "x" x ($_ % 70), $a[$_] = [$_] for 1 .. 9000');

sub json { return decode_json((run("$B/bin/eventview", '--json', '--top', 100000, @_))[1]) }
sub called { my ($place) = @_; return join ' ', map { $_ // '-' } @$place{qw(module function offset)} }

# What lives in each process, by address: of how many bytes, and who asked for it.
sub lives {
    my (@how) = @_;
    return {map { my $process = $_; map { ("$process->{pid} $_->{addr}" => "$_->{size} " . called($_)) }
                  @{$process->{largest}} } @{json('live', @how)->{processes}}};
}

# What each caller has left.
sub leaks {
    my (@how) = @_;
    return {map { (called($_) => "$_->{objects} $_->{bytes}") } @{json('leaks', @how)->{leaks}}};
}

sub cut {
    my ($to, @how) = @_;
    my ($status, $out, $err) = run("$B/bin/eventcnv", '-f', 'paw', '--force', '-o', $to, @how);
    $err =~ s/^.* it has no symbols for some of its code; .*\n//mg;
    is "$status$out$err", '0', 'a part is written' . (grep({ $_ eq '--symbols' } @how) ? ' with symbols' : '');
    return $to;
}

# A time at which much lives that has been allocated, and much more will be.
sub middle {
    my ($log) = @_;
    my @times = map { /^(\S+)/ } grep { /PoolAlloc/ } split /^/m, (run("$B/bin/eventcnv", $log))[1];
    return $times[@times / 2];
}

for my $depth (1, 16) {
    my ($log, $part) = ("$Dir/$depth.paw", "$Dir/part$depth.paw");
    is +(run("$B/bin/eventrec", '-s', $depth, '-o', $log, '--', @program))[0], 0, "a program is recorded with -s $depth";
    my $from = middle($log);
    cut($part, '--from', $from, $log);
    my ($whole, $its) = (lives($log), lives($part));
    cmp_ok scalar(grep { !/ - - / } values %$its), '>', 1000, 'most of what lives at its end has a caller';
    is_deeply $its, $whole, 'the same as in the whole log';
    is_deeply leaks($part), leaks($log), 'and callers have left the same';
    is_deeply json('sites', '--from', $from, $part), json('sites', '--from', $from, $log),
        'what was allocated from its beginning on is the same';
    my $told = json('sites', $part);
    is +(json('sites', '--from', $from, $log))->{allocated_objects}, $told->{allocated_objects},
        'what lived before counts as no allocation';

    # Of a log with check points, which have who asked, too.
    is +(run("$B/bin/eventcnv", '--index', $log))[0], 0, 'the log gets an index';
    cut("$Dir/indexed.paw", '--from', $from, $log);
    is_deeply lives("$Dir/indexed.paw"), $whole, 'and a part that is cut with its help has the same callers';

    # Read where the modules are not: what is told in the log is all.
    cut($part, '--symbols', '--from', $from, $log);
    my @events = split /^/m, (run("$B/bin/eventcnv", $part))[1];
    my %named = map { / SymbolFunction code=(\S+) / ? ($1 => 1) : () } @events;
    my @sites = map { / PoolLiveSite .*site=(\S+)/ ? sprintf('0x%x', hex($1) - 1) : () } @events;
    cmp_ok scalar(grep { !$named{$_} } @sites), '<', @sites / 10 + 1, 'a part tells what nearly all sites are of what lived';
    is_deeply lives($part), $whole, 'and callers have their names there, too';
}

# A child of fork has what its parent had.  Stacks are its parent's own, but sites are not.
{
    my ($log, $part) = ("$Dir/fork.paw", "$Dir/forkpart.paw");
    run("$B/bin/eventrec", '-s', 1, '-o', $log, '--', 'perl', '-e',
        'my @a = map { [$_] } 1 .. 3000; if (my $p = fork) { waitpid $p, 0 } else { push @a, [$_] for 1 .. 3000 }');
    my ($last) = map { m{^(\S+)} } grep { /PoolAlloc/ } reverse split /^/m, (run("$B/bin/eventcnv", $log))[1];
    cut($part, '--from', $last, $log);
    is_deeply lives($part), lives($log), 'a child has the callers of what it inherited, with -s 1';
}
done_testing;
