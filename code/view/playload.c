/* playload.c -- a script and all memory that running it takes, mapped
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "playdata.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { playSHOWN = 16 << 20 /* bytes of buffers that are touched before the measurement begins */ };

/* playMap -- zeroed memory that is there (touched) and is nobody's allocator's; NULL without memory */
static void *playMap(Size size, Bool touched)
{
  void *p = mmap(NULL, size == 0 ? 1 : size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | (touched ? MAP_POPULATE : 0), -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

Bool PlayRead(int fd, void *p, Size size, uint64_t offset)
{
  while (size > 0) {
    ssize_t n = pread(fd, p, size, (off_t)offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    p = (char *)p + n;
    size -= (Size)n;
    offset += (uint64_t)n;
  }
  return TRUE;
}

/* Loading */

static Bool playTable(Play play, void *tableReturn, uint64_t offset, uint64_t count, Size size)
{
  void *table = playMap(count * size, TRUE);

  memcpy(tableReturn, &table, sizeof table);
  return table != NULL && PlayRead(play->params.fd, table, count * size, offset);
}

static Bool playTables(Play play)
{
  ScriptHeader header = &play->header;

  return playTable(play, &play->threads, header->threadTable, header->threads, sizeof *play->threads) &&
         playTable(play, &play->chunks, header->chunkTable, header->chunks, sizeof *play->chunks) &&
         playTable(play, &play->epochs, header->epochTable, header->epochs, sizeof *play->epochs) &&
         playTable(play, &play->pools, header->poolTable, header->pools, sizeof *play->pools) &&
         playTable(play, &play->poolParams, header->paramTable, header->params, sizeof *play->poolParams) &&
         playTable(play, &play->arenas, header->arenaTable, header->arenas, sizeof *play->arenas);
}

Size PlayBuffer(void)
{
  return WordAlignUp((ScriptChunkOPS + PlayAHEAD) * sizeof(ScriptOpStruct), PlayPAGE);
}

static Bool playRoom(Play play)
{
  ScriptHeader header = &play->header;
  Size buffers = header->threads * PlayBuffer();

  play->runners = playMap(header->threads * sizeof *play->runners, TRUE);
  play->pool = playMap(header->pools * sizeof *play->pool, TRUE);
  play->slots = playMap((header->slots + 1) * sizeof *play->slots, TRUE);
  play->buffers = playMap(buffers, buffers <= playSHOWN);
  if (play->params.verify)
    play->kept = playMap((header->slots + 1) * sizeof *play->kept, TRUE);
  return play->runners != NULL && play->pool != NULL && play->slots != NULL && play->buffers != NULL &&
         (!play->params.verify || play->kept != NULL);
}

Res PlayLoad(Play *playReturn, PlayParams params, char *error, Size size)
{
  Play play = playMap(sizeof *play, TRUE);
  struct stat status;

  if (play == NULL) {
    snprintf(error, size, "no memory");
    return ResMEMORY;
  }
  play->params = *params;
  if (fstat(params->fd, &status) != 0 || status.st_size < (off_t)sizeof play->header ||
      !PlayRead(params->fd, &play->header, sizeof play->header, (uint64_t)status.st_size - sizeof play->header)) {
    snprintf(error, size, "cannot read the script: %s", strerror(errno));
    return ResIO;
  }
  if (!playTables(play) || !playRoom(play)) {
    snprintf(error, size, "no memory for %llu objects in %llu threads", (unsigned long long)play->header.slots,
             (unsigned long long)play->header.threads);
    return ResMEMORY;
  }
  *playReturn = play;
  return ResOK;
}

ScriptHeader PlayHeader(Play play)
{
  return &play->header;
}

const ScriptPoolStruct *PlayPools(Play play)
{
  return play->pools;
}

const ScriptParamStruct *PlayPoolParams(Play play)
{
  return play->poolParams;
}

const ScriptArenaStruct *PlayArenas(Play play)
{
  return play->arenas;
}
