#!/usr/bin/env perl
# gdb.t -- what a debugger can see and do in a live process
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'gdb is not here' unless `gdb --version 2>/dev/null` =~ /GNU gdb/;
plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};

# gdb(\@program, @commands) -- what gdb, and the program, print
sub gdb {
    my ($program, @commands) = @_;

    open my $out, '>', "$dir/commands" or die;
    print $out "$_\n" for 'set confirm off', 'set pagination off', 'set debuginfod enabled off', 'set startup-with-shell off',
        "set environment LD_PRELOAD $B/lib/libpawprint.so", "set environment PAWPRINT_LOG $dir/log", @commands, 'kill', 'quit';
    close $out;
    unlink "$dir/log";
    my $pid = open my $in, '-|', "timeout 60 gdb -nx -batch -x $dir/commands --args @$program 2>&1" or die;
    local $/;
    my $text = <$in>;
    close $in;
    return $text;
}

# An unmodified program, stopped where it exits.
my $text = gdb(["$B/prog/churn", 1, 100], 'break puts', 'break printf', 'break __printf_chk', 'set breakpoint pending on',
    'run', 'print/x EventKindControl[0] & 0x7f', 'call (void)BTRes(EventKindControl, 4)', 'print/x EventKindControl[0] & 0x7f',
    'call (void)BTSet(EventKindControl, EventKindRef)', 'print/x EventKindControl[0] & 0x7f',
    'call (unsigned)BTGet(EventKindControl, 4)', 'call (void)EventTraceback(5)');
SKIP: {
    skip 'gdb can run no program here', 5 if $text =~ /ptrace: Operation not permitted|Could not trace/;
    my @values = $text =~ /^\$\d+ = (\S+)$/mg;
    is $values[0], '0x7f', 'the control table can be seen' or diag $text;
    is $values[1], '0x6f', 'call BTRes(EventKindControl, 4) switches references off';
    is $values[2], '0x7f', 'call BTSet(EventKindControl, EventKindRef) switches them on';
    is $values[3], '1', 'call BTGet reads the bit';
    is scalar(() = $text =~ /^pawprint: -\d+\.\d{9} \d+ \w+ .*$/mg), 5, 'call EventTraceback(5) prints five events';
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
done_testing;
