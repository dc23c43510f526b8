/* short PATH -- PROGRAM...     runs it; each write to a file of that name, by whichever of its processes, is cut to a
 *                              half, as the system may do, but for one that follows such a one and is as long: it is the same
 *
 *
 * short PATH N PROGRAM...      one of N such writes is cut to some part, and its process killed within it; on standard
 *                              error, first of all, the number of the program's process
 *
 * Says on standard error how many were cut; the status is the program's, or 77 if nobody may be traced here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { shortSKIP = 77, shortLEAST = 64 };

#if defined(__x86_64__) && defined(PTRACE_GET_SYSCALL_INFO)

static const char *shortPath;
static uint64_t shortLast;
static unsigned shortCut;
static unsigned shortOneOf; /* 0: nobody is killed */
static pid_t shortDoomed;   /* a thread within the write that is its last; 0: none */

static int shortIs(pid_t tid, uint64_t fd)
{
  char link[64], path[4096];
  ssize_t length;

  (void)snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)tid, (int)fd);
  length = readlink(link, path, sizeof path - 1);
  if (length < 0)
    return 0;
  path[length] = '\0';
  return strcmp(path, shortPath) == 0;
}

/* shortLength -- how much of a write of so many bytes is to be made */
static uint64_t shortLength(uint64_t length, pid_t tid)
{
  if (shortOneOf == 0) {
    shortLast = length != shortLast ? length : 0;
    return shortLast == 0 ? length : length / 2;
  }
  if (shortDoomed != 0 || (unsigned)rand() % shortOneOf != 0)
    return length;
  shortDoomed = tid;
  return 1 + (uint64_t)rand() % (length - 1);
}

/* shortCall -- the thread is about to make a system call, or has made one */
static void shortCall(pid_t tid)
{
  struct __ptrace_syscall_info info;
  struct user_regs_struct registers;
  uint64_t length;

  if (tid == shortDoomed) {
    (void)kill(tid, SIGKILL);
    shortDoomed = 0;
    return;
  }
  if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY ||
      info.entry.nr != SYS_write || info.entry.args[2] < shortLEAST || !shortIs(tid, info.entry.args[0]))
    return;
  length = shortLength(info.entry.args[2], tid);
  if (length == info.entry.args[2] || ptrace(PTRACE_GETREGS, tid, 0, &registers) != 0)
    return;
  registers.rdx = length;
  shortCut += ptrace(PTRACE_SETREGS, tid, 0, &registers) == 0;
}

/* shortRun -- until the program has ended; its status */
static int shortRun(pid_t program)
{
  int status, result = 0;
  pid_t tid;

  while ((tid = waitpid(-1, &status, __WALL)) > 0) {
    int its = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    if (!WIFSTOPPED(status)) {
      shortDoomed = tid == shortDoomed ? 0 : shortDoomed;
      if (tid == program)
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    if (its == (SIGTRAP | 0x80))
      shortCall(tid);
    if (its == (SIGTRAP | 0x80) || status >> 16 != 0 || its == SIGSTOP)
      its = 0;
    (void)ptrace(PTRACE_SYSCALL, tid, 0, its);
  }
  return result;
}

int main(int argc, char **argv)
{
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  pid_t program;
  int status;

  if (argc < 4)
    return 2;
  shortPath = argv[1];
  shortOneOf = (unsigned)atoi(argv[2]);
  program = fork();
  if (program == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0 || raise(SIGSTOP) != 0)
      _exit(shortSKIP);
    (void)execvp(argv[3], argv + 3);
    _exit(127);
  }
  if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status) ||
      ptrace(PTRACE_SETOPTIONS, program, 0, options) != 0 || ptrace(PTRACE_SYSCALL, program, 0, 0) != 0)
    return shortSKIP;
  if (shortOneOf != 0)
    (void)fprintf(stderr, "short: %d\n", (int)program);
  srand((unsigned)program);
  status = shortRun(program);
  (void)fprintf(stderr, "short: %u writes\n", shortCut);
  return status;
}

#else

int main(void)
{
  return shortSKIP;
}

#endif
