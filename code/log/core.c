/* core.c -- the events in a core file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "log/coredata.h"

enum { coreTicks = 1000000000 }; /* a second, where nobody says how many */

CoreProcess CoreProcessFind(Core core, uint64_t identity)
{
  Index i;

  for (i = 0; i < core->processes; ++i)
    if (core->process[i].identity == identity)
      return &core->process[i];
  if (core->processes == CoreProcessesMAX)
    return NULL;
  core->process[core->processes].identity = identity;
  return &core->process[core->processes++];
}

Res CoreBlock(Core core, Size size)
{
  static const unsigned atRest = BlockFlagSEALED | BlockFlagPACKED | BlockFlagSNAPSHOT | BlockFlagRECOVERED;
  BlockHeader header = &core->block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  CoreProcess process;
  Bool swapped;

  if (BlockHeaderUnsealedRead(&sound, &swapped, header) != ResOK || swapped || sound.whole != size ||
      (sound.flags & atRest) != 0 || sound.process == 0 || (process = CoreProcessFind(core, sound.process)) == NULL)
    return ResOK;
  BlockWalk(&tally, header + 1, size - BlockHeaderSIZE, sound.first, TRUE);
  process->pid = sound.pid;
  process->blocks = TRUE;
  process->events += tally.count;
  if (tally.used == 0)
    return ResOK;
  if (header->before == BlockBeforeUNKNOWN)
    header->before = 0;
  BlockSealOpen(header, &tally, BlockFlagRECOVERED);
  return FileWriteAll(core->to, header, header->size);
}

/* coreInvent -- a header block for a process that has none in the core */
static Res coreInvent(Core core, CoreProcess process)
{
  const char *registry = core->teller->hooks.registry;
  const unsigned *version = core->teller->hooks.version;
  Header header = &core->parsed;
  TextStruct text;

  TellerNote(core->teller, "%s: what describes the events of process %u is not in the core; they are read as this "
             "program knows them, and times count ticks of its clock", core->elf.file->path, process->pid);
  memset(header, 0, sizeof *header);
  header->major = version[0];
  header->median = version[1];
  header->minor = version[2];
  header->identity = process->identity;
  header->pid = process->pid;
  header->widths.word = core->elf.wide ? 8 : 4;
  header->frequency = coreTicks;
  (void)strcpy(header->clock, "unknown");
  TextInit(&text, core->text, sizeof core->text);
  HeaderBegin(&text, header);
  TextString(&text, registry != NULL ? registry : "");
  if (HeaderEnd(&text) != ResOK)
    return ResLIMIT;
  return FileWriteAll(core->to, core->text, TextLength(&text));
}

/* coreHeads -- the header blocks of those processes whose blocks were found: others are of their parents, or were read
 * from logs */
static Res coreHeads(Core core)
{
  CoreProcess process;
  Res res = ResOK;
  Index i;

  for (i = 0; i < core->headers && res == ResOK; ++i) {
    CoreHeader header = &core->header[i];
    process = CoreProcessFind(core, header->identity);
    if (process == NULL || !process->blocks)
      continue;
    res = FileRead(core->elf.file, header->offset, core->text, header->length);
    if (res == ResOK)
      res = FileWriteAll(core->to, core->text, header->length);
    process->headed = TRUE;
  }
  for (i = 0; i < core->processes && res == ResOK; ++i)
    if (core->process[i].blocks && !core->process[i].headed)
      res = coreInvent(core, &core->process[i]);
  return res;
}

/* coreSearch -- all segments: first the memory, then what notes tell of files */
static Res coreSearch(Core core)
{
  ElfSegmentStruct segment;
  Res res = ResOK;
  Index i;

  for (i = 0; i < core->elf.count && res == ResOK; ++i) {
    if (!ElfSegmentAt(&segment, &core->elf, i)) {
      core->cut = TRUE;
      break;
    }
    core->cut |= segment.cut;
    if (segment.memory)
      res = CoreSegment(core, &segment);
  }
  for (i = 0; i < core->elf.count && res == ResOK && ElfSegmentAt(&segment, &core->elf, i); ++i)
    if (segment.notes)
      ElfFiles(&core->elf, &segment, CoreFile, core);
  if (res == ResOK)
    res = core->failed;
  return res == ResOK ? coreHeads(core) : res;
}

/* coreTell -- what was found */
static Count coreTell(Core core)
{
  const char *path = core->elf.file->path;
  Count found = 0;
  Index i;

  for (i = 0; i < core->processes; ++i)
    if (core->process[i].blocks) {
      ++found;
      TellerNote(core->teller, "%s: a core: took %llu event%s of process %u from its buffers", path,
                 (unsigned long long)core->process[i].events, TextPlural(core->process[i].events),
                 core->process[i].pid);
    }
  if (core->cut)
    TellerLack(core->teller, "%s: the core is cut off; events may be missing", path);
  return found;
}

/* coreReplace -- let `file` be what was taken */
static Res coreReplace(File file, int fd)
{
  struct stat status;

  if (fstat(fd, &status) != 0)
    return ResIO;
  (void)close(file->fd);
  file->fd = fd;
  file->size = (uint64_t)status.st_size;
  file->windowAt = 0;
  file->windowSize = 0;
  file->core = TRUE;
  return ResOK;
}

Res CoreTake(File file, Teller teller, char *error, Size size)
{
  Core core = calloc(1, sizeof *core);
  Count found = 0;
  Res res;

  if (core == NULL)
    return ResMEMORY;
  core->teller = teller;
  res = ElfOpen(&core->elf, file);
  core->to = res == ResOK ? FileOpenTemporary() : -1;
  if (res == ResOK)
    res = core->to < 0 ? ResIO : coreSearch(core);
  if (res == ResOK) {
    found = coreTell(core);
    if (found == 0)
      res = ResFORMAT;
  }
  if (res == ResVERSION)
    (void)snprintf(error, size, "%s: a program or core of a machine with the other byte order", file->path);
  else if (res == ResFORMAT)
    (void)snprintf(error, size,
                   core->to < 0 ? "%s: a program, not a log or a core" : "%s: a core without events of Pawprint",
                   file->path);
  if (res == ResOK)
    res = coreReplace(file, core->to);
  if (res != ResOK && core->to >= 0)
    (void)close(core->to);
  free(core);
  return res;
}
