/* resident.c -- what of a process is in memory, read without stdio, which might allocate
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* residentLine -- a line of a file of /proc in bytes, read without stdio, which might allocate */
static uint64_t residentLine(const char *path, const char *key)
{
  char text[4096], *line;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

  if (fd >= 0)
    close(fd);
  text[n < 0 ? 0 : n] = '\0';
  line = strstr(text, key);
  return line == NULL ? 0 : strtoull(line + strlen(key), NULL, 10) * 1024;
}

uint64_t ResidentNow(void)
{
  return residentLine("/proc/self/status", "VmRSS:");
}

uint64_t ResidentPeak(void)
{
  return residentLine("/proc/self/status", "VmHWM:");
}

uint64_t ResidentOf(pid_t pid)
{
  char path[64];

  (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
  return residentLine(path, "VmRSS:");
}

uint64_t ResidentFree(void)
{
  return residentLine("/proc/meminfo", "MemAvailable:");
}

void ResidentForget(void)
{
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

  if (fd >= 0) {
    (void)!write(fd, "5", 1); /* where an old kernel refuses that, the peak is that since the start, hardly more */
    close(fd);
  }
}
