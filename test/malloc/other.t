#!/usr/bin/env perl
# other.t -- a program that has another allocator behind ours, and whose malloc is Pawprint's: objects that functions which only that
# allocator has have given go back to it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run spew);
use Cwd qw(abs_path);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $cc = $ENV{CC} // 'cc';
my ($rec, $cnv) = map { "$B/bin/$_" } qw(eventrec eventcnv);
my $variety = $ENV{VARIETY} // 'cool';
plan skip_all => 'no program is managed under sanitizers' if $ENV{SAN};

sub compile {
    my ($name, $source, $options) = @_;
    my $file = spew("$Dir/$name.c", $source);
    return system("$cc -w -O0 -fno-builtin -o $Dir/$name $file $options 2>$Dir/said") == 0 ? "$Dir/$name" : undef;
}

# An allocator that gives each piece of its room once, and counts what comes back; a free of what it has not given ends the program.
compile('libother.so', <<'C', '-shared -fPIC') or die 'no library';
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static char room[1 << 20], *at = room;
int other_frees;
int other_has(void *p) { return (char *)p >= room && (char *)p < at; }
void *other_alloc(size_t n) { size_t *p = (size_t *)at; at += (n + 31) & ~15ul; p[0] = n; return p + 2; }
size_t malloc_usable_size(void *p) { if (!other_has(p)) _Exit(9); return ((size_t *)p)[-2]; }
void free(void *p) { if (p == NULL) return; if (!other_has(p)) _Exit(8); ++other_frees; }
void *malloc(size_t n) { return other_alloc(n); }
void *calloc(size_t n, size_t m) { return other_alloc(n * m); }
void *memalign(size_t a, size_t n) { return other_alloc(n); }
void *realloc(void *p, size_t n)
{
  void *q = other_alloc(n);
  if (p != NULL) { memcpy(q, p, malloc_usable_size(p) < n ? malloc_usable_size(p) : n); free(p); }
  return q;
}
C
my $program = compile('program', <<'C', "-L$Dir -Wl,--no-as-needed -lother -Wl,-rpath,$Dir");
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern int other_frees;
int other_has(void *p);
void *other_alloc(size_t n);
int main(int n, char **v)
{
  char *own = malloc(100), *p = other_alloc(100);
  int frees = other_frees;
  printf("%d %zu\n", other_has(p), malloc_usable_size(p));
  strcpy(p, "kept");
  p = realloc(p, 5000);
  printf("%d %zu %s\n", other_has(p), malloc_usable_size(p), p);
  p = reallocarray(p, 100, 3);
  printf("%d %s\n", other_has(p), p);
  free(p);
  free(other_alloc(10));
  printf("%d\n", other_frees - frees);
  if (n > 1) printf("%d\n", other_has(own));
  free(own);
  if (n > 1 && strcmp(v[1], "twice") == 0) free(own);
  if (n > 1 && strcmp(v[1], "inner") == 0) free((char *)malloc(1000) + 48);
  return 3;
}
C
die 'no program' unless defined $program;

my @due = run($program);
is "@due[0, 1]", "3 1 100\n1 5000 kept\n1 kept\n4\n", 'alone, the program runs';
for my $options ([], ['-s', 8, '--usable'], ['--debug']) {
    my ($status, $out, $err) = run($rec, '-m', 'manage', @$options, '--force', '-o', "$Dir/log", $program);
    is "$status $out", "$due[0] $due[1]", "managed (@$options), it runs as it does alone" or diag $err;
    unlike $err, qr/^pawprint: /m, 'and nothing wrong is found';
    (undef, $out) = run($rec, '-m', 'manage', @$options, '--force', '-o', "$Dir/log", $program, 'whose');
    like $out, qr/^0$/m, 'its malloc is Pawprint\'s';
    for (['twice', 'of an object that is free already'], ['inner', 'of an address inside an object']) {
        ($status, undef, $err) = run($rec, '-m', 'manage', @$options, '--force', '-o', "$Dir/log.wrong", $program, $_->[0]);
        is $status, 134, "what it does wrong with an object of that ($_->[0]) is found";
        like $err, qr/^pawprint: free or resize $_->[1]/m, 'and told';
    }
    next if $variety ne 'cool';
    is scalar(grep { / PoolMisuse / } `$cnv $Dir/log 2>&1`), 0, 'there is no event of anything wrong';
}

# The same of the real one.
my $jemalloc = compile('je', "#include <stdlib.h>\nvoid *mallocx(size_t, int);\n"
    . "int main(void) { for (int i = 0; i < 100; i++) free(mallocx(100 << i % 16, 0)); return 3; }\n", '-ljemalloc');
SKIP: {
    skip 'jemalloc is not here', 1 unless defined $jemalloc;
    my ($status, undef, $err) = run($rec, '-m', 'manage', '--force', '-o', "$Dir/log", $jemalloc);
    is $status, 3, 'free(mallocx()) of jemalloc, managed: it runs' or diag $err;
}
done_testing;
