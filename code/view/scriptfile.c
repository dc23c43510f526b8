/* scriptfile.c -- a script's memory, and its file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "scriptdata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "log/file.h"

void *ScriptTableAdd(Script script, ScriptTable table, Size size)
{
  void *new;

  if (!Grow(&table->base, &table->capacity, table->count, size)) {
    script->res = ResMEMORY;
    return NULL;
  }
  new = (char *)table->base + table->count++ * size;
  memset(new, 0, size);
  return new;
}

/* scriptTemporary -- a file without a name.  Not in memory if that can be helped: it may be larger. */
static int scriptTemporary(void)
{
  const char *folder = getenv("TMPDIR");
  int fd;

  if (folder == NULL || *folder == '\0')
    folder = "/tmp";
  fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    char path[4096];
    snprintf(path, sizeof path, "%s/replay-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
      unlink(path);
  }
  return fd >= 0 ? fd : memfd_create("replay", MFD_CLOEXEC);
}

Res ScriptCreate(Script *scriptReturn, Bool merged, uint64_t tick)
{
  Script script = calloc(1, sizeof *script);

  if (script == NULL)
    return ResMEMORY;
  script->fd = scriptTemporary();
  if (script->fd < 0) {
    free(script);
    return ResIO;
  }
  script->merged = merged;
  script->tick = tick;
  script->queueHead = script->queueTail = ScriptNONE;
  *scriptReturn = script;
  return ResOK;
}

void ScriptDestroy(Script script)
{
  Index i;

  for (i = 0; i < script->threads.count; ++i) {
    ScriptList thread = *ScriptTableAt(script->threads, ScriptList, i);
    free(thread->ops);
    free(thread);
  }
  free(script->threads.base);
  free(script->chunks.base);
  free(script->epochs.base);
  free(script->pools.base);
  free(script->params.base);
  free(script->arenas.base);
  free(script->poolNumbers.base);
  free(script->arenaAddrs.base);
  free(script->slots.base);
  free(script->threadNumbers.base);
  close(script->fd);
  free(script);
}

ScriptHeader ScriptHeaderOf(Script script)
{
  return &script->header;
}

int ScriptFile(Script script)
{
  return script->fd;
}

/* The file */

static void scriptWrite(Script script, const void *data, Size size)
{
  if (script->res != ResOK)
    return;
  script->res = FileWriteAt(script->fd, script->offset, data, size);
  if (script->res == ResOK)
    script->offset += size;
  else
    script->error = errno;
}

void ScriptFlush(Script script, ScriptList thread, Index number)
{
  ScriptPlacedStruct *placed;

  if (thread->count == 0)
    return;
  placed = ScriptTableAdd(script, &script->chunks, sizeof *placed);
  if (placed == NULL)
    return;
  placed->thread = (uint32_t)number;
  placed->chunk.offset = script->offset;
  placed->chunk.count = thread->count;
  ++thread->public.chunks;
  scriptWrite(script, thread->ops, thread->count * sizeof *thread->ops);
  thread->count = 0;
}

/* Tables */

/* scriptChunks -- each thread's chunks in one run */
static void scriptChunks(Script script)
{
  ScriptChunkStruct *sorted = malloc((script->chunks.count + 1) * sizeof *sorted);
  uint64_t next = 0;
  Index i;

  if (sorted == NULL) {
    script->res = ResMEMORY;
    return;
  }
  for (i = 0; i < script->threads.count; ++i) {
    ScriptList thread = *ScriptTableAt(script->threads, ScriptList, i);
    thread->public.chunk = next;
    next += thread->public.chunks;
    thread->public.chunks = 0;
  }
  for (i = 0; i < script->chunks.count; ++i) {
    ScriptPlacedStruct *placed = ScriptTableAt(script->chunks, ScriptPlacedStruct, i);
    ScriptList thread = *ScriptTableAt(script->threads, ScriptList, placed->thread);
    sorted[thread->public.chunk + thread->public.chunks++] = placed->chunk;
  }
  script->header.chunks = script->chunks.count;
  script->header.chunkTable = script->offset;
  scriptWrite(script, sorted, script->chunks.count * sizeof *sorted);
  free(sorted);
}

static void scriptTable(Script script, uint64_t *count, uint64_t *place, ScriptTable table, Size size)
{
  *count = table->count;
  *place = script->offset;
  scriptWrite(script, table->base, table->count * size);
}

Res ScriptFinish(Script script)
{
  ScriptHeader header = &script->header;
  Index i;

  /* The last epoch may have been opened behind something that stood alone, for nobody. */
  if (script->epochs.count > 0 &&
      ScriptTableAt(script->epochs, ScriptEpochStruct, script->epochs.count - 1)->threads == 0)
    --script->epochs.count;
  for (i = 0; i < script->threads.count; ++i)
    ScriptFlush(script, *ScriptTableAt(script->threads, ScriptList, i), i);
  scriptChunks(script);
  header->threads = script->threads.count;
  header->threadTable = script->offset;
  for (i = 0; i < script->threads.count; ++i) {
    ScriptList thread = *ScriptTableAt(script->threads, ScriptList, i);
    scriptWrite(script, &thread->public, sizeof thread->public);
  }
  scriptTable(script, &header->epochs, &header->epochTable, &script->epochs, sizeof(ScriptEpochStruct));
  scriptTable(script, &header->pools, &header->poolTable, &script->pools, sizeof(ScriptPoolStruct));
  scriptTable(script, &header->params, &header->paramTable, &script->params, sizeof(ScriptParamStruct));
  scriptTable(script, &header->arenas, &header->arenaTable, &script->arenas, sizeof(ScriptArenaStruct));
  header->operations = header->allocs + header->frees + header->resizes + header->drops;
  scriptWrite(script, header, sizeof *header);
  if (script->res == ResIO)
    errno = script->error;
  return script->res;
}
