/* repeat.c -- prints a finding that is repeated a few times, and then only counts it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/repeat.h"

#include <ctype.h>
#include <string.h>

#include "base/aver.h"
#include "base/say.h"

/* repeatLike -- a finding without its numbers */
static void repeatLike(char like[RepeatTEXT], const char *what)
{
  Size length = 0;
  Bool word = FALSE; /* a letter or a digit stands before */

  while (*what != '\0' && length + 1 < RepeatTEXT) {
    Bool number = !word && isdigit((unsigned char)*what);
    if (number) {
      like[length++] = 'N';
      while (isxdigit((unsigned char)*what) || *what == 'x' || *what == '.')
        ++what;
    } else {
      word = isalnum((unsigned char)*what) != 0;
      like[length++] = *what++;
    }
  }
  like[length] = '\0';
}

Bool RepeatCheck(Repeat repeat)
{
  Index i;

  for (i = 0; i < RepeatKINDS; ++i)
    if ((i < repeat->kinds) != (repeat->kind[i].count > 0) || memchr(repeat->kind[i].like, '\0', RepeatTEXT) == NULL)
      return FALSE;
  return repeat->kinds <= RepeatKINDS;
}

Bool RepeatFirst(Repeat repeat, const char *what)
{
  char like[RepeatTEXT];
  RepeatKind kind;
  Index i;

  AVER(RepeatCheck(repeat));
  repeatLike(like, what);
  for (i = 0; i < repeat->kinds && strcmp(repeat->kind[i].like, like) != 0; ++i)
    ;
  if (i == RepeatKINDS)
    i = RepeatKINDS - 1;
  kind = &repeat->kind[i];
  if (i == repeat->kinds) {
    ++repeat->kinds;
    strcpy(kind->like, i == RepeatKINDS - 1 ? "other findings" : like);
  }
  return kind->count++ < RepeatTOLD;
}

void RepeatSay(Repeat repeat, const char *tool)
{
  Index i;

  for (i = 0; i < repeat->kinds; ++i)
    if (repeat->kind[i].count > RepeatTOLD)
      SayLine(stderr, "%s: ... and %llu more of these: %s", tool,
              (unsigned long long)(repeat->kind[i].count - RepeatTOLD), repeat->kind[i].like);
  memset(repeat, 0, sizeof *repeat);
}
