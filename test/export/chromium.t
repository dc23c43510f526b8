#!/usr/bin/perl
# chromium.t -- a chrome trace as a browser's own viewer understands it
#
# SPDX-License-Identifier: BSD-2-Clause
#
# The viewer is that of the developer tools, which chromium has with it: Debian builds it without chrome://tracing.  It is
# driven through chromedriver, which takes HTTP, and asked what it made of the trace.  What is wrong with the browser skips;
# only what is wrong with the trace fails.  Of slices of several threads it is asked how many there are, not how long they
# are: it looks for the begin of an end among those of all threads.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Browser;
use JSON::PP ();
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'nothing is recorded of objects here' if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
plan skip_all => 'chromium and chromedriver are not installed' if Browser::missing();

my $json = JSON::PP->new->utf8->allow_nonref;
my $browser = eval { Browser->begin($Dir) };
eval { $browser->open_page('devtools://devtools/bundled/devtools_app.html') } if $browser;
plan skip_all => "the browser does not begin: $@" =~ s/\s+/ /gr if $@;

# understood($text) -- what the viewer makes of a trace: for each lane its name, its slices by name, and how long they are
sub understood {
    my ($text) = @_;
    return $browser->script(<<'END', $text);
const text = arguments[0];
return (async () => {
    let viewer;
    try {
        viewer = await import('devtools://devtools/bundled/models/trace/trace.js');
    } catch (e) {
        return {absent: String(e)};
    }
    const model = viewer.TraceModel.Model.createWithAllHandlers();
    try {
        await model.parse(JSON.parse(text).traceEvents, {metadata: {}});
    } catch (e) {
        return {wrong: String(e)};
    }
    const parsed = model.parsedTrace(0), data = parsed.data || parsed, lanes = {};
    for (const [pid, process] of data.Renderer.processes)
        for (const [tid, thread] of process.threads) {
            const lane = lanes[pid + '/' + tid] = {name: thread.name, slices: {}, microseconds: {}};
            for (const {name, dur} of thread.entries) {
                lane.slices[name] = (lane.slices[name] || 0) + 1;
                lane.microseconds[name] = (lane.microseconds[name] || 0) + dur;
            }
        }
    return {lanes};
})();
END
}

# expected($text) -- the same from the trace itself: an end is that of the slice of its lane that began last
sub expected {
    my ($text) = @_;
    my (%lane, %open, %name);

    for my $event (@{$json->decode($text)->{traceEvents}}) {
        my $where = "$event->{pid}/" . ($event->{tid} // '');
        $name{$where} = $event->{args}{name} if $event->{ph} eq 'M' && $event->{name} eq 'thread_name';
        if ($event->{ph} eq 'B') {
            push @{$open{$where}}, $event;
            ++$lane{$where}{slices}{$event->{name}};
        } elsif ($event->{ph} eq 'E') {
            my $begin = pop @{$open{$where}};
            $lane{$where}{microseconds}{$begin->{name}} += $event->{ts} - $begin->{ts};
        }
    }
    $lane{$_}{name} = $name{$_} for keys %lane;
    return \%lane;
}

for my $program (['perl', $ENV{PERL} // 'perl', '-e', 'my %h; $h{$_ % 700} = "x" x ($_ % 3000) for 1 .. 3000'],
                 ['threads', "$B/prog/sync"]) {
    my ($name, @command) = @$program;
    run("$B/bin/eventrec", '-k', '+Sync', '-o', "$Dir/$name.paw", '--', @command);
    my ($status, $text) = run("$B/bin/eventcnv", '-f', 'chrome', '--thin', '20us', "$Dir/$name.paw");
    is $status, 0, "$name as a chrome trace";
    my $got = eval { understood($text) } // {absent => $@};
    SKIP: {
        skip "this browser's viewer cannot be asked: $got->{absent}" =~ s/\s+/ /gr, 1 if $got->{absent};
        is $got->{wrong}, undef, 'is understood';
        my $expected = expected($text);
        my $threads = keys %$expected;
        cmp_ok $threads, $name eq 'perl' ? '==' : '>', 1, 'with slices in so many lanes';
        is_deeply [sort grep { %{$got->{lanes}{$_}{slices}} } keys %{$got->{lanes}}], [sort keys %$expected], 'the same lanes';
        for my $where (sort keys %$expected) {
            my ($lane, $want) = ($got->{lanes}{$where}, $expected->{$where});
            is $lane->{name}, $want->{name}, "lane $where has its name";
            is_deeply $lane->{slices}, $want->{slices}, 'and its slices';
            next if $threads > 1;
            is sprintf('%.2f', $lane->{microseconds}{$_} // -1), sprintf('%.2f', $want->{microseconds}{$_}), "$_: as long in all"
                for sort keys %{$want->{slices}};
        }
    }
}

done_testing;
