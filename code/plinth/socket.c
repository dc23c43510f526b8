/* socket.c -- plinths over stream sockets
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/socket.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/aver.h"
#include "base/text.h"
#include "plinth/address.h"
#include "plinth/descriptor.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

enum {
  socketPoll = 20,      /* ms, the longest sleep while the end is waited for */
  socketMissing = 5     /* without a connection the wait is so much shorter */
};

enum {
  dialDelayMIN = 10,       /* ms between attempts to connect, at first, */
  dialDelayMAX = 5000,     /* and at last */
  dialWrites = 64,         /* system calls at a time: the emitting thread has other things to do */
  dialReads = 16,
  dialDEAD = 30000         /* ms after which a connection whose other end says nothing more is given up */
};

/* socketGreeting -- where the hello and header block `i`, 0 or 1, lie, one behind the other */
#define socketGreeting(socket, i) \
  ((char *)(socket) + WordAlignUp(sizeof(SocketStruct), RawPAGE) + (i) * SocketGreetingMAX)

static Size socketOverhead(void)
{
  return WordAlignUp(sizeof(SocketStruct), RawPAGE) + 2 * SocketGreetingMAX;
}

/* socketKeep -- the bytes that ",keep=SIZE" at the end of the place asks for; 0: not to be understood */
static Size socketKeep(const char *place)
{
  const char *p = strstr(place, ",keep=");
  uint64_t keep;

  if (p == NULL)
    return SocketKeepDEFAULT;
  p += strlen(",keep=");
  keep = TextNumber(&p, 10);
  if (*p == 'K' || *p == 'M')
    keep = keep > 1 << 20 ? 0 : keep << (*p++ == 'K' ? 10 : 20);
  return *p == '\0' && keep >= SocketKeepMIN && keep <= (Size)1 << 30 ? WordAlignUp(keep, RawPAGE) : 0;
}

/* socketPlace -- the place, so that it can be opened again from any folder: absolute */
static Res socketPlace(Plinth plinth, const PlinthClassStruct *class, const char *place)
{
  TextStruct text;

  TextInit(&text, plinth->place, sizeof plinth->place);
  TextFormat(&text, "%s:", class->name);
  if (class == &PlinthClassUnix)
    return RawAbsolute(&text, place);
  TextString(&text, place);
  (void)TextTerminate(&text);
  return text.overflow ? ResLIMIT : ResOK;
}

/* socketAddress -- the address in a plinth's place; what stands behind it does not belong to it */
static Res socketAddress(Address addressReturn, Plinth plinth, const char **reasonReturn)
{
  char where[PlinthPlaceMAX], *option = strstr(strcpy(where, plinth->place), ",keep=");

  if (option != NULL)
    *option = '\0';
  return AddressRead(addressReturn, where, reasonReturn);
}

static Res socketOpen(Plinth plinth, const PlinthClassStruct *class, const char *place, const char *family,
                      const char **reasonReturn)
{
  AddressStruct address;
  Size keep;
  Res res = place[0] != '\0' ? socketPlace(plinth, class, place) : ResPARAM;

  UNUSED(family);
  if (res != ResOK) {
    *reasonReturn = res == ResPARAM ? "it names no place" : "its name is too long";
    return res;
  }
  keep = socketKeep(plinth->place);
  if (keep == 0) {
    *reasonReturn = "keep= wants a size from 256K to 1024M";
    return ResPARAM;
  }
  res = socketAddress(&address, plinth, reasonReturn);
  if (res != ResOK)
    return res;
  plinth->size = socketOverhead() + keep;
  plinth->state = RawMap(plinth->size, RawPAGE);
  if (plinth->state == NULL) {
    *reasonReturn = "no memory";
    return ResMEMORY;
  }
  return ResOK;
}

/* ---- One link over one connection after another: connecting, greeting, writing, hearing ---- */

/* dialFail -- the connection is broken, or was never made: the next attempt is due after a delay, and begins with the
 * messages that were not acknowledged.  Returns FALSE, as its callers do then. */
static Bool dialFail(Plinth plinth, Socket socket, const char *reason)
{
  DescriptorClose(plinth);
  plinth->reason = reason;
  socket->phase = SocketDOWN;
  socket->delay = socket->delay == 0 ? dialDelayMIN : socket->delay * 2;
  if (socket->delay > dialDelayMAX)
    socket->delay = dialDelayMAX;
  socket->retry = SocketNow() + socket->delay;
  ResendQueueRewind(&socket->keep);
  if (!__atomic_exchange_n(&plinth->warned, TRUE, __ATOMIC_RELAXED))
    RawSay("the log is kept in memory, as far as it fits", plinth->place, reason);
  return FALSE;
}

static void dialOption(Plinth plinth, int level, int name, int value)
{
  (void)RawCall(SYS_setsockopt, plinth->fd, level, name, &value, sizeof value);
}

/* dialTrusted -- is the other end of this UNIX socket ourselves, or the system? */
static Bool dialTrusted(Plinth plinth, Bool *selfReturn)
{
  struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
  socklen_t length = sizeof peer;

  *selfReturn = FALSE;
  if (RawCall(SYS_getsockopt, plinth->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return FALSE;
  *selfReturn = peer.uid == RawUser();
  return *selfReturn || peer.uid == 0;
}

/* dialMirrored -- has TCP connected the socket to itself?  It may, if nobody listens on a port that it would
 * choose. */
static Bool dialMirrored(Plinth plinth)
{
  AddressStruct here, there;

  memset(&here, 0, sizeof here);
  memset(&there, 0, sizeof there);
  here.length = there.length = sizeof here.name;
  return RawCall(SYS_getsockname, plinth->fd, &here.name, &here.length) == 0 &&
         RawCall(SYS_getpeername, plinth->fd, &there.name, &there.length) == 0 &&
         memcmp(&here.name, &there.name, sizeof here.name) == 0;
}

/* dialUp -- the connection stands, if the other end may have the log: the greeting comes first */
static Bool dialUp(Plinth plinth, Socket socket)
{
  const char *obey;

  if (socket->local) {
    if (!dialTrusted(plinth, &socket->obeyed))
      return dialFail(plinth, socket, "it belongs to another user");
  } else if (dialMirrored(plinth)) {
    return dialFail(plinth, socket, RawErrno(ECONNREFUSED));
  } else {
    dialOption(plinth, IPPROTO_TCP, TCP_NODELAY, 1);
    dialOption(plinth, IPPROTO_TCP, TCP_USER_TIMEOUT, dialDEAD);
    dialOption(plinth, SOL_SOCKET, SO_KEEPALIVE, 1);
    /* It is not known who is at the other end. */
    obey = RawEnvironment("PAWPRINT_OBEY");
    socket->obeyed = obey != NULL && strcmp(obey, "tcp") == 0;
  }
  plinth->reason = NULL;
  socket->phase = SocketUP;
  socket->greeted = 0;
  socket->greeting = socket->newest;
  socket->greetingLength = LinkHelloSIZE + socket->headerLength[socket->newest];
  socket->lineLength = 0;
  LinkHelloWrite(socketGreeting(socket, socket->greeting), socket->link, socket->keep.tail.number);
  return TRUE;
}

static Bool dialConnect(Plinth plinth, Socket socket)
{
  AddressStruct address;
  const char *reason;
  long fd, result;
  Res res = socketAddress(&address, plinth, &reason);

  AVER(res == ResOK); /* it was sound when the plinth was opened */
  fd = LentCall(SYS_socket, address.name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return dialFail(plinth, socket, RawErrno((int)-fd));
  result = RawCall(SYS_connect, fd, &address.name, address.length);
  if ((result != 0 && result != -EINPROGRESS) || DescriptorTake(plinth, (int)fd) != ResOK) {
    LentClose(fd);
    return dialFail(plinth, socket, RawErrno((int)-result));
  }
  socket->phase = SocketDIALING;
  return TRUE;
}

/* dialAnswered -- has the attempt to connect come to a good end? */
static Bool dialAnswered(Plinth plinth, Socket socket)
{
  struct pollfd wait = {plinth->fd, POLLOUT, 0};
  struct timespec now = {0, 0};
  socklen_t length = sizeof(int);
  int error = 0;

  if (RawCall(SYS_ppoll, &wait, 1, &now, NULL, 0) <= 0)
    return FALSE;
  (void)RawCall(SYS_getsockopt, plinth->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error != 0 ? dialFail(plinth, socket, RawErrno(error)) : dialUp(plinth, socket);
}

/* dialLine -- one line from the receiver, whole; FALSE: the connection is given up */
static Bool dialLine(Plinth plinth, Socket socket)
{
  const char *at = socket->line + strlen("ack ");

  socket->line[socket->lineLength] = '\0';
  if (strcmp(socket->line, "no") == 0)
    return dialFail(plinth, socket, "the receiver refuses it, and tells there why");
  if (strncmp(socket->line, "ack ", 4) != 0) { /* it is a request to the emitter */
    if (socket->obeyed && socket->requests - socket->received < SocketRequestsMAX)
      (void)strcpy(socket->request[socket->requests++ % SocketRequestsMAX], socket->line);
    return TRUE;
  }
  if (ResendQueueAcknowledged(&socket->keep, TextNumber(&at, 10)) != ResOK || at != socket->line + socket->lineLength)
    return dialFail(plinth, socket, "the receiver has acknowledged what was never sent");
  socket->delay = 0;
  return TRUE;
}

static Bool dialHearBytes(Plinth plinth, Socket socket, const char *bytes, Size size)
{
  Index i;

  for (i = 0; i < size; ++i) {
    if (bytes[i] != '\n' && socket->lineLength == LinkLineMAX)
      return dialFail(plinth, socket, "what the receiver says is not understood");
    if (bytes[i] != '\n') {
      socket->line[socket->lineLength++] = bytes[i];
    } else {
      if (!dialLine(plinth, socket))
        return FALSE;
      socket->lineLength = 0;
    }
  }
  return TRUE;
}

/* dialHear -- read the receiver's messages; FALSE: the connection is closed */
static Bool dialHear(Plinth plinth, Socket socket)
{
  char room[512];
  Index i;

  for (i = 0; i < dialReads; ++i) {
    long n = RawCall(SYS_recvfrom, plinth->fd, room, sizeof room, MSG_DONTWAIT, NULL, NULL);
    if (n == -EAGAIN || n == -EINTR)
      break;
    if (n <= 0)
      return dialFail(plinth, socket, n == 0 ? "the receiver has closed the connection" : RawErrno((int)-n));
    if (!dialHearBytes(plinth, socket, room, (Size)n))
      return FALSE;
    if ((Size)n < sizeof room)
      break;
  }
  return TRUE;
}

/* dialPieces -- what goes out next: hello and header block, then messages */
static Count dialPieces(struct iovec pieces[2], Socket socket)
{
  Size length = socket->greetingLength, at = socket->greeted;

  if (at >= length)
    return ResendQueueNext(pieces, &socket->keep);
  pieces[0] = (struct iovec){socketGreeting(socket, socket->greeting) + at, length - at};
  return 1;
}

static void dialSpeak(Plinth plinth, Socket socket)
{
  struct iovec pieces[2];
  struct msghdr message = {.msg_iov = pieces};
  Index i;

  for (i = 0; i < dialWrites && (message.msg_iovlen = dialPieces(pieces, socket)) > 0; ++i) {
    long n = RawCall(SYS_sendmsg, plinth->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n == -EAGAIN || n == -EINTR)
      return;
    if (n < 0) {
      /* What it said before it went counts. */
      if (dialHear(plinth, socket))
        (void)dialFail(plinth, socket, RawErrno((int)-n));
      return;
    }
    if (socket->greeted < socket->greetingLength)
      socket->greeted += (Size)n;
    else
      ResendQueueGiven(&socket->keep, (Size)n);
  }
}

Bool SocketCheck(Plinth plinth)
{
  Socket socket = plinth->state;

  return socket->phase <= SocketUP && socket->newest <= 1 && socket->greeting <= 1 &&
         socket->headerLength[0] <= SocketGreetingMAX - LinkHelloSIZE &&
         socket->headerLength[1] <= SocketGreetingMAX - LinkHelloSIZE &&
         socket->greeted <= socket->greetingLength && socket->lineLength <= LinkLineMAX &&
         socket->requests - socket->received <= SocketRequestsMAX && ResendQueueCheck(&socket->keep) &&
         (socket->phase != SocketDOWN || plinth->fd < 0);
}

/* socketPump -- do what can be done without waiting: connect, read, write */
static void socketPump(Plinth plinth, Socket socket)
{
  unsigned turn = DescriptorEnter();
  struct stat status;

  AVER(SocketCheck(plinth));
  if (socket->phase != SocketDOWN && DescriptorOurs(plinth, &status) < 0)
    (void)dialFail(plinth, socket, "the program has closed its descriptor");
  /* Without a header block the receiver would refuse the connection. */
  if (socket->phase == SocketDOWN && socket->headerLength[socket->newest] > 0 && SocketNow() >= socket->retry)
    (void)dialConnect(plinth, socket);
  if (socket->phase == SocketDIALING)
    (void)dialAnswered(plinth, socket);
  if (socket->phase == SocketUP && dialHear(plinth, socket))
    dialSpeak(plinth, socket);
  DescriptorLeave(turn);
}

/* ---- The plinth ---- */

/* socketBegin -- begin a link of this process's own.  The descriptor, if there is one, is its parent's; so is the
 * state, where the kernel does not wipe it. */
static void socketBegin(Plinth plinth, Socket socket)
{
  DescriptorClose(plinth);
  memset(&socket->pid, 0, sizeof *socket - offsetof(SocketStruct, pid));
  socket->link = RawRandom();
  socket->local = plinth->class == &PlinthClassUnix;
  ResendQueueInit(&socket->keep, socketGreeting(socket, 2), plinth->size - socketOverhead());
  socket->wiped = RawCall(SYS_madvise, socket, plinth->size, MADV_WIPEONFORK) == 0;
  socket->pid = RawPid();
}

/* socketTake -- the state of this process's own link, locked; NULL: a thread that does not go on has the lock */
static Socket socketTake(Plinth plinth)
{
  Socket socket = plinth->state;

  if (!RawLock(&socket->lock, !socket->wiped))
    return NULL;
  /* Not in the child of a vfork, whose parent's link it is. */
  if (socket->pid == 0 || (!socket->wiped && socket->pid != RawPid()))
    socketBegin(plinth, socket);
  return socket;
}

static Res socketSend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  Socket socket = socketTake(plinth);
  Res res;

  if (socket == NULL) {
    *reasonReturn = "another thread has stopped in the middle of sending";
    return ResLIMIT;
  }
  res = ResendQueuePut(&socket->keep, message, size);
  if (res != ResOK) {
    socketPump(plinth, socket);
    res = ResendQueuePut(&socket->keep, message, size);
  }
  socketPump(plinth, socket);
  *reasonReturn = socket->phase == SocketUP ? "it takes less than is recorded, and no more can be kept"
                                            : "it cannot be reached, and no more can be kept";
  RawUnlock(&socket->lock);
  return res;
}

/* socketHeaderKeep -- the newest header block, not into the place of one that is going out */
static void socketHeaderKeep(Plinth plinth, const void *message, Size size)
{
  Socket socket = size <= SocketGreetingMAX - LinkHelloSIZE ? socketTake(plinth) : NULL;
  Bool going;

  if (socket == NULL)
    return;
  going = socket->phase != SocketDOWN && socket->greeted < socket->greetingLength;
  socket->newest = 1 - (going ? socket->greeting : socket->newest);
  memcpy(socketGreeting(socket, socket->newest) + LinkHelloSIZE, message, size);
  socket->headerLength[socket->newest] = size;
  RawUnlock(&socket->lock);
}

static Res socketReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  Socket socket = socketTake(plinth);
  Res res = ResEND;

  if (socket == NULL)
    return res;
  socketPump(plinth, socket);
  if (socket->received != socket->requests) {
    const char *request = socket->request[socket->received++ % SocketRequestsMAX];
    *sizeReturn = strnlen(request, size);
    memcpy(room, request, *sizeReturn);
    res = ResOK;
  }
  RawUnlock(&socket->lock);
  return res;
}

/* socketWait -- messages that others send meanwhile are not waited for */
static Count socketWait(Plinth plinth, unsigned ms)
{
  Socket socket = socketTake(plinth);
  uint64_t begin = SocketNow(), goal = socket != NULL ? socket->keep.head.number : 0, left = 0;
  Bool writing, connected;
  struct pollfd wait;
  struct timespec nap;

  while (socket != NULL) {
    socketPump(plinth, socket);
    left = goal > socket->keep.acknowledged ? goal - socket->keep.acknowledged : 0;
    connected = socket->phase != SocketDOWN;
    writing = socket->phase == SocketDIALING || socket->keep.next.number < goal;
    RawUnlock(&socket->lock);
    if (left == 0 || SocketNow() - begin >= (connected ? ms : ms / socketMissing))
      break;
    /* Until the receiver says or takes something, or for a while. */
    wait = (struct pollfd){plinth->fd, (short)(POLLIN | (writing ? POLLOUT : 0)), 0};
    nap = (struct timespec){0, socketPoll * 1000000}; /* the system writes there what is left of it */
    (void)RawCall(SYS_ppoll, &wait, connected ? 1 : 0, &nap, NULL, 0);
    socket = socketTake(plinth);
  }
  return (Count)left;
}

static uint64_t socketLeft(Plinth plinth, PlinthEvents events)
{
  Socket socket = socketTake(plinth);
  uint64_t left;

  if (socket == NULL)
    return 0;
  left = ResendQueueSum(&socket->keep, events);
  RawUnlock(&socket->lock);
  return left;
}

static void socketClose(Plinth plinth)
{
  DescriptorClose(plinth);
  RawUnmap(plinth->state, plinth->size);
  plinth->state = NULL;
}

const PlinthClassStruct PlinthClassTcp = {"tcp", socketOpen, socketSend, socketReceive, socketClose, socketHeaderKeep,
                                          socketWait, socketLeft};
const PlinthClassStruct PlinthClassUnix = {"unix", socketOpen, socketSend, socketReceive, socketClose, socketHeaderKeep,
                                           socketWait, socketLeft};
