/* rendezvous.c -- the collector's end of the socket at which recorded processes ask for shared memory (a region)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/aver.h"

enum { rendezvousDescriptorsMAX = 253 }; /* as many as a datagram may have: the system would close those without room */

/* Nobody else has a name of 64 random bits. */
Res RendezvousOpen(RendezvousSocket meet)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t length;
  uint64_t random[3];
  int on = 1;

  memset(meet, 0, sizeof *meet);
  meet->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (meet->fd < 0)
    return ResIO;
  if (getrandom(random, sizeof random, 0) == (ssize_t)sizeof random) {
    (void)snprintf(meet->token, sizeof meet->token, "%016llx%016llx", (unsigned long long)random[1],
                   (unsigned long long)random[2]);
    (void)snprintf(meet->name, sizeof meet->name, "pawprint-%016llx", (unsigned long long)random[0]);
    memcpy(address.sun_path + 1, meet->name, strlen(meet->name));
    length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(meet->name));
    if (setsockopt(meet->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        bind(meet->fd, (struct sockaddr *)&address, length) == 0)
      return ResOK;
  }
  RendezvousClose(meet);
  return ResIO;
}

void RendezvousClose(RendezvousSocket meet)
{
  int error = errno;

  if (meet->fd >= 0)
    (void)close(meet->fd);
  meet->fd = -1;
  errno = error;
}

void RendezvousDrop(int fd)
{
  struct linger none = {0, 0};

  if (fd < 0)
    return;
  (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  (void)close(fd);
}

/* rendezvousControl -- who sent it, and the first descriptor that came with it; others are closed */
static Bool rendezvousControl(RendezvousMessage message, struct msghdr *header)
{
  struct cmsghdr *control;
  Bool known = FALSE;

  for (control = CMSG_FIRSTHDR(header); control != NULL; control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level != SOL_SOCKET)
      continue;
    if (control->cmsg_type == SCM_CREDENTIALS) {
      struct ucred credentials;
      memcpy(&credentials, CMSG_DATA(control), sizeof credentials);
      message->pid = credentials.pid;
      message->uid = credentials.uid;
      known = TRUE;
    } else if (control->cmsg_type == SCM_RIGHTS) {
      Count count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      Index i;
      for (i = 0; i < count; ++i) {
        int fd;
        memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
        if (message->fd < 0)
          message->fd = fd;
        else
          RendezvousDrop(fd);
      }
    }
  }
  return known;
}

/* rendezvousKind -- what a whole datagram from a known sender is */
static RendezvousKind rendezvousKind(RendezvousMessage message, RendezvousSocket meet)
{
  RegionMeet its = &message->request;

  if (memcmp(its->magic, RegionMAGIC, sizeof its->magic) != 0 || its->version != RegionMeetVERSION ||
      memchr(its->program, '\0', sizeof its->program) == NULL || memchr(its->token, '\0', sizeof its->token) == NULL ||
      memchr(its->name, '\0', sizeof its->name) == NULL ||
      strcmp(its->token, meet->token) != 0 || (message->uid != geteuid() && geteuid() != 0))
    return RendezvousOTHER;
  if (its->pid == 0)
    return its->note != RegionNoteNONE ? RendezvousNOTE : RendezvousOTHER;
  return RendezvousPROCESS;
}

RendezvousKind RendezvousReceive(RendezvousMessage message, RendezvousSocket meet)
{
  union {
    char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(rendezvousDescriptorsMAX * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec place = {&message->request, sizeof message->request};
  struct msghdr header = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = &control,
                          .msg_controllen = sizeof control};
  RendezvousKind kind = RendezvousOTHER;
  ssize_t n;

  AVER(meet->fd >= 0);
  message->fd = -1;
  n = TEMP_FAILURE_RETRY(recvmsg(meet->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (n < 0)
    return RendezvousNOTHING;
  if (rendezvousControl(message, &header) && (Size)n == sizeof message->request)
    kind = rendezvousKind(message, meet);
  if (kind != RendezvousPROCESS) {
    RendezvousDrop(message->fd);
    message->fd = -1;
  }
  return kind;
}

Bool RendezvousWaits(int fd)
{
  struct pollfd end = {fd, 0, 0};

  return fd >= 0 && poll(&end, 1, 0) == 0;
}

/* The control messages of an answer: descriptors, and who it is from. */
typedef union rendezvousRoomUnion {
  char bytes[CMSG_SPACE(RegionGrantMAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
  struct cmsghdr align;
} rendezvousRoomUnion, *rendezvousRoom;

/* rendezvousPut -- one control message more */
static void rendezvousPut(struct msghdr *header, rendezvousRoom room, int type, const void *data, Size size)
{
  struct cmsghdr *control = (struct cmsghdr *)(void *)(room->bytes + header->msg_controllen);

  *control = (struct cmsghdr){CMSG_LEN(size), SOL_SOCKET, type};
  memcpy(CMSG_DATA(control), data, size);
  header->msg_control = room;
  header->msg_controllen += CMSG_SPACE(size);
}

/* rendezvousUser -- the user of who asks, which is not ours.  FALSE: it is, or it is not known. */
static Bool rendezvousUser(struct ucred *user, int fd)
{
  socklen_t length = sizeof *user;

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, user, &length) != 0 || user->uid == geteuid())
    return FALSE;
  user->pid = getpid();
  user->gid = getgid();
  return TRUE;
}

static ssize_t rendezvousSend(int fd, const struct msghdr *header)
{
  return TEMP_FAILURE_RETRY(sendmsg(fd, header, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* The process believes root and its own user, but may be in a user namespace where root has no number.  So root says
 * that the answer is from that user, which the kernel lets only those say who may become it; where it does not let us,
 * we are root. */
Res RendezvousAnswer(int fd, const RegionGrantStruct *answer, const int *fds, Count count)
{
  rendezvousRoomUnion room = {{0}};
  RegionGrantStruct copy = *answer;
  struct iovec place = {&copy, sizeof copy};
  struct msghdr header = {.msg_iov = &place, .msg_iovlen = 1};
  struct ucred user;
  ssize_t n = -1;

  AVER(count <= RegionGrantMAX);
  if (count > 0)
    rendezvousPut(&header, &room, SCM_RIGHTS, fds, count * sizeof *fds);
  if (rendezvousUser(&user, fd)) {
    struct msghdr theirs = header;
    rendezvousPut(&theirs, &room, SCM_CREDENTIALS, &user, sizeof user);
    n = rendezvousSend(fd, &theirs);
  }
  if (n < 0)
    n = rendezvousSend(fd, &header);
  return n == (ssize_t)sizeof copy ? ResOK : ResIO;
}
