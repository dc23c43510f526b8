# usable.t -- what an allocator gives beyond what was asked for is told for each caller, as the program itself counts it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use Cwd qw(abs_path);
use EndToEnd qw($Dir run);
use JSON::PP qw(decode_json);
use Test::More;

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

my $B = abs_path($ENV{B} // 'build/cool');
my $log = "$Dir/usable.paw";

# recorded(@options) -- by function: calls and bytes, as the program says and as the view does; and the whole view
sub recorded {
    my (@options) = @_;
    my ($status, $out) = run("$B/bin/eventrec", '--force', '-o', $log, @options, '--', "$B/prog/usable");
    my (%said, %told);

    $said{$1} = [$2, $3] while $out =~ /^(by\w+) (\d+) (\d+)$/mg;
    my $view = decode_json((run("$B/bin/eventview", 'sites', '--json', $log))[1]);
    for my $site (@{$view->{sites}}) {
        $told{$site->{function}} = [$site->{wasted_objects}, $site->{wasted_bytes}] if ($site->{function} // '') =~ /^by/;
    }
    return (\%said, \%told, $view);
}

for my $options (['-s', 1], ['-s', 16], ['-s', 16, '--stack-frees'], ['--range', 'usable'], ['-s', 1, '-m', 'manage'],
                 ['-s', 64, '-m', 'manage'], ['-s', 1, '-E', 'PoolAllocSite'], ['-s', 16, '-E', 'PoolFree,PoolAllocStack']) {
    my ($said, $told, $view) = recorded('--usable', @$options);
    is scalar(keys %$said), 4, "@$options: the program says what four functions were given";
    is_deeply $told, $said, 'and so does the view' or diag explain $view;
}

my ($said) = recorded('--usable', '-s', 16);
my (undef, $text) = run("$B/bin/eventview", 'sites', '--by', 'wasted', $log);
like $text, qr/^wasted +\d+ bytes .* more than was asked for, in \d+ allocations or resizes$/m, 'the sum is in the text';
my @order = $text =~ /%.* (by\w+) \(/g;
is_deeply \@order, [sort { $said->{$b}[1] <=> $said->{$a}[1] } keys %$said], '--by wasted sorts by it';
is((run("$B/bin/eventcnv", '--check', $log))[0], 0, 'the log is sound');

# Replays, and what lives, take no notice of it.
my ($status, $out, $err) = run("$B/bin/replay", '-n', 1, '--json', '-a', 'none', $log);
is $status, 0, 'it can be replayed';

rename $log, "$Dir/given.paw" or die $!;
my (undef, $none, $view) = recorded('-s', 16);
is_deeply [map { @$_ } values %$none], [(0) x (2 * keys %$said)], 'without --usable nothing is known';
(undef, $text) = run("$B/bin/eventview", 'sites', $log);
unlike $text, qr/wasted/, 'and nothing is said';

# Two logs are compared by it as by all else, and it is a line of its own where one of them has it.
unlike +(run("$B/bin/eventview", 'diff', $log, $log))[1], qr/^wasted/m, 'diff of logs that do not know it says nothing';
for my $by (qw(peak left allocated calls temporary wasted)) {
    my ($status, $out) = run("$B/bin/eventview", 'diff', '--by', $by, $log, "$Dir/given.paw");
    is $status, 0, "diff --by $by";
    like $out, qr/^wasted +0 B +\S+ \S+ +\+\S+ \S+$/m, 'has what was wasted';
    like $out, qr/^ +old +new +change  caller, (?:at the )?$by$/m, 'and names what it sorts by';
}

($status, $out, $err) = run("$B/bin/eventrec", '--usable', '-o', "$Dir/no.paw", '--', 'true');
is $status, 125, '--usable without callers is a usage error';
like $err, qr/--usable needs callers/, 'and the message says why';
done_testing;
