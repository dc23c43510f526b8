#!/usr/bin/perl
# python.t -- pawlog.py, as `make install' leaves it, tells the same as the tools
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Cwd qw(abs_path);
use EndToEnd qw($Dir run slurp spew);
use JSON::PP;
use Test::More;

plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is the same with and without sanitizers' if $ENV{SAN};
plan skip_all => 'there is no python3' if system('python3 -c "import ctypes" >/dev/null 2>&1') != 0;

my $B = abs_path($ENV{B} || 'build/cool');
my $root = "$Dir/root";

$ENV{PYTHONDONTWRITEBYTECODE} = 1;
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
{
    my ($status, $out, $err) = run('make', '-s', "CC=@{[$ENV{CC} || 'gcc']}", "VARIETY=@{[$ENV{VARIETY} || 'cool']}",
                                   'install', "DESTDIR=$root", 'PREFIX=/usr');
    is $status, 0, 'make install' or BAIL_OUT("$out$err");
}
my $module = "$root/usr/share/pawprint/pawlog.py";
ok -f $module, 'installs pawlog.py beside the script for gdb';
ok -f "$root/usr/share/pawprint/pawprint-gdb.py", 'which is there';
$ENV{PYTHONPATH} = "$root/usr/share/pawprint";

# python($code, @arguments) -- status, output and errors of a program that has imported pawlog
sub python {
    my ($code, @arguments) = @_;

    spew("$Dir/program.py", "import sys, pawlog\n$code");
    return run('python3', "$Dir/program.py", @arguments);
}

SKIP: {
    my $built = abs_path('build/cool/lib');
    skip 'this is not the build that it looks for', 1 if !$built || $built ne abs_path("$B/lib");
    local $ENV{PYTHONPATH} = 'tool';
    my ($status, undef, $err) = run('python3', '-c', 'import pawlog; pawlog.version()');
    is "$status$err", '0', 'it finds the library that was built, too';
}

# Each event of a log against that of eventcnv -f json.
my $same = <<'END';
import json
def plain(value):
    if isinstance(value, str) and value.startswith('0x'):
        return int(value, 16)
    if isinstance(value, str):
        return value.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')[:1000]
    return None if value != value else value
with pawlog.open(sys.argv[1]) as log:
    n = 0
    for line, e in zip(open(sys.argv[2], encoding='utf-8'), log.events()):
        expected = json.loads(line)
        ns = e.time - log.first
        assert expected['time'] == log.seconds(e.time), (line, e)
        assert [expected[n] for n in ('pid', 'tid', 'kind', 'name')] == [e.pid, e.tid, e.kind, e.name], (line, e)
        params = expected.get('params', {})
        assert {k: plain(v) for k, v in e.fields().items()} == {k: plain(v) for k, v in params.items()}, (line, e)
        n += 1
    assert n == sum(1 for line in open(sys.argv[2], encoding='utf-8')) == sum(1 for e in log.events())
print('same', n)
END
for my $log (qw(threads foreign handler named newer)) {
    my ($status, $out, $err) = python($same, "test/good/$log.paw", "test/good/$log.json");
    is "$status$err", '0', "$log.paw: names and fields are those of eventcnv -f json" or diag $err;
    like $out, qr/^same [1-9]\d*$/, 'of all events';
}

# A family, with sites, for filters, times and heaps.
my $log = "$Dir/family.paw";
is((run("$B/bin/eventrec", '-s', 1, '-p', 'block', '-o', $log, '--', "$B/prog/churn", 3, 3000))[0], 0,
   'a family is recorded');
my ($middle) = `$B/bin/eventcnv -e 'name == "PoolAllocSite"' -n 5000 $log | tail -1` =~ /^(\S+)/;
my $later = sprintf '%.9f', $middle + 0.002;
for ([[], []], [['-e', 'size >= 300 && size < 400'], ["filter='size >= 300 && size < 400'"]],
     [['--from', $middle, '--to', $later], ["start='$middle', end=$later"]],
     [['-k', 'Pool,Arena'], ["kinds='Pool,Arena'"]],
     [['-E', 'PoolFree'], ["'PoolFree'"]], [['-E', 'PoolFree,ModuleLoad'], ["'PoolFree', 'ModuleLoad'"]],
     [['-E', 'PoolFree', '-e', 'pid > 1'], ["'PoolFree', filter='pid > 1'"]],
     [['-e', 'name == "PoolAllocSite"', '-n', 100], ["filter='name == \"PoolAllocSite\"', count=100"]]) {
    my ($options, $arguments) = @$_;
    my $expected = () = `$B/bin/eventcnv @{[map { quotemeta } @$options]} $log` =~ /\n/g;
    my ($status, $out, $err) = python("with pawlog.open(sys.argv[1]) as log:\n"
                                      . "    print(sum(1 for e in log.events(@$arguments)))\n", $log);
    is "$status$err", '0', "events(@$arguments)" or diag $err;
    cmp_ok $expected, '>', 0, 'eventcnv finds some';
    is $out, "$expected\n", 'and so does pawlog.py';
}

# What lives: as eventview live says, at the end and in the middle.
for my $at ('', $middle) {
    my $live = decode_json(scalar `$B/bin/eventview live --json @{[$at ? "--at $at" : ()]} $log`);
    my %expected = map { $_->{pid} => [$_->{objects}, $_->{bytes}] } @{$live->{processes}};
    my ($status, $out, $err) = python(<<'END', $log, $at || 'None');
import json
with pawlog.open(sys.argv[1]) as log:
    heap = log.heap(end=None if sys.argv[2] == 'None' else sys.argv[2])
    got = {}
    for process in log.processes:
        things = list(heap.objects(process))
        if things:
            got[process.pid] = [len(things), sum(thing.size for thing in things)]
        assert all(thing.process is process and thing.site != 0 or thing.size for thing in things)
    assert len(list(heap)) == sum(n for n, size in got.values())
    print(json.dumps({'got': got, 'sites': len({thing.site for thing in heap if thing.site != 0})}))
END
    is "$status$err", '0', 'heap(' . ($at || 'None') . ')' or diag $err;
    my $said = decode_json($out || '{}');
    is_deeply $said->{got}, {map { $expected{$_}[0] ? ($_ => $expected{$_}) : () } keys %expected},
        'as many objects and bytes as in eventview live';
    cmp_ok $said->{sites}, '>', 0, 'with sites' if $at;
}

# Stacks, of a program that says where its functions begin.
{
    my $stacks = "$Dir/stacks.paw";
    my ($state, $begins) = run("$B/bin/eventrec", '-s', 8, '-p', 'block', '-o', $stacks, '--', "$B/prog/sites");
    my %begin = map { /^(\w+) (0x\w+)/ ? ($1 => hex $2) : () } split /\n/, $begins;
    my ($status, $out, $err) = python(<<'END', $stacks, $begin{keeper}, $begin{peaker}, $begin{grower}, $begin{aligner});
keeper, peaker, grower, aligner = map(int, sys.argv[2:])
with pawlog.open(sys.argv[1]) as log:
    base = {e.pid: e.base for e in log.events('ModuleLoad') if e.path.endswith('/sites')}
    heap = log.heap()
    kept = regrown = 0
    for thing in heap:
        if thing.process.program.endswith('/sites') and thing.site == 0 and thing.stack != 0:
            frames = [frame and frame - base[thing.process.pid] for frame in heap.stack(thing.stack)]
            if thing.size == 1000 and keeper <= frames[0] < peaker:
                kept += 1
                assert len(frames) >= 3 and frames[1] < keeper, frames
            if thing.size == 1000 and grower <= frames[1] < aligner:
                regrown += 1
    assert heap.stack(0) == ()
    thing = next(thing for thing in heap if heap.calls(thing)[0].startswith('keeper at '))
    assert thing.size == 1000 and heap.calls(thing)[1].startswith('main '), heap.calls(thing)
    assert log.symbol(thing.process, 16) == '0x10'
    print(kept, regrown)
END
    is "$status$err", '0', 'stacks' or diag $err;
    like $out, qr/^(100|70) 1$/, 'of what lives (in the process that ended last): who called, and who called that';
}

# Events of all sorts, what ends when, and errors.
{
    my ($status, $out, $err) = python(<<'END', $log, 'test/bad/payload.paw', "$Dir/nowhere.paw");
log = pawlog.open(sys.argv[1])
create = next(log.events('PoolCreate'))
assert isinstance(create.get('class'), str) and create.class_ == create.get('class'), create
assert create.get('nothing') is None and create.get('nothing', 7) == 7
assert create.kind == 'Pool' and create.process.pid == create.pid and create.process.program.endswith('/churn')
assert create.process.arguments[1:] == ['3', '3000'] and not create.process.collector, create.process.arguments
assert any(process.collector for process in log.processes)
assert log.first <= create.time <= log.last and log.seconds(log.first) == 0.0
assert log.problems == [] and log.lost == 0 and log.discarded == 0
kept = list(log.events('ModuleLoad'))
assert any(e.path.endswith('/churn') for e in kept) and repr(kept[0]).startswith('ModuleLoad base=')
both = zip(log.events(), log.events(count=5))
assert all(a == b for a, b in both)
def fails(what, *says):
    try:
        what()
    except pawlog.Error as error:
        assert all(say in str(error) for say in says), error
        return
    raise AssertionError('no error')
fails(lambda: log.events(filter='size >'), 'column')
fails(lambda: log.events(start='yesterday'), 'yesterday')
fails(lambda: log.events(kinds='Nonsense'), 'Nonsense')
fails(lambda: log.events('PoolFree', 'PoolAloc'), "'PoolAloc'", 'PoolAlloc')
fails(lambda: pawlog.open(sys.argv[3]), 'nowhere.paw', 'No such file')
never, half, heap = log.events(filter='size > 1'), log.events(), log.heap()
for i, event in zip(range(20000), half):
    pass
log.close()
log.close()
fails(lambda: list(half), 'closed')
fails(lambda: list(never), 'closed')
fails(lambda: list(heap), 'closed')
fails(lambda: log.first, 'closed')
assert kept[0].base > 0
with pawlog.open(sys.argv[2]) as log:
    n = sum(1 for e in log.events())
    assert n > 0 and log.lost > 0 and any('payload.paw: offset ' in line for line in log.problems), log.problems
class Cycle: pass
for i in range(3):
    cycle = Cycle()
    cycle.log = pawlog.open(sys.argv[1])
    cycle.events, cycle.heap, cycle.me = cycle.log.events(filter='size > 1'), cycle.log.heap(), cycle
    next(cycle.events)
    cycle = None
import gc
gc.collect()
print('fine', pawlog.version())
END
    my ($version) = slurp('code/base/version.h') =~ /PawprintVERSION "(.*)"/;
    is "$status$out$err", "0fine $version\n", 'fields, processes, errors and ends';
}

# The example of its help.
{
    my ($status, $help, $err) = python("help(pawlog)\n");
    my ($example) = $help =~ /^( {4,}import sys\n.*?)^ {0,4}A log, and all/ms;
    ok defined $example, 'help(pawlog) has an example' or BAIL_OUT($help);
    $example =~ s/^ {8}//mg;
    my @lines = grep { /\S/ } split /\n/, $example;
    cmp_ok scalar(@lines), '<=', 15, 'of ' . @lines . ' lines';
    $example =~ s/'run\.paw'/sys.argv[1]/;
    $example =~ s{/usr/local/share/pawprint}{$root/usr/share/pawprint};
    spew("$Dir/example.py", $example);
    my ($ran, $out, $said) = run('python3', "$Dir/example.py", $log);
    is "$ran$said", '0', 'which runs' or diag $said;
    like $out, qr/\d+ \S+churn \d+ objects, \d+ bytes, at most \d+/, 'and says what lives';
}
done_testing;
