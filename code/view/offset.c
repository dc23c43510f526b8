/* offset.c -- by how much the times of logs are shifted, as people write it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/offset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"

#define offsetSecondsMAX 9e9 /* what 64 bits of nanoseconds have, about 285 years */

/* offsetIs -- is `name`, `length` bytes, the path, or its last part? */
static Bool offsetIs(const char *path, Bool last, const char *name, Size length)
{
  const char *slash = last ? strrchr(path, '/') : NULL;

  if (slash != NULL)
    path = slash + 1;
  return strlen(path) == length && memcmp(path, name, length) == 0;
}

/* offsetFind -- which path has this name; n if none or several have */
static Index offsetFind(const char *const *paths, Count n, const char *name, Size length)
{
  Index i, last, found;

  for (last = FALSE; last <= TRUE; ++last) {
    Count count = 0;
    for (i = 0, found = n; i < n; ++i)
      if (offsetIs(paths[i], (Bool)last, name, length)) {
        found = i;
        ++count;
      }
    if (count == 1)
      return found;
  }
  return n;
}

/* offsetItem -- one item, terminated; FALSE: `error` says why */
static Bool offsetItem(int64_t *offsets, char *item, Index place, const char *const *paths, Count n, char *error,
                       Size size)
{
  char *equals = strrchr(item, '='), *seconds = equals != NULL ? equals + 1 : item;
  Index which = equals != NULL ? offsetFind(paths, n, item, (Size)(equals - item)) : place;
  double value;

  if (which >= n) {
    if (equals != NULL)
      (void)snprintf(error, size, "'%.*s' is none of the logs, or several", (int)(equals - item), item);
    else
      (void)snprintf(error, size, "'%s' is one more than there are logs", item);
    return FALSE;
  }
  if (OptionParseDouble(seconds, &value) != ResOK || value < -offsetSecondsMAX || value > offsetSecondsMAX) {
    (void)snprintf(error, size, "'%s' is no number of seconds", seconds);
    return FALSE;
  }
  offsets[which] = (int64_t)(value * 1e9 + (value < 0 ? -0.5 : 0.5));
  return TRUE;
}

int64_t *OffsetParse(const char *list, const char *const *paths, Count n, char *error, Size size)
{
  int64_t *offsets = calloc(n, sizeof *offsets);
  char *copy = strdup(list), *item = copy;
  Index place = 0;
  Bool good = offsets != NULL && copy != NULL;

  if (!good)
    (void)snprintf(error, size, "no memory");
  while (good && item != NULL) {
    char *comma = strchr(item, ',');
    if (comma != NULL)
      *comma++ = '\0';
    good = offsetItem(offsets, item, place++, paths, n, error, size);
    item = comma;
  }
  free(copy);
  if (good)
    return offsets;
  free(offsets);
  return NULL;
}
