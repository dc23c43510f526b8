/* forktest.c -- children, however they are made, have blocks of their own; what exec leaves behind is not lost
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The test runs itself: each stage is a process that records into a log of its own, given by PAWPRINT_LOG.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "emitting.h"

/* The thread sanitizer takes the memory that fork leaves zeroed in the child for what the parent wrote there. */
#if defined(VARIETY_RASH) || defined(__SANITIZE_THREAD__)

int main(void)
{
  TapSkip("no telemetry in this variety, or a sanitizer that does not know of wiped memory");
  return TapDone();
}

#else

extern char **environ;

/* A child's look for leaks would wait for ever for a lock of the sanitizer that another thread of the parent held. */
extern const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
  return "detect_leaks=0";
}

static const char *self;
static char folder[64], logPath[128];

static void series(Word id, Count n)
{
  Index i;

  for (i = 0; i < n; ++i)
    EVENT_WW(UserWord, id, i);
}

static void leave(int status)
{
  EventEnd();
  _exit(status);
}

static void await(pid_t child)
{
  int status;

  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
}

static void *otherRun(void *unused)
{
  UNUSED(unused);
  series(50, 3000);
  return NULL;
}

static int stageFork(void)
{
  pthread_t other;
  pid_t child;
  Index i;

  series(1, 100);
  pthread_create(&other, NULL, otherRun, NULL);
  for (i = 0; i < 4; ++i) {
    child = fork();
    if (child == 0) {
      series(10 + i, 5000);
      exit(0);
    }
    series(1 + i + 1, 100);
    await(child);
  }
  pthread_join(other, NULL);
  return 0;
}

static void *firstRun(void *thread)
{
  series(2, 100);
  __atomic_store_n((EventThread *)thread, EventThreadSelf, __ATOMIC_RELEASE);
  return NULL;
}

/* In the child another thread is the first to emit, and has the place that the forking one had in the parent. */
static int stageFirst(void)
{
  EventThread its = NULL;
  pthread_t other;
  pid_t child;
  int status;

  series(1, 100);
  child = fork();
  if (child == 0) {
    pthread_create(&other, NULL, firstRun, &its);
    while (__atomic_load_n(&its, __ATOMIC_ACQUIRE) == NULL)
      sched_yield();
    series(3, 100);
    pthread_join(other, NULL);
    exit(EventThreadSelf == its);
  }
  return waitpid(child, &status, 0) == child ? status : 1;
}

static volatile Count forked;
static volatile Bool isChild;

static void onAlarm(int signal)
{
  UNUSED(signal);
  if (fork() == 0)
    isChild = TRUE;
  else
    ++forked;
}

/* Handlers that fork: most interrupt an event, which the child writes, too, when it returns. */
static int stageHandler(void)
{
  int status, bad = 0;
  Index i;

  signal(SIGALRM, onAlarm);
  for (i = 0; i < 30; ++i) {
    Count before = forked;
    (void)ualarm(200 + 7 * (useconds_t)i, 0);
    while (forked == before && !isChild)
      EVENT_WW(UserWord, 1, 0);
    if (isChild) {
      series(2 + i, 100);
      exit(0);
    }
    bad += wait(&status) < 0 || status != 0;
  }
  return bad;
}

static Count addresses(void)
{
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;

  (void)!fscanf(file, "%lu", &pages);
  (void)fclose(file);
  return pages;
}

/* A child that has a child, and so on: none keeps what its ancestors had mapped. */
static int stageChain(void)
{
  Count third = 0;
  int status;
  Index i;

  for (i = 0; i < 12; ++i) {
    series(1 + i, 10);
    if (i == 3)
      third = addresses();
    if (fork() != 0)
      return wait(&status) < 0 ? 1 : WEXITSTATUS(status);
  }
  return addresses() > third + third / 2;
}

static int stageClone(void)
{
  long child;

  series(1, 100);
  child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    series(2, 3000);
    leave(0);
  }
  series(3, 3000);
  await((pid_t)child);
  return 0;
}

static int stageVfork(void)
{
  char *arguments[] = {(char *)"true", NULL};
  pid_t child;

  series(1, 100);
  child = vfork();
  if (child == 0) {
    EVENT_WW(UserWord, 2, 0); /* in the parent's memory, and the parent's event */
    execv("/bin/true", arguments);
    _exit(1);
  }
  await(child);
  if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0)
    await(child);
  series(3, 100);
  return system("exit 3") == 3 << 8 ? 0 : 1;
}

static int stageExec(void)
{
  char *arguments[] = {(char *)self, (char *)"after", NULL};

  series(1, 3000);
  execv(self, arguments);
  return 1;
}

static int stageAfter(void)
{
  series(2, 3000);
  return 0;
}

/* As daemons do: twice a child, every descriptor closed, and others opened in their places. */
static int stageDaemon(void)
{
  char path[256];
  pid_t child;
  int fd, i;

  series(1, 100);
  child = fork();
  if (child != 0) {
    await(child);
    return 0;
  }
  (void)setsid();
  child = fork();
  if (child != 0) {
    await(child); /* only so that the test knows when all is done */
    leave(0);
  }
  series(2, 10);
  EventFlush();
  (void)chdir("/");
  for (fd = 3; fd < 1024; ++fd)
    (void)close(fd);
  (void)snprintf(path, sizeof path, "%s/foreign", folder);
  fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
  for (i = 190; i < 260; ++i)
    (void)dup2(fd, i);
  series(3, 5000);
  exit(0);
}

/* stage -- run one of the above as a program, and read its log */
static void stage(Decode decode, const char *name, int expected)
{
  char *arguments[] = {(char *)self, (char *)name, folder, NULL};
  static char *bytes;
  struct stat status;
  pid_t child;
  int fd, its;

  (void)unlink(logPath);
  child = fork();
  if (child == 0) {
    setenv("PAWPRINT_LOG", logPath, 1);
    execv(self, arguments);
    _exit(127);
  }
  waitpid(child, &its, 0);
  TapIs(its, expected, "%s: it ended as it should", name);
  fd = open(logPath, O_RDONLY);
  memset(decode, 0, sizeof *decode);
  if (TapOk(fd >= 0 && fstat(fd, &status) == 0, "%s: there is a log", name)) {
    free(bytes);
    bytes = malloc((Size)status.st_size + 1);
    (void)!read(fd, bytes, (Size)status.st_size);
    DecodeBytes(decode, bytes, (Size)status.st_size);
    DecodeSound(decode, name);
    TapOk((status.st_mode & 0777) == 0600, "%s: which nobody else may read", name);
  }
  (void)close(fd);
}

/* regions -- files that were left behind by processes of this log */
static Count regions(void)
{
  char command[512];
  FILE *pipe;
  int n = -1;

  (void)snprintf(command, sizeof command,
                 "n=0; for f in /dev/shm/pawprint-[0-9a-f]*[0-9] %s.region-*; do [ -f \"$f\" ] && "
                 "head -c 2048 \"$f\" | grep -qaF '%s' && "
                 "n=$((n+1)); done 2>/dev/null; echo $n", logPath, logPath);
  pipe = popen(command, "r");
  if (pipe == NULL || fscanf(pipe, "%d", &n) != 1)
    n = -1;
  if (pipe != NULL)
    pclose(pipe);
  return (Count)n;
}

static Count processes(Decode d)
{
  Count n = 0;
  Index i;

  for (i = 0; i < d->blocks; ++i)
    n += i == 0 || d->block[i].header.process != d->block[i - 1].header.process;
  return n;
}

/* stageNamed -- be the program that a stage runs */
static int stageNamed(const char *name)
{
  static const struct {
    const char *name;
    int (*run)(void);
  } stages[] = {{"fork", stageFork}, {"first", stageFirst}, {"handler", stageHandler}, {"chain", stageChain},
                {"clone", stageClone}, {"vfork", stageVfork}, {"exec", stageExec}, {"after", stageAfter},
                {"daemon", stageDaemon}};
  Index i;

  self = "/proc/self/exe";
  for (i = 0; i < ARRAY_LENGTH(stages); ++i)
    if (strcmp(stages[i].name, name) == 0)
      return stages[i].run();
  return 1;
}

/* testChildren -- ways to have a child that goes on as the same program */
static void testChildren(void)
{
  DecodeStruct d;
  Bool good;
  Index i;

  stage(&d, "fork", 0);
  for (good = TRUE, i = 0; i < 4; ++i)
    good &= EmitSeries(&d, 10 + i, 5000) && EmitSeries(&d, 1 + i, 100);
  TapOk(good && EmitSeries(&d, 50, 3000), "fork: each event of parent and children, once");
  TapIs(processes(&d), 5, "fork: children are processes of their own");
  DecodeFree(&d);

  stage(&d, "first", 0);
  TapOk(EmitSeries(&d, 1, 100) && EmitSeries(&d, 2, 100) && EmitSeries(&d, 3, 100),
        "fork: a thread of the child that emits before the one that forked");
  DecodeFree(&d);

  stage(&d, "handler", 0);
  for (good = TRUE, i = 0; i < 30; ++i)
    good &= EmitSeries(&d, 2 + i, 100);
  TapOk(good, "fork in a signal handler that interrupts an event");
  DecodeFree(&d);

  stage(&d, "chain", 0);
  for (good = TRUE, i = 0; i < 12; ++i)
    good &= EmitSeries(&d, 1 + i, 10);
  TapOk(good, "fork: a chain of children");
  DecodeFree(&d);

  stage(&d, "clone", 0);
  TapOk(EmitSeries(&d, 1, 100) && EmitSeries(&d, 2, 3000) && EmitSeries(&d, 3, 3000) && processes(&d) == 2,
        "clone: a child that no library was told of");
  DecodeFree(&d);
}

/* testPrograms -- ways to another program, and a daemon */
static void testPrograms(void)
{
  char path[256];
  struct stat status;
  DecodeStruct d;

  stage(&d, "vfork", 0);
  TapOk(EmitSeries(&d, 1, 100) && EmitSeries(&d, 2, 1) && EmitSeries(&d, 3, 100),
        "vfork, posix_spawn, system: nothing twice, nothing lost");
  DecodeFree(&d);

  stage(&d, "exec", 0);
  TapOk(EmitSeries(&d, 1, 3000) && EmitSeries(&d, 2, 3000), "exec: what the program before left behind is in the log");
  TapIs(processes(&d), 2, "exec: the program after it is a process of its own");
  DecodeFree(&d);

  stage(&d, "daemon", 0);
  TapOk(EmitSeries(&d, 1, 100) && EmitSeries(&d, 2, 10) && EmitSeries(&d, 3, 5000),
        "a daemon that closes what it does not know is recorded on");
  DecodeFree(&d);
  (void)snprintf(path, sizeof path, "%s/foreign", folder);
  TapOk(stat(path, &status) == 0 && status.st_size == 0, "and its own files, in the same places, are never written to");
  (void)unlink(path);
}

int main(int argc, char **argv)
{
  if (argc > 2)
    (void)snprintf(folder, sizeof folder, "%s", argv[2]);
  if (argc > 1)
    return stageNamed(argv[1]);
  self = argv[0];
  (void)snprintf(folder, sizeof folder, "/tmp/pawprint-fork-XXXXXX");
  if (mkdtemp(folder) == NULL)
    return 1;
  (void)snprintf(logPath, sizeof logPath, "%s/fork.paw", folder);
  testChildren();
  testPrograms();
  (void)unlink(logPath);
  TapIs(regions(), 0, "nothing is left behind");
  (void)rmdir(folder);
  return TapDone();
}

#endif
