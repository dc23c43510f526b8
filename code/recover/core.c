/* core.c -- finds the events in a core file, and in the region of its process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "recover/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/elf.h"
#include "format/region.h"
#include "recover/orphanregion.h"
#include "recover/regionfile.h"

enum {
  coreTicks = 1000000000,   /* ticks a second, if no header block says how many */
  corePieceSIZE = 1 << 20,  /* read at a time */
  coreProcessesMAX = 64,    /* of which one core may have events */
  coreHeadersMAX = 1024,    /* header blocks whose places are remembered */
  coreNoteMAX = 16 << 20,   /* bytes of a note that are looked at */
  coreFILE = 0x46494c45     /* NT_FILE */
};

/* A process of which the core has something. */
typedef struct coreProcessStruct {
  uint64_t identity;
  uint32_t pid;
  uint64_t events;
  Bool blocks;  /* blocks of it were found */
  Bool headed;  /* its header block was written to the temporary file */
  Bool region;  /* its region is in the core */
} coreProcessStruct, *CoreProcess;

/* Where the core has a sound header block. */
typedef struct coreHeaderStruct {
  uint64_t identity;
  uint64_t offset;
  Size length;
} coreHeaderStruct, *CoreHeader;

/* Always true: `to` has whole, sound header blocks and blocks, and nothing else; `process` has each identity once. */
typedef struct coreStruct {
  File file;             /* the caller's */
  ElfStruct elf;
  Reporter reporter;
  int to;                /* the temporary file */
  Bool cut;              /* the core is not whole */
  Bool gone;             /* it was told that shared memory is in neither the core nor a file */
  uint64_t read;         /* bytes of memory that were looked at: at most as many as the core has */
  uint64_t wasted;       /* bytes that were read for header blocks that were none: coreWasteMAX more at most */
  Res failed;            /* ResOK, or why blocks of a region's file could not be written */
  uint64_t next;         /* in the current segment: behind the header block that was found last */
  Count processes, headers;
  coreProcessStruct process[coreProcessesMAX];
  coreHeaderStruct header[coreHeadersMAX];
  HeaderStruct parsed;
  OrphanRegionStruct region; /* the current region; its `block` also has the current block of the core itself */
  char text[HeaderMAX];
  unsigned char piece[corePieceSIZE + BlockMagicSIZE];
} coreStruct, *Core;

/* coreCheck -- is each process there once, and no header block longer than one can be? */
static Bool coreCheck(const coreStruct *core) __attribute__((unused));
static Bool coreCheck(const coreStruct *core)
{
  Bool sound = core->processes <= coreProcessesMAX && core->headers <= coreHeadersMAX;
  Index i, k;

  for (i = 0; sound && i < core->processes; ++i)
    for (k = 0; sound && k < i; ++k)
      sound = core->process[i].identity != core->process[k].identity;
  for (i = 0; sound && i < core->headers; ++i)
    sound = core->header[i].length <= HeaderMAX;
  return sound;
}

/* coreProcessFind -- what is known of a process, which is added if it is new; NULL: there are too many */
static CoreProcess coreProcessFind(Core core, uint64_t identity)
{
  Index i;

  for (i = 0; i < core->processes; ++i)
    if (core->process[i].identity == identity)
      return &core->process[i];
  AVER(core->processes <= coreProcessesMAX);
  if (core->processes == coreProcessesMAX)
    return NULL;
  core->process[core->processes].identity = identity;
  return &core->process[core->processes++];
}

/* coreBlock -- core->region.block has `size` bytes.  If they are the block of a process, write it, settled and sealed.
 * ResIO. */
static Res coreBlock(Core core, Size size)
{
  static const unsigned atRest = BlockFlagSEALED | BlockFlagPACKED | BlockFlagSNAPSHOT | BlockFlagRECOVERED;
  BlockHeader header = &core->region.block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  CoreProcess process;

  if (!BlockUnsealedIs(&sound, header, size, 0) || (sound.flags & atRest) != 0 || sound.process == 0 ||
      (process = coreProcessFind(core, sound.process)) == NULL)
    return ResOK;
  BlockWalk(&tally, header + 1, size - BlockHeaderSIZE, sound.first, TRUE);
  AVER(size <= sizeof core->region.block);
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

/* ---- Memory in the core: blocks and header blocks are found by their magics ---- */

enum { coreWasteMAX = 64 << 20 }; /* bytes */

/* coreBlockAt -- a block's magic stands at `at` in the segment: write the block, if it ends where the writer's blocks
 * do */
static Res coreBlockAt(Core core, ElfSegment segment, uint64_t at)
{
  File file = core->file;
  uint64_t left = segment->size - at;
  Size whole;

  if (left < BlockHeaderSIZE || FileRead(file, segment->offset + at, &core->region.block, BlockHeaderSIZE) != ResOK)
    return ResOK;
  whole = core->region.block.header.whole;
  if (!WordIsPowerOf2(whole) || whole < BlockMIN || whole > BlockMAX ||
      (segment->address + at + whole) % RegionSlotSIZE != 0)
    return ResOK;
  memset(&core->region.block, 0, sizeof core->region.block);
  if (FileRead(file, segment->offset + at, &core->region.block, left < whole ? (Size)left : whole) != ResOK)
    return ResOK;
  return coreBlock(core, whole);
}

/* coreHeaderAt -- a header block's magic stands at `at` in the segment: remember the place, if the header block is
 * sound */
static void coreHeaderAt(Core core, ElfSegment segment, uint64_t at)
{
  uint64_t offset = segment->offset + at, left = segment->size - at;
  File file = core->file;
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
  AVER(core->headers < coreHeadersMAX);
  header = &core->header[core->headers++];
  header->identity = core->parsed.identity;
  header->offset = offset;
  header->length = length;
  core->next = at + length;
}

/* coreRegionAt -- a region's magic stands at `at` in the segment: so its blocks are in the core, and not only in its
 * file */
static void coreRegionAt(Core core, ElfSegment segment, uint64_t at)
{
  RegionHeader header = &core->region.header;
  CoreProcess process;

  if (segment->size - at < sizeof *header ||
      FileRead(core->file, segment->offset + at, header, sizeof *header) != ResOK)
    return;
  /* The region in private memory has the same identity, and no header block. */
  if (header->order != BlockORDER || header->text.generation == 0)
    return;
  process = coreProcessFind(core, header->identity);
  if (process != NULL)
    process->region = TRUE;
}

/* corePiece -- search `size` bytes of a segment, from `at` on, which are in core->piece; the last of them, behind
 * `new`, are searched again with the next piece */
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

/* coreSegment -- write the blocks that are in a segment, and remember its header blocks.  ResIO. */
static Res coreSegment(Core core, ElfSegment segment)
{
  File file = core->file;
  uint64_t at = 0;
  Res res = ResOK;

  core->next = 0;
  /* Segments may overlap in a forged core: no more memory is searched than the file has bytes. */
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

/* ---- Shared memory, which a core may lack: the region in the file that the process had mapped ---- */

/* coreFileIsIts -- is the current region that of a process in the core, which lacks it? */
static Bool coreFileIsIts(Core core, RegionFile file)
{
  struct stat its;
  Index i;

  if (fstat(core->file->fd, &its) != 0 || !OrphanRegionRead(&core->region))
    return FALSE;
  for (i = 0; i < core->processes; ++i)
    if (core->process[i].identity == core->region.header.identity)
      return !core->process[i].region;
  /* The core does not say whose memory it is.  The region stands at a path that is in the core: it belongs to the core
   * unless it was written later. */
  return core->processes == 0 && file->status.st_mtim.tv_sec <= its.st_mtim.tv_sec;
}

/* coreFileGone -- the file cannot be opened: tell that once, if the core lacks what was in it */
static void coreFileGone(Core core, const char *path)
{
  Index i;

  for (i = 0; i < core->processes; ++i)
    if (core->process[i].region)
      return;
  if (!core->gone)
    ReporterLack(core->reporter, "%s: the memory that the process shared is not in the core, and the file that it "
                 "was, %s, cannot be read: %s", core->file->path, path, strerror(errno));
  core->gone = TRUE;
}

/* coreFileTake -- write the header block and the blocks of the current region, if the core needs them */
static Res coreFileTake(Core core, RegionFile file, const char *path)
{
  OrphanRegion region = &core->region;
  CoreProcess process;
  Size at, size;
  Index i;
  Res res = ResOK;

  if (!coreFileIsIts(core, file) || (process = coreProcessFind(core, region->header.identity)) == NULL)
    return ResOK;
  process->region = TRUE;
  process->headed = OrphanRegionText(region, &size);
  if (process->headed)
    res = FileWriteAll(core->to, region->text, size);
  for (i = 0; res == ResOK && i < region->header.slots; ++i)
    if (RegionBlockAt(&at, &size, &region->header, i) && FileReadAt(region->fd, at, &region->block, size) == ResOK)
      res = coreBlock(core, size);
  if (res == ResOK)
    ReporterNote(core->reporter, "%s: the memory that it shared is not in the core; took it from %s",
                 core->file->path, path);
  return res;
}

/* coreFileVisit -- a file with the name of a region, at a path that the core names */
static Res coreFileVisit(void *data, RegionFile file)
{
  Core core = data;
  struct stat its;
  char path[RegionPathMAX];
  Res res;

  (void)snprintf(path, sizeof path, "%s/%s", file->folder, file->file);
  if (!OrphanRegionOpen(&core->region, file, FALSE, fstat(core->file->fd, &its) == 0 ? its.st_uid : geteuid())) {
    coreFileGone(core, path);
    return ResOK;
  }
  res = coreFileTake(core, file, path);
  (void)close(core->region.fd);
  return res;
}

/* coreFile -- a file that the process had mapped: write its blocks, if it is a region; TRUE: that failed */
static Bool coreFile(Core core, const char *path)
{
  Res res;

  if (!RegionNamed(path))
    return FALSE;
  res = RegionFileNamed(path, 0, core->file->path, coreFileVisit, core);
  if (res == ResPARAM) { /* a memfd, or not in a folder where regions are */
    errno = ENOENT;
    coreFileGone(core, path);
    return FALSE;
  }
  core->failed = res;
  return res != ResOK;
}

/* coreNote -- the files of a note: how many, the size of a page, three words for each, and then their paths */
static void coreNote(Core core, const ElfNoteStruct *note)
{
  Size size = note->size < coreNoteMAX ? note->size : coreNoteMAX;
  unsigned char *bytes = malloc(size + 1);
  ReaderStruct reader = ReaderOf(bytes, size, 0, FALSE);
  unsigned word = core->elf.wide ? 8 : 4;
  const char *path;
  uint64_t count;

  if (bytes != NULL && ElfRead(&core->elf, note->content, bytes, size)) {
    count = ReaderUnsigned(&reader, word);
    ReaderSkip(&reader, word);
    ReaderSkip(&reader, count > size ? size : 3 * word * count);
    while (count-- > 0 && (path = ReaderString(&reader)) != NULL && !coreFile(core, path))
      continue;
  }
  free(bytes);
}

/* coreNotes -- the files that the notes of a segment name */
static void coreNotes(Core core, ElfSegment segment)
{
  uint64_t at = segment->offset, limit = segment->offset + segment->size;
  ElfNoteStruct note;

  while (ElfNoteNext(&note, &core->elf, &at, limit))
    if (note.type == coreFILE)
      coreNote(core, &note);
}

/* ---- The whole core ---- */

/* coreInvent -- make a header block for a process that has none in the core, from the reader's own registry */
static Res coreInvent(Core core, CoreProcess process)
{
  const char *registry = core->reporter->hooks.registry;
  const unsigned *version = core->reporter->hooks.version;
  Header header = &core->parsed;
  TextStruct text;

  ReporterNote(core->reporter, "%s: what describes the events of process %u is not in the core; they are read as this "
               "program knows them, and times count ticks of its clock", core->file->path, process->pid);
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

/* coreHeads -- write the header blocks of the processes of which blocks were found.  Others in memory are those of
 * parents, or were read from logs. */
static Res coreHeads(Core core)
{
  CoreProcess process;
  Res res = ResOK;
  Index i;

  AVER(coreCheck(core));
  for (i = 0; i < core->headers && res == ResOK; ++i) {
    CoreHeader header = &core->header[i];
    process = coreProcessFind(core, header->identity);
    if (process == NULL || !process->blocks)
      continue;
    res = FileRead(core->file, header->offset, core->text, header->length);
    if (res == ResOK)
      res = FileWriteAll(core->to, core->text, header->length);
    process->headed = TRUE;
  }
  for (i = 0; i < core->processes && res == ResOK; ++i)
    if (core->process[i].blocks && !core->process[i].headed)
      res = coreInvent(core, &core->process[i]);
  return res;
}

/* coreSearch -- search the segments: first memory, then the notes, which name files */
static Res coreSearch(Core core)
{
  ElfSegmentStruct segment;
  Res res = ResOK;
  Index i;

  for (i = 0; i < core->elf.segments.count && res == ResOK; ++i) {
    if (!ElfSegmentAt(&segment, &core->elf, i)) {
      core->cut = TRUE;
      break;
    }
    core->cut |= segment.cut;
    if (segment.type == PT_LOAD)
      res = coreSegment(core, &segment);
  }
  for (i = 0; i < core->elf.segments.count && res == ResOK && ElfSegmentAt(&segment, &core->elf, i); ++i)
    if (segment.type == PT_NOTE)
      coreNotes(core, &segment);
  if (res == ResOK)
    res = core->failed;
  return res == ResOK ? coreHeads(core) : res;
}

/* coreTell -- tell what was found; returns of how many processes */
static Count coreTell(Core core)
{
  const char *path = core->file->path;
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

/* coreReplace -- let `file` be the temporary file from now on */
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

Bool CoreMay(File file)
{
  const unsigned char *bytes = FileBytes(file, 0, SELFMAG);

  return bytes != NULL && ElfMagic(bytes);
}

/* coreRead -- an ElfReadMethod */
static Bool coreRead(void *data, uint64_t offset, void *bytes, Size size)
{
  return FileRead(data, offset, bytes, size) == ResOK;
}

/* coreOpen -- ResFORMAT: it is no core; ResVERSION: it has the other byte order */
static Res coreOpen(Core core, File file)
{
  Res res = ElfOpen(&core->elf, coreRead, file, file->size);

  core->file = file;
  if (res == ResOK && core->elf.swapped)
    return ResVERSION;
  return res == ResOK && core->elf.type == ET_CORE ? ResOK : ResFORMAT;
}

Res CoreTake(File file, Reporter reporter, char *error, Size size)
{
  Core core = calloc(1, sizeof *core);
  Count found = 0;
  Res res;

  if (core == NULL)
    return ResMEMORY;
  core->reporter = reporter;
  res = coreOpen(core, file);
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
