/* typenames.c -- event types by name, and suggestions for names that are misspelt
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/typenames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "request/traceset.h"

#define namesSEPARATORS " ,"

struct LogNamesStruct {
  char *list; /* owned; names and separators */
};

/* namesListHas -- is the name one of a list's? */
static Bool namesListHas(const char *list, const char *name, Size length)
{
  while (*list != '\0') {
    Size here = strcspn(list, namesSEPARATORS);
    if (here == length && memcmp(list, name, length) == 0)
      return TRUE;
    list += here;
    list += strspn(list, namesSEPARATORS);
  }
  return FALSE;
}

Bool LogTypesEach(Log log, LogTypesVisit visit, void *data)
{
  Registry last = NULL;
  Index i, t;

  for (i = 0; i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; registry != last && t < registry->count; ++t)
      if (visit(data, registry, &registry->types[t]))
        return TRUE;
    last = registry;
  }
  return FALSE;
}

/* namesIs -- is it the type that is looked for?  What is not may be near. */
static Bool namesIs(void *data, Registry registry, EventType type)
{
  Suggest near = data;

  UNUSED(registry);
  SuggestOffer(near, type->name, type->nameLength);
  return type->nameLength == near->length && memcmp(type->name, near->word, near->length) == 0;
}

Res LogNamesMake(LogNames *namesReturn, Log log, const char *list, char *error, Size size)
{
  const char *next = list + strspn(list, namesSEPARATORS);
  LogNames names;
  TextStruct text;
  SuggestStruct near;

  if (*next == '\0') {
    (void)snprintf(error, size, "no event is named");
    return ResPARAM;
  }
  while (*next != '\0') {
    SuggestInit(&near, next, strcspn(next, namesSEPARATORS));
    if (!LogTypesEach(log, namesIs, &near)) {
      TextInit(&text, error, size);
      TextString(&text, "no event is called '");
      TextBytes(&text, near.word, near.length);
      TextChar(&text, '\'');
      SuggestTell(&near, &text);
      (void)TextTerminate(&text);
      return ResPARAM;
    }
    next += near.length;
    next += strspn(next, namesSEPARATORS);
  }
  names = malloc(sizeof *names);
  if (names == NULL || (names->list = strdup(list)) == NULL) {
    free(names);
    (void)strncpy(error, "no memory", size - 1);
    return ResMEMORY;
  }
  *namesReturn = names;
  return ResOK;
}

void LogNamesFree(LogNames names)
{
  if (names != NULL)
    free(names->list);
  free(names);
}

Bool LogNamesHas(LogNames names, EventType type)
{
  return namesListHas(names->list, type->name, type->nameLength);
}

/* ---- Names that are near ---- */

void SuggestInit(Suggest near, const char *word, Size length)
{
  memset(near, 0, sizeof *near);
  near->word = word;
  near->length = length;
}

static Bool nearHas(Suggest near, const char *name, Size length)
{
  Index i;

  for (i = 0; i < near->count; ++i)
    if (near->name[i].length == length && memcmp(near->name[i].name, name, length) == 0)
      return TRUE;
  return FALSE;
}

void SuggestOffer(Suggest near, const char *name, Size length)
{
  char copy[NamesLengthMAX + 1];
  unsigned distance;
  Index i;

  if (length == 0 || length > NamesLengthMAX || nearHas(near, name, length))
    return;
  memcpy(copy, name, length);
  copy[length] = '\0';
  distance = NamesDistance(near->word, near->length, copy);
  if (near->count == NamesNearMAX && distance >= near->name[NamesNearMAX - 1].distance)
    return;
  if (near->count < NamesNearMAX)
    ++near->count;
  for (i = near->count - 1; i > 0 && near->name[i - 1].distance > distance; --i)
    near->name[i] = near->name[i - 1];
  near->name[i] = (SuggestNameStruct){name, length, distance};
}

void SuggestTell(Suggest near, Text text)
{
  Index i, k;

  for (i = 0; i < near->count; ++i) {
    TextString(text, i == 0 ? "; near it are " : ", ");
    for (k = 0; k < near->name[i].length; ++k) {
      unsigned char c = (unsigned char)near->name[i].name[k];
      TextChar(text, c > ' ' && c < 0x7f ? (char)c : '?');
    }
  }
}

/* ---- Kinds ---- */

/* kindsNamed -- the bits of the kind that is called `name` in any process */
static uint32_t kindsNamed(Log log, const char *name, Size length)
{
  uint32_t mask = 0;
  Index i, k;

  for (i = 0; i < log->table.processes; ++i) {
    Registry registry = log->table.process[i]->public.registry;
    for (k = 0; k < registry->kinds; ++k)
      if (strlen(registry->kind[k]) == length && length > 0 && memcmp(registry->kind[k], name, length) == 0)
        mask |= (uint32_t)1 << k;
  }
  return mask;
}

/* kindsList -- the names there are, each once */
static void kindsList(Text text, Log log)
{
  Index i, k;
  const char *separator = "";

  for (k = 0; k < EventKindMAX; ++k)
    for (i = 0; i < log->table.processes; ++i) {
      Registry registry = log->table.process[i]->public.registry;
      if (k < registry->kinds && registry->kind[k][0] != '\0') {
        TextString(text, separator);
        TextString(text, registry->kind[k]);
        separator = ", ";
        break;
      }
    }
}

static Res kindsUnknown(Log log, const char *name, Size length, char *error, Size size)
{
  TextStruct text;

  TextInit(&text, error, size);
  TextString(&text, "no kind is called '");
  TextBytes(&text, name, length);
  TextString(&text, "'; there are ");
  kindsList(&text, log);
  TextString(&text, ", all and none");
  (void)TextTerminate(&text);
  return ResPARAM;
}

static Bool kindsIs(const char *name, Size length, const char *word)
{
  return strlen(word) == length && memcmp(name, word, length) == 0;
}

Res LogKindMask(uint32_t *maskReturn, Log log, const char *list, char *error, Size size)
{
  uint32_t mask = list[0] == '+' || list[0] == '-' ? UINT32_MAX : 0;

  while (*list != '\0') {
    Size length = strcspn(list, ",");
    const char *name = list;
    Bool remove = *name == '-';
    Size nameLength = length;
    uint32_t bits;

    if (*name == '+' || *name == '-') {
      ++name;
      --nameLength;
    }
    if (kindsIs(name, nameLength, "all"))
      bits = UINT32_MAX;
    else if (kindsIs(name, nameLength, "none"))
      bits = 0;
    else if ((bits = kindsNamed(log, name, nameLength)) == 0)
      return kindsUnknown(log, name, nameLength, error, size);
    mask = remove ? mask & ~bits : mask | bits;
    list += length;
    list += *list == ',';
  }
  *maskReturn = mask;
  return ResOK;
}

uint32_t LogKindsThere(Log log)
{
  uint32_t mask = 0;
  Index i;

  for (i = 0; log->follow == NULL && i < log->table.streams; ++i)
    if (log->table.stream[i]->kind < 32)
      mask |= (uint32_t)1 << log->table.stream[i]->kind;
  return mask;
}
