/* allocators.c -- which allocators are compared: by name, by path, and with which settings
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/allocators.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "mm/pool.h"

/* How an allocator's settings reach it. */
typedef enum allocatorManner {
  allocatorITSELF, /* KEY=VALUE, a variable of its own */
  allocatorPREFIX, /* PREFIX_KEY=VALUE, in capitals */
  allocatorLISTED  /* all in one variable: VARIABLE=KEY:VALUE,KEY:VALUE */
} allocatorManner;

typedef struct allocatorKnownStruct {
  const char *name;
  ReplayKind kind;
  const char *library[3]; /* names of its file, the preferred one first; for ReplayLIBRARY */
  allocatorManner manner;
  const char *variable;   /* the prefix, or the one variable */
} allocatorKnownStruct;

static const allocatorKnownStruct allocatorKnown[] = {
  {"pawprint", ReplayPAWPRINT, {NULL}, allocatorLISTED, "PAWPRINT_POOLS"},
  {"libc", ReplayLIBC, {NULL}, allocatorITSELF, NULL},
  {"none", ReplayNONE, {NULL}, allocatorITSELF, NULL},
  {"jemalloc", ReplayLIBRARY, {"libjemalloc.so.2", "libjemalloc.so"}, allocatorLISTED, "MALLOC_CONF"},
  {"mimalloc", ReplayLIBRARY, {"libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"}, allocatorPREFIX,
   "MIMALLOC"},
  {"tcmalloc", ReplayLIBRARY, {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so"},
   allocatorPREFIX, "TCMALLOC"},
};

/* The settings of libc that have variables of their own; all others are tunables. */
static const struct {
  const char *key, *variable;
} allocatorLibc[] = {
  {"M_ARENA_MAX", "MALLOC_ARENA_MAX"},           {"M_ARENA_TEST", "MALLOC_ARENA_TEST"},
  {"M_MMAP_THRESHOLD", "MALLOC_MMAP_THRESHOLD_"}, {"M_TRIM_THRESHOLD", "MALLOC_TRIM_THRESHOLD_"},
  {"M_TOP_PAD", "MALLOC_TOP_PAD_"},              {"M_MMAP_MAX", "MALLOC_MMAP_MAX_"},
};

/* libc's tunables of malloc, of all versions: one that the installed version does not have it ignores. */
static const char *const allocatorTunables[] = {
  "arena_max", "arena_test", "check", "hugetlb", "mmap_max", "mmap_threshold", "mxfast", "perturb", "tcache_count",
  "tcache_max", "tcache_unsorted_limit", "top_pad", "trim_threshold",
};

/* Where systems keep libraries, the first that has it. */
static const char *const allocatorFolder[] = {
#if defined(__x86_64__)
  "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
  "/usr/lib/aarch64-linux-gnu",
#endif
  "/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib",
};

/* ---- Libraries ---- */

/* allocatorPath -- take this file for the allocator's library.  errors: ResFAIL, errno */
static Res allocatorPath(Allocator allocator, const char *path, char *error)
{
  char real[PATH_MAX];

  if (realpath(path, real) == NULL || access(real, R_OK) != 0) {
    snprintf(error, AllocatorErrorSIZE, "%s: %s; an allocator is pawprint, libc, jemalloc, mimalloc, tcmalloc, none "
             "or the path of a shared library", path, strerror(errno));
    return ResFAIL;
  }
  if (strpbrk(real, ": ") != NULL) {
    snprintf(error, AllocatorErrorSIZE, "%s: a path with a colon or a space cannot be preloaded", path);
    return ResFAIL;
  }
  strcpy(allocator->library, real);
  return ResOK;
}

/* allocatorFind -- the library of one that is known by name */
static Res allocatorFind(Allocator allocator, const allocatorKnownStruct *known, char *error)
{
  char path[PATH_MAX];
  Index i, j;

  for (i = 0; i < ARRAY_LENGTH(known->library) && known->library[i] != NULL; ++i)
    for (j = 0; j < ARRAY_LENGTH(allocatorFolder); ++j) {
      snprintf(path, sizeof path, "%s/%s", allocatorFolder[j], known->library[i]);
      if (access(path, R_OK) == 0)
        return allocatorPath(allocator, path, error);
    }
  snprintf(error, AllocatorErrorSIZE, "%s: %s is in none of the usual places; give its path", known->name,
           known->library[0]);
  return ResFAIL;
}

/* ---- Settings ---- */

/* allocatorCapitals -- the key as a part of a variable's name */
static void allocatorCapitals(Text text, const char *key)
{
  for (; *key != '\0'; ++key)
    TextChar(text, (char)toupper((unsigned char)*key));
}

/* allocatorVariable -- write the setting as NAME=VALUE */
static void allocatorVariable(Text text, const allocatorKnownStruct *known, const char *key, const char *value)
{
  if (known != NULL && known->manner == allocatorPREFIX) {
    TextFormat(text, "%s_", known->variable);
    allocatorCapitals(text, key);
  } else {
    TextString(text, key);
  }
  TextFormat(text, "=%s", value);
}

/* allocatorTunable -- the variable of libc that has this key, or NULL: it is one of those that GLIBC_TUNABLES lists */
static const char *allocatorTunable(const char *key)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(allocatorLibc); ++i)
    if (strcmp(allocatorLibc[i].key, key) == 0)
      return allocatorLibc[i].variable;
  return NULL;
}

/* allocatorPairs -- call `each` for each KEY=VALUE or KEY:VALUE of `settings`, which is written to; ResPARAM: a key
 * without a value */
typedef void (*allocatorEach)(void *data, const char *key, const char *value);
static Res allocatorPairs(char *settings, allocatorEach each, void *data, char *error)
{
  char *rest = settings, *piece, *value;

  while ((piece = strsep(&rest, ":")) != NULL) {
    value = strchr(piece, '=');
    if (value != NULL)
      *value++ = '\0';
    else
      value = strsep(&rest, ":");
    if (*piece == '\0' || value == NULL || *value == '\0') {
      snprintf(error, AllocatorErrorSIZE, "the setting '%.60s' has no value: a setting is KEY=VALUE", piece);
      return ResPARAM;
    }
    each(data, piece, value);
  }
  return ResOK;
}

typedef struct allocatorSettingStruct {
  Allocator allocator;
  const allocatorKnownStruct *known; /* NULL: a path */
  TextStruct text;                   /* in the allocator's room, behind the settings that it has */
  Bool listed;                       /* those that share a variable are wanted, in this call */
  Count inList;
} allocatorSettingStruct, *allocatorSetting;

/* allocatorEnd -- what was written to the room is a setting: it ends here */
static void allocatorEnd(allocatorSetting setting, char *begin)
{
  if (setting->allocator->settings < AllocatorSettingsMAX && !setting->text.overflow)
    setting->allocator->setting[setting->allocator->settings++] = begin;
  else
    setting->text.overflow = TRUE;
  TextChar(&setting->text, '\0');
}

/* allocatorList -- the variable that lists settings, and what stands before each key in it */
static const char *allocatorList(const allocatorKnownStruct *known, const char **prefixReturn)
{
  *prefixReturn = known->kind == ReplayLIBC ? "glibc.malloc." : "";
  return known->kind == ReplayLIBC ? "GLIBC_TUNABLES" : known->variable;
}

static void allocatorAdd(void *data, const char *key, const char *value)
{
  allocatorSetting setting = data;
  const allocatorKnownStruct *known = setting->known;
  const char *variable = known != NULL && known->kind == ReplayLIBC ? allocatorTunable(key) : NULL, *prefix;
  Bool listed = known != NULL && (known->manner == allocatorLISTED || (known->kind == ReplayLIBC && variable == NULL));
  char *begin = setting->text.next;

  if (listed != setting->listed)
    return;
  if (!listed) {
    allocatorVariable(&setting->text, known, variable != NULL ? variable : key, value);
    allocatorEnd(setting, begin);
    return;
  }
  if (setting->inList++ == 0)
    TextFormat(&setting->text, "%s=", allocatorList(known, &prefix));
  else
    TextChar(&setting->text, known->kind == ReplayLIBC ? ':' : ',');
  (void)allocatorList(known, &prefix);
  TextFormat(&setting->text, "%s%s%c%s", prefix, key, known->kind == ReplayLIBRARY ? ':' : '=', value);
}

/* allocatorPass -- add the settings that have a variable each, or those that share one */
static Res allocatorPass(allocatorSetting setting, const char *settings, Bool listed, char *error)
{
  char copy[AllocatorRoomSIZE], *begin = setting->text.next;
  Res res;

  setting->listed = listed;
  snprintf(copy, sizeof copy, "%s", settings);
  res = allocatorPairs(copy, allocatorAdd, setting, error);
  if (setting->inList > 0)
    allocatorEnd(setting, begin);
  return res;
}

/* allocatorPools -- have our pools such parameters? */
static Res allocatorPools(const AllocatorStruct *allocator, char *error)
{
  const char *settings = strchr(allocator->setting[0], '=') + 1;
  char wrong[64];

  if (PoolSettingsCheck(wrong, sizeof wrong, settings, FALSE) == ResOK)
    return ResOK;
  snprintf(error, AllocatorErrorSIZE, "%.60s: '%s' is no setting of our pools, which are CLASS.PARAMETER=NUMBER: "
           "Arena.spare, SGF.emptySlabs, MVFF.extendBy, MVFF.spare, MFS.extendBy", allocator->name, wrong);
  return ResPARAM;
}

/* allocatorIsTunable -- is it the name of one of libc's tunables? */
static Bool allocatorIsTunable(const char *key)
{
  Index i = 0;

  while (i < ARRAY_LENGTH(allocatorTunables) && strcmp(allocatorTunables[i], key) != 0)
    ++i;
  return i < ARRAY_LENGTH(allocatorTunables);
}

/* allocatorNames -- has libc settings of these names?  It ignores what it does not know. */
static Res allocatorNames(const AllocatorStruct *allocator, const char *settings, char *error)
{
  char copy[AllocatorRoomSIZE], *rest = copy, *key;

  snprintf(copy, sizeof copy, "%s", settings);
  while ((key = strsep(&rest, ":")) != NULL) {
    char *value = strchr(key, '=');
    if (value != NULL)
      *value = '\0';
    else
      (void)strsep(&rest, ":");
    if (allocatorTunable(key) != NULL || allocatorIsTunable(key))
      continue;
    snprintf(error, AllocatorErrorSIZE, "%.60s: '%.60s' is no setting of libc: M_ARENA_MAX, M_ARENA_TEST, M_MMAP_MAX, "
             "M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, or a tunable of malloc, as tcache_count", allocator->name,
             key);
    return ResPARAM;
  }
  return ResOK;
}

/* allocatorSettings -- make variables of the settings */
static Res allocatorSettings(Allocator allocator, const allocatorKnownStruct *known, const char *settings, char *error)
{
  allocatorSettingStruct setting = {.allocator = allocator, .known = known};
  Res res;

  if (known != NULL && known->kind == ReplayNONE) {
    snprintf(error, AllocatorErrorSIZE, "%s has no settings", known->name);
    return ResPARAM;
  }
  TextInit(&setting.text, allocator->room, sizeof allocator->room);
  setting.text.overflow = strlen(settings) >= AllocatorRoomSIZE;
  res = allocatorPass(&setting, settings, FALSE, error);
  if (res == ResOK)
    res = allocatorPass(&setting, settings, TRUE, error);
  if (res == ResOK && setting.text.overflow) {
    snprintf(error, AllocatorErrorSIZE, "%.60s...: more settings than %d, or too long", allocator->name,
             (int)AllocatorSettingsMAX);
    return ResPARAM;
  }
  if (res != ResOK || known == NULL)
    return res;
  return known->kind == ReplayPAWPRINT ? allocatorPools(allocator, error)
         : known->kind == ReplayLIBC   ? allocatorNames(allocator, settings, error)
                                       : ResOK;
}

Res AllocatorParse(Allocator allocatorReturn, const char *name, char *error)
{
  const allocatorKnownStruct *known = NULL;
  const char *settings = strchr(name, ':');
  Size length = settings != NULL ? (Size)(settings - name) : strlen(name);
  char path[PATH_MAX];
  Index i;
  Res res;

  *allocatorReturn = (AllocatorStruct){.name = name, .kind = ReplayLIBRARY};
  for (i = 0; i < ARRAY_LENGTH(allocatorKnown); ++i)
    if (strlen(allocatorKnown[i].name) == length && strncmp(name, allocatorKnown[i].name, length) == 0)
      known = &allocatorKnown[i];
  if (known != NULL)
    allocatorReturn->kind = known->kind;
  if (snprintf(path, sizeof path, "%.*s", (int)(length < sizeof path ? length : sizeof path), name) >=
      (int)sizeof path) {
    snprintf(error, AllocatorErrorSIZE, "%.60s...: the path is too long", name);
    return ResPARAM;
  }
  res = allocatorReturn->kind != ReplayLIBRARY ? ResOK
        : known != NULL                        ? allocatorFind(allocatorReturn, known, error)
                                               : allocatorPath(allocatorReturn, path, error);
  if (res == ResOK && settings != NULL)
    res = allocatorSettings(allocatorReturn, known, settings + 1, error);
  AVER(res != ResOK || AllocatorCheck(allocatorReturn));
  return res;
}

Bool AllocatorSame(const AllocatorStruct *this, const AllocatorStruct *that)
{
  Bool same = this->kind == that->kind && strcmp(this->library, that->library) == 0 && this->settings == that->settings;
  Index i;

  for (i = 0; same && i < this->settings; ++i)
    same = strcmp(this->setting[i], that->setting[i]) == 0;
  return same;
}

const char *AllocatorOf(const char *file)
{
  const allocatorKnownStruct *known;
  Index i;

  for (known = allocatorKnown; known < allocatorKnown + ARRAY_LENGTH(allocatorKnown); ++known)
    for (i = 0; i < ARRAY_LENGTH(known->library) && known->library[i] != NULL; ++i)
      if (strcmp(known->library[i], file) == 0)
        return known->name;
  return NULL;
}

Bool AllocatorVariable(char variable[AllocatorVariableSIZE], const AllocatorStruct *allocator, Index i)
{
  static const char *const pawprint[] = {"LD_PRELOAD=libpawprint.so", "PAWPRINT_MODE=manage"};
  Bool loads = allocator->kind == ReplayLIBRARY;
  Count ours = allocator->kind == ReplayPAWPRINT ? ARRAY_LENGTH(pawprint) : 0; /* before the settings */
  const char *setting = NULL;

  if (loads && i == 0) {
    snprintf(variable, AllocatorVariableSIZE, "LD_PRELOAD=%s", allocator->library);
    return TRUE;
  }
  i -= loads;
  if (i < ours)
    setting = pawprint[i];
  else if ((i -= ours) < allocator->settings)
    setting = allocator->setting[i];
  if (setting != NULL)
    snprintf(variable, AllocatorVariableSIZE, "%s", setting);
  return setting != NULL;
}

Bool AllocatorCheck(const AllocatorStruct *allocator)
{
  Index i;

  if (allocator->name == NULL || allocator->kind > ReplayLIBRARY || allocator->settings > AllocatorSettingsMAX ||
      (allocator->kind == ReplayLIBRARY) != (allocator->library[0] == '/'))
    return FALSE;
  for (i = 0; i < allocator->settings; ++i)
    if (allocator->setting[i] < allocator->room ||
        allocator->setting[i] >= allocator->room + sizeof allocator->room ||
        strchr(allocator->setting[i], '=') == NULL)
      return FALSE;
  return TRUE;
}
