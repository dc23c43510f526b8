#!/usr/bin/env perl
# overflow.t -- a program whose stack overflows at an allocation, and which goes on by a handler of SIGSEGV, does so when it is
# recorded
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

# Each time the stack ends at another place: of a thread, and of the main thread, whose stack the kernel lets grow.
open my $out, '>', "$dir/overflow.c" or die;
print $out <<'C';
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
static sigjmp_buf back;
static void handle(int number) { (void)number; siglongjmp(back, 1); }
__attribute__((noinline)) static void recurse(int n) {
  volatile char room[16];
  void *volatile object = malloc(24);
  room[0] = n;
  free(object);
  recurse(n + 1);
  room[1] = room[0];
}
static void *overflows(void *argument) {
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  volatile int i;
  sigaltstack(&stack, 0);
  for (i = 0; i < 300; ++i) {
    volatile char further[1 + i * 8];
    void *volatile object;
    further[0] = 0;
    if (!sigsetjmp(back, 1)) recurse(0);
    object = malloc(100001);
    free(object);
  }
  return argument;
}
int main(void) {
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  struct rlimit limit = {1 << 18, 1 << 18};
  pthread_attr_t attributes;
  pthread_t thread;
  sigaction(SIGSEGV, &action, 0);
  sigaction(SIGBUS, &action, 0);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_create(&thread, &attributes, overflows, 0);
  pthread_join(thread, 0);
  setrlimit(RLIMIT_STACK, &limit);
  overflows(0);
  puts("600 times");
  return 0;
}
C
close $out or die;
system("$CC -w -O1 -pthread -o $dir/overflow $dir/overflow.c") == 0 or die;
is `$dir/overflow`, "600 times\n", 'the program goes on alone';
for ([0, 'no stacks'], [16, 'stacks']) {
    my $said = `timeout -k 1 50 $B/bin/eventrec --force -s $_->[0] -o $dir/a.paw -- $dir/overflow 2>$dir/err`;
    is "$said$?", "600 times\n0", "and when it is recorded with $_->[1]" or diag `cat $dir/err`;
    my $found = () = `$B/bin/eventcnv -e 'size == 100001' $dir/a.paw 2>&1` =~ /^.*PoolAlloc.*$/mg;
    is $found, 600, 'what it allocates behind each overflow is in the log';
}

done_testing;
