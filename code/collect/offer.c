/* offer.c -- the socket at which processes offer their regions
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/offer.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { offerDescriptorsMAX = 4, offerTries = 8 };

/* offerBind -- bind to a fresh name */
static Res offerBind(OfferSocket offer)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  uint64_t random[3];
  Size length;

  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return ResIO;
  (void)snprintf(offer->name, sizeof offer->name, "pawprint-%016llx", (unsigned long long)random[0]);
  (void)snprintf(offer->token, sizeof offer->token, "%016llx%016llx", (unsigned long long)random[1],
                 (unsigned long long)random[2]);
  length = strlen(offer->name);
  memcpy(address.sun_path + 1, offer->name, length);
  if (bind(offer->fd, (struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0)
    return ResIO;
  return ResOK;
}

Res OfferOpen(OfferSocket offer)
{
  int on = 1;
  unsigned tries;

  memset(offer, 0, sizeof *offer);
  offer->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (offer->fd < 0)
    return ResIO;
  if (setsockopt(offer->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0)
    for (tries = 0; tries < offerTries; ++tries) {
      if (offerBind(offer) == ResOK)
        return ResOK;
      if (errno != EADDRINUSE)
        break;
    }
  OfferClose(offer);
  return ResIO;
}

void OfferClose(OfferSocket offer)
{
  int error = errno;

  if (offer->fd >= 0)
    (void)close(offer->fd);
  offer->fd = -1;
  errno = error;
}

/* offerControl -- who sent it, and the first descriptor that came with it; others are closed */
static Bool offerControl(OfferMessage message, struct msghdr *header)
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
          (void)close(fd);
      }
    }
  }
  return known;
}

/* offerKind -- what a whole datagram from a known sender is */
static OfferKind offerKind(OfferMessage message, OfferSocket offer)
{
  RegionOffer its = &message->offer;

  if (memcmp(its->magic, RegionMAGIC, sizeof its->magic) != 0 || its->version != RegionOfferVERSION ||
      memchr(its->path, '\0', sizeof its->path) == NULL || memchr(its->token, '\0', sizeof its->token) == NULL ||
      strcmp(its->token, offer->token) != 0 || (message->uid != geteuid() && geteuid() != 0))
    return OfferOTHER;
  if (its->pid == 0)
    return its->path[0] != '\0' ? OfferNOTE : OfferOTHER;
  return message->fd >= 0 ? OfferREGION : OfferOTHER;
}

OfferKind OfferReceive(OfferMessage message, OfferSocket offer)
{
  union {
    char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(offerDescriptorsMAX * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec place = {&message->offer, sizeof message->offer};
  struct msghdr header = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = &control,
                          .msg_controllen = sizeof control};
  OfferKind kind = OfferOTHER;
  ssize_t n;

  message->fd = -1;
  do
    n = recvmsg(offer->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return OfferNOTHING;
  if (offerControl(message, &header) && (Size)n == sizeof message->offer)
    kind = offerKind(message, offer);
  if (kind != OfferREGION && message->fd >= 0) {
    (void)close(message->fd);
    message->fd = -1;
  }
  return kind;
}
