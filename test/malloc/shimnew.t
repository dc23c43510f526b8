#!/usr/bin/env perl
# shimnew.t -- new and delete of C++, and calls that an allocator makes inside its calls: each call counts once, whoever serves
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($so, $cnv, $view, $rec) = ("$B/lib/libpawprint.so", map { "$B/bin/$_" } qw(eventcnv eventview eventrec));
my $dir = tempdir(CLEANUP => 1);
my $log = "$dir/log";

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};
-e $_ or BAIL_OUT("$_ is not there") for $so, $cnv, $view, "$B/prog/nested.so", "$B/prog/family";

# run(\%environment, @command) -- (status, output) of a program with our library preloaded
sub run {
    my ($environment, @command) = @_;

    unlink $log;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>&', \*STDOUT or die;
        %ENV = (%ENV, LD_PRELOAD => $so, PAWPRINT_LOG => $log, PAWPRINT_KINDS => 'Object', %$environment);
        { no warnings; exec { $command[0] } @command }
        die "$command[0]: $!";
    }
    waitpid $pid, 0;
    return ($?, slurp("$dir/out"));
}

# between($size) -- the events between the allocation of $size bytes and its free
sub between {
    my ($size) = @_;
    my ($addr, @events);

    for (split /\n/, `$cnv $log 2>$dir/said`) {
        my (undef, undef, $event) = split ' ', $_, 3;
        if (!defined $addr) { ($addr) = $event =~ /^PoolAlloc(?:Site)? .*addr=(\S+) size=$size\b/ }
        elsif ($event =~ /^PoolFree .*addr=$addr$/) { return @events }
        else { push @events, $event }
    }
    return;
}

sub names { my %n; ++$n{(split ' ')[0]} for @_; return join ' ', map { "$_ $n{$_}" } sort keys %n }

# unbalanced(@events) -- addresses that are allocated twice, freed without an allocation, or left
sub unbalanced {
    my (%live, @wrong);

    for (@_) {
        my ($name, $addr) = /^(\w+) .*addr=(\S+)/ or next;
        if ($name =~ /^PoolAlloc/ && $name ne 'PoolAllocFail') { push @wrong, "twice: $_" if $live{$addr}++ }
        elsif ($name eq 'PoolFree') { push @wrong, "of none: $_" unless delete $live{$addr} }
    }
    return (@wrong, map { "left: $_" } sort keys %live);
}

# An allocator whose functions call each other.
{
    my $shape = sub { return [map { s/ (?:pool|addr|old|base|limit)=0x(?!0\b)[0-9a-f]+//gr } grep { !/^Memory|^PoolAlloc size=(?:1024|4096)$/ } between(11111)] };
    run({}, "$B/prog/family");
    my $plain = $shape->();
    my ($status, $out) = run({LD_PRELOAD => "$so $B/prog/nested.so"}, "$B/prog/family");
    is $status, 3 << 8, 'a malloc whose functions call each other: the program runs';
    cmp_ok scalar(@$plain), '>', 20, 'what libc did';
    is_deeply $shape->(), $plain, 'and there each call is one event, too: the outermost';
}

# compile($name, @arguments) -- a program of C++, or undef
sub compile {
    my ($name, @arguments) = @_;
    system("@arguments -std=c++17 -O1 -fno-builtin -pthread -o $dir/$name >$dir/compiled 2>&1") == 0 or return;
    return "$dir/$name";
}
my $source = "$Bin/../prog/operators.cc";
my $program = compile('operators', 'g++', $source);
SKIP: {
    skip 'no g++', 1 if system('command -v g++ >/dev/null 2>&1') != 0;
    ok defined $program, 'a program of C++ with all operators is built' or diag slurp("$dir/compiled");
}

# due($what, $calm, \%environment, $program) -- between the markers is what the program says, and trouble leaves nothing
sub due {
    my ($what, $calm, $environment, $command) = @_;
    my ($status, $out) = run($environment, $command, 200, 0, $calm ? 'calm' : ());

    is $status, 0, "$what: it ran" or diag $out;
    my @counted = between(11111);
    is names(@counted) . "\n", join(' ', map { "$_->[0] $_->[1]" } sort { $a->[0] cmp $b->[0] } map { [split / /] } $out =~ /(\w+ \d+)/g) . "\n",
        "$what: each operator is one event, allocated and freed";
    is_deeply [unbalanced(@counted)], [], "$what: each object is freed once";
    return if $calm;
    my @trouble = between(22222);
    is_deeply [unbalanced(@trouble)], [], "$what: and so it is where operators fail, ask the handler, and throw";
    is scalar(grep { /^PoolAllocFail / } @trouble), 20 * 6, "$what: each attempt that failed is told";
}

my %libraries;
for my $name (qw(jemalloc mimalloc tcmalloc_minimal)) {
    ($libraries{$name}) = grep { -e } map { glob "$_/lib$name.so.*" } split /:/, '/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:/usr/local/lib';
}
if (defined $program) {
    due('libstdc++', 0, {}, $program);
    due('libstdc++, managed', 0, {PAWPRINT_MODE => 'manage'}, $program);
    for my $name (sort keys %libraries) {
        SKIP: {
            skip "no $name", 3 unless defined $libraries{$name};
            my $calm = $name eq 'mimalloc'; # which aborts where it has no memory
            due("$name preloaded", $calm, {LD_PRELOAD => "$so $libraries{$name}"}, $program);
            my $linked = compile("operators-$name", 'g++', $source, $libraries{$name});
            due("$name linked", $calm, {}, $linked) if defined $linked;
            due("$name linked, managed", $calm, {PAWPRINT_MODE => 'manage'}, $linked) if defined $linked;
        }
    }
    my $clang = compile('operators-clang', 'clang++', '-fsized-deallocation', $source);
    SKIP: {
        skip 'no clang++', 1 unless defined $clang;
        due('clang', 0, {}, $clang);
    }
    my $own = compile('ownnew.so', 'g++', '-shared', '-fPIC', "$Bin/../prog/ownnew.cc");
    due('operators of a library\'s own', 1, {LD_PRELOAD => "$so $own"}, $program);
    run({LD_PRELOAD => "$so $own"}, $program, 20, 0, 'plain');
    my @after = between(22222);
    cmp_ok scalar(grep { /^PoolAlloc / } @after), '>=', 20 * 9, 'where they throw without asking for a handler, what comes then is seen';
    is_deeply [unbalanced(@after)], [], 'and the memory of what they throw, wherever it is caught';

    # The whole program, by a count that knows nothing of ours.
    unlink "$dir/counts";
    run({LD_PRELOAD => "$so $B/prog/counter.so", COUNTER => "$dir/counts"}, $program, 300, 4);
    my @names = qw(PoolAlloc PoolFree PoolAllocZero PoolResizeBegin PoolAllocAligned PoolAllocFail);
    my (undef, @record) = unpack 'Q7', substr slurp("$dir/counts"), 64, 64;
    my %seen;
    ++$seen{(split ' ')[2]} for split /\n/, `$cnv $log 2>/dev/null`;
    is_deeply [map { "$_ " . ($seen{$_} // 0) } @names], [map { "$names[$_] $record[$_]" } 0 .. $#names], 'threads: an independent count agrees';

    # Sites are those who said new, and not inside an operator.
    run({PAWPRINT_STACK => 1}, $program, 5);
    my %sites;
    for (between(11111)) { ++$sites{$1} if /^PoolAlloc\w*Site .*site=(\S+)/ }
    cmp_ok scalar(keys %sites), '>=', 16, 'the site of an allocation is the place that says new';

    # Loaded for a plugin alone, the operators are not where others find them.
    open my $c, '>', "$dir/plugin.cc" or die;
    print $c "extern \"C\" int plugin(int n) { try { if (n < 0) throw 0.5; } catch (double) { return 0; }\n",
        "int *volatile p = new int[n]; p[0] = 5; n = p[0]; delete[] p; return n; }\n";
    close $c;
    open $c, '>', "$dir/host.c" or die;
    print $c "#include <dlfcn.h>\n#include <stdlib.h>\nint main(int c, char **v) { void *h = dlopen(v[1], RTLD_NOW | RTLD_LOCAL); int (*f)(int);\n",
        "if (c < 2 || h == NULL) return 1; *(void **)&f = dlsym(h, \"plugin\"); void *volatile p = malloc(11111); int r = f(77); free(p); return r + f(-1); }\n";
    close $c;
    my $plugin = compile('plugin.so', 'g++', '-shared', '-fPIC', "$dir/plugin.cc");
    my $host = system(($ENV{CC} || 'gcc') . " -O1 -fno-builtin -o $dir/host $dir/host.c -ldl") == 0 ? "$dir/host" : undef;
    my ($status, $out) = run({}, $host, $plugin);
    is $status, 5 << 8, 'a plugin brings its operators along' or diag $out;
    like join("\n", grep { !/^Memory/ } between(11111)), qr/\APoolAlloc .*size=308\nPoolFree [^\n]*\z/,
        'and its allocation is seen, and nothing of what looking them up takes';
}
done_testing;
