/* handoffer.c -- words to the collector
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/handoffer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "emit/control.h"
#include "plinth/descriptor.h"
#include "plinth/quiet.h"

enum {
  meetTRIES = 20, /* to ask while the collector's queue is full, a millisecond apart */
  meetWAIT = 1000, /* ms for the answer */
  meetNsPerMs = 1000000
};

/* The log, for the time when the collector is gone; as long as there is none its class is NULL.  It outlives fork. */
static PlinthStruct meetLog = {.fd = -1};

/* The socket that words go out by.  It is kept: one that is opened for each word would now and then have a number that the
 * program counts on. */
static PlinthStruct meetSocket = {.fd = -1};

/* meetAddress -- of the collector's socket, in the abstract namespace; returns its length */
static Size meetAddress(struct sockaddr_un *address)
{
  Size length = strlen(ControlSettings.collector);

  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, ControlSettings.collector, length);
  return offsetof(struct sockaddr_un, sun_path) + 1 + length;
}

/* meetOpen -- the socket; *lentReturn: it is to be closed after use.  Or minus an errno. */
static long meetOpen(Bool *lentReturn)
{
  struct stat status;
  long fd = DescriptorOurs(&meetSocket, &status);

  *lentReturn = FALSE;
  if (fd >= 0)
    return fd;
  fd = QuietCall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return fd;
  *lentReturn = !DescriptorMay() || DescriptorTake(&meetSocket, (int)fd) != ResOK;
  return *lentReturn ? fd : DescriptorOurs(&meetSocket, &status);
}

/* meetTell -- one datagram to the collector; fd: a descriptor to go with it, or -1.  0, or minus an errno. */
static long meetTell(RegionMeet meet, int fd)
{
  struct sockaddr_un address;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {meet, sizeof *meet};
  struct msghdr message = {.msg_name = &address, .msg_namelen = (socklen_t)meetAddress(&address), .msg_iov = &part,
                           .msg_iovlen = 1};
  unsigned turn = DescriptorEnter();
  Bool lent;
  long to = meetOpen(&lent), res;

  if (fd >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  res = to < 0 ? to : QuietCall(SYS_sendmsg, to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (lent)
    (void)QuietCall(SYS_close, to);
  DescriptorLeave(turn);
  return res < 0 ? res : 0;
}

static void meetFill(RegionMeet meet)
{
  memset(meet, 0, sizeof *meet);
  memcpy(meet->magic, RegionMAGIC, BlockMagicSIZE);
  meet->version = RegionMeetVERSION;
  (void)strcpy(meet->token, ControlSettings.token);
}

/* meetInsist -- the same, again while the collector's queue is full */
static long meetInsist(RegionMeet meet, int fd)
{
  long moment[2] = {0, meetNsPerMs}, res = -EAGAIN;
  unsigned i;

  for (i = 0; i < meetTRIES && (res = meetTell(meet, fd)) == -EAGAIN; ++i)
    (void)QuietCall(SYS_nanosleep, moment, NULL);
  return res;
}

/* meetAsk -- send the request with one end of a pair, which is closed here.  The other end, or minus an errno. */
static long meetAsk(RegionMeet meet)
{
  long res;
  int ends[2];

  res = QuietCall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
  if (res < 0)
    return res;
  res = meetInsist(meet, ends[1]);
  (void)QuietCall(SYS_close, ends[1]);
  if (res == 0)
    return ends[0];
  (void)QuietCall(SYS_close, ends[0]);
  return res;
}

/* meetWait -- until the answer is there, or nobody has the other end any more; FALSE: it takes too long */
static Bool meetWait(int fd)
{
  uint64_t end = EventClockMonotonic() + (uint64_t)meetWAIT * meetNsPerMs, now;
  struct pollfd poll = {fd, POLLIN, 0};

  while ((now = EventClockMonotonic()) < end) {
    long time[2] = {(long)((end - now) / 1000000000u), (long)((end - now) % 1000000000u)};
    long res = QuietCall(SYS_ppoll, &poll, 1, time, NULL, 0);
    if (res > 0)
      return TRUE;
    if (res < 0 && res != -EINTR)
      return FALSE;
  }
  return FALSE;
}

/* meetDescriptors -- those that came with the answer; what is too many is closed.  How many there are. */
static Count meetDescriptors(int fds[RegionGrantMAX], struct msghdr *message)
{
  struct cmsghdr *control = CMSG_FIRSTHDR(message);
  Count count, i;

  if (control == NULL || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
    return 0;
  count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (i = 0; i < count; ++i) {
    int fd;
    memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
    if (i < RegionGrantMAX)
      fds[i] = fd;
    else
      (void)QuietCall(SYS_close, fd);
  }
  return count < RegionGrantMAX ? count : RegionGrantMAX;
}

/* meetAnswer -- take it; FALSE: there is none, or not what it should be */
static Bool meetAnswer(HandGrant grant, int fd)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(RegionGrantMAX * sizeof(int))];
  } control;
  struct iovec part = {&grant->answer, sizeof grant->answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  RegionGrant answer = &grant->answer;
  long size;

  if (!meetWait(fd))
    return FALSE;
  size = QuietCall(SYS_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0)
    return FALSE;
  grant->count = meetDescriptors(grant->fd, &message);
  return size == (long)sizeof *answer && memcmp(answer->magic, RegionMAGIC, BlockMagicSIZE) == 0 &&
         answer->version == RegionMeetVERSION && grant->count > RegionGrantCONTROL && answer->slots > 0 &&
         answer->slots <= RegionSlotsMAX && memchr(answer->path, '\0', sizeof answer->path) != NULL;
}

Bool HandMeet(Process process, HandGrant grant)
{
  RegionMeetStruct meet;
  Bool met;
  long fd;

  grant->count = 0;
  meetFill(&meet);
  meet.pid = process->pid;
  meet.identity = process->identity;
  meet.slots = (uint32_t)StoreSlots();
  meet.policy = ControlSettings.policy;
  _Static_assert(QuietProgramMAX <= sizeof meet.program, "it fits");
  (void)strcpy(meet.program, QuietProgram());
  fd = meetAsk(&meet);
  if (fd < 0)
    return FALSE;
  met = meetAnswer(grant, (int)fd);
  (void)QuietCall(SYS_close, fd);
  if (!met)
    HandGrantDrop(grant);
  return met;
}

void HandGrantDrop(HandGrant grant)
{
  Index i;

  for (i = 0; i < grant->count; ++i)
    if (grant->fd[i] >= 0)
      (void)QuietCall(SYS_close, grant->fd[i]);
  grant->count = 0;
}

void HandGrantLog(HandGrant grant)
{
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

/* meetRefused -- can nobody be told anything?  A full queue is somebody's. */
static Bool meetRefused(long res)
{
  return res < 0 && res != -EAGAIN;
}

void HandStarts(unsigned lack)
{
  RegionMeetStruct call;

  if (!HandListened() || lack != 0)
    return;
  meetFill(&call);
  if (meetRefused(meetTell(&call, -1)))
    meetLeave();
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

void HandNote(unsigned note, const char *path, unsigned lack, pid_t child)
{
  RegionMeetStruct message;
  Size length = strlen(path);

  if (!HandListened() || length >= sizeof message.program)
    return;
  meetFill(&message);
  message.note = note;
  message.lack = lack;
  message.self = (uint32_t)QuietCall(SYS_getpid);
  message.child = (uint32_t)child;
  memcpy(message.program, path, length);
  if (meetRefused(meetTell(&message, -1)) && note == RegionNoteEXEC && lack == 0)
    meetLeave();
}

Bool HandLost(uint64_t events)
{
  RegionMeetStruct message;

  if (!HandListened())
    return FALSE;
  meetFill(&message);
  message.note = RegionNoteLOST;
  message.lost = events;
  return meetInsist(&message, -1) == 0;
}

void HandWake(RegionHeader region)
{
  RegionMeetStruct call;

  if (LIKELY(__atomic_load_n(&region->hand.sleeping, __ATOMIC_SEQ_CST) == 0) ||
      __atomic_exchange_n(&region->hand.sleeping, 0, __ATOMIC_ACQ_REL) == 0)
    return;
  meetFill(&call);
  (void)meetTell(&call, -1);
}
