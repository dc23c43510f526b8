#!/usr/bin/perl
# eventrec.t -- eventrec: statuses, names, what it says, what it passes on
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX qw(:sys_wait_h);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $root = abs_path('.');
my $CC = $ENV{CC} // 'gcc';
-x "$B/bin/eventrec" or BAIL_OUT("eventrec is not built in $B");
plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
my $folder = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chdir $folder or die;

# record(@words) -- run eventrec; status as a shell has it, standard output, standard error
sub record {
    my @words = @_;
    my $pid = fork // die;
    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', 'out';
        open STDERR, '>', 'err';
        exec "$B/bin/eventrec", @words or die;
    }
    waitpid $pid, 0;
    return (WIFSIGNALED($?) ? 1000 + WTERMSIG($?) : WEXITSTATUS($?), slurp('out'), slurp('err'));
}

sub text { my (@words) = @_; return `$B/bin/eventcnv @words 2>&1` }

# build($name, $source, @flags) -- a little program, or undef if it cannot be built
sub build {
    my ($name, $source, @flags) = @_;
    open my $file, '>', "$name.c" or die;
    print $file $source;
    close $file;
    return system("$CC -w -o $name $name.c @flags 2>/dev/null") == 0 ? "./$name" : undef;
}

my ($status, $out, $err) = record('-o', 'a.paw', 'perl', '-e', 'print "hello\n"; exit 3');
is($status, 3, "the status is the program's own");
is($out, "hello\n", 'and so is its output');
like($err, qr/\Aeventrec: \d+ events \(0 discarded\), \d+ bytes, \d+\.\d+ s -> a\.paw\n\z/, 'the summary is one line');
is((stat 'a.paw')[2] & 07777, 0600, 'the log has mode 0600');
my ($events) = $err =~ /(\d+) events/;
my $lines = () = text('a.paw') =~ /\n/g;
is($lines, $events, 'the summary counts the events of the log');

# What the program finds in its environment.
SKIP: {
    skip 'a program with a sanitizer of addresses lets nothing be preloaded before it', 8 if ($ENV{SAN} // '') =~ /address/;
    local %ENV = (PATH => $ENV{PATH}, PAWPRINT_KINDS => 'none', PAWPRINT_MODE => 'manage', LD_PRELOAD => 'libm.so.6');
    my %had = map { /^(\w+)=(.*)/s } split /\0/, `env -0`;
    ($status, $out) = record('-o', 'an,odd =%name.paw', '-k', 'all,-Ref', 'sh', '-c', 'env -0; true');
    my %has = map { /^(\w+)=(.*)/s } split /\0/, $out;
    delete $_->{_} for \%had, \%has;
    delete $has{PWD};
    is(join(' ', grep { ($had{$_} // '') ne ($has{$_} // '') } sort keys %{{%had, %has}}), 'LD_PRELOAD PAWPRINT_RECORDING', 'two variables are all that eventrec adds or changes');
    like($has{LD_PRELOAD}, qr{/libpawprint\.so:libm\.so\.6$}, 'a library that was to be preloaded still is');
    unlike($has{PAWPRINT_RECORDING}, qr/[^\w=,.:\/+%-]/, 'a shell takes the value as it is');
    my $lines = text("'an,odd =%name.paw'");
    like($lines, qr/ PoolCreate .*"malloc"/, 'what the recorder says goes before what the environment says');
    like($lines, qr/ PoolAlloc /, 'and whatever the log is called, it is written');
    like(`$B/bin/eventcnv --header 'an,odd =%name.paw'`, qr{^program: ".*/env"$}m, 'also by the program that the first one executes');
    like(`PAWPRINT_RECORDING=log=x.paw,colour=red PAWPRINT_LOG=y.paw LD_PRELOAD=$B/lib/libpawprint.so perl -e 'print "runs\n"' 2>&1`,
        qr/\Apawprint: PAWPRINT_RECORDING: log=x.paw,colour=red: .*; nothing is recorded\nruns\n\z/,
        'settings that are not understood are told, once');
    ok(!-e 'x.paw' && !-e 'y.paw', 'and nothing is recorded');
}

for ([['-o', 'no/such/a.paw'], qr{/no/such/a\.paw: there is no folder .*/no/such; }, 'a folder that there is not'],
    [['-o', '/proc/a.paw'], qr{/proc/a\.paw: the log cannot be made: .*; choose another place with -o}, 'a folder in which no file can be'],
    [['-o', '-'], qr/--output -: standard output is the program's own/, 'standard output'],
    [['-o', '/dev/full'], qr/full: it is no file; choose another/, 'a device'],
    [['--listen', 'unix:s', '-k', 'Pool'], qr/--kinds has no meaning with --listen/, 'a listener and a program'],
    [['--senders', 3], qr/--senders has no meaning with a program; it is for --listen/, 'senders to nobody'],
    [['--clean', '-p', 'block'], qr/--policy has no meaning with --clean/, 'a policy of nothing'],
    [['-t', 0], qr/--time 0: /, 'no time at all'],
    [['-t', -1], qr/--time -1: /, 'less than that'],
    [['--max-size', '1M', '--to', 'tcp:127.0.0.1:9'], qr/--max-size has no meaning with --to/, 'a limit of what is not kept']) {
    my ($words, $said, $name) = @$_;
    ($status, $out, $err) = record(@$words, 'true');
    ok($status == 125 && $err =~ /\Aeventrec: [^\n]*$said/, "$name, refused in words") or diag $err;
}
ok(!-e '-' && !-e 'b.paw', 'and nothing is made');

($status, $out, $err) = record('-o', 'a.paw', 'true');
is($status, 125, 'a log that is there is not overwritten');
like($err, qr/\A[^\n]*a\.paw: File exists; --force[^\n]*\n\z/, 'the way out is named, and nothing told of what is in it');
($status) = record('--force', '-o', 'a.paw', 'true');
is($status, 0, '--force overwrites it');

POSIX::mkfifo('fifo', 0600) or die;
($status, $out, $err) = record('--force', '-o', 'fifo', 'true');
ok($status == 125 && -p 'fifo', '--force removes nothing but files') or diag $err;
unlink 'fifo';

system $^X, '-e', '$SIG{CHLD} = "IGNORE"; open STDERR, ">", "err"; exec @ARGV', "$B/bin/eventrec", '-o', 'ignored.paw', 'sh', '-c',
    'exit 3';
is($? >> 8, 3, 'who was told to ignore ended children has the status all the same');

# What the library itself needs is not the program's.
sub allocations { return scalar(() = `$B/bin/eventcnv -E PoolAlloc,PoolAllocZero $_[0] 2>/dev/null` =~ /\n/g) }
system "env LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=alone.paw ls / >/dev/null";
record('-o', 'with.paw', 'ls', '/');
is(allocations('alone.paw'), allocations('with.paw'), 'a program that writes its log alone allocates no more');

mkdir 'below' or die;
system "LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=relative.paw sh -c 'cd below && perl -e 1 && perl -e 1' 2>err";
is(slurp('err'), '', 'a log without a folder, and programs that are started in another one');
ok(!-e 'below/relative.paw', 'which append to the same log');
like(`$B/bin/eventview relative.paw 2>&1`, qr/^processes +3$/m, 'and are all in it');

# Address space that is limited: the program gets most of it.
my $large = q{perl -e '$x = "a" x (250 << 20); print length $x'};
is(`(ulimit -v 700000; LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=limit.paw $large) 2>&1`, 250 << 20,
   'a program that may not have much address space has enough of it')
    if `(ulimit -v 700000; $large) 2>/dev/null` eq 250 << 20;

($status) = record('true');
my @made = grep { /\Atrue\.\d+\.paw\z/ } glob '*.paw';
is(scalar @made, 1, 'without -o the log is named after program and process');

($status, $out, $err) = record('-k', 'Objekt', '-o', 'k.paw', 'true');
is($status, 125, 'a misspelt kind is an error');
like($err, qr/Objekt.*Arena.*Object.*User/s, 'that lists the kinds');
ok(!-e 'k.paw', 'and nothing is recorded');

($status, $out, $err) = record('no-such-program');
is($status, 127, 'a program that is not there: 127');
like($err, qr/no-such-program/, 'it is named');
open my $plain, '>', 'plain'; print $plain "text\n"; close $plain;
($status) = record('./plain');
is($status, 126, 'a program that may not be run: 126');
open my $orphan, '>', 'orphan'; print $orphan "#! /no/such -x\n"; close $orphan;
chmod 0755, 'orphan';
($status, $out, $err) = record('./orphan');
is($status, 127, 'a script without its interpreter: 127');
is($err, "eventrec: ./orphan: its interpreter, /no/such, is missing\n", 'which is said');
chmod 0755, 'plain';
($status, $out, $err) = record('./plain');
is($status, 126, 'a script that does not begin with #!: 126');
like($err, qr{^eventrec: \./plain: [^:]+: it is no program of this machine, and a script must begin with #!$}m, 'and what it has to begin with is said');
SKIP: {
    skip 'strace is not to be had here', 3 if $ENV{SAN} || system("strace -o /dev/null true 2>/dev/null") != 0;
    my $said = `timeout -s KILL 20 strace -o /dev/null -e inject=sendto:error=ENOBUFS:when=1 $B/bin/eventrec -o untold.paw true 2>&1`;
    is($? >> 8, 125, 'a program that cannot be told to begin: 125');
    like($said, qr/\Aeventrec: the process cannot be told to begin: No buffer space/, 'why is said');
    ok(!-e 'untold.paw', 'and no log is left');
}
($status, $out, $err) = record();
is($status, 125, 'no program: 125');
($status, $out, $err) = record('--no-such-option', 'true');
is($status, 125, 'an unknown option: 125');
($status, $out) = record('--help');
is($status, 0, '--help: 0');
like($out, qr/--output/, 'on standard output');

($status, $out, $err) = record('-o', 'kill.paw', 'perl', '-e', 'my @a = map { "x$_" } 1 .. 1000; kill 9, $$');
is($status, 128 + 9, 'a program killed by a signal: 128 and its number');
like($err, qr/\d+ events \(0 discarded\)/, 'its log is summed up');
like(text('kill.paw'), qr/PoolAlloc/, 'and readable');
is(text('--check', 'kill.paw'), '', 'and whole');

($status, $out, $err) = record('-k', 'Pool', '-o', 'pool.paw', 'perl', '-e', '1');
ok(text('pool.paw') !~ /PoolAlloc /, 'kinds that are not chosen are not sent');

# The family.
($status, $out, $err) = record('-o', 'family.paw', 'perl', '-e',
    'for (1 .. 3) { my $pid = fork; if (!$pid) { my @a = map { "c$_" } 1 .. 100; exit 0 } waitpid $pid, 0 } '
    . 'system("perl -e 1; true"); exec "perl", "-e", "print 7"');
is($status, 0, 'a program that forks and execs');
is($out, '7', 'does what it does');
my %pids = map { $_ => 1 } text('family.paw') =~ m{^\S+ (\d+)/\d+ }mg;
cmp_ok(scalar keys %pids, '>=', 5, 'each process has its trace in the log');
is(text('--check', 'family.paw'), '', 'which is whole');

# Signals for eventrec are the program's.
SKIP: {
    skip 'the thread sanitizer holds signals back while eventrec waits', 2 if ($ENV{SAN} // '') =~ /thread/;
    my $pid = fork // die;
    if ($pid == 0) {
        open STDERR, '>', 'err';
        exec "$B/bin/eventrec", '-o', 'term.paw', 'perl', '-e', '$SIG{TERM} = sub { exit 9 }; open F, ">", "ready"; close F; sleep 20';
    }
    for (1 .. 200) { last if -e 'ready'; select undef, undef, undef, 0.05 }
    kill 'TERM', $pid;
    waitpid $pid, 0;
    is(WEXITSTATUS($?), 9, 'SIGTERM is passed on, and the program decides');
    like(slurp('err'), qr/events/, 'and the summary comes');
}

# Programs that cannot be seen.
SKIP: {
    my $static = build('static', 'int main(void) { return 4; }', '-static') or skip 'no static libc here', 2;
    ($status, $out, $err) = record('-o', 'static.paw', $static);
    is($status, 4, 'a static program runs');
    like($err, qr/not seen: .*static.*: static/, 'and is named as not seen');
}
SKIP: {
    my $own = build('own', <<'END') or skip 'no compiler', 2;
#include <stddef.h>
static char room[1 << 20]; static size_t used;
void *malloc(size_t n) { void *p = room + used; used += (n + 15) & ~15ul; return p; }
void free(void *p) { }
int main(void) { return malloc(10) != NULL ? 5 : 6; }
END
    ($status, $out, $err) = record('-o', 'own.paw', $own);
    is($status, 5, 'a program with a malloc of its own runs');
    like($err, qr/not seen: .*own: a malloc of its own/, 'and is named');
}

# Manage.
($status, $out, $err) = record('-m', 'manage', '-o', 'manage.paw', 'perl', '-e', 'my %h = map { $_ => "v$_" } 1 .. 5000; print scalar keys %h');
is($status, 0, "a program served from Pawprint's pools");
is($out, '5000', 'does the same');
like(text('manage.paw'), qr/PoolCreate pool=\S+ arena=\S+ class="SGF"/, 'and the log names the pool');
like(text('manage.paw'), qr/SegAlloc/, 'and its segments');

# A program that runs with somebody else's rights obeys no environment.
SKIP: {
    skip 'no compiler', 3 if system("command -v $CC >/dev/null 2>&1") != 0;
    my $secure = build('secure', <<'END', map({ "-I$_" } "$root/code", "$root/code/emit", "$B/gen"), "-L$B/lib", "-Wl,-rpath,$B/lib", '-lpawprint');
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include "pawprint.h"
int main(void) { EventUserWord(EventIntern("x"), 1); free(malloc(10)); printf("%lu\n", getauxval(AT_SECURE)); return 0; }
END
    ok(defined $secure, 'a program is linked with the library') or skip 'it is not there', 2;
    my $uid = getpwnam 'nobody';
    skip 'not root, or nobody is not there', 2 if $> != 0 || !defined $uid;
    chmod 0755, $folder;
    mkdir 'everyones';
    chmod 0777, 'everyones';
    chown $uid, -1, 'secure' and chmod 04755, 'secure' or skip 'no program can be made set-user-id here', 2;
    my $is = `PAWPRINT_LOG=$folder/everyones/secure.paw ./secure`;
    skip 'set-user-id has no effect here', 2 if $is ne "1\n";
    ok(!-e 'everyones/secure.paw', 'a set-user-id program ignores the environment');
    chmod 0755, 'secure';
    `PAWPRINT_LOG=$folder/secure.paw ./secure`;
    like(text('secure.paw'), qr/UserWord .*value=1/, 'which it obeys when it is not');
}

# C++.
SKIP: {
    skip 'no g++', 1 if system('command -v g++ >/dev/null 2>&1') != 0;
    open my $file, '>', 'new.cc';
    print $file "#include <vector>\n#include <string>\nint main() { std::vector<std::string *> v; for (int i = 0; i < 1234; ++i) "
        . "v.push_back(new std::string(777, 'x')); for (auto p : v) delete p; return 0; }\n";
    close $file;
    system('g++ -O0 -o new new.cc 2>/dev/null') == 0 or skip 'g++ does not work', 1;
    record('-o', 'new.paw', './new');
    my $events = text('-k', 'Object', 'new.paw');
    my $strings = () = $events =~ /PoolAlloc \S+ \S+ size=778$/mg;
    is($strings, 1234, 'new and delete of C++ are seen');
}

# A log that is moved, removed or replaced while it is written: the count is of what was written, and where that is is said.
{
    my $work = 'my @x = map { {$_ => 1} } 1 .. 3000;';

    ($status, $out, $err) = record('-o', 'm.paw', 'perl', '-e', "$work rename 'm.paw', 'n.paw' or die; $work");
    my ($n) = $err =~ m{^eventrec: (\d+) events \(0 discarded\), \d+ bytes, \S+ s -> \Q$folder\E/n\.paw$}m;
    cmp_ok($n // 0, '>', 6000, 'a log that is moved is counted, under its new name') or diag $err;
    is($n, scalar(() = text('n.paw') =~ /\n/g), 'all of it');
    is(system("$B/bin/eventcnv --check n.paw >check 2>&1"), 0, 'and whole') or diag slurp('check');
    like($err, qr{^eventrec: \Q$folder\E/m\.paw: the log was moved while it was written; it is \Q$folder\E/n\.paw now$}m, 'which is said');
    unlike($err, qr/not seen/, 'and that its program was not seen is not');

    ($status, $out, $err) = record('-o', 'm.paw', 'perl', '-e', "$work unlink 'm.paw' or die; $work");
    like($err, qr/^eventrec: [1-9]\d{3,} events \(0 discarded\), \d+ bytes, \S+ s -> m\.paw$/m, 'one that is removed is counted') or diag $err;
    like($err, qr{^eventrec: \Q$folder\E/m\.paw: the log was removed while it was written; its events are gone with it$}m, 'and that it is gone is said');
    unlike($err, qr/not seen/, 'and no more');

    ($status, $out, $err) = record('-o', 'm.paw', 'perl', '-e', "$work rename 'm.paw', 'o.paw' or die; symlink 'a.paw', 'm.paw'; $work");
    my $was = -s 'a.paw';
    like($err, qr{^eventrec: [1-9]\d{3,} events .* -> \Q$folder\E/o\.paw$}m, 'what has its place is not what is counted') or diag $err;
    is(-s 'a.paw', $was, 'nor written');
    is(system("$B/bin/eventcnv --check o.paw >check 2>&1"), 0, 'and the log is whole') or diag slurp('check');
}

# A log that is cut while it is written, in its middle or altogether: what was written is counted, and how much is missing told.
for my $to (0, 12000) {
    my $work = 'my @x = map { {$_ => 1} } 1 .. 3000;';

    # Cut when it has come so far; what is written behind that tells where the end should be.
    ($status, $out, $err) = record('--force', '-o', 'c.paw', 'perl', '-e', "$work for (1 .. 1000) { last if -s 'c.paw' > 15000; $work "
        . "select undef, undef, undef, 0.01 } print -s 'c.paw', qq(\\n); truncate 'c.paw', $to or die; $work");
    my ($n) = $err =~ m{^eventrec: (\d+) events \(0 discarded\), \d+ bytes, \S+ s -> c\.paw$}m;
    my ($missing) = $err =~ m{^eventrec: \Q$folder\E/c\.paw: the log was cut while it was written: (\d+) bytes of it are missing$}m;
    cmp_ok $missing // -1, '>=', $out - $to, "a log that is cut to $to bytes: how much is missing is said" or diag $err;
    my $there = () = text('c.paw') =~ /\n/g;
    cmp_ok $n // 0, '>', $there, 'and what was recorded is counted, not what is left';
    unlike $err, qr/not seen/, 'nor is it said that the program was not seen';
    isnt system("$B/bin/eventcnv --check c.paw >check 2>&1"), 0, 'and --check does not take it for whole';
}

# A folder that is swapped as soon as eventrec has seen that its log is there: it counts the log that it has written.
SKIP: {
    skip 'nothing can be preloaded before a sanitizer', 3 if $ENV{SAN};
    my $swap = build('swap.so', <<'END', '-shared', '-fPIC', '-ldl') or skip 'no compiler', 3;
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int rename(const char *, const char *);
int lstat(const char *path, struct stat *status)
{
  int (*next)(const char *, struct stat *) = (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "lstat");
  int res = next(path, status);
  if (res == 0 && status->st_size > 0 && strlen(path) > 11 && strcmp(path + strlen(path) - 11, "/away/s.paw") == 0) {
    (void)rename("away", "gone");
    (void)mkdir("away", 0700);
  }
  return res;
}
END
    mkdir 'away';
    local $ENV{LD_PRELOAD} = "$folder/$swap";
    ($status, $out, $err) = record('-o', 'away/s.paw', 'perl', '-e', 'my @x = map { {$_ => 1} } 1 .. 3000');
    like $err, qr{^eventrec: [1-9]\d{3,} events \(0 discarded\), \d+ bytes, }m, 'a log whose folder is swapped at the end is counted' or diag $err;
    unlike $err, qr/not seen/, 'and its program was seen';
    ok -e 'gone/s.paw', '(it was swapped)';
}

# An eventrec inside an eventrec: the outer one says who records what it does not see.
SKIP: {
    skip 'the library is not preloaded in a sanitized build', 4 if $ENV{SAN};
    my $program = '/usr/bin/perl -e "my @x = map { {} } 1 .. 3000; select undef, undef, undef, 0.5"';
    ($status, $out, $err) = record('-o', 'outer.paw', "$B/bin/eventrec", '-o', 'inner.paw', 'sh', '-c', "$program; exit 3");
    is($status, 3, 'an eventrec inside an eventrec');
    like($err, qr/^eventrec: [1-9]\d{3,} events \(0 discarded\), .* -> inner\.paw$/m, 'records') or diag $err;
    my @said = $err =~ /^(eventrec: not seen: .*)$/mg;
    is(scalar(@said), 1, 'the outer one says of one program that it does not see it') or diag $err;
    like($said[0] // '', qr{: another eventrec, inside this one, records it, and what it starts$}, 'and who does');
}
($status, $out, $err) = record('-o', 'long.paw', '-t', '1000', 'true');
unlike($err, qr/-t/, 'a program that ends before the recording has to: nothing to say');

# left($path) -- is this the memory of a log of ours?
sub left {
    my ($path) = @_;
    my $head = '';
    open my $region, '<', $path or return 0;
    sysread $region, $head, 2048;
    return index($head, $folder) >= 0;
}

my @left = grep { left($_) } glob '/dev/shm/pawprint-*[0-9]';
is_deeply(\@left, [], 'nothing is left in memory');

done_testing();
