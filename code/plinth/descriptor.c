/* descriptor.c -- a descriptor of ours in a program that closes what it does not know
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plinth/quiet.h"

/* Descriptors below this are what shells and programs count on. */
enum { descriptorMIN = 200 };

static int descriptorHigh(int fd)
{
  long high = QuietCall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, descriptorMIN);

  if (high < 0)
    return fd;
  (void)QuietCall(SYS_close, fd);
  return (int)high;
}

/* descriptorStatus -- fstat, and errno as it was */
static Bool descriptorStatus(int fd, struct stat *status)
{
  int error = errno;
  Bool good = fstat(fd, status) == 0;

  errno = error;
  return good;
}

Res DescriptorTake(Plinth plinth, int fd)
{
  struct stat status;

  if (!descriptorStatus(fd, &status))
    return ResIO;
  plinth->fd = descriptorHigh(fd);
  plinth->device = status.st_dev;
  plinth->inode = status.st_ino;
  return ResOK;
}

Bool DescriptorOurs(Plinth plinth, struct stat *status)
{
  return plinth->fd >= 0 && descriptorStatus(plinth->fd, status) && status->st_dev == plinth->device &&
         status->st_ino == plinth->inode;
}

void DescriptorClose(Plinth plinth)
{
  struct stat status;

  if (DescriptorOurs(plinth, &status))
    (void)QuietCall(SYS_close, plinth->fd);
  plinth->fd = -1;
}
