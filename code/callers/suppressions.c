/* suppressions.c -- which leaks a report leaves out
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/suppressions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* suppressionPart -- the bytes of the pattern up to the next * or a $ that ends it */
static Size suppressionPart(const char *pattern)
{
  Size length = strcspn(pattern, "*$");

  while (pattern[length] == '$' && pattern[length + 1] != '\0')
    length += 1 + strcspn(pattern + length + 1, "*$");
  return length;
}

Bool SuppressionMatches(const char *pattern, const char *name, Size length)
{
  Bool bound = *pattern == '^'; /* the next part stands just here */

  pattern += bound;
  if (bound && strchr("*$", *pattern) == NULL && (length == 0 || *name != *pattern))
    return FALSE; /* as nearly always, where many patterns are tried */
  for (; *pattern != '\0'; bound = FALSE) {
    Size part = suppressionPart(pattern);
    const char *found;
    if (pattern[part] == '$') /* and it is the last one */
      return part <= length && (!bound || part == length) && memcmp(name + length - part, pattern, part) == 0;
    if (part == 0 || (bound && part <= length && memcmp(name, pattern, part) == 0))
      found = name;
    else
      found = bound ? NULL : memmem(name, length, pattern, part);
    if (found == NULL)
      return FALSE;
    length -= (Size)(found - name) + part;
    name = found + part;
    pattern += part;
    while (*pattern == '*')
      ++pattern;
  }
  return TRUE;
}

/* suppressionLine -- learn a line, whose end is cut off; ResFORMAT: it is none */
static Res suppressionLine(Suppressions suppressions, char *line)
{
  static const char type[] = "leak:";
  Size length;
  char *pattern;

  line += strspn(line, " \t");
  for (length = strlen(line); length > 0 && strchr(" \t\r", line[length - 1]) != NULL; --length)
    line[length - 1] = '\0';
  if (*line == '\0' || *line == '#')
    return ResOK;
  if (strncmp(line, type, sizeof type - 1) != 0 || line[sizeof type - 1] == '\0')
    return ResFORMAT;
  if (!Grow(&suppressions->pattern, &suppressions->capacity, suppressions->count, sizeof *suppressions->pattern) ||
      (pattern = strdup(line + sizeof type - 1)) == NULL)
    return ResMEMORY;
  suppressions->pattern[suppressions->count++] = pattern;
  return ResOK;
}

Res SuppressionsRead(Suppressions suppressions, const char *path, char *error, Size size)
{
  FILE *in = fopen(path, "re");
  char line[SuppressionMAX];
  Count lines = 0;
  Res res = ResOK;

  if (in == NULL) {
    (void)snprintf(error, size, "%s: %s", path, strerror(errno));
    return ResIO;
  }
  while (res == ResOK && fgets(line, sizeof line, in) != NULL) {
    Size length = strlen(line);
    ++lines;
    if (length > 0 && line[length - 1] == '\n')
      line[length - 1] = '\0';
    else if (!feof(in))
      line[0] = '!'; /* too long */
    res = suppressionLine(suppressions, line);
  }
  if (res == ResFORMAT)
    (void)snprintf(error, size, "%s: line %zu is not leak:PATTERN", path, lines);
  else if (res != ResOK)
    (void)snprintf(error, size, "no memory");
  else if (ferror(in)) {
    (void)snprintf(error, size, "%s: %s", path, strerror(errno));
    res = ResIO;
  }
  (void)fclose(in);
  return res;
}

void SuppressionsFinish(Suppressions suppressions)
{
  while (suppressions->count > 0)
    free(suppressions->pattern[--suppressions->count]);
  free(suppressions->pattern);
  *suppressions = (SuppressionsStruct){.count = 0};
}
