#!/usr/bin/perl
# picture.t -- the page of a replay: its curves are those that were recorded and measured, and nothing in it acts
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Browser;
use EndToEnd qw($Dir run slurp spew);
use MIME::Base64 qw(decode_base64);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $SAN = $ENV{SAN} || '';
my ($MiB, $height) = (1 << 20, 320); # the plot's height, in units of the picture

# replayed($log, @options) -- status, standard error, and the page
sub replayed {
    my ($log, @options) = @_;
    my ($status, $out, $err) = run("$B/bin/replay", '-n', 1, '-a', 'libc,pawprint', '--report', "$Dir/page.html", @options, $log);
    return ($status, $err, -e "$Dir/page.html" ? slurp("$Dir/page.html") : '');
}

# most($page, $pattern) -- the height of a curve at most, as a share of the plot
sub most {
    my ($page, $pattern) = @_;
    my ($points) = $page =~ /$pattern[^>]* points="([^"]*)"/ or return 0;
    my $top = $height;
    $top = $_ < $top ? $_ : $top for $points =~ /,([\d.]+)/g;
    return ($height + 12 - $top) / $height;
}

# Forty MiB by and by, of which half stays: blocks that libc takes from its heap.
my $grow = 'my @keep; for my $i (1 .. 400) { push @keep, "x" x 100_000; select undef, undef, undef, 0.002 } '
         . 'splice @keep, 0, 200; select undef, undef, undef, 0.3';
SKIP: {
    skip 'recorded by the cool variety without sanitizers', 1
        if $SAN ne '' || ($ENV{VARIETY} // 'cool') ne 'cool';
    my ($status, undef, $said) = run("$B/bin/eventrec", '-o', "$Dir/run.paw", '--', 'perl', '-e', $grow);
    is $status, 0, 'a program that grows is recorded' or diag $said;
    ($status, my $err, my $page) = replayed("$Dir/run.paw");
    is $status, 0, 'and replayed' or diag $err;
    like $err, qr/^replay: the picture is in \Q$Dir\E\/page\.html$/m, 'where the picture is, is said';
    my ($scale) = sort { $b <=> $a } $page =~ /<td>([\d.]+)<\/td>/g;
    my ($live) = $page =~ /not freed<\/td><td>([\d.]+)</;
    cmp_ok abs($live - 38.6), '<', 3, 'the bytes that lived are in the table';
    my ($own) = $page =~ /as it was recorded<\/td><td>([\d.]+)</;
    cmp_ok $own, '>', $live, 'the program has more';
    cmp_ok $own, '<', $live + 20, 'but not much more';
    my %curve = (live => most($page, 'class="live"'), own => most($page, 'class="curve own"'),
                 libc => most($page, 'style="stroke: var\(--h0\)"'), pools => most($page, 'style="stroke: var\(--h1\)"'));
    cmp_ok $curve{$_}, '>', 0.5, "$_ has a curve" for sort keys %curve;
    cmp_ok $curve{$_}, '<=', 1, "$_ is within the plot" for sort keys %curve;
    cmp_ok abs($curve{own} / $curve{live} - $own / $live), '<', 0.02, 'as high as the numbers say';
    cmp_ok $curve{libc}, '>=', $curve{live} * 0.97, 'what is resident in the replay is no less than what lives';

  SKIP: {
        skip 'chromium and chromedriver are not installed', 3 if Browser::missing();
        my $browser = eval { Browser->begin($Dir, browser => 'ALL') };
        skip "the browser does not begin: $@" =~ s/\s+/ /gr, 3 if !$browser;
        mkdir "$B/screenshots";
        for my $theme (qw(light dark)) {
            for my $width (1280, 400) {
                $browser->devtools('Emulation.setDeviceMetricsOverride', width => $width, height => 760,
                                   deviceScaleFactor => 1, mobile => $width < 500 ? JSON::PP::true : JSON::PP::false);
                $browser->devtools('Emulation.setEmulatedMedia', features => [{name => 'prefers-color-scheme', value => $theme}]);
                $browser->open_page("file://$Dir/page.html");
                my $picture = $browser->devtools('Page.captureScreenshot', format => 'png');
                spew("$B/screenshots/replay-$theme-$width.png", decode_base64($picture->{data}));
            }
        }
        is $browser->script('return document.querySelectorAll("polyline").length'), 3, 'the browser draws the curves';
        is $browser->script('return document.documentElement.scrollWidth <= innerWidth'), 1, 'a narrow page does not scroll sideways';
        is_deeply [map { $_->{message} } $browser->logs('browser')], [], 'and has nothing to complain of';
    }
}

# Names out of the log do nothing in the page.
{
    my $bad = "$Dir/<script>alert(1)</script>&\".paw" =~ s{</}{<\\}r;
    system("$B/test/heaptest", 'churn', "$Dir/churn.paw") == 0 or die;
    spew($bad, slurp("$Dir/churn.paw"));
    my ($status, $err, $page) = replayed($bad);
    is $status, 0, 'a log of any name is replayed' or diag $err;
    unlike $page, qr/<script/, 'its name is no element in the page';
    like $page, qr/&#60;script&#62;/, 'but can be read there';
}

# What is there stays, if it is no such page.
{
    spew("$Dir/page.html", "<!DOCTYPE html>\n<p>mine");
    my ($status, $err) = replayed("$Dir/churn.paw");
    is $status, 1, 'another file is not replaced';
    like $err, qr/page\.html: it is there, and is no report$/m, 'which is said';
    is slurp("$Dir/page.html"), "<!DOCTYPE html>\n<p>mine", 'and is as it was';
    unlink "$Dir/page.html";
    ($status) = replayed("$Dir/churn.paw", '--process', 'all');
    is $status, 2, 'one page does not show all processes';
    ok !-e "$Dir/page.html", 'and none is made';
    ($status, $err) = run("$B/bin/replay", '-n', 1, '-a', 'libc', '--report', "$Dir/none/page.html", "$Dir/churn.paw");
    is $status, 1, 'a folder that is not there is a failure';
}
done_testing;
