/* names.c -- event types chosen by their names
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"

#define namesSEPARATORS " ,"
#define namesNEAR "; near it are "

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
  LogSummaryStruct summary;
  Registry last = NULL;
  Index i, t;

  LogSummarize(&summary, log);
  for (i = 0; i < summary.processes; ++i) {
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

/* What is told of names that are near a word: those that are at this distance, each once. */
typedef struct namesNearStruct {
  namesWordStruct word;
  unsigned distance, told;
  Size begin; /* of what is told, in the text */
  Text text;
} namesNearStruct;

static Bool namesTell(void *data, EventType type)
{
  namesNearStruct *near = data;
  char name[NamesLengthMAX + 1];

  if (type->nameLength > NamesLengthMAX)
    return FALSE;
  memcpy(name, type->name, type->nameLength);
  name[type->nameLength] = '\0';
  (void)TextTerminate(near->text);
  if (NamesDistance(near->word.name, near->word.length, name) != near->distance ||
      (near->told > 0 && namesListHas(near->text->base + near->begin, type->name, type->nameLength)))
    return FALSE;
  TextString(near->text, near->told == 0 ? namesNEAR : ", ");
  TextString(near->text, name);
  return ++near->told == NamesNearMAX;
}

/* namesNear -- append those that are most like the word, the best first */
static void namesNear(Log log, namesWordStruct word, Text text)
{
  namesNearStruct near = {.word = word, .begin = TextLength(text) + strlen(namesNEAR), .text = text};

  while (near.distance < NamesLengthMAX && !namesEach(log, namesTell, &near))
    ++near.distance;
}

Res LogNamesMake(LogNames *namesReturn, Log log, const char *list, char *error, Size size)
{
  const char *next = list + strspn(list, namesSEPARATORS);
  LogNames names;
  TextStruct text;

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
      namesNear(log, word, &text);
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
