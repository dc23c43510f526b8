/* dial.c -- one link over one connection after another: connecting, greeting, writing, hearing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "plinth/address.h"
#include "plinth/descriptor.h"
#include "plinth/quiet.h"
#include "plinth/socket.h"

enum {
  dialDelayMIN = 10,       /* ms between attempts to connect, at first, */
  dialDelayMAX = 5000,     /* and at last */
  dialWrites = 64,         /* calls in one go: whoever emits has other things to do */
  dialReads = 16,
  dialDEAD = 30000         /* ms after which a connection whose other end says nothing more is given up */
};

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
  KeepRewind(&socket->keep);
  if (!__atomic_exchange_n(&plinth->warned, TRUE, __ATOMIC_RELAXED))
    QuietSay("the log is kept in memory, as far as it fits", plinth->place, reason);
}

static void dialOption(Plinth plinth, int level, int name, int value)
{
  (void)QuietCall(SYS_setsockopt, plinth->fd, level, name, &value, sizeof value);
}

/* dialTrusted -- is the other end of this UNIX socket ourselves, or the system? */
static Bool dialTrusted(Plinth plinth, Bool *selfReturn)
{
  struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
  socklen_t length = sizeof peer;

  *selfReturn = FALSE;
  if (QuietCall(SYS_getsockopt, plinth->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return FALSE;
  *selfReturn = peer.uid == QuietUser();
  return *selfReturn || peer.uid == 0;
}

/* dialMirrored -- TCP may connect a socket to itself, where nobody listens on a port that it would choose */
static Bool dialMirrored(Plinth plinth)
{
  AddressStruct here, there;

  memset(&here, 0, sizeof here);
  memset(&there, 0, sizeof there);
  here.length = there.length = sizeof here.name;
  return QuietCall(SYS_getsockname, plinth->fd, &here.name, &here.length) == 0 &&
         QuietCall(SYS_getpeername, plinth->fd, &there.name, &there.length) == 0 &&
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
    dialFail(plinth, socket, QuietErrno(ECONNREFUSED));
    return;
  } else {
    dialOption(plinth, IPPROTO_TCP, TCP_NODELAY, 1);
    dialOption(plinth, IPPROTO_TCP, TCP_USER_TIMEOUT, dialDEAD);
    dialOption(plinth, SOL_SOCKET, SO_KEEPALIVE, 1);
    /* Nobody knows whose the other end is. */
    obey = QuietEnvironment("PAWPRINT_OBEY");
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

/* dialPlace -- the address, which was sound when the plinth was opened; what stands behind it does not belong to it */
static void dialPlace(Address address, Plinth plinth)
{
  char where[PlinthPlaceMAX], *option;
  const char *reason;
  Res res;

  option = strstr(strcpy(where, plinth->place), ",keep=");
  if (option != NULL)
    *option = '\0';
  res = AddressRead(address, where, &reason);
  AVER(res == ResOK);
}

static void dialConnect(Plinth plinth, Socket socket)
{
  AddressStruct address;
  long fd, result;

  dialPlace(&address, plinth);
  fd = QuietCall(SYS_socket, address.name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    dialFail(plinth, socket, QuietErrno((int)-fd));
    return;
  }
  result = QuietCall(SYS_connect, fd, &address.name, address.length);
  if ((result != 0 && result != -EINPROGRESS) || DescriptorTake(plinth, (int)fd) != ResOK) {
    (void)QuietCall(SYS_close, fd);
    dialFail(plinth, socket, QuietErrno((int)-result));
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

  if (QuietCall(SYS_ppoll, &wait, 1, &now, NULL, 0) <= 0)
    return;
  (void)QuietCall(SYS_getsockopt, plinth->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0)
    dialFail(plinth, socket, QuietErrno(error));
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
  if (i < socket->lineLength || KeepAcknowledged(&socket->keep, n) != ResOK) {
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
    long n = QuietCall(SYS_recvfrom, plinth->fd, room, sizeof room, MSG_DONTWAIT, NULL, NULL);
    if (n == -EAGAIN || n == -EINTR)
      break;
    if (n <= 0) {
      dialFail(plinth, socket, n == 0 ? "the receiver has closed the connection" : QuietErrno((int)-n));
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
    return KeepNext(pieces, &socket->keep);
  if (at < LinkHelloSIZE)
    pieces[count++] = (struct iovec){socket->hello + at, LinkHelloSIZE - at};
  at = at < LinkHelloSIZE ? 0 : at - LinkHelloSIZE;
  pieces[count++] = (struct iovec){SocketHeader(socket, socket->greeting) + at, length - LinkHelloSIZE - at};
  return count;
}

static void dialSpeak(Plinth plinth, Socket socket)
{
  struct iovec pieces[2];
  struct msghdr message = {.msg_iov = pieces};
  Index i;

  for (i = 0; i < dialWrites && (message.msg_iovlen = dialPieces(pieces, socket)) > 0; ++i) {
    long n = QuietCall(SYS_sendmsg, plinth->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n == -EAGAIN || n == -EINTR)
      return;
    if (n < 0) {
      /* What it said before it went counts. */
      if (dialHear(plinth, socket))
        dialFail(plinth, socket, QuietErrno((int)-n));
      return;
    }
    if (socket->greeted < socket->greetingLength)
      socket->greeted += (Size)n;
    else
      KeepGiven(&socket->keep, (Size)n);
  }
}

void SocketPump(Plinth plinth, Socket socket)
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
