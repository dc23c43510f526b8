/* eventchoice.c -- the choice of single event types, by name, before anything is recorded
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/eventchoice.h"

#include <string.h>

#include "base/names.h"

enum {
#define KIND(name, value, doc) chooseKind##name = value,
#include "eventdef.h"
};
#undef KIND

static const struct {
  const char *name;
  uint16_t code;
  uint8_t kind;
} chooseTypes[] = {
#define RELATION(name, code, always, kind, format) {#name, code, chooseKind##kind},
#include "eventdef.h"
};

/* chooseNear -- the names that are most like a word, the best first */
static void chooseNear(Text error, const char *word, Size length)
{
  unsigned distance, told = 0;
  Index i;

  for (distance = 0; distance < NamesLengthMAX && told < NamesNearMAX; ++distance)
    for (i = 0; i < ARRAY_LENGTH(chooseTypes) && told < NamesNearMAX; ++i)
      if (NamesDistance(word, length, chooseTypes[i].name) == distance) {
        TextString(error, told++ == 0 ? "; near it are " : ", ");
        TextString(error, chooseTypes[i].name);
      }
}

/* chooseOne -- the type of this name */
static Res chooseOne(uint8_t *codes, uint32_t *kinds, const char *word, Size length, Text error)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(chooseTypes); ++i)
    if (strlen(chooseTypes[i].name) == length && memcmp(chooseTypes[i].name, word, length) == 0) {
      codes[chooseTypes[i].code / 8] |= (uint8_t)(1u << chooseTypes[i].code % 8);
      *kinds |= (uint32_t)1 << chooseTypes[i].kind;
      return ResOK;
    }
  TextString(error, "no event is called '");
  TextBytes(error, word, length);
  TextChar(error, '\'');
  chooseNear(error, word, length);
  return ResPARAM;
}

Res ChooseEvents(uint8_t *codes, uint32_t *kinds, const char *list, Text error)
{
  Res res = ResOK;

  memset(codes, 0, ChooseSIZE);
  *kinds = 0;
  while (res == ResOK && *list != '\0') {
    Size length;
    list += strspn(list, " ,");
    length = strcspn(list, " ,");
    if (length > 0)
      res = chooseOne(codes, kinds, list, length, error);
    list += length;
  }
  if (res == ResOK && *kinds == 0) {
    TextString(error, "no event is named");
    res = ResPARAM;
  }
  return res;
}

void ChooseSay(char *room, Size size, const uint8_t *codes)
{
  static const char others[] = " and 65536 others";
  TextStruct text;
  Count left = 0;
  Index i;

  TextInit(&text, room, size);
  for (i = 0; i < ARRAY_LENGTH(chooseTypes); ++i) {
    uint16_t code = chooseTypes[i].code;
    if ((codes[code / 8] >> code % 8 & 1) == 0)
      continue;
    if (left > 0 || TextLength(&text) + sizeof ", " + strlen(chooseTypes[i].name) + sizeof others > size) {
      ++left;
      continue;
    }
    TextString(&text, TextLength(&text) > 0 ? ", " : "");
    TextString(&text, chooseTypes[i].name);
  }
  if (left > 0) {
    TextString(&text, " and ");
    TextDecimal(&text, left);
    TextString(&text, left == 1 ? " other" : " others");
  }
  (void)TextTerminate(&text);
}
