/* repeattest.c -- findings that repeat themselves
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/repeat.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static RepeatStruct repeat;
static uint64_t more;
static unsigned kinds;
static char said[RepeatTEXT];

static void repeatMore(void *data, uint64_t count, const char *like)
{
  UNUSED(data);
  more += count;
  ++kinds;
  strcpy(said, like);
}

int main(void)
{
  char line[300];
  unsigned i, told = 0;

  for (i = 0; i < 100; ++i) {
    snprintf(line, sizeof line, "%u block%s of thread 17/%u with code 0x%04x missing", i,
             i == 1 ? "" : "s", 20 + i, i * 37);
    told += RepeatFirst(&repeat, line);
  }
  TapIs(told, RepeatTOLD + 1, "what differs in numbers is told a few times, and the singular");
  TapOk(RepeatFirst(&repeat, "another finding"), "another finding is told");
  RepeatRest(&repeat, repeatMore, NULL);
  TapOk(kinds == 1 && more == 99 - RepeatTOLD, "the others are counted");
  TapOk(strcmp(said, "N blocks of thread N/N with code N missing") == 0, "with what they say");
  more = kinds = 0;
  RepeatRest(&repeat, repeatMore, NULL);
  TapIs(kinds, 0, "once");
  for (i = told = 0; i < 10000; ++i) { /* names that a log makes up */
    snprintf(line, sizeof line, "event %c%c%c%c", 'a' + (int)i % 10, 'a' + (int)i / 10 % 10, 'a' + (int)i / 100 % 10,
             'a' + (int)i / 1000);
    told += RepeatFirst(&repeat, line);
  }
  TapIs(told, RepeatKINDS - 1 + RepeatTOLD, "kinds are bounded, too");
  RepeatRest(&repeat, repeatMore, NULL);
  TapIs(more, 10000 - told, "and all are counted");
  memset(line, '7', sizeof line - 1);
  line[sizeof line - 1] = '\0';
  memset(line, 'y', 250);
  TapOk(RepeatFirst(&repeat, line), "a long one");
  return TapDone();
}
