/* handoffer.c -- words to the collector
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/handoffer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "emit/control.h"
#include "plinth/quiet.h"

enum {
  offerTRIES = 20, /* to send an offer while the collector's queue is full, a millisecond apart */
  offerNsPerMs = 1000000
};

/* offerAddress -- of the collector's socket, in the abstract namespace; returns its length */
static Size offerAddress(struct sockaddr_un *address)
{
  Size length = strlen(ControlSettings.collector);

  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, ControlSettings.collector, length);
  return offsetof(struct sockaddr_un, sun_path) + 1 + length;
}

/* offerTell -- one datagram to the collector; fd: a descriptor to go with it, or -1.  0, or minus an errno. */
static long offerTell(RegionOffer offer, int fd)
{
  struct sockaddr_un address;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {offer, sizeof *offer};
  struct msghdr message = {.msg_name = &address, .msg_namelen = (socklen_t)offerAddress(&address), .msg_iov = &part,
                           .msg_iovlen = 1};
  long to = QuietCall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), res;

  if (to < 0)
    return to;
  if (fd >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  res = QuietCall(SYS_sendmsg, to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  (void)QuietCall(SYS_close, to);
  return res < 0 ? res : 0;
}

static void offerFill(RegionOffer offer)
{
  memset(offer, 0, sizeof *offer);
  memcpy(offer->magic, RegionMAGIC, BlockMagicSIZE);
  offer->version = RegionOfferVERSION;
  (void)strcpy(offer->token, ControlSettings.token);
}

Bool HandOffer(Process process, int fd)
{
  long moment[2] = {0, offerNsPerMs}, res = -EAGAIN;
  RegionOfferStruct offer;
  unsigned i;

  offerFill(&offer);
  offer.pid = process->pid;
  offer.identity = process->identity;
  (void)strcpy(offer.path, process->shared.path);
  __atomic_store_n(&ProcessRegion(process)->hand.collector, RegionCollectorOFFERED, __ATOMIC_RELEASE);
  process->offered = EventClockMonotonic();
  for (i = 0; i < offerTRIES && (res = offerTell(&offer, fd)) == -EAGAIN; ++i)
    (void)QuietCall(SYS_nanosleep, moment, NULL);
  __atomic_store_n(&process->collected, res == 0, __ATOMIC_RELEASE);
  if (!ProcessCollected(process))
    __atomic_store_n(&ProcessRegion(process)->hand.collector, RegionCollectorNONE, __ATOMIC_RELEASE);
  return ProcessCollected(process);
}

void HandNote(const char *path)
{
  RegionOfferStruct note;
  Size length = strlen(path);

  if (ControlSettings.collector[0] == '\0' || length >= sizeof note.path)
    return;
  offerFill(&note);
  memcpy(note.path, path, length);
  (void)offerTell(&note, -1);
}

void HandWake(RegionHeader region)
{
  RegionOfferStruct call;

  if (LIKELY(__atomic_load_n(&region->hand.sleeping, __ATOMIC_SEQ_CST) == 0) ||
      __atomic_exchange_n(&region->hand.sleeping, 0, __ATOMIC_ACQ_REL) == 0)
    return;
  offerFill(&call);
  (void)offerTell(&call, -1);
}
