/* core.c -- finds the events in a core file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "recover/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "format/block.h"
#include "format/header.h"
#include "format/region.h"
#include "recover/elf.h"
#include "recover/regionplace.h"

enum {
  coreTicks = 1000000000,   /* a second, where nobody says how many */
  corePieceSIZE = 1 << 20,  /* read at a time */
  coreProcessesMAX = 64,    /* whose events one core may have */
  coreHeadersMAX = 1024     /* header blocks that are remembered */
};

/* A process that has something in the core. */
typedef struct coreProcessStruct {
  uint64_t identity;
  uint32_t pid;
  uint64_t events;
  Bool blocks;  /* of it were found */
  Bool headed;  /* its header block was written */
  Bool region;  /* its region is in the core */
} coreProcessStruct, *CoreProcess;

/* Where a sound header block is. */
typedef struct coreHeaderStruct {
  uint64_t identity;
  uint64_t offset;
  Size length;
} coreHeaderStruct, *CoreHeader;

/* Always true: `to` is a row of whole, sound header blocks and blocks; `process` has each identity once. */
typedef struct coreStruct {
  ElfStruct elf;
  Reporter reporter;
  int to;                /* the temporary file */
  Bool cut;              /* the core is not whole */
  Bool gone;             /* it was told that shared memory is in neither the core nor a file */
  uint64_t read;         /* bytes of memory that were looked at: not more than the core has */
  uint64_t wasted;
  Res failed;            /* ResOK, or what became of writing blocks of a file */
  uint64_t next;         /* in the segment: behind the header block that was found last */
  Count processes, headers;
  coreProcessStruct process[coreProcessesMAX];
  coreHeaderStruct header[coreHeadersMAX];
  HeaderStruct parsed;
  RegionHeaderStruct region;
  union {
    BlockHeaderStruct header;
    uint64_t align;
    unsigned char bytes[BlockMAX];
  } block;               /* the one in hand */
  char text[HeaderMAX];
  unsigned char piece[corePieceSIZE + BlockMagicSIZE];
} coreStruct, *Core;

/* coreProcessFind -- what is known of a process, from now on; NULL: of too many already */
static CoreProcess coreProcessFind(Core core, uint64_t identity)
{
  Index i;

  for (i = 0; i < core->processes; ++i)
    if (core->process[i].identity == identity)
      return &core->process[i];
  if (core->processes == coreProcessesMAX)
    return NULL;
  core->process[core->processes].identity = identity;
  return &core->process[core->processes++];
}

/* coreBlock -- core->block has `size` bytes that may be an open block: write it, settled and sealed.  ResIO. */
static Res coreBlock(Core core, Size size)
{
  static const unsigned atRest = BlockFlagSEALED | BlockFlagPACKED | BlockFlagSNAPSHOT | BlockFlagRECOVERED;
  BlockHeader header = &core->block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  CoreProcess process;
  Bool swapped;

  if (BlockHeaderUnsealedRead(&sound, &swapped, header) != ResOK || swapped || sound.whole != size ||
      (sound.flags & atRest) != 0 || sound.process == 0 || (process = coreProcessFind(core, sound.process)) == NULL)
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

/* ---- Blocks in memory, by their own marks ---- */

enum { coreWasteMAX = 64 << 20 }; /* and as much as the core has: bytes read for header blocks that were none */

/* coreBlockAt -- a magic stands at `at` in the segment: a block, if it ends where blocks do */
static Res coreBlockAt(Core core, ElfSegment segment, uint64_t at)
{
  File file = core->elf.file;
  uint64_t left = segment->size - at;
  Size whole;

  if (left < BlockHeaderSIZE || FileRead(file, segment->offset + at, &core->block, BlockHeaderSIZE) != ResOK)
    return ResOK;
  whole = core->block.header.whole;
  if (!WordIsPowerOf2(whole) || whole < BlockMIN || whole > BlockMAX ||
      (segment->address + at + whole) % RegionSlotSIZE != 0)
    return ResOK;
  memset(&core->block, 0, sizeof core->block);
  if (FileRead(file, segment->offset + at, &core->block, left < whole ? (Size)left : whole) != ResOK)
    return ResOK;
  return coreBlock(core, whole);
}

/* coreHeaderAt -- the same for the magic of a header block, which may stand anywhere */
static void coreHeaderAt(Core core, ElfSegment segment, uint64_t at)
{
  uint64_t offset = segment->offset + at, left = segment->size - at;
  File file = core->elf.file;
  unsigned version[3];
  const char *body;
  CoreHeader header;
  Size length;

  if (left < BlockMagicSIZE + HeaderLineSIZE || core->headers == coreHeadersMAX ||
      core->wasted > file->size + coreWasteMAX ||
      FileRead(file, offset, core->text, BlockMagicSIZE + HeaderLineSIZE) != ResOK ||
      HeaderLength(&length, version, core->text, BlockMagicSIZE + HeaderLineSIZE) != ResOK || length > left)
    return;
  if (FileRead(file, offset, core->text, length) != ResOK ||
      HeaderRead(&core->parsed, &body, core->text, length) != ResOK) {
    core->wasted += length;
    return;
  }
  header = &core->header[core->headers++];
  header->identity = core->parsed.identity;
  header->offset = offset;
  header->length = length;
  core->next = at + length;
}

/* coreRegionAt -- and for a region's: then its blocks are in the core, too, and need not be had from the file */
static void coreRegionAt(Core core, ElfSegment segment, uint64_t at)
{
  CoreProcess process;

  if (segment->size - at < sizeof core->region ||
      FileRead(core->elf.file, segment->offset + at, &core->region, sizeof core->region) != ResOK)
    return;
  /* The private one, which has the same identity, has no text. */
  if (core->region.order != BlockORDER || core->region.text.generation == 0)
    return;
  process = coreProcessFind(core, core->region.identity);
  if (process != NULL)
    process->region = TRUE;
}

/* corePiece -- look at the `size` bytes in core->piece, of which `new` have not been seen yet; they are at `at` in the
 * segment */
static Res corePiece(Core core, ElfSegment segment, uint64_t at, Size size, Size new)
{
  uint64_t page = at + (0 - (segment->address + at)) % BlockMIN;
  const unsigned char *from = core->piece, *found;
  Res res = ResOK;

  for (; res == ResOK && page < at + new && page - at + BlockMagicSIZE <= size; page += BlockMIN) {
    if (memcmp(core->piece + (page - at), BlockMAGIC, BlockMagicSIZE) == 0)
      res = coreBlockAt(core, segment, page);
    else if (memcmp(core->piece + (page - at), RegionMAGIC, BlockMagicSIZE) == 0)
      coreRegionAt(core, segment, page);
  }
  while ((found = memmem(from, size - (Size)(from - core->piece), HeaderMAGIC, BlockMagicSIZE)) != NULL) {
    uint64_t place = at + (uint64_t)(found - core->piece);
    if (place >= core->next && found < core->piece + new)
      coreHeaderAt(core, segment, place);
    from = found + 1;
  }
  return res;
}

/* coreSegment -- write the blocks that are in a segment's memory, and remember the header blocks.  ResIO. */
static Res coreSegment(Core core, ElfSegment segment)
{
  File file = core->elf.file;
  uint64_t at = 0;
  Res res = ResOK;

  core->next = 0;
  /* Segments that overlap are nobody's memory: no core has more of it than bytes. */
  while (res == ResOK && at < segment->size && core->read < file->size) {
    off_t data = lseek(file->fd, (off_t)(segment->offset + at), SEEK_DATA);
    uint64_t left;
    Size size, new;
    if (data < 0 && errno == ENXIO)
      break;
    if (data > (off_t)(segment->offset + at))
      at = (uint64_t)data - segment->offset;
    if (at >= segment->size)
      break;
    left = segment->size - at;
    new = left < corePieceSIZE ? (Size)left : corePieceSIZE;
    size = left < sizeof core->piece ? (Size)left : sizeof core->piece;
    res = FileRead(file, segment->offset + at, core->piece, size);
    if (res == ResOK)
      res = corePiece(core, segment, at, size, new);
    at += new;
    core->read += new;
    if (core->reporter->hooks.scanning != NULL)
      core->reporter->hooks.scanning(core->reporter->hooks.data, core->read, file->size);
  }
  return res == ResEND ? ResOK : res;
}

/* ---- Memory that the process shared with others, in the files that it had mapped ---- */

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
    ReporterLack(core->reporter, "%s: the memory that the process shared is not in the core, and the file that it was, %s, "
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

  if (!coreFileIsIts(core, fd) || (process = coreProcessFind(core, core->region.identity)) == NULL)
    return ResOK;
  process->region = TRUE;
  res = coreFileText(core, process, fd);
  for (i = 0; res == ResOK && i < core->region.slots; ++i)
    if (RegionBlockAt(&at, &size, &core->region, i) && FileReadAt(fd, at, &core->block, size) == ResOK)
      res = coreBlock(core, size);
  if (res == ResOK)
    ReporterNote(core->reporter, "%s: the memory that it shared is not in the core; took it from %s", core->elf.file->path,
                 path);
  return res;
}

/* coreFileVisit -- a file that is called as regions are, and may be one that the process had mapped */
static Res coreFileVisit(void *data, RegionPlace place)
{
  Core core = data;
  struct stat status, its;
  char path[RegionPathMAX];
  Res res;
  int fd;

  (void)snprintf(path, sizeof path, "%s/%s", place->folder, place->file);
  fd = RegionPlaceOpen(&status, place, FALSE, fstat(core->elf.file->fd, &its) == 0 ? its.st_uid : geteuid());
  if (fd < 0) {
    coreFileGone(core, path);
    return ResOK;
  }
  res = coreFileTake(core, fd, path);
  (void)close(fd);
  return res;
}

/* coreFile -- a file that the process had mapped: write its blocks, if it is a region and the core has it not.  For
 * ElfFiles, with the core as data. */
static Bool coreFile(void *data, const char *path)
{
  Core core = data;
  Res res;

  if (!RegionNamed(path))
    return FALSE;
  res = RegionPlaceNamed(path, 0, core->elf.file->path, coreFileVisit, core);
  if (res == ResPARAM) { /* without a name, or where none should be */
    errno = ENOENT;
    coreFileGone(core, path);
    return FALSE;
  }
  core->failed = res;
  return res != ResOK;
}

/* ---- All of it ---- */

/* coreInvent -- a header block for a process that has none in the core */
static Res coreInvent(Core core, CoreProcess process)
{
  const char *registry = core->reporter->hooks.registry;
  const unsigned *version = core->reporter->hooks.version;
  Header header = &core->parsed;
  TextStruct text;

  ReporterNote(core->reporter, "%s: what describes the events of process %u is not in the core; they are read as this "
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
    process = coreProcessFind(core, header->identity);
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
      res = coreSegment(core, &segment);
  }
  for (i = 0; i < core->elf.count && res == ResOK && ElfSegmentAt(&segment, &core->elf, i); ++i)
    if (segment.notes)
      ElfFiles(&core->elf, &segment, coreFile, core);
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
      ReporterNote(core->reporter, "%s: a core: took %llu event%s of process %u from its buffers", path,
                   (unsigned long long)core->process[i].events, TextPlural(core->process[i].events),
                   core->process[i].pid);
    }
  if (core->cut)
    ReporterLack(core->reporter, "%s: the core is cut off; events may be missing", path);
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

Res CoreTake(File file, Reporter reporter, char *error, Size size)
{
  Core core = calloc(1, sizeof *core);
  Count found = 0;
  Res res;

  if (core == NULL)
    return ResMEMORY;
  core->reporter = reporter;
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
