/* unrecordedtest.c -- who is announced and seen is counted once, whichever comes first and however long it takes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/unrecorded.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/region.h"
#include "tap.h"

#define MS(n) ((uint64_t)(n) * 1000000u)

enum { testNOBODY = 0x7ffffff0 }; /* no process has such a number */

static Unrecorded absent;
static Count told;

static void tell(void *data, const char *path, const char *reason, Count count)
{
  (void)data;
  printf("# %s: %s (%zu)\n", path, reason == NULL ? "its file" : reason, count);
  told += count;
}

static Count counted(uint64_t now)
{
  told = 0;
  UnrecordedPoll(absent, now, TRUE);
  UnrecordedTell(absent, tell, NULL);
  UnrecordedDestroy(absent);
  absent = NULL;
  return told;
}

static void begin(void)
{
  if (UnrecordedCreate(&absent, NULL) != ResOK)
    exit(1);
}

/* testQueued -- the note was in the queue when the process was seen */
static void testQueued(void)
{
  begin();
  UnrecordedSeen(absent, testNOBODY, "/nonexistent/static", TRUE, MS(1));
  UnrecordedExec(absent, testNOBODY, "/nonexistent/static", 0, TRUE, MS(2));
  TapIs(counted(MS(3)), 1, "a process that is seen, and then announced, is counted once");

  begin();
  UnrecordedExec(absent, testNOBODY, "/nonexistent/static", 0, TRUE, MS(1));
  UnrecordedSeen(absent, testNOBODY, "/nonexistent/static", TRUE, MS(2));
  TapIs(counted(MS(3)), 1, "and one that is announced, and then seen");

  begin();
  UnrecordedExec(absent, testNOBODY, "/nonexistent/first", 0, TRUE, MS(1));
  UnrecordedMet(absent, testNOBODY, "/nonexistent/library", MS(2));
  UnrecordedExec(absent, testNOBODY, "/nonexistent/second", 0, TRUE, MS(3));
  TapIs(counted(MS(4)), 2, "one that was two such programs, with one that is recorded between them, is counted twice");

  begin();
  UnrecordedSeen(absent, testNOBODY, "/nonexistent/second", TRUE, MS(1));
  UnrecordedExec(absent, testNOBODY, "/nonexistent/first", 0, TRUE, MS(2));
  UnrecordedMet(absent, testNOBODY, "/nonexistent/library", MS(3));
  UnrecordedExec(absent, testNOBODY, "/nonexistent/second", 0, TRUE, MS(4));
  TapIs(counted(MS(5)), 2, "also if the second was seen while all notes of it were in the queue");
}

/* fork_ -- a child that has the library, and becomes `sleep` when a byte comes */
static pid_t fork_(int *byteReturn)
{
  char folder[] = "/tmp/pawprint-XXXXXX", path[sizeof folder + 20], c;
  int pipes[2], fd;
  pid_t pid;

  if (mkdtemp(folder) == NULL || pipe2(pipes, O_CLOEXEC) != 0)
    exit(1);
  (void)snprintf(path, sizeof path, "%s/libpawprint.so", folder);
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0)
    exit(1);
  pid = fork();
  if (pid == 0) {
    (void)close(pipes[1]);
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED && write(fd, "x", 1) == 1 &&
        read(pipes[0], &c, 1) == 1)
      (void)execlp("sleep", "sleep", "60", (char *)NULL);
    _exit(1);
  }
  while (pread(fd, &c, 1, 0) != 1 || c != 'x') /* until it is mapped */
    ;
  (void)close(fd);
  (void)close(pipes[0]);
  (void)unlink(path);
  (void)rmdir(folder);
  *byteReturn = pipes[1];
  return pid;
}

/* program -- what the process runs, once that is not what we run */
static Bool program(char *path, Size size, pid_t pid)
{
  char link[64], ours[4096] = "";
  ssize_t n;
  int i;

  (void)snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
  (void)!readlink("/proc/self/exe", ours, sizeof ours - 1);
  for (i = 0; i < 2000; ++i) {
    n = readlink(link, path, size - 1);
    path[n > 0 ? n : 0] = '\0';
    if (n > 0 && strcmp(path, ours) != 0)
      return TRUE;
    (void)usleep(5000);
  }
  return FALSE;
}

/* testSlow -- long after its note the process has not become the program yet */
static void testSlow(unsigned lack, Bool certain, const char *what)
{
  char path[4096];
  int byte;
  pid_t pid = fork_(&byte);

  begin();
  UnrecordedExec(absent, pid, "/bin/sleep", lack, certain, MS(1));
  UnrecordedPoll(absent, MS(1000), FALSE);
  TapOk(write(byte, "x", 1) == 1 && program(path, sizeof path, pid), "%s becomes the program a second after its note",
        what);
  UnrecordedSeen(absent, pid, path, certain, MS(1100));
  UnrecordedPoll(absent, MS(2000), FALSE);
  UnrecordedSeen(absent, pid, path, certain, MS(2100));
  UnrecordedPoll(absent, MS(9000), FALSE);
  TapIs(counted(MS(9100)), 1, "and is counted once");
  (void)close(byte);
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);

  pid = fork_(&byte);
  begin();
  UnrecordedExec(absent, pid, "/bin/sleep", lack, certain, MS(1));
  UnrecordedPoll(absent, MS(1000), FALSE);
  (void)close(byte);
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);
  TapIs(counted(MS(9100)), 1, "one that has ended by the next look is counted, too");
}

/* testEarly -- a process that was only seen is judged, and loads the library all the same, behind a debugger's stop */
static void testEarly(void)
{
  char path[4096];
  int byte;
  pid_t pid = fork_(&byte);

  begin();
  TapOk(write(byte, "x", 1) == 1 && program(path, sizeof path, pid), "a process that nobody announced");
  UnrecordedSeen(absent, pid, path, FALSE, MS(1));
  UnrecordedPoll(absent, MS(9000), FALSE);
  told = 0;
  UnrecordedTell(absent, tell, NULL);
  TapIs(told, 1, "is judged");
  UnrecordedMet(absent, pid, path, MS(9001));
  TapOk(UnrecordedCheck(absent), "and comes to record itself");
  TapIs(counted(MS(9100)), 0, "so it is not counted");
  (void)close(byte);
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);
}

int main(void)
{
  testQueued();
  testEarly();
  testSlow(0, TRUE, "one to which nothing can be loaded");
  testSlow(RegionLackLIBRARY, FALSE, "one that is not given the library");
  return TapDone();
}
