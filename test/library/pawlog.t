#!/usr/bin/perl
# pawlog.t -- libpawlog, as a program of somebody else finds it after `make install'
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Cwd qw(abs_path);
use EndToEnd qw($Dir run slurp spew);
use Registry;
use Test::More;

plan skip_all => 'the library is the same with and without sanitizers' if $ENV{SAN};

my $B = abs_path($ENV{B} || 'build/cool');
my $root = "$Dir/root";

delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
{
    my ($status, $out, $err) = run('make', '-s', "CC=@{[$ENV{CC} || 'gcc']}", "VARIETY=@{[$ENV{VARIETY} || 'cool']}",
                                   'install', "DESTDIR=$root", 'PREFIX=/usr');
    is $status, 0, 'make install' or die "$out$err";
}
ok -f "$root/usr/$_", "installs $_" for qw(include/pawlog.h lib/libpawlog.so lib/libpawlog.a lib/pkgconfig/pawlog.pc
                                           share/man/man3/pawlog.3);
like slurp("$root/usr/lib/pkgconfig/pawlog.pc"), qr/^Libs: .*-lpawlog$/m, 'pkg-config finds it';
unlike slurp("$root/usr/include/pawlog.h"), qr/#include "/, 'the header stands alone';
for my $library ('-D libpawlog.so', 'libpawlog.a') {
    my ($how, $file) = $library =~ /(?:(-D) )?(.*)/;
    my @names = `nm -g --defined-only @{[$how // '']} $root/usr/lib/$file` =~ /^[0-9a-f]+ . (\w+)$/mg;
    is_deeply [grep { !/^Paw[A-Z]/ } @names], [], "$file: no name that is not its own";
    my %declared = map { $_ => 1 } slurp("$root/usr/include/pawlog.h") =~ /^PAW_API [^(\n]*?\b(Paw\w+)\(/mg;
    is_deeply [sort @names], [sort keys %declared], "$file: all that the header declares, and nothing else";
}
unlike join('', `ldd $root/usr/lib/libpawlog.so`), qr/libpawprint/, 'the writer is not in it';
{
    # What pawlog(3) shows is what the header declares.
    my ($synopsis) = slurp('man/pawlog.3') =~ /^\.SH SYNOPSIS\n(.*?)(?=^\.SH)/ms;
    my %shown = map { $_ => 1 } $synopsis =~ /\b(Paw[A-Z]\w+)\(/g;
    my %declared = map { $_ => 1 } slurp('code/log/pawlog.h') =~ /^PAW_API [^(\n]*?\b(Paw\w+)\(/mg;
    is_deeply [sort keys %shown], [sort keys %declared], 'pawlog(3) shows all of pawlog.h';
}

# The example: built by each compiler, with each library.
my $log = "$Dir/huge.paw";
system("$B/test/heaptest", 'huge', $log) == 0 or die;
my @expected = map { /^(\S+) (\d+)\/\d+ (\S+) .*?addr=(\S+) size=(\d+)/ && $5 > 1 << 20 ? "$1 $2 $3 $5 bytes at $4\n" : () }
    `$B/bin/eventcnv $log`;
cmp_ok scalar(@expected), '>', 0, 'the log has large objects';
my @warnings = qw(-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes);
for my $cc (compilers()) {
    for (['shared', "-L$root/usr/lib", '-lpawlog', "-Wl,-rpath,$root/usr/lib"], ['static', "$root/usr/lib/libpawlog.a"]) {
        my ($how, @libraries) = @$_;
        my ($status, $out, $err) = run($cc, '-std=c99', @warnings, "-I$root/usr/include", '-o', "$Dir/big",
                                       'examples/big.c', @libraries);
        is "$status$out$err", '0', "$cc: the example builds, $how";
        ($status, $out, $err) = run("$Dir/big", $log);
        is $out, join('', @expected), 'and prints every allocation above 1 MiB';
        is "$status$err", '0', 'without complaint';
    }
}
{
    my ($status, $out, $err) = run("$Dir/big", 'test/bad/payload.paw');
    like $err, qr/^big: .*; \d+ events are lost$/, 'a damaged log';
    ($status, $out, $err) = run("$Dir/big", "$Dir/nowhere.paw");
    is "$status$out$err", "1big: $Dir/nowhere.paw: No such file or directory\n", 'and none at all';
}

# The header in C++, and in a program that has names like the reader's own.
my $source = <<'END';
#include <pawlog.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C"
#endif
int LogOpen(void);
int LogOpen(void) { return 7; }
static int count(PawRequest *request, PawEvent event)
{
  (void)event;
  ++*(int *)request->data;
  return 0;
}
int main(int argc, char **argv)
{
  const char *paths[1];
  PawLog log;
  PawRequest request;
  PawHandlers handlers;
  int n = 0;
  (void)argc;
  paths[0] = argv[1];
  PawHandlersInit(&handlers);
  if (PawOpen(&log, paths, 1, &handlers, NULL, 0) != PAW_OK)
    return 1;
  PawRequestInit(&request);
  request.data = &n;
  request.event = count;
  if (PawRead(log, &request) != PAW_OK)
    return 2;
  PawClose(log);
  printf("%d %d\n", n, LogOpen());
  return 0;
}
END
spew("$Dir/names.$_", $source) for qw(c cc);
my $events = () = `$B/bin/eventcnv $log`;
for my $cc (grep { system("command -v $_ >/dev/null 2>&1") == 0 } qw(gcc g++ clang++)) {
    my $file = $cc =~ /\+\+/ ? 'names.cc' : 'names.c';
    my ($status, $out, $err) = run($cc, qw(-Wall -Wextra -Werror -pedantic), "-I$root/usr/include", '-o', "$Dir/names",
                                   "$Dir/$file", "$root/usr/lib/libpawlog.a");
    is "$status$out$err", '0', "$cc: a program with names of its own builds";
    is((run("$Dir/names", $log))[1], "$events 7\n", 'and each calls its own');
}
done_testing;
