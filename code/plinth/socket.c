/* socket.c -- plinths over stream sockets: keeping, locking, and the plinth's functions
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/socket.h"

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
#include "plinth/quiet.h"

enum {
  socketPage = 4096,
  socketYields = 100,   /* before a thread that waits for the lock sleeps, */
  socketNaps = 1000,    /* and how often it does before it gives up: a tenth of a second */
  socketNap = 100000,   /* ns */
  socketPoll = 20,      /* ms, the longest sleep while the end is waited for */
  socketMissing = 5     /* who is not there is waited for so much shorter */
};

uint64_t SocketNow(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static Size socketOverhead(void)
{
  return WordAlignUp(sizeof(SocketStruct), socketPage) + 2 * SocketHeaderMAX;
}

/* socketKeep -- the bytes that ",keep=SIZE" at the end of the place asks for; 0: not to be understood.  *lengthReturn:
 * of the place without that. */
static Size socketKeep(Size *lengthReturn, const char *place)
{
  const char *option = strstr(place, ",keep="), *p;
  Size keep = 0;

  *lengthReturn = option != NULL ? (Size)(option - place) : strlen(place);
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
    return QuietAbsolute(&text, place);
  TextString(&text, place);
  (void)TextTerminate(&text);
  return text.overflow ? ResLIMIT : ResOK;
}

static Res socketOpen(Plinth plinth, const char *way, const char *place, const char **reasonReturn)
{
  char where[PlinthPlaceMAX];
  AddressStruct address;
  Size keep, length;
  Res res = place[0] != '\0' ? socketPlace(plinth, way, place) : ResPARAM;

  if (res == ResPARAM)
    *reasonReturn = "it names no place";
  if (res == ResPARAM)
    return res;
  keep = socketKeep(&length, plinth->place);
  if (res != ResOK || keep == 0) {
    *reasonReturn = res != ResOK ? "its name is too long" : "keep= wants a size from 256K to 1024M";
    return res != ResOK ? res : ResPARAM;
  }
  memcpy(where, plinth->place, length);
  where[length] = '\0';
  res = AddressRead(&address, where, reasonReturn);
  if (res != ResOK)
    return res;
  plinth->size = socketOverhead() + keep;
  plinth->state = QuietMap(plinth->size, socketPage);
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

/* socketBegin -- a link of this process's own; the descriptor, if there is one, is its parent's */
static void socketBegin(Plinth plinth, Socket socket)
{
  DescriptorClose(plinth);
  if (QuietCall(SYS_getrandom, &socket->link, sizeof socket->link, 1 /* GRND_NONBLOCK */) != sizeof socket->link)
    socket->link = (SocketNow() << 20 ^ (uint64_t)QuietPid()) * 0x9e3779b97f4a7c15ull;
  socket->link |= 1;
  socket->local = plinth->class == &PlinthClassUnix;
  KeepInit(&socket->keep, SocketHeader(socket, 2), plinth->size - socketOverhead());
  socket->wiped = QuietCall(SYS_madvise, socket, plinth->size, MADV_WIPEONFORK) == 0;
  __atomic_store_n(&socket->pid, QuietPid(), __ATOMIC_RELEASE);
}

/* socketNapping -- wait a moment, the `tries`th time; FALSE: it has been enough */
static Bool socketNapping(unsigned tries)
{
  struct timespec nap = {0, socketNap};

  if (tries < socketYields)
    (void)sched_yield();
  else
    (void)QuietCall(SYS_nanosleep, &nap, NULL);
  return tries < socketYields + socketNaps;
}

/* socketTake -- the state, locked, of this process's own link; NULL: somebody who does not go on has it */
static Socket socketTake(Plinth plinth)
{
  Socket socket = plinth->state;
  unsigned self = QuietPid(), pid = __atomic_load_n(&socket->pid, __ATOMIC_ACQUIRE), owner = 0, tries = 0;

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
  res = KeepPut(&socket->keep, message, size);
  if (res != ResOK) {
    SocketPump(plinth, socket);
    res = KeepPut(&socket->keep, message, size);
  }
  SocketPump(plinth, socket);
  *reasonReturn = socket->phase == SocketUP ? "it takes less than is recorded, and no more can be kept"
                                            : "it cannot be reached, and no more can be kept";
  socketGive(socket);
  return res;
}

/* socketHeaderKeep -- the newest header block, not into the place of one that is going out */
static void socketHeaderKeep(Plinth plinth, const void *message, Size size)
{
  Socket socket = size <= SocketHeaderMAX ? socketTake(plinth) : NULL;
  Bool going;

  if (socket == NULL)
    return;
  going = socket->phase != SocketDOWN && socket->greeted < socket->greetingLength;
  socket->newest = 1 - (going ? socket->greeting : socket->newest);
  memcpy(SocketHeader(socket, socket->newest), message, size);
  socket->headerLength[socket->newest] = size;
  socketGive(socket);
}

static Res socketReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  Socket socket = socketTake(plinth);
  Res res = ResEND;

  *sizeReturn = 0;
  if (socket == NULL)
    return res;
  SocketPump(plinth, socket);
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

  (void)QuietCall(SYS_ppoll, &wait, connected ? 1 : 0, &nap, NULL, 0);
}

/* socketWait -- what is sent meanwhile by others is not waited for */
static Count socketWait(Plinth plinth, unsigned ms)
{
  Socket socket = socketTake(plinth);
  uint64_t begin = SocketNow(), goal = socket != NULL ? socket->keep.head.number : 0, left = 0;
  Bool writing, connected;

  while (socket != NULL) {
    SocketPump(plinth, socket);
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
  left = KeepSum(&socket->keep, events);
  socketGive(socket);
  return left;
}

static void socketClose(Plinth plinth)
{
  DescriptorClose(plinth);
  QuietUnmap(plinth->state, plinth->size);
  plinth->state = NULL;
}

const PlinthClassStruct PlinthClassTcp = {"tcp", tcpOpen, socketSend, socketReceive, socketClose, socketHeaderKeep,
                                          socketWait, socketLeft};
const PlinthClassStruct PlinthClassUnix = {"unix", unixOpen, socketSend, socketReceive, socketClose, socketHeaderKeep,
                                           socketWait, socketLeft};
