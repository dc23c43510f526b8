/* steps -- a program that becomes another one, killed at a given system call
 *
 *     steps CALL [orphan]   runs `steps`, without an argument, as a child, and kills it at its CALL'th system call
 *                           behind its first exec; `orphan`: kills its own parent, eventrec, before.  Behind what
 *                           the child wrote it writes the child's number, and whether it was killed or had ended.
 *                           Status 77: nothing can be traced here
 *     steps                 allocates stepsCOUNT objects of stepsFIRST bytes, writes "1", and becomes
 *     steps again           which allocates as many of twice that size, and writes "2"
 *
 * Tests: test/emit/steps.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { stepsCOUNT = 100, stepsFIRST = 1001, stepsNOTHING = 77 };

static void *volatile stepsKept;

/* stepsAllocate -- nothing of this is a system call, but for the allocator's own */
static void stepsAllocate(size_t size, const char *mark)
{
  int i;

  for (i = 0; i < stepsCOUNT; ++i)
    stepsKept = malloc(size);
  if (write(STDOUT_FILENO, mark, 1) != 1)
    _exit(2);
}

static int stepsOnce(const char *program)
{
  stepsAllocate(stepsFIRST, "1");
  execl(program, program, "again", (char *)NULL);
  return 2;
}

/* stepsNext -- go on to the next system call, entered or left; FALSE: the child is no more */
static int stepsNext(pid_t child)
{
  int status;

  return ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status);
}

static int stepsKill(const char *program, long call)
{
  pid_t child = fork();
  int status;
  long i;

  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
      _exit(stepsNOTHING);
    execl(program, program, (char *)NULL);
    _exit(2);
  }
  if (child < 0 || waitpid(child, &status, 0) != child)
    return 2;
  if (!WIFSTOPPED(status)) /* it stops at its exec */
    return WEXITSTATUS(status);
  /* A call stops as it is entered and as it is left: the child dies at its entry, but for those behind an exec, which
   * has a third stop. */
  for (i = 1; i < 2 * call && stepsNext(child); ++i)
    ;
  if (i == 2 * call && stepsNext(child)) {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
  }
  printf(" %ld %s\n", (long)child, i < 2 * call ? "ended" : "killed");
  return 0;
}

int main(int argc, char *argv[])
{
  pid_t parent = getppid();

  if (argc < 2)
    return stepsOnce(argv[0]);
  if (strcmp(argv[1], "again") == 0) {
    stepsAllocate(2 * stepsFIRST, "2");
    return 0;
  }
  if (argc > 2)
    for (kill(parent, SIGKILL); getppid() == parent; )
      (void)usleep(1000);
  return stepsKill(argv[0], atol(argv[1]));
}
