# source.pl -- prints a large C file for the compiler to chew on
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;

print "#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
for my $i (1 .. 350) {
    my ($n, $m, $before) = (1 + $i % 9, 3 + $i % 5, $i > 1 ? 'g' . ($i - 1) . '(x, k - 1)' : '0');
    print <<"END";
struct s$i { int a, b; double d[$n]; struct s$i *n; };
static int f$i(struct s$i *p, int k) { int r = 0; for (int i = 0; i < k; i++) { if (!p) break; switch (i % $m) {
  case 0: r += p->a * $i; break; case 1: r -= p->b ^ i; break; case 2: p->d[i % $n] += sqrt(r * 1.0); break;
  default: r ^= (int)p->d[0]; } if (r > 1000 + $i) p = p->n; else while (r < -$i) r += k + 3; } return r; }
int g$i(void *x, int k) { char b[64]; snprintf(b, 64, "%d", f$i(x, k)); return (int)strlen(b) + $before; }
END
}
