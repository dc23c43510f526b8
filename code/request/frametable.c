/* frametable.c -- the frames of call stacks, as the processes of a log have told them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/frametable.h"

#include <stdlib.h>

#include "base/aver.h"
#include "log/scatter.h"
#include "request/typecache.h"

enum { frameSTACK = TypeCacheCLIENT, frameCAPACITY = 1024 };

struct FrameTableStruct {
  LogRequestStruct request;
  TypeCacheStruct plans;  /* of TypeCacheTellStructs */
  Count count, capacity;  /* a power of two, more than count; or 0 */
  Frame frames;           /* owned; open addressing */
  Res res;
};

static const TypeCacheKnownStruct frameKnown[] = {{"StackFrame", frameSTACK, {"UW stack", "UW parent", "PAW address"}}};

static uint64_t frameKey(Index process, uint32_t stack)
{
  return (uint64_t)process << 32 | (stack & ~FrameSHORT);
}

/* framePlace -- where the key is, or would be */
static Frame framePlace(FrameTable table, uint64_t key)
{
  Index i = (Index)ScatterMore(0, key) & (table->capacity - 1);

  while (table->frames[i].key != 0 && table->frames[i].key != key)
    i = (i + 1) & (table->capacity - 1);
  return &table->frames[i];
}

/* frameGrow -- room for one more; FALSE: no memory */
static Bool frameGrow(FrameTable table)
{
  struct FrameTableStruct old = *table;
  Index i;

  if (table->count + 1 <= table->capacity - table->capacity / 4)
    return TRUE;
  table->capacity = old.capacity == 0 ? frameCAPACITY : 2 * old.capacity;
  table->frames = calloc(table->capacity, sizeof *table->frames);
  if (table->frames == NULL) {
    *table = old;
    return FALSE;
  }
  for (i = 0; i < old.capacity; ++i)
    if (old.frames[i].key != 0)
      *framePlace(table, old.frames[i].key) = old.frames[i];
  free(old.frames);
  return TRUE;
}

Bool FrameTableWants(EventType type)
{
  return TypeCacheKnows(type, frameKnown, ARRAY_LENGTH(frameKnown));
}

void FrameTableEvent(FrameTable table, LogEvent event)
{
  TypeCacheTell tell = TypeCacheTells(&table->plans, event, frameKnown, ARRAY_LENGTH(frameKnown));
  uint64_t stack, parent;
  Frame place;

  if (tell == NULL || !frameGrow(table)) {
    table->res = ResMEMORY;
    return;
  }
  if (tell->tells != frameSTACK)
    return;
  stack = LogEventWord(event, (Index)tell->param[0]);
  parent = LogEventWord(event, (Index)tell->param[1]);
  /* The caller's number is the smaller one: so whoever goes outwards comes to an end. */
  if (stack < FrameFIRST || stack >= FrameSHORT || parent >= stack)
    return;
  place = framePlace(table, frameKey(event->process->number, (uint32_t)stack));
  if (place->key == 0)
    ++table->count;
  *place = (FrameStruct){frameKey(event->process->number, (uint32_t)stack),
                         LogEventWord(event, (Index)tell->param[2]), (uint32_t)parent};
}

static Bool frameChoose(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return FrameTableWants(type);
}

static Bool frameEvent(LogRequest request, LogEvent event)
{
  FrameTableEvent(request->data, event);
  return FALSE;
}

Res FrameTableCreate(FrameTable *tableReturn)
{
  static const LogRequestStruct all = LogRequestALL;
  FrameTable table = calloc(1, sizeof *table);

  if (table == NULL)
    return ResMEMORY;
  TypeCacheInit(&table->plans, sizeof(TypeCacheTellStruct));
  table->request = all;
  table->request.data = table;
  table->request.choose = frameChoose;
  table->request.event = frameEvent;
  *tableReturn = table;
  return ResOK;
}

void FrameTableDestroy(FrameTable table)
{
  AVER(FrameTableCheck(table));
  TypeCacheFinish(&table->plans);
  free(table->frames);
  free(table);
}

LogRequest FrameTableRequest(FrameTable table)
{
  return &table->request;
}

Res FrameTableStatus(FrameTable table)
{
  return table->res;
}

Frame FrameTableFind(FrameTable table, Index process, uint32_t stack)
{
  Frame place;

  if (table->capacity == 0 || (stack & ~FrameSHORT) < FrameFIRST)
    return NULL;
  place = framePlace(table, frameKey(process, stack));
  return place->key != 0 ? place : NULL;
}

Bool FrameTableCheck(FrameTable table)
{
  Count count = 0;
  Index i;

  if (table->count > table->capacity || (table->capacity != 0 && !WordIsPowerOf2(table->capacity)))
    return FALSE;
  for (i = 0; i < table->capacity; ++i)
    if (table->frames[i].key != 0) {
      ++count;
      if (table->frames[i].parent >= (uint32_t)table->frames[i].key ||
          framePlace(table, table->frames[i].key) != &table->frames[i])
        return FALSE;
    }
  return count == table->count;
}
