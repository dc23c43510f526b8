/* misuse.c -- what a program did wrong with memory of ours is said
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .misuse      Tests: test/mm/misuse.t
 */
#include "mm/misuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "base/text.h"
#include "emit/control.h"
#include "emit/emitter.h"
#include "emit/event.h"
#include "plinth/clock.h"

enum {
  misuseEVENTS = 16, /* of the object's that are shown */
  misuseFRAMES = 16  /* of a call's */
};

Count (*MisuseSiteHook)(Word at[], Count max, Word site);

static const char misuseOverwritten[] =
  "a free block was written to, after it was freed or beyond the end of the object before it";

static const char *const misuseSays[MisuseLIMIT] = {
  [MisuseFOREIGN] = "free or resize of what is no object",
  [MisuseINNER] = "free or resize of an address inside an object",
  [MisuseFREED] = "free or resize of an object that is free already",
  [MisuseOVERWRITTEN] = misuseOverwritten,
  [MisuseNEAR] = misuseOverwritten,
  [MisuseBEFORE] = "the memory before an object was written to",
  [MisuseBEHIND] = "the memory behind an object was written to",
  [MisuseLATER] = "an object was written to after it was freed",
  [MisuseSIZE] = "free or resize of an object with another size than it has",
};

/* misuseReports -- is the process to go on? */
static Bool misuseReports(void)
{
  char room[16];
  const char *value = ControlVariable("PAWPRINT_ON_ERROR", room, sizeof room);

  if (value == NULL || value[0] == '\0' || strcmp(value, "abort") == 0)
    return FALSE;
  if (strcmp(value, "report") == 0)
    return TRUE;
  RawSay("PAWPRINT_ON_ERROR", value, "it is neither report nor abort");
  return FALSE;
}

static void misuseWrite(Text text)
{
  (void)RawCall(SYS_write, 2, text->base, TextLength(text));
}

/* misuseFrame -- a line for an address of code: the module, where in it that is, as addr2line takes it, and the
 * function if the module tells its name to others */
static void misuseFrame(Word at)
{
  char room[1024];
  TextStruct text;
  Dl_info info;

  TextInit(&text, room, sizeof room);
  TextString(&text, "pawprint:   ");
  TextHex(&text, at);
  if (dladdr((void *)at, &info) != 0 && info.dli_fname != NULL) {
    TextFormat(&text, " %s+", info.dli_fname);
    TextHex(&text, at - (Word)info.dli_fbase);
    if (info.dli_sname != NULL) {
      TextFormat(&text, " %s+", info.dli_sname);
      TextHex(&text, at - (Word)info.dli_saddr);
    }
  }
  TextChar(&text, '\n');
  misuseWrite(&text);
}

/* misuseCall -- who did something, and how long before `now` */
static void misuseCall(const char *what, uint64_t time, uint64_t now, uint32_t thread, Word site)
{
  char room[256], clock[EventClockNameSIZE];
  Word at[misuseFRAMES] = {site};
  Count n = MisuseSiteHook != NULL ? MisuseSiteHook(at, misuseFRAMES, site) : 1;
  uint64_t frequency, before = now > time ? now - time : 0;
  TextStruct text;
  Index i;

  EventClockDescribe(clock, &frequency, NULL, EVENT_SLOW);
  TextInit(&text, room, sizeof room);
  TextFormat(&text, "pawprint: %s", what);
  if (now != 0) {
    TextFormat(&text, " %ju.", (uintmax_t)(before / frequency));
    TextPadded(&text, (uint64_t)((double)(before % frequency) * 1e9 / (double)frequency), 9);
    TextString(&text, " s before");
  }
  TextFormat(&text, ", by thread %u:\n", thread);
  misuseWrite(&text);
  for (i = 0; i < n; ++i)
    misuseFrame(at[i]);
}

static void misusePast(MisusePast past)
{
  misuseCall("found", 0, 0, past->thread, past->site);
  if (past->allocTime != 0)
    misuseCall("allocated", past->allocTime, past->time, past->allocThread, past->allocSite);
  if (past->freed)
    misuseCall("freed", past->freeTime, past->time, past->freeThread, past->freeSite);
}

void MisuseFound(Misuse misuse, Pool pool, const void *object, Size size, const void *p)
{
  MisuseFoundPast(misuse, pool, object, size, p, NULL);
}

/* misuseText -- the line that says it */
static void misuseText(Text text, Misuse misuse, Pool pool, const void *object, Size size, const void *p, Bool past)
{
  TextFormat(text, "pawprint: %s: %s", misuseSays[misuse], misuse == MisuseNEAR ? "near " : "");
  TextHex(text, (Word)p);
  if (p != object) {
    TextFormat(text, ", which is %ju bytes behind ", (uintmax_t)((Word)p - (Word)object));
    TextHex(text, (Word)object);
  }
  if (size != 0)
    TextFormat(text, ", %s of %ju bytes", past ? "an object" : "a block", (uintmax_t)size);
  TextFormat(text, "%s; pool ", misuse == MisuseNEAR ? " that was handed out since" : "");
  TextHex(text, (Word)pool);
  TextFormat(text, ", class %s\n", pool->class->name);
}

void MisuseFoundPast(Misuse misuse, Pool pool, const void *object, Size size, const void *p, MisusePast past)
{
  int error = errno;
  char room[512];
  TextStruct text;

  AVER((unsigned)misuse < MisuseLIMIT);
  TextInit(&text, room, sizeof room - 1);
  misuseText(&text, misuse, pool, object, size, p, past != NULL);
  misuseWrite(&text);
  EVENT_PAS(PoolMisuse, pool, (Addr)(Word)object, misuseSays[misuse]);
  if (past != NULL)
    misusePast(past);
  if (misuse != MisuseNEAR) /* no object is there */
    TracebackFound(object, misuseEVENTS);
  if (!misuseReports())
    abort();
  errno = error;
}
