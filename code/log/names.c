/* names.c -- event types chosen by their names
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "log/near.h"

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

/* namesEach -- call `each` for the types of each registry once, until it returns TRUE */
static Bool namesEach(Log log, Bool (*each)(void *data, EventType type), void *data)
{
  Registry last = NULL;
  Index i, t;

  for (i = 0; i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; registry != last && t < registry->count; ++t)
      if (each(data, &registry->types[t]))
        return TRUE;
    last = registry;
  }
  return FALSE;
}

typedef struct namesWordStruct {
  const char *name;
  Size length;
} namesWordStruct;

static Bool namesIs(void *data, EventType type)
{
  const namesWordStruct *word = data;

  return type->nameLength == word->length && memcmp(type->name, word->name, word->length) == 0;
}

static Bool namesOffer(void *near, EventType type)
{
  NearOffer(near, type->name, type->nameLength);
  return FALSE;
}

Res LogNamesMake(LogNames *namesReturn, Log log, const char *list, char *error, Size size)
{
  const char *next = list + strspn(list, namesSEPARATORS);
  LogNames names;
  TextStruct text;
  NearStruct near;

  if (*next == '\0') {
    (void)snprintf(error, size, "no event is named");
    return ResPARAM;
  }
  while (*next != '\0') {
    namesWordStruct word = {next, strcspn(next, namesSEPARATORS)};
    if (!namesEach(log, namesIs, &word)) {
      TextInit(&text, error, size);
      TextString(&text, "no event is called '");
      TextBytes(&text, word.name, word.length);
      TextChar(&text, '\'');
      NearInit(&near, word.name, word.length);
      (void)namesEach(log, namesOffer, &near);
      NearTell(&near, &text);
      (void)TextTerminate(&text);
      return ResPARAM;
    }
    next += word.length;
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
