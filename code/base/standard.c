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
    /* Standard input can only be written and the others can only be read, so that using them fails (EBADF), as if they were
     * closed.  open returns the lowest free number, which is this one. */
    held = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (held < 0)
      return ResIO;
  }
  return ResOK;
}
