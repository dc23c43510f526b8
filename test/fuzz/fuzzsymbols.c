/* fuzzsymbols.c -- symbols, from any bytes as the file of a module, and as what zlib has packed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses are asked for at the beginnings of sections and functions, and some beside them.
 */
#include "fuzz.h"

#include "symbols/functable.h"
#include "symbols/inflate.h"
#include "symbols/symbols.h"

enum { askedMAX = 64, roomMAX = 1 << 16 };

/* fuzzInflate -- unpacked, into less room than there may be and into as much */
static void fuzzInflate(const uint8_t *data, size_t size)
{
  static const Size rooms[] = {0, 100, roomMAX};
  uint8_t *in = malloc(size + 1), *out;
  Index i;

  if (in == NULL)
    FuzzFail("no memory");
  memcpy(in, data, size);
  for (i = 0; i < ARRAY_LENGTH(rooms); ++i) {
    out = malloc(rooms[i] + 1);
    if (out == NULL)
      FuzzFail("no memory");
    (void)Inflate(out, rooms[i], in, size);
    free(out);
  }
  free(in);
}

/* fuzzAddresses -- those that are worth to be asked for, less `begin` */
static Count fuzzAddresses(uint64_t *address, const char *path)
{
  FuncTableStruct table = {.func = NULL};
  ObjectFile object;
  Count n = 0;
  Index i;

  if (ObjectOpen(&object, path, NULL) != ResOK)
    return 0;
  if (!ObjectCheck(object))
    FuzzFail("the object file does not hold together");
  for (i = 0; i < object->sections && n < askedMAX / 2; ++i)
    address[n++] = object->section[i].head.address + object->section[i].head.size / 2 - object->begin;
  if (FuncTableAdd(&table, object))
    FuncTableSort(&table);
  for (i = 0; i < table.count && n < askedMAX; ++i)
    address[n++] = table.func[i].address + i % 8 - object->begin;
  FuncTableFinish(&table);
  ObjectClose(object);
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  uint64_t address[askedMAX];
  SymbolsModuleStruct module = {.build = NULL};
  Symbols symbols;
  char path[32];
  Index i, f, n;
  Size length = 0;
  int fd;

  (void)setenv("PATH", "/nowhere", 1); /* no c++filt, which is not what is tried here */
  if (size > 0 && (data[0] & 15) == 8)
    fuzzInflate(data, size);
  fd = FuzzFile(path, data, size);
  n = fuzzAddresses(address, path);
  module.path = path;
  if (SymbolsCreate(&symbols, NULL, NULL) != ResOK)
    FuzzFail("no memory");
  for (i = 0; i < n; ++i) {
    Count count = SymbolsFind(symbols, &module, address[i], FALSE, frames, SymbolsFramesMAX);
    for (f = 0; f < count; ++f)
      length += (frames[f].function != NULL ? strlen(frames[f].function) : 0) +
                (frames[f].file != NULL ? strlen(frames[f].file) : 0);
  }
  SymbolsDestroy(symbols);
  (void)close(fd);
  return length == SIZE_MAX;
}
