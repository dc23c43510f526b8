/* pools.c -- the view `pools`: by arena and pool, objects, bytes, peak, segments and address space
 *
 * Design: design/view.md .pools      Tests: test/view/heapviews.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/viewlabels.h"
#include "analyse/viewnotes.h"
#include "base/grow.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"
#include "view/arenas.h"
#include "view/viewclasses.h"

typedef struct poolsRowStruct {
  LogProcess process;          /* NULL: no such pool was met */
  uint64_t pool, arena;
  uint64_t time;               /* ns, when it was created */
  char class[HeapClassMAX];
  Bool destroyed;
  uint64_t allocs, frees, resizes; /* frees: those without an event, too */
  uint64_t allocated;          /* bytes that were asked for, and that resizes added */
  HeapSumStruct sum;           /* now, or when its process ended; its own peak */
  uint64_t segments, reserved; /* the same; */
  uint64_t reservedPeak;       /* and the most that it had when it allocated */
} poolsRowStruct, *poolsRow;

typedef struct poolsProcessStruct {
  Count count;
  poolsRow row;                /* owned; by the pool's number */
} poolsProcessStruct, *poolsProcess;

typedef struct poolsViewStruct {
  ViewHeap shared;
  Count top;
  Bool failed;
  Count processes;
  poolsProcess process;        /* owned; by the log's number */
  ArenasStruct arenas;
  ViewLabelsStruct labels;
  Count rows;
  poolsRow *row;               /* owned; all, the largest peak first */
} poolsViewStruct, *poolsView;

/* poolsMore -- room for a pool; NULL: no memory */
static poolsRow poolsMore(poolsView view, Index number, HeapPool pool)
{
  poolsProcess process;

  if (!GrowTo(&view->process, &view->processes, number, sizeof *view->process))
    return NULL;
  process = &view->process[number];
  return GrowTo(&process->row, &process->count, pool->number, sizeof *process->row) ? &process->row[pool->number] : NULL;
}

/* poolsOf -- the row of a pool; NULL: no memory */
static inline poolsRow poolsOf(poolsView view, Index number, HeapPool pool)
{
  poolsRow row = LIKELY(number < view->processes && pool->number < view->process[number].count)
                   ? &view->process[number].row[pool->number] : poolsMore(view, number, pool);

  if (UNLIKELY(row == NULL)) {
    view->failed = TRUE;
    return NULL;
  }
  if (UNLIKELY(row->process == NULL)) {
    row->process = LogProcessAt(view->shared->log, number);
    row->pool = pool->addr;
  }
  return row;
}

static void poolsAlloc(void *data, HeapOperation operation)
{
  poolsView view = data;
  poolsRow row = poolsOf(view, operation->process, operation->pool);

  if (UNLIKELY(row == NULL))
    return;
  if (LIKELY(!operation->told)) {
    ++row->allocs;
    row->allocated += operation->object->size;
  }
  HeapSumTell(&row->sum, operation);
  if (operation->pool->reserved > row->reservedPeak)
    row->reservedPeak = operation->pool->reserved;
}

static void poolsFree(void *data, HeapOperation operation)
{
  poolsRow row = poolsOf(data, operation->process, operation->pool);

  if (UNLIKELY(row == NULL))
    return;
  row->frees += !operation->told;
  HeapSumTell(&row->sum, operation);
}

static void poolsResize(void *data, HeapOperation operation)
{
  poolsRow row = poolsOf(data, operation->process, operation->pool);
  uint64_t size = operation->object->size;

  if (UNLIKELY(row == NULL))
    return;
  ++row->resizes;
  row->allocated += size > operation->oldSize ? size - operation->oldSize : 0;
  HeapSumTell(&row->sum, operation);
}

/* poolsTake -- what the heap knows of a pool */
static void poolsTake(poolsRow row, HeapPool pool)
{
  row->arena = pool->arena;
  row->time = pool->time;
  row->segments = pool->segments;
  row->reserved = pool->reserved;
  memcpy(row->class, pool->class, sizeof row->class);
  if (pool->reserved > row->reservedPeak)
    row->reservedPeak = pool->reserved;
}

/* poolsLook -- look at all pools of a process; `inherits`: it begins with what is in them */
static void poolsLook(poolsView view, Index process, uint64_t time, Bool inherits)
{
  HeapPool *pool;
  Count pools;
  Index i, j;

  if (HeapLookPools(&pool, &pools, view->shared->heap, process) != ResOK) {
    view->failed = TRUE;
    return;
  }
  for (i = 0; i < pools; ++i) {
    poolsRow row = poolsOf(view, process, pool[i]);
    HeapOperationStruct operation = {.kind = HeapALLOC, .time = time};
    if (row == NULL)
      break;
    poolsTake(row, pool[i]);
    for (j = 0; inherits && j < pool[i]->table.capacity; ++j) {
      operation.object = &pool[i]->table.objects[j];
      if (HeapObjectLives(operation.object))
        HeapSumTell(&row->sum, &operation);
    }
  }
  free(pool);
}

static void poolsOther(void *data, HeapOperation operation)
{
  poolsView view = data;
  poolsRow row;

  if (operation->kind == HeapPROCESSBEGIN && !operation->revived)
    poolsLook(view, operation->process, operation->time, TRUE);
  else if (operation->kind == HeapPROCESSEND)
    poolsLook(view, operation->process, operation->time, FALSE);
  if (operation->pool == NULL || (row = poolsOf(view, operation->process, operation->pool)) == NULL)
    return;
  poolsTake(row, operation->pool);
  row->resizes += operation->kind == HeapRESIZEPAST;
  row->destroyed |= operation->kind == HeapPOOLDESTROY;
}

static Res poolsCreate(void **viewReturn, ViewWants wants)
{
  ViewClientStruct client = {.heap = {.alloc = poolsAlloc, .free = poolsFree, .resize = poolsResize,
                                      .other = poolsOther}};
  poolsView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->shared = wants->heap;
  view->top = wants->top;
  ViewLabelsInit(&view->labels);
  ArenasInit(&view->arenas, &wants->heap->only, wants->of);
  client.heap.data = view;
  ViewHeapJoin(wants->heap, &client);
  *viewReturn = view;
  return ResOK;
}

static LogRequest poolsRequest(void *view)
{
  return &((poolsView)view)->arenas.request;
}

static void poolsDestroy(void *data)
{
  poolsView view = data;
  Index i;

  for (i = 0; i < view->processes; ++i)
    free(view->process[i].row);
  free(view->process);
  ArenasFinish(&view->arenas);
  ViewLabelsFinish(&view->labels);
  free(view->row);
  free(view);
}

static int poolsCompare(const void *a, const void *b)
{
  const poolsRowStruct *x = *(const poolsRow *)a, *y = *(const poolsRow *)b;

  if (x->sum.peakBytes != y->sum.peakBytes)
    return x->sum.peakBytes > y->sum.peakBytes ? -1 : 1;
  if (x->process != y->process)
    return x->process->number < y->process->number ? -1 : 1;
  return x < y ? -1 : x > y;
}

static Res poolsFinish(void *data)
{
  poolsView view = data;
  Res res = ViewHeapFinish(view->shared);
  Count count = 0;
  Index i, j;

  if (res == ResOK)
    res = ViewLabelsPart(&view->labels, view->shared->log, &view->shared->only);
  for (i = 0; i < view->processes; ++i) {
    if (!HeapEnded(view->shared->heap, i))
      poolsLook(view, i, 0, FALSE);
    count += view->process[i].count;
  }
  view->row = malloc((count + 1) * sizeof *view->row);
  if (view->failed || view->arenas.failed || view->row == NULL)
    return res != ResOK ? res : ResMEMORY;
  for (i = 0; i < view->processes; ++i)
    for (j = 0; j < view->process[i].count; ++j)
      if (view->process[i].row[j].process != NULL)
        view->row[view->rows++] = &view->process[i].row[j];
  qsort(view->row, view->rows, sizeof *view->row, poolsCompare);
  return res;
}

/* Text */

static void poolsAddress(FILE *out, LogProcess process, uint64_t address)
{
  char hex[24];

  (void)snprintf(hex, sizeof hex, "%#llx", (unsigned long long)address);
  fprintf(out, "%-9u%-17s", process->header.pid, hex);
}

/* poolsEnd -- what the program calls the address; the line ends */
static void poolsEnd(FILE *out, poolsView view, LogProcess process, uint64_t address, uint64_t since)
{
  ViewLabelsText(out, &view->labels, process, address, since);
  putc('\n', out);
}

static void poolsArenasText(FILE *out, poolsView view)
{
  Index i;

  if (view->arenas.rows > 0)
    fprintf(out, "%-9s%-17s%12s%12s%12s%12s\n", "process", "arena", "reserved", "peak", "committed", "peak");
  for (i = 0; i < view->arenas.rows && i < view->top; ++i) {
    ArenaRow row = &view->arenas.row[i];
    poolsAddress(out, row->process, row->arena);
    if (!row->created) {
      fputs("    its parent's: not known", out);
      poolsEnd(out, view, row->process, row->arena, row->time);
      continue;
    }
    SayColumn(out, 12, row->reserved);
    SayColumn(out, 12, row->reservedPeak);
    SayColumn(out, 12, row->committed);
    SayColumn(out, 12, row->committedPeak);
    fputs(row->destroyed ? " destroyed" : "", out);
    poolsEnd(out, view, row->process, row->arena, row->time);
  }
  if (view->arenas.rows > view->top)
    fprintf(out, "and %zu other%s (--top)\n", view->arenas.rows - view->top, TextPlural(view->arenas.rows - view->top));
  if (view->arenas.rows > 0)
    putc('\n', out);
}

static void poolsRowText(FILE *out, poolsView view, poolsRow row)
{
  Size length = strlen(row->class);

  poolsAddress(out, row->process, row->pool);
  SayPlain(out, row->class, length);
  fprintf(out, "%*s%10llu", length < 7 ? (int)(7 - length) : 0, "", (unsigned long long)row->sum.objects);
  SayColumn(out, 11, row->sum.bytes);
  SayColumn(out, 11, row->sum.peakBytes);
  SayColumn(out, 11, row->reserved);
  fputs(row->destroyed ? " gone" : "", out);
  poolsEnd(out, view, row->process, row->pool, row->time);
}

static Bool poolsText(FILE *out, void *data)
{
  poolsView view = data;
  Index i;

  poolsArenasText(out, view);
  if (view->rows > 0)
    fprintf(out, "%-9s%-17s%-7s%10s%11s%11s%11s\n", "process", "pool", "class", "objects", "left", "peak", "segments");
  for (i = 0; i < view->rows && i < view->top; ++i)
    poolsRowText(out, view, view->row[i]);
  if (view->rows > view->top)
    fprintf(out, "and %zu other%s (--top)\n", view->rows - view->top, TextPlural(view->rows - view->top));
  if (view->rows > 0)
    putc('\n', out);
  ViewNotesText(out, view->shared, FALSE);
  return TRUE;
}

/* JSON */

static void poolsArenasJson(FILE *out, poolsView view)
{
  Index i;

  fputs("{\"arenas\": [", out);
  for (i = 0; i < view->arenas.rows; ++i) {
    ArenaRow row = &view->arenas.row[i];
    fprintf(out, "%s\n  {\"pid\": %u, \"arena\": \"%#llx\", \"inherited\": %s, \"destroyed\": %s, ", i == 0 ? "" : ",",
            row->process->header.pid, (unsigned long long)row->arena, row->created ? "false" : "true",
            row->destroyed ? "true" : "false");
    fprintf(out, "\"reserved\": %llu, \"reserved_peak\": %llu, \"committed\": %llu, \"committed_peak\": %llu",
            (unsigned long long)row->reserved, (unsigned long long)row->reservedPeak,
            (unsigned long long)row->committed, (unsigned long long)row->committedPeak);
    ViewLabelsJson(out, &view->labels, row->process, row->arena, row->time);
    putc('}', out);
  }
  fputs("],\n ", out);
}

static void poolsRowJson(FILE *out, poolsView view, poolsRow row, uint64_t start)
{
  fprintf(out, "{\"pid\": %u, \"pool\": \"%#llx\", \"arena\": \"%#llx\", \"class\": ", row->process->header.pid,
          (unsigned long long)row->pool, (unsigned long long)row->arena);
  JsonString(out, row->class);
  fprintf(out, ", \"destroyed\": %s, \"allocations\": %llu, \"allocated_bytes\": %llu, \"gone\": %llu, "
          "\"resizes\": %llu,\n   \"left_objects\": %llu, \"left_bytes\": %llu, ", row->destroyed ? "true" : "false",
          (unsigned long long)row->allocs, (unsigned long long)row->allocated, (unsigned long long)row->frees,
          (unsigned long long)row->resizes, (unsigned long long)row->sum.objects, (unsigned long long)row->sum.bytes);
  fprintf(out, "\"peak_objects\": %llu, \"peak_bytes\": %llu, \"peak_at\": %.9f, \"segments\": %llu, "
          "\"segment_bytes\": %llu, \"segment_bytes_peak\": %llu", (unsigned long long)row->sum.peakObjects,
          (unsigned long long)row->sum.peakBytes, DocumentSince(start, row->sum.peakTime),
          (unsigned long long)row->segments, (unsigned long long)row->reserved, (unsigned long long)row->reservedPeak);
  ViewLabelsJson(out, &view->labels, row->process, row->pool, row->time);
  putc('}', out);
}

static Bool poolsJson(FILE *out, void *data)
{
  poolsView view = data;
  LogSummaryStruct log;
  Index i;

  LogSummarize(&log, view->shared->log);
  poolsArenasJson(out, view);
  fputs("\"pools\": [", out);
  for (i = 0; i < view->rows; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    poolsRowJson(out, view, view->row[i], log.first);
  }
  fputs("],\n ", out);
  ViewNotesJson(out, view->shared);
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassPools = {
  "pools", "arenas and pools: objects, peaks, segments, address space (--top)", ViewTakesTOP, poolsCreate, poolsRequest,
  poolsFinish, poolsText, poolsJson, poolsDestroy
};
