/* rendezvoustest.c -- the socket at which processes ask for a region: what strangers send does not hold its owner up
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collect/rendezvous.h"
#include "tap.h"

enum { meetLINGER = 20, meetFDS = 8 };

/* lingering -- a socket whose close would wait until what was written has arrived, where nobody reads; -1: it cannot be
 * had. The other end stays open. */
static int lingering(void)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct linger linger = {1, meetLINGER};
  socklen_t length = sizeof address;
  static char bytes[65536];
  int server = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

  if (bind(server, (struct sockaddr *)&address, length) != 0 || listen(server, 1) != 0 ||
      getsockname(server, (struct sockaddr *)&address, &length) != 0 ||
      connect(fd, (struct sockaddr *)&address, length) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) != 0)
    return -1;
  while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
    ;
  return fd;
}

/* sent -- a datagram of a stranger, along with `count` times the descriptor, which is closed here */
static Bool sent(RendezvousSocket meet, int fd, Count count)
{
  union {
    char bytes[CMSG_SPACE(meetFDS * sizeof(int))];
    struct cmsghdr align;
  } control = {.bytes = {0}};
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  static char words[] = "a stranger's";
  struct iovec place = {words, sizeof words};
  struct msghdr header = {.msg_name = &address, .msg_iov = &place, .msg_iovlen = 1, .msg_control = &control,
                          .msg_controllen = CMSG_SPACE(count * sizeof fd)};
  struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
  int from = socket(AF_UNIX, SOCK_DGRAM, 0);
  Bool gone;
  Index i;

  strcpy(address.sun_path + 1, meet->name);
  header.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(meet->name));
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof fd);
  for (i = 0; i < count; ++i)
    memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
  gone = sendmsg(from, &header, 0) == (ssize_t)place.iov_len;
  (void)close(from);
  (void)close(fd); /* not the last: the datagram has it */
  return gone;
}

int main(void)
{
  static RendezvousMessageStruct message;
  struct timespec begin, end;
  RendezvousSocketStruct meet;
  Count count;
  int fd;

  TapOk(RendezvousOpen(&meet) == ResOK, "a socket is made");
  for (count = 1; count <= meetFDS; count *= meetFDS) {
    fd = lingering();
    if (fd < 0) {
      TapSkip("there is no network here");
      return TapDone();
    }
    TapOk(sent(&meet, fd, count), "a stranger sends a socket, %zu times, that waits when it is closed", count);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    TapOk(RendezvousReceive(&message, &meet) == RendezvousOTHER && message.fd < 0, "who is not believed");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    TapOk(end.tv_sec - begin.tv_sec < meetLINGER / 2, "and that is not waited for");
  }
  RendezvousClose(&meet);
  return TapDone();
}
