/* socket.c -- plinths over stream sockets
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/socket.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "plinth/address.h"
#include "plinth/descriptor.h"
#include "plinth/link.h"
#include "plinth/rawsyscall.h"
#include "plinth/resendqueue.h"

enum {
  socketPage = 4096,
  socketHeaderMAX = 1 << 20, /* bytes of a header block */
  socketYields = 100,   /* before a thread that waits for the lock sleeps, */
  socketNaps = 1000,    /* and how often it does before it gives up: a tenth of a second */
  socketNap = 100000,   /* ns */
  socketPoll = 20,      /* ms, the longest sleep while the end is waited for */
  socketMissing = 5     /* who is not there is waited for so much shorter */
};

enum {
  dialDelayMIN = 10,       /* ms between attempts to connect, at first, */
  dialDelayMAX = 5000,     /* and at last */
  dialWrites = 64,         /* calls in one go: whoever emits has other things to do */
  dialReads = 16,
  dialDEAD = 30000         /* ms after which a connection whose other end says nothing more is given up */
};

typedef enum SocketPhase { SocketDOWN, SocketDIALING, SocketUP } SocketPhase;

/* Always true: the lock is held by whoever looks at anything here; where the phase is SocketDOWN, there is no
 * descriptor. */
typedef struct socketStruct {
  unsigned lock;                   /* its owner's process number */
  uint32_t pid;                    /* whose link this is; 0: to be begun */
  Bool wiped;                      /* fork leaves this zeroed; else `pid` tells */
  uint64_t link;                   /* random */
  SocketPhase phase;
  Bool obeyed;                     /* the receiver's requests are */
  Bool local;                      /* a UNIX socket */
  uint64_t retry;                  /* ms, monotonic: no attempt to connect before */
  unsigned delay;                  /* ms, between attempts; grows */
  char hello[LinkHelloSIZE];
  Size greeted;                    /* bytes of hello and header block that went out on this connection */
  Index greeting;                  /* the header block that goes, or went, with the hello */
  Size greetingLength;             /* of hello and header block together; 0: nothing has been greeted yet */
  Index newest;                    /* the newest header block */
  Size headerLength[2];
  char line[LinkLineMAX];          /* from the receiver, up to here */
  Size lineLength;
  unsigned requests, received;     /* counted */
  Size requestLength[SocketRequestsMAX];
  char request[SocketRequestsMAX][LinkLineMAX];
  ResendQueueStruct keep;
} socketStruct, *Socket;

/* socketHeader -- where header block `i`, 0 or 1, lies */
#define socketHeader(socket, i) ((char *)(socket) + WordAlignUp(sizeof(socketStruct), 4096) + (i) * socketHeaderMAX)

uint64_t SocketNow(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static Size socketOverhead(void)
{
  return WordAlignUp(sizeof(socketStruct), socketPage) + 2 * socketHeaderMAX;
}

/* socketKeep -- the bytes that ",keep=SIZE" at the end of the place asks for; 0: not to be understood */
static Size socketKeep(const char *place)
{
  const char *option = strstr(place, ",keep="), *p;
  Size keep = 0;

  if (option == NULL)
    return SocketKeepDEFAULT;
  for (p = option + 6; *p >= '0' && *p <= '9' && keep <= (Size)1 << 30; ++p)
    keep = keep * 10 + (Size)(*p - '0');
  if (*p == 'K' || *p == 'M')
    keep = keep > (Size)1 << 20 ? 0 : keep << (*p++ == 'K' ? 10 : 20);
  return *p == '\0' && keep >= SocketKeepMIN && keep <= (Size)1 << 30 ? WordAlignUp(keep, socketPage) : 0;
}

/* socketPlace -- the place, so that it can be opened again from any folder: absolute */
static Res socketPlace(Plinth plinth, const char *way, const char *place)
{
  TextStruct text;

  TextInit(&text, plinth->place, sizeof plinth->place);
  TextString(&text, way);
  if (strcmp(way, "unix:") == 0)
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

static Res socketOpen(Plinth plinth, const char *way, const char *place, const char **reasonReturn)
{
  AddressStruct address;
  Size keep;
  Res res = place[0] != '\0' ? socketPlace(plinth, way, place) : ResPARAM;

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
  plinth->state = RawMap(plinth->size, socketPage);
  if (plinth->state == NULL) {
    *reasonReturn = "no memory";
    return ResMEMORY;
  }
  return ResOK;
}

static Res tcpOpen(Plinth plinth, const char *place, const char *family, const char **reasonReturn)
{
  UNUSED(family);
  return socketOpen(plinth, "tcp:", place, reasonReturn);
}

static Res unixOpen(Plinth plinth, const char *place, const char *family, const char **reasonReturn)
{
  UNUSED(family);
  return socketOpen(plinth, "unix:", place, reasonReturn);
}

/* ---- One link over one connection after another: connecting, greeting, writing, hearing ---- */

/* dialFail -- there is no connection; another attempt is due after a while.  What was not acknowledged goes again. */
static void dialFail(Plinth plinth, Socket socket, const char *reason)
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

/* dialMirrored -- TCP may connect a socket to itself, where nobody listens on a port that it would choose */
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

/* dialUp -- the connection stands: whom do we talk to, and what comes first? */
static void dialUp(Plinth plinth, Socket socket)
{
  const char *obey;

  if (socket->local) {
    if (!dialTrusted(plinth, &socket->obeyed)) {
      dialFail(plinth, socket, "it belongs to another user");
      return;
    }
  } else if (dialMirrored(plinth)) {
    dialFail(plinth, socket, RawErrno(ECONNREFUSED));
    return;
  } else {
    dialOption(plinth, IPPROTO_TCP, TCP_NODELAY, 1);
    dialOption(plinth, IPPROTO_TCP, TCP_USER_TIMEOUT, dialDEAD);
    dialOption(plinth, SOL_SOCKET, SO_KEEPALIVE, 1);
    /* Nobody knows whose the other end is. */
    obey = RawEnvironment("PAWPRINT_OBEY");
    socket->obeyed = obey != NULL && strcmp(obey, "tcp") == 0;
  }
  plinth->reason = NULL;
  socket->phase = SocketUP;
  socket->greeted = 0;
  socket->greeting = socket->newest;
  socket->greetingLength = LinkHelloSIZE + socket->headerLength[socket->newest];
  socket->lineLength = 0;
  LinkHelloWrite(socket->hello, socket->link, socket->keep.tail.number);
}

static void dialConnect(Plinth plinth, Socket socket)
{
  AddressStruct address;
  const char *reason;
  long fd, result;
  Res res = socketAddress(&address, plinth, &reason);

  AVER(res == ResOK); /* it was sound when the plinth was opened */
  fd = RawCall(SYS_socket, address.name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    dialFail(plinth, socket, RawErrno((int)-fd));
    return;
  }
  result = RawCall(SYS_connect, fd, &address.name, address.length);
  if ((result != 0 && result != -EINPROGRESS) || DescriptorTake(plinth, (int)fd) != ResOK) {
    (void)RawCall(SYS_close, fd);
    dialFail(plinth, socket, RawErrno((int)-result));
    return;
  }
  socket->phase = SocketDIALING;
}

/* dialAnswered -- has the attempt to connect come to an end? */
static void dialAnswered(Plinth plinth, Socket socket)
{
  struct pollfd wait = {plinth->fd, POLLOUT, 0};
  struct timespec now = {0, 0};
  socklen_t length = sizeof(int);
  int error = 0;

  if (RawCall(SYS_ppoll, &wait, 1, &now, NULL, 0) <= 0)
    return;
  (void)RawCall(SYS_getsockopt, plinth->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0)
    dialFail(plinth, socket, RawErrno(error));
  else
    dialUp(plinth, socket);
}

/* dialRequest -- a line that is not for us, for whoever emits */
static void dialRequest(Socket socket)
{
  Index i;

  if (!socket->obeyed || socket->requests - socket->received == SocketRequestsMAX)
    return;
  i = socket->requests++ % SocketRequestsMAX;
  socket->requestLength[i] = socket->lineLength;
  memcpy(socket->request[i], socket->line, socket->lineLength);
}

/* dialLine -- one line from the receiver, whole; FALSE: the connection is given up */
static Bool dialLine(Plinth plinth, Socket socket)
{
  uint64_t n = 0;
  Index i;

  if (socket->lineLength == 2 && memcmp(socket->line, "no", 2) == 0) {
    dialFail(plinth, socket, "the receiver refuses it, and tells there why");
    return FALSE;
  }
  if (socket->lineLength < 5 || memcmp(socket->line, "ack ", 4) != 0) {
    dialRequest(socket);
    return TRUE;
  }
  for (i = 4; i < socket->lineLength && socket->line[i] >= '0' && socket->line[i] <= '9' && n < UINT64_MAX / 16; ++i)
    n = n * 10 + (uint64_t)(socket->line[i] - '0');
  if (i < socket->lineLength || ResendQueueAcknowledged(&socket->keep, n) != ResOK) {
    dialFail(plinth, socket, "the receiver has acknowledged what was never sent");
    return FALSE;
  }
  socket->delay = 0;
  return TRUE;
}

static Bool dialHearBytes(Plinth plinth, Socket socket, const char *bytes, Size size)
{
  Index i;

  for (i = 0; i < size; ++i) {
    if (bytes[i] != '\n' && socket->lineLength == sizeof socket->line) {
      dialFail(plinth, socket, "what the receiver says is not understood");
      return FALSE;
    }
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

/* dialHear -- what the receiver has said; FALSE: there is no connection any more */
static Bool dialHear(Plinth plinth, Socket socket)
{
  char room[512];
  Index i;

  for (i = 0; i < dialReads; ++i) {
    long n = RawCall(SYS_recvfrom, plinth->fd, room, sizeof room, MSG_DONTWAIT, NULL, NULL);
    if (n == -EAGAIN || n == -EINTR)
      break;
    if (n <= 0) {
      dialFail(plinth, socket, n == 0 ? "the receiver has closed the connection" : RawErrno((int)-n));
      return FALSE;
    }
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
  Count count = 0;

  if (at >= length)
    return ResendQueueNext(pieces, &socket->keep);
  if (at < LinkHelloSIZE)
    pieces[count++] = (struct iovec){socket->hello + at, LinkHelloSIZE - at};
  at = at < LinkHelloSIZE ? 0 : at - LinkHelloSIZE;
  pieces[count++] = (struct iovec){socketHeader(socket, socket->greeting) + at, length - LinkHelloSIZE - at};
  return count;
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
        dialFail(plinth, socket, RawErrno((int)-n));
      return;
    }
    if (socket->greeted < socket->greetingLength)
      socket->greeted += (Size)n;
    else
      ResendQueueGiven(&socket->keep, (Size)n);
  }
}

/* socketPump -- do what can be done without waiting: connect, read, write */
static void socketPump(Plinth plinth, Socket socket)
{
  unsigned turn = DescriptorEnter();
  struct stat status;

  if (socket->phase != SocketDOWN && DescriptorOurs(plinth, &status) < 0)
    dialFail(plinth, socket, "the program has closed its descriptor");
  /* Before there is a header block nobody would listen. */
  if (socket->phase == SocketDOWN && socket->headerLength[socket->newest] > 0 && SocketNow() >= socket->retry)
    dialConnect(plinth, socket);
  if (socket->phase == SocketDIALING)
    dialAnswered(plinth, socket);
  if (socket->phase == SocketUP && dialHear(plinth, socket))
    dialSpeak(plinth, socket);
  DescriptorLeave(turn);
}

/* ---- The plinth ---- */

/* socketBegin -- a link of this process's own; the descriptor, if there is one, is its parent's */
static void socketBegin(Plinth plinth, Socket socket)
{
  DescriptorClose(plinth);
  if (RawCall(SYS_getrandom, &socket->link, sizeof socket->link, 1 /* GRND_NONBLOCK */) != sizeof socket->link)
    socket->link = (SocketNow() << 20 ^ (uint64_t)RawPid()) * 0x9e3779b97f4a7c15ull;
  socket->link |= 1;
  socket->local = plinth->class == &PlinthClassUnix;
  ResendQueueInit(&socket->keep, socketHeader(socket, 2), plinth->size - socketOverhead());
  socket->wiped = RawCall(SYS_madvise, socket, plinth->size, MADV_WIPEONFORK) == 0;
  __atomic_store_n(&socket->pid, RawPid(), __ATOMIC_RELEASE);
}

/* socketNapping -- wait a moment, the `tries`th time; FALSE: it has been enough */
static Bool socketNapping(unsigned tries)
{
  struct timespec nap = {0, socketNap};

  if (tries < socketYields)
    (void)sched_yield();
  else
    (void)RawCall(SYS_nanosleep, &nap, NULL);
  return tries < socketYields + socketNaps;
}

/* socketTake -- the state, locked, of this process's own link; NULL: somebody who does not go on has it */
static Socket socketTake(Plinth plinth)
{
  Socket socket = plinth->state;
  unsigned self = RawPid(), pid = __atomic_load_n(&socket->pid, __ATOMIC_ACQUIRE), owner = 0, tries = 0;

  /* Where the kernel does not wipe, a child may find a lock that nobody will ever open. */
  if (pid != 0 && pid != self && !socket->wiped)
    memset(socket, 0, sizeof *socket);
  while (!__atomic_compare_exchange_n(&socket->lock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    owner = 0;
    if (!socketNapping(tries++))
      return NULL;
  }
  if (socket->pid == 0)
    socketBegin(plinth, socket);
  return socket;
}

static void socketGive(Socket socket)
{
  __atomic_store_n(&socket->lock, 0, __ATOMIC_RELEASE);
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
  socketGive(socket);
  return res;
}

/* socketHeaderKeep -- the newest header block, not into the place of one that is going out */
static void socketHeaderKeep(Plinth plinth, const void *message, Size size)
{
  Socket socket = size <= socketHeaderMAX ? socketTake(plinth) : NULL;
  Bool going;

  if (socket == NULL)
    return;
  going = socket->phase != SocketDOWN && socket->greeted < socket->greetingLength;
  socket->newest = 1 - (going ? socket->greeting : socket->newest);
  memcpy(socketHeader(socket, socket->newest), message, size);
  socket->headerLength[socket->newest] = size;
  socketGive(socket);
}

static Res socketReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  Socket socket = socketTake(plinth);
  Res res = ResEND;

  if (socket == NULL)
    return res;
  socketPump(plinth, socket);
  if (socket->received != socket->requests) {
    Index i = socket->received++ % SocketRequestsMAX;
    *sizeReturn = socket->requestLength[i] < size ? socket->requestLength[i] : size;
    memcpy(room, socket->request[i], *sizeReturn);
    res = ResOK;
  }
  socketGive(socket);
  return res;
}

/* socketSleep -- until the receiver says or takes something, or a while */
static void socketSleep(Plinth plinth, Bool writing, Bool connected)
{
  struct timespec nap = {0, socketPoll * 1000000};
  struct pollfd wait = {plinth->fd, (short)(POLLIN | (writing ? POLLOUT : 0)), 0};

  (void)RawCall(SYS_ppoll, &wait, connected ? 1 : 0, &nap, NULL, 0);
}

/* socketWait -- what is sent meanwhile by others is not waited for */
static Count socketWait(Plinth plinth, unsigned ms)
{
  Socket socket = socketTake(plinth);
  uint64_t begin = SocketNow(), goal = socket != NULL ? socket->keep.head.number : 0, left = 0;
  Bool writing, connected;

  while (socket != NULL) {
    socketPump(plinth, socket);
    left = goal > socket->keep.acknowledged ? goal - socket->keep.acknowledged : 0;
    connected = socket->phase != SocketDOWN;
    writing = socket->phase == SocketDIALING || socket->keep.next.number < goal;
    socketGive(socket);
    if (left == 0 || SocketNow() - begin >= (connected ? ms : ms / socketMissing))
      break;
    socketSleep(plinth, writing, connected);
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
  socketGive(socket);
  return left;
}

static void socketClose(Plinth plinth)
{
  DescriptorClose(plinth);
  RawUnmap(plinth->state, plinth->size);
  plinth->state = NULL;
}

const PlinthClassStruct PlinthClassTcp = {"tcp", tcpOpen, socketSend, socketReceive, socketClose, socketHeaderKeep,
                                          socketWait, socketLeft};
const PlinthClassStruct PlinthClassUnix = {"unix", unixOpen, socketSend, socketReceive, socketClose, socketHeaderKeep,
                                           socketWait, socketLeft};
