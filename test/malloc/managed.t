#!/usr/bin/env perl
# managed.t -- real programs whose malloc is Pawprint's, plain and with --debug: they do as they do with libc's
#
# Takes long.
#
# A program that is not installed is skipped.  Those that take longest run where MANAGED=all asks for them, as .ci/run does.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run spew);
use Cwd qw(abs_path);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $variety = $ENV{VARIETY} // 'cool';
plan skip_all => 'no program is managed under sanitizers' if $ENV{SAN};
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS PAWPRINT_ON_ERROR)};
$ENV{PATH} .= ':/usr/sbin:/sbin';
$ENV{HOME} = $Dir;

spew("$Dir/hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n");
spew("$Dir/words.txt", join '', map { 'word' . $_ * 7919 % 10007 . "\n" } 1 .. 30000);
spew("$Dir/data.json", '[' . join(',', map { "{\"id\":$_,\"name\":\"n$_\",\"list\":[1,2,$_]}" } 1 .. 5000) . ']');
spew("$Dir/data.sql", "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);\nBEGIN;\n"
    . join('', map { "INSERT INTO t VALUES($_, 'text $_');\n" } 1 .. 5000)
    . "COMMIT;\nCREATE INDEX i ON t(b);\nSELECT count(*), max(length(b)) FROM t WHERE b LIKE '%9%';\n");
spew("$Dir/map.cc", "#include <iostream>\n#include <map>\n#include <string>\n#include <thread>\n#include <vector>\n"
    . "static void fill(long *sum) { std::map<int, std::string> m; for (int i = 0; i < 60000; ++i)\n"
    . "  m[i * 7 % 5000] = std::string(i % 300, 'x'); for (auto &e : m) *sum += e.second.size(); }\n"
    . "int main() { std::vector<std::thread> t; long sum[4] = {0}; for (auto &s : sum) t.emplace_back(fill, &s);\n"
    . "  for (auto &e : t) e.join(); std::cout << sum[0] + sum[1] + sum[2] + sum[3] << '\\n'; }\n");
# Threads that come and go, each with memory that another one frees.
spew("$Dir/short.c", <<'C');
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *make(void *n) { char *p = malloc((size_t)n % 5000 + 10); strcpy(p, "made"); return p; }
int main(void) {
  long good = 0;
  for (size_t i = 0; i < 3000; i += 8) {
    pthread_t t[8];
    for (size_t k = 0; k < 8; ++k) if (pthread_create(&t[k], NULL, make, (void *)(i + k)) != 0) return 1;
    for (size_t k = 0; k < 8; ++k) { void *p; pthread_join(t[k], &p); good += strcmp(p, "made") == 0; free(p); }
  }
  printf("%ld\n", good);
  return 0;
}
C
# Buffers that grow, a step each in turn.
spew("$Dir/grow.c", <<'C');
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  static unsigned char *p[50];
  static size_t had[50];
  long bad = 0;
  for (size_t round = 1; round < 400; ++round)
    for (size_t i = 0; i < 50; ++i) {
      size_t size = round * round * (i + 1) / 4 + 1;
      p[i] = realloc(p[i], size);
      if (p[i] == NULL) return 1;
      for (size_t k = had[i]; k < size; ++k) p[i][k] = (unsigned char)(k * 7 + i);
      had[i] = size;
    }
  for (size_t i = 0; i < 50; ++i) {
    for (size_t k = 0; k < had[i]; ++k) bad += p[i][k] != (unsigned char)(k * 7 + i);
    free(p[i]);
  }
  printf("%ld\n", bad);
  return 0;
}
C

my $python = 'import json,os,threading;d=[json.loads(json.dumps({"a":list(range(i))})) for i in range(300)];'
    . 'o=[];t=[threading.Thread(target=lambda: o.append(len(json.dumps(d)))) for _ in range(4)];[x.start() for x in t];[x.join() for x in t];'
    . 'p=os.fork();(os._exit(0) if p==0 else os.waitpid(p,0));print(o)';
my $redis = "redis-server --port 0 --unixsocket $Dir/redis.sock --save '' --dir $Dir >$Dir/redis.log & "
    . "for i in \$(seq 200); do redis-cli -s $Dir/redis.sock ping >/dev/null 2>&1 && break; sleep 0.05; done; "
    . "redis-cli -s $Dir/redis.sock eval 'local n=0 for i=1,3000 do redis.call(\"set\",\"k\"..i%500,string.rep(\"x\",i)) n=n+i end return n' 0; "
    . "redis-benchmark -s $Dir/redis.sock -n 3000 -q -t set,get,lpush,lpop,lrange_100 >/dev/null 2>&1; "
    . "redis-cli -s $Dir/redis.sock dbsize >/dev/null; redis-cli -s $Dir/redis.sock shutdown nosave; wait";

# Each program: its name, what it needs, how it is prepared, how it runs, and what must be the same (a file, or its output)
my @programs = (
    {name => 'perl', command => ['perl', '-e', 'my %h; open my $f, "<", shift; while (<$f>) { chomp; push @{$h{$_}}, $. } '
        . 'print join ",", map { "$_@{$h{$_}}" } sort keys %h', "$Dir/words.txt"]},
    {name => 'python3', long => 1, env => {PYTHONMALLOC => 'malloc'}, command => ['python3', '-c', $python]},
    {name => 'python3-tests', long => 1, needs => 'python3', command => ['sh', '-c',
        'python3 -m test test_list test_dict test_json test_gc 2>/dev/null | grep -c "^Result: SUCCESS\|OK"'],
        prepare => 'python3 -c "import test.test_list, test.libregrtest"'},
    {name => 'gcc', command => ['gcc', '-O2', '-I', 'code', '-I', "$B/gen", '-D_GNU_SOURCE', '-std=gnu11', '-DPAWPRINT_EMITTER', '-c',
        '-o', "$Dir/out.o", 'code/mm/chunk.c'], result => "$Dir/out.o"},
    {name => 'sqlite3', command => ['sh', '-c', "sqlite3 :memory: < $Dir/data.sql"]},
    {name => 'git', command => ['sh', '-c', "rm -rf $Dir/r; mkdir $Dir/r; cd $Dir/r && git init -q . && cp ../*.c ../*.txt . && git add . && "
        . "GIT_COMMITTER_DATE=1e9 git -c user.name=a -c user.email=a\@b -c gc.auto=0 commit -qm x --date=2001-01-01T00:00Z >/dev/null; "
        . "git fsck 2>/dev/null; git gc -q; git show --stat --format=%T"]},
    {name => 'jq', command => ['jq', 'map(.list | add) | add', "$Dir/data.json"]},
    {name => 'node', long => 1, command => ['node', '-e', 'const a=[];for(let i=0;i<1e5;i++)a.push({i});console.log(JSON.stringify(a).length)']},
    {name => 'redis-server', long => 1, command => ['sh', '-c', $redis]},
    {name => 'C++ with threads', long => 1, needs => 'g++', prepare => "g++ -O1 -pthread -o $Dir/map $Dir/map.cc", command => ["$Dir/map"]},
    {name => 'short threads', needs => 'gcc', prepare => "gcc -pthread -o $Dir/short $Dir/short.c", command => ["$Dir/short"]},
    {name => 'growing buffers', needs => 'gcc', prepare => "gcc -o $Dir/grow $Dir/grow.c", command => ["$Dir/grow"]},
    {name => 'churn', needs => 'true', command => ["$B/prog/churn", 4, 20000]},
);

sub slurp {
    my ($file) = @_;
    open my $in, '<:raw', $file or return '';
    local $/;
    return scalar <$in>;
}

# outcome($command, $result) -- status, output and result of a program, and what it said
sub outcome {
    my ($program, @before) = @_;
    unlink $program->{result} if $program->{result};
    local %ENV = (%ENV, %{$program->{env} // {}});
    my ($status, $out, $err) = run(@before, @{$program->{command}});
    return ([$status, $out, $program->{result} ? slurp($program->{result}) : ''], $err);
}

for my $program (grep { !$_->{long} || ($ENV{MANAGED} // '') eq 'all' } @programs) {
    my $name = $program->{name};
  SKIP: {
        skip "$name is not installed", 1 if system("command -v @{[$program->{needs} // $name]} >/dev/null 2>&1") != 0;
        skip "$name cannot be prepared", 1 if $program->{prepare} && system("$program->{prepare} >/dev/null 2>&1") != 0;
        my ($due) = outcome($program);
        for my $mode ([], ['--debug']) {
            my ($got, $err) = outcome($program, "$B/bin/eventrec", '-k', 'Pool', '-m', 'manage', @$mode, '--force', '-o', "$Dir/m.paw", '--');
            is_deeply $got, $due, "$name: managed" . (@$mode ? ', with --debug' : '') . ', it does as it does with libc' or diag $err;
            unlike $err, qr/^pawprint: /m, 'and nothing wrong is found';
            next if $variety eq 'rash';
            my $class = @$mode ? 'SGFDebug' : 'SGF';
            my (undef, $pools) = run("$B/bin/eventcnv", '-E', 'PoolCreate', "$Dir/m.paw");
            like $pools, qr/class="$class"/, "its pool is of class $class";
        }
    }
}

# A signal handler may fork, whatever the one thread is in the middle of: it waits for no lock that it has itself.
for my $size (100, 1_500_000) {
    local %ENV = (%ENV, PAWPRINT_MODE => 'manage', PAWPRINT_BUFFER => 'none', LD_PRELOAD => "$B/lib/libpawprint.so");
    is +(run('timeout', 60, "$B/prog/handlerforks", $size))[1], "400 forks\n", "forks out of a handler, objects of $size bytes";
}

# When a peak is over, memory is back with the system: all but 32 MiB, at once.
for my $peak ([24, 150], [300, 100, 2], [3000, 200], [40000, 200], [100_000, 200], [3_000_000, 200]) {
    local %ENV = (%ENV, PAWPRINT_MODE => 'manage', PAWPRINT_BUFFER => 'none', LD_PRELOAD => "$B/lib/libpawprint.so");
    my ($status, $out) = run("$B/prog/peak", @$peak);
    my ($before, $most, $after) = split ' ', $out;
    cmp_ok $most, '>', 150 << 10, "objects of some $peak->[0] bytes: the peak is one";
    cmp_ok $after - $before, '<', 36 << 10, 'after it no more than 32 MiB, and a little, is resident';
}
done_testing;
