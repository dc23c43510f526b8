/* corefile.c -- the shared memory that a core lacks, where its file is still there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/coredata.h"
#include "log/leftplace.h"

/* coreFileIsIts -- is the region of a process that is in the core, and is it needed? */
static Bool coreFileIsIts(Core core, int fd)
{
  struct stat status, its;
  Index i;

  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || fstat(core->elf.file->fd, &its) != 0 ||
      FileReadAt(fd, 0, &core->region, sizeof core->region) != ResOK ||
      !RegionHeaderSound(&core->region, (Size)status.st_size))
    return FALSE;
  for (i = 0; i < core->processes; ++i)
    if (core->process[i].identity == core->region.identity)
      return !core->process[i].region;
  /* Nothing in the core says who it was.  What has the same name, and is no younger than the core, will be it. */
  return core->processes == 0 && status.st_mtim.tv_sec <= its.st_mtim.tv_sec;
}

/* coreFileText -- the header block in a region's file */
static Res coreFileText(Core core, CoreProcess process, int fd)
{
  uint32_t newest = core->region.text.generation & 1;
  Size length = core->region.text.length[newest];
  const char *body;

  if (core->region.text.generation == 0 || length > RegionTextSIZE ||
      FileReadAt(fd, RegionTEXT + newest * RegionTextSIZE, core->text, length) != ResOK ||
      HeaderRead(&core->parsed, &body, core->text, length) != ResOK || core->parsed.identity != process->identity)
    return ResOK;
  process->headed = TRUE;
  return FileWriteAll(core->to, core->text, length);
}

/* coreFileGone -- there is none: tell, once, if the core lacks what was in it */
static void coreFileGone(Core core, const char *path)
{
  Index i;

  for (i = 0; i < core->processes; ++i)
    if (core->process[i].region)
      return;
  if (!core->gone)
    TellerLack(core->teller, "%s: the memory that the process shared is not in the core, and the file that it was, %s, "
               "cannot be read: %s", core->elf.file->path, path, strerror(errno));
  core->gone = TRUE;
}

/* coreFileTake -- the blocks of a region in a file */
static Res coreFileTake(Core core, int fd, const char *path)
{
  CoreProcess process;
  Size at, size;
  Index i;
  Res res;

  if (!coreFileIsIts(core, fd) || (process = CoreProcessFind(core, core->region.identity)) == NULL)
    return ResOK;
  process->region = TRUE;
  res = coreFileText(core, process, fd);
  for (i = 0; res == ResOK && i < core->region.slots; ++i)
    if (RegionBlockAt(&at, &size, &core->region, i) && FileReadAt(fd, at, &core->block, size) == ResOK)
      res = CoreBlock(core, size);
  if (res == ResOK)
    TellerNote(core->teller, "%s: the memory that it shared is not in the core; took it from %s", core->elf.file->path,
               path);
  return res;
}

/* coreFileVisit -- a file that is called as regions are, and may be one that the process had mapped */
static Res coreFileVisit(void *data, LeftPlace place)
{
  Core core = data;
  struct stat status, its;
  char path[RegionPathMAX];
  Res res;
  int fd;

  (void)snprintf(path, sizeof path, "%s/%s", place->folder, place->file);
  fd = LeftPlaceOpen(&status, place, FALSE, fstat(core->elf.file->fd, &its) == 0 ? its.st_uid : geteuid());
  if (fd < 0) {
    coreFileGone(core, path);
    return ResOK;
  }
  res = coreFileTake(core, fd, path);
  (void)close(fd);
  return res;
}

Bool CoreFile(void *data, const char *path)
{
  Core core = data;
  Res res;

  if (!RegionNamed(path))
    return FALSE;
  res = LeftPlaceNamed(path, 0, core->elf.file->path, coreFileVisit, core);
  if (res == ResPARAM) { /* without a name, or where none should be */
    errno = ENOENT;
    coreFileGone(core, path);
    return FALSE;
  }
  core->failed = res;
  return res != ResOK;
}
