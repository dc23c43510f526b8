/* standard.c -- descriptors 0, 1 and 2 are not given to files of ours
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

Res StandardHold(void)
{
  int fd, held;

  for (fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
      continue;
    /* The wrong way round: who reads from it or writes to it is told EBADF, and nothing is lost silently.  All lower ones
     * are there, so it gets this number. */
    held = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (held < 0)
      return ResIO;
  }
  return ResOK;
}
