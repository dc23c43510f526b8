/* repeat.c -- a finding that comes again and again is printed a few times, and then only counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/repeat.h"

#include <ctype.h>
#include <string.h>

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

Bool RepeatFirst(Repeat repeat, const char *what)
{
  char like[RepeatTEXT];
  RepeatKind kind;
  Index i;

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

void RepeatRest(Repeat repeat, void (*more)(void *data, uint64_t count, const char *like), void *data)
{
  Index i;

  for (i = 0; i < repeat->kinds; ++i)
    if (repeat->kind[i].count > RepeatTOLD)
      more(data, repeat->kind[i].count - RepeatTOLD, repeat->kind[i].like);
  repeat->kinds = 0;
  memset(repeat->kind, 0, sizeof repeat->kind);
}

static void repeatSay(void *data, uint64_t count, const char *like)
{
  SayLine(stderr, "%s: ... and %llu more of these: %s", (const char *)data, (unsigned long long)count, like);
}

void RepeatSay(Repeat repeat, const char *tool)
{
  RepeatRest(repeat, repeatSay, (void *)(uintptr_t)tool);
}
