/* corefile.c -- the shared memory that a core lacks, where its file is still there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/coredata.h"

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
static Res coreFileText(Core core, int fd)
{
  uint32_t newest = core->region.text.generation & 1;
  Size length = core->region.text.length[newest];
  CoreProcess process = CoreProcessFind(core, core->region.identity);
  const char *body;

  if (process == NULL || core->region.text.generation == 0 || length > RegionTextSIZE ||
      FileReadAt(fd, RegionTEXT + newest * RegionTextSIZE, core->text, length) != ResOK ||
      HeaderRead(&core->parsed, &body, core->text, length) != ResOK || core->parsed.identity != process->identity)
    return ResOK;
  process->headed = process->region = TRUE;
  return FileWriteAll(core->to, core->text, length);
}

Bool CoreFile(void *data, const char *path)
{
  Core core = data;
  Size at, size;
  Res res;
  Index i;
  int fd;

  if (!RegionNamed(path) || (fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) < 0)
    return FALSE;
  if (!coreFileIsIts(core, fd)) {
    (void)close(fd);
    return FALSE;
  }
  res = coreFileText(core, fd);
  for (i = 0; res == ResOK && i < core->region.slots; ++i)
    if (RegionBlockAt(&at, &size, &core->region, i) && FileReadAt(fd, at, &core->block, size) == ResOK)
      res = CoreBlock(core, size);
  (void)close(fd);
  if (res == ResOK)
    TellerNote(core->teller, "%s: the memory that it shared is not in the core; took it from %s", core->elf.file->path,
               path);
  core->failed = res;
  return res != ResOK;
}
