#!/usr/bin/env perl
# reloads.t -- threads walk their stacks while another one loads and unloads a library that was among their callers
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $CC = $ENV{CC} // 'cc';
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
plan skip_all => 'no compiler' if system("command -v $CC >/dev/null 2>&1") != 0;

sub spew { open my $out, '>', $_[0] or die; print $out $_[1]; close $out or die }

# Threads begin in the library, and stay in a loop of the program when it has been unloaded.
spew("$dir/reloads.c", <<'C');
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile int stop;
static void work(void) {
  while (!stop) { void *volatile object = malloc(40); free(object); }
  for (;;) pause(); /* what it would return to has been unloaded */
}
int main(int argc, char **argv) {
  void *library = dlopen(argv[argc - 1], RTLD_NOW);
  void *(*begin)(void *) = library ? (void *(*)(void *))dlsym(library, "begin") : 0;
  struct timespec moment = {0, 20000000};
  time_t end = time(0) + 1;
  pthread_t threads[2];
  int i;
  if (!begin) return 1;
  for (i = 0; i < 2; ++i) pthread_create(&threads[i], 0, begin, (void *)work);
  nanosleep(&moment, 0);
  dlclose(library);
  for (i = 0; i < 50 || time(0) < end; ++i) {
    library = dlopen(argv[argc - 1], RTLD_NOW);
    dlclose(library);
  }
  stop = 1;
  puts("reloaded");
  fflush(stdout);
  _exit(0);
}
C
spew("$dir/begins.c", join '', map("int f$_(int (*g)(int), int x) { int r = g(x) + $_; return r * x; }\n", 1 .. 3000),
    "void *begin(void *work) { ((void (*)(void))work)(); return 0; }\n");

for ('', '-Wl,--no-eh-frame-hdr') {
    system("$CC -w -O2 -shared -fPIC $_ -o $dir/begins.so $dir/begins.c && $CC -w -pthread -o $dir/reloads $dir/reloads.c -ldl") == 0 or die;
    my $said = `timeout -k 1 50 $B/bin/eventrec --force -s 16 --max-size 8M -o $dir/a.paw -- $dir/reloads $dir/begins.so 2>$dir/err`;
    is "$said$?", "reloaded\n0", 'a library is unloaded while threads walk through where it was' . ($_ && ': one without a table of functions')
        or diag `cat $dir/err`;
}

done_testing;
