/* typenames.c -- event types by name, and suggestions for names that are misspelt
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/typenames.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/names.h"
#include "base/names.h"

#define namesSEPARATORS " ,"

enum { kindsBITS = 32 }; /* of a mask of kinds */

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

uint32_t LogKindsOf(Log log, Bool (*wants)(void *data, LogProcess process, EventType type), void *data)
{
  uint32_t kinds = 0;
  Index i, t;

  for (i = 0; i < LogProcesses(log); ++i) {
    LogProcess process = LogProcessAt(log, i);
    for (t = 0; t < process->registry->count; ++t)
      if (wants(data, process, &process->registry->types[t]))
        kinds |= (uint32_t)1 << process->registry->types[t].kind;
  }
  return kinds;
}

/* namesIs -- is it the type that is looked for?  What is not may be near. */
static Bool namesIs(void *data, Registry registry, EventType type)
{
  Suggest near = data;

  UNUSED(registry);
  SuggestOffer(near, type->name, type->nameLength);
  return type->nameLength == near->length && memcmp(type->name, near->word, near->length) == 0;
}

Res LogNamesKnown(Log log, const char *list, char *error, Size size)
{
  const char *next = list + strspn(list, namesSEPARATORS);
  SuggestStruct near;

  if (*next == '\0') {
    (void)snprintf(error, size, "no event is named");
    return ResPARAM;
  }
  for (; *next != '\0'; next += near.length, next += strspn(next, namesSEPARATORS)) {
    SuggestInit(&near, next, strcspn(next, namesSEPARATORS));
    if (!LogTypesEach(log, namesIs, &near))
      return SuggestFail(&near, "event", "", error, size);
  }
  return ResOK;
}

Bool LogNamesHas(const char *list, EventType type)
{
  Size length;

  for (; *list != '\0'; list += length, list += strspn(list, namesSEPARATORS)) {
    length = strcspn(list, namesSEPARATORS);
    if (length == type->nameLength && memcmp(list, type->name, length) == 0)
      return TRUE;
  }
  return FALSE;
}

/* ---- Names that are near ---- */

void SuggestInit(Suggest near, const char *word, Size length)
{
  memset(near, 0, sizeof *near);
  near->word = word;
  near->length = length;
}

static Bool suggestHas(Suggest near, const char *name, Size length)
{
  Index i;

  for (i = 0; i < near->count; ++i)
    if (near->name[i].length == length && memcmp(near->name[i].name, name, length) == 0)
      return TRUE;
  return FALSE;
}

/* suggestDistance -- how far a word of `length` bytes is from a name of `n`, at most SuggestLengthMAX, bytes: how many
 * letters must be put in, left out or replaced to make one the other; case does not count.  SuggestLengthMAX: too long
 * to be compared. */
static unsigned suggestDistance(const char *word, Size length, const char *name, Size n)
{
  unsigned row[SuggestLengthMAX + 1], diagonal, above;
  Size i, k;

  if (length > SuggestLengthMAX)
    return SuggestLengthMAX;
  for (k = 0; k <= n; ++k)
    row[k] = (unsigned)k;
  for (i = 0; i < length; ++i) {
    diagonal = row[0];
    row[0] = (unsigned)i + 1;
    for (k = 0; k < n; ++k) {
      unsigned best = diagonal + (tolower((unsigned char)word[i]) != tolower((unsigned char)name[k]));
      above = row[k + 1];
      if (above + 1 < best)
        best = above + 1;
      if (row[k] + 1 < best)
        best = row[k] + 1;
      diagonal = above;
      row[k + 1] = best;
    }
  }
  return row[n];
}

void SuggestOffer(Suggest near, const char *name, Size length)
{
  unsigned distance;
  Index i;

  if (length == 0 || length > SuggestLengthMAX || suggestHas(near, name, length))
    return;
  distance = suggestDistance(near->word, near->length, name, length);
  if (near->count == SuggestMAX && distance >= near->name[SuggestMAX - 1].distance)
    return;
  if (near->count < SuggestMAX)
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

Res SuggestFail(Suggest near, const char *what, const char *also, char *error, Size size)
{
  TextStruct text;

  TextInit(&text, error, size);
  TextFormat(&text, "no %s is called '%.*s'%s", what, (int)near->length, near->word, also);
  SuggestTell(near, &text);
  (void)TextTerminate(&text);
  return ResPARAM;
}

/* ---- Kinds ---- */

/* kindsRow -- the names of a registry's kinds, behind the rows that there are, but for those that stand there
 * already */
static void kindsRow(const char **names, Count count, Registry registry)
{
  Index i, k;

  for (k = 0; k < registry->kinds; ++k) {
    for (i = k; i < count && (names[i] == NULL || strcmp(names[i], registry->kind[k]) != 0); i += kindsBITS)
      ;
    if (i >= count)
      names[count + k] = registry->kind[k];
  }
}

/* kindsNames -- *countReturn names, as NamesMask wants them, a row for each registry; the first row makes `all` mean
 * kinds, too, that no registry names.  The caller frees them; NULL: no memory. */
static const char **kindsNames(Log log, Count *countReturn)
{
  const char **names = calloc((LogProcesses(log) + 1) * kindsBITS, sizeof *names);
  Registry last = NULL;
  Index i;

  for (*countReturn = 0; names != NULL && *countReturn < kindsBITS; ++*countReturn)
    names[*countReturn] = "";
  for (i = 0; names != NULL && i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    if (registry == last)
      continue;
    kindsRow(names, *countReturn, registry);
    *countReturn += kindsBITS;
    last = registry;
  }
  return names;
}

Res LogKindMask(uint32_t *maskReturn, Log log, const char *list, char *error, Size size)
{
  uint32_t standard = list[0] == '+' || list[0] == '-' ? UINT32_MAX : 0;
  TextStruct text;
  Count count;
  const char **names = kindsNames(log, &count);
  Res res = ResMEMORY;

  TextInit(&text, error, size);
  if (names != NULL)
    res = NamesMask(maskReturn, list, names, count, standard, &text);
  if (res != ResOK)
    TextString(&text, res == ResMEMORY ? "no memory" : ", all and none");
  free(names);
  (void)TextTerminate(&text);
  return res;
}
