#!/usr/bin/perl
# unwound.t -- of random allocations of real programs the stack is the one that backtrace() finds
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Some 50,000 stacks are compared (SOAK: 900,000).  None may differ; unwound.so prints the first that does.  Of C++ each is
# compared, also those that the dynamic linker has called before the program begins.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir slurp);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
plan skip_all => 'stacks are walked on x86-64 only' if `uname -m` !~ /x86_64/;

my $soak = $ENV{SOAK} ? 1 : 0;
my $seed = $ENV{SEED} // time;
diag "SEED=$seed" if $soak;
print "# SEED=$seed\n";

my $size = $soak ? 20 : 1;
my $cc1 = `gcc -print-prog-name=cc1 2>/dev/null`;
my $python = `python3 -c 'import sys; print(sys.executable)' 2>/dev/null`;
my $sqlite = (grep { -x } map { "$_/sqlite3" } split /:/, $ENV{PATH})[0];
chomp($cc1, $python);

# source() -- C for the compiler to chew on
sub source {
    my $path = "$Dir/source.c";
    open my $out, '>', $path or die "$path: $!";
    for my $i (1 .. 12 * $size) {
        print $out <<"END";
struct s$i { int a, b; double d[@{[1 + $i % 9]}]; struct s$i *n; };
int f$i(struct s$i *p, int k) { int r = 0; for (int i = 0; i < k; i++) { if (!p) break; switch (i % @{[3 + $i % 5]}) {
  case 0: r += p->a * $i; break; case 1: r -= p->b ^ i; break; case 2: p->d[i % @{[1 + $i % 9]}] += r * 1.5; break;
  default: r ^= (int)p->d[0]; } if (r > 1000 + $i) p = p->n; else while (r < -$i) r += k + 3; } return r; }
END
    }
    close $out or die;
    return $path;
}

# throws() -- the C++ program; '': there is no compiler for it
sub throws {
    my $path = "$Dir/throws";
    return system("g++ -O2 -o $path test/prog/throws.cc 2>$Dir/errors") == 0 ? $path : '';
}

my $throws = throws();
my $perl = 'my (%h, @a); for my $i (1 .. ' . 12000 * $size . ') { $h{$i % 5000} .= "x$i"; push @a, { at => [$i], s => "s" x ($i % 40) }; @a = sort { $a->{s} cmp $b->{s} } splice @a, 0, 50 if @a > 100 }';
my $json = 'import json, re
for i in range(' . 12 * $size . '):
    s = json.dumps([{"a": k, "b": str(k) * 3, "c": [k, {}]} for k in range(300)])
    assert re.sub("[0-9]+", lambda m: m.group() + "1", s) and json.loads(s)';
my $sql = 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < ' . 3000 * $size . ") insert into t select x, 'text' || x from c; select count(*) from t where b like '%9%'; create index i on t(b); select count(distinct b) from t;";
my @programs = (
    ['perl', 10, [$^X, '-e', $perl]],
    ['python3', 20, [$python, '-c', $json], {PYTHONMALLOC => 'malloc'}],
    ['cc1', 20, [$cc1, '-quiet', '-O2', source(), '-o', '/dev/null']],
    ['sqlite3', 5, [$sqlite, ':memory:', $sql]],
    ['C++ with exceptions', 1, [$throws, 150 * $size]],
);
my $all = 0;

for my $depth (64, 16) {
    for (@programs) {
        my ($name, $every, $command, $env) = @$_;
        SKIP: {
            skip "$name is not installed", 2 if !defined $command->[0] || !-x $command->[0];
            my $out = "$Dir/out";
            unlink $out;
            local %ENV = (%ENV, %{$env // {}}, LD_PRELOAD => "$B/prog/unwound.so", UNWOUND_OUT => $out, UNWOUND_EVERY => $every,
                UNWOUND_SEED => $seed, UNWOUND_DEPTH => $depth);
            my $pid = fork // die "fork: $!";
            if ($pid == 0) { open STDOUT, '>', '/dev/null'; exec { $command->[0] } @$command or exit 127 }
            waitpid $pid, 0;
            is $?, 0, "$name runs, depth $depth";
            my ($walked, $compared, $wrong, $broken, $frames, $rows) = map { (split)[-6 .. -1] } (split /\n/, -e $out ? slurp($out) : '')[-1] // '';
            $all += $compared // 0;
            ok defined $wrong && $compared > 500 && $wrong == 0 && $broken == 0,
                sprintf('of %d stacks %d were compared, of %.1f frames, %.1f of them walked', $walked // 0, $compared // 0,
                    ($frames // 0) / ($compared || 1), ($rows // 0) / ($walked || 1))
                or diag "wrong: $wrong, broken: $broken";
        }
    }
}
cmp_ok $all, '>', $soak ? 100_000 : 5000, "$all were compared";

done_testing;
