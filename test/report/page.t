#!/usr/bin/perl
# page.t -- the page of a report in a browser: zoomed, panned, searched; its numbers beside those of the report's data
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Takes long.
#
# The data is that of test/report/largedata.pl, whose numbers are read and summed here once more.  Pictures of the page
# are kept in $B/screenshots: light and dark, 1280 and 400 pixels wide.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use List::Util qw(sum0);
use Browser;
use Cwd qw(abs_path);
use EndToEnd qw($Dir run slurp spew);
use JSON::PP ();
use MIME::Base64 qw(decode_base64 encode_base64);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $PERL = $ENV{PERL} // 'perl';
my $root = abs_path("$FindBin::Bin/../..");
plan skip_all => 'chromium and chromedriver are not installed' if Browser::missing();
my $browser = eval { Browser->begin($Dir, browser => 'ALL', performance => 'ALL') };
plan skip_all => "the browser does not begin: $@" =~ s/\s+/ /gr if !$browser;

my $seed = $ENV{SEED} // time;
my $json = JSON::PP->new->canonical;
my $shots = "$B/screenshots";
mkdir $B; mkdir $shots;
diag "SEED=$seed";
srand $seed;

# page($name, $data) -- a report with this data (text) as a file; returns its address
sub page {
    my ($name, $data) = @_;
    spew("$Dir/$name.json", $data);
    my @command = ($PERL, "$root/code/report/reportpage.pl", "$root/code/report/page", "$Dir/$name.json");
    my ($status, $html, $errors) = run(@command);
    is $status, 0, "$name: the page is made" or diag $errors;
    spew("$Dir/$name.html", $html);
    return "file://$Dir/$name.html";
}

sub size {
    my ($width, $theme) = @_;
    $browser->devtools('Emulation.setDeviceMetricsOverride', width => $width, height => 900, deviceScaleFactor => 1,
                       mobile => $width < 500 ? JSON::PP::true : JSON::PP::false);
    $browser->devtools('Emulation.setEmulatedMedia', features => [{name => 'prefers-color-scheme', value => $theme}]);
    return;
}

sub shot {
    my ($name, $width) = @_;
    my $height = $browser->script('return document.documentElement.scrollHeight');
    my $picture = $browser->devtools('Page.captureScreenshot', format => 'png', captureBeyondViewport => JSON::PP::true,
                                     clip => {x => 0, y => 0, width => $width, height => $height, scale => 1});
    spew("$shots/$name.png", decode_base64($picture->{data}));
    return;
}

# text_of($id) -- the text of an element that can be seen; "" of another
sub text_of {
    my ($id) = @_;
    return $browser->script(<<'END', $id);
const one = document.getElementById(arguments[0]);
return one.closest("[hidden]") ? "" : one.textContent;
END
}

# wait_for($condition) -- is this expression of the page true within 5 s?
sub wait_for {
    my ($condition) = @_;
    return $browser->script(<<"END");
for (let i = 0; i < 100; ++i) {
  if ($condition) return true;
  await new Promise((done) => setTimeout(done, 50));
}
return false;
END
}

# What the page has loaded, and what it has said, since it was asked for last.
sub quiet {
    my ($name, $address) = @_;
    my @messages = map { JSON::PP->new->utf8->decode($_->{message})->{message} } $browser->logs('performance');
    my @requests = grep { $_ ne $address } map { $_->{params}{request}{url} }
        grep { $_->{method} eq 'Network.requestWillBeSent' } @messages;
    is_deeply \@requests, [], "$name: nothing is loaded from elsewhere";
    is_deeply [map { $_->{message} } $browser->logs('browser')], [], "$name: nothing on the console";
    return;
}

# ---- The data, read once more: packed tables and series as lists ----------------------------------------------------

sub numbers {
    my @numbers;
    my ($value, $scale) = (0, 1);
    for my $byte (unpack 'C*', decode_base64($_[0])) {
        $value += ($byte & 127) * $scale;
        $scale *= 128;
        next if $byte & 128;
        push @numbers, $value;
        ($value, $scale) = (0, 1);
    }
    return @numbers;
}

sub signed { return $_[0] % 2 ? -($_[0] + 1) / 2 : $_[0] / 2 }

sub series {
    my $last = 0;
    return map { $last += signed($_) } numbers($_[0]);
}

# By field and row, a list by slice.
sub table {
    my ($packed, $slices) = @_;
    my @numbers = numbers($packed->{data});
    my %table;
    for my $row (0 .. $packed->{rows} - 1) {
        $table{$_}[$row] = [(0) x $slices] for @{$packed->{fields}};
        my $slice = -1;
        while (my $gap = shift @numbers) {
            $slice += $gap;
            $table{$_}[$row][$slice] = signed(shift @numbers) for @{$packed->{fields}};
        }
    }
    return \%table;
}

# A number of bytes as the page shows it.
sub bytes {
    my ($n) = @_;
    my ($value, @units) = ($n, qw(B KiB MiB GiB));
    while ($value >= 1023.95) {
        $value /= 1024;
        shift @units;
    }
    return $units[0] eq 'B' ? "$value B" : sprintf '%.1f %s', $value, $units[0];
}

# A count as the page shows it.
sub count {
    my $digits = reverse $_[0];
    $digits =~ s/(\d{3})(?=\d)/$1,/g;
    return scalar reverse $digits;
}

my $large = slurp_data(7, '<script>alert(1)</script>', 128, 20_000);
my $data = $json->decode($large);
my $slices = $data->{slices};

sub slurp_data {
    my ($status, $out, $errors) = run($PERL, "$FindBin::Bin/largedata.pl", @_);
    is $status, 0, 'data is made' or diag $errors;
    return $out;
}

# ---- It loads, and is moved -----------------------------------------------------------------------------------------

size(1280, 'light');
my $address = page('large', $large);
$browser->open_page('about:blank');
$browser->logs('performance');
$browser->open_page($address);
ok wait_for('window.pawprint'), 'the script has run';
is $browser->script('return pawprint.ready'), JSON::PP::true, 'the report is read';
is text_of('title'), '<script>alert(1)</script>', 'a name is no markup';
is eval { $browser->ask(GET => '/alert/text') }, undef, 'and is not run';
is $browser->script('return document.querySelectorAll("#page script").length'), 0, 'nor is it an element';
quiet('large', $address);

sub view { return $browser->script('return pawprint.view()') }

# outside_cells() -- how many texts of tables reach beyond their cell, into another
sub outside_cells {
    return $browser->script(<<'END');
return [...document.querySelectorAll("td:not(.text)")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const [inside, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
  return inside.width > 0 && (inside.right > box.right + 1 || inside.left < box.left - 1);
}).length;
END
}

# In a rectangle of the graph: a place at parts of its width and height.
sub place {
    my ($x, $y) = @_;
    my $box = $browser->script('return document.getElementById("plot").getBoundingClientRect()');
    return (x => int($box->{left} + 130 + $x * ($box->{width} - 150)), y => int($box->{top} + $y * $box->{height}),
            duration => 0);
}

my $whole = view();
is_deeply [@$whole{qw(from to)}], [$data->{start}, $data->{end}], 'it begins with the whole run';
$browser->script('document.getElementById("plots").focus()');
$browser->keys('+', '+');
my $zoomed = view();
cmp_ok abs(($zoomed->{to} - $zoomed->{from}) * 4 - ($whole->{to} - $whole->{from})), '<', 10, 'two + show a quarter';
$browser->keys("\x{E014}");
cmp_ok view()->{from}, '>', $zoomed->{from}, 'the right arrow goes on';
$browser->keys("\x{E012}", "\x{E012}");
cmp_ok view()->{from}, '<', $zoomed->{from}, 'the left arrow goes back';
$browser->keys('-');
my $wider = view();
cmp_ok $wider->{to} - $wider->{from}, '>', 1.9 * ($zoomed->{to} - $zoomed->{from}), '- shows more';
$browser->act(wheel => {type => 'scroll', place(0.5, 0.5), deltaX => 0, deltaY => -300});
my $wheeled = view();
cmp_ok $wheeled->{to} - $wheeled->{from}, '<', $wider->{to} - $wider->{from}, 'the wheel zooms';
$browser->keys([shift_key(), "\x{E014}"], [shift_key(), "\x{E014}"]);
my $selection = view()->{selection};
cmp_ok $selection->{b} - $selection->{a}, '>', 0, 'shift and an arrow select';
$browser->keys("\x{E00C}");
is_deeply view(), $whole, 'Escape shows all again';
my ($press, $release) = map { {type => $_, button => 0} } qw(pointerDown pointerUp);
sub move { return {type => 'pointerMove', place(@_)} }
$browser->act(pointer => move(0.25, 0.5), $press, move(0.4, 0.5), move(0.5, 0.5), $release);
$selection = view()->{selection};
cmp_ok abs($selection->{a} - $slices / 4) + abs($selection->{b} - $slices / 2), '<=', 4, 'a drag selects a span';
is view()->{to}, $whole->{to}, 'and does not zoom';
$browser->keys("\x{E007}");
cmp_ok abs(view()->{from} - $slices / 4 * $data->{slice}), '<', 8 * $data->{slice}, 'Enter zooms to it';
is view()->{selection}, undef, 'and it is selected no longer';
$browser->script('pawprint.all()');

sub shift_key { return "\x{E008}" }

# ---- Its numbers: of some spans, and of all ------------------------------------------------------------------------

my $site = table($data->{bysite}, $slices);
my $thread = table($data->{bythread}, $slices);
my $size = table($data->{bysize}, $slices);
my $life = table($data->{bylife}, $slices);
my $type = table($data->{bytype}, $slices);
my %total = map { $_ => [series($data->{total}{$_})] } grep { !/_start$/ } keys %{$data->{total}};

sub any_span {
    my $from = int rand $slices;
    return [$from, $from + 1 + int rand $slices - $from];
}

for my $span ([0, $slices], [$slices - 1, $slices], map { any_span() } 1 .. 4) {
    my ($x, $y) = @$span;
    my @in = $x .. $y - 1;
    $browser->script('pawprint.select(...arguments)', map { $data->{start} + $_ * $data->{slice} } $x, $y);
    my $got = $browser->script('return pawprint.numbers()');
    my $of = sub { my ($table, $field, $row) = @_; return sum0(@{$table->{$field}[$row]}[@in]) };
    my $all_of = sub { my ($table, $field) = @_; return [map { sum0(@$_[@in]) } @{$table->{$field}}] };
    is_deeply [@$got{qw(a b)}], [$x, $y], "slices $x to $y";
    my $sums = sub { return [map { sum0(@{$total{$_}}[@in]) } @_] };
    is_deeply [@{$got->{allocated}}{qw(objects bytes)}], $sums->('allocs', 'alloc_bytes'), 'allocated';
    is_deeply [@{$got->{freed}}{qw(objects bytes)}], $sums->('frees', 'free_bytes'), 'freed';
    is $got->{live_start}{bytes}, $x ? $total{live_end}[$x - 1] : 0, 'live at its begin';
    my @end = map { $total{$_}[$y - 1] } qw(live_end objects_end);
    is_deeply [@{$got->{live_end}}{qw(bytes objects)}], \@end, 'and at its end';
    my $peak = $x;
    $peak = $total{live_peak}[$_] > $total{live_peak}[$peak] ? $_ : $peak for @in;
    is_deeply $got->{peak}, {slice => $peak, bytes => $total{live_peak}[$peak], objects => $total{objects_peak}[$peak],
                             time => $peak * $data->{slice} + $total{peak_at}[$peak]}, 'its peak';
    my $live = sub {
        my ($row, $end) = @_;
        return sum0(map { $site->{in_bytes}[$row][$_] - $site->{out_bytes}[$row][$_] } 0 .. $end - 1);
    };
    my @want = map { my $row = $_; {
        peak_bytes => $live->($row, $peak) + $site->{peak_bytes}[$row][$peak], left_bytes => $live->($row, $y),
        start_bytes => $live->($row, $x), allocated_bytes => $of->($site, 'alloc_bytes', $row),
        allocated_objects => $of->($site, 'allocs', $row), temporary_objects => $of->($site, 'temporary', $row)}
    } 0 .. $#{$data->{sites}};
    my $same = sub { my ($one) = @_; return {map { $_ => $one->{$_} } keys %{$want[0]}} };
    is_deeply [map { $same->($_) } @{$got->{sites}}], \@want, 'all callers';
    is_deeply [map { $_->{allocated_bytes} } @{$got->{sizes}}], $all_of->($size, 'alloc_bytes'), 'sizes';
    is_deeply [map { $_->{objects} } @{$got->{lifetimes}}], $all_of->($life, 'objects'), 'lifetimes';
    for my $field (qw(events user_ns lock_ns)) {
        is_deeply [map { $_->{$field} } @{$got->{threads}}], $all_of->($thread, $field), "threads, $field";
    }
    is_deeply [map { $_->{events} } @{$got->{types}}], $all_of->($type, 'events'), 'types of events';

    # And so the cells of the table, which has those first that had most at the peak.
    my $cells = $browser->script(<<'END');
const cells = (row) => [...row.cells].map((cell) => [cell.textContent, cell.dataset.value]);
return [...document.querySelectorAll("#sites tbody tr")].slice(0, 5).map(cells);
END
    my @order = sort { $want[$b]{peak_bytes} <=> $want[$a]{peak_bytes} || $a <=> $b } 0 .. $#want;
    my @rows = @order[0 .. $#$cells];
    is_deeply [map { [@$_[1, 3, 5, 6]] } @$cells],
        [map { [[bytes($_->{peak_bytes}), $_->{peak_bytes}], [bytes($_->{left_bytes}), $_->{left_bytes}],
                [bytes($_->{allocated_bytes}), $_->{allocated_bytes}],
                [count($_->{allocated_objects}), $_->{allocated_objects}]]
         } @want[@rows]], 'the first cells of the table';
    my @names = map { $_->{other} ? 'other' : $data->{functions}[$_->{function}]{name} } @{$data->{sites}}[@rows];
    is_deeply [map { $_->[0][0] } @$cells], \@names, 'are of these functions';
}

# ---- Search --------------------------------------------------------------------------------------------------------

$browser->script('pawprint.all()');
sub type_into {
    my ($id, $text) = @_;
    return $browser->script(<<'END', $id, $text);
const field = document.getElementById(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event("input"));
END
}
sub click { return $browser->script('document.getElementById(arguments[0]).click()', @_) }
sub texts {
    return $browser->script('return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)', @_);
}
type_into('site-search', 'MAKE_token');
my @used = grep { sum0(@{$site->{allocs}[$_]}) } 2, 102, 202;
is_deeply [sort @{texts('#sites tbody th')}], [map { $data->{functions}[$_]{name} } @used],
    'a search finds functions, whatever case';
type_into('site-search', '^make_(line|table)');
like text_of('sites'), qr/none in this span/, 'a text is no expression';
click('site-regular');
is text_of('site-found') =~ /^(\d+) of/ ? $1 : '',
    scalar(grep { $_->{name} =~ /^make_(line|table)/ } @{$data->{functions}}[0 .. 299]), 'a regular expression';
type_into('site-search', '(');
like text_of('site-found'), qr/^Not a regular expression: /, 'and what is none';
type_into('site-search', '');

click('tab-events');
my $events = $browser->script('return pawprint.events(0, 1000000).length');
is $events, $data->{raw}{count}, 'all raw events are in the list';
my $all = $browser->script('return pawprint.events(0, 5000)');
my $found = $browser->script('return [pawprint.search("UserString"), pawprint.events(0, 3)]');
is $found->[1][0]{name}, 'UserString', 'a search of events';
is_deeply $found->[1][0], (grep { $_->{name} eq 'UserString' } @$all)[0], 'finds the first of them';
$browser->script('pawprint.search("^Huge word", true)');
is $browser->script('return pawprint.events(0, 1)[0].text'), 'word=18446744073709551615',
    'words of 64 bits are exact';
cmp_ok $browser->script('return pawprint.search("alert(1)")'), '>', 0, 'a string of an event is found';
is $browser->script('return document.querySelectorAll("#event-list script").length'), 0, 'and is no markup';
$browser->script('pawprint.search("")');
sub types_seen {
    my %seen = map { $_->{name} => 1 } @{$browser->script('return pawprint.events(0, 2000)')};
    return [sort keys %seen];
}
$browser->script('[...document.querySelectorAll("#kinds button")].find((b) => b.textContent === "Object").click()');
is_deeply types_seen(), [sort map { $_->{name} } grep { $_->{kind} ne 'Object' } @{$data->{types}}],
    'a kind can be ignored';
click('types-none');
$browser->script('document.querySelectorAll("#type-list input")[0].click()');
is_deeply types_seen(), [(sort map { $_->{name} } @{$data->{types}})[0]], 'or a single type be chosen';
click('types-all');
is text_of('event-command'), q{eventcnv --from 0.000000000 --to 0.127998766 '<script>alert(1)</script>.paw'},
    'the command for what is not here';

# A click in the graph brings the list to that moment.
$browser->script('pawprint.show(89e6, 92e6); document.getElementById("plots").scrollIntoView()');
$browser->act(pointer => move(0.5, 0.3), $press, $release);
ok wait_for('document.querySelector(".event.chosen")'), 'a click in the graph chooses an event';
my $time = $browser->script('return document.querySelector(".event.chosen .time").textContent');
cmp_ok abs($time - 0.0905), '<', 0.0003, 'of that moment';
like text_of('event-says'), qr{^0\.0\d+ s, 4711/\d+ .*: \w+ .*\.$}, 'and says it in words';
my $rows = $browser->script('return document.querySelectorAll(".event").length');
cmp_ok $rows, '<', 100, "of 20,000 rows only those are made that are seen: $rows";
ok $browser->script('return !document.getElementById("levels").hidden'), 'close up the lanes are the control graph';
quiet('all of this', $address);

# ---- Drawn only when something changes -----------------------------------------------------------------------------

my $frames = $browser->script(<<'END');
await new Promise((done) => setTimeout(done, 300));
const before = pawprint.frames().frames;
await new Promise((done) => setTimeout(done, 300));
const idle = pawprint.frames().frames - before;
const spent = [];
for (let i = 0; i < 40; ++i) {
  pawprint.show(i * 5e5, 50e6 + i * 5e5);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  spent.push(pawprint.frames().spent);
}
return [idle, spent.sort((x, y) => x - y)[20]];
END
is $frames->[0], 0, 'nothing is drawn when nothing changes';
note sprintf 'a frame takes %.1f ms', $frames->[1];

# ---- Pictures; and nothing is wider than the screen -----------------------------------------------------------------

for my $width (1280, 400) {
    for my $theme ('light', 'dark') {
        size($width, $theme);
        $browser->open_page($address);
        ok wait_for('window.pawprint && pawprint.frames().frames > 0'), "$theme, $width pixels";
        cmp_ok $browser->script('return document.documentElement.scrollWidth'), '<=', $width, 'no scrolling sideways';
        is outside_cells(), 0, 'no number reaches into another column';
        shot("large-$theme-$width", $width);
        $browser->script('pawprint.show(89.2e6, 89.5e6); pawprint.tab("events")');
        wait_for('document.querySelector(".event")');
        cmp_ok $browser->script('return document.documentElement.scrollWidth'), '<=', $width, 'nor with events';
        shot("large-events-$theme-$width", $width);
    }
}
size(1280, 'dark');
$browser->open_page($address);
my $paper = $browser->devtools('Page.printToPDF', printBackground => JSON::PP::true);
spew("$shots/large.pdf", decode_base64($paper->{data}));
cmp_ok length $paper->{data}, '>', 10_000, 'it prints';
is $browser->script('return getComputedStyle(document.documentElement).getPropertyValue("--back").trim()'), '#14171b',
    'and is dark again';

# Everything that can be clicked has a name, and a focus that can be seen.
is_deeply $browser->script(<<'END'), [], 'controls have names';
const named = (one) =>
  one.textContent.trim() || one.getAttribute("aria-label") || (one.labels && one.labels.length) || one.title;
return [...document.querySelectorAll("button, input, select, summary, canvas:not([aria-hidden]), [tabindex='0']")]
  .filter((one) => !named(one)).map((one) => one.outerHTML);
END

# ---- What is damaged is said; what is empty, too -------------------------------------------------------------------

my $small = slurp_data(8, 'small', 16, 1000);
my $less = $json->decode($small);

# A member that is a table or the raw events, cut short.
sub cut {
    my ($name) = @_;
    my $bytes = decode_base64($less->{$name}{data});
    return {%$less, $name => {%{$less->{$name}}, data => encode_base64(substr($bytes, 0, length($bytes) - 3), '')}};
}

for my $case (['not even JSON', substr($small, 0, 100_000), 'its data cannot be read'],
              ['another format', {%$less, format => 2}, 'its format (2, not 1)'],
              ['a table cut short', cut('bysite'), 'the numbers by site'],
              ['rows without end', {%$less, bytype => {%{$less->{bytype}}, rows => 1e9}}, 'the numbers by type'],
              ['slices without end', {%$less, slices => 1e9}, 'the number of slices'],
              ['events cut short', cut('raw'), 'the raw events']) {
    my ($name, $damaged, $says) = @$case;
    my $text = ref $damaged ? $json->encode($damaged) : $damaged;
    $browser->open_page(page('damaged', $text =~ s/([<>&])/sprintf '\\u%04x', ord $1/ger));
    is text_of('damaged-says'), "This report is damaged: $says.", $name;
    is_deeply [map { $_->{message} } $browser->logs('browser')], [], 'and nothing on the console';
}

# Whatever is changed at random: it is read, or said to be damaged.
$browser->open_page(page('small', $small));
# A part at a time, because the browser gives up a script that runs for half a minute.
my $answers = {};
for my $part (1 .. 10) {
    my $some = $browser->script(<<'END', ($seed * 10 + $part) % (2 ** 31 - 2));
let state = arguments[0] + 1;
const random = (n) => (state = (state * 48271) % 2147483647) % n;
const text = document.getElementById("data").textContent;
const values = [null, -1, 1e9, 0.5, "", "AAAA", "////", [], {}, [null], true];
const answers = {};
for (let i = 0; i < 50; ++i) {
  const data = JSON.parse(text);
  let at = data;
  for (let depth = 0; depth < 4; ++depth) {
    const keys = Object.keys(at);
    if (!keys.length) break;
    const key = keys[random(keys.length)];
    if (depth === 3 || at[key] === null || typeof at[key] !== "object" || random(4) === 0) {
      const text = typeof at[key] === "string" && random(2) ? at[key] : null;
      at[key] = text === null ? values[random(values.length)] : text.slice(0, random(text.length + 1));
      break;
    }
    at = at[key];
  }
  const says = pawprint.check(JSON.stringify(data));
  answers[says.replace(/:.*/, "")] = (answers[says.replace(/:.*/, "")] || 0) + 1;
}
return answers;
END
    $answers->{$_} += $some->{$_} for keys %$some;
}
is_deeply [sort keys %$answers], ['', 'This report is damaged'], 'any damage is a sentence, or none';
note $json->encode($answers);

$browser->logs('performance');
for my $slices (0, 4) {
    my $empty = $json->encode({format => 1, version => '1', made => '', logs => ['empty.paw'], start => 0, end => 0,
                               slice => 1, slices => $slices, events => 0, callers => 'none', notes => []});
    $address = page("empty$slices", $empty);
    $browser->open_page($address);
    is $browser->script('return pawprint.ready'), JSON::PP::true, "an empty log, $slices slices";
    like text_of('empty'), qr/^Nothing was recorded/, 'says so';
    click('tab-events');
    $browser->script('document.getElementById("plots").focus()');
    $browser->keys('+', '-', "\x{E014}", [shift_key(), "\x{E014}"], "\x{E007}", "\x{E00C}");
    quiet('empty', $address);
}

done_testing;
