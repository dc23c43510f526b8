#!/usr/bin/env perl
# shim.t -- the malloc family of unmodified programs: every call is an event, by another's count; and the programs do not notice
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $perl = $ENV{PERL} // 'perl';
my $so = "$B/lib/libpawprint.so";
my $counter = "$B/prog/counter.so";
my $cnv = "$B/bin/eventcnv";
my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/log";
my $full = ($ENV{VARIETY} // 'cool') eq 'cool';

plan skip_all => 'no telemetry of objects in this variety' unless $full;
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};
-e $_ or BAIL_OUT("$_ is not there") for $so, $counter, $cnv, "$B/prog/family", "$B/prog/churn";

# run(\%environment, @command) -- (status, standard output, standard error) of a program with our library preloaded
sub run {
    my ($environment, @command) = @_;

    unlink $log, "$dir/counts";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        %ENV = (%ENV, LD_PRELOAD => $so, PAWPRINT_LOG => $log, %$environment);
        delete @ENV{grep { !defined $ENV{$_} } keys %ENV};
        { no warnings; exec { $command[0] } @command }
        die "$command[0]: $!";
    }
    waitpid $pid, 0;
    return ($?, slurp("$dir/out"), slurp("$dir/err"));
}

# events() -- the log's lines, without times; damage is a failure
sub events {
    my @lines = map { s/^\S+ //r } split /\n/, `$cnv $log 2>$dir/said`;
    is $?, 0, 'the log is sound' or diag slurp("$dir/said");
    return @lines;
}

# The types of the counter, in its order.
my @counted = qw(PoolAlloc PoolFree PoolAllocZero PoolResizeBegin PoolAllocAligned PoolAllocFail);

sub countsEqual {
    my ($what, @command) = @_;
    my ($status) = run({LD_PRELOAD => "$so $counter", COUNTER => "$dir/counts", PAWPRINT_KINDS => 'Object'}, @command);
    my (%seen, %due);

    is $status, 0, "$what: it ran";
    my $counts = slurp("$dir/counts");
    for my $index (1 .. unpack 'Q', $counts) {
        my (undef, @record) = unpack 'Q7', substr $counts, 64 * $index, 64;
        $due{$counted[$_]} += $record[$_] for 0 .. $#counted;
    }
    ++$seen{(split ' ', $_)[1]} for events();
    is_deeply [map { "$_ " . ($seen{$_} // 0) } @counted], [map { "$_ $due{$_}" } @counted],
        "$what: an independent count agrees, " . $due{PoolAlloc} . ' allocations';
}

# A malloc in the executable itself, which lacks a function of the family.
is_deeply [run({PAWPRINT_MODE => $_}, "$B/prog/ownmalloc")], [0, "ok\n", ''], "a program with a malloc of its own, $_" for qw(observe manage);

# Each function, in order.
{
    my ($status, $out) = run({}, "$B/prog/family");
    is $status, 3 << 8, 'the status is the program\'s own';
    is $out, '', 'each function does what it should';
    my @lines = events();
    my @all = map { s/^\S+ //r } grep { /Pool|Memory/ } @lines;
    my ($from) = grep { $all[$_] =~ /^PoolAlloc .*size=11111$/ } 0 .. $#all;
    my ($first) = ($all[$from // 0] // '') =~ /addr=(\S+)/;
    my ($to) = grep { $all[$_] =~ /^PoolFree .*addr=$first$/ && $_ > $from } 0 .. $#all;
    my @mine = map { s/ (?:pool|addr|old|base|limit|before)=0x(?!0\b)[0-9a-f]+//gr } @all[$from + 1 .. $to - 1];
    @mine = grep { !/^MemoryBreak|^PoolAlloc size=(?:1024|4096)$/ || $from < 0 } @mine;
    my $huge = 9223372036854775807 + 4096;
    is_deeply [grep { !/^Memory/ } @mine], [
        'PoolAlloc size=106', 'PoolAllocZero size=321', 'PoolFree',
        'PoolAlloc size=104', 'PoolResizeBegin size=100000', 'PoolResizeEnd size=100000',
        "PoolResizeBegin size=9223372036854779903", "PoolResizeEnd addr=0x0 size=9223372036854779903",
        'PoolResizeBegin size=210', 'PoolResizeEnd size=210', 'PoolResizeBegin size=18446744073709551615',
        'PoolResizeEnd addr=0x0 size=18446744073709551615', 'PoolFree',
        'PoolAllocAligned size=100 align=64', 'PoolFree', 'PoolAllocAligned size=256 align=128', 'PoolFree',
        'PoolAllocAligned size=101 align=4096', 'PoolFree', 'PoolAllocFail size=9223372036854779903',
        'PoolAllocAligned size=102 align=4096', 'PoolFree', 'PoolAllocAligned size=4096 align=4096', 'PoolFree',
        'PoolAllocFail size=9223372036854779903', 'PoolAllocFail size=18446744073709551615',
        'PoolAllocFail size=9223372036854779903',
    ], 'each call is an event, a free of NULL is none, failures are told' or diag explain \@mine;
    is_deeply [grep { /^Memory/ } @mine],
        ['MemoryMap size=12288 protection=3 flags=34', 'MemoryRemap oldSize=12288 size=20480', 'MemoryUnmap size=20480'],
        'the program\'s own mappings';
    is scalar(grep { /^MemoryBreak/ } @all), 1, 'and its break';
    is scalar(grep { / PoolAlloc .*size=33333$/ } @lines), 1, 'a constructor of the program is seen';
    my ($late) = map { /addr=(\S+) size=106$/ ? $1 : () } @all;
    is scalar(grep { /^PoolFree .*addr=$late$/ } @all[$to .. $#all]), 1, 'and so is its exit handler';
}

# What cannot be served is refused as libc refuses it, and leaves the events of failures; what is no request, none.
{
    my (undef, $plain) = run({LD_PRELOAD => undef}, "$B/prog/refused");
    for my $mode (qw(observe managed)) {
        my (undef, $out) = run({PAWPRINT_MODE => $mode =~ s/d$//r}, "$B/prog/refused");
        is_deeply [split /\n/, $out], [split /\n/, $plain], "results and errno of what fails are libc's, $mode";
        my @events = map { s/^\S+ //r } events();
        my $failed = grep { /^PoolAllocFail / || /^PoolResizeEnd .*addr=0x0/ } @events;
        my $errors = () = $plain =~ /errno 12\b/g;
        is $failed, $errors, "each lack of memory is a failure told, wrong arguments are none, $mode" or diag $plain;
    }
}

# Pointers that are none: what is wrapped says what it says without us.
{
    my (undef, $plain) = run({LD_PRELOAD => undef}, "$B/prog/amiss");
    like $plain, qr/execvp.*\n\z/, 'calls that are amiss fail, and the program goes on';
    for my $kinds ('Object', '+Sync') {
        my ($status, $out, $err) = run({PAWPRINT_KINDS => $kinds}, "$B/prog/amiss");
        is $status, 0, "and so it does recorded ($kinds)" or diag $err;
        is_deeply [split /\n/, $out], [split /\n/, $plain], "each says the same ($kinds)";
    }
    my @events = map { s/^\S+ //r } events();
    is_deeply [map { /ThreadName.*name="(.*)"/ ? $1 : () } @events], ['x' x 15, 'x' x 15, 'fits'], 'names are those that the kernel took'
        or diag explain [grep { /ThreadName/ } @events];
    is_deeply [grep { /^Memory(?:Un|Re)map/ } @events], [], 'what was not unmapped is not told';
    # With a collector, which is told of programs, more is looked at.
    my ($status, $out, $err) = run({LD_PRELOAD => undef, PAWPRINT_LOG => undef}, "$B/bin/eventrec", '--force', '-o', $log, "$B/prog/amiss");
    is $status, 0, 'so it does with a collector' or diag $err;
    is_deeply [split /\n/, $out], [split /\n/, $plain], 'each says the same with a collector';
}

# Programs are started on small stacks, and the collector is told of them.
for (['clone', 4096], ['handler', 8192], map { [$_, 16384] } qw(spawn execve execl fexecve execveat)) {
    my ($way, $size) = @$_;
    my @command = ("$B/prog/smallstack", $way, $size);
    is +(run({LD_PRELOAD => undef}, @command))[0], 0, "@$_: a program is started";
    my ($status, $out, $err) = run({LD_PRELOAD => undef, PAWPRINT_LOG => undef}, "$B/bin/eventrec", '--force', '-o', $log, @command);
    is $status, 0, 'and so it is where that is recorded' or diag "$out$err";
    is +(() = `$B/bin/eventview --json $log` =~ m{"program": "[^"]*/true"}g), 1, 'the program is in the log' if $way ne 'clone';
}

# Another library's functions of the same names are called as without us, wherever it stands; and a call is told once.
for my $kinds ('+Object', '+Sync') {
    my ($deny, %log) = ("$B/prog/deny.so", PAWPRINT_KINDS => $kinds);
    my @due = run({LD_PRELOAD => $deny}, "$B/prog/pleads");
    is $due[0], 4 << 8, 'a library has a word in how a program ends';
    is scalar(() = $due[1] =~ /, denied: 18$/mg), 7, 'and refuses what it does not like';
    for (["$so $deny", 'behind'], ["$deny $so", 'in front']) {
        my ($preload, $where) = @$_;
        is_deeply [run({%log, LD_PRELOAD => $preload}, "$B/prog/pleads")], \@due, "so it does $where of ours ($kinds)";
        my @mine = map { /^\S+ (Memory.*)$/ && $1 !~ /^MemoryUnmap.*=12345678$/ ? $1 =~ s/ (?:addr|old|base|limit|before)=0x[0-9a-f]+//gr : () } events();
        is_deeply \@mine, ['MemoryMap size=65536 protection=3 flags=34', 'MemoryMap size=131072 protection=3 flags=34',
            'MemoryRemap oldSize=65536 size=196608', 'MemoryUnmap size=196608', 'MemoryBreak'], 'each that was made is told once';
    }
    is_deeply [run({%log, LD_PRELOAD => "$so $deny", PAWPRINT_MODE => 'manage'}, "$B/prog/pleads")], \@due, 'and where Pawprint serves';
    is_deeply [run({%log, LD_PRELOAD => "$so $B/prog/nested.so $deny"}, "$B/prog/pleads")], \@due, 'and behind an allocator that maps';
}
{
    my @due = run({LD_PRELOAD => "$B/prog/deny.so"}, "$B/prog/pleads");
    is_deeply [(run({LD_PRELOAD => "$B/prog/deny.so", PAWPRINT_LOG => undef}, "$B/bin/eventrec", '--force', '-o', $log, "$B/prog/pleads"))[0, 1]],
        [@due[0, 1]], 'and with a collector';
}

# The constructors of some libraries run before ours: of jq's, for instance.
{
    open my $out, '>', "$dir/first.c" or die;
    print $out "#include <stdlib.h>\n__attribute__((constructor)) static void first(void)\n{\n",
        "  void *volatile p = malloc(44444);\n  free(p);\n}\n";
    close $out;
    is system($ENV{CC} || 'gcc', '-shared', '-fPIC', '-o', "$dir/first.so", "$dir/first.c"), 0, 'a library with a constructor';
    run({LD_PRELOAD => "$so $dir/first.so"}, $perl, '-e', 1);
    my ($created, $allocated) = grep { / PoolCreate | size=44444$/ } events();
    like $created // '', qr/ PoolCreate .*class="malloc"$/, 'where it allocates before us, the pool is told of';
    like $allocated // '', qr/ PoolAlloc .*size=44444$/, 'and then what it allocates';
}

# What others count.
my $work = 'my %h; push @{$h{$_ % 97}}, "x" x ($_ % 300) for 1 .. 6000; my @k = sort map { join ",", @$_ } values %h; print length "@k", "\n"';
countsEqual('perl', $perl, '-e', $work);
countsEqual('threads that fork', "$B/prog/churn", 4, 2000);
my $gcc = `gcc -print-prog-name=cc1 2>/dev/null`;
chomp $gcc;
SKIP: {
    skip 'gcc\'s cc1 is not here', 3 unless -x $gcc;
    open my $out, '>', "$dir/small.c" or die;
    print $out "int f(int n) { int i, s = 0; for (i = 0; i < n; ++i) s += i * $_; return s; }\n" =~ s/f\(/f$_(/r for 1 .. 60;
    close $out;
    countsEqual('cc1', $gcc, '-quiet', '-O1', "$dir/small.c", '-o', "$dir/small.s");
}

# Programs do not notice.
my @programs = (['churn', "$B/prog/churn", 4, 3000], ['perl', $perl, '-e', $work]);
push @programs, ['cc1', $gcc, '-quiet', '-O1', "$dir/small.c", '-o', '-'] if -x $gcc;
for (['python3', '-c', 'import json; print(len(json.dumps([{"k%d" % i: list(range(i % 50))} for i in range(2000)])))'],
     ['sqlite3', ':memory:', 'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)'
         . ' insert into t select i, i * i from n; select sum(b) from t where a % 7 = 3;']) {
    my ($name, @arguments) = @$_;
    if (`sh -c 'command -v $name'` =~ /(\S+)/ && `$1 --version 2>&1` =~ /\d/) { push @programs, [$name, $1, @arguments] }
    else { note "$name is not here" }
}
for (@programs) {
    my ($name, @command) = @$_;
    my @plain = run({LD_PRELOAD => undef, PYTHONMALLOC => 'malloc'}, @command);
    is_deeply [run({PYTHONMALLOC => 'malloc', PAWPRINT_MODE => $_}, @command)], \@plain, "$name is the same, $_" for qw(observe manage);
}
{
    my ($status) = run({PAWPRINT_MODE => 'manage'}, "$B/prog/churn", 4, 1000);
    is scalar(grep { / PoolCreate .*class="SGF"/ } events()) >= 1, 1, 'managed, the events name our pool';
}

# Trouble with the log.
my $plain = join ' ', run({LD_PRELOAD => undef}, $perl, '-e', $work);
my @left; # in memory, of what could not be written
END { unlink map { ($_, "$_.log") } @left }
sub trouble {
    my ($what, $reason, $environment, @prefix) = @_;
    my ($status, $out, $err) = run($environment, @prefix, $perl, '-e', $work);

    is "$status $out ", $plain, "$what: the program runs on";
    push @left, $1 if $err =~ s{^pawprint: not all could be written: (/dev/shm/pawprint-\S+): the rest stays there[^\n]*\n}{}m;
    like $err, qr/^pawprint: [^\n]*$reason[^\n]*\n\z/, "$what: told once, with the reason";
}
trouble('a full device', 'No space left on device', {PAWPRINT_LOG => '/dev/full'});
trouble('a folder that is not there', 'No such file or directory', {PAWPRINT_LOG => "$dir/none/log"});
trouble('a kind misspelt', 'Objct', {PAWPRINT_KINDS => 'Objct'});
{
    open my $out, '>', "$dir/there" or die;
    print $out "precious\n";
    close $out;
    trouble('a log that is there', 'there already', {PAWPRINT_LOG => "$dir/there"});
    is slurp("$dir/there"), "precious\n", 'and is not touched';
}
trouble('a way out that is none', 'no such way', {PAWPRINT_LOG => 'carrier-pigeon:coop'});
{
    my ($status, $out, $err) = run({}, 'sh', '-c', "ulimit -f 20; exec $perl -e '$work'");
    is "$status $out ", $plain, 'a limit on file sizes: the program runs on';
    like $err, qr/ulimit -f/, 'and it is told';
    is scalar(() = $err =~ /cannot write the log/g), 1, 'once';
    cmp_ok -s $log, '<=', 20 * 1024, 'the limit is kept';
    like `$B/bin/eventrec --clean $log 2>&1`, qr/: added to the log; removed$/m, 'what the shell could not write is added when it may';
}
SKIP: {
    my $tmpfs = "$dir/tmpfs";
    mkdir $tmpfs;
    skip 'no tmpfs may be mounted', 10 if $> != 0 || system("mount -t tmpfs -o size=64k none $tmpfs 2>/dev/null") != 0;
    my $before = @left;
    trouble('a full file system', 'No space left on device', {PAWPRINT_LOG => "$tmpfs/log"});
    is scalar @left, $before + 1, 'what had no room is in memory, which is said';
    my $events = () = `$cnv $tmpfs/log 2>/dev/null` =~ /\n/g;
    like `$cnv --check $tmpfs/log 2>&1`,
        qr/\A[^\n]*: the newest events of process \d+ could not be written, and are in $left[-1]; eventrec --clean adds them\n\z/,
        'so it is by who checks the log';
    is $? >> 8, 1, 'which lacks them';
    system "mount -o remount,size=16m $tmpfs; cp $tmpfs/log $dir/short";
    like `$B/bin/eventrec --clean $tmpfs/log 2>&1`, qr/: added to the log; removed$/m, 'where there is room, it is added';
    is `$cnv --check $tmpfs/log 2>&1`, '', 'and nothing is missing';
    is scalar(() = `$cnv $tmpfs/log 2>/dev/null` =~ /\n/g), $events, 'nor was before, by who dumped it';
    system "cp $dir/short $tmpfs/log";
    like `$cnv --check $tmpfs/log 2>&1`, qr/its newest events, if there were any: what no receiver refused was in $left[-1], which is gone$/m, 'without it something is missing';
    is $? >> 8, 1, 'and that is said';
    system "umount $tmpfs";
}
{
    my ($status, $out, $err) = run({PAWPRINT_LOG => undef}, $perl, '-e', $work);
    is "$status $out $err", $plain, 'nothing asked for: the flight recorder runs, unseen';
}
done_testing;
