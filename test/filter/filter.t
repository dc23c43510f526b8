#!/usr/bin/perl
# filter.t -- --filter as its users meet it: what it leaves of a real recording, and what it says of mistakes
#
# SPDX-License-Identifier: BSD-2-Clause
#
# The oracle is eventcnv's own text of the whole log, read line by line here.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP qw(decode_json);
use EndToEnd qw($Dir run);
use Test::More;

plan skip_all => 'no events of objects in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $B = $ENV{B} || 'build/cool';
my $log = "$Dir/run.paw";
$ENV{TZ} = 'UTC';

sub cnv { run("$B/bin/eventcnv", @_) }

# A family: perl, which becomes another program in a child.
my $script = 'my %h; $h{$_ % 997} .= "x" x ($_ % 61) for 1 .. 20000; delete $h{$_} for 1 .. 500;'
    . ' if (!fork) { exec "sh", "-c", ":" or exit 1 } wait; print scalar(keys %h), "\n"';
is((run("$B/bin/eventrec", '-m', 'manage', '-k', '+Sync', '-o', $log, $ENV{PERL} || 'perl', '-e', $script))[0], 0,
   'a recording');
my (undef, $text) = cnv('-v', $log);

my @lines = split /\n/, $text;
cmp_ok(scalar(@lines), '>', 10000, 'of many events');

# An event from each line: time, process and thread, then name, kind and code in whatever order, then parameters.
sub events {
    no warnings 'portable';
    my @events;

    for my $line (@lines) {
        my ($time, $pid, $tid, @words) = $line =~ m{^(\S+) (\d+)/(\d+) (\S+) (\S+) (\S+)(?: |$)} or die $line;
        my %e = (line => $line, time => $time, pid => $pid, tid => $tid, p => {});
        ($e{code}) = map { hex } grep { /^0x[0-9a-f]{4}$/ } @words;
        my @names = grep { !/^0x/ } @words;
        my %kinds = map { $_ => 1 } qw(Arena Pool Trace Seg Ref Object User Sync System);
        ($e{kind}) = grep { $kinds{$_} } @names;
        ($e{name}) = grep { !$kinds{$_} } @names;
        $e{p}{$1} = $2 while $line =~ / ([A-Za-z]\w*)=("(?:[^"\\]|\\.)*"|\S+)/g;
        s/^"|"$//g, s/^(0x.*)/hex $1/e for values %{$e{p}};
        push @events, \%e;
    }
    return @events;
}

my @events = events();
my %of;
$of{$_->{pid}}++ for @events;
my ($main) = sort { $of{$b} <=> $of{$a} } keys %of;
cmp_ok scalar(keys %of), '>=', 2, 'from several processes';

my $half = $events[@events / 2]{time};
my $later = $events[@events / 2 + 3000]{time};
my $addr = (grep { defined $_->{p}{addr} } @events)[1000]{p}{addr};

my @cases = (
    ['name == "PoolAlloc" && size >= 4K', sub { $_->{name} eq 'PoolAlloc' && $_->{p}{size} >= 4096 }],
    ['kind == "Seg"', sub { $_->{kind} eq 'Seg' }],
    ['kind == 3 || kind == "Arena"', sub { $_->{kind} =~ /^(Seg|Arena)$/ }],
    ['kind != "Object"', sub { $_->{kind} ne 'Object' }],
    ['name =~ "^Pool(Free|Resize)"', sub { $_->{name} =~ /^Pool(Free|Resize)/ }],
    ['size != 32', sub { defined $_->{p}{size} && $_->{p}{size} != 32 }],
    ['!(size == 32)', sub { !defined $_->{p}{size} || $_->{p}{size} != 32 }],
    ['size in [10, 20]', sub { defined $_->{p}{size} && $_->{p}{size} >= 10 && $_->{p}{size} <= 20 }],
    ["time >= $half", sub { $_->{time} >= $half }],
    ["time in [$half, $later] && kind == \"Object\"",
     sub { $_->{time} >= $half && $_->{time} <= $later && $_->{kind} eq 'Object' }],
    ["time > $half && time < $later", sub { $_->{time} > $half && $_->{time} < $later }],
    ["!(time > $half)", sub { $_->{time} <= $half }],
    ["pid == $main && name == \"PoolFree\"", sub { $_->{pid} == $main && $_->{name} eq 'PoolFree' }],
    ["pid != $main", sub { $_->{pid} != $main }],
    ['pid == tid', sub { $_->{pid} == $_->{tid} }],
    [sprintf('addr == 0x%x', $addr), sub { defined $_->{p}{addr} && $_->{p}{addr} == $addr }],
    ['code < 0x300', sub { $_->{code} < 0x300 }],
    ['class == "SGF" || .name =~ "."', sub { ($_->{p}{class} // '') eq 'SGF' || ($_->{p}{name} // '') =~ /./ }],
    ['size > 100 && (name == "PoolAlloc" || name == "SegAlloc") && !(size >= 1M)',
     sub { ($_->{p}{size} // 0) > 100 && $_->{name} =~ /^(Pool|Seg)Alloc$/ && $_->{p}{size} < 1 << 20 }],
    ['size < 0', sub { 0 }],
);
for my $case (@cases) {
    my ($expression, $holds) = @$case;
    my ($status, $out) = cnv('-v', '-e', $expression, $log);
    my $expected = join '', map { $holds->() ? "$_->{line}\n" : () } @events;

    is $status, 0, "$expression: " . ($expected =~ tr/\n//) . ' events';
    ok $out eq $expected, 'and those';
}

# With the other choices, all must hold.
is((cnv('-e', 'size > 100', '-k', 'Object', '-E', 'PoolAlloc', '--from', $half, '--to', $later, $log))[1],
   (cnv('-e', "size > 100 && kind == \"Object\" && name == \"PoolAlloc\" && time >= $half && time < $later", $log))[1],
   'choices come together');
{
    my @some = map { "$_->{line}\n" } grep { ($_->{p}{size} // 0) > 100 } @events;
    is((cnv('-v', '-e', 'size > 100', '-n', 7, $log))[1], join('', @some[0 .. 6]), '-n counts what passes');
    is((cnv('-v', '-e', 'size > 100', '-n', 0, $log))[1], '', 'also none');
}
{
    my (undef, $named) = cnv('-e', "process == \"perl\" && pid == $main", $log);
    is $named, (cnv('-e', "process =~ \"/perl[^/]*\$\" && pid in [$main, $main]", $log))[1],
        'a program by its name, and by its path';
    cmp_ok $named =~ tr/\n//, '>', 1000, 'which tells of something';
}
is((cnv('--follow', '-e', 'size > 100 && kind == "Object"', $log))[1],
   (cnv('-e', 'size > 100 && kind == "Object"', $log))[1], 'followed, the same');

# A log of what is left has it, whatever else it has so that it can be understood.
{
    my $big = 'name == "PoolAlloc" && size > 1K';
    is((cnv('-f', 'paw', '-e', $big, '-o', "$Dir/big.paw", $log))[0], 0, 'what is left, as a log');
    my $count = () = (cnv('-E', 'PoolAlloc', "$Dir/big.paw"))[1] =~ /\n/g;
    is $count, scalar(grep { $_->{name} eq 'PoolAlloc' && $_->{p}{size} > 1024 } @events), 'which has as many events';
}

# The same language for views.
{
    my ($status, $out) = run("$B/bin/eventview", '--json', '-e', 'name == "PoolAlloc" && size > 100', $log);
    my $doc = eval { decode_json($out) } // {};
    is $doc->{events}, scalar(grep { $_->{name} eq 'PoolAlloc' && $_->{p}{size} > 100 } @events), 'eventview --filter';
}

# Wall time on the log's day
{
    my ($status, $out) = cnv('-e', 'time >= "00:00:00" || time < "23:59:59"', $log);
    is $status, 0, 'times of day';
    is $out =~ tr/\n//, scalar(@events), 'which all events have';
}

# Mistakes: status 2, the place, nothing printed, and how to get help.
for my $case (
    ['size =~ "x"', 9, q('size' is a number, and "x" is a string)],
    ['name > 3', 8, q('name' is a string, and 3 is a number)],
    ['size >= 4k', 9, q('4k' is no number)],
    ['siz == 3', 1, q(no field of any event is called 'siz'; near it are size, )],
    ['name == "PoolAloc"', 9, q(no event is called 'PoolAloc'; near it are PoolAlloc, )],
    ['kind == "Objekt"', 9, q(no kind is called 'Objekt'; near it are Object, )],
    ['process == "prl"', 12, q(no process is called 'prl'; near it are perl)],
    ['size > 3 &&', 12, q(a field, a number or a string is missing)],
) {
    my ($expression, $column, $what) = @$case;
    for my $tool ('eventcnv', 'eventview') {
        my ($status, $out, $err) = run("$B/bin/$tool", '-e', $expression, $log);
        my $pointer = ' ' x ($column + 1) . '^';

        is $status, 2, "$tool: $expression";
        is $out, '', 'prints nothing';
        like $err, qr/^$tool: --filter: column $column: \Q$what\E.*\n  \Q$expression\E\n\Q$pointer\E\ntry '$tool --help'\n\z/,
            'and says why';
    }
}

done_testing;
