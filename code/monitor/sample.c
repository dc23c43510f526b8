/* sample.c -- samples of the family's threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/sample.h"

#include <stdlib.h>
#include <time.h>

#include "base/aver.h"
#include "base/grow.h"
#include "plinth/clock.h"

enum {
  sampleRoomSIZE = 64 << 10,
  sampleMILLION = 1000000,
  sampleReadSIZE = 1024,
  sampleQUIET = 10 /* readings after which a thread that has not run is looked at: others may have renamed it */
};

/* ---- One thread ---- */

/* What was read of a thread.  Times in us. */
typedef struct SampleReadingStruct {
  uint64_t running, waiting; /* SampleUNKNOWN where the system does not measure them */
  uint64_t slices;           /* how often it was scheduled: as long as that is the same, it has done nothing */
  uint64_t user, system, disk, minor, major;
  uint64_t state;            /* a letter; as wide as the others, so that the struct has no padding (memcmp) */
} SampleReadingStruct, *SampleReading;

#define SampleUNKNOWN UINT64_MAX

typedef struct SampleThreadStruct {
  uint32_t pid, tid;
  int sched, stat;           /* descriptors, for ProcRead */
  uint64_t start;            /* as in its stat: another thread that gets the same number has another start */
  uint64_t birth;            /* when it started, us on the monotonic clock; negative where that clock is younger */
  uint64_t time;             /* of the reading, the same */
  uint64_t blocked;          /* in the last sample: it never falls */
  Bool told;                 /* a sample with this reading was emitted */
  uint64_t toldTime;         /* `time` of the last sample */
  unsigned quiet;            /* readings since its stat was read */
  unsigned asleep;           /* readings since it was seen to have run */
  SampleReadingStruct reading;
  char name[ProcNameSIZE];
} SampleThreadStruct, *SampleThread;

struct SampleStruct {
  SelfEvents self;
  Proc proc;
  Tree tree;
  SampleRegions regions;     /* NULL: not asked */
  void *regionsData;
  uint64_t interval;         /* ns; 0: no samples */
  uint64_t treeDue, due;     /* ns on the monotonic clock */
  uint64_t now;              /* us on the monotonic clock, of this round */
  uint64_t uptime;           /* us since the machine's start, the same moment; threads' births count from there */
  unsigned round;
  Bool delays;               /* the system measures waiting for disks */
  Count threads;             /* in all */
  int machine;               /* descriptor, for ProcRead */
  uint32_t *tid;             /* of one process, as its folder has them */
  Count tidCapacity;
  char room[sampleRoomSIZE];
};

/* sampleThreadWord -- a number as an event has it; all bits set means unknown, so a large one stays below */
static Word sampleThreadWord(uint64_t n)
{
  if (n == SampleUNKNOWN)
    return (Word)-1;
  return (Word)n - ((Word)n == (Word)-1);
}

/* sampleThreadBlocked -- us that it neither ran nor could have, up to the last reading */
static uint64_t sampleThreadBlocked(SampleThread thread)
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

static void sampleThreadTell(SampleThread thread, Sample sample, char letter)
{
  SelfEvents self = sample->self;
  SampleReading reading = &thread->reading;
  uint64_t disk = sample->delays || reading->disk != 0 ? reading->disk : SampleUNKNOWN;
  char state[2] = {letter, '\0'};

  EVENT_UUWWWWWWWWS(TaskSample, thread->pid, thread->tid, sampleThreadWord(reading->running),
                    sampleThreadWord(reading->user), sampleThreadWord(reading->system),
                    sampleThreadWord(reading->waiting), sampleThreadWord(sampleThreadBlocked(thread)),
                    sampleThreadWord(disk), sampleThreadWord(reading->minor), sampleThreadWord(reading->major), state);
  thread->told = TRUE;
  thread->toldTime = thread->time;
}

/* sampleThreadName -- the system's name for it, if that is new */
static void sampleThreadName(SampleThread thread, Sample sample, ProcStat stat)
{
  SelfEvents self = sample->self;

  if (thread->time != 0 && strcmp(thread->name, stat->name) == 0)
    return;
  memcpy(thread->name, stat->name, sizeof thread->name);
  EVENT_UUS(TaskName, thread->pid, thread->tid, thread->name);
}

/* sampleThreadSched -- FALSE: the system does not say, or it is gone */
static Bool sampleThreadSched(SampleReading reading, SampleThread thread, Sample sample)
{
  char path[ProcPathSIZE], text[sampleReadSIZE];
  uint64_t numbers[3];
  Size size = ProcRead(sample->proc, &thread->sched,
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

static Bool sampleThreadStat(ProcStat stat, SampleThread thread, Sample sample)
{
  char path[ProcPathSIZE], text[sampleReadSIZE];
  Size size = ProcRead(sample->proc, &thread->stat,
                       thread->stat >= 0 ? "" : ProcPath(path, thread->pid, thread->tid, "stat"), text, sizeof text);

  return ProcStatParse(stat, sample->proc, text, size) && stat->pid == thread->tid;
}

/* sampleThreadBegin -- at the first reading: when did it start? */
static void sampleThreadBegin(SampleThread thread, Sample sample, ProcStat stat, SampleReading reading)
{
  uint64_t start = stat->start > UINT64_MAX / sample->proc->tick ? UINT64_MAX : stat->start * sample->proc->tick;
  uint64_t age = sample->uptime > start ? sample->uptime - start : 0;

  if (reading->waiting != SampleUNKNOWN && age < reading->running + reading->waiting)
    age = reading->running + reading->waiting;
  thread->birth = sample->now - age;
  thread->start = stat->start;
}

/* sampleThreadRead -- read a thread, and emit a sample if it has done something; FALSE: it has ended */
static Bool sampleThreadRead(SampleThread thread, Sample sample)
{
  SampleReadingStruct reading = {.running = SampleUNKNOWN, .waiting = SampleUNKNOWN};
  SampleReading before = &thread->reading;
  ProcStatStruct stat;

  if (sampleThreadSched(&reading, thread, sample) && thread->time != 0 && reading.slices == before->slices &&
      reading.running == before->running && reading.waiting == before->waiting) {
    ++thread->asleep;
    if (++thread->quiet < sampleQUIET) {
      thread->time = sample->now;
      return TRUE;
    }
  } else {
    thread->asleep = 0;
  }
  if (!sampleThreadStat(&stat, thread, sample) || (thread->time != 0 && stat.start != thread->start))
    return FALSE;
  reading.user = stat.user;
  reading.system = stat.system;
  reading.disk = stat.disk;
  reading.minor = stat.minor;
  reading.major = stat.major;
  reading.state = (unsigned char)stat.state;
  if (thread->time == 0)
    sampleThreadBegin(thread, sample, &stat, &reading);
  sampleThreadName(thread, sample, &stat);
  thread->told = thread->time != 0 && memcmp(before, &reading, sizeof reading) == 0 && thread->told;
  thread->reading = reading;
  thread->quiet = 0;
  thread->time = sample->now;
  if (!thread->told)
    sampleThreadTell(thread, sample, (char)reading.state);
  return TRUE;
}

/* sampleThreadLast -- emit the last reading of a thread, unless it has been emitted, and close the thread's files
 * ended  the thread has ended: the reading is emitted in any case */
static void sampleThreadLast(SampleThread thread, Sample sample, Bool ended)
{
  if (thread->time != 0 && (ended || thread->toldTime != thread->time))
    sampleThreadTell(thread, sample, ended ? 'X' : (char)thread->reading.state);
  ProcDrop(sample->proc, &thread->sched);
  ProcDrop(sample->proc, &thread->stat);
}

/* ---- The family ---- */

/* A member of the tree, with its threads. */
typedef struct SampleProcessStruct {
  SampleThread thread;     /* owned; by rising number */
  Count threads, capacity;
  uint64_t regions;        /* bytes of the recording's, as told; 0: nothing was */
  Bool stale;              /* a thread may have started and another ended since they were listed */
  ProcStatStruct told;     /* as in the last sample of the process; pid 0: there was none */
} SampleProcessStruct, *SampleProcess;

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
  return threads == sample->threads && threads <= SampleThreadsMAX && ProcCheck(sample->proc);
}

/* sampleRegions -- emit how much of the process's memory is the recording's, if that has changed */
static void sampleRegions(Sample sample, SampleProcess process, uint32_t pid)
{
  SelfEvents self = sample->self;
  uint64_t bytes = sample->regions != NULL ? sample->regions(sample->regionsData, pid) : 0;

  if (bytes == 0 || bytes == process->regions)
    return;
  EVENT_UW(ProcessRegion, pid, (Word)bytes);
  process->regions = bytes;
}

/* sampleProcess -- emit a sample of a process as a whole if something has changed; `last`: in any case */
static void sampleProcess(Sample sample, TreeMember member, Bool last)
{
  SelfEvents self = sample->self;
  SampleProcess process = member->client;
  ProcStat is = &member->stat, was = &process->told;

  if (!last && was->pid != 0 && is->threads == was->threads && is->resident == was->resident &&
      is->virtual == was->virtual && is->user == was->user && is->system == was->system && is->minor == was->minor &&
      is->major == was->major)
    return;
  sampleRegions(sample, process, is->pid);
  EVENT_UUWWWWWW(ProcessSample, is->pid, (uint32_t)is->threads, (Word)is->resident, (Word)is->virtual, (Word)is->user,
                 (Word)is->system, (Word)is->minor, (Word)is->major);
  *was = *is;
}

/* sampleLast -- emit the last samples of a member, and free what the sampler keeps of it
 * ended  it has ended; else it lives on */
static void sampleLast(Sample sample, TreeMember member, Bool ended)
{
  SampleProcess process = member->client;
  Index i;

  if (process == NULL)
    return;
  for (i = 0; i < process->threads; ++i)
    sampleThreadLast(&process->thread[i], sample, ended);
  if (ended)
    sampleProcess(sample, member, TRUE);
  AVER(sample->threads >= process->threads);
  sample->threads -= process->threads;
  free(process->thread);
  free(process);
  member->client = NULL;
}

/* sampleGone -- a TreeGone */
static void sampleGone(void *data, TreeMember member)
{
  sampleLast(data, member, TRUE);
}

Res SampleCreate(Sample *sampleReturn, SelfEvents self, Proc proc, Tree tree, unsigned interval)
{
  Sample sample = calloc(1, sizeof *sample);
  char answer[8];

  if (sample == NULL)
    return ResMEMORY;
  sample->self = self;
  sample->proc = proc;
  /* Older systems that do not say may measure how long threads wait for disks, too. */
  sample->delays =
    ProcRead(proc, NULL, "sys/kernel/task_delayacct", answer, sizeof answer) > 0 && answer[0] == '1';
  sample->tree = tree;
  sample->interval = interval * (uint64_t)sampleMILLION;
  sample->machine = -1;
  TreeSetGone(tree, sampleGone, sample);
  AVER(SampleCheck(sample));
  *sampleReturn = sample;
  return ResOK;
}

void SampleSetRegions(Sample sample, SampleRegions regions, void *data)
{
  sample->regions = regions;
  sample->regionsData = data;
}

static void sampleRemove(Sample sample, SampleProcess process, Index i)
{
  AVER(i < process->threads && sample->threads > 0);
  sampleThreadLast(&process->thread[i], sample, TRUE);
  --process->threads;
  --sample->threads;
  memmove(&process->thread[i], &process->thread[i + 1], (process->threads - i) * sizeof process->thread[0]);
}

/* sampleMerge -- the process has exactly these threads; more than SampleThreadsMAX in all are not sampled */
static void sampleMerge(Sample sample, SampleProcess process, uint32_t pid, const uint32_t *tid, Count count)
{
  Index i = 0, j = 0;

  while (i < process->threads || j < count) {
    if (j == count || (i < process->threads && process->thread[i].tid < tid[j])) {
      sampleRemove(sample, process, i);
      continue;
    }
    if (i == process->threads || process->thread[i].tid > tid[j]) {
      if (sample->threads == SampleThreadsMAX ||
          !Grow(&process->thread, &process->capacity, process->threads, sizeof *process->thread))
        return;
      memmove(&process->thread[i + 1], &process->thread[i], (process->threads - i) * sizeof process->thread[0]);
      process->thread[i] = (SampleThreadStruct){.pid = pid, .tid = tid[j], .sched = -1, .stat = -1};
      ++process->threads;
      ++sample->threads;
    }
    ++i, ++j;
  }
}

/* sampleList -- list the threads of a process.  While their number stays the same that is done only now and then, and
 * only if new ones have started in the system. */
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
             ProcNumbers(&sample->tid, &sample->tidCapacity, &count, sample->proc,
                         ProcPath(path, pid, 0, "task")) == ResOK) {
    sampleMerge(sample, process, pid, sample->tid, count);
    process->stale = FALSE;
  }
}

/* sampleSkips -- is the thread one of very many that sleep, and not its turn? */
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
    if (sampleSkips(sample, process, thread) || sampleThreadRead(thread, sample))
      ++i;
    else
      sampleRemove(sample, process, i);
  }
  sampleProcess(sample, member, FALSE);
}

static void sampleMachine(Sample sample)
{
  Proc proc = sample->proc;
  SelfEvents self = sample->self;
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
  sample->now = now / 1000;
  sample->uptime = (uint64_t)uptime.tv_sec * sampleMILLION + (uint64_t)uptime.tv_nsec / 1000;
  for (i = 0; i < TreeMembers(sample->tree); ++i)
    sampleMember(sample, TreeMemberAt(sample->tree, i));
  sampleMachine(sample);
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
    sampleLast(sample, TreeMemberAt(sample->tree, i), FALSE);
  ProcDrop(sample->proc, &sample->machine);
  TreeSetGone(sample->tree, NULL, NULL);
  free(sample->tid);
  free(sample);
}

uint64_t SamplePoll(Sample sample, uint64_t now)
{
  Bool take = sample->interval > 0 && now >= sample->due;
  uint64_t begin = EventClockMonotonic(), cost;

  if (take || now >= sample->treeDue) /* samples want the tree as it is */
    sample->treeDue = now + TreePoll(sample->tree) * (uint64_t)sampleMILLION;
  if (take) {
    sampleAll(sample, now);
    AVER(SampleCheck(sample));
    cost = (EventClockMonotonic() - begin) * SampleSHARE;
    sample->due = now + (cost > sample->interval ? cost : sample->interval);
  }
  return (sample->interval == 0 || sample->treeDue < sample->due ? sample->treeDue : sample->due) - now;
}
