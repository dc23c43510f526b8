/* recordingrange.c -- what eventrec says at the end if `--range NAME` names a module that the log does not have
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A module is put into the log when the first caller in it is recorded.  So if the log has no module of that name, no
 * caller was recorded, and the name is probably wrong: the names that the log has are shown.
 */
#include "collect/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "log/log.h"

enum {
  rangeNAMES = 64,   /* modules whose names are kept; two files of one name count once */
  rangeSHOWN = 6,    /* of which so many are named */
  rangeNAMEMAX = 128
};

typedef struct rangeStruct {
  const char *wanted;
  Bool found;
  Count count, more; /* names that are kept; and that there was no room for */
  char name[rangeNAMES][rangeNAMEMAX];
} rangeStruct, *Range;

/* rangeAddresses -- is it LO-HI? */
static Bool rangeAddresses(uint64_t *low, uint64_t *high, const char *range)
{
  char *end;

  *low = strtoull(range, &end, 16);
  if (end == range || *end != '-')
    return FALSE;
  range = end + 1;
  *high = strtoull(range, &end, 16);
  return end != range && *end == '\0';
}

Bool RecordingRangeEmpty(const char *range)
{
  uint64_t low, high;

  return rangeAddresses(&low, &high, range) && low >= high;
}

static int rangeChoose(void *data, LogProcess process, EventType type)
{
  static const char name[] = "ModuleLoad";

  UNUSED(data);
  UNUSED(process);
  return type->nameLength == sizeof name - 1 && memcmp(type->name, name, sizeof name - 1) == 0 && type->params > 0 &&
         type->letter[type->params - 1] == 'S';
}

static int rangeEvent(PawRequest *request, LogEvent event)
{
  Range range = request->data;
  char path[PATH_MAX];
  const char *name;
  Size length;
  const char *string = LogEventString(event, event->type->params - 1, &length);
  Index i;

  (void)snprintf(path, sizeof path, "%.*s", (int)(length < sizeof path ? length : sizeof path - 1), string);
  name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
  range->found |= ElfNamed(name, range->wanted);
  if (strncmp(name, "libpawprint.so", strlen("libpawprint.so")) == 0)
    return range->found;
  for (i = 0; i < range->count && strncmp(range->name[i], name, rangeNAMEMAX - 1) != 0; ++i)
    continue;
  if (i == rangeNAMES)
    ++range->more;
  else if (i == range->count)
    (void)snprintf(range->name[range->count++], rangeNAMEMAX, "%.*s", rangeNAMEMAX - 1, name);
  return range->found;
}

/* rangeNear -- does a name have the wanted one's beginning in it, or the other way round?  `lib' and what follows a dot
 * do not count. */
static Bool rangeNear(const char *name, const char *wanted)
{
  char a[rangeNAMEMAX], b[rangeNAMEMAX];

  (void)snprintf(a, sizeof a, "%s", strncmp(name, "lib", 3) == 0 ? name + 3 : name);
  (void)snprintf(b, sizeof b, "%s", strncmp(wanted, "lib", 3) == 0 ? wanted + 3 : wanted);
  a[strcspn(a, ".")] = b[strcspn(b, ".")] = '\0';
  return a[0] != '\0' && b[0] != '\0' && (strcasestr(a, b) != NULL || strcasestr(b, a) != NULL);
}

/* rangeSay -- the modules that there are, those with like names first */
static void rangeSay(char *line, Size size, Range range)
{
  char names[rangeSHOWN * (rangeNAMEMAX + 2)] = "", more[48] = "";
  Count shown = 0, all = range->count + range->more;
  Size used = 0;
  unsigned near;
  Index i;

  for (near = 2; near-- > 0;)
    for (i = 0; i < range->count && shown < rangeSHOWN; ++i)
      if (rangeNear(range->name[i], range->wanted) == (Bool)near) {
        used += (Size)snprintf(names + used, sizeof names - used, "%s%s", shown == 0 ? "" : ", ", range->name[i]);
        ++shown;
      }
  if (all > shown)
    (void)snprintf(more, sizeof more, " and %zu more", all - shown);
  (void)snprintf(line, size, "--range %s: no caller was recorded, because none was met in a module of this name; the log "
                 "has %s%s", range->wanted, names, more);
}

Bool RecordingRange(char *line, Size size, const char *wanted, Log log)
{
  PawRequest request = {.size = sizeof request, .to = UINT64_MAX, .count = UINT64_MAX, .kinds = UINT32_MAX,
                        .choose = rangeChoose, .event = rangeEvent};
  uint64_t low, high;
  Range range;
  Bool lacks;

  if (wanted == NULL || rangeAddresses(&low, &high, wanted) || (range = calloc(1, sizeof *range)) == NULL)
    return FALSE;
  range->wanted = wanted;
  request.data = range;
  lacks = PawRead(log, &request) == (int)ResOK && !range->found && range->count > 0;
  if (lacks)
    rangeSay(line, size, range);
  free(range);
  return lacks;
}
