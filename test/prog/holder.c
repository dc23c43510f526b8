/* holder.c -- takes a collector's name, and keeps whoever asks there waiting: nobody is answered, nothing is closed
 *
 *   holder NAME                   says "bound", and our number
 *   holder NAME OTHER TOKEN       passes what it is asked on to the collector OTHER, which knows its family by TOKEN
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/region.h"

/* holderAddress -- of an abstract socket; its length */
static socklen_t holderAddress(struct sockaddr_un *address, const char *name)
{
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, name, strlen(name));
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* holderPass -- a request, with the descriptor that came with it, as if it were from the other collector's family */
static void holderPass(int fd, RegionMeet meet, struct msghdr *message, const char *other, const char *token)
{
  struct sockaddr_un address;

  (void)snprintf(meet->token, sizeof meet->token, "%s", token);
  message->msg_name = &address;
  message->msg_namelen = holderAddress(&address, other);
  (void)sendmsg(fd, message, 0);
}

int main(int argc, char **argv)
{
  struct sockaddr_un address;
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  char control[CMSG_SPACE(4 * sizeof(int))];
  RegionMeetStruct meet;
  socklen_t length;

  if ((argc != 2 && argc != 4) || strlen(argv[1]) >= sizeof address.sun_path - 1)
    return 2;
  length = holderAddress(&address, argv[1]);
  if (bind(fd, (struct sockaddr *)&address, length) != 0)
    return 1;
  printf("bound\n%ld\n", (long)getpid());
  (void)fflush(stdout);
  for (;;) {
    struct iovec part = {&meet, sizeof meet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, 0) < 0)
      return 1;
    if (argc == 4 && message.msg_controllen > 0)
      holderPass(fd, &meet, &message, argv[2], argv[3]);
  }
}
