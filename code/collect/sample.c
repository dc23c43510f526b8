/* sample.c -- what the system says of the family's threads, told at intervals
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/sample.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/aver.h"
#include "base/grow.h"
#include "collect/samplethread.h"
#include "plinth/clock.h"

enum { sampleRoomSIZE = 64 << 10, sampleMILLION = 1000000 };

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
  Teller teller = sample->context.teller;
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
    SampleThreadLast(&process->thread[i], &sample->context, TRUE);
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

Res SampleCreate(Sample *sampleReturn, Teller teller, Proc proc, Tree tree, unsigned interval)
{
  Sample sample = calloc(1, sizeof *sample);

  if (sample == NULL)
    return ResMEMORY;
  sample->context = (SampleContextStruct){.teller = teller, .proc = proc, .delays = sampleDelays(proc)};
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
  SampleThreadLast(&process->thread[i], &sample->context, TRUE);
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
      SampleThreadInit(&process->thread[i++], pid, tid[j++]);
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
    if (sampleSkips(sample, process, thread) || SampleThreadRead(thread, &sample->context))
      ++i;
    else
      sampleRemove(sample, process, i);
  }
  sampleProcess(sample, member, FALSE);
}

static void sampleMachine(Sample sample)
{
  Proc proc = sample->context.proc;
  Teller teller = sample->context.teller;
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
    SampleThreadLast(&process->thread[i], &sample->context, FALSE);
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
