/* pawbatch.c -- libpawlog: many events for one call
 *
 * A service stops after each chunk of events; what its one request met is in the batch then.
 *
 * Always true: of each type that was met `table` has a place, and the type's plan its number plus one;  records[i] is
 * what the caller sees of table[i].
 *
 * Design: design/log.md .pawlog.batch      Tests: test/library/pawbatchtest.c, test/library/python.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/log.h"
#include "log/pawlog.h"
#include "request/request.h"
#include "request/typecache.h"

enum { batchChunkDEFAULT = 16384 };

/* The records of a type. */
typedef struct batchTableStruct {
  uint64_t *words; /* owned */
  Count capacity;  /* in records */
  Size size;       /* words of a record */
} batchTableStruct, *batchTable;

struct PawBatchStruct {
  PawService service;
  PawRequest request;
  PawBatchEvents events;       /* handed out */
  TypeCacheStruct plans;  /* uint32_t: the type's place in `table`, plus one */
  batchTable table;       /* owned */
  PawRecords *records;    /* owned; as many */
  Count tables, tableCapacity, recordCapacity;
  uint32_t *order;        /* owned */
  Count orderCapacity;
  char *text;             /* owned */
  Size textCapacity;
  Bool failed;            /* memory ran out */
};

/* batchNew -- the place for a type that is met for the first time; FALSE: no memory */
static Bool batchNew(PawBatch batch, EventType type, uint32_t *plan)
{
  if (!Grow(&batch->table, &batch->tableCapacity, batch->tables, sizeof *batch->table) ||
      !Grow(&batch->records, &batch->recordCapacity, batch->tables, sizeof *batch->records))
    return FALSE;
  batch->table[batch->tables] = (batchTableStruct){.size = PAW_RECORD + type->params};
  batch->records[batch->tables] = (PawRecords){.type = type};
  *plan = (uint32_t)++batch->tables;
  return TRUE;
}

/* batchString -- keep a string; where it is, and its length, as a field has them.  FALSE: no memory. */
static Bool batchString(PawBatch batch, LogEvent event, Index i, uint64_t *wordReturn)
{
  Size length, need;
  const char *bytes = LogEventString(event, i, &length);
  uint32_t place[2] = {(uint32_t)batch->events.textSize, (uint32_t)length};

  need = batch->events.textSize + length;
  if (!GrowTo(&batch->text, &batch->textCapacity, need, 1))
    return FALSE;
  if (length > 0)
    memcpy(batch->text + batch->events.textSize, bytes, length);
  batch->events.textSize = need;
  memcpy(wordReturn, place, sizeof place);
  return TRUE;
}

/* batchRecord -- write the event's record; FALSE: no memory */
static inline Bool batchRecord(PawBatch batch, LogEvent event, uint64_t *word)
{
  EventType type = event->type;
  uint32_t who[2] = {(uint32_t)event->process->number, event->thread};
  Index i;

  word[0] = event->time;
  memcpy(word + 1, who, sizeof who);
  for (i = 0; i < type->params; ++i) {
    if (LIKELY(type->letter[i] != 'S'))
      word[PAW_RECORD + i] = LogEventWord(event, i);
    else if (!batchString(batch, event, i, &word[PAW_RECORD + i]))
      return FALSE;
  }
  return TRUE;
}

static Bool batchTake(PawBatch batch, LogEvent event)
{
  uint32_t *plan = TypeCacheOf(&batch->plans, event);
  PawRecords *records;
  batchTable table;

  if (UNLIKELY(plan == NULL) || (UNLIKELY(*plan == 0) && !batchNew(batch, event->type, plan)))
    return FALSE;
  table = &batch->table[*plan - 1];
  records = &batch->records[*plan - 1];
  if (UNLIKELY(records->count == table->capacity) &&
      !Grow(&table->words, &table->capacity, records->count, table->size * sizeof *table->words))
    return FALSE;
  if (UNLIKELY(batch->events.count == batch->orderCapacity) &&
      !Grow(&batch->order, &batch->orderCapacity, batch->events.count, sizeof *batch->order))
    return FALSE;
  if (!batchRecord(batch, event, table->words + records->count * table->size))
    return FALSE;
  ++records->count;
  batch->order[batch->events.count++] = *plan - 1;
  return TRUE;
}

static Bool batchEvent(PawRequest *request, PawEvent event)
{
  PawBatch batch = request->data;

  if (LIKELY(batchTake(batch, event)))
    return FALSE;
  batch->failed = TRUE;
  request->stop = TRUE;
  return TRUE;
}

int PawBatchCreate(PawBatch *batchReturn, PawLog log, const PawRequest *request, size_t chunk)
{
  static const LogRequestStruct all = LogRequestALL;
  PawBatch batch;
  int error;

  if (request == NULL)
    request = &all;
  if (request->size != sizeof *request)
    return PAW_PARAM;
  batch = calloc(1, sizeof *batch);
  if (batch == NULL)
    return PAW_MEMORY;
  batch->request = (PawRequest){
    .size = sizeof batch->request, .data = batch, .from = request->from, .to = request->to, .start = request->start,
    .end = request->end, .count = request->count, .kinds = request->kinds, .choose = request->choose,
    .chooseData = request->chooseData != NULL ? request->chooseData : request->data, .accept = request->accept,
    .acceptData = request->acceptData, .event = batchEvent};
  TypeCacheInit(&batch->plans, sizeof(uint32_t));
  error = PawServiceCreate(&batch->service, log, chunk != 0 ? chunk : batchChunkDEFAULT);
  if (error == PAW_OK)
    error = PawServiceFile(batch->service, &batch->request);
  if (error != PAW_OK) {
    PawBatchDestroy(batch);
    return error;
  }
  *batchReturn = batch;
  return PAW_OK;
}

static Bool batchPending(void *data)
{
  PawBatch batch = data;

  return batch->events.count > 0;
}

int PawBatchNext(PawBatch batch, const PawBatchEvents **eventsReturn)
{
  int error;
  Index i;

  batch->events.count = batch->events.textSize = 0;
  for (i = 0; i < batch->tables; ++i)
    batch->records[i].count = 0;
  error = PawServiceRun(batch->service, batchPending, batch);
  if (batch->failed)
    return PAW_MEMORY;
  if (error != PAW_OK && error != PAW_PENDING)
    return error;
  for (i = 0; i < batch->tables; ++i)
    batch->records[i].words = batch->table[i].words;
  batch->events.order = batch->order;
  batch->events.types = batch->tables;
  batch->events.records = batch->records;
  batch->events.text = batch->text;
  *eventsReturn = batch->events.count > 0 ? &batch->events : NULL;
  return PAW_OK;
}

void PawBatchDestroy(PawBatch batch)
{
  Index i;

  if (batch == NULL)
    return;
  PawServiceDestroy(batch->service);
  TypeCacheFinish(&batch->plans);
  for (i = 0; i < batch->tables; ++i)
    free(batch->table[i].words);
  free(batch->table);
  free(batch->records);
  free(batch->order);
  free(batch->text);
  free(batch);
}
