/* modulemaptest.c -- which module an address is in: random loads and unloads, held against a list that is searched
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/modulemap.h"

#include <stdio.h>

#include "tap.h"

enum { processesCOUNT = 3, tellingsMAX = 400 };

static const char registryText[] =
  "kind: 8 System\n"
  "event: 0x0904 ModuleLoad System 1 AWS base size path\n"
  "event: 0x0908 ModuleUnload System 1 AW base size\n"
  "event: 0x0909 ModuleBuild System 1 AS base id\n";

static RegistryStruct registry;
static EventTypeStruct types[8];
static struct LogProcessStruct processes[processesCOUNT];

/* What was told, kept by the test itself. */
static struct telling {
  Index process;
  uint64_t base, size, from, to;
  char path[32], build[16];
} loaded[tellingsMAX];
static Count loads;

static Bool tell(ModuleMap map, Index process, unsigned code, uint64_t time, uint64_t base, uint64_t size,
                 const char *string)
{
  EventType type = RegistryFind(&registry, (uint16_t)code);
  unsigned char bytes[256] = {0};
  struct LogEventStruct event = {.time = time, .process = &processes[process], .type = type, .bytes = bytes};

  event.length = (uint16_t)(type->length + (string == NULL ? 0 : strlen(string) + 1));
  memcpy(bytes + type->offset[0], &base, sizeof base);
  if (code != 0x0909)
    memcpy(bytes + type->offset[1], &size, sizeof size);
  if (string != NULL)
    strcpy((char *)bytes + type->offset[type->params - 1], string);
  return ModuleMapTake(map, &event);
}

static ModuleMap mapMake(void)
{
  ModuleMap map = NULL;

  TapOk(ModuleMapMake(&map, processesCOUNT) == ResOK, "a map is made");
  loads = 0;
  return map;
}

static const char *nameOf(ModuleMap map, Module module)
{
  Size length;

  return module == NULL ? "none" : ModuleMapString(map, module->name, &length);
}

static void testReload(void)
{
  ModuleMap map = mapMake();
  Module module;
  Size length;

  TapOk(tell(map, 1, 0x0904, 10, 0x1000, 0x500, "/lib/a.so") && tell(map, 1, 0x0909, 10, 0x1000, 0, "aa") &&
          tell(map, 1, 0x0904, 15, 0x1000, 0x500, "/lib/a.so") && tell(map, 1, 0x0908, 20, 0x1000, 0x500, NULL) &&
          tell(map, 1, 0x0909, 30, 0x1000, 0, "bb") && tell(map, 1, 0x0904, 30, 0x1000, 0x800, "/lib/b.so") &&
          tell(map, 1, 0x0904, 30, 0x9000, 0x800, "/lib/c.so") && tell(map, 2, 0x0904, 5, 0x1000, 0x80, "/lib/d.so") &&
          ModuleMapSettle(map) == ResOK && ModuleMapCheck(map),
        "modules are told, one twice, and one in the place of another that was unloaded");
  module = ModuleMapFind(map, 1, 12, 0x1100);
  TapOk(strcmp(nameOf(map, module), "a.so") == 0 && strcmp(ModuleMapString(map, module->build, &length), "aa") == 0,
        "the first has its time and its build id");
  TapOk(strcmp(nameOf(map, ModuleMapFind(map, 1, 19, 0x1100)), "a.so") == 0, "also after it was told again");
  TapSees(module->process, 2, ModuleMapCheck(map), "a module among those of another process is seen");
  TapSees(module->process, 1000, ModuleMapCheck(map), "one of no process is seen");
  TapSees(module->base, 0x10000, ModuleMapCheck(map), "modules that are not in order of address are seen");
  TapSees(module->from, 40, ModuleMapCheck(map), "nor in order of time");
  TapSees(module->most, UINT64_MAX, ModuleMapCheck(map), "an end that is none of theirs is seen");
  module = ModuleMapFind(map, 1, 30, 0x1100);
  TapOk(strcmp(nameOf(map, module), "b.so") == 0 && strcmp(ModuleMapString(map, module->build, &length), "bb") == 0,
        "so has the second, whose build id was told before it");
  TapOk(strcmp(nameOf(map, ModuleMapFind(map, 1, 25, 0x1100)), "b.so") == 0, "between them it is the one that comes");
  TapOk(strcmp(nameOf(map, ModuleMapFind(map, 1, 1, 0x1100)), "a.so") == 0, "before both the first");
  TapOk(ModuleMapFind(map, 1, 40, 0x1800) == NULL && ModuleMapFind(map, 1, 40, 0xfff) == NULL, "beside them is none");
  TapOk(ModuleMapFind(map, 0, 40, 0x1100) == NULL && ModuleMapFind(map, processesCOUNT, 40, 0x1100) == NULL,
        "nor in another process");
  TapOk(strcmp(nameOf(map, ModuleMapFind(map, 2, 40, 0x1010)), "d.so") == 0, "which has its own");
  TapOk(ModuleMapNumber(map, module) > 0 && ModuleMapNumber(map, NULL) == 0 &&
          ModuleMapNumber(map, ModuleMapFind(map, 2, 40, 0x1010)) != ModuleMapNumber(map, module),
        "each has a number of its own");
  ModuleMapDestroy(map);
}

/* expected -- by looking at all */
static int expected(Index process, uint64_t time, uint64_t address)
{
  int there = -1, later = -1, earlier = -1;
  Index i;

  for (i = 0; i < loads; ++i) {
    if (loaded[i].process != process || address - loaded[i].base >= loaded[i].size)
      continue;
    if (loaded[i].from <= time && time < loaded[i].to)
      there = (int)i;
    else if (loaded[i].from > time && (later < 0 || loaded[i].from < loaded[later].from))
      later = (int)i;
    else if (loaded[i].from <= time)
      earlier = (int)i;
  }
  return there >= 0 ? there : later >= 0 ? later : earlier;
}

static void testRandom(uint64_t *state)
{
  ModuleMap map = mapMake();
  Count wrong = 0, found = 0;
  uint64_t time;
  Index i;

  for (time = 1; loads < tellingsMAX / 2; ++time) {
    Index process = TapRandom(state) % processesCOUNT, slot = TapRandom(state) % 8;
    uint64_t base = 0x10000 * (slot + 1);
    int open = -1;
    for (i = 0; i < loads; ++i)
      if (loaded[i].process == process && loaded[i].base == base && loaded[i].to == UINT64_MAX)
        open = (int)i;
    if (open >= 0) {
      loaded[open].to = time;
      (void)tell(map, process, 0x0908, time, base, 0, NULL);
    } else {
      struct telling *telling = &loaded[loads];
      *telling = (struct telling){process, base, 1 + TapRandom(state) % 0x18000, time, UINT64_MAX, "", ""};
      (void)snprintf(telling->path, sizeof telling->path, "/m/%zu", loads++);
      (void)tell(map, process, 0x0904, time, base, telling->size, telling->path);
    }
  }
  TapOk(ModuleMapSettle(map) == ResOK && ModuleMapCheck(map), "modules come and go, and some overlap");
  for (i = 0; i < 20000; ++i) {
    Index process = TapRandom(state) % processesCOUNT;
    uint64_t at = TapRandom(state) % (time + 2), address = TapRandom(state) % 0xa0000;
    Module module = ModuleMapFind(map, process, at, address);
    int index = expected(process, at, address);
    found += index >= 0;
    wrong += index < 0 ? module != NULL : module == NULL || strcmp(nameOf(map, module), loaded[index].path + 3) != 0;
  }
  TapOk(wrong == 0 && found > 1000, "all of %zu addresses in modules are found, as the list has them", found);
  ModuleMapDestroy(map);
}

/* testMany -- more modules in turn than anybody looks at one by one: at one base, or `slide` bytes below each other */
static void testMany(Count many, uint64_t slide)
{
  ModuleMap map = mapMake();
  char path[32], name[32];
  Count wrong = 0;
  Index i;

  for (i = 0; i < many; ++i) {
    uint64_t base = 0x40000000 - slide * (i % 500);
    (void)snprintf(path, sizeof path, "/m/%zu", i);
    (void)tell(map, 1, 0x0904, 10 * i + 10, base, 0x40001000 - base, path);
    (void)tell(map, 1, 0x0908, 10 * i + 15, base, 0, NULL);
  }
  TapOk(ModuleMapSettle(map) == ResOK && ModuleMapCheck(map), "%zu modules come and go", many);
  for (i = 0; i < many; ++i) {
    Index later = i + 1 < many ? i + 1 : i; /* of the time after it was unloaded */
    (void)snprintf(name, sizeof name, "%zu", i);
    wrong += strcmp(nameOf(map, ModuleMapFind(map, 1, 10 * i + 12, 0x40000010)), name) != 0;
    (void)snprintf(name, sizeof name, "%zu", later);
    wrong += strcmp(nameOf(map, ModuleMapFind(map, 1, 10 * i + 17, 0x40000010)), name) != 0;
  }
  TapOk(wrong == 0, "at each time the one that was there is found, %zu are not", wrong);
  ModuleMapDestroy(map);
}

int main(void)
{
  uint64_t state = TapSeed();
  Index i;

  RegistryInit(&registry, types, ARRAY_LENGTH(types), (WidthsStruct){sizeof(uint64_t), FALSE});
  TapOk(RegistryText(&registry, registryText, sizeof registryText - 1) == ResOK, "a registry has the types");
  for (i = 0; i < processesCOUNT; ++i) {
    processes[i].number = i;
    processes[i].registry = &registry;
    processes[i].header.widths = registry.widths;
  }
  testReload();
  testRandom(&state);
  testMany(20000, 0);
  testMany(2000, 0x1000);
  return TapDone();
}
