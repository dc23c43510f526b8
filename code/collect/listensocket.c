/* listensocket.c -- the socket at which a listener waits
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/listensocket.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/place.h"

enum { listenBACKLOG = 1024 };

/* listenName -- the name of the socket's file in its folder */
static const char *listenName(ListenSocket its)
{
  const char *path = its->address.name.local.sun_path, *slash = strrchr(path, '/');

  return slash != NULL ? slash + 1 : path;
}

/* listenThere -- the address by which its file is reached in the folder that was opened, whatever has the folder's name
 * now; where the system gives none, or it is too long, the one that was typed */
static socklen_t listenThere(struct sockaddr_un *there, ListenSocket its)
{
  char path[sizeof there->sun_path + 32];

  *there = its->address.name.local;
  if (snprintf(path, sizeof path, "/proc/self/fd/%d/%s", its->folder, listenName(its)) >= (int)sizeof there->sun_path ||
      faccessat(AT_FDCWD, "/proc/self/fd", X_OK, 0) != 0)
    return its->address.length;
  (void)strcpy(there->sun_path, path);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
}

/* listenStatus -- what has the socket's name; FALSE: nothing has */
static Bool listenStatus(struct stat *statusReturn, ListenSocket its)
{
  return fstatat(its->folder, listenName(its), statusReturn, AT_SYMLINK_NOFOLLOW) == 0;
}

/* listenStale -- remove a socket's file that nobody listens at any more; FALSE: somebody does, or it is no socket */
static Bool listenStale(ListenSocket its)
{
  struct sockaddr_un there;
  socklen_t length = listenThere(&there, its);
  struct stat status;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), result, error;

  if (fd < 0 || !listenStatus(&status, its) || !S_ISSOCK(status.st_mode)) {
    if (fd >= 0)
      (void)close(fd);
    return FALSE;
  }
  result = connect(fd, (struct sockaddr *)&there, length);
  error = errno;
  (void)close(fd);
  return result != 0 && error == ECONNREFUSED && unlinkat(its->folder, listenName(its), 0) == 0;
}

/* listenLocal -- the same as bind, for a file that only its owner may connect to, from the first moment on */
static int listenLocal(ListenSocket its)
{
  struct sockaddr_un there;
  socklen_t length;
  struct stat status;
  const char *name;
  mode_t mask;
  int result;

  its->folder = PlaceFolder(&name, its->address.name.local.sun_path);
  if (its->folder < 0)
    return -1;
  length = listenThere(&there, its);
  mask = umask(0177);
  result = bind(its->fd, (struct sockaddr *)&there, length);
  if (result != 0 && errno == EADDRINUSE) {
    result = listenStale(its) ? bind(its->fd, (struct sockaddr *)&there, length) : -1;
    errno = EADDRINUSE;
  }
  (void)umask(mask);
  if (result == 0 && listenStatus(&status, its)) {
    its->named = TRUE;
    its->device = status.st_dev;
    its->inode = status.st_ino;
  }
  return result;
}

Bool ListenSocketOpen(ListenSocket its)
{
  Address address = &its->address;
  int one = 1, result;

  its->folder = -1;
  its->fd = socket(address->name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (its->fd < 0)
    return FALSE;
  if (!AddressIsLocal(address))
    (void)setsockopt(its->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  result = AddressIsLocal(address) ? listenLocal(its) : bind(its->fd, &address->name.any, address->length);
  if (result != 0 || listen(its->fd, listenBACKLOG) != 0)
    return FALSE;
  address->length = sizeof address->name;
  return AddressIsLocal(address) || getsockname(its->fd, &address->name.any, &address->length) == 0;
}

void ListenSocketClose(ListenSocket its)
{
  struct stat status;

  if (its->fd >= 0)
    (void)close(its->fd);
  if (its->named && listenStatus(&status, its) && (uint64_t)status.st_dev == its->device &&
      (uint64_t)status.st_ino == its->inode)
    (void)unlinkat(its->folder, listenName(its), 0);
  if (its->folder >= 0)
    (void)close(its->folder);
}
