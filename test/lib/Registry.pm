# Registry.pm -- little registries, and the primitives that eventgen.h needs, for tests
#
# SPDX-License-Identifier: BSD-2-Clause
package Registry;
use strict;
use warnings;
use EndToEnd qw(run spew $Dir);
use Exporter qw(import);

our @EXPORT = qw(compilers version event stubs compileFails);
my $Warnings = '-Wall -Wextra -Werror -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wshadow '
    . '-Wwrite-strings';

# The compilers to try: the build's own, and gcc and clang where present.
sub compilers {
    my %seen;
    my @wanted = grep { !$seen{$_}++ } ($ENV{CC} || 'cc', 'gcc', 'clang');

    return grep { system("command -v $_ >/dev/null 2>&1") == 0 } @wanted;
}

# The first lines of a registry, with all kinds.
sub version {
    my ($major, $median, $minor) = (@_, 1, 0, 0)[0 .. 2];
    my @kinds = qw(Arena Pool Trace Seg Ref Object User);

    return "#define EventVersionMAJOR $major\n#define EventVersionMEDIAN $median\n#define EventVersionMINOR $minor\n"
        . join '', map { "KIND($kinds[$_], $_, \"kind $_\")\n" } 0 .. $#kinds;
}

# All rows of one event; parameters are called a, b, c ...
sub event {
    my ($name, $code, $format, %with) = @_;
    my @letters = $format eq '0' ? () : split //, $format;
    my $kind = $with{kind} // 'Arena';
    my $always = $with{always} // 'TRUE';
    my @names = ('a' .. 'az')[0 .. $#letters];

    return "RELATION($name, $code, $always, $kind, $format)\n  DOC($name, \"happens\")\n"
        . join '', map { "  PARAM($name, $_, $letters[$_], $names[$_], \"one\")\n" } 0 .. $#letters;
}

# A C source's beginning: primitives that write what they are given to standard output.
sub stubs {
    return <<'END';
#include <stdio.h>
#include <string.h>
#include "base/types.h"
#include "format/eventcheck.h"
typedef struct EventHeaderStruct { uint16_t code, length; uint32_t time; } EventHeaderStruct;
static uint32_t stubBuffer[4096];
static int stubWanted = 1, stubRoom = 1;
#define EVENT_WANTED(kind) ((void)(kind), stubWanted)
static inline void *EventReserve(unsigned kind, Size size)
{
  memset(stubBuffer, 0, sizeof stubBuffer);
  ((EventHeaderStruct *)stubBuffer)->length = (uint16_t)size;
  printf("kind=%u size=%u", kind, (unsigned)size);
  return stubRoom ? stubBuffer : NULL;
}
static inline void EventCommit(EventHeaderStruct *header, unsigned code)
{
  const unsigned char *p = (const unsigned char *)(header + 1);
  unsigned i;
  header->code = (uint16_t)code;
  printf(" code=%x ", code);
  for (i = 0; i + sizeof *header < header->length; ++i)
    printf("%02x", p[i]);
  printf("\n");
}
__attribute__((unused)) static inline Size EventStringLength(const char *string)
{
  return strlen(string);
}
__attribute__((unused)) static inline void EventStringCopy(char *to, const char *from, Size length,
                                                           EventHeaderStruct *header)
{
  (void)header;
  memcpy(to, from, length);
  to[length] = 0;
}
#include "eventgen.h"
END
}

# Compiles a whole program with the project's warnings; returns the compiler's messages, '' if there are none.
sub compileFails {
    my ($cc, $source, $program, @flags) = @_;
    my $c = spew("$Dir/source.c", $source);
    my ($status, $out, $err) = run(split(' ', $cc), '-std=gnu11', split(' ', $Warnings), @flags, '-Icode', "-I$Dir",
                                   $c, '-o', $program);

    return $status == 0 ? '' : $err . $out . "status $status\n";
}

1;
