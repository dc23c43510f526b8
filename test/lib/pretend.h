/* pretend.h -- a plinth into memory that can pretend to be full, slow or broken, and that brings messages
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_PRETEND_H
#define TEST_PRETEND_H

#include <string.h>
#include <unistd.h>

#include "plinth/plinth.h"

enum { PretendMAX = 8, PretendMessages = 16, PretendMessageMAX = 256 };

typedef struct PretendStruct {
  Plinth plinth;
  Bool full;                 /* refuse what comes with ResLIMIT */
  Bool broken;               /* refuse what comes with ResIO */
  unsigned slow;             /* each message takes so many microseconds */
  unsigned posted, received; /* messages for the other way, counted */
  Size length[PretendMessages];
  char message[PretendMessages][PretendMessageMAX];
} PretendStruct, *Pretend;

static PretendStruct pretends[PretendMAX];
static PlinthClassStruct pretendClass;

/* PretendOf -- what a plinth pretends; NULL: it is none that does */
static Pretend PretendOf(Plinth plinth)
{
  Index i;

  for (i = 0; i < PretendMAX; ++i)
    if (pretends[i].plinth == plinth)
      return &pretends[i];
  return NULL;
}

static Res pretendSend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  Pretend pretend = PretendOf(plinth);

  if (pretend->slow != 0)
    (void)usleep(pretend->slow);
  *reasonReturn = pretend->broken ? "it pretends to be broken" : "it pretends to be full";
  if (pretend->broken || pretend->full)
    return pretend->broken ? ResIO : ResLIMIT;
  return PlinthClassMemory.send(plinth, message, size, reasonReturn);
}

static Res pretendReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  Pretend pretend = PretendOf(plinth);
  Index i;

  if (pretend->received == pretend->posted)
    return ResEND;
  i = pretend->received++ % PretendMessages;
  *sizeReturn = pretend->length[i] < size ? pretend->length[i] : size;
  memcpy(room, pretend->message[i], *sizeReturn);
  return ResOK;
}

/* PretendPost -- a message that PlinthReceive will bring */
__attribute__((unused)) static Bool PretendPost(Pretend pretend, const char *message)
{
  Index i = pretend->posted % PretendMessages;

  if (pretend->posted - pretend->received == PretendMessages)
    return FALSE;
  pretend->length[i] = strlen(message);
  memcpy(pretend->message[i], message, pretend->length[i]);
  ++pretend->posted;
  return TRUE;
}

/* PretendTake -- this open plinth into memory can pretend from here on */
__attribute__((unused)) static Pretend PretendTake(Plinth plinth)
{
  Pretend pretend = PretendOf(plinth) != NULL ? PretendOf(plinth) : PretendOf(NULL);

  memset(pretend, 0, sizeof *pretend);
  pretend->plinth = plinth;
  pretendClass = PlinthClassMemory;
  pretendClass.send = pretendSend;
  pretendClass.receive = pretendReceive;
  plinth->class = &pretendClass;
  return pretend;
}

#endif /* TEST_PRETEND_H */
