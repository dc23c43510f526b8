/* collectorsocket.c -- requests and notes to the collector
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/collectorsocket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/aver.h"
#include "emit/control.h"
#include "handover/standstill.h"
#include "plinth/lent.h"

enum {
  socketTELL = 20, /* ms to tell what is lost while the collector's queue is full */
  socketWAIT = 1000, /* ms for room in that queue, and for the answer, together */
  socketNsPerMs = 1000000,
  socketLOWEST = DescriptorFEW - DescriptorROOM, /* numbers that DescriptorTake gives, and the next one */
  socketBEYOND = DescriptorTOP + DescriptorROOM
};

/* The socket that words go out by, connected to the one of a collector that has proved who it is: whoever has its name
 * later gets none of them.  It is kept: one that is opened for each word would now and then have a number that the
 * program counts on. */
static PlinthStruct socketKept = {.fd = -1};

/* Programs that are executed now have it.  And the network namespace, its inode, in which the collector's name was
 * found last; 0: not known. */
static Bool socketKeptLeft;
static uint64_t socketNetwork;

/* This process has not met the collector, because it stood still. */
static Bool socketAlone;

/* ---- The socket ---- */

/* socketAddress -- of the collector's socket, in the abstract namespace; returns its length */
static Size socketAddress(struct sockaddr_un *address)
{
  Size length = strlen(ControlSettings.collector);

  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, ControlSettings.collector, length);
  return offsetof(struct sockaddr_un, sun_path) + 1 + length;
}

/* socketDial -- a socket connected to that of whoever has the collector's name now; or minus an errno */
static long socketDial(void)
{
  struct sockaddr_un address;
  Size length = socketAddress(&address);
  long fd = LentCall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), res;

  if (fd < 0)
    return fd;
  res = RawCall(SYS_connect, fd, &address, length);
  if (res == 0)
    return fd;
  LentClose(fd);
  return res;
}

/* socketNames -- is this number a socket that is connected to the collector which the environment names? */
static Bool socketNames(int fd)
{
  struct sockaddr_un wanted, peer;
  int length = sizeof peer;

  return RawCall(SYS_getpeername, fd, &peer, &length) == 0 && (Size)length == socketAddress(&wanted) &&
         memcmp(&peer, &wanted, (Size)length) == 0;
}

/* socketLeft -- the socket that the program before this one has left, as one of ours; minus an errno: it has left none.
 * Another emitter of this process may have found it already, whose it stays. */
static long socketLeft(void)
{
  long res = -ECONNREFUSED;
  int fd;

  for (fd = socketBEYOND; res < 0 && --fd >= socketLOWEST; ) {
    long flags = RawCall(SYS_fcntl, fd, F_GETFD);
    if (flags < 0 || !socketNames(fd))
      continue;
    res = LentCall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
    if (res >= 0 && flags == 0)
      LentClose(fd);
  }
  return res;
}

/* socketSend -- one datagram; fd: a descriptor to go with it, or -1.  0, or minus an errno. */
static long socketSend(long to, RegionMeet meet, int fd)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {meet, sizeof *meet};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  long res;

  if (fd >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  res = RawCall(SYS_sendmsg, to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return res < 0 ? res : 0;
}

/* socketTell -- one datagram to the collector that was met.  0, or minus an errno; -EBADF: none was, or the program has
 * closed the socket. */
static long socketTell(RegionMeet meet)
{
  unsigned turn = DescriptorEnter();
  struct stat status;
  long to = DescriptorOurs(&socketKept, &status), res;

  res = to < 0 ? -EBADF : socketSend(to, meet, -1);
  DescriptorLeave(turn);
  return res;
}

static void socketFill(RegionMeet meet)
{
  memset(meet, 0, sizeof *meet);
  memcpy(meet->magic, RegionMAGIC, BlockMagicSIZE);
  meet->version = RegionMeetVERSION;
  (void)strcpy(meet->token, ControlSettings.token);
}

/* socketNap -- the collector's queue is full: wait a moment.  FALSE: it is `end`. */
static Bool socketNap(long res, uint64_t end)
{
  long moment[2] = {0, socketNsPerMs};

  if (res != -EAGAIN || EventClockMonotonic() >= end)
    return FALSE;
  (void)RawCall(SYS_nanosleep, moment, NULL);
  return TRUE;
}

/* socketOffer -- send the request as soon as the queue has room; 0, or minus an errno: -EAGAIN, it is `end` */
static long socketOffer(long to, RegionMeet meet, int fd, uint64_t end)
{
  long res;

  do
    res = socketSend(to, meet, fd);
  while (socketNap(res, end));
  return res;
}

/* socketAsk -- send the request with one end of a pair, which is closed here.  With what is answered on the other end
 * the kernel says from whom it is.  That end, or minus an errno: -EAGAIN, it is `end`.  Where no pair can be had the
 * request goes out without: nobody can answer that, but the collector knows that the process is there. */
static long socketAsk(long to, RegionMeet meet, uint64_t end)
{
  int ends[2], on = 1;
  long res;

  LentBegin();
  res = RawCall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
  if (res == 0)
    LentNumber(ends[0]), LentNumber(ends[1]);
  LentEnd();
  if (res < 0)
    return socketOffer(to, meet, -1, end) == -EAGAIN ? -EAGAIN : res;
  res = RawCall(SYS_setsockopt, ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  if (res == 0)
    res = socketOffer(to, meet, ends[1], end);
  LentClose(ends[1]);
  if (res == 0)
    return ends[0];
  LentClose(ends[0]);
  return res;
}

/* socketWait -- until the answer is there, or nobody has the other end any more; FALSE: it is `end` */
static Bool socketWait(int fd, uint64_t end)
{
  uint64_t now;
  struct pollfd poll = {fd, POLLIN, 0};

  while ((now = EventClockMonotonic()) < end) {
    long time[2] = {(long)((end - now) / 1000000000u), (long)((end - now) % 1000000000u)};
    long res = RawCall(SYS_ppoll, &poll, 1, time, NULL, 0);
    if (res > 0)
      return TRUE;
    if (res < 0 && res != -EINTR)
      return FALSE;
  }
  return FALSE;
}

/* socketRequest -- what is asked for */
static void socketRequest(RegionMeet meet, Emitter emitter)
{
  const char *called = EmitterArguments != NULL ? RawProgramCalled() : NULL;

  socketFill(meet);
  meet->pid = emitter->pid;
  meet->identity = emitter->identity;
  meet->slots = (uint32_t)StoreSlots();
  meet->policy = ControlSettings.policy;
  meet->limit = ControlSettings.limit;
  meet->stack = EmitterStack;
  (void)RawCall(SYS_prctl, PR_GET_NAME, meet->name, 0, 0, 0);
  _Static_assert(RawProgramMAX <= sizeof meet->program, "it fits");
  meet->called = called != NULL && strlen(called) < sizeof meet->program;
  (void)strcpy(meet->program, meet->called ? called : RawProgram());
}

/* socketWay -- a socket to ask by, connected to that of whoever has the collector's name; minus an errno.  A socket
 * stays in the network namespace in which it was made: where nobody has the name the one that our parent had before
 * fork, or that the program before this one has left, may reach the collector all the same.
 * keptReturn  it is our parent's, and stays */
static long socketWay(Bool *keptReturn)
{
  struct stat status;
  long to = socketDial();

  *keptReturn = FALSE;
  if (to != -ECONNREFUSED)
    return to;
  to = DescriptorOurs(&socketKept, &status);
  *keptReturn = to >= 0;
  return to >= 0 ? to : socketLeft();
}

/* socketKnock -- ask the process at the other end for a region.  If we know that the collector stands still we do not
 * wait for it, but send the request all the same: when it goes on it should know of us.  If we find that out we tell
 * the family. */
static Bool socketKnock(Grant grant, Bool *believedIO, long to, RegionMeet meet, Bool still)
{
  uint64_t end = still ? 0 : EventClockMonotonic() + (uint64_t)socketWAIT * socketNsPerMs;
  long fd = socketAsk(to, meet, end);
  Bool there = fd >= 0 && !still && socketWait((int)fd, end);
  Bool met = there && GrantReceive(grant, believedIO, (int)fd);

  if (!still && (fd == -EAGAIN || (fd >= 0 && !there))) {
    socketAlone = TRUE;
    StandstillTell();
  } else if (still && fd == -ECONNREFUSED) {
    StandstillOver();
  }
  if (fd >= 0)
    LentClose(fd);
  return met;
}

Bool CollectorSocketMeet(Emitter emitter, Grant grant)
{
  RegionMeetStruct meet;
  struct stat status;
  Bool met = FALSE, believed, kept, still;
  unsigned turn;
  long to;

  grant->count = 0;
  if (!CollectorSocketNamed())
    return FALSE;
  socketRequest(&meet, emitter);
  socketAlone = still = StandstillNow();
  turn = DescriptorEnter();
  to = socketWay(&kept);
  believed = kept;
  if (to >= 0)
    met = socketKnock(grant, &believed, to, &meet, still);
  DescriptorLeave(turn);
  /* The socket is kept if the collector at the other end has proved who it is. */
  if (to >= 0 && !kept && (!believed || DescriptorOurs(&socketKept, &status) >= 0 || !DescriptorMay() ||
                           DescriptorTake(&socketKept, (int)to) != ResOK))
    LentClose(to);
  socketAlone = socketAlone && !met;
  if (met)
    RawProgramTold(grant->answer.program);
  else
    GrantDrop(grant);
  return met;
}

Bool CollectorSocketNamed(void)
{
  return ControlSettings.collector[0] != '\0';
}

/* socketFound -- has anybody the collector's name here?  FALSE only where that is known. */
static Bool socketFound(void)
{
  long to = socketDial();

  if (to >= 0)
    LentClose(to);
  return to != -ECONNREFUSED;
}

/* socketFoundAgain -- the same in a process that goes on, where another thread may count on the number that a
 * descriptor would have: none is opened in the network namespace in which the name was found before. */
static Bool socketFoundAgain(void)
{
  struct stat status;
  uint64_t network =
      RawCall(SYS_newfstatat, AT_FDCWD, "/proc/thread-self/ns/net", &status, 0) == 0 ? status.st_ino : 0;

  if (network != 0 && network == __atomic_load_n(&socketNetwork, __ATOMIC_RELAXED))
    return TRUE;
  if (!socketFound())
    return FALSE;
  __atomic_store_n(&socketNetwork, network, __ATOMIC_RELAXED);
  return TRUE;
}

/* socketPass -- programs that are executed from now on have the socket, or have it no longer: in another network
 * namespace they cannot find the collector by its name */
static void socketPass(Bool pass)
{
  struct stat status;
  int fd = pass || socketKeptLeft ? DescriptorOurs(&socketKept, &status) : -1;

  if (fd >= 0)
    (void)RawCall(SYS_fcntl, fd, F_SETFD, pass ? 0 : FD_CLOEXEC);
  socketKeptLeft = pass;
}

/* socketRefused -- is there no collector that could be told?  A full queue belongs to one. */
static Bool socketRefused(long res)
{
  return res < 0 && res != -EAGAIN;
}

void CollectorSocketStarts(unsigned lack, Bool collected)
{
  RegionMeetStruct call;

  if (!CollectorSocketNamed()) {
    GrantLogPass(lack == 0);
    return;
  }
  socketFill(&call);
  if (lack == 0 && !collected && socketRefused(socketTell(&call)))
    GrantLogPass(TRUE);
  else
    socketPass(lack == 0 && !socketFoundAgain());
}

Bool CollectorSocketOurs(const char *entry, Size length)
{
  char room[CollectorSocketOURS];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextFormat(&text, RegionVARIABLE "=collector=%s:%s", ControlSettings.collector, ControlSettings.token);
  return !CollectorSocketNamed() || length < TextLength(&text) || memcmp(entry, room, TextLength(&text)) == 0;
}

/* socketInsist -- one datagram to the collector that was met, as soon as its queue has room, which is waited for `ms`
 * at most; 0, or minus an errno.  A process that knows that the collector stands still does not wait for it, and one
 * that finds out in socketWAIT lets the family know. */
static long socketInsist(RegionMeet meet, unsigned ms)
{
  long res = socketTell(meet);
  uint64_t end;

  if (res != -EAGAIN || StandstillNow())
    return res;
  end = EventClockMonotonic() + (uint64_t)ms * socketNsPerMs;
  while (socketNap(res, end))
    res = socketTell(meet);
  if (res == -EAGAIN && ms == socketWAIT)
    StandstillTell();
  return res;
}

/* socketNote -- a note is sent, or, if it finds no room or the collector was never met, left; 0, or minus an errno */
static long socketNote(RegionMeet note)
{
  long res = socketInsist(note, socketWAIT);

  if (res == -EAGAIN || (res == -EBADF && socketAlone))
    StandstillNote(note);
  return res;
}

/* socketOwnPath -- a path that means another file for each process, of its own program or descriptors, as the file that
 * it leads to in this one; FALSE: it is no such path */
static Bool socketOwnPath(RegionMeet meet, const char *path)
{
  static const char *const own[] = {"/proc/self/", "/proc/thread-self/", "/dev/fd/", "/dev/stdin"};
  long length = -1;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(own) && length < 0; ++i)
    if (strncmp(path, own[i], strlen(own[i])) == 0)
      length = RawCall(SYS_readlinkat, AT_FDCWD, path, meet->program, sizeof meet->program - 1);
  meet->program[length > 0 ? length : 0] = '\0';
  return meet->program[0] == '/';
}

/* socketProgram -- an absolute path: whoever reads it may do so when we have ended, and our folder with us.  A name is
 * looked for in PATH.  FALSE: it is too long. */
static Bool socketProgram(RegionMeet meet, const char *path)
{
  Size length = strlen(path);
  TextStruct text;

  if (socketOwnPath(meet, path))
    return TRUE;
  TextInit(&text, meet->program, sizeof meet->program);
  if (path[0] != '/' && strchr(path, '/') != NULL && RawAbsolute(&text, path) == ResOK && meet->program[0] == '/')
    return TRUE;
  if (length >= sizeof meet->program)
    return FALSE;
  memcpy(meet->program, path, length + 1);
  return TRUE;
}

void CollectorSocketNote(unsigned note, const char *path, unsigned lack, pid_t child)
{
  RegionMeetStruct message;
  long res;

  AVER(note == RegionNoteEXEC || note == RegionNoteSTAYS || note == RegionNoteSTART);
  if (!CollectorSocketNamed() || (note == RegionNoteSTAYS && StandstillNoteBack()))
    return;
  socketFill(&message);
  if (!socketProgram(&message, path))
    return;
  message.note = note;
  message.lack = lack;
  message.self = RawPid();
  message.child = (uint32_t)child;
  res = socketNote(&message);
  if (note != RegionNoteEXEC)
    return;
  if (lack == 0 && socketRefused(res))
    GrantLogPass(TRUE);
  else
    socketPass(lack == 0 && !socketFound());
}

void CollectorSocketLibrary(unsigned note, uint64_t identity, const char *library)
{
  RegionMeetStruct message;

  AVER(note == RegionNoteBEFORE || note == RegionNoteDEEP || note == RegionNoteSHALLOW);
  socketFill(&message);
  if (!socketProgram(&message, library))
    return;
  message.note = note;
  message.identity = identity;
  message.self = RawPid();
  (void)socketNote(&message);
}

Bool CollectorSocketLost(uint64_t events)
{
  RegionMeetStruct message;

  if (!CollectorSocketNamed())
    return FALSE;
  socketFill(&message);
  message.note = RegionNoteLOST;
  message.lost = events;
  return socketInsist(&message, socketTELL) == 0;
}

/* socketCall -- wake the process that has the collector's name, where this one cannot keep a socket.  The message
 * contains no
 * information.  Returns 0, or minus an errno if no process has the name. */
static long socketCall(RegionMeet call)
{
  long to = socketDial();

  if (to < 0)
    return to;
  (void)socketSend(to, call, -1);
  LentClose(to);
  return 0;
}

void CollectorSocketWake(RegionHeader region)
{
  RegionMeetStruct call;

  if (LIKELY(__atomic_load_n(&region->hand.sleeping, __ATOMIC_SEQ_CST) == 0) ||
      __atomic_exchange_n(&region->hand.sleeping, 0, __ATOMIC_ACQ_REL) == 0)
    return;
  socketFill(&call);
  if (socketTell(&call) == -EBADF)
    (void)socketCall(&call);
}

Bool CollectorSocketGone(RegionHeader region)
{
  uint32_t collector = __atomic_load_n(&region->hand.collector, __ATOMIC_ACQUIRE) & RegionCollectorTID;
  RegionMeetStruct call;
  long res;

  socketFill(&call);
  res = socketTell(&call);
  if (res != -EBADF)
    return res == -ECONNREFUSED || res == -ENOTCONN;
  /* In another network nobody has its name, and it lives all the same. */
  return socketCall(&call) == -ECONNREFUSED && RawCall(SYS_kill, collector, 0) == -ESRCH;
}
