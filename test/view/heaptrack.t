#!/usr/bin/perl
# heaptrack.t -- the peak, what is left and the calls of real programs, against what heaptrack says of the same
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Three things differ, and are allowed for.  heaptrack's library brings libstdc++ into the program, which allocates a
# pool of 72 KiB before main: how much that is, a program tells that does next to nothing.  A resize is an allocation to
# heaptrack.  perl copies its environment, with what each recorder has put into it, into pieces
# of 4 KiB: of these it may have some more.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp spew);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
sub has { my ($name) = @_; return scalar grep { -x "$_/$name" } split /:/, $ENV{PATH} }
plan skip_all => 'heaptrack is not installed' unless has('heaptrack') && has('heaptrack_print');

local @ENV{qw(PERL_HASH_SEED HOME)} = (0, $Dir);

# theirs($name, @command) -- what heaptrack says: its stacks for flame graphs have numbers that are not rounded
sub theirs {
    my ($name, @command) = @_;
    my %sum;

    run('heaptrack', '-o', "$Dir/$name.heaptrack", @command);
    my ($file) = glob "$Dir/$name.heaptrack.*" or return;
    for my $what (qw(allocations leaked peak)) {
        run('heaptrack_print', '-f', $file, '--disable-builtin-suppressions', '-a', 0, '-p', 0, '-T', 0,
            '--flamegraph-cost-type', $what, '-F', "$Dir/$name.$what");
        $sum{$what} = 0;
        $sum{$what} += $_ for slurp("$Dir/$name.$what") =~ / (\d+)$/mg;
    }
    return \%sum;
}

# ours($name, @command) -- the same, from eventview
sub ours {
    my ($name, @command) = @_;

    my ($status, undef, $err) = run("$B/bin/eventrec", '-p', 'block', '-s', 16, '-o', "$Dir/$name.paw", '--', @command);
    is $status, 0, "$name is recorded" or diag $err;
    my $summary = decode_json((run("$B/bin/eventview", 'summary', '--json', "$Dir/$name.paw"))[1]);
    my $leaks = decode_json((run("$B/bin/eventview", 'leaks', '--json', "$Dir/$name.paw"))[1]);
    return {allocations => $summary->{allocations} + $summary->{resizes}, leaked => $leaks->{left_bytes},
            peak => $summary->{peak_bytes}};
}

my @command = ("$B/prog/large");
my ($little, $mine) = (theirs('large', @command), ours('large', @command));
plan skip_all => 'heaptrack does not work here' unless $little && $little->{allocations};
my $pool = $little->{peak} - $mine->{peak};
note "heaptrack's own: $pool bytes";
ok $pool >= 0 && $pool < 200_000, 'heaptrack itself takes little';
is $little->{leaked}, $mine->{leaked}, 'and leaves nothing';

# agree($name, $within, @command) -- both say the same, but for so many bytes, and ten calls
sub agree {
    my ($name, $within, @program) = @_;
    my ($theirs, $ours) = (theirs($name, @program), ours($name, @program));

    note "$name: peak $ours->{peak}, left $ours->{leaked}, calls $ours->{allocations}; ",
        "heaptrack: $theirs->{peak}, $theirs->{leaked}, $theirs->{allocations}";
    cmp_ok abs($theirs->{peak} - $pool - $ours->{peak}), '<=', $within, "$name: the peak is that of heaptrack";
    cmp_ok abs($theirs->{leaked} - $ours->{leaked}), '<=', $within, 'and so is what is left';
    cmp_ok abs($theirs->{allocations} - $ours->{allocations}), '<=', $within / 100 + 10, 'and so are the calls';
    return;
}

spew("$Dir/words.pl", <<'END');
my %h;
for my $i (1 .. 20000) {
    $h{'key' . $i * 7919 % 5021} = [$i, 'v' x ($i % 97)];
    delete $h{'key' . $i * 31 % 5021} if $i % 3;
}
END
agree('perl', 16384, $^X, "$Dir/words.pl");

SKIP: {
    skip 'there is no sqlite3', 4 unless has('sqlite3');
    spew("$Dir/table.sql", <<'END');
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
insert into t select x, x * 7919 % 5021 from c;
create index i on t(b);
select count(*), max(b) from t group by a % 10;
END
    agree('sqlite3', 0, 'sqlite3', '-init', "$Dir/table.sql", ':memory:', '.quit');
}
done_testing;
