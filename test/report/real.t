#!/usr/bin/perl
# real.t -- the report of a recorded program, in a browser: its numbers are those of eventview
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Of spans from the beginning every number must be the same.  Of others eventview knows nothing of what lived before:
# there what was allocated is compared, events by type, and what lives at both ends.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use List::Util qw(sum0);
use Browser;
use EndToEnd qw($Dir run);
use JSON::PP ();
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'nothing is recorded of objects here' if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
plan skip_all => 'this eventview makes no report' if (run("$B/bin/eventview", '--help'))[1] !~ /\breport\b/;
plan skip_all => 'chromium and chromedriver are not installed' if Browser::missing();
my $browser = eval { Browser->begin($Dir, browser => 'ALL') };
plan skip_all => "the browser does not begin: $@" =~ s/\s+/ /gr if !$browser;

my $seed = $ENV{SEED} // time;
my $json = JSON::PP->new->utf8;
diag "SEED=$seed";
srand $seed;

my ($log, $html);

# begin(@command) -- record a program, make a report of it, and open that
sub begin {
    my ($name, @command) = @_;
    ($log, $html) = ("$Dir/$name.paw", "$Dir/$name.html");
    is((run("$B/bin/eventrec", '-s', '16', '-o', $log, '--', @command))[0], 0, "$name is recorded");
    my ($status, undef, $errors) = run("$B/bin/eventview", 'report', '-o', $html, $log);
    is $status, 0, 'a report is made of it' or diag $errors;
    $browser->open_page("file://$html");
    is $browser->script('return pawprint.ready'), JSON::PP::true, 'the page reads it';
    is_deeply [map { $_->{message} } $browser->logs('browser')], [], 'with nothing on the console';
    return;
}

# A view of eventview, of all or of a span in ns.
sub view {
    my ($name, @options) = @_;
    my ($status, $out, $errors) = run("$B/bin/eventview", $name, '--json', @options, $log);
    is $status, 0, "eventview $name @options" or diag $errors;
    return $json->decode($out);
}

sub seconds { return sprintf '%d.%09d', int($_[0] / 1e9), $_[0] % 1e9 }

sub span { return map { defined $_->[1] ? ($_->[0], seconds($_->[1])) : () } ['--from', $_[0]], ['--to', $_[1]] }

# Callers by name: a function, or a module and an offset.
sub by_caller {
    my ($sites, @fields) = @_;
    my %by;
    for my $site (@$sites) {
        next if $site->{other} || !grep { $site->{$_} } @fields;
        my $name = $site->{function} // ($site->{module} // '') =~ s{.*/}{}r . '+' . ($site->{offset} // '');
        $by{$name}{$_} += $site->{$_} for @fields;
    }
    return \%by;
}

# Are callers of the page those of eventview?  Where others are summed in one line, none may have more, and all as much.
sub callers_are {
    my ($page, $view, $name, @fields) = @_;
    my ($got, $want) = (by_caller($page, @fields), by_caller($view, @fields));
    my @others = grep { $_->{other} } @$page;
    return is_deeply $got, $want, $name if !sum0(map { @$_{@fields} } @others);
    for my $field (@fields) {
        my @more = grep { $got->{$_}{$field} > ($want->{$_}{$field} // 0) } keys %$got;
        is "@more", '', "$name, no $field too many";
        is sum0(map { $_->{$field} } @$page), sum0(map { $_->{$field} } @$view), "$name, $field in all";
    }
    my $first = $fields[0];
    # In a part of the time one of the others may be among the largest.
    my @largest = grep { $got->{$_} } (sort { $want->{$b}{$first} <=> $want->{$a}{$first} } keys %$want)[0 .. 19];
    is_deeply [@$got{@largest}], [@$want{@largest}], "$name, the largest";
    return;
}

sub numbers {
    my ($from, $to) = @_;
    $browser->script(defined $from ? 'pawprint.select(...arguments)' : 'pawprint.all()', $from, $to);
    return $browser->script('return pawprint.numbers()');
}

# Totals of the page with the names that eventview gives them.
sub totals {
    my ($n) = @_;
    return {peak_bytes => $n->{peak}{bytes}, peak_objects => $n->{peak}{objects}, left_bytes => $n->{left}{bytes},
            left_objects => $n->{left}{objects}, allocated_bytes => $n->{allocated}{bytes},
            allocated_objects => $n->{allocated}{objects}, temporary_objects => $n->{temporary}{objects},
            resizes => $n->{resizes}};
}

# Rows of a table of the page, or of eventview, as lists; without those whose field $some is 0.
sub rows {
    my ($rows, $some, @fields) = @_;
    return [map { [@$_{@fields}] } grep { $_->{$some} } @$rows];
}

my ($whole, $slices, $slice); # the numbers of the whole run; how many slices there are, and how long

# Spans from the beginning to a slice, or all: every number.
sub compare_begin {
    my ($to) = @_;
    my $end = defined $to ? $to * $slice : undef;
    my $got = defined $to ? numbers(0, $end) : $whole;
    my $of = defined $to ? "to slice $to of $slices: " : 'all: ';
    my $sites = view('sites', span(undef, $end));
    my $totals = totals($got);
    my @fields = qw(peak_bytes left_bytes left_objects allocated_bytes allocated_objects temporary_objects resizes);
    is_deeply $totals, {map { $_ => $sites->{$_} } keys %$totals}, "${of}totals";
    is seconds($got->{peak}{time}), sprintf('%.9f', $sites->{peak_at}), "${of}the moment of the peak";
    callers_are($got->{sites}, $sites->{sites}, "${of}callers", @fields);
    my $sizes = view('sizes', span(undef, $end));
    is_deeply rows($got->{sizes}, allocated_bytes => qw(from allocated_objects allocated_bytes peak_bytes left_bytes)),
        rows($sizes->{classes}, allocated_bytes => qw(from allocations allocated_bytes peak_bytes left_bytes)),
        "${of}sizes";
    my $lifetimes = view('lifetimes', span(undef, $end));
    my @lived = map { {%$_, from => $_->{from} / 1e9} } grep { $_->{from} >= 0 } @{$got->{lifetimes}};
    my @life = qw(from objects bytes);
    is_deeply rows(\@lived, objects => @life), rows($lifetimes->{seconds}, objects => @life), "${of}lifetimes";
    return;
}

# Spans between two slices: what does not depend on what lived before.
sub compare_between {
    my ($first, $last) = @_;
    my ($from, $to) = ($first * $slice, $last * $slice);
    my $got = numbers($from, $to);
    my $of = "slices $first to $last of $slices: ";
    my $events = view('events', span($from, $to));
    is $got->{events}, $events->{events}, "${of}events";
    is_deeply {map { $_->{name} => $_->{events} } grep { $_->{events} } @{$got->{types}}},
        {map { $_->{name} => $_->{events} } @{$events->{types}}}, "${of}events by type";
    my $sites = view('sites', span($from, $to));
    callers_are($got->{sites}, $sites->{sites}, "${of}allocations by caller", 'allocated_objects');
    for my $end (['live_start', $from], ['live_end', $to]) {
        my ($name, $time) = @$end;
        my @processes = @{view('live', '--at', seconds($time))->{processes}};
        for my $unit (qw(bytes objects)) {
            is $got->{$name}{$unit}, sum0(map { $_->{$unit} } @processes), "${of}$name, $unit";
        }
    }
    return;
}

sub compare {
    my ($spans) = @_;
    $whole = numbers();
    $slices = $whole->{b};
    $slice = ($whole->{to} - $whole->{from}) / $slices;
    compare_begin(undef);
    for (1 .. $spans) {
        compare_begin(1 + int rand $slices - 1);
        my $first = int rand $slices;
        compare_between($first, $first + 1 + int rand $slices - $first);
    }
    return;
}

my $perl = <<'END';
my %h;
$h{$_ % 5000} = "x" x ($_ % 900) for 1 .. 20000;
my @a = map { {a => $_} } 1 .. 5000;
splice @a, 0, 4000;
%h = ();
END
begin('perl', $ENV{PERL} // 'perl', '-e', $perl);
compare(3);

# One whose stacks are many more than are kept one by one.
SKIP: {
    my ($python) = grep { -x } map { "$_/python3" } '/usr/bin', split /:/, $ENV{PATH};
    skip 'python3 is not installed', 1 if !$python;
    local $ENV{PYTHONMALLOC} = 'malloc';
    my $text = 'import json, ast, collections; ast.parse(open(json.__file__).read() + open(collections.__file__).read())';
    begin('python3', $python, '-c', $text);
    compare(1);
}

done_testing;
