/* selfeventssee.h -- what a self tells, as lines of text: "ProcessStart pid=2 parent=1 name=sh"
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_TELLERSEE_H
#define TEST_TELLERSEE_H

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/registry.h"
#include "monitor/selfevents.h"

enum { seeTEXT = 4 << 20, seeTYPES = 512 };

static char *seeText;          /* all lines since SeeBegin */
static TextStruct seeLines;
static RegistryStruct seeRegistry;
static EventTypeStruct seeTypes[seeTYPES];

static void seeParam(const char *event, EventType type, Index i)
{
  uint64_t value = 0;

  TextChar(&seeLines, ' ');
  TextBytes(&seeLines, type->param[i], type->paramLength[i]);
  TextChar(&seeLines, '=');
  if (type->letter[i] == 'S') {
    TextString(&seeLines, event + type->offset[i]);
    return;
  }
  if (type->width[i] == 4)
    value = *(const uint32_t *)(const void *)(event + type->offset[i]);
  else
    memcpy(&value, event + type->offset[i], type->width[i]);
  if (type->width[i] == sizeof(Word) && (Word)value == (Word)-1)
    TextString(&seeLines, "unknown");
  else
    TextDecimal(&seeLines, value);
}

/* seeWrite -- a SelfEventsWrite; the self is raw */
static Res seeWrite(void *data, const void *message, Size size)
{
  const BlockHeaderStruct *block = message;
  const char *events = (const char *)message + BlockHeaderSIZE;
  Size at;
  Index i;

  UNUSED(data), UNUSED(size);
  if (memcmp(message, HeaderMAGIC, BlockMagicSIZE) == 0)
    return ResOK;
  for (at = 0; at < block->used;) {
    const EventHeaderStruct *event = (const void *)(events + at);
    EventType type = RegistryFind(&seeRegistry, event->code);
    at += EventSizeOfLength(event->length);
    if (type == NULL)
      continue;
    TextBytes(&seeLines, type->name, type->nameLength);
    for (i = 0; i < type->params; ++i)
      seeParam((const char *)event, type, i);
    TextChar(&seeLines, '\n');
  }
  return ResOK;
}

/* SeeTeller -- a self that is seen */
static inline SelfEvents SeeTeller(void)
{
  static const char text[] = EventRegistryTEXT;
  WidthsStruct widths = {sizeof(Word), FALSE};
  SelfEvents self = NULL;

  seeText = malloc(seeTEXT);
  TextInit(&seeLines, seeText, seeTEXT);
  RegistryInit(&seeRegistry, seeTypes, seeTYPES, widths);
  (void)RegistryText(&seeRegistry, text, sizeof text - 1);
  (void)SelfEventsCreate(&self, seeWrite, NULL, 0, TRUE, NULL);
  return self;
}

/* See -- all lines since the last See */
static inline const char *See(SelfEvents self)
{
  TextInit(&seeLines, seeText, seeTEXT);
  (void)SelfEventsFlush(self);
  return TextTerminate(&seeLines);
}

static inline void SeeFinish(SelfEvents self)
{
  SelfEventsDestroy(self);
  free(seeText);
}

#endif /* TEST_TELLERSEE_H */
