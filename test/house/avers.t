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

for my $pure ('p != NULL', 'a <= b && c >= d', 'one(&list->first) == 1', 'Sum(p, 3)', 'HALF(n) > local(n)', 'set(n)',
              q{x == '='}, 'sizeof(struct s) == 8', 'memcmp(p->magic, "a=b++", 5) == 0', "a ==\n      b") {
    is said("AVER($pure)"), '', "pure: $pure";
}
for my $wrong (['++n < 3', 'counts'], ['n-- > 0', 'counts'], ['n = 1', 'assigns'], ['(n <<= 1) != 0', 'assigns'],
               ['fill(p)', 'calls fill, which writes ]'], ['count(s)', 'calls count, which counts in s->n'],
               ['deep(p)', 'calls deep, which calls set, which writes through a pointer'],
               ['hidden(p)', 'calls hidden, which writes through a pointer'],
               ['DOUBLE(n)', 'calls DOUBLE, which assigns'], ['Sum(&n, 1)', 'gives away the address of n'],
               ['read(0, p, 1)', 'calls read, which is not'], ['p->check(p)', 'calls through a pointer']) {
    my ($condition, $why) = @$wrong;

    like said("AVER_CRITICAL($condition)"), qr/^code\/base\/c\.c:4: AVER\(\Q$condition\E\) \Q$why\E/,
        "not pure: $condition";
}

done_testing;
