/* compiled.c -- a program that compiles a function while it runs, and says so as others do, in /tmp/perf-PID.map
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The function asks malloc seven times for 4711 bytes each.  With an argument the numbers are as Java writes them.
 * Status 77: there is no such code for this machine.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
#if defined(__x86_64__)
  /* push %rbp; mov %rsp, %rbp; mov $malloc, %rax; mov $4711, %edi; call *%rax; pop %rbp; ret */
  unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
                          0xbf, 0x67, 0x12, 0,    0,    0xff, 0xd0, 0x5d, 0xc3};
  void *(*asked)(size_t) = malloc;
  char path[64];
  void *(*function)(void);
  void *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int i, fd;

  (void)argv;
  if (room == MAP_FAILED)
    return 1;
  memcpy(code + 6, &asked, sizeof asked);
  memcpy((char *)room + 128, code, sizeof code);
  if (mprotect(room, 4096, PROT_READ | PROT_EXEC) != 0)
    return 77;
  (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0)
    return 2;
  (void)dprintf(fd, argc > 1 ? "0x%016lx 0x%zx jitted function\n" : "%lx %zx jitted function\n",
                (unsigned long)((uintptr_t)room + 128), sizeof code);
  (void)close(fd);
  room = (char *)room + 128;
  memcpy(&function, &room, sizeof function);
  for (i = 0; i < 7; ++i)
    free(function());
  (void)printf("%s\n", path);
  return 0;
#else
  (void)argc;
  (void)argv;
  return 77;
#endif
}
