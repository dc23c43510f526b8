/* allocatorstest.c -- what of an allocator's name becomes its environment
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "replay/allocators.h"
#include "tap.h"

/* joined -- the settings of an allocator, separated by spaces */
static const char *joined(const AllocatorStruct *allocator)
{
  static char line[AllocatorRoomSIZE * 2];
  Index i;

  line[0] = '\0';
  for (i = 0; i < allocator->settings; ++i) {
    strcat(line, i == 0 ? "" : " ");
    strcat(line, allocator->setting[i]);
  }
  return line;
}

static void testSettings(void)
{
  static const struct {
    const char *name;
    ReplayKind kind;
    const char *settings;
  } cases[] = {
    {"libc", ReplayLIBC, ""},
    {"pawprint", ReplayPAWPRINT, ""},
    {"pawprint:Arena.spare=0:SGF.emptySlabs:16", ReplayPAWPRINT, "PAWPRINT_POOLS=Arena.spare=0,SGF.emptySlabs=16"},
    {"none", ReplayNONE, ""},
    {"libc:M_ARENA_MAX=2", ReplayLIBC, "MALLOC_ARENA_MAX=2"},
    {"libc:M_ARENA_MAX:2", ReplayLIBC, "MALLOC_ARENA_MAX=2"},
    {"libc:tcache_count=0:M_MMAP_THRESHOLD=65536:hugetlb=1", ReplayLIBC,
     "MALLOC_MMAP_THRESHOLD_=65536 GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.hugetlb=1"},
    {"jemalloc:narenas:1:dirty_decay_ms=0", ReplayLIBRARY, "MALLOC_CONF=narenas:1,dirty_decay_ms:0"},
    {"mimalloc:reset_delay=0:large_os_pages:1", ReplayLIBRARY, "MIMALLOC_RESET_DELAY=0 MIMALLOC_LARGE_OS_PAGES=1"},
    {"tcmalloc:aggressive_decommit=1", ReplayLIBRARY, "TCMALLOC_AGGRESSIVE_DECOMMIT=1"},
    {"/proc/self/exe:OWN=a=b", ReplayLIBRARY, "OWN=a=b"},
  };
  char error[AllocatorErrorSIZE];
  AllocatorStruct allocator;
  Index i;
  Res res;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    res = AllocatorParse(&allocator, cases[i].name, error);
    if (res == ResFAIL && strstr(error, "usual places") != NULL) {
      TapSkip("an allocator that is not installed");
      continue;
    }
    TapOk(res == ResOK && allocator.kind == cases[i].kind && strcmp(joined(&allocator), cases[i].settings) == 0,
          "%s", cases[i].name);
    TapOk(AllocatorCheck(&allocator), "and sound");
  }
}

/* testVariables -- what is to be exported, one variable after the other */
static void testVariables(void)
{
  char error[AllocatorErrorSIZE], variable[AllocatorVariableSIZE];
  AllocatorStruct allocator;

  TapIs(AllocatorParse(&allocator, "/proc/self/exe:OWN=a:OTHER=b", error), ResOK, "a library with two settings");
  TapOk(AllocatorVariable(variable, &allocator, 0) && strncmp(variable, "LD_PRELOAD=/", 12) == 0, "is preloaded");
  TapOk(AllocatorVariable(variable, &allocator, 2) && strcmp(variable, "OTHER=b") == 0, "has its settings");
  TapOk(!AllocatorVariable(variable, &allocator, 3), "and no more");
  (void)AllocatorParse(&allocator, "libc", error);
  TapOk(!AllocatorVariable(variable, &allocator, 0), "libc needs none");
  (void)AllocatorParse(&allocator, "pawprint", error);
  TapOk(AllocatorVariable(variable, &allocator, 1) && strcmp(variable, "PAWPRINT_MODE=manage") == 0, "ours has a mode");
  TapOk(!AllocatorVariable(variable, &allocator, 2), "and no more");
  (void)AllocatorParse(&allocator, "pawprint:MVFF.spare=1", error);
  TapOk(AllocatorVariable(variable, &allocator, 2) && strcmp(variable, "PAWPRINT_POOLS=MVFF.spare=1") == 0 &&
          !AllocatorVariable(variable, &allocator, 3), "but for its settings");
}

static void testRefused(void)
{
  static const struct {
    const char *name;
    Res res;
  } cases[] = {
    {"libc:M_ARENA_MAX", ResPARAM}, {"libc:M_ARENA_MAX=", ResPARAM},  {"libc:=2", ResPARAM},
    {"libc:", ResPARAM},            {"libc:M_TOP_PAD=1::M_TOP_PAD=2", ResPARAM},      {"pawprint:a=1", ResPARAM},
    {"libc:M_BLAH=1", ResPARAM},    {"libc:tcache_cuont:1", ResPARAM}, {"libc:M_TOP_PAD:1:M_BLAH:M_TOP_PAD", ResPARAM},
    {"pawprint:SGF.spare=1", ResPARAM}, {"pawprint:MVFF.spare=x", ResPARAM}, {"pawprint:AMS.spare=1", ResPARAM},
    {"pawprint:MFS.unitSize=8", ResPARAM},
    {"none:a=1", ResPARAM},         {"/no/such/library.so", ResFAIL}, {"tbbmalloc", ResFAIL},
  };
  char error[AllocatorErrorSIZE], name[2 * AllocatorRoomSIZE];
  AllocatorStruct allocator;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    error[0] = '\0';
    TapOk(AllocatorParse(&allocator, cases[i].name, error) == cases[i].res && error[0] != '\0', "%s is refused",
          cases[i].name);
  }
  /* Each length about the room's: never beyond it. */
  for (i = AllocatorRoomSIZE - 64; i < AllocatorRoomSIZE + 64; ++i) {
    Res res;
    snprintf(name, sizeof name, "libc:perturb=%0*d", (int)i, 1);
    res = AllocatorParse(&allocator, name, error);
    if (res != ResOK && res != ResPARAM)
      break;
    if (res == ResOK && strlen(allocator.setting[0]) != strlen("GLIBC_TUNABLES=glibc.malloc.perturb=") + i)
      break;
  }
  TapIs(i, AllocatorRoomSIZE + 64, "settings of every length are taken whole, or refused");
  TapIs(AllocatorParse(&allocator, "libc:perturb=1", error), ResOK, "an allocator");
  PLANT(allocator.settings, AllocatorSettingsMAX + 1, AllocatorCheck(&allocator), "too many settings");
  PLANT(allocator.setting[0], "elsewhere=1", AllocatorCheck(&allocator), "a setting of somebody else's");
  PLANT(allocator.kind, ReplayLIBRARY, AllocatorCheck(&allocator), "no library");
}

/* testSame -- which are the same, and which library is whose */
static void testSame(void)
{
  AllocatorStruct plain, set, other;
  char error[AllocatorErrorSIZE];

  if (AllocatorParse(&plain, "libc", error) != ResOK || AllocatorParse(&set, "libc:M_ARENA_MAX=2", error) != ResOK ||
      AllocatorParse(&other, "libc:M_ARENA_MAX:2", error) != ResOK)
    TapOk(FALSE, "%s", error);
  TapOk(AllocatorSame(&plain, &plain) && AllocatorSame(&set, &other), "the same with the same settings");
  TapOk(!AllocatorSame(&plain, &set), "not with others");
  (void)AllocatorParse(&other, "none", error);
  TapOk(!AllocatorSame(&plain, &other), "nor are two");
  TapOk(strcmp(AllocatorOf("libjemalloc.so.2"), "jemalloc") == 0 && AllocatorOf("libc.so.6") == NULL,
        "a library is known by its name");
}

int main(void)
{
  testSame();
  testSettings();
  testVariables();
  testRefused();
  return TapDone();
}
