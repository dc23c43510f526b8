/* clean.c -- what dead recordings have left in memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/region.h"
#include "log/recover.h"

#define cleanFOLDER "/dev/shm"
#define cleanPREFIX "pawprint-"

/* A region that nobody has. */
enum { cleanYOUNG = 60 }; /* seconds: who begins may yet make a region of it */

typedef struct CleanStruct {
  char path[sizeof cleanFOLDER + 256];
  uint32_t pid;
  double hours, mebibytes;
  char log[RegionPathMAX];
} CleanStruct, *Clean;

/* cleanCollected -- is there a collector that lives?  It will come to it in a moment. */
static Bool cleanCollected(RegionHeader header)
{
  pid_t tid = (pid_t)(header->hand.collector & RegionCollectorTID);

  return RegionCollected(header) && header->hand.collector != RegionCollectorOFFERED &&
         (kill(tid, 0) == 0 || errno != ESRCH);
}

/* cleanSound -- is it a region, or what was to become one when its process was killed? */
static Bool cleanSound(RegionHeader header, const struct stat *status)
{
  static const char none[BlockMagicSIZE];

  return RegionHeaderSound(header, (Size)status->st_size) ||
         (memcmp(header->magic, none, sizeof none) == 0 && header->log[0] == '\0' &&
          difftime(time(NULL), status->st_mtime) > cleanYOUNG);
}

/* cleanRead -- is it a region of ours, and nobody's who lives? */
static Bool cleanRead(Clean clean, int fd)
{
  static RegionHeaderStruct header;
  struct stat status;

  memset(&header, 0, sizeof header);
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      pread(fd, &header, sizeof header, 0) < 0 || !cleanSound(&header, &status) || flock(fd, LOCK_EX | LOCK_NB) != 0)
    return FALSE;
  if (cleanCollected(&header)) {
    (void)flock(fd, LOCK_UN);
    return FALSE;
  }
  clean->pid = header.pid;
  clean->hours = difftime(time(NULL), status.st_mtime) / 3600;
  clean->mebibytes = (double)status.st_blocks * 512 / (1 << 20);
  memcpy(clean->log, header.log, sizeof clean->log);
  /* Whoever takes what it holds locks it again. */
  (void)flock(fd, LOCK_UN);
  return TRUE;
}

/* cleanOne -- take what a region holds into its log, and remove it; how that went, in words */
static Res cleanOne(Clean clean, char *room, Size size)
{
  Count blocks = 0, running;
  struct stat status;

  /* It may have been added along with another one of the same log. */
  if (clean->log[0] == '\0' || stat(clean->log, &status) != 0) {
    (void)snprintf(room, size, "%s; removed", clean->log[0] != '\0' ? "its log is gone" : "nobody asked for one");
    return unlink(clean->path) == 0 || errno == ENOENT ? ResOK : ResIO;
  }
  if (LogRecover(clean->log, &blocks, &running) != ResOK || access(clean->path, F_OK) == 0) {
    (void)snprintf(room, size, "it cannot be added to the log: %s; it stays", strerror(errno));
    return ResIO;
  }
  (void)snprintf(room, size, "added to the log; removed");
  return ResOK;
}

/* cleanList -- all that there are; ResMEMORY */
static Res cleanList(Clean *listReturn, Count *countReturn)
{
  DIR *dir = opendir(cleanFOLDER);
  struct dirent *entry;
  Clean list = NULL;
  Count count = 0;

  while (dir != NULL && (entry = readdir(dir)) != NULL) {
    Clean more;
    int fd;
    if (strncmp(entry->d_name, cleanPREFIX, strlen(cleanPREFIX)) != 0)
      continue;
    more = realloc(list, (count + 1) * sizeof *list);
    if (more == NULL) {
      free(list);
      (void)closedir(dir);
      return ResMEMORY;
    }
    list = more;
    (void)snprintf(list[count].path, sizeof list[count].path, "%s/%s", cleanFOLDER, entry->d_name);
    fd = open(list[count].path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    count += fd >= 0 && cleanRead(&list[count], fd);
    if (fd >= 0)
      (void)close(fd);
  }
  if (dir != NULL)
    (void)closedir(dir);
  *listReturn = list;
  *countReturn = count;
  return ResOK;
}

Res CleanRegions(CleanChoose choose, void (*tell)(void *data, const char *line), void *data, Count *removedReturn)
{
  char line[2 * RegionPathMAX], how[256];
  Clean list;
  Count count;
  Index i;
  Res res = cleanList(&list, &count);

  *removedReturn = 0;
  if (res != ResOK)
    return res;
  for (i = 0; i < count; ++i) {
    Clean clean = &list[i];
    Res its;
    if (choose != NULL && !choose(data, clean->log))
      continue;
    its = cleanOne(clean, how, sizeof how);
    (void)snprintf(line, sizeof line, "%s: of process %lu, %.1f MiB, %.1f h old, log %s: %s", clean->path,
                   (unsigned long)clean->pid, clean->mebibytes, clean->hours,
                   clean->log[0] != '\0' ? clean->log : "none", how);
    tell(data, line);
    *removedReturn += its == ResOK;
    res = its == ResOK ? res : its;
  }
  free(list);
  return res;
}
