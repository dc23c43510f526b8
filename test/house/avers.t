# avers.t -- no AVER does anything, and the check of that notices where one does
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run spew);
use File::Path qw(make_path remove_tree);
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $perl = $ENV{PERL} || $^X;
my $root = "$Dir/house";

# What tool/avers says of a function with this AVER, beside functions that may be called.
sub said {
    my ($aver) = @_;

    remove_tree($root);
    make_path("$root/code/base");
    spew("$root/code/base/a.h", <<'H');
#define HALF(n) ((n) / 2)
#define DOUBLE(n) ((n) \
  *= 2)
static inline int one(const int *p) { return p[0]; }
extern Bool Sum(int *p, unsigned n);
H
    spew("$root/code/base/b.c", <<'C');
Bool Sum(const int *p, unsigned n)
{
  unsigned i, sum = 0;

  for (i = 0; i < n * sizeof *p; ++i) /* sum = *p = 1; */
    sum += p[i] * one(p);
  AVER(n != 0);
  return sum > 0 ? Sum(p, n - 1) : 0;
}
static void set(int *p)
{
  *p = 1;
}
static void fill(int *p) { p[0] += 1; }
static void count(struct s *s) { ++s->n; }
static int deep(int *p) { set(p); return *p; }
static int hidden(int *p) { if (p) *p = 0; return 0; }
static int local(int n) { int m = n; if (m > 1) m <<= n * HALF(m); m++; return m; }
static unsigned calls, most = 3;
static int once(void) { static int done; int had = done; done = 1; return had; }
static int often(int n) { static unsigned long some[2], times = 2; if (n == 0) return 0; return ++times > n; }
static int remembers(int n) { if (n > most) most = n; return n; }
static int tells(void) { calls++; return 1; }
static int chain(int *p) { int x; x = *p = 3; return x; }
static int gives(int *p) { return *p |= 3; }
static int list(int *p, int *q) { int x = p[0], y = x; if (x) y = 2, *q = y; return y; }
#define TICK calls++
static int behind(struct s *s) { (s->n)++; return 1; }
static int called(int (*f)(int)) { return (*f)(1); }
static int tabled(int n) { return table[n](n); }
static int ticks(void) { TICK; return 1; }
static int begins(int *p) { int x = *p = 3; return x; }
static const char *own(const char *p, unsigned n, const unsigned room[2])
{
  const char *from = p, *to = p + n, **all = &from;
  struct s *s = find(p), copy = {0}, *t = s;
  unsigned calls = 0, i, both = n * n;
  Bool most;

  for (unsigned k = 0; k < n; k += 2)
    calls++;
  for (i = 0, from = to; from < to && *from == *to; ++from, --n)
    both -= i * *room == 3 ? calls : room[0];
  most = *p == *to || both == n;
  t = s = NULL;
  room += 1;
  return most ? to : *all;
}
static struct s *find(const char *p) { return p == NULL ? NULL : 0; }
C
    spew("$root/code/base/c.c", "static int set(int n) { return n; }\nvoid f(void)\n{\n  $aver;\n}\n");
    my ($status, $out, $err) = run($perl, 'tool/avers', $root);
    return $status == 0 && $err eq '' ? '' : $err;
}

{
    my ($status, $out, $err) = run($perl, 'tool/avers');
    is $status, 0, "the project's own conditions are pure" or diag $err;
    like $out, qr/^avers: [1-9]\d{2,} conditions, all pure$/, 'and were really looked at';
}

for my $pure ('own(p, n, q) != NULL', 'p != NULL', 'a <= b && c >= d', 'one(&list->first) == 1', 'Sum(p, 3)', 'HALF(n) > local(n)', 'set(n)',
              q{x == '='}, 'sizeof(struct s) == 8', 'memcmp(p->magic, "a=b++", 5) == 0', "a ==\n      b") {
    is said("AVER($pure)"), '', "pure: $pure";
}
for my $wrong (['++n < 3', 'counts'], ['n-- > 0', 'counts'], ['n = 1', 'assigns'], ['(n <<= 1) != 0', 'assigns'],
               ['fill(p)', 'calls fill, which writes ]'], ['count(s)', 'calls count, which counts in s->n'],
               ['deep(p)', 'calls deep, which calls set, which writes through a pointer'],
               ['hidden(p)', 'calls hidden, which writes through a pointer'],
               ['once()', 'calls once, which writes done, which is not its own'],
               ['often(n)', 'calls often, which writes times, which is not its own'],
               ['remembers(n)', 'calls remembers, which writes most, which is not its own'],
               ['tells()', 'calls tells, which writes calls, which is not its own'],
               ['chain(p)', 'calls chain, which writes through a pointer'],
               ['gives(p)', 'calls gives, which writes through a pointer'],
               ['list(p, q)', 'calls list, which writes through a pointer'],
               ['behind(s)', 'calls behind, which counts behind a bracket'], ['called(f)', 'calls called, which calls through a pointer'],
               ['tabled(1)', 'calls tabled, which calls through a pointer'], ['ticks()', 'calls ticks, which has TICK, which is calls++'],
               ['begins(p)', 'calls begins, which writes through a pointer'],
               ['(n == *p) | (x = *p = 3)', 'assigns'], ['DOUBLE(n)', 'calls DOUBLE, which assigns'], ['Sum(&n, 1)', 'gives away the address of n'],
               ['read(0, p, 1)', 'calls read, which is not'], ['p->check(p)', 'calls through a pointer']) {
    my ($condition, $why) = @$wrong;

    like said("AVER_CRITICAL($condition)"), qr/^code\/base\/c\.c:4: AVER\(\Q$condition\E\) \Q$why\E/,
        "not pure: $condition";
}

done_testing;
