/* terminal.c -- run a program on a terminal of its own, and pass on what it writes there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     terminal COLUMNS program [argument...]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int become(const char *name, unsigned short columns, char **argv)
{
  struct winsize size = {.ws_row = 24, .ws_col = columns};
  int fd;

  if (setsid() < 0 || (fd = open(name, O_RDWR)) < 0)
    return 126;
  (void)ioctl(fd, TIOCSWINSZ, &size);
  (void)dup2(fd, 0);
  (void)dup2(fd, 1);
  (void)dup2(fd, 2);
  (void)close(fd);
  (void)execvp(argv[0], argv);
  return 127;
}

int main(int argc, char **argv)
{
  char bytes[4096];
  int master, status;
  ssize_t size;
  pid_t pid;

  if (argc < 3 || (master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0 || grantpt(master) != 0 ||
      unlockpt(master) != 0 || (pid = fork()) < 0)
    return 125;
  if (pid == 0)
    _exit(become(ptsname(master), (unsigned short)atoi(argv[1]), argv + 2));
  while ((size = read(master, bytes, sizeof bytes)) > 0)
    if (write(1, bytes, (size_t)size) != size)
      break;
  (void)waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 124;
}
