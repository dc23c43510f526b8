/* reportheap.c -- the heap of a report over time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .heap      Tests: test/report/report.t, test/report/agree.t
 */
#include "report/reportheap.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"

static const SeriesFieldStruct heapFields[TotalFIELDS] = {
  [TotalLIVE] = {"live_end", SeriesEND}, [TotalLIVEPEAK] = {"live_peak", SeriesMOST},
  [TotalOBJECTS] = {"objects_end", SeriesEND}, [TotalOBJECTSPEAK] = {"objects_peak", SeriesPEAK},
  [TotalPEAKAT] = {"peak_at", SeriesPEAK}, [TotalALLOCS] = {"allocs", SeriesSUM},
  [TotalALLOCBYTES] = {"alloc_bytes", SeriesSUM}, [TotalFREES] = {"frees", SeriesSUM},
  [TotalFREEBYTES] = {"free_bytes", SeriesSUM}, [TotalRESIZES] = {"resizes", SeriesSUM},
  [TotalTEMPORARY] = {"temporary_objects", SeriesSUM}, [TotalTEMPORARYBYTES] = {"temporary_bytes", SeriesSUM},
  [TotalENDED] = {"ended_objects", SeriesSUM}, [TotalENDEDBYTES] = {"ended_bytes", SeriesSUM},
  [TotalMAPPED] = {"mapped_end", SeriesEND}, [TotalMAPPEDPEAK] = {"mapped_peak", SeriesMOST},
  [TotalRESIDENT] = {"resident_end", SeriesEND}, [TotalRESIDENTPEAK] = {"resident_peak", SeriesMOST},
};

/* ---- Slices ---- */

static inline int64_t *heapTotal(ReportHeap heap)
{
  return SeriesAt(&heap->total, 0, heap->time.slice);
}

/* heapClose -- the slice is over: what there was at its end, and at its peak */
static void heapClose(ReportHeap heap)
{
  BookTime time = &heap->time;
  uint64_t begin = heap->span->from + time->slice * heap->span->slice;
  int64_t *total = heapTotal(heap);
  Index i;

  for (i = 0; i < ReportBOOKS; ++i)
    BookClose(&heap->book[i]);
  total[TotalLIVE] = time->bytes;
  total[TotalOBJECTS] = time->objects;
  total[TotalLIVEPEAK] = time->mostBytes;
  total[TotalOBJECTSPEAK] = time->mostObjects;
  total[TotalPEAKAT] = time->mostTime > begin ? (int64_t)(time->mostTime - begin) : 0;
}

/* heapOpen -- a slice begins with what lives */
static void heapOpen(ReportHeap heap)
{
  BookTime time = &heap->time;

  time->mostBytes = time->bytes;
  time->mostObjects = time->objects;
  time->mostTime = 0;
  ++time->stamp;
}

/* heapTo -- the slice that an operation is in; one that comes late counts in the slice that is open */
static inline int64_t *heapTo(ReportHeap heap, uint64_t time)
{
  Index slice = ReportSlice(heap->span, time);

  while (UNLIKELY(heap->time.slice < slice)) {
    heapClose(heap);
    ++heap->time.slice;
    heapOpen(heap);
  }
  return heapTotal(heap);
}

/* heapPeak -- all that an operation changes is changed: is it a peak? */
static inline void heapPeak(ReportHeap heap, uint64_t at)
{
  BookTime time = &heap->time;

  if (time->bytes <= time->mostBytes)
    return;
  time->mostBytes = time->bytes;
  time->mostObjects = time->objects;
  time->mostTime = at;
  ++time->stamp;
}

/* ---- Rows ---- */

/* heapProcess -- what a process has in each row; NULL: no memory */
static SiteSum heapProcess(ReportHeap heap, Index process)
{
  if (!GrowTo(&heap->process, &heap->processes, process, sizeof *heap->process))
    return NULL;
  if (heap->process[process].sums == NULL)
    heap->process[process].sums = calloc(heap->base[ReportBOOKS], sizeof *heap->process->sums);
  return heap->process[process].sums;
}

static inline SiteSum heapOfProcess(ReportHeap heap, Index process)
{
  SiteSum sums = LIKELY(process < heap->processes) ? heap->process[process].sums : NULL;

  if (UNLIKELY(sums == NULL) && (sums = heapProcess(heap, process)) == NULL)
    heap->failed = TRUE;
  return sums;
}

/* heapSiteLook -- the row of a site that is met for the first time */
static Index heapSiteLook(ReportHeap heap, uint32_t number)
{
  Index row = RowsOf(heap->rows, SiteNumbersAt(&heap->shared->numbers, number));

  if (!GrowTo(&heap->rowOf, &heap->numbers, number, sizeof *heap->rowOf)) {
    heap->failed = TRUE;
    return row;
  }
  heap->rowOf[number] = (uint32_t)row + 1;
  return row;
}

static inline Index heapSite(ReportHeap heap, uint32_t number)
{
  return LIKELY(number < heap->numbers && heap->rowOf[number] != 0) ? heap->rowOf[number] - 1u
         : heapSiteLook(heap, number);
}

static inline Index heapSize(uint64_t size)
{
  return size == 0 ? 0 : 64u - (unsigned)__builtin_clzll(size);
}

/* heapPool -- the row of a pool; those that come when all rows are taken are `other` */
static Index heapPool(ReportHeap heap, Index process, HeapPool pool)
{
  ReportPool own = &heap->pool[heap->poolLast];
  Index i;

  if (LIKELY(heap->poolLast < heap->pools && own->process == process && own->pool == pool->number))
    return heap->poolLast;
  for (i = 0; i < heap->pools; ++i)
    if (heap->pool[i].process == process && heap->pool[i].pool == pool->number)
      return heap->poolLast = i;
  if (heap->pools == ARRAY_LENGTH(heap->pool))
    return ReportPOOLS - 1;
  own = &heap->pool[heap->pools];
  own->process = (uint32_t)process;
  own->pool = pool->number;
  own->addr = pool->addr;
  own->time = pool->time;
  memcpy(own->class, pool->class, sizeof own->class);
  return heap->poolLast = heap->pools++;
}

/* heapIn, heapOut -- objects of a process come to a row of a book, or leave it; its numbers in the slice */
static inline int64_t *heapIn(ReportHeap heap, SiteSum sums, ReportBookKind book, Index row, uint64_t objects,
                              uint64_t bytes)
{
  sums[heap->base[book] + row].objects += objects;
  sums[heap->base[book] + row].bytes += bytes;
  return BookIn(&heap->book[book], row, objects, bytes);
}

static inline int64_t *heapOut(ReportHeap heap, SiteSum sums, ReportBookKind book, Index row, uint64_t objects,
                               uint64_t bytes)
{
  sums[heap->base[book] + row].objects -= objects;
  sums[heap->base[book] + row].bytes -= bytes;
  return BookOut(&heap->book[book], row, objects, bytes);
}

/* heapProcessAll -- all that a process has in all rows leaves them, or comes again */
static void heapProcessAll(ReportHeap heap, SiteSum sums, Bool comes)
{
  int64_t *total = heapTotal(heap), *cell;
  Index book, row;

  for (book = 0; book < ReportBOOKS; ++book)
    for (row = 0; row < heap->book[book].table.rows; ++row) {
      SiteSum sum = &sums[heap->base[book] + row];
      if (sum->objects == 0 && sum->bytes == 0)
        continue;
      cell = (comes ? BookIn : BookOut)(&heap->book[book], row, sum->objects, sum->bytes);
      cell[BookENDEDOBJECTS] += (comes ? -1 : 1) * (int64_t)sum->objects;
      cell[BookENDEDBYTES] += (comes ? -1 : 1) * (int64_t)sum->bytes;
      if (book != ReportBYSITE)
        continue;
      heap->time.objects += (comes ? 1 : -1) * (int64_t)sum->objects;
      heap->time.bytes += (comes ? 1 : -1) * (int64_t)sum->bytes;
      total[TotalENDED] += (comes ? -1 : 1) * (int64_t)sum->objects;
      total[TotalENDEDBYTES] += (comes ? -1 : 1) * (int64_t)sum->bytes;
    }
}

/* heapKept -- is the process kept?
 * heapKeep -- it is from now on, or is not any more */
static Bool heapKept(ReportHeap heap, Index process)
{
  return process < heap->processes && heap->process[process].kept;
}

static void heapKeep(ReportHeap heap, Index process, Bool keeps)
{
  heap->keeps = heap->keeps - heap->process[process].kept + keeps;
  heap->process[process].kept = keeps;
}

/* heapLeaves -- a process does something: what is kept does not count as living any more
 * heapBegin -- an operation of a process begins; the totals of its slice */
static void heapLeaves(ReportHeap heap, uint64_t time)
{
  Index i;

  (void)heapTo(heap, time);
  for (i = 0; i < heap->processes; ++i)
    if (heap->process[i].kept) {
      heapKeep(heap, i, FALSE);
      heapProcessAll(heap, heap->process[i].sums, FALSE);
    }
}

static inline int64_t *heapBegin(ReportHeap heap, HeapOperation operation)
{
  if (UNLIKELY(heap->keeps > 0) && !heapKept(heap, operation->process))
    heapLeaves(heap, operation->time);
  return heapTo(heap, operation->time);
}

/* ---- Operations ---- */

static void heapAlloc(void *data, HeapOperation operation)
{
  ReportHeap heap = data;
  uint64_t size = operation->object->size;
  Index row[ReportBOOKS] = {heapSite(heap, operation->object->client), heapSize(size),
                            heapPool(heap, operation->process, operation->pool)};
  int64_t *total = heapBegin(heap, operation), *cell;
  SiteSum sums = heapOfProcess(heap, operation->process);
  Index i;

  if (UNLIKELY(sums == NULL))
    return;
  for (i = 0; i < ReportBOOKS; ++i) {
    cell = heapIn(heap, sums, i, row[i], 1, size);
    cell[BookALLOCS] += !operation->told;
    cell[BookALLOCBYTES] += operation->told ? 0 : (int64_t)size;
  }
  ++heap->time.objects;
  heap->time.bytes += (int64_t)size;
  heapPeak(heap, operation->time);
  total[TotalRESIZES] += operation->resized;
  if (UNLIKELY(operation->told))
    return;
  ++total[TotalALLOCS];
  total[TotalALLOCBYTES] += (int64_t)size;
  (void)TemporariesDid(&heap->temporaries, operation, TRUE);
}

static void heapFree(void *data, HeapOperation operation)
{
  ReportHeap heap = data;
  uint64_t size = operation->object->size;
  Index row[ReportBOOKS] = {heapSite(heap, operation->object->client), heapSize(size),
                            heapPool(heap, operation->process, operation->pool)};
  int64_t *total = heapBegin(heap, operation), *cell;
  SiteSum sums = heapOfProcess(heap, operation->process);
  Bool event = !operation->told && !operation->presumed && !operation->destroyed, temporary;
  Index i;

  if (UNLIKELY(sums == NULL))
    return;
  temporary = event && TemporariesDid(&heap->temporaries, operation, FALSE);
  for (i = 0; i < ReportBOOKS; ++i) {
    cell = heapOut(heap, sums, i, row[i], 1, size);
    cell[BookTEMPORARY] += temporary;
  }
  --heap->time.objects;
  heap->time.bytes -= (int64_t)size;
  total[TotalFREES] += event;
  total[TotalFREEBYTES] += event ? (int64_t)size : 0;
  total[TotalTEMPORARY] += temporary;
  total[TotalTEMPORARYBYTES] += temporary ? (int64_t)size : 0;
}

static void heapResize(void *data, HeapOperation operation)
{
  ReportHeap heap = data;
  uint64_t old = operation->oldSize, size = operation->object->size;
  Index pool = heapPool(heap, operation->process, operation->pool), i;
  Index from[ReportBOOKS] = {heapSite(heap, operation->object->client), heapSize(old), pool};
  Index to[ReportBOOKS] = {heapSite(heap, operation->mark), heapSize(size), pool};
  int64_t *total = heapBegin(heap, operation), *cell;
  SiteSum sums = heapOfProcess(heap, operation->process);

  if (UNLIKELY(sums == NULL))
    return;
  (void)TemporariesDid(&heap->temporaries, operation, FALSE);
  for (i = 0; i < ReportBOOKS; ++i) {
    (void)heapOut(heap, sums, i, from[i], 1, old);
    cell = heapIn(heap, sums, i, to[i], 1, size);
    ++cell[BookRESIZES];
    cell[BookALLOCBYTES] += size > old ? (int64_t)(size - old) : 0;
  }
  heap->time.bytes += (int64_t)size - (int64_t)old;
  heapPeak(heap, operation->time);
  ++total[TotalRESIZES];
  total[TotalALLOCBYTES] += size > old ? (int64_t)(size - old) : 0;
  total[TotalFREEBYTES] += size < old ? (int64_t)(old - size) : 0;
}

/* heapInherited -- a process has this object from its parent */
static void heapInherited(void *data, Index process, HeapPool pool, HeapObject object)
{
  ReportHeap heap = data;
  SiteSum sums = heapOfProcess(heap, process);
  uint32_t number = ViewHeapSite(heap->shared, process, object);

  if (sums == NULL || number == 0) {
    heap->failed = TRUE;
    return;
  }
  (void)heapIn(heap, sums, ReportBYSITE, heapSite(heap, number), 1, object->size);
  (void)heapIn(heap, sums, ReportBYSIZE, heapSize(object->size), 1, object->size);
  (void)heapIn(heap, sums, ReportBYPOOL, heapPool(heap, process, pool), 1, object->size);
  ++heap->time.objects;
  heap->time.bytes += object->size;
}

/* heapProcessBegins -- a process has objects from its parent, or lives after all */
static void heapProcessBegins(ReportHeap heap, HeapOperation operation, SiteSum sums)
{
  if (!operation->revived)
    HeapLiveObjects(heap->shared->heap, operation->process, heapInherited, heap);
  else if (!heapKept(heap, operation->process))
    heapProcessAll(heap, sums, TRUE);
  heapKeep(heap, operation->process, FALSE);
  heapPeak(heap, operation->time);
}

/* heapProcessEnds -- its objects leave, unless they are what is shown while no process lives; these may also be those
 * of some that ended before, and come again then */
static void heapProcessEnds(ReportHeap heap, HeapOperation operation, SiteSum sums)
{
  Heap shown = heap->shared->heap;
  Index i, ending = operation->process;

  FootprintEnd(heap->footprint, ending);
  if (HeapLiving(shown) > 1 || !HeapKeeps(shown, ending, ending))
    heapProcessAll(heap, sums, FALSE);
  if (HeapLiving(shown) > 1)
    return;
  for (i = 0; i < heap->processes; ++i)
    if (heap->process[i].sums != NULL && !heap->process[i].kept && HeapKeeps(shown, ending, i)) {
      heapKeep(heap, i, TRUE);
      if (i != ending)
        heapProcessAll(heap, heap->process[i].sums, TRUE);
    }
  heapPeak(heap, operation->time);
}

/* heapResizedPast -- an object that has gone had been resized before */
static void heapResizedPast(ReportHeap heap, HeapOperation operation)
{
  ++heapBegin(heap, operation)[TotalRESIZES];
  ++bookChange(&heap->book[ReportBYPOOL], heapPool(heap, operation->process, operation->pool))[BookRESIZES];
}

static void heapOther(void *data, HeapOperation operation)
{
  ReportHeap heap = data;
  SiteSum sums;

  if (operation->kind == HeapRESIZEPAST)
    heapResizedPast(heap, operation);
  if (operation->kind != HeapPROCESSBEGIN && operation->kind != HeapPROCESSEND)
    return;
  (void)heapBegin(heap, operation);
  sums = heapOfProcess(heap, operation->process);
  if (sums == NULL)
    return;
  if (operation->kind == HeapPROCESSBEGIN)
    heapProcessBegins(heap, operation, sums);
  else
    heapProcessEnds(heap, operation, sums);
}

/* ---- Mapped and resident bytes ---- */

static void heapNow(ReportHeap heap, ReportTotal end, ReportTotal most, FootprintKind kind)
{
  int64_t *total = SeriesAt(&heap->total, 0, heap->memory), now = (int64_t)FootprintNow(heap->footprint, kind);

  total[end] = now;
  if (now > total[most])
    total[most] = now;
}

/* heapMemoryTo -- slices up to `slice` begin with what those before ended with */
static void heapMemoryTo(ReportHeap heap, Index slice)
{
  while (heap->memory < slice) {
    const int64_t *before = SeriesAt(&heap->total, 0, heap->memory);
    int64_t *total = SeriesAt(&heap->total, 0, ++heap->memory);
    total[TotalMAPPED] = total[TotalMAPPEDPEAK] = before[TotalMAPPED];
    total[TotalRESIDENT] = total[TotalRESIDENTPEAK] = before[TotalRESIDENT];
  }
}

static void heapEvent(void *data, LogEvent event)
{
  ReportHeap heap = data;

  if (UNLIKELY(heap->of != NULL) && OfProcessBefore(heap->of, event->process->number))
    return;
  heapMemoryTo(heap, ReportSlice(heap->span, event->time));
  FootprintEvent(heap->footprint, event);
  heapNow(heap, TotalMAPPED, TotalMAPPEDPEAK, FootprintMAPPED);
  heapNow(heap, TotalRESIDENT, TotalRESIDENTPEAK, FootprintRESIDENT);
}

/* heapUnknown -- no event said so: -1 in all slices */
static void heapUnknown(ReportHeap heap, ReportTotal end, ReportTotal most, FootprintKind kind)
{
  Index i;

  for (i = 0; i < heap->total.slices && !FootprintBytesOf(heap->footprint, kind, NULL).known; ++i)
    SeriesAt(&heap->total, 0, i)[end] = SeriesAt(&heap->total, 0, i)[most] = -1;
}

/* ---- The pass ---- */

Res ReportHeapInit(ReportHeap heap, ViewHeap shared, Rows rows, ReportSpan span, OfProcess of, Log log)
{
  const Count count[ReportBOOKS] = {rows->rows, ReportSIZES, ReportPOOLS};
  ViewClientStruct client = {.heap = {.data = heap, .alloc = heapAlloc, .free = heapFree, .resize = heapResize,
                                      .other = heapOther}, .event = heapEvent};
  Res res;
  Index i;

  *heap = (ReportHeapStruct){.span = span, .rows = rows, .shared = shared, .of = of};
  heap->time.stamp = 1;
  res = SeriesTableInit(&heap->total, heapFields, TotalFIELDS, 1, span->slices);
  for (i = 0; i < ReportBOOKS; ++i) {
    if (BookInit(&heap->book[i], &heap->time, count[i], span->slices) != ResOK)
      res = ResMEMORY;
    heap->base[i + 1] = heap->base[i] + count[i];
  }
  if (FootprintCreate(&heap->footprint, log) != ResOK)
    res = ResMEMORY;
  if (res == ResOK)
    ViewHeapJoin(shared, &client);
  return res;
}

void ReportHeapFinish(ReportHeap heap)
{
  Index i;

  for (i = 0; i < ReportBOOKS; ++i)
    BookFinish(&heap->book[i]);
  for (i = 0; i < heap->processes; ++i)
    free(heap->process[i].sums);
  free(heap->process);
  free(heap->rowOf);
  SeriesTableFinish(&heap->total);
  TemporariesFinish(&heap->temporaries);
  if (heap->footprint != NULL)
    FootprintDestroy(heap->footprint);
}

Res ReportHeapEnd(ReportHeap heap)
{
  Res res;

  (void)heapTo(heap, UINT64_MAX);
  heapClose(heap);
  heapMemoryTo(heap, heap->span->slices - 1);
  res = FootprintFinish(heap->footprint);
  heapUnknown(heap, TotalMAPPED, TotalMAPPEDPEAK, FootprintMAPPED);
  heapUnknown(heap, TotalRESIDENT, TotalRESIDENTPEAK, FootprintRESIDENT);
  return res != ResOK ? res : heap->failed || heap->temporaries.failed ? ResMEMORY : ResOK;
}

void ReportHeapHalve(ReportHeap heap, Bool *firstReturn)
{
  Index i;

  for (i = 0; i + 1 < heap->total.slices; i += 2) {
    int64_t *a = SeriesAt(&heap->total, 0, i), *b = SeriesAt(&heap->total, 0, i + 1);
    firstReturn[i / 2] = a[TotalLIVEPEAK] >= b[TotalLIVEPEAK];
    b[TotalPEAKAT] += (int64_t)heap->span->slice;
  }
  for (i = 0; i < ReportBOOKS; ++i)
    BookHalve(&heap->book[i], firstReturn);
  SeriesHalve(&heap->total, firstReturn);
}

/* heapPoolsJson -- print the pools: the rows of bypool */
static void heapPoolsJson(FILE *out, ReportHeap heap, ViewLabels labels)
{
  Index i;

  fputs(",\n \"pools\": [", out);
  for (i = 0; i < heap->pools; ++i) {
    ReportPool pool = &heap->pool[i];
    LogProcess process = LogProcessAt(heap->shared->log, pool->process);
    fprintf(out, "{\"pid\": %u, \"pool\": \"%#llx\", \"class\": ", process->header.pid, (unsigned long long)pool->addr);
    JsonString(out, pool->class);
    ViewLabelsJson(out, labels, process, pool->addr, pool->time);
    fputs("}, ", out);
  }
  fputs("{\"other\": true}]", out);
}

Size ReportHeapJson(FILE *out, ReportHeap heap, ViewLabels labels, Bool *failed)
{
  static const char *const name[ReportBOOKS] = {"bysite", "bysize", "bypool"};
  Size size = 0;
  Index i;

  fputs(" \"total\": {", out);
  SeriesLines(out, &heap->total, failed);
  putc('}', out);
  for (i = 0; i < ReportBOOKS; ++i) {
    fprintf(out, ",\n \"%s\": ", name[i]);
    size += SeriesPacked(out, &heap->book[i].table, i == ReportBYPOOL ? heap->pools : heap->book[i].table.rows - 1,
                         failed);
  }
  fputs(",\n \"sizes\": [0", out);
  for (i = 1; i < ReportSIZES; ++i)
    fprintf(out, ", %llu", 1ull << (i - 1));
  putc(']', out);
  heapPoolsJson(out, heap, labels);
  return size;
}
