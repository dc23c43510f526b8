/* final.c -- a program that is killed at its own end
 *
 *     final CALL
 *
 * Allocates, and ends.  From there on a system call kills it that the library makes then, at CALL: `header', before it
 * writes a header block, or `remove', before it removes a file.  5: calls cannot be forbidden here.
 *
 * Tests: test/recover/remains.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  unsigned call = argc > 1 && strcmp(argv[1], "remove") == 0 ? SYS_unlinkat : SYS_getppid;
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  void *volatile p;
  int i;

  for (i = 0; i < 50000; ++i) {
    p = malloc(79);
    free(p);
  }
  /* The library does not see it that way; it would keep to it. */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    return 5;
  return 0;
}
