/* listen.c -- receiving logs over a socket: who may come in, for how long, and the end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/say.h"
#include "collect/listen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/listenlink.h"
#include "collect/listensocket.h"
#include "log/log.h"
#include "plinth/socket.h"

enum {
  listenRoundMAX = 1000, /* ms of one poll */
  listenNap = 20,        /* ms, where nobody can be let in */
  listenTail = 1000      /* ms at the end, to read what has come in */
};

static volatile sig_atomic_t listenEnded; /* for the signal handler alone */

static void listenEnd(int signal)
{
  UNUSED(signal);
  listenEnded = 1;
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
  return written < (int)size;
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

/* listenCrowd -- where too many have not said who they are: the one that is silent longest goes */
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

/* listenForget -- connections that are closed, and those that have been strangers for too long */
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

/* listenRound -- wait, for so many ms at most, and do what is to be done; FALSE: nothing was */
static Bool listenRound(Receiver receiver, ListenSocket its, struct pollfd *poll, int patience, sigset_t *mask)
{
  struct timespec time = {patience / 1000, patience % 1000 * 1000000L};
  Count connections = receiver->connections;
  Index i;

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

/* listenSummary -- one line about a sender, as for a recording: of what has come, though a sender on this machine may have more in
 * memory */
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
static void listenFinish(Receiver receiver, ListenSocket its, struct pollfd *poll, sigset_t *mask)
{
  uint64_t begin = SocketNow();
  Index i;

  while (SocketNow() - begin < listenTail && listenRound(receiver, its, poll, 0, mask))
    ;
  ListenSocketClose(its);
  for (i = 0; i < receiver->connections; ++i)
    ConnectionClose(receiver->connection[i]);
  listenForget(receiver);
  RepeatSay(&receiver->repeat, receiver->listen->tool->name);
  for (i = 0; i < receiver->senders; ++i) {
    listenSummary(receiver->listen, receiver->sender[i]);
    free(receiver->sender[i]);
  }
}

/* listenDescriptors -- each sender takes two, and is closed before it can write where there are too few */
static void listenDescriptors(void)
{
  struct rlimit limit;

  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/* listenLoop -- until a signal comes, which is let in only while we wait */
static void listenLoop(Receiver receiver, ListenSocket its, struct pollfd *poll)
{
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = listenEnd}, before[ARRAY_LENGTH(ends)];
  sigset_t blocked, mask;
  char room[sizeof its->address.name + 16];
  TextStruct text;
  Index i;

  (void)sigemptyset(&blocked);
  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    (void)sigaddset(&blocked, ends[i]);
  (void)sigprocmask(SIG_BLOCK, &blocked, &mask);
  listenEnded = 0;
  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    (void)sigaction(ends[i], &action, &before[i]);
  TextInit(&text, room, sizeof room);
  AddressWrite(&text, &its->address);
  SayLine(stderr, "%s: listens on %s", receiver->listen->tool->name, TextTerminate(&text));
  while (listenEnded == 0)
    (void)listenRound(receiver, its, poll, listenRoundMAX, &mask);
  listenFinish(receiver, its, poll, &blocked);
  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    (void)sigaction(ends[i], &before[i], NULL);
  (void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* listenRemedy -- what can be done against it */
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

  if (ListenResolve(where, sizeof where, listen->where, &reason) != ResOK ||
      AddressRead(&its.address, where, &reason) != ResOK)
    return OptionUsage(listen->tool, "%s: %s", listen->where, reason);
  if (listen->senders == 0 || listen->senders > UINT16_MAX)
    return OptionUsage(listen->tool, "the number of senders must be from 1 to %u", UINT16_MAX);
  if (!listenPrefix(&receiver))
    return OptionFail(listen->tool, "%s: %s", listen->output, strerror(errno));
  listenDescriptors();
  receiver.sender = calloc(listen->senders, sizeof *receiver.sender);
  receiver.connection = calloc(receiver.places, sizeof *receiver.connection);
  poll = calloc(receiver.places + 1, sizeof *poll);
  if (receiver.sender == NULL || receiver.connection == NULL || poll == NULL) {
    status = OptionFail(listen->tool, "no memory for %zu senders", listen->senders);
  } else if (!ListenSocketOpen(&its)) {
    status = OptionFail(listen->tool, "%s: %s%s", listen->where, strerror(errno), listenRemedy(&its, errno));
    ListenSocketClose(&its);
  } else {
    listenLoop(&receiver, &its, poll);
  }
  free(receiver.sender);
  free(receiver.connection);
  free(poll);
  return status;
}
