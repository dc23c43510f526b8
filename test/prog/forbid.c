/* seccomp.c -- a program that forbids itself system calls by filters of seccomp, and then allocates
 *
 *     forbid HOW WHAT [TIMES]
 *
 * HOW: `prctl' or `syscall', by which the filters are installed.  WHAT: `most', all but what an ordinary allocator
 * needs and a few more are killed for; `all', all but write and exit; `bad', a filter that is nowhere, which is
 * refused; `threads', as `most', and a thread allocates that begins afterwards; `fork', as `most', and a child
 * allocates, which may not be asked who it is; a number: of the one system call that is killed for.  Then TIMES
 * allocations of 77 bytes, and their frees.
 *
 * 5: the program has come to its end; 0: filters are not to be had here
 *
 * Tests: test/malloc/forbid.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long times = 1000;

static int install(const char *how, const struct sock_fprog *program)
{
  if (strcmp(how, "prctl") == 0)
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, program);
}

/* allow -- a filter that kills for all but `count' calls */
static int allow(const char *how, const int *calls, unsigned count)
{
  struct sock_filter filter[64];
  struct sock_fprog program = {(unsigned short)(count + 3), filter};
  unsigned i;

  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (i = 0; i < count; ++i)
    filter[i + 1] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], (unsigned char)(count - i), 0);
  filter[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return install(how, &program);
}

/* forbid -- one that kills for one call */
static int forbid(const char *how, int call)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

  return install(how, &program);
}

/* bad -- is a filter that cannot be read refused as ever? */
static int bad(const char *how)
{
  struct sock_fprog nowhere = {4, (struct sock_filter *)8};

  if (install(how, &nowhere) != -1 || errno != EFAULT || install(how, (void *)8) != -1 || errno != EFAULT)
    exit(1);
  return 0;
}

static int most(const char *how)
{
  static const int calls[] = {
    SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_mmap, SYS_munmap, SYS_brk, SYS_futex, SYS_rt_sigreturn,
    SYS_rt_sigprocmask, SYS_mprotect, SYS_madvise, SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_wait4,
    SYS_seccomp, SYS_prctl,
  };

  return allow(how, calls, sizeof calls / sizeof calls[0]);
}

static int all(const char *how)
{
  static const int calls[] = {SYS_write, SYS_exit, SYS_exit_group};

  return allow(how, calls, sizeof calls / sizeof calls[0]);
}

static void *work(void *unused)
{
  void *volatile p;
  long i;

  for (i = 0; i < times; ++i) {
    p = malloc(77);
    free(p);
  }
  return unused;
}

int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "prctl", *what = argc > 2 ? argv[2] : "most";
  pthread_t thread;
  int failed;

  times = argc > 3 ? atol(argv[3]) : times;
  free(malloc(100000));
  failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           (what[0] >= '0' && what[0] <= '9' ? forbid(how, atoi(what))
            : strcmp(what, "all") == 0       ? all(how)
            : strcmp(what, "bad") == 0       ? bad(how)
                                             : most(how)) != 0;
  if (failed)
    return 0;
  if (strcmp(what, "threads") == 0) {
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
      return 1;
  } else if (strcmp(what, "fork") == 0) {
    pid_t child = fork();
    int status = 1;
    work(NULL);
    if (child == 0)
      return 6;
    if (wait4(child, &status, 0, NULL) != child || WEXITSTATUS(status) != 6)
      return 1;
  } else {
    work(NULL);
  }
  return 5;
}
