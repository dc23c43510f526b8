/* eventchoice.c -- eventrec -E: the list of event types to record, from names to a set of codes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/eventchoice.h"

#include <string.h>

#include "base/aver.h"
#include "log/typenames.h"

enum {
#define KIND(name, value, doc) choiceKind##name = value,
#include "eventdef.h"
};
#undef KIND

static const struct {
  const char *name;
  uint16_t code;
  uint8_t kind;
} choiceTypes[] = {
#define RELATION(name, code, always, kind, format) {#name, code, choiceKind##kind},
#include "eventdef.h"
};

void EventChoiceAdd(uint8_t *codes, Index code)
{
  AVER(code / 8 < EventChoiceSIZE);
  codes[code / 8] |= (uint8_t)(1u << code % 8);
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
    if ((codes[code / 8] >> code % 8 & 1) == 0)
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
