/* listenlink.c -- one connection of a listener
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "listen/listenlink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/crc.h"
#include "collect/regionmaker.h"
#include "format/block.h"
#include "log/logfile.h"
#include "plinth/socket.h"

enum {
  linkReads = 8,          /* of one connection in one go */
  linkRoom = 64 << 10,    /* bytes at first */
  linkUnsoundMAX = 3,     /* unsound messages after which a sender is refused */
  senderFilesMAX = 1000000,
  senderTRIES = 3         /* of writing a message that is cut short, before it counts as failed */
};

/* ---- A sender's file ---- */

/* senderName -- the name of its file, in the folder of all */
static const char *senderName(Sender sender)
{
  const char *slash = strrchr(sender->path, '/');

  return slash != NULL ? slash + 1 : sender->path;
}

/* senderCreate -- a new file, PREFIX.N.paw with the first N that is free; mode 0600.  ResIO: errno says why. */
static Res senderCreate(Sender sender, Receiver receiver)
{
  struct stat status;

  for (; receiver->number < senderFilesMAX; ++receiver->number) {
    if (snprintf(sender->path, sizeof sender->path, "%s.%zu.paw", receiver->prefix, receiver->number) >=
        (int)sizeof sender->path) {
      errno = ENAMETOOLONG;
      return ResIO;
    }
    sender->fd = openat(receiver->folder, senderName(sender),
                        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (sender->fd >= 0 || errno != EEXIST)
      break;
  }
  if (sender->fd < 0 || fstat(sender->fd, &status) != 0)
    return ResIO;
  ++receiver->number;
  sender->device = status.st_dev;
  sender->inode = status.st_ino;
  sender->size = 0;
  return ResOK;
}

/* senderReopen -- the file, after the sender had gone.  ResIO: errno says why. */
static Res senderReopen(Sender sender, Receiver receiver)
{
  struct stat status;
  int handle, error;

  AVER(sender->fd < 0);
  /* It is looked at first: what may have its name now is not opened. */
  handle = openat(receiver->folder, senderName(sender), O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (handle < 0)
    return ResIO;
  error = ESTALE;
  if (fstat(handle, &status) == 0 && (uint64_t)status.st_dev == sender->device &&
      (uint64_t)status.st_ino == sender->inode) {
    sender->fd = FileAgain(handle, O_WRONLY | O_APPEND);
    error = errno;
  }
  (void)close(handle);
  errno = error;
  return sender->fd >= 0 ? ResOK : ResIO;
}

/* senderCut -- take back the last `written` bytes, which a message was cut to, so that none of it stays.  If something
 * else stands behind them, or is about to (eventrec --clean appends under a shared lock), they stay, and readers pass
 * them. */
static void senderCut(Sender sender, Size written)
{
  off_t end = lseek(sender->fd, 0, SEEK_CUR);
  struct stat status;

  if (end < (off_t)written || flock(sender->fd, LOCK_EX | LOCK_NB) != 0)
    return;
  if (fstat(sender->fd, &status) == 0 && status.st_size == end)
    (void)!ftruncate(sender->fd, end - (off_t)written);
  (void)flock(sender->fd, LOCK_UN);
}

/* senderWrite -- append a message, whole and in one go, or not at all.  ResIO: errno says why. */
static Res senderWrite(Sender sender, const void *message, Size size)
{
  ssize_t n = 0;
  unsigned tries;
  int error = EIO;

  for (tries = 0; tries < senderTRIES && n >= 0; ++tries) {
    n = TEMP_FAILURE_RETRY(write(sender->fd, message, size));
    if (n == (ssize_t)size) {
      sender->size += size;
      return ResOK;
    }
    error = n < 0 ? errno : ENOSPC;
    if (n > 0)
      senderCut(sender, (Size)n);
  }
  errno = error;
  return ResIO;
}

static void senderClose(Sender sender)
{
  if (sender->fd >= 0)
    (void)close(sender->fd);
  sender->fd = -1;
}

/* ---- A connection ---- */

void ReceiverSay(Receiver receiver, Connection connection, const char *format, ...)
{
  char room[512], name[PATH_MAX];
  TextStruct text;
  va_list args;

  va_start(args, format);
  (void)vsnprintf(room, sizeof room, format, args);
  va_end(args);
  if (!RepeatFirst(&receiver->repeat, room))
    return;
  TextInit(&text, name, sizeof name);
  if (connection->sender == NULL)
    AddressWrite(&text, &connection->peer);
  else
    TextString(&text, connection->sender->path);
  (void)OptionFail(receiver->listen->tool, "%s: %s", TextTerminate(&text), room);
}

void ConnectionClose(Connection connection)
{
  if (connection->fd >= 0)
    (void)close(connection->fd);
  connection->fd = -1;
  if (connection->sender != NULL)
    senderClose(connection->sender);
}

/* linkSay -- a line to the other end, or nothing where it does not listen */
static void linkSay(Connection connection, const char *line)
{
  Size length = strlen(line);

  AVER(connection->outUsed <= sizeof connection->out);
  if (length <= sizeof connection->out - connection->outUsed) {
    memcpy(connection->out + connection->outUsed, line, length);
    connection->outUsed += length;
  }
}

void ConnectionWrite(Connection connection)
{
  char line[32];
  ssize_t n;

  if (connection->fd < 0)
    return;
  if (connection->acknowledge && connection->outUsed < sizeof connection->out - sizeof line) {
    (void)snprintf(line, sizeof line, "ack %llu\n", (unsigned long long)connection->sender->have);
    linkSay(connection, line);
    connection->acknowledge = FALSE;
  }
  if (connection->outUsed == 0)
    return;
  n = send(connection->fd, connection->out, connection->outUsed, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0) {
    connection->outUsed -= (Size)n;
    memmove(connection->out, connection->out + n, connection->outUsed);
  }
}

/* linkRefuse -- tell the sender that it is not wanted, and end the connection */
static Res linkRefuse(Connection connection)
{
  if (connection->sender != NULL)
    connection->sender->refused = TRUE;
  ConnectionWrite(connection);
  linkSay(connection, "no\n");
  ConnectionWrite(connection);
  return ResLIMIT;
}

static Sender linkFind(Receiver receiver, Connection connection)
{
  Index i;

  for (i = 0; i < receiver->senders; ++i)
    if (receiver->sender[i]->link == connection->link &&
        AddressSameHost(&receiver->sender[i]->peer, &connection->peer))
      return receiver->sender[i];
  return NULL;
}

/* linkKnown -- a sender that has been here before: its older connection, if it still seems to stand, does not */
static Res linkKnown(Receiver receiver, Connection connection, Sender sender)
{
  Index i;

  for (i = 0; i < receiver->connections; ++i)
    if (receiver->connection[i] != connection && receiver->connection[i]->sender == sender) {
      ConnectionClose(receiver->connection[i]);
      receiver->connection[i]->sender = NULL;
    }
  connection->sender = sender;
  if (sender->refused)
    return linkRefuse(connection);
  if (senderReopen(sender, receiver) == ResOK)
    return ResOK;
  ReceiverSay(receiver, connection, "it cannot be written any more: %s; the rest is refused", strerror(errno));
  return linkRefuse(connection);
}

/* linkNew -- a sender that is new here */
static Res linkNew(Receiver receiver, Connection connection)
{
  Sender sender;
  Res res;

  if (receiver->senders == receiver->listen->senders) {
    if (!receiver->crowded)
      ReceiverSay(receiver, connection, "%zu senders are as many as may be; others are refused", receiver->senders);
    receiver->crowded = TRUE;
    return linkRefuse(connection);
  }
  sender = calloc(1, sizeof *sender);
  if (sender == NULL)
    return ResMEMORY;
  sender->fd = -1;
  sender->link = connection->link;
  sender->peer = connection->peer;
  sender->have = connection->next;
  sender->begin = sender->end = SocketNow();
  res = senderCreate(sender, receiver);
  if (res != ResOK) {
    ReceiverSay(receiver, connection, "%s: %s", sender->path, strerror(errno));
    senderClose(sender);
    free(sender);
    return res;
  }
  receiver->sender[receiver->senders++] = sender;
  connection->sender = sender;
  return ResOK;
}

/* linkStore -- a sound message into the file, unless it is there already */
static Res linkStore(Receiver receiver, Connection connection, const char *message, Size size)
{
  Sender sender = connection->sender;

  AVER(sender != NULL && sender->size <= receiver->listen->limit);
  if (size > receiver->listen->limit - sender->size) {
    ReceiverSay(receiver, connection, "%zu bytes are as many as may be; the rest is refused", receiver->listen->limit);
    return linkRefuse(connection);
  }
  if (senderWrite(sender, message, size) != ResOK) {
    if (!sender->told)
      ReceiverSay(receiver, connection, "%s; the sender keeps what it can, and tries again", strerror(errno));
    sender->told = TRUE;
    return ResIO;
  }
  sender->told = FALSE;
  sender->end = SocketNow();
  return ResOK;
}

/* linkHeader -- a header block, which the newest one written may be already */
static Res linkHeader(Receiver receiver, Connection connection, const char *message, Size size, Header header)
{
  Sender sender = connection->sender;
  uint32_t crc = Crc32c(0, message, size);
  Res res;

  /* The sender is called after the first program that is recorded, not after who records it. */
  if (sender->program[0] == '\0' && header->role[0] == '\0') {
    sender->pid = header->pid;
    memcpy(sender->program, header->program, sizeof sender->program);
  }
  if (sender->headerLength == size && sender->headerCrc == crc)
    return ResOK;
  res = linkStore(receiver, connection, message, size);
  if (res == ResOK) {
    sender->headerLength = size;
    sender->headerCrc = crc;
  }
  return res;
}

/* linkGreeting -- the header block that comes before all messages */
static Res linkGreeting(Receiver receiver, Connection connection, const char *message, Size size, Header header)
{
  Sender sender = linkFind(receiver, connection);
  Res res = sender != NULL ? linkKnown(receiver, connection, sender) : linkNew(receiver, connection);

  if (res != ResOK)
    return res;
  /* What this sender gave up sending, because another receiver had it. */
  if (connection->sender->have < connection->next)
    connection->sender->have = connection->next;
  connection->acknowledge = TRUE;
  return sender == NULL ? linkHeader(receiver, connection, message, size, header) : ResOK;
}

/* linkMessage -- one whole message, sound or not */
static Res linkMessage(Receiver receiver, Connection connection, const char *message, Size size)
{
  Bool isHeader = memcmp(message, HeaderMAGIC, BlockMagicSIZE) == 0, swapped;
  BlockHeaderStruct block;
  HeaderStruct header;
  const char *body;
  Res res;

  if (isHeader) {
    res = HeaderRead(&header, &body, message, size);
  } else {
    res = BlockHeaderRead(&block, &swapped, message);
    if (res == ResOK && Crc32c(0, message + BlockHeaderSIZE, block.rest) != block.restCrc)
      res = ResFORMAT;
  }
  if (res != ResOK)
    return res;
  if (connection->sender == NULL)
    return isHeader ? linkGreeting(receiver, connection, message, size, &header) : ResFORMAT;
  if (connection->next++ < connection->sender->have)
    return ResOK;
  res = isHeader ? linkHeader(receiver, connection, message, size, &header)
                 : linkStore(receiver, connection, message, size);
  if (res == ResOK) {
    ++connection->sender->have;
    connection->acknowledge = TRUE;
  }
  return res;
}

/* linkSize -- the size of the message that `used` bytes begin; 0: too few to tell.  ResFORMAT: it is none. */
static Res linkSize(Size *sizeReturn, const char *bytes, Size used)
{
  BlockHeaderStruct block;
  unsigned version[3];
  Bool swapped;
  Res res;

  *sizeReturn = 0;
  if (used < BlockMagicSIZE)
    return memcmp(bytes, BlockMAGIC, used < 4 ? used : 4) == 0 ? ResOK : ResFORMAT;
  if (memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0)
    return used < BlockMagicSIZE + HeaderLineSIZE ? ResOK : HeaderLength(sizeReturn, version, bytes, used);
  if (used < BlockHeaderSIZE)
    return memcmp(bytes, BlockMAGIC, BlockMagicSIZE) == 0 ? ResOK : ResFORMAT;
  res = BlockHeaderRead(&block, &swapped, bytes);
  if (res == ResOK && (block.rest > BlockRestMAX || block.size != BlockHeaderSIZE + block.rest))
    return ResFORMAT;
  if (res == ResOK)
    *sizeReturn = block.size;
  return res;
}

/* linkAsked -- the peer is no sender: it asks us, on a UNIX socket, to pass a request on to all senders */
static Res linkAsked(Receiver receiver, Connection connection)
{
  const char *line = connection->buffer + LinkMagicSIZE;
  const char *end = memchr(line, '\n', connection->used - LinkMagicSIZE);
  char room[LinkLineMAX + 2];
  Count passed = 0;
  Index i;

  if (!AddressIsLocal(&connection->peer) || connection->used > LinkMagicSIZE + LinkLineMAX)
    return ResFORMAT;
  if (end == NULL)
    return ResOK;
  (void)snprintf(room, sizeof room, "%.*s\n", (int)(end - line), line);
  for (i = 0; i < receiver->connections; ++i)
    if (receiver->connection[i]->fd >= 0 && receiver->connection[i]->sender != NULL) {
      linkSay(receiver->connection[i], room);
      ConnectionWrite(receiver->connection[i]);
      ++passed;
    }
  (void)snprintf(room, sizeof room, "%zu\n", passed);
  linkSay(connection, room);
  ConnectionWrite(connection);
  return ResEND;
}

/* linkHello -- the beginning of a connection; *sizeReturn: bytes of it, 0 for too few */
static Res linkHello(Size *sizeReturn, Receiver receiver, Connection connection)
{
  Size magic = connection->used < LinkMagicSIZE ? connection->used : LinkMagicSIZE;

  *sizeReturn = 0;
  if (memcmp(connection->buffer, LinkAskMAGIC, magic) == 0 && magic == LinkMagicSIZE)
    return linkAsked(receiver, connection);
  if (memcmp(connection->buffer, LinkMAGIC, magic) != 0 && memcmp(connection->buffer, LinkAskMAGIC, magic) != 0)
    return ResFORMAT;
  if (connection->used < LinkHelloSIZE)
    return ResOK;
  *sizeReturn = LinkHelloSIZE;
  connection->greeted = TRUE;
  return LinkHelloRead(&connection->link, &connection->next, connection->buffer);
}

/* linkRoomFor -- a buffer of `size` bytes at least, which is bounded: linkSize has looked at it */
static Res linkRoomFor(Connection connection, Size size)
{
  char *buffer;

  if (size <= connection->room)
    return ResOK;
  AVER(size <= HeaderMAX);
  buffer = realloc(connection->buffer, size);
  if (buffer == NULL)
    return ResMEMORY;
  connection->buffer = buffer;
  connection->room = size;
  return ResOK;
}

/* linkParse -- all that is whole in the buffer */
static Res linkParse(Receiver receiver, Connection connection)
{
  Size at = 0, size = 0;
  Res res = ResOK;

  if (!connection->greeted) {
    res = linkHello(&at, receiver, connection);
    if (res != ResOK || at == 0)
      return res;
  }
  while (at < connection->used) {
    res = linkSize(&size, connection->buffer + at, connection->used - at);
    if (res != ResOK || size == 0 || size > connection->used - at)
      break;
    res = linkMessage(receiver, connection, connection->buffer + at, size);
    if (res != ResOK)
      return res;
    at += size;
  }
  connection->used -= at;
  memmove(connection->buffer, connection->buffer + at, connection->used);
  return res == ResOK && connection->used > 0 ? linkRoomFor(connection, size) : res;
}

/* linkFailed -- end a connection, and say why, unless the peer has just closed it */
static void linkFailed(Receiver receiver, Connection connection, Res res)
{
  Sender sender = connection->sender;

  if (res == ResFORMAT && sender != NULL) {
    ReceiverSay(receiver, connection, "message %llu is not sound; the connection is closed",
                (unsigned long long)connection->next);
    if (++sender->unsound >= linkUnsoundMAX)
      (void)linkRefuse(connection);
  } else if (res == ResFORMAT) {
    ReceiverSay(receiver, connection, "what it sent is no log; the connection is closed");
  } else if (res == ResVERSION) {
    ReceiverSay(receiver, connection, "it sends a log of another version; the connection is closed");
  } else if (res == ResMEMORY) {
    ReceiverSay(receiver, connection, "no memory; the connection is closed");
  }
  ConnectionClose(connection);
}

void ConnectionRead(Receiver receiver, Connection connection)
{
  Res res = linkRoomFor(connection, linkRoom);
  Index i;

  AVER(connection->fd >= 0);
  for (i = 0; i < linkReads && res == ResOK; ++i) {
    ssize_t n = recv(connection->fd, connection->buffer + connection->used, connection->room - connection->used,
                     MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      break;
    if (n <= 0) {
      res = ResEND;
      break;
    }
    connection->used += (Size)n;
    res = linkParse(receiver, connection);
  }
  if (res == ResOK || res == ResEND)
    ConnectionWrite(connection);
  if (res != ResOK)
    linkFailed(receiver, connection, res);
}

/* connectionCheck -- see listenlink.h */
static Bool connectionCheck(const ConnectionStruct *connection, const ReceiverStruct *receiver)
{
  return connection->used <= connection->room && (connection->buffer != NULL) == (connection->room > 0) &&
         connection->room <= HeaderMAX && connection->outUsed <= sizeof connection->out &&
         (connection->fd < 0 || !connection->acknowledge || connection->sender != NULL) &&
         (connection->sender == NULL || connection->greeted) &&
         (connection->sender == NULL || connection->sender->size <= receiver->listen->limit);
}

Bool ReceiverCheck(Receiver receiver)
{
  Index i;

  if (receiver->senders > receiver->listen->senders || receiver->connections > receiver->places)
    return FALSE;
  for (i = 0; i < receiver->senders; ++i)
    if (receiver->sender[i]->path[0] == '\0')
      return FALSE;
  for (i = 0; i < receiver->connections; ++i)
    if (!connectionCheck(receiver->connection[i], receiver))
      return FALSE;
  return TRUE;
}
