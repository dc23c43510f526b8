/* plinth.c -- opening and using a way out, whichever it is; and the two that lead nowhere: into memory, and away
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/plinth.h"

#include <stddef.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "plinth/rawsyscall.h"

enum { plinthFINISH = 1000 }; /* ms that the end of a process may take */

/* ---- A plinth into memory, which keeps messages one behind the other (PlinthMemoryStruct) ---- */

static Res memoryOpen(Plinth plinth, const PlinthClassStruct *class, const char *place, const char *family,
                      const char **reasonReturn)
{
  Size own = WordAlignUp(sizeof(PlinthMemoryStruct), RawPAGE);
  uint64_t size = TextNumber(&place, 10);
  PlinthMemory memory;

  UNUSED(class), UNUSED(family);
  if (*place != '\0' || size == 0 || size > SIZE_MAX / 32) {
    *reasonReturn = "its size is no number of bytes";
    return ResPARAM;
  }
  plinth->size = own + WordAlignUp(size, RawPAGE);
  memory = RawMap(plinth->size, RawPAGE);
  if (memory == NULL) {
    *reasonReturn = "no memory";
    return ResMEMORY;
  }
  memory->base = (char *)memory + own;
  memory->size = size;
  plinth->state = memory;
  (void)strcpy(plinth->place, "memory");
  return ResOK;
}

static Res memorySend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  PlinthMemory memory = plinth->state;
  Res res = ResLIMIT;

  if (!RawLock(&memory->lock, TRUE)) {
    *reasonReturn = "another thread has stopped in the middle of sending";
    return res;
  }
  AVER(memory->used <= memory->size);
  if (size <= memory->size - memory->used) {
    memcpy(memory->base + memory->used, message, size);
    memory->used += size;
    res = ResOK;
  }
  RawUnlock(&memory->lock);
  *reasonReturn = "it is full";
  return res;
}

static void memoryClose(Plinth plinth)
{
  RawUnmap(plinth->state, plinth->size);
  plinth->state = NULL;
}

const PlinthClassStruct PlinthClassMemory = {.name = "memory", .open = memoryOpen, .send = memorySend,
                                             .close = memoryClose};

/* ---- A plinth that discards all messages: for measuring, and to switch a way out off ---- */

static Res noneOpen(Plinth plinth, const PlinthClassStruct *class, const char *place, const char *family,
                    const char **reasonReturn)
{
  UNUSED(plinth), UNUSED(class), UNUSED(place), UNUSED(family), UNUSED(reasonReturn);
  return ResOK;
}

static Res noneSend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  UNUSED(plinth), UNUSED(message), UNUSED(size), UNUSED(reasonReturn);
  return ResOK;
}

static const PlinthClassStruct plinthClassNone = {.name = "none", .open = noneOpen, .send = noneSend};

/* ---- All plinths ---- */

static const PlinthClassStruct *const plinthClasses[] = {&PlinthClassFile, &PlinthClassMemory, &plinthClassNone,
                                                    &PlinthClassTcp, &PlinthClassUnix};

/* plinthFind -- the class that `where` names, and what stands behind the colon; a file if there is none */
static const PlinthClassStruct *plinthFind(const char *where, const char **placeReturn)
{
  const char *colon = strchr(where, ':'), *slash = strchr(where, '/');
  Index i;

  *placeReturn = where;
  if (colon == NULL || (slash != NULL && slash < colon))
    return &PlinthClassFile;
  *placeReturn = colon + 1;
  for (i = 0; i < ARRAY_LENGTH(plinthClasses); ++i)
    if (strlen(plinthClasses[i]->name) == (Size)(colon - where) &&
        memcmp(plinthClasses[i]->name, where, (Size)(colon - where)) == 0)
      return plinthClasses[i];
  return NULL;
}

Res PlinthOpen(Plinth plinth, const char *where, const char *family, const char **reasonReturn)
{
  const char *place;
  const PlinthClassStruct *class = plinthFind(where, &place);
  Res res;

  AVER(PlinthClassOf(plinth) == NULL);
  memset((char *)plinth + offsetof(PlinthStruct, place), 0,
         sizeof *plinth - offsetof(PlinthStruct, place)); /* others look at the class */
  plinth->fd = -1;
  if (class == NULL) {
    *reasonReturn = "no such way out: file:PATH, tcp:HOST:PORT, unix:PATH, memory:SIZE and none: are known";
    return ResPARAM;
  }
  if (strlen(place) >= sizeof plinth->place) {
    *reasonReturn = "its name is too long";
    return ResLIMIT;
  }
  res = class->open(plinth, class, place, family, reasonReturn);
  if (res == ResOK)
    __atomic_store_n(&plinth->class, class, __ATOMIC_RELEASE); /* others may send from now on */
  return res;
}

/* plinthTry -- one message */
static Res plinthTry(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  AVER(PlinthCheck(plinth));
  AVER(size > 0);
  return plinth->class->send(plinth, message, size, reasonReturn);
}

/* plinthHeader -- a header block, with which to begin anew */
static void plinthHeader(Plinth plinth, const void *message, Size size)
{
  AVER(PlinthCheck(plinth));
  if (plinth->class->header != NULL)
    plinth->class->header(plinth, message, size);
}

Res PlinthSend(Plinth plinth, const void *message, Size size)
{
  const char *reason = "";
  Res res = plinthTry(plinth, message, size, &reason);

  if (res == ResOK)
    return ResOK;
  (void)__atomic_fetch_add(&plinth->failed, 1, __ATOMIC_RELAXED);
  if (!__atomic_exchange_n(&plinth->told, TRUE, __ATOMIC_RELAXED))
    RawSay("cannot write the log", plinth->place, reason);
  return res;
}

Res PlinthSendHeader(Plinth plinth, const void *message, Size size)
{
  plinthHeader(plinth, message, size);
  return PlinthSend(plinth, message, size);
}

Res PlinthOffer(Plinth plinth, const void *message, Size size, Bool header)
{
  const char *reason;

  if (header)
    plinthHeader(plinth, message, size);
  return plinthTry(plinth, message, size, &reason);
}

Count PlinthWait(Plinth plinth, unsigned ms)
{
  AVER(PlinthCheck(plinth));
  return plinth->class->wait != NULL ? plinth->class->wait(plinth, ms) : 0;
}

uint64_t PlinthLeft(Plinth plinth, PlinthEvents events)
{
  AVER(PlinthCheck(plinth));
  return plinth->class->left != NULL ? plinth->class->left(plinth, events) : 0;
}

const char *PlinthReason(Plinth plinth)
{
  return plinth->reason != NULL ? plinth->reason : "the receiver does not take it";
}

Res PlinthFinish(Plinth plinth, PlinthEvents events)
{
  Count left = PlinthWait(plinth, plinthFINISH);
  uint64_t lost;
  char room[160];

  if (left == 0)
    return ResOK;
  lost = PlinthLeft(plinth, events);
  (void)TextMake(room, sizeof room, "%zu block%s with %ju event%s %s not acknowledged in time", left, TextPlural(left),
                 lost, TextPlural(lost), left == 1 ? "was" : "were");
  RawSay("the log may be incomplete", plinth->place, room);
  return ResLIMIT;
}

Res PlinthReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  AVER(PlinthCheck(plinth));
  *sizeReturn = 0;
  return plinth->class->receive != NULL ? plinth->class->receive(plinth, room, size, sizeReturn) : ResEND;
}

void PlinthClose(Plinth plinth)
{
  AVER(PlinthCheck(plinth));
  if (plinth->class->close != NULL)
    plinth->class->close(plinth);
  plinth->class = NULL;
}

Bool PlinthCheck(Plinth plinth)
{
  return plinth->class != NULL && plinth->class->send != NULL && plinth->place[sizeof plinth->place - 1] == '\0' &&
         plinth->fd >= -1;
}
