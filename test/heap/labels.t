#!/usr/bin/perl
# labels.t -- an address that a program has given a label is shown with it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use Browser;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/labels.paw";

plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $out = do { local $ENV{PAWPRINT_LOG} = $log; `$B/prog/labels` };
is $?, 0, 'the program runs';
my ($arena, $pool, $labelled, $again, $none) = split ' ', $out;
sub cnv { return `$B/bin/eventcnv @_ $log` }

my $big = '["the \"big\" one\n"]';
my $text = cnv();
like $text, qr/ PoolAlloc pool=$pool\["the pool"\] addr=$labelled size=54321$/m, 'text: before it has its label an object is an address';
like $text, qr/ Label addr=$labelled\Q$big\E id=\d+$/m, 'from the label on it has that';
like $text, qr/ PoolFree pool=$pool\["the pool"\] addr=$again\["an older one"\]$/m, 'as have all parameters that are addresses';
like $text, qr/ Label addr=$none id=0$/m, 'until it is taken away';
like cnv('-E', 'PoolFree'), qr/ PoolFree pool=$pool\["the pool"\] addr=$again\["an older one"\]$/m, 'also where the labels are not chosen';
like cnv('-n 1', '-E', 'SegAlloc'), qr/ pool=$pool\[?/, 'with a count, too';
like cnv('--verbose'), qr/ PoolFree pool=$pool\["the pool"\]/, 'verbose';
like cnv('--describe'), qr/pool $pool\["the pool"\] frees $again\["an older one"\]$/m, 'in words';
unlike cnv('-f', $_), qr/$pool\[/, "$_: an address is an address" for qw(csv json sql);

my $live = `$B/bin/eventview live $log`;
like $live, qr/^ +$arena .*, "the arena"$/m, 'live: the arena has its label';
like $live, qr/^ +$pool .*, "the pool"$/m, 'the pool';
like $live, qr/^ +$labelled .*, "the .*big.* one/m, 'an object';
unlike $live, qr/^ +$again .*"an older one"/m, 'but not one that came to the address later';
unlike $live, qr/^ +$none .*"/m, 'nor one whose label was taken away';
my $json = `$B/bin/eventview live --json $log`;
like $json, qr/"arena": "$arena", [^}]*"label": "the arena"\}/, 'in JSON, too';
like $json, qr/"addr": "$labelled", [^}]*"label": "the \\"big\\" one\\u000a"\}/, 'objects there';

# Other views that show addresses.
my $pools = `$B/bin/eventview pools $log`;
like $pools, qr/^\d+ +$arena .*, "the arena"$/m, 'pools: the arena has its label';
like $pools, qr/^\d+ +$pool .*, "the pool"$/m, 'and the pool';
my $them = decode_json(scalar `$B/bin/eventview pools --json $log`);
is_deeply [map { $_->{label} } grep { $_->{arena} eq $arena } @{$them->{arenas}}], ['the arena'], 'in JSON, too';
is_deeply [map { $_->{label} } grep { $_->{pool} eq $pool } @{$them->{pools}}], ['the pool'], 'both';
my ($named) = $text =~ /^(\S+) \S+ Label addr=$pool/m;
unlike `$B/bin/eventview pools --to $named $log`, qr/"the pool"/, 'before it was given there is none';
my $page = decode_json(scalar `$B/bin/eventview report --json $log`);
is_deeply [map { $_->{label} } grep { ($_->{pool} // '') eq $pool } @{$page->{pools}}], ['the pool'], 'a report has it';

SKIP: {
    skip 'chromium and chromedriver are not installed', 3 if Browser::missing();
    my $browser = eval { Browser->begin($dir) };
    skip "the browser does not begin: $@" =~ s/\s+/ /gr, 3 if !$browser;
    # Addresses and labels, as lines of one event each.
    my $addresses = sub { join ' ', $_[0] =~ /=(0x[0-9a-f]+(?:\["(?:[^"\\]|\\.)*"\])?)/g };
    for my $chosen ('', '-k -User') {
        system("$B/bin/eventview report $chosen -o $dir/page.html $log > $dir/said 2>&1") == 0 or die;
        $browser->open_page("file://$dir/page.html");
        my $shown = join "\n", map { $addresses->($_->{text} =~ s/\n/\\n/gr) } @{$browser->script('return pawprint.events(0, 10000)')};
        my $expected = join "\n", map { $addresses->($_) } split /\n/, cnv($chosen);
        $_ = s/\\u000a|\\012/\\n/gr for $shown, $expected; # how a newline is written
        is $shown, $expected, "the events of a report have the labels that eventcnv shows: '$chosen'";
    }
    like $browser->script('return pawprint.events(0, 10000).map((one) => one.says).join("\\n")'),
        qr/\Q$pool\E\["the pool"\]/, 'also in words';
}

my $sync = "$dir/sync.paw";
{
    local @ENV{qw(PAWPRINT_LOG PAWPRINT_KINDS)} = ($sync, '+Sync');
    `$B/prog/labels`;
    is $?, 0, 'a program that waits when it ends';
}
like `$B/bin/eventview threads $sync`, qr/^still waiting .* for mutex 0x[0-9a-f]+, "the lock", since /m, 'threads: what it waits for has its label';
my ($waits) = map { @{$_->{waits}} } @{decode_json(scalar `$B/bin/eventview threads --json $sync`)->{threads}};
is $waits->{label}, 'the lock', 'in JSON, too';

my ($before) = $text =~ /^(\S+) \S+ Label addr=$labelled/m;
unlike `$B/bin/eventview live --at $before $log`, qr/$labelled .*big/, 'before it was given there is none';

done_testing;
