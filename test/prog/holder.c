/* holder.c -- takes a collector's name, and keeps whoever asks there waiting: nobody is answered, nothing is closed
 *
 *   holder NAME
 *
 * Says "bound", and our number.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  char room[4096], control[CMSG_SPACE(4 * sizeof(int))];

  if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path)
    return 2;
  memcpy(address.sun_path + 1, argv[1], strlen(argv[1]));
  if (bind(fd, (struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[1]))) != 0)
    return 1;
  printf("bound\n%ld\n", (long)getpid());
  (void)fflush(stdout);
  for (;;) {
    struct iovec part = {room, sizeof room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, 0) < 0)
      return 1;
  }
}
