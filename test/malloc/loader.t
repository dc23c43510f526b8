#!/usr/bin/env perl
# loader.t -- what a plugin brought along is found while the dynamic loader is busy, and in a child that was forked meanwhile
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($so, $rec) = ("$B/lib/libpawprint.so", "$B/bin/eventrec");
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};
plan skip_all => 'no g++' if system('command -v g++ >/dev/null 2>&1') != 0;
plan skip_all => 'this glibc does not say what is at an address' # and then its dlsym is called
    if ((split / /, `getconf GNU_LIBC_VERSION`)[1] // 0) < 2.35;

sub spew { open my $out, '>', $_[0] or die; print $out $_[1]; close $out or die }

# The loader has its lock while it runs a constructor, which waits for a thread that is the first to use an operator.
spew("$dir/waits.cc", <<'CC');
#include <cstdlib>
#include <new>
#include <pthread.h>
#include <stdexcept>
static void *use(void *) {
  const char *what = getenv("USE");
  switch (what ? what[0] : 'n') {
  case 'n': delete new int; break;
  case 't': try { throw std::runtime_error("thrown"); } catch (const std::exception &) {} break;
  case 'h': std::get_new_handler(); break;
  case 'r': free(reallocarray(nullptr, 3, 4)); break;
  }
  return nullptr;
}
struct Waits {
  Waits() { pthread_t thread; pthread_create(&thread, nullptr, use, nullptr); pthread_join(thread, nullptr); }
} waits;
CC
spew("$dir/loads.c", <<'C');
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) { puts(argc > 1 && dlopen(argv[1], RTLD_NOW) ? "loaded" : dlerror()); return 0; }
C
system("g++ -O0 -shared -fPIC -pthread -o $dir/waits.so $dir/waits.cc && gcc -o $dir/loads $dir/loads.c -ldl") == 0 or die;
my %under = ('the library alone' => "env LD_PRELOAD=$so", 'a recording' => "$rec --force -o $dir/a.paw --",
             'our malloc' => "$rec --force -m manage -o $dir/a.paw --");
for my $what (sort keys %under) {
    my @stuck = grep { `USE=$_ timeout -k 1 20 $under{$what} $dir/loads $dir/waits.so 2>/dev/null` ne "loaded\n" } qw(new throw handler reallocarray);
    is "@stuck", '', "$what: a constructor waits for a thread that uses operators, and gets on";
}

# A thread loads and unloads, another forks, and each child uses an operator first.
spew("$dir/works.cc", <<'CC');
#include <vector>
extern "C" int work(int n) { std::vector<int> v(n); delete new int; return v.size(); }
CC
spew("$dir/forks.c", <<'C');
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int stop;
static void *loads(void *closure) {
  while (!stop) { void *library = dlopen("libm.so.6", RTLD_NOW); library = dlopen("libresolv.so.2", RTLD_NOW); if (library) dlclose(library); }
  return closure;
}
int main(int argc, char **argv) {
  void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
  int (*work)(int) = plugin ? (int (*)(int))dlsym(plugin, "work") : 0, i, status, failed = 0;
  pthread_t thread;
  if (!work) return 1;
  pthread_create(&thread, 0, loads, 0);
  for (i = 0; i < 150; ++i) {
    pid_t pid = fork();
    if (pid == 0) { alarm(20); _exit(work(100) != 100); }
    failed += waitpid(pid, &status, 0) != pid || status != 0;
  }
  stop = 1;
  pthread_join(thread, 0);
  printf("%d failed\n", failed);
  return 0;
}
C
system("g++ -O0 -shared -fPIC -o $dir/works.so $dir/works.cc && gcc -w -pthread -o $dir/forks $dir/forks.c -ldl") == 0 or die;
is `timeout 60 $rec --force -o $dir/a.paw -- $dir/forks $dir/works.so 2>$dir/err`, "0 failed\n", 'children of a program that loads libraries use operators';

# What was found in a plugin's runtime stays, though the plugin goes.
spew("$dir/again.c", <<'C');
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int i;
  for (i = 0; i < 3; ++i) {
    void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
    int (*work)(int) = plugin ? (int (*)(int))dlsym(plugin, "work") : 0;
    if (!work || work(7) != 7) return 1;
    dlclose(plugin);
  }
  puts("three times");
  return 0;
}
C
system("gcc -o $dir/again $dir/again.c -ldl") == 0 or die;
is `$under{$_} $dir/again $dir/works.so 2>/dev/null`, "three times\n", "$_: a plugin is loaded and closed again and again" for sort keys %under;

# A library has operators of its own, which nobody uses: libstdc++ comes before it, and behind libc.
spew("$dir/own.cc", <<'CC');
#include <cstdlib>
#include <new>
static int used;
void *operator new(std::size_t size) { ++used; return std::malloc(size); }
void operator delete(void *p) noexcept { ++used; std::free(p); }
void operator delete(void *p, std::size_t) noexcept { ++used; std::free(p); }
extern "C" int own() { delete new int; return used; }
CC
spew("$dir/first.cc", "extern \"C\" int own(); extern \"C\" int first() { return own(); }\n");
spew("$dir/order.c", "#include <stdio.h>\nint first(void);\nint main(void) { printf(\"%d\\n\", first()); return 0; }\n");
SKIP: {
    my $link = '-fno-builtin -shared -fPIC';
    skip 'these libraries cannot be linked so', 4
        if system("cd $dir && gcc -xc++ $link -o libown.so own.cc -Wl,--no-as-needed && gcc -xc++ $link -o libfirst.so first.cc "
            . "-Wl,--no-as-needed -lstdc++ -L. -lown -Wl,-rpath,$dir && gcc -o order order.c -L. -lfirst -Wl,-rpath,$dir -Wl,--allow-shlib-undefined") != 0;
    my $plain = `$dir/order`;
    is $plain, "0\n", 'a program uses the operators of libstdc++';
    is `$under{$_} $dir/order 2>/dev/null`, $plain, "$_: it does so still" for sort keys %under;
}
done_testing;
