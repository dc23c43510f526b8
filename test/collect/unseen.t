#!/usr/bin/env perl
# unseen.t -- programs with a sanitizer in them run as they do without us, and what is not seen of them is named; and so
# it is with allocators' own functions and operators
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp spew);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv) = map { "$B/bin/$_" } qw(eventrec eventcnv);
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitized eventrec is another thing' if $ENV{SAN};

# compile($name, @command) -- a program that runs here, or undef
sub compile {
    my ($name, @command) = @_;
    system("@command -o $dir/$name >$dir/compiled 2>&1") == 0 or return;
    return "$dir/$name";
}

sub run {
    my (@command) = @_;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        { no warnings; exec { $command[0] } @command }
        exit 99;
    }
    waitpid $pid, 0;
    return ($?, slurp("$dir/out"), slurp("$dir/err"));
}

my $source = spew("$dir/observable.c", <<'END');
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *run(void *p)
{
  for (int i = 0; i < 100; ++i) { void *volatile q = malloc(10 + i); free(q); }
  return p;
}
int main(void)
{
  pthread_t t;
  void *volatile p = malloc(12345);
  memset(p, 1, 12345);
  pthread_create(&t, NULL, run, NULL);
  pthread_join(t, NULL);
  free(p);
  puts("done");
  return 7;
}
END

# Whether what the program allocates is seen, and what is said.
my %named = (thread => qr/built with ThreadSanitizer: the library stays out/, address => qr/built with AddressSanitizer, whose malloc/,
    memory => qr/built with MemorySanitizer/, leak => qr/built with LeakSanitizer/);
for my $compiler (qw(gcc clang)) {
    for my $sanitizer (qw(address thread memory undefined leak)) {
        my $program = compile("$compiler-$sanitizer", $compiler, "-O1 -fno-builtin -pthread -fsanitize=$sanitizer", $source);
        SKIP: {
            skip "$compiler has no $sanitizer sanitizer here", 6 unless defined $program;
            my ($plain) = run($program);
            # A malloc that is in the executable is called without us; one in a shared library is not.
            my $seen = $sanitizer eq 'undefined' || ($sanitizer ne 'thread' && `ldd $program 2>&1` =~ /lib(?:asan|msan|lsan|clang_rt)/);
            skip "$compiler\'s $sanitizer sanitizer does not run here", 6 if $plain != 7 << 8;
            for (['', $program], [' started by another program', '/bin/sh', '-c', "$program; exit \$?"]) {
                my ($how, @command) = @$_;
                unlink "$dir/log";
                my ($status, $out, $err) = run($rec, '-o', "$dir/log", @command);
                is "$status $out", (7 << 8) . " done\n", "$compiler, $sanitizer$how: the program runs" or diag $err;
                is scalar(grep { / PoolAlloc .*size=12345$/ } `$cnv $dir/log 2>$dir/said`), $seen ? 1 : 0,
                    "$compiler, $sanitizer$how: what it allocates is " . ($seen ? 'seen' : 'not seen');
                if ($seen) { unlike $err, qr/not seen/, 'and nothing else is said' }
                else { like $err, $named{$sanitizer} // qr/never/, 'which is said' }
            }
        }
    }
}

# A runtime that is inside the program may not show itself to libraries: then ours is in, too.
my $hidden = compile('hidden', 'gcc', '-O1 -fno-builtin -pthread -fsanitize=thread -static-libtsan', $source);
SKIP: {
    skip 'gcc has no thread sanitizer here', 3 unless defined $hidden && (run($hidden))[0] == 7 << 8;
    my ($status, $out, $err) = run($rec, '-o', "$dir/log.hidden", $hidden);
    my $in = grep { / PoolCreate / } `$cnv $dir/log.hidden`;
    is "$status $out", (7 << 8) . " done\n", 'a thread sanitizer inside the program: it runs' or diag $err;
    like $err, $in ? qr/^eventrec: not seen: \S+: built with ThreadSanitizer, whose malloc is in the program: calls of it are not seen$/m : $named{thread},
        'it is said that calls of malloc are not seen, or that the library stays out: what it does';
    is scalar(grep { / PoolAlloc .*size=12345$/ } `$cnv $dir/log.hidden`), 0, 'and they are not';
}

# Functions that only one allocator has, and operators that nothing can stand in front of.
my %doors = (
    jemalloc => ['jemalloc', 'void *mallocx(unsigned long, int); void dallocx(void *, int);', 'void *p = mallocx(100, 0); dallocx(p, 0);'],
    mimalloc => ['mimalloc', 'void *mi_malloc(unsigned long); void mi_free(void *);', 'void *p = mi_malloc(100); mi_free(p);'],
    tcmalloc => ['tcmalloc_minimal', 'void *tc_malloc(unsigned long); void tc_free(void *);', 'void *p = tc_malloc(100); tc_free(p);'],
);
for my $name (sort keys %doors) {
    my ($library, $declared, $body) = @{$doors{$name}};
    my $program = compile($name, 'gcc', spew("$dir/$name.c", "$declared\nint main(void) { $body return 3; }\n"), "-l$library");
    SKIP: {
        skip "$name is not here", 3 unless defined $program;
        my ($status, undef, $err) = run($rec, '-o', "$dir/log.$name", $program);
        is $status, 3 << 8, "$name by its own names: it runs";
        like $err, qr/^eventrec: not seen: \S+: it calls functions that only $name has/m, 'and that these calls are not seen is said';
        like `$B/bin/eventview $dir/log.$name`, qr/^not seen {7}\S+: it calls functions that only $name has/m, 'also in the log';
    }
}
my $own = 'void *operator new(std::size_t n) { static char room[1 << 16], *at = room; at += n + 15 & ~15ul; return at; }'
    . ' void operator delete(void *) noexcept {} void operator delete(void *, std::size_t) noexcept {}';
my $main = 'int main() { int *volatile p = new int; delete p; return 3; }';
my $program = compile('own', 'g++', spew("$dir/own.cc", "#include <new>\n$own\n$main\n"));
my $calls = compile('calls', 'g++', '-static-libstdc++', spew("$dir/calls.cc", "#include <new>\n$main\n"));
SKIP: {
    skip 'no g++', 2 unless defined $program && defined $calls;
    my (undef, undef, $err) = run($rec, '-o', "$dir/log.own", $program);
    like $err, qr/not seen: \S+: an operator new of its own/, 'operators in the program that call no malloc are named';
    (undef, undef, $err) = run($rec, '-o', "$dir/log.calls", $calls);
    unlike $err, qr/not seen/, 'and those that do are not,';
    is scalar(grep { / PoolAlloc .*size=4$/ } `$cnv $dir/log.calls`), 1, 'because they are seen';
}

# The same in a library that the program has loaded, but for the allocator's own; and where it only asks whether it is there.
for my $name (sort keys %doors) {
    my ($library, $declared, $body) = @{$doors{$name}};
    my $called = 'void called(void)';
    my $inner = compile("lib$name-user.so", 'gcc', '-shared -fPIC', spew("$dir/$name-user.c", "$declared\n$called { $body }\n"), "-l$library");
    my $weak = compile("lib$name-weak.so", 'gcc', '-shared -fPIC',
        spew("$dir/$name-weak.c", join('', map { "__attribute__((weak)) $_;" } $declared =~ /([^;]+);/g) . "\n$called { if (" . ($body =~ /= (\w+)/)[0] . ") { $body } }\n"));
    SKIP: {
        skip "$name is not here", 4 unless defined $inner && defined $weak;
        for (['user', $inner, "-L$dir -l$name-user", 1], ['weak', $weak, "-L$dir -l$name-weak -Wl,--no-as-needed -l$library", 1],
             ['none', $weak, "-L$dir -l$name-weak", 0]) {
            my ($how, $file, $link, $named) = @$_;
            my $program = compile("$name-$how", 'gcc', spew("$dir/main.c", "$called;\nint main(void) { called(); return 3; }\n"), "$link -Wl,-rpath,$dir");
            my ($status, undef, $err) = run($rec, '-o', "$dir/log.$name.$how", $program);
            is $status, 3 << 8, "$name in a library ($how): it runs";
            my @lines = $err =~ /^eventrec: (not seen: .*)/mg;
            is_deeply \@lines, $named ? ["not seen: $file: it calls functions that only $name has (" . ($lines[0] // '') =~ s/.*\(//r] : [],
                'the library is named if it calls such functions, and nothing else';
        }
    }
}
# And in the program itself: a weak function that is nowhere is not called.
for my $name (sort keys %doors) {
    my ($library, $declared, $body) = @{$doors{$name}};
    my $weak = join '', map { "__attribute__((weak)) $_;" } $declared =~ /([^;]+);/g;
    my $file = spew("$dir/$name-asks.c", "$weak\nint main(void) { if (" . ($body =~ /= (\w+)/)[0] . ") { $body } return 3; }\n");
    for (['', 0], ["-Wl,--no-as-needed -l$library", 1]) {
        my ($link, $named) = @$_;
        my $program = compile("$name-asks$named", 'gcc', $file, $link);
        SKIP: {
            skip "$name is not here", 3 unless defined $program;
            my ($status, undef, $err) = run($rec, '-o', "$dir/log.$name.asks$named", $program);
            is $status, 3 << 8, "$name where it is there ($named): the program runs";
            my @lines = $err =~ /^eventrec: (not seen: .*)/mg;
            is scalar(@lines), $named, 'and is named if it is';
        }
    }
}

# A library that comes before ours, with malloc or operators of its own, is named for each program that has it so; behind ours
# it is seen.  One that passes its calls on is seen, too.
my $arena = 'static char room[1 << 24]; static size_t at; void *malloc(size_t n) { void *p = room + at; at += (n + 15) & ~15ul; return p; }'
    . ' void free(void *p) { (void)p; } void *calloc(size_t n, size_t m) { return malloc(n * m); } void *realloc(void *p, size_t n)'
    . ' { void *q = malloc(n); if (p) for (size_t i = 0; i < n && (char *)p + i < room + at; ++i) ((char *)q)[i] = ((char *)p)[i]; return q; }';
my $strangers = {
    arena => compile('libarena.so', 'gcc', '-shared -fPIC -fno-builtin', spew("$dir/arena.c", "#include <stddef.h>\n$arena\n")),
    operators => compile('liboperators.so', 'g++', '-shared -fPIC', spew("$dir/operators.cc", "#include <new>\n$own\n")),
};
for my $library (qw(jemalloc mimalloc tcmalloc_minimal)) {
    ($strangers->{$library}) = grep { -e } map { glob "$_/lib$library.so.*" } '/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib';
}
my $allocates = compile('allocates', 'gcc', '-O1 -fno-builtin -pthread', $source);
my $news = compile('news', 'g++', spew("$dir/news.cc", "#include <new>\n$main\n"));
for my $name (sort keys %$strangers) {
    my ($library, $program) = ($strangers->{$name}, $name eq 'operators' ? $news : $allocates);
    SKIP: {
        skip "$name is not here", 5 unless defined $library && defined $program;
        my $real = abs_path($program);
        for (['before', "$library:\$LD_PRELOAD", 1], ['behind', "\$LD_PRELOAD:$library", 0]) {
            my ($how, $preload, $named) = @$_;
            my ($status, undef, $err) = run($rec, '-o', "$dir/log.$name.$how", 'sh', '-c', "LD_PRELOAD=$preload exec $program");
            is $status, ($name eq 'operators' ? 3 : 7) << 8, "$name $how: the program runs" or diag $err;
            is_deeply [$err =~ /^eventrec: (not seen: .*)/mg], $named ? ["not seen: $real: it has malloc or operator new of $library, "
                . 'which comes before libpawprint.so: only calls that it passes on are seen'] : [], 'and is named where it is not seen';
        }
        local $ENV{LD_PRELOAD} = "$library:$B/lib/libpawprint.so";
        local $ENV{PAWPRINT_LOG} = "$dir/log.$name.self";
        my (undef, undef, $err) = run($program);
        like $err, qr/^pawprint: not seen: \Q$library\E: its malloc or operator new comes before libpawprint\.so/m, 'without eventrec, too';
    }
}

# Tools of valgrind that replace malloc are named, unless they are told to replace libc's alone; those that do not are not.
for (['--tool=memcheck', 1], ['--tool=massif --massif-out-file=/dev/null', 1], ['--tool=dhat --dhat-out-file=/dev/null', 1],
     ['--tool=memcheck --soname-synonyms=somalloc=nouserintercepts', 0], ['--tool=none', 0]) {
    my ($options, $named) = @$_;
    SKIP: {
        skip "no valgrind with $options here", 4 if system("valgrind -q $options /bin/true >$dir/said 2>&1") != 0;
        skip "valgrind cannot read the library's debug information", 4
            if system("LD_PRELOAD=$B/lib/libpawprint.so valgrind -q $options $allocates >$dir/said 2>&1") != 7 << 8;
        my ($status, undef, $err) = run($rec, '--force', '-o', "$dir/log.valgrind", 'sh', '-c', "exec valgrind -q $options $allocates");
        is $status, 7 << 8, "valgrind $options: the program runs" or diag $err;
        is scalar(grep { / PoolAlloc .*size=12345$/ } `$cnv $dir/log.valgrind`), $named ? 0 : 1, 'what it allocates is seen, or not';
        my @lines = $err =~ /^eventrec: (not seen: .*)/mg;
        is scalar(grep { m{^not seen: \S+: it has malloc or operator new of \S+/vgpreload_\S+, which comes before libpawprint\.so: } } @lines),
            $named, 'and is named if it is not' or diag $err;
        is scalar(@lines), $named, 'and nothing else is';
    }
}

# An executable at a fixed place that takes the address of malloc, or of operator new, is asked for it first, and has only the way to
# the library's.
for my $name (grep { defined $strangers->{$_} } sort keys %$strangers) {
    my $file = $name eq 'operators' ? spew("$dir/takes.cc", '#include <new>' . "\nint main() { void *(*volatile take)(std::size_t) = operator new;"
                                              . " void *volatile p = take(100); operator delete(p); return 3; }\n")
        : spew("$dir/takes.c", "#include <stdlib.h>\nint main(void) { void *(*volatile take)(size_t) = malloc; void *volatile p = take(100); free(p); return 3; }\n");
    my $program = compile("takes-$name", $name eq 'operators' ? 'g++' : 'gcc', '-O1 -fno-builtin -fno-pie -no-pie', $file);
    SKIP: {
        skip 'no such executables here', 4 unless defined $program;
        for (['before', "$strangers->{$name}:\$LD_PRELOAD", 1], ['behind', "\$LD_PRELOAD:$strangers->{$name}", 0]) {
            my ($how, $preload, $named) = @$_;
            my ($status, undef, $err) = run($rec, '-o', "$dir/log.takes.$name.$how", 'sh', '-c', "LD_PRELOAD=$preload exec $program");
            is $status, 3 << 8, "$name $how, its address is taken: the program runs" or diag $err;
            is_deeply [$err =~ /^eventrec: (not seen: .*)/mg], $named ? ['not seen: ' . abs_path($program) . ": it has malloc or operator new of "
                . "$strangers->{$name}, which comes before libpawprint.so: only calls that it passes on are seen"] : [], 'and is named where it is not seen';
        }
    }
}

# libc's own names for malloc, in a program, in a library, and in a library that wraps malloc by them.
{
    my $declared = "#include <stddef.h>\nvoid *__libc_malloc(size_t); void __libc_free(void *);";
    my $calls = 'void called(void) { void *volatile p = __libc_malloc(100); __libc_free(p); }';
    my $run = "int main(void) { called(); return 3; }";
    my $inside = compile('libc-inside', 'gcc', spew("$dir/" . 'libc-inside.c', "$declared\n$calls\n$run\n"));
    my $library = compile('liblibc-user.so', 'gcc', '-shared -fPIC', spew("$dir/" . 'libc-user.c', "$declared\n$calls\n"));
    my $outside = compile('libc-outside', 'gcc', spew("$dir/" . 'libc-outside.c', "void called(void); $run\n"), "-L$dir -llibc-user -Wl,-rpath,$dir");
    my $wraps = compile('liblibc-wraps.so', 'gcc', '-shared -fPIC',
        spew("$dir/" . 'libc-wraps.c', "$declared\nvoid *malloc(size_t n) { return __libc_malloc(n); }\n"));
    for ([$inside, $inside, ''], [$outside, $library, ''], [$allocates, undef, "LD_PRELOAD=\$LD_PRELOAD:$wraps "]) {
        my ($program, $named, $environment) = @$_;
        my (undef, undef, $err) = run($rec, '--force', '-o', "$dir/log.libc", 'sh', '-c', "${environment}exec $program");
        is_deeply [$err =~ /^eventrec: (not seen: .*)/mg], defined $named ? ["not seen: " . abs_path($named)
            . ": it calls libc's malloc by names that are not wrapped (__libc_malloc and its kin): these calls are not seen"] : [],
            'who calls __libc_malloc is named, but for who wraps malloc by it';
    }
}
done_testing;
