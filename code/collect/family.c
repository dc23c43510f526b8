/* family.c -- the processes that descend from one
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes that were met, and those that are still to be looked at behind them. */
typedef struct FamilyStruct {
  Count count, threads;
  pid_t pid[FamilyMAX];
} FamilyStruct, *Family;

/* familyAdd -- the numbers in a list, which spaces separate */
static void familyAdd(Family family, const char *list)
{
  char *end;
  long pid;

  for (; family->count < FamilyMAX && (pid = strtol(list, &end, 10)) > 0 && end != list; list = end)
    family->pid[family->count++] = (pid_t)pid;
}

/* familyThread -- the children that one thread has started */
static void familyThread(Family family, const char *path)
{
  char list[4096];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, list, sizeof list - 1);

  if (fd >= 0)
    (void)close(fd);
  if (n <= 0)
    return;
  list[n] = '\0';
  /* A number that was cut off is another one. */
  if ((Size)n == sizeof list - 1 && strrchr(list, ' ') != NULL)
    *strrchr(list, ' ') = '\0';
  familyAdd(family, list);
}

static void familyChildren(Family family, pid_t pid)
{
  char path[PATH_MAX];
  struct dirent *entry;
  DIR *dir;

  (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  dir = opendir(path);
  while (dir != NULL && (entry = readdir(dir)) != NULL && family->threads < FamilyMAX)
    if (entry->d_name[0] != '.') {
      ++family->threads;
      (void)snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid, entry->d_name);
      familyThread(family, path);
    }
  if (dir != NULL)
    (void)closedir(dir);
}

void FamilyPrograms(pid_t pid, void (*program)(void *data, pid_t pid, const char *path), void *data)
{
  FamilyStruct family = {.count = 1, .pid = {pid}};
  char link[32], path[PATH_MAX];
  Index i;

  for (i = 0; i < family.count; ++i) {
    ssize_t n;
    (void)snprintf(link, sizeof link, "/proc/%ld/exe", (long)family.pid[i]);
    n = readlink(link, path, sizeof path - 1);
    if (n > 0) {
      path[n] = '\0';
      program(data, family.pid[i], path);
    }
    familyChildren(&family, family.pid[i]);
  }
}
