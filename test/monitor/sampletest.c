/* sampletest.c -- samples of threads, over a folder that looks like /proc, and over the real one
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/sample.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fakeproc.h"
#include "plinth/clock.h"
#include "selfeventssee.h"
#include "tap.h"

#define MS 1000000ull

/* From one round to the next on the clock that these tests give: more than SampleSHARE times what a round takes,
 * however busy the machine is. */
#define STEP (1000000 * MS)

static SelfEvents self;
static ProcStruct proc;
static Tree tree;
static Sample sample;
static uint64_t now;

/* A thread that starts now, or later: machines are younger than that. */
#define LATE 1000000000000ull

static FakeStruct sleeper = {.name = "prog", .state = 'S', .parent = 1, .threads = 1, .start = LATE, .stack = 5,
                             .virtual = 8192, .resident = 1};

static void schedstat(unsigned pid, unsigned tid, const char *text)
{
  char path[64];

  (void)snprintf(path, sizeof path, "%u/task/%u/schedstat", pid, tid);
  FakeFile(path, "%s", text);
}

static void machine(unsigned idle)
{
  FakeFile("stat", "cpu  10 1 20 %u 3 4 5 6 0 0\ncpu0 5 0 10 20 0 0 0 0 0 0\ncpu1 5 1 10 20 3 4 5 6 0 0\nintr 7 0\n",
           idle);
}

static void begin(Count keep, unsigned interval)
{
  FakeBegin();
  machine(40);
  FakeStat(100, 0, &sleeper);
  FakeStat(100, 100, &sleeper);
  schedstat(100, 100, "5000 2000 3\n");
  FakeLink(100, "/bin/prog");
  FakeNewest(100);
  now = EventClockMonotonic();
  TapIs(ProcInit(&proc, fakeRoot, keep), ResOK, "a folder is /proc");
  (void)TreeCreate(&tree, self, &proc, NULL, TRUE);
  TapIs(SampleCreate(&sample, self, &proc, tree, interval), ResOK, "a sampler");
  TreeAdd(tree, 100, FALSE);
}

static void end(void)
{
  SampleDestroy(sample);
  TreeDestroy(tree);
  TapIs(proc.kept, 0, "no descriptor is left open");
  ProcFinish(&proc);
  FakeEnd();
  (void)strcpy(fakeRoot + sizeof fakeRoot - 7, "XXXXXX");
  (void)See(self);
}

/* poll -- the next round's lines */
static const char *poll(void)
{
  now += STEP;
  (void)SamplePoll(sample, now);
  return See(self);
}

#define TapHas(got, line, ...) \
  do { \
    const char *got_ = (got); \
    if (!TapOk(strstr(got_, (line)) != NULL, __VA_ARGS__)) \
      printf("# got:\n%s# expected in it:\n%s\n", got_, (line)); \
  } while (0)
#define TapHasNot(got, line, ...) \
  do { \
    const char *got_ = (got); \
    if (!TapOk(strstr(got_, (line)) == NULL, __VA_ARGS__)) \
      printf("# got:\n%s", got_); \
  } while (0)

static void testThread(void)
{
  FakeStruct runs = sleeper;

  begin(10, 100);
  TapHas(poll(), "TaskName pid=100 task=100 name=prog\n"
                 "TaskSample pid=100 task=100 running=5 user=0 system=0 waiting=2 blocked=0 disk=unknown minor=0 "
                 "major=0 state=S\n"
                 "ProcessSample pid=100 threads=1 resident=4096 virtual=8192 user=0 system=0 minor=0 major=0\n"
                 "MachineSample processors=2 user=110000 system=290000 idle=400000 disk=30000 stolen=60000\n",
         "the first sample has all, and a name");
  TapHasNot(poll(), "TaskSample", "a thread that sleeps on is not told again");
  runs.state = 'R', runs.user = 3, runs.system = 1, runs.minor = 7, runs.major = 2;
  FakeStat(100, 100, &runs);
  FakeStat(100, 0, &runs);
  schedstat(100, 100, "40005000 10002000 4\n");
  TapHas(poll(), "TaskSample pid=100 task=100 running=40005 user=30000 system=10000 waiting=10002 blocked=1999950000 "
                 "disk=unknown minor=7 major=2 state=R\n",
         "one that has run is, and the rest of the time it was blocked");
  runs.name = "other) S 1";
  runs.disk = 2;
  FakeStat(100, 100, &runs);
  schedstat(100, 100, "40005000 10002000 5\n");
  TapHas(poll(), "TaskName pid=100 task=100 name=other) S 1\nTaskSample pid=100 task=100 running=40005 user=30000 "
                 "system=10000 waiting=10002 blocked=2999950000 disk=20000 minor=7 major=2 state=R\n",
         "so is a new name, and a disk that somebody measures");
  TreeEnded(tree, 100, 0);
  TapHas(See(self), "waiting=10002 blocked=2999950000 disk=20000 minor=7 major=2 state=X\nProcessSample pid=100",
         "with the end comes the last sample");
  end();
}

static void testThreads(Count keep)
{
  FakeStruct main = sleeper;
  Index i;

  begin(keep, 100);
  (void)poll();
  main.threads = 20;
  FakeStat(100, 0, &main);
  for (i = 1; i < 20; ++i) {
    FakeStat(100, 100 + (unsigned)i, &main);
    schedstat(100, 100 + (unsigned)i, "0 0 1\n");
  }
  TapHas(poll(), "TaskName pid=100 task=119 name=prog\n", "%zu descriptors: new threads are found", keep);
  TapOk(proc.kept <= keep, "and no more files are open than may be");
  schedstat(100, 110, "1000000 0 2\n");
  TapHas(poll(), "TaskSample pid=100 task=110 running=1000 ", "one of many has run");
  TapHasNot(poll(), "TaskSample", "and now none");
  main.threads = 19;
  FakeRemove("100/task/110");
  FakeStat(100, 0, &main);
  TapHas(poll(), "TaskSample pid=100 task=110 running=1000 user=0 system=0 waiting=0 blocked=1999999000 disk=unknown "
                 "minor=0 major=0 state=X\n", "one has ended: its last sample");
  TapHasNot(poll(), "task=110", "and that was the last");
  SampleDestroy(sample);
  TapHas(See(self), "task=119 running=0 user=0 system=0 waiting=0 blocked=",
         "at the end of the recording all are told");
  (void)SampleCreate(&sample, self, &proc, tree, 100);
  end();
}

static uint64_t regions(void *data, uint32_t pid) { return pid == 100 ? *(uint64_t *)data : 0; }

static void testRegions(void)
{
  FakeStruct runs = sleeper;
  uint64_t bytes = 700;

  begin(10, 100);
  SampleSetRegions(sample, regions, &bytes);
  TapHas(poll(), "ProcessRegion pid=100 bytes=700\nProcessSample pid=100",
         "what of a process's memory is the recording's is told before its sample");
  runs.minor = 1;
  FakeStat(100, 100, &runs), FakeStat(100, 0, &runs);
  schedstat(100, 100, "40005000 10002000 4\n");
  TapHasNot(poll(), "ProcessRegion", "once");
  runs.minor = 2;
  bytes = 900;
  FakeStat(100, 100, &runs), FakeStat(100, 0, &runs);
  schedstat(100, 100, "40005000 10002000 5\n");
  TapHas(poll(), "ProcessRegion pid=100 bytes=900\nProcessSample pid=100", "until it changes");
  bytes = 0; /* the region is gone */
  TreeEnded(tree, 100, 0);
  TapHasNot(See(self), "ProcessRegion", "of the last sample what was told last is true");
  end();
}

static void testUnmeasured(void)
{
  FakeStruct runs = sleeper;

  begin(10, 100);
  schedstat(100, 100, "0 0 0\n");
  TapHas(poll(), "running=unknown user=0 system=0 waiting=unknown blocked=unknown disk=unknown ",
         "what the system does not measure is unknown");
  runs.user = 5;
  FakeStat(100, 100, &runs);
  TapHas(poll(), "running=unknown user=50000 system=0 waiting=unknown ", "and the rest is told as ever");
  FakeRemove("100/task/100/schedstat");
  TapHasNot(poll(), "TaskSample", "nor does it matter if the file is not there");
  end();
  FakeBegin();
  FakeFolder("sys");
  FakeFolder("sys/kernel");
  FakeFile("sys/kernel/task_delayacct", "1\n");
  FakeStat(100, 0, &sleeper);
  FakeStat(100, 100, &sleeper);
  (void)ProcInit(&proc, fakeRoot, 10);
  (void)TreeCreate(&tree, self, &proc, NULL, TRUE);
  (void)SampleCreate(&sample, self, &proc, tree, 100);
  TreeAdd(tree, 100, FALSE);
  TapHas(poll(), " disk=0 ", "where waiting for disks is measured, none is none");
  end();
}

static void testPace(void)
{
  uint64_t due, took;

  begin(10, 50);
  took = EventClockMonotonic();
  due = SamplePoll(sample, now);
  took = EventClockMonotonic() - took;
  TapOk(due > 0 && due <= (took * SampleSHARE > 50 * MS ? took * SampleSHARE : 50 * MS),
        "the next sample is due when it is due, or the tree before; later only as far as this one took long");
  (void)See(self);
  (void)SamplePoll(sample, now + 10 * MS);
  TapHasNot(See(self), "MachineSample", "not before");
  (void)SamplePoll(sample, now + STEP);
  TapHas(See(self), "MachineSample", "but then");
  end();
  begin(10, 0);
  TapHasNot(poll(), "Sample", "without an interval there are no samples,");
  FakeStat(101, 0, &(FakeStruct){.name = "child", .state = 'S', .parent = 100, .threads = 1, .start = 5, .stack = 5});
  FakeNewest(101);
  TapHas(poll(), "ProcessStart pid=101 parent=100 name=child\n", "but the tree is looked after");
  end();
}

/* A thread that runs until it is to stop; its number is there once it has its name. */
static struct {
  uint32_t tid;
  Bool stop;
} spinner;

static void *spin(void *unused)
{
  (void)prctl(PR_SET_NAME, "spinner");
  __atomic_store_n(&spinner.tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  while (!__atomic_load_n(&spinner.stop, __ATOMIC_RELAXED))
    ;
  return unused;
}

static void await(void)
{
  (void)nanosleep(&(struct timespec){0, MS}, NULL);
}

/* spinStop -- end the thread; one that was waited for may still be in /proc for a while */
static void spinStop(pthread_t thread)
{
  char path[64];

  (void)snprintf(path, sizeof path, "/proc/self/task/%u", spinner.tid);
  __atomic_store_n(&spinner.stop, TRUE, __ATOMIC_RELAXED);
  (void)pthread_join(thread, NULL);
  while (access(path, F_OK) == 0)
    await();
}

/* number -- the value of "key=" behind the last occurrence of `line` */
static uint64_t number(const char *text, const char *line, const char *key)
{
  const char *at = strstr(text, line), *next;

  while (at != NULL && (next = strstr(at + 1, line)) != NULL)
    at = next;
  at = at != NULL ? strstr(at, key) : NULL;
  return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* testReal -- what is waited for is what the thread does, however long that takes; the samples' clock is ours */
static void testReal(void)
{
  const char *lines;
  char last[64];
  pthread_t thread;

  now = EventClockMonotonic();
  (void)ProcInit(&proc, "/proc", SampleKEEP);
  (void)TreeCreate(&tree, self, &proc, NULL, TRUE);
  (void)SampleCreate(&sample, self, &proc, tree, 10);
  TreeAdd(tree, (uint32_t)getpid(), FALSE);
  (void)pthread_create(&thread, NULL, spin, NULL);
  while (__atomic_load_n(&spinner.tid, __ATOMIC_ACQUIRE) == 0)
    await();
  lines = poll();
  TapHas(lines, "name=spinner\n", "really, a thread has its name");
  TapOk(number(lines, "ProcessSample ", "threads=") >= 2, "there are two of them");
  TapOk(number(lines, "ProcessSample ", "resident=") > 100000, "which use memory");
  TapOk(number(lines, "MachineSample ", "idle=") > 0, "the machine has idled");
  TapHasNot(poll(), "state=X\n", "neither has ended");
  spinStop(thread);
  (void)snprintf(last, sizeof last, "TaskSample pid=%u task=%u ", (unsigned)getpid(), spinner.tid);
  lines = poll();
  TapHas(lines, last, "a thread that has ended is told last");
  TapHas(lines, "state=X\n", "as ended");
  SampleDestroy(sample);
  TapHas(See(self), "TaskSample", "and who lives on, at the end");
  TreeDestroy(tree);
  TapIs(proc.kept, 0, "no descriptor is left open");
  ProcFinish(&proc);
}

int main(void)
{
#if defined(VARIETY_RASH)
  TapSkip("no telemetry in this variety");
  return TapDone();
#endif
  self = SeeTeller();
  testThread();
  testThreads(10);
  testThreads(0);
  testThreads(1000);
  testRegions();
  testUnmeasured();
  testPace();
  testReal();
  SeeFinish(self);
  return TapDone();
}
