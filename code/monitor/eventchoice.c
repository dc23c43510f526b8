/* eventchoice.c -- eventrec -E: the list of event types to record, from names to a set of codes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/eventchoice.h"

#include <string.h>

#include "base/aver.h"
#include "format/block.h"
#include "log/typenames.h"

#include "eventgen.h"

static const struct {
  const char *name;
  uint16_t code;
  uint8_t kind;
} choiceTypes[] = {
#define RELATION(name, code, always, kind, format) {#name, code, Event##name##KIND},
#include "eventdef.h"
};

/* What parameters refer to: the types that say what these are.  Events of them are few, and are sent with any other. */
static const struct {
  const char *name;
  uint16_t code;
} choiceParameters[] = {
#define PARAM(event, index, letter, parameter, doc) {#parameter, Event##event##CODE},
#include "eventdef.h"
};

static const struct {
  const char *parameter;
  uint16_t code;
} choiceDefinitions[] = {
  {"stack", EventStackFrameCODE}, {"stack", EventModuleLoadCODE}, {"stack", EventModuleBuildCODE},
  {"stack", EventModuleUnloadCODE}, {"site", EventModuleLoadCODE}, {"site", EventModuleBuildCODE},
  {"site", EventModuleUnloadCODE}, {"start", EventModuleLoadCODE}, {"start", EventModuleBuildCODE},
  {"start", EventModuleUnloadCODE}
};

void EventChoiceAdd(uint8_t *codes, Index code)
{
  AVER(code / 8 < EventChoiceSIZE);
  codes[code / 8] |= (uint8_t)(1u << code % 8);
}

/* choiceWith -- add what explains the parameters of a type */
static void choiceWith(uint8_t *codes, uint16_t code)
{
  Index i, k;

  for (i = 0; i < ARRAY_LENGTH(choiceParameters); ++i)
    for (k = 0; choiceParameters[i].code == code && k < ARRAY_LENGTH(choiceDefinitions); ++k)
      if (strcmp(choiceParameters[i].name, choiceDefinitions[k].parameter) == 0)
        EventChoiceAdd(codes, choiceDefinitions[k].code);
}

/* choiceOne -- the type of this name */
static Res choiceOne(uint8_t *codes, uint32_t *kinds, const char *word, Size length, Text error)
{
  SuggestStruct near;
  Index i;

  SuggestInit(&near, word, length);
  for (i = 0; i < ARRAY_LENGTH(choiceTypes); ++i) {
    const char *name = choiceTypes[i].name;
    if (strlen(name) == length && memcmp(name, word, length) == 0) {
      EventChoiceAdd(codes, choiceTypes[i].code);
      choiceWith(codes, choiceTypes[i].code);
      *kinds |= (uint32_t)1 << choiceTypes[i].kind;
      return ResOK;
    }
    SuggestOffer(&near, name, strlen(name));
  }
  TextFormat(error, "no event is called '%.*s'", (int)length, word);
  SuggestTell(&near, error);
  return ResPARAM;
}

Res EventChoiceParse(uint8_t *codes, uint32_t *kinds, const char *list, Text error)
{
  Res res = ResOK;

  memset(codes, 0, EventChoiceSIZE);
  *kinds = 0;
  while (res == ResOK && *list != '\0') {
    Size length;
    list += strspn(list, " ,");
    length = strcspn(list, " ,");
    if (length > 0)
      res = choiceOne(codes, kinds, list, length, error);
    list += length;
  }
  if (res == ResOK && *kinds == 0) {
    TextString(error, "no event is named");
    res = ResPARAM;
  }
  return res;
}

/* choiceHas -- is this type in the set? */
static Bool choiceHas(const uint8_t *codes, uint16_t code)
{
  return codes[code / 8] >> code % 8 & 1;
}

/* choiceBase -- how long the name of a type is without what says that it has callers */
static Size choiceBase(const char *name)
{
  static const char *const ends[] = {"Site", "Stack"};
  Size length = strlen(name);
  Index i;

  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    if (length > strlen(ends[i]) && strcmp(name + length - strlen(ends[i]), ends[i]) == 0)
      return length - strlen(ends[i]);
  return length;
}

/* choiceKin -- add the type whose name is this one, and behind it `caller`, with what explains its parameters; FALSE:
 * there is none */
static Bool choiceKin(uint8_t *codes, const char *name, Size length, const char *caller)
{
  Index k;

  for (k = 0; k < ARRAY_LENGTH(choiceTypes); ++k)
    if (strncmp(choiceTypes[k].name, name, length) == 0 && strcmp(choiceTypes[k].name + length, caller) == 0) {
      EventChoiceAdd(codes, choiceTypes[k].code);
      choiceWith(codes, choiceTypes[k].code);
      return TRUE;
    }
  return FALSE;
}

void EventChoiceCallers(uint8_t *codes, const char *caller, Bool frees)
{
  uint8_t chosen[EventChoiceSIZE];
  Index i;

  memcpy(chosen, codes, sizeof chosen);
  for (i = 0; i < ARRAY_LENGTH(choiceTypes); ++i) {
    const char *name = choiceTypes[i].name;
    Bool free = choiceTypes[i].code == EventPoolFreeCODE || choiceTypes[i].code == EventPoolFreeStackCODE;
    if (choiceHas(chosen, choiceTypes[i].code) &&
        ((free && !frees) || !choiceKin(codes, name, choiceBase(name), caller)))
      (void)choiceKin(codes, name, choiceBase(name), "");
  }
}

void EventChoiceSay(char *room, Size size, const uint8_t *codes)
{
  static const char others[] = " and 65536 others";
  TextStruct text;
  Count left = 0;
  Index i;

  AVER(size > sizeof others);
  TextInit(&text, room, size);
  for (i = 0; i < ARRAY_LENGTH(choiceTypes); ++i) {
    uint16_t code = choiceTypes[i].code;
    if (!choiceHas(codes, code))
      continue;
    if (left > 0 || TextLength(&text) + sizeof ", " + strlen(choiceTypes[i].name) + sizeof others > size) {
      ++left;
      continue;
    }
    TextFormat(&text, "%s%s", TextLength(&text) > 0 ? ", " : "", choiceTypes[i].name);
  }
  if (left > 0)
    TextFormat(&text, " and %zu other%s", left, TextPlural(left));
  (void)TextTerminate(&text);
}
