/* demangle.c -- names of C++ and Rust as people write them, by c++filt
 *
 * A line is shorter than what a socket takes at once, and the next one is written when its answer has come: neither
 * side can wait for the other to read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  demangleWAIT = 5000,      /* ms for one name */
  demangleLONG = 1 << 22,   /* bytes of an answer that are read, although it is too long to be shown */
  demangleFailuresMAX = 4,  /* names at which it may fail before it is not asked again: each may cost demangleWAIT */
  demangleFREE = 2000,      /* ms of processor time that all names may take, */
  demangleNAME = 1          /* and that each may take besides; c++filt needs some microseconds */
};

extern char **environ;

/* demangleSpawn -- start it with `fd` as its input and output; 0: that failed */
static pid_t demangleSpawn(int fd)
{
  /* -p leaves out parameters: they make lines long, and file and line tell functions apart. */
  static char name[] = "c++filt", bare[] = "-p";
  char *arguments[] = {name, bare, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t defaults;
  pid_t pid = 0;

  if (posix_spawn_file_actions_init(&actions) != 0)
    return 0;
  if (posix_spawnattr_init(&attributes) == 0) {
    /* A group of its own: a Ctrl-C at the terminal is for us. */
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    if (posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments, environ) != 0)
      pid = 0;
    (void)posix_spawnattr_destroy(&attributes);
  }
  (void)posix_spawn_file_actions_destroy(&actions);
  return pid;
}

static void demangleStart(Demangler demangler)
{
  int pair[2];

  demangler->tried = TRUE;
  demangler->cpu = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return;
  demangler->pid = demangleSpawn(pair[1]);
  (void)close(pair[1]);
  demangler->fd = pair[0];
  if (demangler->pid == 0)
    (void)close(pair[0]);
}

void DemangleFinish(Demangler demangler)
{
  if (demangler->pid == 0)
    return;
  (void)close(demangler->fd);
  (void)kill(demangler->pid, SIGKILL);
  while (waitpid(demangler->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  demangler->pid = 0;
}

/* demangleRead -- a line, without its end, in `room`, which is empty if the line has no room there; FALSE: none came.
 * A short name may repeat parts of itself, and stand for one that is much longer: such a line is read to its end, so
 * that the next one answers the next name. */
static Bool demangleRead(char *room, int fd)
{
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  Size length = 0, total = 0;

  while (total < demangleLONG) {
    ssize_t n;
    int answer = poll(&ready, 1, demangleWAIT);
    if (answer < 0 && errno == EINTR)
      continue;
    if (length == DemangleMAX)
      length = 0;
    n = answer > 0 ? read(fd, room + length, DemangleMAX - length) : 0;
    if (n <= 0)
      return FALSE;
    length += (Size)n;
    total += (Size)n;
    if (room[length - 1] == '\n') {
      room[total <= DemangleMAX ? length - 1 : 0] = '\0';
      return TRUE;
    }
  }
  return FALSE;
}

Bool DemangleMay(const char *name)
{
  return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

/* demangleDear -- has it taken too much processor time for so many names?  Names that repeat parts of themselves may
 * take half a second each. */
static Bool demangleDear(Demangler demangler)
{
  struct timespec cpu;
  clockid_t clock;
  uint64_t now;

  if (clock_getcpuclockid(demangler->pid, &clock) != 0 || clock_gettime(clock, &cpu) != 0)
    return FALSE;
  now = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
  demangler->spent += now - demangler->cpu;
  demangler->cpu = now;
  return demangler->spent / 1000000 > demangleFREE + ++demangler->names * demangleNAME;
}

const char *Demangle(char *room, Demangler demangler, const char *name)
{
  Size length = strnlen(name, DemangleMAX);
  char line[DemangleMAX];

  if (!DemangleMay(name) || length >= DemangleMAX - 1 || memchr(name, '\n', length) != NULL)
    return name;
  if (!demangler->tried)
    demangleStart(demangler);
  if (demangler->pid == 0)
    return name;
  memcpy(line, name, length);
  line[length] = '\n';
  if (send(demangler->fd, line, length + 1, MSG_NOSIGNAL) != (ssize_t)(length + 1) ||
      !demangleRead(room, demangler->fd)) {
    /* The name may be the fault: the next one has another c++filt. */
    DemangleFinish(demangler);
    demangler->tried = ++demangler->failures >= demangleFailuresMAX;
    return name;
  }
  if (demangleDear(demangler))
    DemangleFinish(demangler);
  return room[0] != '\0' ? room : name;
}
