/* collectorsocket.c -- words to the collector
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/collectorsocket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "emit/control.h"
#include "handover/collectorstill.h"
#include "plinth/descriptor.h"
#include "plinth/rawsyscall.h"

enum {
  meetTELL = 20, /* ms to tell what is lost while the collector's queue is full */
  meetWAIT = 1000, /* ms for room in that queue, and for the answer, together */
  meetNsPerMs = 1000000,
  meetLOWEST = DescriptorFEW - DescriptorROOM, /* numbers that DescriptorTake gives, and the next one */
  meetBEYOND = DescriptorTOP + DescriptorROOM
};

/* The log, for the time when the collector is gone; as long as there is none its class is NULL.  It outlives fork. */
static PlinthStruct meetLog = {.fd = -1};

/* The socket that words go out by, connected to the one of a collector that has proved who it is: whoever has its name
 * later gets none of them.  It is kept: one that is opened for each word would now and then have a number that the program
 * counts on. */
static PlinthStruct meetSocket = {.fd = -1};

/* Programs that are executed now have it.  And the network namespace, its inode, in which the collector's name was found
 * last; 0: not known. */
static Bool meetSocketLeft;
static uint64_t meetNetwork;

/* meetAddress -- of the collector's socket, in the abstract namespace; returns its length */
static Size meetAddress(struct sockaddr_un *address)
{
  Size length = strlen(ControlSettings.collector);

  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, ControlSettings.collector, length);
  return offsetof(struct sockaddr_un, sun_path) + 1 + length;
}

/* meetDial -- a socket connected to that of whoever has the collector's name now; or minus an errno */
static long meetDial(void)
{
  struct sockaddr_un address;
  Size length = meetAddress(&address);
  long fd = RawCall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), res;

  if (fd < 0)
    return fd;
  res = RawCall(SYS_connect, fd, &address, length);
  if (res == 0)
    return fd;
  (void)RawCall(SYS_close, fd);
  return res;
}

/* meetNames -- is this number a socket that is connected to the collector which the environment names? */
static Bool meetNames(int fd)
{
  struct sockaddr_un wanted, peer;
  int length = sizeof peer;

  return RawCall(SYS_getpeername, fd, &peer, &length) == 0 && (Size)length == meetAddress(&wanted) &&
         memcmp(&peer, &wanted, (Size)length) == 0;
}

/* meetLeft -- the socket that the program before this one has left, as one of ours; minus an errno: it has left none.
 * Another emitter of this process may have found it already, whose it stays. */
static long meetLeft(void)
{
  long res = -ECONNREFUSED;
  int fd;

  for (fd = meetBEYOND; res < 0 && --fd >= meetLOWEST; ) {
    long flags = RawCall(SYS_fcntl, fd, F_GETFD);
    if (flags < 0 || !meetNames(fd))
      continue;
    res = RawCall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
    if (res >= 0 && flags == 0)
      (void)RawCall(SYS_close, fd);
  }
  return res;
}

/* meetSend -- one datagram; fd: a descriptor to go with it, or -1.  0, or minus an errno. */
static long meetSend(long to, RegionMeet meet, int fd)
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

/* meetTell -- one datagram to the collector that was met.  0, or minus an errno; -EBADF: none was, or the program has closed
 * the socket. */
static long meetTell(RegionMeet meet)
{
  unsigned turn = DescriptorEnter();
  struct stat status;
  long to = DescriptorOurs(&meetSocket, &status), res;

  res = to < 0 ? -EBADF : meetSend(to, meet, -1);
  DescriptorLeave(turn);
  return res;
}

/* meetKeep -- the collector at the other end has proved who it is; the socket is ours to use, or closed */
static void meetKeep(long to)
{
  struct stat status;

  if (DescriptorOurs(&meetSocket, &status) >= 0 || !DescriptorMay() || DescriptorTake(&meetSocket, (int)to) != ResOK)
    (void)RawCall(SYS_close, to);
}

static void meetFill(RegionMeet meet)
{
  memset(meet, 0, sizeof *meet);
  memcpy(meet->magic, RegionMAGIC, BlockMagicSIZE);
  meet->version = RegionMeetVERSION;
  (void)strcpy(meet->token, ControlSettings.token);
}

/* meetNap -- the collector's queue is full: wait a moment.  FALSE: it is `end`. */
static Bool meetNap(long res, uint64_t end)
{
  long moment[2] = {0, meetNsPerMs};

  if (res != -EAGAIN || EventClockMonotonic() >= end)
    return FALSE;
  (void)RawCall(SYS_nanosleep, moment, NULL);
  return TRUE;
}

/* meetOffer -- send the request as soon as the queue has room; 0, or minus an errno: -EAGAIN, it is `end` */
static long meetOffer(long to, RegionMeet meet, int fd, uint64_t end)
{
  long res;

  do
    res = meetSend(to, meet, fd);
  while (meetNap(res, end));
  return res;
}

/* meetAsk -- send the request with one end of a pair, which is closed here.  With what is answered on the other end the
 * kernel says from whom it is.  That end, or minus an errno: -EAGAIN, it is `end`.  Where no pair can be had the
 * request goes out without: nobody can answer that, but the collector knows that the process is there. */
static long meetAsk(long to, RegionMeet meet, uint64_t end)
{
  int ends[2], on = 1;
  long res;

  res = RawCall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
  if (res < 0)
    return meetOffer(to, meet, -1, end) == -EAGAIN ? -EAGAIN : res;
  res = RawCall(SYS_setsockopt, ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  if (res == 0)
    res = meetOffer(to, meet, ends[1], end);
  (void)RawCall(SYS_close, ends[1]);
  if (res == 0)
    return ends[0];
  (void)RawCall(SYS_close, ends[0]);
  return res;
}

/* meetWait -- until the answer is there, or nobody has the other end any more; FALSE: it is `end` */
static Bool meetWait(int fd, uint64_t end)
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

/* meetDescriptors -- those that came with the answer; what is too many is closed.  How many there are. */
static Count meetDescriptors(int fds[RegionGrantMAX], struct cmsghdr *control)
{
  Count count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;

  for (i = 0; i < count; ++i) {
    int fd;
    memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
    if (i < RegionGrantMAX)
      fds[i] = fd;
    else
      (void)RawCall(SYS_close, fd);
  }
  return count < RegionGrantMAX ? count : RegionGrantMAX;
}

/* meetControl -- take the descriptors.  Is the answer from root, or from our own user?  The name is anybody's when the
 * collector is gone, and what an answer brings could end us, or swallow what we record. */
static Bool meetControl(HandGrant grant, struct msghdr *message)
{
  struct cmsghdr *control;
  Bool believed = FALSE;

  for (control = CMSG_FIRSTHDR(message); control != NULL; control = CMSG_NXTHDR(message, control)) {
    if (control->cmsg_level != SOL_SOCKET)
      continue;
    if (control->cmsg_type == SCM_RIGHTS) {
      grant->count = meetDescriptors(grant->fd, control);
    } else if (control->cmsg_type == SCM_CREDENTIALS) {
      struct ucred sender;
      memcpy(&sender, CMSG_DATA(control), sizeof sender);
      believed = sender.uid == 0 || sender.uid == RawUser();
    }
  }
  return believed;
}

/* meetOurs -- is the answer of our own recording?  Whoever has the name of a collector that is dead can pass a request on to
 * another one, which is root's or our user's, and would have our events. */
static Bool meetOurs(const RegionGrantStruct *answer)
{
  return memcmp(answer->magic, RegionMAGIC, BlockMagicSIZE) == 0 && answer->version == RegionMeetVERSION &&
         (ControlSettings.recording == 0 || answer->recording == ControlSettings.recording);
}

/* meetAnswer -- take the answer that is there; FALSE: there is none, or not from whom it should be, or not what it should be
 * believedIO  who was asked has proved before who it is; then: the answer is a collector's, also if that takes no more
 *             processes */
static Bool meetAnswer(HandGrant grant, Bool *believedIO, int fd)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(RegionGrantMAX * sizeof(int))];
  } control;
  struct iovec part = {&grant->answer, sizeof grant->answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  RegionGrant answer = &grant->answer;
  long size;

  size = RawCall(SYS_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0)
    return FALSE;
  *believedIO = (meetControl(grant, &message) || *believedIO) && size == (long)sizeof *answer && meetOurs(answer);
  return *believedIO && grant->count > RegionGrantCONTROL && answer->slots > 0 &&
         answer->slots <= RegionSlotsMAX && memchr(answer->path, '\0', sizeof answer->path) != NULL &&
         memchr(answer->program, '\0', sizeof answer->program) != NULL &&
         (answer->path[0] == '\0' || RegionPathNamed(answer->path, ControlSettings.log));
}

/* meetRequest -- what is asked for */
static void meetRequest(RegionMeet meet, Process process)
{
  const char *called = ProcessArguments != NULL ? RawProgramCalled() : NULL;

  meetFill(meet);
  meet->pid = process->pid;
  meet->identity = process->identity;
  meet->slots = (uint32_t)StoreSlots();
  meet->policy = ControlSettings.policy;
  meet->limit = ControlSettings.limit;
  meet->stack = ProcessStack;
  (void)RawCall(SYS_prctl, PR_GET_NAME, meet->name, 0, 0, 0);
  _Static_assert(RawProgramMAX <= sizeof meet->program, "it fits");
  meet->called = called != NULL && strlen(called) < sizeof meet->program;
  (void)strcpy(meet->program, meet->called ? called : RawProgram());
}

/* meetWay -- a socket to ask by, connected to that of whoever has the collector's name; minus an errno.  A socket stays in
 * the network namespace in which it was made: where nobody has the name the one that our parent had before fork, or that the
 * program before this one has left, may reach the collector all the same.
 * keptReturn  it is our parent's, and stays */
static long meetWay(Bool *keptReturn)
{
  struct stat status;
  long to = meetDial();

  *keptReturn = FALSE;
  if (to != -ECONNREFUSED)
    return to;
  to = DescriptorOurs(&meetSocket, &status);
  *keptReturn = to >= 0;
  return to >= 0 ? to : meetLeft();
}

/* meetKnock -- ask whoever is at the other end for a region.  Who knows that it stands still does not wait for it; but
 * when it goes on it is to know that we were there.  Who does not know, and finds out, lets the family know. */
static Bool meetKnock(HandGrant grant, Bool *believedIO, long to, RegionMeet meet, Bool still)
{
  uint64_t end = still ? 0 : EventClockMonotonic() + (uint64_t)meetWAIT * meetNsPerMs;
  long fd = meetAsk(to, meet, end);
  Bool there = fd >= 0 && !still && meetWait((int)fd, end);
  Bool met = there && meetAnswer(grant, believedIO, (int)fd);

  if (!still && (fd == -EAGAIN || (fd >= 0 && !there)))
    HandStillTell();
  else if (still && fd == -ECONNREFUSED)
    HandStillOver();
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
  return met;
}

Bool HandMeet(Process process, HandGrant grant)
{
  RegionMeetStruct meet;
  Bool met = FALSE, believed, kept, still;
  unsigned turn;
  long to;

  grant->count = 0;
  if (!HandListened())
    return FALSE;
  meetRequest(&meet, process);
  still = HandStill();
  turn = DescriptorEnter();
  to = meetWay(&kept);
  believed = kept;
  if (to >= 0)
    met = meetKnock(grant, &believed, to, &meet, still);
  else if (still && to == -ECONNREFUSED)
    HandStillOver();
  DescriptorLeave(turn);
  if (to >= 0 && !kept && believed)
    meetKeep(to);
  else if (to >= 0 && !kept)
    (void)RawCall(SYS_close, to);
  if (met)
    RawProgramTold(grant->answer.program);
  else
    HandGrantDrop(grant);
  return met;
}

void HandGrantDrop(HandGrant grant)
{
  Index i;

  for (i = 0; i < grant->count; ++i)
    if (grant->fd[i] >= 0)
      (void)RawCall(SYS_close, grant->fd[i]);
  grant->count = 0;
}

void HandGrantLog(HandGrant grant)
{
  if (DescriptorIsApart())
    return; /* a parent's serves, if there is one */
  if (meetLog.fd >= 0)
    DescriptorClose(&meetLog); /* a parent's */
  if (grant->count <= RegionGrantLOG || !DescriptorMay())
    return;
  if (DescriptorTake(&meetLog, grant->fd[RegionGrantLOG]) != ResOK)
    return;
  grant->fd[RegionGrantLOG] = -1;
  (void)strcpy(meetLog.place, ControlSettings.log);
  __atomic_store_n(&meetLog.class, &PlinthClassFile, __ATOMIC_RELEASE);
}

/* meetInherit -- the log is the one that the program before this one has left, if it did */
static Bool meetInherit(void)
{
  int fd = HandListened() ? PlinthFileInherit(ControlSettings.family) : -1;

  return fd >= 0 && DescriptorTake(&meetLog, fd) == ResOK;
}

Bool HandLogTake(Plinth plinth, const char *place)
{
  struct stat status;

  if (strlen(place) >= sizeof plinth->place || (DescriptorOurs(&meetLog, &status) < 0 && !meetInherit()))
    return FALSE;
  memset(plinth, 0, sizeof *plinth);
  (void)strcpy(plinth->place, place);
  DescriptorPass(plinth, &meetLog);
  __atomic_store_n(&plinth->class, &PlinthClassFile, __ATOMIC_RELEASE);
  return TRUE;
}

Plinth HandLog(void)
{
  struct stat status;

  return meetLog.class != NULL && DescriptorOurs(&meetLog, &status) >= 0 ? &meetLog : NULL;
}

Bool HandListened(void)
{
  return ControlSettings.collector[0] != '\0';
}

/* meetLeave -- programs that are executed from now on have the log's descriptor: they may not be able to open it */
static void meetLeave(void)
{
  Index i;

  PlinthFileLeave(&meetLog, ControlSettings.family);
  for (i = 0; i < ProcessPlinthsMAX; ++i)
    PlinthFileLeave(&ProcessPlinths[i], ControlSettings.family);
}

/* meetFound -- has anybody the collector's name here?  FALSE only where that is known. */
static Bool meetFound(void)
{
  long to = meetDial();

  if (to >= 0)
    (void)RawCall(SYS_close, to);
  return to != -ECONNREFUSED;
}

/* meetFoundAgain -- the same in a process that goes on, where another thread may count on the number that a descriptor would
 * have: none is opened in the network namespace in which the name was found before. */
static Bool meetFoundAgain(void)
{
  struct stat status;
  uint64_t network =
      RawCall(SYS_newfstatat, AT_FDCWD, "/proc/thread-self/ns/net", &status, 0) == 0 ? status.st_ino : 0;

  if (network != 0 && network == __atomic_load_n(&meetNetwork, __ATOMIC_RELAXED))
    return TRUE;
  if (!meetFound())
    return FALSE;
  __atomic_store_n(&meetNetwork, network, __ATOMIC_RELAXED);
  return TRUE;
}

/* meetPass -- programs that are executed from now on have the socket, or have it no longer: in another network namespace they
 * cannot find the collector by its name */
static void meetPass(Bool pass)
{
  struct stat status;
  int fd = pass || meetSocketLeft ? DescriptorOurs(&meetSocket, &status) : -1;

  if (fd >= 0)
    (void)RawCall(SYS_fcntl, fd, F_SETFD, pass ? 0 : FD_CLOEXEC);
  meetSocketLeft = pass;
}

/* meetRefused -- can nobody be told anything?  A full queue is somebody's. */
static Bool meetRefused(long res)
{
  return res < 0 && res != -EAGAIN;
}

void HandStarts(unsigned lack, Bool collected)
{
  RegionMeetStruct call;

  if (!HandListened())
    return;
  meetFill(&call);
  if (lack == 0 && !collected && meetRefused(meetTell(&call)))
    meetLeave();
  else
    meetPass(lack == 0 && !meetFoundAgain());
}

Bool HandOurs(const char *entry, Size length)
{
  char room[sizeof RegionVARIABLE + 16 + sizeof ControlSettings.collector + sizeof ControlSettings.token];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextString(&text, RegionVARIABLE "=collector=");
  TextString(&text, ControlSettings.collector);
  TextChar(&text, ':');
  TextString(&text, ControlSettings.token);
  return !HandListened() || length < TextLength(&text) || memcmp(entry, room, TextLength(&text)) == 0;
}

/* meetInsist -- one datagram to the collector that was met, as soon as its queue has room; 0, or minus an errno.  Who knows
 * that it stands still does not wait for it, and who finds out lets the family know. */
static long meetInsist(RegionMeet meet)
{
  long res = meetTell(meet);
  uint64_t end;

  if (res != -EAGAIN || HandStill())
    return res;
  end = EventClockMonotonic() + (uint64_t)meetWAIT * meetNsPerMs;
  while (meetNap(res, end))
    res = meetTell(meet);
  if (res == -EAGAIN)
    HandStillTell();
  return res;
}

/* meetProgram -- an absolute path: whoever reads it may do so when we have ended, and our folder with us.  A name is looked
 * for in PATH.  FALSE: it is too long. */
static Bool meetProgram(RegionMeet meet, const char *path)
{
  Size length = strlen(path);
  TextStruct text;

  TextInit(&text, meet->program, sizeof meet->program);
  if (path[0] != '/' && strchr(path, '/') != NULL && RawAbsolute(&text, path) == ResOK && meet->program[0] == '/')
    return TRUE;
  if (length >= sizeof meet->program)
    return FALSE;
  memcpy(meet->program, path, length + 1);
  return TRUE;
}

void HandNote(unsigned note, const char *path, unsigned lack, pid_t child)
{
  RegionMeetStruct message;
  Bool refused;

  if (!HandListened())
    return;
  meetFill(&message);
  if (!meetProgram(&message, path))
    return;
  message.note = note;
  message.lack = lack;
  message.self = RawPid();
  message.child = (uint32_t)child;
  refused = meetRefused(meetInsist(&message));
  if (note != RegionNoteEXEC)
    return;
  if (lack == 0 && refused)
    meetLeave();
  else
    meetPass(lack == 0 && !meetFound());
}

void HandBefore(uint64_t identity, const char *library)
{
  RegionMeetStruct message;

  meetFill(&message);
  if (!meetProgram(&message, library))
    return;
  message.note = RegionNoteBEFORE;
  message.identity = identity;
  (void)meetInsist(&message);
}

Bool HandLost(uint64_t events)
{
  uint64_t end = EventClockMonotonic() + (uint64_t)meetTELL * meetNsPerMs;
  RegionMeetStruct message;
  long res;

  if (!HandListened())
    return FALSE;
  meetFill(&message);
  message.note = RegionNoteLOST;
  message.lost = events;
  do
    res = meetTell(&message);
  while (meetNap(res, end));
  return res == 0;
}

/* meetCall -- wake the process that has the collector's name, where this one cannot keep a socket.  The message contains no
 * information.  Returns 0, or minus an errno if no process has the name. */
static long meetCall(RegionMeet call)
{
  long to = meetDial();

  if (to < 0)
    return to;
  (void)meetSend(to, call, -1);
  (void)RawCall(SYS_close, to);
  return 0;
}

void HandWake(RegionHeader region)
{
  RegionMeetStruct call;

  if (LIKELY(__atomic_load_n(&region->hand.sleeping, __ATOMIC_SEQ_CST) == 0) ||
      __atomic_exchange_n(&region->hand.sleeping, 0, __ATOMIC_ACQ_REL) == 0)
    return;
  meetFill(&call);
  if (meetTell(&call) == -EBADF)
    (void)meetCall(&call);
}

Bool HandGone(RegionHeader region)
{
  uint32_t collector = __atomic_load_n(&region->hand.collector, __ATOMIC_ACQUIRE) & RegionCollectorTID;
  RegionMeetStruct call;
  long res;

  meetFill(&call);
  res = meetTell(&call);
  if (res != -EBADF)
    return res == -ECONNREFUSED || res == -ENOTCONN;
  /* In another network nobody has its name, and it lives all the same. */
  return meetCall(&call) == -ECONNREFUSED && RawCall(SYS_kill, collector, 0) == -ESRCH;
}
