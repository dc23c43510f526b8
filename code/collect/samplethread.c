/* samplethread.c -- one thread, as it is sampled
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/samplethread.h"

#include <string.h>

enum {
  threadReadSIZE = 1024,
  threadQUIET = 10 /* readings after which a thread that has not run is looked at: others may have renamed it */
};

void SampleThreadInit(SampleThread thread, uint32_t pid, uint32_t tid)
{
  memset(thread, 0, sizeof *thread);
  thread->pid = pid;
  thread->tid = tid;
  thread->sched = thread->stat = -1;
}

/* threadWord -- a number as an event has it; all bits set means unknown, so a large one stays below */
static Word threadWord(uint64_t n)
{
  if (n == SampleUNKNOWN)
    return (Word)-1;
  return (Word)n - ((Word)n == (Word)-1);
}

/* threadBlocked -- us that it neither ran nor could have, up to the last reading */
static uint64_t threadBlocked(SampleThread thread)
{
  SampleReading reading = &thread->reading;
  uint64_t age = thread->time - thread->birth, busy;

  if (reading->waiting == SampleUNKNOWN)
    return SampleUNKNOWN;
  busy = reading->running + reading->waiting;
  /* Clocks of different coarseness. */
  if (age > busy && age - busy > thread->blocked)
    thread->blocked = age - busy;
  return thread->blocked;
}

static void threadTell(SampleThread thread, SampleContext context, char letter)
{
  Teller teller = context->teller;
  SampleReading reading = &thread->reading;
  uint64_t disk = context->delays || reading->disk != 0 ? reading->disk : SampleUNKNOWN;
  char state[2] = {letter, '\0'};

  EVENT_UUWWWWWWWWS(TaskSample, thread->pid, thread->tid, threadWord(reading->running), threadWord(reading->user),
                    threadWord(reading->system), threadWord(reading->waiting), threadWord(threadBlocked(thread)),
                    threadWord(disk), threadWord(reading->minor), threadWord(reading->major), state);
  thread->told = TRUE;
  thread->toldTime = thread->time;
}

/* threadName -- the system's name for it, if that is new */
static void threadName(SampleThread thread, SampleContext context, ProcStat stat)
{
  Teller teller = context->teller;

  if (thread->time != 0 && strcmp(thread->name, stat->name) == 0)
    return;
  memcpy(thread->name, stat->name, sizeof thread->name);
  EVENT_UUS(TaskName, thread->pid, thread->tid, thread->name);
}

/* threadSched -- FALSE: the system does not say, or it is gone */
static Bool threadSched(SampleReading reading, SampleThread thread, SampleContext context)
{
  char path[ProcPathSIZE], text[threadReadSIZE];
  uint64_t numbers[3];
  Size size = ProcRead(context->proc, &thread->sched,
                       thread->sched >= 0 ? "" : ProcPath(path, thread->pid, thread->tid, "schedstat"), text,
                       sizeof text);

  /* A system that does not measure says 0 0 0. */
  if (!ProcSchedParse(numbers, text, size) || numbers[2] == 0)
    return FALSE;
  reading->running = numbers[0] / 1000;
  reading->waiting = numbers[1] / 1000;
  reading->slices = numbers[2];
  return TRUE;
}

static Bool threadStat(ProcStat stat, SampleThread thread, SampleContext context)
{
  char path[ProcPathSIZE], text[threadReadSIZE];
  Size size = ProcRead(context->proc, &thread->stat,
                       thread->stat >= 0 ? "" : ProcPath(path, thread->pid, thread->tid, "stat"), text, sizeof text);

  return ProcStatParse(stat, context->proc, text, size) && stat->pid == thread->tid;
}

/* threadBegin -- at the first reading: when did it start? */
static void threadBegin(SampleThread thread, SampleContext context, ProcStat stat, SampleReading reading)
{
  uint64_t start = stat->start > UINT64_MAX / context->proc->tick ? UINT64_MAX : stat->start * context->proc->tick;
  uint64_t age = context->uptime > start ? context->uptime - start : 0;

  if (reading->waiting != SampleUNKNOWN && age < reading->running + reading->waiting)
    age = reading->running + reading->waiting;
  thread->birth = context->now - age;
  thread->start = stat->start;
}

Bool SampleThreadRead(SampleThread thread, SampleContext context)
{
  SampleReadingStruct reading = {.running = SampleUNKNOWN, .waiting = SampleUNKNOWN};
  SampleReading before = &thread->reading;
  ProcStatStruct stat;

  if (threadSched(&reading, thread, context) && thread->time != 0 && reading.slices == before->slices &&
      reading.running == before->running && reading.waiting == before->waiting) {
    ++thread->asleep;
    if (++thread->quiet < threadQUIET) {
      thread->time = context->now;
      return TRUE;
    }
  } else {
    thread->asleep = 0;
  }
  if (!threadStat(&stat, thread, context) || (thread->time != 0 && stat.start != thread->start))
    return FALSE;
  reading.user = stat.user;
  reading.system = stat.system;
  reading.disk = stat.disk;
  reading.minor = stat.minor;
  reading.major = stat.major;
  reading.state = (unsigned char)stat.state;
  if (thread->time == 0)
    threadBegin(thread, context, &stat, &reading);
  threadName(thread, context, &stat);
  thread->told = thread->time != 0 && memcmp(before, &reading, sizeof reading) == 0 && thread->told;
  thread->reading = reading;
  thread->quiet = 0;
  thread->time = context->now;
  if (!thread->told)
    threadTell(thread, context, (char)reading.state);
  return TRUE;
}

void SampleThreadLast(SampleThread thread, SampleContext context, Bool ended)
{
  if (thread->time != 0 && (ended || thread->toldTime != thread->time))
    threadTell(thread, context, ended ? 'X' : (char)thread->reading.state);
  ProcDrop(context->proc, &thread->sched);
  ProcDrop(context->proc, &thread->stat);
}
