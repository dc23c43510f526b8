#!/usr/bin/perl
# collections.t -- the collections of a report: those of the view, pauses as the events have them, and the page's lane
#
# SPDX-License-Identifier: BSD-2-Clause
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
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $json = JSON::PP->new->utf8;
my $log = "$Dir/collects.paw";
{
    local $ENV{PAWPRINT_LOG} = $log;
    is((run("$B/prog/collects"))[0], 0, 'a program that collects is recorded');
}

sub view {
    my ($status, $out, $errors) = run("$B/bin/eventview", @_, '--json', $log);
    is $status, 0, "eventview @_" or diag $errors;
    return $json->decode($out);
}

sub ns { return defined $_[0] ? sprintf('%.0f', $_[0] * 1e9) + 0 : undef }

# ---- The data: what the view says -----------------------------------------------------------------------------------

my @options = map { [@$_] } [], ['--from', '0.002'], ['-E', 'TraceStart,TraceEnd'];
for my $options (@options) {
    my ($view, $report) = (view('collections', @$options), view('report', @$options));
    my @theirs = sort { $a->{begin} <=> $b->{begin} || $a->{number} <=> $b->{number} } map {
        my $of = $_;
        +{(map { $_ => $of->{$_} } qw(pid pool label number why condemned reclaimed pauses)),
          map { $_ => ns($of->{$_}) } qw(begin end paused longest)};
    } @{$view->{collections}};
    my @ours = map {
        my %of = %$_;
        delete @of{qw(phases process)};
        \%of;
    } @{$report->{collections}};
    is_deeply [sort { $a->{begin} <=> $b->{begin} || $a->{number} <=> $b->{number} } @ours], \@theirs,
        "@$options: each collection is what the view says of it";
    is $report->{collections_all}, $view->{count}, 'and there are as many';
    is scalar(grep { ($_->{label} // '') ne 'the objects' } @{$view->{collections}}), 0, 'and all are of the pool with a label';
    for my $one (@{$report->{collections}}) {
        my @lengths = map { $_->[2] } @{$one->{phases}};
        is_deeply [scalar(@lengths), sum0(@lengths), (sort { $b <=> $a } @lengths, 0)[0]],
            [@$one{qw(pauses paused longest)}], "collection $one->{number}: its pauses are those that are counted";
    }
}

# ---- Pauses: what the events say ------------------------------------------------------------------------------------

my $report = view('report');
my (%open, %pauses, $from);
for (split /\n/, (run("$B/bin/eventcnv", '-k', 'Trace', $log))[1]) {
    s/\["[^"]*"\]//g; # labels
    my ($time, $who, $name, @rest) = split ' ';
    my %of = map { /^(\w+)=(.*)/ ? ($1 => $2) : () } @rest;
    my $key = "$of{pool} " . ($of{trace} // '');
    $time = ns($time);
    $open{$who} = $time if $name eq 'TraceStepBegin';
    push @{$pauses{$key}}, "1 $open{$who} " . ($time - $open{$who}) if $name eq 'TraceStepEnd';
    push @{$pauses{$key}}, 0 if $name eq 'TraceFlip';
}
cmp_ok scalar(@{$report->{collections}}), '>', 1, 'there are collections';
for my $one (@{$report->{collections}}) {
    my @events = sort @{$pauses{"$one->{pool} $one->{number}"} // []};
    is_deeply [sort map { $_->[0] ? "@$_" : 0 } @{$one->{phases}}], \@events,
        "collection $one->{number}: stops and steps are those of the events";
}
my ($status, $other) = run("$B/bin/eventview", 'report', '--json', '-E', 'PoolAlloc', $log);
is_deeply $json->decode($other)->{collections}, [], 'without its events there is no collection';

browse();
done_testing;

# ---- The page -------------------------------------------------------------------------------------------------------

# browse -- the same in a browser, where there is one
sub browse {
    my $browser = Browser::missing() ? undef : eval { Browser->begin($Dir, browser => 'ALL') };
    my $html = "$Dir/collects.html";

    if (!$browser) {
        note 'chromium and chromedriver are not installed, or do not begin';
        return;
    }
    is((run("$B/bin/eventview", 'report', '-o', $html, $log))[0], 0, 'a report is made');
    $browser->open_page("file://$html");
    is $browser->script('return pawprint.ready'), JSON::PP::true, 'the page reads it';
    my $text = sub { $browser->script('return document.getElementById(arguments[0]).textContent', $_[0]) };
    my $number = sub { my $n = reverse $_[0]; $n =~ s/(\d{3})(?=\d)/$1,/g; return scalar reverse $n };
    my $is_said = sub {
        my ($one, $how) = @_;
        my $said = $text->('collection-says');
        like $said, qr/^Collection \Q$one->{number}\E of pool "the objects", \Q$one->{pool}\E \(/,
            "$how: collection $one->{number}";
        my ($pauses, $paused, $longest, $condemned, $reclaimed) =
            map { $number->($_) } @$one{qw(pauses paused longest condemned reclaimed)};
        like $said, qr/: $pauses pauses?, $paused ns in all, the longest $longest ns/, 'its pauses are exact';
        like $said, qr/ $condemned bytes, of which $reclaimed /, 'and what there was, and what it took back';
    };
    my @rows = sort { $a->{begin} <=> $b->{begin} } @{$report->{collections}};

    my $numbers = $browser->script('return pawprint.numbers().collections');
    is_deeply [map { [@$_{qw(number begin paused reclaimed)}] } @$numbers],
        [map { [@$_{qw(number begin paused reclaimed)}] } @rows], 'all are in the numbers of the whole run';
    # A click in the middle of each, when it has a third of the width.
    for my $one (@rows) {
        my $place = $browser->script(<<'END', @$one{qw(begin end)});
const [from, to] = arguments;
pawprint.show(from - (to - from), to + (to - from));
const lane = document.getElementById("collections");
lane.scrollIntoView({block: "center"});
await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const box = lane.getBoundingClientRect();
return [box.left + pawprint.x((from + to) / 2), box.top + box.height / 2].map(Math.round);
END
        $browser->act(pointer => {type => 'pointerMove', duration => 0, x => $place->[0], y => $place->[1]},
                      {type => 'pointerDown', button => 0}, {type => 'pointerUp', button => 0});
        $is_said->($one, 'a click');
    }
    $browser->script('pawprint.all(); document.getElementById("plots").focus()');
    $browser->keys((',') x @rows);
    $is_said->($rows[0], 'keys');
    $browser->keys('.');
    $is_said->($rows[1], 'keys');
    is_deeply [map { $_->{message} } $browser->logs('browser')], [], 'nothing on the console';
    return;
}
