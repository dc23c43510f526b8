/* repeattest.c -- findings that repeat themselves
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/repeat.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static RepeatStruct repeat;

/* said -- what RepeatSay says, of standard error; how many findings more it counts */
static unsigned long long said(char text[RepeatKINDS * RepeatTEXT])
{
  unsigned long long more = 0, sum = 0;
  char *line = text;
  Size length;

  rewind(stderr);
  RepeatSay(&repeat, "tool");
  fflush(stderr);
  rewind(stderr);
  length = fread(text, 1, RepeatKINDS * RepeatTEXT - 1, stderr);
  text[length] = '\0';
  (void)!ftruncate(fileno(stderr), 0);
  for (; line != NULL && *line != '\0'; line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL)
    sum += sscanf(line, "tool: ... and %llu more of these", &more) == 1 ? more : 0;
  return sum;
}

static void testCheck(void)
{
  memset(&repeat, 0, sizeof repeat);
  TapOk(RepeatCheck(&repeat), "nothing is sound");
  (void)RepeatFirst(&repeat, "a finding");
  PLANT(repeat.kinds, 0, RepeatCheck(&repeat), "that a kind was counted which is not there");
  PLANT(repeat.kinds, 2, RepeatCheck(&repeat), "that a kind is there which was not counted");
  PLANT(repeat.kinds, RepeatKINDS + 1, RepeatCheck(&repeat), "that there are more kinds than places");
  memset(repeat.kind[0].like, 'x', RepeatTEXT);
  TapOk(!RepeatCheck(&repeat), "and each is a string");
}

int main(void)
{
  static char text[RepeatKINDS * RepeatTEXT];
  char line[300];
  unsigned i, told = 0;

  if ((stderr = tmpfile()) == NULL)
    return 1;
  for (i = 0; i < 100; ++i) {
    snprintf(line, sizeof line, "%u block%s of thread 17/%u with code 0x%04x missing", i,
             i == 1 ? "" : "s", 20 + i, i * 37);
    told += RepeatFirst(&repeat, line);
  }
  TapIs(told, RepeatTOLD + 1, "what differs in numbers is told a few times, and the singular");
  TapOk(RepeatFirst(&repeat, "another finding"), "another finding is told");
  TapIs(said(text), 99 - RepeatTOLD, "the others are counted");
  TapOk(strcmp(text, "tool: ... and 91 more of these: N blocks of thread N/N with code N missing\n") == 0,
        "with what they say");
  TapIs(said(text), 0, "once");
  for (i = told = 0; i < 10000; ++i) { /* names that a log makes up */
    snprintf(line, sizeof line, "event %c%c%c%c", 'a' + (int)i % 10, 'a' + (int)i / 10 % 10, 'a' + (int)i / 100 % 10,
             'a' + (int)i / 1000);
    told += RepeatFirst(&repeat, line);
  }
  TapIs(told, RepeatKINDS - 1 + RepeatTOLD, "kinds are bounded, too");
  TapIs(said(text), 10000 - told, "and all are counted");
  memset(line, '7', sizeof line - 1);
  line[sizeof line - 1] = '\0';
  memset(line, 'y', 250);
  TapOk(RepeatFirst(&repeat, line), "a long one");
  testCheck();
  return TapDone();
}
