#!/usr/bin/env perl
# gdb.t -- what a debugger can see and do in a live process, and in a core
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $tool = abs_path('tool/pawprint-gdb.py');
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'gdb is not here' unless `gdb --version 2>/dev/null` =~ /GNU gdb/;
plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};

# Without the events per object there are few.
my $hot = ($ENV{VARIETY} // '') eq 'hot';
my ($five, $seven) = $hot ? (1, 1) : (5, 7);

# clean() -- a program that gdb has killed leaves its memory
sub clean { return system("$B/bin/eventrec --clean $dir/log >$dir/cleaned 2>&1") }

END { local $?; clean() if $dir && -e "$dir/log" }

# gdb(\@program, @commands) -- what gdb, and the program, print
sub gdb {
    my ($program, @commands) = @_;

    open my $out, '>', "$dir/commands" or die;
    print $out "$_\n" for 'set confirm off', 'set pagination off', 'set debuginfod enabled off', 'set startup-with-shell off',
        "set environment LD_PRELOAD $B/lib/libpawprint.so", "set environment PAWPRINT_LOG $dir/log", @commands, 'kill', 'quit';
    close $out;
    clean();
    unlink "$dir/log";
    my $pid = open my $in, '-|', "timeout 60 gdb -nx -batch -x $dir/commands --args @$program 2>&1" or die;
    local $/;
    my $text = <$in>;
    close $in;
    return $text;
}

# An unmodified program, stopped where it exits.
my $text = gdb(["$B/prog/churn", 1, 100], 'break puts', 'break printf', 'break __printf_chk', 'set breakpoint pending on',
    'run', 'print/x EventKindControl[0] & 0x7f', 'call (void)BTSet(EventKindControl, EventKindRef)', 'print/x EventKindControl[0] & 0x7f',
    'call (void)BTRes(EventKindControl, 4)', 'print/x EventKindControl[0] & 0x7f',
    'call (unsigned)BTGet(EventKindControl, 5)', 'call (void)EventTraceback(' . $five . ')');
SKIP: {
    skip 'gdb can run no program here', 5 if $text =~ /ptrace: Operation not permitted|Could not trace/;
    my @values = $text =~ /^\$\d+ = (\S+)$/mg;
    is $values[0], '0x6f', 'the control table can be seen' or diag $text;
    is $values[1], '0x7f', 'call BTSet(EventKindControl, EventKindRef) switches references on';
    is $values[2], '0x6f', 'call BTRes(EventKindControl, 4) switches them off';
    is $values[3], '1', 'call BTGet reads the bit';
    is scalar(() = $text =~ /^pawprint: -\d+\.\d{9} \d+ \w+ .*$/mg), $five, 'call EventTraceback prints as many events as it is told';
}

# The memory manager's arena: break ArenaCreate, run, delete, switch off, continue.
$text = gdb(["$B/prog/churn", 1, 100], 'set environment PAWPRINT_MODE manage', 'set breakpoint pending on', 'break ArenaCreate', 'run',
    'delete 1', 'call (void)BTRes(EventKindControl, EventKindObject)', 'continue');
SKIP: {
    skip 'gdb can run no program here', 2 if $text =~ /ptrace: Operation not permitted|Could not trace/;
    like $text, qr/Breakpoint 1, .*ArenaCreate/, 'a breakpoint where the arena is created' or diag $text;
    my $lines = `$B/bin/eventcnv $dir/log 2>/dev/null`;
    ok $lines =~ / ArenaCreate / && $lines !~ / PoolAlloc /, 'what was switched off there stays off' or diag substr $lines, 0, 2000;
}

# Without calling anything: pawprint-gdb.py, on a process that is stopped, and on its core.
sub events { return $_[0] =~ /^\d+\.\d{9} \d+\/(\d+ \w+.*)$/mg }
sub kinds { return join ' ', $_[0] =~ /^(\w+) +yes +yes$/mg }
SKIP: {
    skip 'gdb has no python', 20 unless `gdb -nx -batch -ex 'python print(6*7)' 2>&1` =~ /^42$/m;
    for my $where ('sent', 'kept') {
        my $log = $where eq 'sent' ? $dir . '/log' : '';
        my $core = "$dir/$where.core";
        $text = gdb(["$B/prog/churn", 1, 100], "set environment PAWPRINT_LOG $log", "source $tool", 'set breakpoint pending on',
            'break puts', 'break printf', 'break __printf_chk', 'run', 'pawprint-kinds', 'pawprint-kinds -Seg', 'pawprint-kinds',
            "pawprint-events $seven", "call (void)EventTraceback($seven)", "generate-core-file $core", 'echo of one object\\n',
            'python addr = gdb.execute("pawprint-events 1000", to_string=True).split("addr=")[-1].split()[0]',
            'python gdb.execute("pawprint-events 1000 --addr " + addr)', 'python gdb.execute("call (void)EventTracebackAddr(%s, 100)" % addr)',
            'echo so far\\n', 'pawprint-kinds -Nothing');
        $text =~ s/^of one object\n(.*)^so far\n//ms;
        my $object = $1 // '';
        SKIP: {
            skip 'gdb can run no program here', 10 if $text =~ /ptrace: Operation not permitted|Could not trace/;
            my @events = events($text);
            is scalar(@events), $seven, "$where: pawprint-events prints as many events as it is told" or diag $text;
            is_deeply \@events, [$text =~ /^pawprint: -\d+\.\d{9} (\d+ \w+.*)$/mg], "$where: the program's own newest ones";
            my @its = events($object);
            ok @its > 0, "$where: pawprint-events --addr prints events of one address" or diag $text;
            # While the program is called others of its threads go on, and may tell more.
            my @called = $object =~ /^pawprint: -\d+\.\d{9} (\d+ \w+.*)$/mg;
            is_deeply [@called[0 .. $#its]], \@its, "$where: and EventTracebackAddr the same";
            my ($before, $after) = split /^kind +sent.*\n(?:\w+ +(?:yes|no) +(?:yes|no)\n)+\K/m, $text, 2;
            like $before, qr/^Seg +\w+ +yes$/m, "$where: pawprint-kinds prints a table";
            like $after, qr/^Seg +no +yes$/m, "$where: and switches";
            like $text, qr/pawprint-kinds: -Nothing is no \+NAME or -NAME; there are Arena, Pool, /, "$where: a misspelt kind is an error";
            SKIP: {
                skip 'gdb writes no core here', 3 unless -s $core;
                my $dead = `gdb -nx -batch -ex 'source $tool' -ex pawprint-kinds -ex "pawprint-events $seven" $B/prog/churn $core 2>&1`;
                is_deeply [events($dead)], \@events, "$where: the core has the same events" or diag $dead;
                like $dead, qr/^Seg +no +yes$/m, "$where: and the same table";
                my $lines = `$B/bin/eventcnv $core 2>/dev/null | tail -n $seven`;
                is_deeply [events($lines)], \@events, "$where: and so says eventcnv";
                unlink $core;
            }
        }
    }
    # Another project's registry, and its kinds.
    SKIP: {
        delete local @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
        skip 'the example does not build', 5 if system("make -s -C examples/tiny OUT=$dir CC='@{[$ENV{CC} // 'gcc']}' PERL='@{[$ENV{PERL} // 'perl']}'") != 0;
        my $core = "$dir/tiny.core";
        $text = gdb(["$dir/tiny"], 'set environment LD_PRELOAD', "source $tool", 'set breakpoint pending on', 'break printf', 'break __printf_chk', 'run',
            'pawprint-kinds', 'pawprint-events 12', "python gdb.execute('shell $B/bin/eventctl %d' % gdb.selected_inferior().pid)",
            "generate-core-file $core");
        skip 'gdb can run no program here', 5 if $text =~ /ptrace: Operation not permitted|Could not trace/;
        is_deeply [$text =~ /^(\w+) +yes +yes$/mg], [('Heap', 'Cell', 'Note') x 2], 'kinds of a registry of its own, in gdb and for eventctl' or diag $text;
        is scalar(@{[events($text)]}), 12, 'and its events';
        like join("\n", events($text)), qr/ Cell(?:Get|Put) /, 'by their names';
        skip 'gdb writes no core here', 2 unless -s $core;
        is_deeply [events(scalar `gdb -nx -batch -ex 'source $tool' -ex 'pawprint-events 12' $dir/tiny $core 2>&1`)], [events($text)], 'in a core, too';
        like scalar `$B/bin/eventcnv $core 2>/dev/null`, qr/ CellGet cell=/, 'and for eventcnv';
    }
    $text = `gdb -nx -batch -ex 'source $tool' -ex 'pawprint-events' -ex 'help pawprint-events' $B/prog/steady 2>&1`;
    like $text, qr/^pawprint: no memory for events in this program/m, 'a program that does not run has none';
}
done_testing;
