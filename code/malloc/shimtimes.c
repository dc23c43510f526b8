/* shimtimes.c -- what a thread did with its time, as it tells itself when it ends
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimtimes.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include "emit/emitter.h"

enum {
  timesLONG = 1000000, /* ns: who lived as long can take the time to read a file */
  timesROOM = 96,
  timesWORDS = 18      /* of what getrusage fills in, as the system has it: all are of type long */
};

#define timesUNKNOWN ((Word)-1) /* as TaskSample has it */

/* timesScheduled -- us that the calling thread ran, and that it waited for a processor; FALSE: they are not known */
static Bool timesScheduled(Word *running, Word *waiting)
{
  char room[timesROOM];
  const char *at = room;
  Size size = RawReadFile("/proc/thread-self/schedstat", room, sizeof room - 1);

  room[size] = '\0';
  *running = (Word)(TextNumber(&at, 10) / 1000);
  if (*at != ' ')
    return FALSE;
  ++at;
  *waiting = (Word)(TextNumber(&at, 10) / 1000);
  return *at == ' ';
}

void ShimTimesTell(unsigned thread, uint64_t began)
{
  uint64_t now = EventClockMonotonic();
  Word lived = began != 0 ? (Word)((now - began) / 1000) : 0, running, waiting = timesUNKNOWN, blocked = timesUNKNOWN;
  long used[timesWORDS];
  Word user, system;
  RawMaskStruct mask;

  if (!EVENT_WANTED(EventTaskSampleKIND) || RawCall(SYS_getrusage, RUSAGE_THREAD, used) != 0)
    return;
  user = (Word)used[0] * 1000000 + (Word)used[1];
  system = (Word)used[2] * 1000000 + (Word)used[3];
  running = user + system;
  if (began != 0 && now - began >= timesLONG) {
    RawBegin(&mask);
    if (timesScheduled(&running, &waiting))
      blocked = lived > running + waiting ? lived - running - waiting : 0;
    else
      running = user + system, waiting = timesUNKNOWN;
    RawEnd(&mask);
  }
  EVENT_UUWWWWWWWWS(TaskSample, RawPid(), thread, running, user, system, waiting, blocked, timesUNKNOWN,
                    (Word)used[8], (Word)used[9], "X");
}
