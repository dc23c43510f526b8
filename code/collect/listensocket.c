/* listensocket.c -- the socket at which a listener waits
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/listensocket.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { listenBACKLOG = 1024 };

/* listenStale -- remove a socket's file that nobody listens at any more; FALSE: somebody does, or it is no socket */
static Bool listenStale(Address address)
{
  struct stat status;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), result, error;

  if (fd < 0 || lstat(address->name.local.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    if (fd >= 0)
      (void)close(fd);
    return FALSE;
  }
  result = connect(fd, &address->name.any, address->length);
  error = errno;
  (void)close(fd);
  return result != 0 && error == ECONNREFUSED && unlink(address->name.local.sun_path) == 0;
}

Bool ListenSocketOpen(ListenSocket its)
{
  Address address = &its->address;
  struct stat status;
  mode_t mask;
  int one = 1, result;

  its->fd = socket(address->name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (its->fd < 0)
    return FALSE;
  if (!AddressIsLocal(address))
    (void)setsockopt(its->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  mask = umask(0177); /* only its owner may connect, from the first moment on */
  result = bind(its->fd, &address->name.any, address->length);
  if (result != 0 && errno == EADDRINUSE && AddressIsLocal(address)) {
    result = listenStale(address) ? bind(its->fd, &address->name.any, address->length) : -1;
    errno = EADDRINUSE;
  }
  (void)umask(mask);
  if (result != 0 || listen(its->fd, listenBACKLOG) != 0)
    return FALSE;
  if (AddressIsLocal(address) && stat(address->name.local.sun_path, &status) == 0) {
    its->named = TRUE;
    its->device = status.st_dev;
    its->inode = status.st_ino;
  }
  address->length = sizeof address->name;
  return AddressIsLocal(address) || getsockname(its->fd, &address->name.any, &address->length) == 0;
}

void ListenSocketClose(ListenSocket its)
{
  struct stat status;

  if (its->fd >= 0)
    (void)close(its->fd);
  if (its->named && stat(its->address.name.local.sun_path, &status) == 0 && (uint64_t)status.st_dev == its->device &&
      (uint64_t)status.st_ino == its->inode)
    (void)unlink(its->address.name.local.sun_path);
}
