/* hostile.c -- a log in which every name and string is out to command a terminal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * hostile LOG          a log of two processes; one has an event of each type that has a string, the other a registry
 *                      whose kinds, events, parameters and descriptions are such names, too
 * hostile LOG damage   the same, and a block of it is damaged
 */
#include "../lib/logmake.h"

/* ESC and CSI as bytes and as UTF-8, what an 8-bit terminal obeys, DEL, BEL, a torn character, and one that stays. */
#define HOSTILE "\x1b[31m\xc2\x9b" "32m\x9b" "33m\x7f\x07\xe2\x82\r\xc2\x85\xc3\xa4"

static MakeBlockStruct block;

static const char hostileRegistry[] =
  "kind: 6 K\x1b\xc2\x9b\x9b\x07\n"
  "event: 0x0701 E\x1b[1m\xc2\x9b\x9b\x7f K\x1b\xc2\x9b\x9b\x07 1 PWS p\x1b\xc2\x9b q\x9b\x07 r\x7f\n"
  "describe: 0x0701 words \x1b[2m\xc2\x9b\x9b\x07 %r\x7f\n"
  "event: 0x0702 Plain K\x1b\xc2\x9b\x9b\x07 1 UWS u w s\n"
  "describe: 0x0702 %u \x1b \xc2\x9b %s\n";

static void hostileHeader(Make make, MakeProcess process)
{
  Header header = &process->header;

  strcpy(header->program, "/bin/" HOSTILE "program");
  strcpy(header->clock, "c\x1b\xc2\x9b");
  strcpy(header->boot, "boot" "\x1b\xc2\x9b");
  header->arguments = 2;
  strcpy(header->argument[0], HOSTILE);
  strcpy(header->argument[1], "\n" HOSTILE);
  MakeHeader(make, process);
}

/* hostileAll -- an event of each type that has a string, and some objects, so that there is a heap */
static void hostileAll(Make make, MakeProcess process)
{
  uint64_t value[EventParamMAX], time = 1000;
  Index t, i;
  unsigned kind;

  for (kind = 0; kind < EventKindMAX; ++kind) {
    MakeBlockBegin(&block, process, 17, kind, 0, time);
    for (t = 0; t < process->registry->count; ++t) {
      EventType type = &process->registry->types[t];
      if (type->kind != kind || (type->strings == 0 && strcmp(process->registry->kind[kind], "Object") != 0))
        continue;
      for (i = 0; i < type->params; ++i)
        value[i] = 17;
      (void)MakeEvent(&block, type->code, time, value, type->strings ? HOSTILE : NULL);
      time += 10;
    }
    if (block.header.count > 0)
      MakeBlockEnd(make, &block, BlockFlagSEALED);
  }
}

int main(int argc, char **argv)
{
  MakeProcess known = MakeProcessNew(17, 0xa1), own = MakeProcessForeign(18, 0xa2, 8, FALSE, hostileRegistry);
  MakeStruct make = {0};

  if (argc < 2)
    return 2;
  hostileHeader(&make, known);
  hostileAll(&make, known);
  hostileHeader(&make, own);
  MakeBlockBegin(&block, own, 18, 6, 0, 2000);
  (void)MakeEvent(&block, 0x0701, 2000, (uint64_t[]){1, 2}, HOSTILE "\n" HOSTILE);
  (void)MakeEvent(&block, 0x0702, 2010, (uint64_t[]){1, 2}, HOSTILE);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  if (argc > 2)
    make.bytes[make.last + BlockHeaderSIZE + 20] ^= 4;
  MakeWrite(&make, argv[1]);
  MakeFree(&make);
  MakeProcessFree(known);
  MakeProcessFree(own);
  return 0;
}
