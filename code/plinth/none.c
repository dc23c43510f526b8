/* none.c -- a plinth that leads nowhere: everything goes out, nothing arrives; for measuring, and to switch a way out
 * off
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/plinth.h"

static Res noneOpen(Plinth plinth, const char *place, const char *family, const char **reasonReturn)
{
  UNUSED(plinth), UNUSED(place), UNUSED(family), UNUSED(reasonReturn);
  return ResOK;
}

static Res noneSend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  UNUSED(plinth), UNUSED(message), UNUSED(size), UNUSED(reasonReturn);
  return ResOK;
}

static Res noneReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  UNUSED(plinth), UNUSED(room), UNUSED(size);
  *sizeReturn = 0;
  return ResEND;
}

static void noneClose(Plinth plinth)
{
  UNUSED(plinth);
}

const PlinthClassStruct PlinthClassNone = {"none", noneOpen, noneSend, noneReceive, noneClose, NULL, NULL, NULL};
