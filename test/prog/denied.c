/* denied.c -- emits while the system gives it no memory, and does not let it wait
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * denied N    Emits one UserWord, forbids itself the calls that get memory and that wait (they fail), and emits N - 1
 *             more.
 * Status 77: it may not.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "emit/event.h"

#define DENY(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

int main(int argc, char **argv)
{
  static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    DENY(SYS_futex), DENY(SYS_mmap), DENY(SYS_madvise), DENY(SYS_fallocate), DENY(SYS_sendmsg), DENY(SYS_openat),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  unsigned long i, n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

  EVENT_WW(UserWord, 1, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  for (i = 1; i < n; ++i)
    EVENT_WW(UserWord, 1, i);
  return 0;
}
