/* misuse.c -- what a program did wrong with memory of ours is said
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .misuse      Tests: test/mm/misuse.t
 */
#include "mm/misuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "base/text.h"
#include "emit/control.h"
#include "emit/event.h"
#include "emit/pawprint.h"

enum { misuseEVENTS = 16 }; /* of the object's that are shown */

static const char *const misuseSays[MisuseLIMIT] = {
  [MisuseFOREIGN] = "free or resize of what is no object",
  [MisuseINNER] = "free or resize of an address inside an object",
  [MisuseFREED] = "free or resize of an object that is free already",
  [MisuseOVERWRITTEN] = "a free block was written to, after it was freed or beyond the end of the object before it",
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

void MisuseFound(Misuse misuse, Pool pool, const void *object, Size size, const void *p)
{
  int error = errno;
  char room[512];
  TextStruct text;

  AVER((unsigned)misuse < MisuseLIMIT);
  TextInit(&text, room, sizeof room - 1);
  TextFormat(&text, "pawprint: %s: ", misuseSays[misuse]);
  TextHex(&text, (Word)p);
  if (p != object) {
    TextFormat(&text, ", which is %ju bytes behind ", (uintmax_t)((Word)p - (Word)object));
    TextHex(&text, (Word)object);
  }
  if (size != 0)
    TextFormat(&text, ", a block of %ju bytes", (uintmax_t)size);
  TextString(&text, "; pool ");
  TextHex(&text, (Word)pool);
  TextFormat(&text, ", class %s\n", pool->class->name);
  (void)RawCall(SYS_write, 2, room, TextLength(&text));
  EventTracebackAddr(object, misuseEVENTS);
  if (!misuseReports())
    abort();
  errno = error;
}
