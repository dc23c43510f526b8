#!/usr/bin/env perl
# deepbind.t -- libraries that are opened with RTLD_DEEPBIND: named where they go past us, and bound to us under manage; and dlopen is
# what it is without us
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
my ($rec, $cnv, $view) = map { "$B/bin/$_" } qw(eventrec eventcnv eventview);
my $preload = "$B/lib/libpawprint.so";

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer does not allow RTLD_DEEPBIND' if $ENV{SAN};
plan skip_all => 'no wrapper of dlopen on this processor' if `uname -m` !~ /^(?:x86_64|aarch64)$/;

# compile($name, $source, $options) -- a program or library; the test ends where there is no compiler for it
sub compile {
    my ($name, $source, $options) = @_;
    my $file = spew("$Dir/" . $name =~ tr{/}{-}r . '.c', $source);
    system("$cc -w -O0 -fno-builtin -o $Dir/$name $file $options") == 0 or die "$name cannot be compiled";
    return "$Dir/$name";
}

# The library frees what the program gave it, and allocates objects that the program frees.
mkdir "$Dir/hidden" or die;
my $work = "#include <stdlib.h>\nvoid work(void **o) { free(*o); *o = malloc(54321); }\n";
my $library = compile('hidden/libdeep.so', $work, '-shared -fPIC');
# The program opens what it is told, with the flag (`deep') or not, and prints what dlerror and errno are then.
my $opens = <<'C';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef EARLY
static int early(int n, char **v, char **e) __attribute__((constructor));
int main(void) { return 5; }
static int early(int n, char **v, char **e)
#else
int main(int n, char **v)
#endif
{
  void *o = malloc(12345);
  for (int i = 1; i + 1 < n; i += 2) {
    errno = 77;
    void *h = dlopen(strcmp(v[i + 1], "NULL") != 0 ? v[i + 1] : NULL, RTLD_NOW | (strcmp(v[i], "deep") == 0 ? RTLD_DEEPBIND : 0));
    int error = errno;
    char *said = dlerror();
    void (*work)(void **) = h != NULL ? (void (*)(void **))dlsym(h, "work") : NULL;
    printf("%d %s\n", h != NULL ? 0 : error, said != NULL ? said : "opened");
    if (work != NULL) work(&o);
  }
  free(o);
  return 5;
}
C
my $program = compile('opens', $opens, "-ldl -Wl,--enable-new-dtags,-rpath,$Dir/hidden");
my $unseen = 'its calls of malloc are not seen: it was opened with RTLD_DEEPBIND';

# observed($log, @arguments) -- what eventrec says of a program, which runs as it does alone
sub observed {
    my ($log, @command) = @_;
    my @due = run(@command);
    my ($status, $out, $err) = run($rec, '--force', '-o', "$Dir/$log", @command);
    is "$status $out", "$due[0] $due[1]", "$log: it runs as it does alone" or diag $err;
    return [$err =~ /^eventrec: (not seen: .*)/mg];
}

is_deeply observed('path.paw', $program, 'deep', $library, 'deep', $library), ["not seen: $library: $unseen"], 'such a library is named, once';
like `$view summary $Dir/path.paw`, qr/^not seen {7}\Q$library: $unseen\E$/m, 'also in the log';
is_deeply observed('runpath.paw', $program, 'deep', 'libdeep.so'), ["not seen: libdeep.so: $unseen"],
    'and found where the RUNPATH of the caller says';
is_deeply observed('origin.paw', $program, 'deep', '$ORIGIN/hidden/libdeep.so'), ["not seen: libdeep.so: $unseen"],
    'or $ORIGIN, which is the caller\'s, too';
is_deeply observed('plain.paw', $program, 'plain', $library, 'deep', $library), [], 'not one that is opened without the flag, or was before';
is scalar(grep { / PoolAlloc .*size=54321$/ } `$cnv $Dir/plain.paw`), 2, 'which is seen';
is_deeply observed('none.paw', $program, 'deep', "$Dir/none.so", 'deep', 'NULL', 'plain', 'NULL', 'deep', ''), [],
    'nor what is not there, nor the program itself';
chdir "$Dir/hidden" or die;
is_deeply observed('relative.paw', $program, 'deep', './libdeep.so'), ["not seen: $Dir/hidden/./libdeep.so: $unseen"], 'a path is made absolute';
chdir '/' or die;

# Before our constructor: of a library of the program, which is initialised before the one that is preloaded.
my $early = compile('libearly.so', "#define EARLY\n" . $opens =~ s/int main\(void\) \{ return 5; \}//r, "-shared -fPIC -ldl -Wl,-rpath,$Dir/hidden");
my $starts = compile('starts', 'int main(void) { return 5; }', "-Wl,--no-as-needed -L$Dir -learly -Wl,-rpath,$Dir");
is_deeply observed('early.paw', $starts, 'deep', 'libdeep.so'), ["not seen: libdeep.so: $unseen"], 'in a constructor';

# Without eventrec, and with nothing recorded.
{
    local $ENV{LD_PRELOAD} = $preload;
    my (undef, undef, $err) = run($program, 'deep', $library);
    is $err, '', 'where nothing is recorded nothing is said';
    local $ENV{PAWPRINT_LOG} = "$Dir/self.paw";
    (undef, undef, $err) = run($program, 'deep', $library);
    is $err, "pawprint: not seen: $library: $unseen\n", 'without eventrec it is said on standard error';
}

# Our own pool.
for my $command ([$program, 'deep', $library, 'deep', 'libdeep.so'], [$program, 'deep', 'libdeep.so'], [$starts, 'deep', 'libdeep.so']) {
    my @due = run(@$command);
    my ($status, $out, $err) = run($rec, '-m', 'manage', '--force', '-o', "$Dir/manage.paw", @$command);
    is "$status $out", "$due[0] $due[1]", 'managed, the program runs as it does alone' or diag $err;
    is_deeply [$err =~ /^eventrec: (.*RTLD_DEEPBIND.*)/mg], ["$command->[0]: it opens libraries with RTLD_DEEPBIND, which is left out: "
        . "they would free what Pawprint's malloc gave by libc's free"], 'it is said once that the flag is left out';
    is scalar(grep { / PoolAlloc .*size=54321$/ } `$cnv $Dir/manage.paw`), ($command->[0] eq $program ? @$command - 1 : 2) / 2,
        'and what the library allocates is seen';
}
{
    local %ENV = (%ENV, LD_PRELOAD => $preload, PAWPRINT_MODE => 'manage');
    my ($status, undef, $err) = run($program, 'deep', $library, 'deep', 'libdeep.so');
    is $status, 5, 'also without eventrec';
    is_deeply [$err =~ /^pawprint: RTLD_DEEPBIND: (.*): it is left out, /mg], [$library], 'where standard error has it';
}
done_testing;
