#!/usr/bin/perl
# pawsymbols.t -- a program that is linked with libpawlog names who called for what lives
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp spew);
use Test::More;

plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is the same with and without sanitizers' if $ENV{SAN};

my $B = $ENV{B} || 'build/cool';
my $log = "$Dir/stacks.paw";

spew("$Dir/calls.c", <<'END');
#include <inttypes.h>
#include <stdio.h>
#include "pawlog.h"
static void note(void *data, const char *line)
{
  fprintf(stderr, "%s%s\n", (const char *)data, line);
}
/* For each object of 1000 bytes its calls, in words, and the innermost function by name. */
int main(int argc, char **argv)
{
  const char *paths[] = {argv[1]};
  PawLog log;
  PawHeap heap;
  PawSymbols symbols;
  size_t p, i, n, count;
  (void)argc;
  if (PawOpen(&log, paths, 1, NULL, NULL, 0) != PAW_OK || PawHeapCreate(&heap, log, NULL, NULL, NULL) != PAW_OK ||
      PawHeapRead(heap) != PAW_OK || PawSymbolsCreate(&symbols, log, note, "note: ") != PAW_OK)
    return 1;
  for (p = 0; p < PawProcesses(log); ++p) {
    const PawObject *objects;
    if (PawHeapObjects(heap, PawProcessAt(log, p), &objects, &count) != PAW_OK)
      return 2;
    for (i = 0; i < count; ++i) {
      uint64_t frames[64] = {objects[i].site - 1};
      const PawFrame *found;
      char text[512], cut[4];
      if (objects[i].size != 1000)
        continue;
      n = objects[i].site != 0;
      if (objects[i].stack != 0)
        (void)PawHeapStack(heap, objects[i].stack, frames, 64, &n);
      if (n == 0 || PawSymbolsFind(symbols, objects[i].process, objects[i].time, frames[0], &found) == 0)
        return 3;
      printf("%s:", found[0].function);
      for (n = n < 3 ? n : 3; n > 0; --n)
        printf(" %s;", PawSymbolsText(symbols, objects[i].process, objects[i].time, frames[n - 1], text, sizeof text));
      printf("\n");
      if (PawSymbolsText(symbols, objects[i].process, objects[i].time, frames[0], cut, sizeof cut)[3] != '\0' ||
          PawSymbolsText(symbols, objects[i].process, objects[i].time, frames[0], NULL, 0)[0] != '\0')
        return 4;
    }
  }
  {
    char text[64];
    const PawFrame *found;
    printf("%s %d\n", PawSymbolsText(symbols, PawProcessAt(log, 0), 0, 0x10, text, sizeof text),
           (int)PawSymbolsFind(symbols, PawProcessAt(log, 0), 0, 0, &found));
  }
  PawSymbolsDestroy(symbols);
  PawSymbolsDestroy(NULL);
  PawHeapDestroy(heap);
  PawClose(log);
  return 0;
}
END
my ($status, $out, $err) = run($ENV{CC} || 'gcc', qw(-std=c99 -Wall -Wextra -Werror -Icode/log -o), "$Dir/calls",
                               "$Dir/calls.c", "$B/lib/libpawlog.a");
is "$status$out$err", '0', 'a program with the static library builds' or BAIL_OUT($err);
for my $depth (8, 1) {
    is((run("$B/bin/eventrec", '--force', '-s', $depth, '-p', 'block', '-o', $log, '--', "$B/prog/sites"))[0], 0,
       "another is recorded, with -s $depth");
    ($status, $out, $err) = run("$Dir/calls", $log);
    is "$status", '0', 'whose calls have names' or diag $err;
    my $outer = $depth > 1 ? qr/ main [^;]*; / : qr/ /;
    my $kept = () = $out =~ /^keeper:.*${outer}keeper at \S*sites\.c:\d+;$/mg;
    ok $kept == 100 || $kept == 70, 'what keeper allocated is its own' or diag $out;
    $outer = $depth > 1 ? qr/grower at \S*sites\.c:\d+; / : qr/ /;
    like $out, qr/^regrow:.*${outer}regrow at \S*sites\.c:\d+;$/m, 'and what regrow has resized';
    like $out, qr/^0x10 0$/m, 'what is in no module stays an address';
}
done_testing;
