/* sample.c -- what the system says of the family's threads, told at intervals
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/sample.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/aver.h"
#include "base/grow.h"
#include "plinth/clock.h"

enum {
  sampleRoomSIZE = 64 << 10,
  sampleMILLION = 1000000,
  threadReadSIZE = 1024,
  threadQUIET = 10 /* readings after which a thread that has not run is looked at: others may have renamed it */
};

/* ---- One thread ---- */

/* What was read of a thread.  Times in us. */
typedef struct SampleReadingStruct {
  uint64_t running, waiting; /* SampleUNKNOWN where the system does not measure them */
  uint64_t slices;           /* how often it ran: as long as that is the same, it has done nothing */
  uint64_t user, system, disk, minor, major;
  uint64_t state;            /* a letter; all are of one width, so that there is nothing between them */
} SampleReadingStruct, *SampleReading;

#define SampleUNKNOWN UINT64_MAX

typedef struct SampleThreadStruct {
  uint32_t pid, tid;
  int sched, stat;           /* descriptors, for ProcRead */
  uint64_t start;            /* as its stat has it: another one under its number has another */
  uint64_t birth;            /* when it started, us on the monotonic clock; negative where that clock is younger */
  uint64_t time;             /* of the reading, the same */
  uint64_t blocked;          /* as told last: it never falls */
  Bool told;                 /* the reading is in the log, */
  uint64_t toldTime;         /* as it was then */
  unsigned quiet;            /* readings since its stat was looked at, */
  unsigned asleep;           /* and since it was seen to have run */
  SampleReadingStruct reading;
  char name[ProcNameSIZE];
} SampleThreadStruct, *SampleThread;

/* What holds for all threads. */
typedef struct SampleContextStruct {
  SelfEvents self;
  Proc proc;
  uint64_t now;              /* us on the monotonic clock, of this round */
  uint64_t uptime;           /* us since the machine's start, the same moment; threads' births count from there */
  Bool delays;               /* the system measures waiting for disks */
} SampleContextStruct, *SampleContext;

/* threadInit -- a thread of which nothing has been read yet */
static void threadInit(SampleThread thread, uint32_t pid, uint32_t tid)
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
  SelfEvents self = context->self;
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
  SelfEvents self = context->self;

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

/* threadRead -- read it, and tell what is new; FALSE: it is gone */
static Bool threadRead(SampleThread thread, SampleContext context)
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

/* threadLast -- emit the last reading of a thread, unless it has been emitted, and close the thread's files
 * ended  the thread has ended: the reading is emitted in any case */
static void threadLast(SampleThread thread, SampleContext context, Bool ended)
{
  if (thread->time != 0 && (ended || thread->toldTime != thread->time))
    threadTell(thread, context, ended ? 'X' : (char)thread->reading.state);
  ProcDrop(context->proc, &thread->sched);
  ProcDrop(context->proc, &thread->stat);
}

/* ---- The family ---- */

/* A member of the tree, with its threads. */
typedef struct SampleProcessStruct {
  SampleThread thread;     /* owned; by rising number */
  Count threads, capacity;
  Bool stale;              /* a thread may have come and another gone since they were listed */
  ProcStatStruct told;     /* what was told last of the process; pid 0: nothing yet */
} SampleProcessStruct, *SampleProcess;

struct SampleStruct {
  SampleContextStruct context;
  Tree tree;
  uint64_t interval;       /* ns; 0: no samples */
  uint64_t treeDue, due;   /* ns on the monotonic clock */
  Count threads;           /* in all */
  unsigned round;
  int machine;             /* descriptor, for ProcRead */
  uint32_t *tid;           /* of one process, as its folder has them */
  Count tidCapacity;
  char room[sampleRoomSIZE];
};

static Bool sampleProcessCheck(SampleProcess process)
{
  Index i;

  for (i = 0; i + 1 < process->threads; ++i)
    if (process->thread[i].tid >= process->thread[i + 1].tid)
      return FALSE;
  return process->threads <= process->capacity;
}

Bool SampleCheck(Sample sample)
{
  Count threads = 0;
  Index i;

  for (i = 0; i < TreeMembers(sample->tree); ++i) {
    SampleProcess process = TreeMemberAt(sample->tree, i)->client;
    if (process != NULL && !sampleProcessCheck(process))
      return FALSE;
    threads += process != NULL ? process->threads : 0;
  }
  return threads == sample->threads && threads <= SampleThreadsMAX && ProcCheck(sample->context.proc);
}

/* sampleProcess -- tell what is new of a process as a whole; `last`: also what is not */
static void sampleProcess(Sample sample, TreeMember member, Bool last)
{
  SelfEvents self = sample->context.self;
  SampleProcess process = member->client;
  ProcStat is = &member->stat, was = &process->told;

  if (!last && was->pid != 0 && is->threads == was->threads && is->resident == was->resident &&
      is->virtual == was->virtual && is->user == was->user && is->system == was->system && is->minor == was->minor &&
      is->major == was->major)
    return;
  EVENT_UUWWWWWW(ProcessSample, is->pid, (uint32_t)is->threads, (Word)is->resident, (Word)is->virtual, (Word)is->user,
                 (Word)is->system, (Word)is->minor, (Word)is->major);
  *was = *is;
}

/* sampleGone -- a TreeGone: a member with its last samples */
static void sampleGone(void *data, TreeMember member)
{
  Sample sample = data;
  SampleProcess process = member->client;
  Index i;

  if (process == NULL)
    return;
  for (i = 0; i < process->threads; ++i)
    threadLast(&process->thread[i], &sample->context, TRUE);
  sampleProcess(sample, member, TRUE);
  sample->threads -= process->threads;
  free(process->thread);
  free(process);
  member->client = NULL;
}

/* sampleDelays -- does the system measure how long threads wait for disks?  Older ones that do not say may. */
static Bool sampleDelays(Proc proc)
{
  char answer[8];
  int fd = -1;
  Size size = ProcRead(proc, &fd, "sys/kernel/task_delayacct", answer, sizeof answer);

  ProcDrop(proc, &fd);
  return size > 0 && answer[0] == '1';
}

Res SampleCreate(Sample *sampleReturn, SelfEvents self, Proc proc, Tree tree, unsigned interval)
{
  Sample sample = calloc(1, sizeof *sample);

  if (sample == NULL)
    return ResMEMORY;
  sample->context = (SampleContextStruct){.self = self, .proc = proc, .delays = sampleDelays(proc)};
  sample->tree = tree;
  sample->interval = interval * (uint64_t)sampleMILLION;
  sample->machine = -1;
  TreeSetGone(tree, sampleGone, sample);
  *sampleReturn = sample;
  return ResOK;
}

/* sampleInsert -- room for one more thread at place i; FALSE: not sampled */
static Bool sampleInsert(Sample sample, SampleProcess process, Index i)
{
  if (sample->threads >= SampleThreadsMAX)
    return FALSE;
  if (!Grow(&process->thread, &process->capacity, process->threads, sizeof *process->thread))
    return FALSE;
  memmove(&process->thread[i + 1], &process->thread[i], (process->threads - i) * sizeof process->thread[0]);
  ++process->threads;
  ++sample->threads;
  return TRUE;
}

static void sampleRemove(Sample sample, SampleProcess process, Index i)
{
  threadLast(&process->thread[i], &sample->context, TRUE);
  --process->threads;
  --sample->threads;
  memmove(&process->thread[i], &process->thread[i + 1], (process->threads - i) * sizeof process->thread[0]);
}

/* sampleMerge -- the process has exactly these threads */
static void sampleMerge(Sample sample, SampleProcess process, uint32_t pid, const uint32_t *tid, Count count)
{
  Index i = 0, j = 0;

  while (i < process->threads || j < count) {
    if (j == count || (i < process->threads && process->thread[i].tid < tid[j])) {
      sampleRemove(sample, process, i);
    } else if (i == process->threads || process->thread[i].tid > tid[j]) {
      if (!sampleInsert(sample, process, i))
        return;
      threadInit(&process->thread[i++], pid, tid[j++]);
    } else {
      ++i, ++j;
    }
  }
}

/* sampleList -- which threads has it?  Where their number is the same that is asked now and then only, and not at all
 * unless there are new ones in the system. */
static void sampleList(Sample sample, TreeMember member, SampleProcess process)
{
  char path[ProcPathSIZE];
  uint32_t pid = member->stat.pid;
  Bool turn = (sample->round + pid) % SampleRELIST == 0;
  Count count;

  process->stale |= TreeNews(sample->tree);
  if (process->threads == 0 && member->stat.threads == 1) {
    sampleMerge(sample, process, pid, &pid, 1);
  } else if ((process->threads != member->stat.threads || (process->stale && turn)) &&
             ProcNumbers(&sample->tid, &sample->tidCapacity, &count, sample->context.proc,
                         ProcPath(path, pid, 0, "task")) == ResOK) {
    sampleMerge(sample, process, pid, sample->tid, count);
    process->stale = FALSE;
  }
}

/* sampleSkips -- one of very many threads that sleep: its turn comes */
static Bool sampleSkips(Sample sample, SampleProcess process, SampleThread thread)
{
  return process->threads > SampleMANY && thread->asleep >= SampleASLEEP &&
         (thread->tid + sample->round) % SampleSELDOM != 0;
}

static void sampleMember(Sample sample, TreeMember member)
{
  SampleProcess process = member->client;
  Index i;

  if (process == NULL) {
    process = calloc(1, sizeof *process);
    if (process == NULL)
      return;
    member->client = process;
  }
  sampleList(sample, member, process);
  for (i = 0; i < process->threads;) {
    SampleThread thread = &process->thread[i];
    if (sampleSkips(sample, process, thread) || threadRead(thread, &sample->context))
      ++i;
    else
      sampleRemove(sample, process, i);
  }
  sampleProcess(sample, member, FALSE);
}

static void sampleMachine(Sample sample)
{
  Proc proc = sample->context.proc;
  SelfEvents self = sample->context.self;
  ProcMachineStruct machine;
  Size size = ProcRead(proc, &sample->machine, "stat", sample->room, sizeof sample->room);

  if (!ProcMachineParse(&machine, proc, sample->room, size))
    return;
  EVENT_UWWWWW(MachineSample, machine.processors, (Word)machine.user, (Word)machine.system, (Word)machine.idle,
               (Word)machine.disk, (Word)machine.stolen);
}

static void sampleAll(Sample sample, uint64_t now)
{
  struct timespec uptime;
  Index i;

  ++sample->round;
  (void)clock_gettime(CLOCK_BOOTTIME, &uptime);
  sample->context.now = now / 1000;
  sample->context.uptime = (uint64_t)uptime.tv_sec * sampleMILLION + (uint64_t)uptime.tv_nsec / 1000;
  for (i = 0; i < TreeMembers(sample->tree); ++i)
    sampleMember(sample, TreeMemberAt(sample->tree, i));
  sampleMachine(sample);
}

/* sampleFinish -- the last samples of a member that lives on */
static void sampleFinish(Sample sample, TreeMember member)
{
  SampleProcess process = member->client;
  Index i;

  if (process == NULL)
    return;
  for (i = 0; i < process->threads; ++i)
    threadLast(&process->thread[i], &sample->context, FALSE);
  free(process->thread);
  free(process);
  member->client = NULL;
}

void SampleDestroy(Sample sample)
{
  Index i;

  AVER(SampleCheck(sample));
  if (sample->interval > 0) {
    TreeRefresh(sample->tree);
    sampleAll(sample, EventClockMonotonic());
  }
  for (i = 0; i < TreeMembers(sample->tree); ++i)
    sampleFinish(sample, TreeMemberAt(sample->tree, i));
  ProcDrop(sample->context.proc, &sample->machine);
  TreeSetGone(sample->tree, NULL, NULL);
  free(sample->tid);
  free(sample);
}

/* sampleRound -- take samples; ns that it took */
static uint64_t sampleRound(Sample sample, uint64_t now)
{
  uint64_t begin = EventClockMonotonic();

  /* Samples want the tree as it is. */
  sample->treeDue = now + TreePoll(sample->tree) * (uint64_t)sampleMILLION;
  sampleAll(sample, now);
  AVER(SampleCheck(sample));
  return EventClockMonotonic() - begin;
}

uint64_t SamplePoll(Sample sample, uint64_t now)
{
  if (sample->interval > 0 && now >= sample->due) {
    uint64_t cost = sampleRound(sample, now) * SampleSHARE;
    sample->due = now + (cost > sample->interval ? cost : sample->interval);
  } else if (now >= sample->treeDue) {
    sample->treeDue = now + TreePoll(sample->tree) * (uint64_t)sampleMILLION;
  }
  if (sample->interval == 0 || sample->treeDue < sample->due)
    return sample->treeDue - now;
  return sample->due - now;
}
