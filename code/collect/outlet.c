/* outlet.c -- the collector's way out when that is no file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/outlet.h"

#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "collect/control.h"

enum { outletWait = 2000 }; /* ms without any progress */

Bool OutletRequest(char *room, Size size, Plinth outlet)
{
  Size length;

  if (PlinthReceive(outlet, room, size - 1, &length) != ResOK)
    return FALSE;
  room[length] = '\0';
  return TRUE;
}

/* outletKinds -- the list is meant as the process names its kinds, against what it sends now */
static void outletKinds(Drain drain, Live live, const char *list)
{
  const char *names[EventKindMAX];
  char room[256];
  uint32_t mask;
  TextStruct error;
  Index i;

  if (drain->head.types == NULL)
    return;
  for (i = 0; i < EventKindMAX; ++i)
    names[i] = drain->head.types->registry.kind[i];
  TextInit(&error, room, sizeof room);
  if (NamesMask(&mask, list, names, EventKindMAX, LiveSent(live), "kind", &error) == ResOK)
    LiveSend(live, mask);
}

void OutletObey(Drain drain, const char *request)
{
  LiveStruct live = {.region = drain->header};

  if (drain->muted || drain->shut)
    return;
  if (strcmp(request, "flush") == 0)
    LiveAsk(&live, RegionAskFLUSH);
  else if (strncmp(request, "kinds ", 6) == 0)
    outletKinds(drain, &live, request + 6);
}

Count OutletFinish(Plinth outlet)
{
  Count left = PlinthWait(outlet, outletWait), before;

  do {
    before = left;
    left = left > 0 ? PlinthWait(outlet, outletWait) : 0;
  } while (left < before && left > 0);
  return left;
}
