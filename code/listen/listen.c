/* listen.c -- receiving logs over a socket: who may come in, for how long, and the end; and asking a listener
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "listen/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/say.h"
#include "collect/regionmaker.h"
#include "listen/listenlink.h"
#include "log/log.h"
#include "plinth/address.h"
#include "plinth/clock.h"
#include "plinth/link.h"
#include "plinth/rawsyscall.h"
#include "plinth/socket.h"

enum {
  listenBACKLOG = 1024,
  askPatience = 2,       /* s */
  listenRoundMAX = 1000, /* ms of one poll */
  listenNap = 20,        /* ms, where nobody can be let in */
  listenTail = 1000      /* ms at the end, to read what has come in */
};

/* ---- The socket ---- */

/* The socket at which a listener waits.  The file of a UNIX socket has mode 0600 from the moment it exists, takes the
 * place of one that nobody listens at any more, and of nothing else, and is removed at the end if it is still ours. */
typedef struct ListenSocketStruct {
  int fd;                /* -1: not open */
  AddressStruct address;
  int folder;            /* where its file is; -1: it has none, or the folder cannot be opened */
  Bool named;            /* there is a file to be removed, which was this: */
  uint64_t device, inode;
} ListenSocketStruct, *ListenSocket;

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

/* listenStale -- remove the file of a socket at which no process listens any more; FALSE: one does, or the file is no
 * socket */
static Bool listenStale(ListenSocket its)
{
  struct sockaddr_un there;
  socklen_t length = listenThere(&there, its);
  struct stat status;
  int fd = listenStatus(&status, its) && S_ISSOCK(status.st_mode)
             ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
  Bool stale = fd >= 0 && connect(fd, (struct sockaddr *)&there, length) != 0 && errno == ECONNREFUSED;

  if (fd >= 0)
    (void)close(fd);
  return stale && unlinkat(its->folder, listenName(its), 0) == 0;
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

  its->folder = FolderOpen(&name, its->address.name.local.sun_path);
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

/* listenOpen -- listen at `address`, which then has the real port; FALSE: errno says why */
static Bool listenOpen(ListenSocket its)
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

static void listenClose(ListenSocket its)
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

/* ---- Connections ---- */

static volatile sig_atomic_t listenEnded; /* for the signal handler alone */

static void listenEnd(int signal)
{
  UNUSED(signal);
  listenEnded = 1;
}

/* listenFolder -- open the folder in which the files are to be; errno says why it failed */
static Bool listenFolder(Receiver receiver)
{
  const char *slash = strrchr(receiver->prefix, '/');
  char folder[PATH_MAX];

  (void)snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - receiver->prefix) + 1,
                 slash == NULL ? "." : receiver->prefix);
  receiver->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return receiver->folder >= 0;
}

/* listenPrefix -- how the files' names begin; errno says why it failed */
static Bool listenPrefix(Receiver receiver)
{
  const char *output = receiver->listen->output != NULL ? receiver->listen->output : "pawprint", *slash;
  Size length = strlen(output), size = sizeof receiver->prefix;
  struct stat status;
  int written;

  if (stat(output, &status) == 0 && S_ISDIR(status.st_mode)) {
    slash = output[length - 1] == '/' ? "" : "/";
    written = snprintf(receiver->prefix, size, "%s%spawprint", output, slash);
  } else if (length == 0 || output[length - 1] == '/') {
    errno = ENOENT;
    return FALSE;
  } else {
    if (length > 4 && strcmp(output + length - 4, ".paw") == 0)
      length -= 4;
    written = snprintf(receiver->prefix, size, "%.*s", (int)length, output);
  }
  errno = ENAMETOOLONG;
  return written < (int)size && listenFolder(receiver);
}

/* listenWelcome -- may this peer come in? */
static Bool listenWelcome(Receiver receiver, Connection connection)
{
  struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
  socklen_t length = sizeof peer;

  if (!AddressIsLocal(&connection->peer))
    return TRUE;
  if (getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid())
    return TRUE;
  ReceiverSay(receiver, connection, "user %ld is turned away", (long)peer.uid);
  return FALSE;
}

/* listenCrowd -- close the oldest connection without a header block, if there are too many of those */
static void listenCrowd(Receiver receiver)
{
  Connection oldest = NULL;
  Count strangers = 0;
  Index i;

  for (i = 0; i < receiver->connections; ++i)
    if (receiver->connection[i]->sender == NULL && receiver->connection[i]->fd >= 0) {
      ++strangers;
      if (oldest == NULL || receiver->connection[i]->since < oldest->since)
        oldest = receiver->connection[i];
    }
  if (strangers > ListenStrangersMAX)
    ConnectionClose(oldest);
}

/* listenAccept -- one more connection, if there is room for it */
static void listenAccept(Receiver receiver, ListenSocket its)
{
  Connection connection = receiver->connections < receiver->places ? calloc(1, sizeof *connection) : NULL;

  if (connection == NULL)
    return;
  connection->peer.length = sizeof connection->peer.name;
  connection->since = SocketNow();
  connection->fd = accept4(its->fd, &connection->peer.name.any, &connection->peer.length,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection->fd < 0) {
    /* Out of descriptors, perhaps: until one is free there is no hurry. */
    if (errno != EAGAIN && errno != ECONNABORTED)
      (void)poll(NULL, 0, listenNap);
    free(connection);
    return;
  }
  if (AddressIsLocal(&its->address))
    connection->peer = its->address;
  receiver->connection[receiver->connections++] = connection;
  if (!listenWelcome(receiver, connection))
    ConnectionClose(connection);
  listenCrowd(receiver);
}

/* listenForget -- forget connections that are closed, and close those that have sent no header block for too long */
static void listenForget(Receiver receiver)
{
  uint64_t now = SocketNow();
  Index i, kept = 0;

  for (i = 0; i < receiver->connections; ++i) {
    Connection connection = receiver->connection[i];
    if (connection->fd >= 0 && connection->sender == NULL && now - connection->since >= ListenPATIENCE) {
      ReceiverSay(receiver, connection, "it sent no header block in %d s; the connection is closed",
                  ListenPATIENCE / 1000);
      ConnectionClose(connection);
    }
    if (connection->fd >= 0) {
      receiver->connection[kept++] = connection;
    } else {
      free(connection->buffer);
      free(connection);
    }
  }
  receiver->connections = kept;
}

/* listenRound -- wait, for so many ms at most, and serve the connections; FALSE: nothing came */
static Bool listenRound(Receiver receiver, ListenSocket its, struct pollfd *poll, int patience, sigset_t *mask)
{
  struct timespec time = {patience / 1000, patience % 1000 * 1000000L};
  Count connections = receiver->connections;
  Index i;

  AVER(ReceiverCheck(receiver));
  poll[0] = (struct pollfd){connections < receiver->places ? its->fd : -1, POLLIN, 0};
  for (i = 0; i < connections; ++i) {
    Connection connection = receiver->connection[i];
    Bool says = connection->acknowledge || connection->outUsed > 0;
    poll[i + 1] = (struct pollfd){connection->fd, (short)(POLLIN | (says ? POLLOUT : 0)), 0};
  }
  if (ppoll(poll, connections + 1, &time, mask) <= 0) {
    listenForget(receiver);
    return FALSE;
  }
  for (i = 0; i < connections; ++i) {
    Connection connection = receiver->connection[i];
    /* One may have closed another. */
    if (connection->fd >= 0 && (poll[i + 1].revents & POLLOUT) != 0)
      ConnectionWrite(connection);
    if (connection->fd >= 0 && (poll[i + 1].revents & ~POLLOUT) != 0)
      ConnectionRead(receiver, connection);
  }
  if (poll[0].revents != 0)
    listenAccept(receiver, its);
  listenForget(receiver);
  return TRUE;
}

static void listenSilent(void *data, const char *line)
{
  UNUSED(data), UNUSED(line);
}

/* listenSummary -- one line about a sender, as for a recording: of what has come, though a sender on this machine may
 * have more in memory */
static void listenSummary(Listen listen, Sender sender)
{
  LogHooksStruct hooks = {.note = listenSilent, .filed = TRUE};
  LogSummaryStruct summary = {0};
  const char *path = sender->path;
  char error[512];
  Log log;

  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK) {
    (void)OptionFail(listen->tool, "%s", error);
    return;
  }
  LogSummarize(&summary, log);
  LogClose(log);
  SayLine(stderr, "%s: %llu events (%llu discarded), %llu bytes, %.3f s -> %s (%s, process %u)",
                listen->tool->name, (unsigned long long)summary.events, (unsigned long long)summary.discarded,
                (unsigned long long)summary.bytes, (double)(sender->end - sender->begin) / 1000, sender->path,
                sender->program[0] != '\0' ? sender->program : "no program", sender->pid);
}

/* listenFinish -- everything that has come in is read; then it is over */
static void listenFinish(Receiver receiver, ListenSocket its, struct pollfd *poll)
{
  uint64_t begin = SocketNow();
  Index i;

  while (SocketNow() - begin < listenTail && listenRound(receiver, its, poll, 0, NULL))
    ;
  listenClose(its);
  for (i = 0; i < receiver->connections; ++i)
    ConnectionClose(receiver->connection[i]);
  listenForget(receiver);
  RepeatSay(&receiver->repeat, receiver->listen->tool->name);
  for (i = 0; i < receiver->senders; ++i) {
    listenSummary(receiver->listen, receiver->sender[i]);
    free(receiver->sender[i]);
  }
}

/* listenLoop -- until a signal comes, which is let in only while we wait: what is done then is not interrupted, to the
 * end */
static void listenLoop(Receiver receiver, ListenSocket its, struct pollfd *poll)
{
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = listenEnd};
  sigset_t blocked, mask;
  char room[sizeof its->address.name + 16];
  TextStruct text;
  Index i;

  (void)sigemptyset(&blocked);
  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    (void)sigaddset(&blocked, ends[i]);
  (void)sigprocmask(SIG_BLOCK, &blocked, &mask);
  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    (void)sigaction(ends[i], &action, NULL);
  TextInit(&text, room, sizeof room);
  AddressWrite(&text, &its->address);
  SayLine(stderr, "%s: listens on %s", receiver->listen->tool->name, TextTerminate(&text));
  while (listenEnded == 0)
    (void)listenRound(receiver, its, poll, listenRoundMAX, &mask);
  listenFinish(receiver, its, poll);
}

/* listenRemedy -- what the user can do against the failure */
static const char *listenRemedy(ListenSocket its, int error)
{
  if (error != EADDRINUSE)
    return "";
  return AddressIsLocal(&its->address) ? ": somebody listens there, or it is no socket; choose another path"
                                       : ": another program listens there; choose another port, or 0 for any";
}

int ListenRun(Listen listen)
{
  ReceiverStruct receiver = {.listen = listen, .number = 1, .places = listen->senders + ListenStrangersMAX + 1};
  ListenSocketStruct its = {.fd = -1, .folder = -1};
  struct pollfd *poll = NULL;
  char where[PlinthPlaceMAX];
  const char *reason;
  int status = 0;

  if (ListenResolve(where, sizeof where, listen->where, FALSE, &reason) != ResOK ||
      AddressRead(&its.address, where, &reason) != ResOK)
    return OptionUsage(listen->tool, "%s: %s", listen->where, reason);
  if (listen->senders == 0 || listen->senders > UINT16_MAX)
    return OptionUsage(listen->tool, "the number of senders must be from 1 to %u", UINT16_MAX);
  if (!listenPrefix(&receiver))
    return OptionFail(listen->tool, "%s: %s", listen->output != NULL ? listen->output : ".", strerror(errno));
  (void)RawLimitRaise(RLIMIT_NOFILE); /* a sender takes two descriptors, and is refused if there are too few */
  receiver.sender = calloc(listen->senders, sizeof *receiver.sender);
  receiver.connection = calloc(receiver.places, sizeof *receiver.connection);
  poll = calloc(receiver.places + 1, sizeof *poll);
  if (receiver.sender == NULL || receiver.connection == NULL || poll == NULL) {
    status = OptionFail(listen->tool, "no memory for %zu senders", listen->senders);
  } else if (!listenOpen(&its)) {
    status = OptionFail(listen->tool, "%s: %s%s", listen->where, strerror(errno), listenRemedy(&its, errno));
    listenClose(&its);
  } else {
    listenLoop(&receiver, &its, poll);
  }
  free(receiver.sender);
  free(receiver.connection);
  free(poll);
  (void)close(receiver.folder);
  return status;
}

/* ---- The other side: asking a listener something, and finding its address ---- */

/* askAnswer -- the number that the listener answers with, all of it within that time */
static Bool askAnswer(Count *sendersReturn, int fd)
{
  uint64_t end = EventClockMonotonic() + askPatience * (uint64_t)1000000000, now;
  struct pollfd wait = {fd, POLLIN, 0};
  char room[32];
  Size length = 0;
  ssize_t n;

  while (length < sizeof room - 1 && (now = EventClockMonotonic()) < end &&
         poll(&wait, 1, (int)((end - now) / 1000000) + 1) == 1 &&
         (n = recv(fd, room + length, sizeof room - 1 - length, 0)) > 0)
    length += (Size)n;
  if (length == 0 || room[length - 1] != '\n')
    return FALSE;
  room[length - 1] = '\0';
  return OptionParseNumber(room, sendersReturn) == ResOK;
}

Res ListenAsk(const char *where, const char *request, Count *sendersReturn, const char **reasonReturn)
{
  char line[LinkMagicSIZE + LinkLineMAX + 1];
  struct timeval patience = {.tv_sec = askPatience};
  AddressStruct address;
  int fd, length = snprintf(line, sizeof line, "%s%s\n", LinkAskMAGIC, request);
  Res res = AddressRead(&address, where, reasonReturn);

  if (res != ResOK)
    return res;
  if (!AddressIsLocal(&address) || length >= (int)sizeof line) {
    *reasonReturn = AddressIsLocal(&address) ? "the request is too long"
                                             : "only a listener on a UNIX socket can be asked";
    return ResPARAM;
  }
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  /* The limit for sending holds for connect, too. */
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
      connect(fd, &address.name.any, address.length) != 0) {
    *reasonReturn = errno == EAGAIN ? "it does not answer" : strerrordesc_np(errno);
    res = ResIO;
  } else if (send(fd, line, (Size)length, MSG_NOSIGNAL) != length || !askAnswer(sendersReturn, fd)) {
    *reasonReturn = "it does not answer; perhaps it belongs to another user";
    res = ResIO;
  }
  if (fd >= 0)
    (void)close(fd);
  return res;
}

/* askLookUp -- the address of tcp:HOST:PORT where HOST is a name */
static Res askLookUp(Address address, char *where, const char **reasonReturn)
{
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
  char *host = where + strlen("tcp:"), *colon = strrchr(host, ':');
  int error;

  *colon = '\0';
  error = getaddrinfo(host, colon + 1, &hints, &found);
  if (error != 0) {
    *reasonReturn = gai_strerror(error);
    return ResIO;
  }
  address->length = found->ai_addrlen;
  memcpy(&address->name, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return ResOK;
}

/* askAbsolute -- the address of a UNIX socket with an absolute path; `room` is for that path */
static Res askAbsolute(Address address, char *room, Size size, const char **reasonReturn)
{
  TextStruct text;

  TextInit(&text, room, size);
  TextString(&text, "unix:");
  *reasonReturn = "its path is too long";
  return RawAbsolute(&text, address->name.local.sun_path) == ResOK ? AddressRead(address, room, reasonReturn)
                                                                   : ResLIMIT;
}

Res ListenResolve(char *room, Size size, const char *where, Bool absolute, const char **reasonReturn)
{
  const char *option = strstr(where, ",keep=");
  char name[PlinthPlaceMAX];
  AddressStruct address;
  TextStruct text;
  Res res;

  if (option == NULL)
    option = where + strlen(where);
  if (snprintf(name, sizeof name, "%.*s", (int)(option - where), where) >= (int)sizeof name) {
    *reasonReturn = "its name is too long";
    return ResLIMIT;
  }
  res = AddressRead(&address, name, reasonReturn);
  if (res == ResUNIMPL)
    res = askLookUp(&address, name, reasonReturn);
  if (res == ResOK && absolute && AddressIsLocal(&address))
    res = askAbsolute(&address, name, sizeof name, reasonReturn);
  if (res != ResOK)
    return res;
  TextInit(&text, room, size);
  AddressWrite(&text, &address);
  TextString(&text, option);
  (void)TextTerminate(&text);
  *reasonReturn = "its name is too long";
  return text.overflow ? ResLIMIT : ResOK;
}
