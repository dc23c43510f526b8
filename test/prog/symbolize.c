/* symbolize.c -- functions, files and lines of addresses, as addr2line -a -f -i prints them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     symbolize FILE [BUILD [SECONDS]] < addresses
 *
 * The addresses are those in the file, in hex, each with a line of its own.  FILE must be a whole path.  With BUILD it
 * is that of the module as it was loaded, at SECONDS since 1970; "-" is an unknown one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/objectfile.h"
#include "symbols/symbols.h"

static void note(void *data, const char *line)
{
  UNUSED(data);
  fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
  SymbolsModuleStruct module = {.path = argc > 1 ? argv[1] : "/"};
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  ObjectFile object;
  Symbols symbols;
  uint64_t begin = 0;
  char line[64];

  if (argc > 2 && strcmp(argv[2], "-") != 0)
    module.build = argv[2];
  if (argc > 3)
    module.loaded = strtoull(argv[3], NULL, 10) * 1000000000;
  if (ObjectOpen(&object, module.path, NULL) == ResOK) {
    begin = object->begin;
    ObjectClose(object);
  }
  if (SymbolsCreate(&symbols, note, NULL) != ResOK)
    return 1;
  while (fgets(line, sizeof line, stdin) != NULL) {
    uint64_t address = strtoull(line, NULL, 16);
    Count n = SymbolsFind(symbols, &module, address - begin, FALSE, frames, SymbolsFramesMAX);
    Index i;
    printf("0x%016llx\n", (unsigned long long)address);
    for (i = 0; i < n; ++i)
      printf("%s\n%s:%u\n", frames[i].function == NULL ? "??" : frames[i].function,
             frames[i].file == NULL ? "??" : frames[i].file, frames[i].line);
    if (n == 0)
      printf("??\n??:0\n");
  }
  SymbolsDestroy(symbols);
  return 0;
}
