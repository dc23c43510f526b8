/* sizes.c -- the view `sizes`: objects by their size, allocated, at the peak and at the end
 *
 * Each size of each process has a number and a row in a book, as sites have: so what lived at the peak is exact, and
 * what a process had at its end is known.  Classes, of the sizes from a power of two to below the next, are sums of
 * sizes.
 *
 * Design: design/view.md .sizes      Tests: test/view/heapviews.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "analyse/viewnotes.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/sitebook.h"
#include "callers/sitenumbers.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"
#include "view/bars.h"
#include "view/viewclasses.h"

enum { sizesClasses = 65, sizesBAR = 12 }; /* class 0 is size 0; class i begins at 2^(i-1) */

typedef struct sizesRowStruct {
  uint64_t size;            /* the least of a class */
  SiteSumStruct allocated, peak, left;
  uint64_t resizes;         /* that ended with it */
} sizesRowStruct, *sizesRow;

typedef struct sizesViewStruct {
  ViewHeap shared;
  Count top;
  Bool failed;
  SiteNumbersStruct numbers; /* code: the size and one; 0: of a size that found no place */
  SiteBookStruct book;
  Count sizes;
  sizesRow size;             /* owned; the most frequent first */
  sizesRowStruct class[sizesClasses], sum;
} sizesViewStruct, *sizesView;

/* sizesNumber -- of a size in a process; 0: there was no memory, now or before.  Then the book lacks what was not
 * entered, and nothing is entered any more. */
static inline uint32_t sizesNumber(sizesView view, Index process, uint64_t size)
{
  uint32_t number = view->failed ? 0 : SiteNumbersOf(&view->numbers, (uint32_t)process, size + 1, FALSE, 0);

  if (UNLIKELY(number == 0) ||
      (UNLIKELY(number >= view->book.count) && SiteBookRoom(&view->book, number + 1) != ResOK)) {
    view->failed = TRUE;
    return 0;
  }
  return number;
}

static void sizesAlloc(void *data, HeapOperation operation)
{
  sizesView view = data;
  uint64_t size = operation->object->size;
  uint32_t number = sizesNumber(view, operation->process, size);

  if (UNLIKELY(number == 0))
    return;
  if (UNLIKELY(operation->told))
    SiteBookTold(&view->book, number, size, operation->time);
  else
    SiteBookAlloc(&view->book, number, size, operation->time);
}

static void sizesFree(void *data, HeapOperation operation)
{
  sizesView view = data;
  uint64_t size = operation->object->size;
  uint32_t number = sizesNumber(view, operation->process, size);

  if (UNLIKELY(number == 0))
    return;
  if (UNLIKELY(operation->told))
    SiteBookUntold(&view->book, number, size);
  else
    SiteBookFree(&view->book, number, size, FALSE);
}

static void sizesResize(void *data, HeapOperation operation)
{
  sizesView view = data;
  uint64_t size = operation->object->size;
  uint32_t from = sizesNumber(view, operation->process, operation->oldSize);
  uint32_t to = sizesNumber(view, operation->process, size);

  if (LIKELY(!view->failed))
    SiteBookResize(&view->book, from, to, operation->oldSize, size, operation->time);
}

/* sizesInherited -- a process has this object from its parent */
static void sizesInherited(void *data, Index process, HeapPool pool, HeapObject object)
{
  sizesView view = data;
  SiteSumStruct one = {.bytes = object->size, .objects = 1};
  uint32_t number = sizesNumber(view, process, object->size);

  UNUSED(pool);
  if (number != 0)
    SiteBookMany(&view->book, number, &one);
}

/* sizesInherits -- a process begins with its parent's objects */
static void sizesInherits(sizesView view, Index process)
{
  HeapLiveObjects(view->shared->heap, process, sizesInherited, view);
}

static void sizesOther(void *data, HeapOperation operation)
{
  sizesView view = data;
  Bool begins = operation->kind == HeapPROCESSBEGIN;
  uint32_t number;

  if (view->failed || (!begins && operation->kind != HeapPROCESSEND))
    return;
  if (begins && !operation->revived)
    sizesInherits(view, operation->process);
  else
    for (number = SiteNumbersFirst(&view->numbers, operation->process); number != 0;
         number = SiteNumbersAt(&view->numbers, number)->next)
      (begins ? SiteBookReturn : SiteBookLeave)(&view->book, number);
  if (begins)
    SiteBookPeak(&view->book, operation->time);
}

static Res sizesCreate(void **viewReturn, ViewWants wants)
{
  ViewClientStruct client = {.heap = {.alloc = sizesAlloc, .free = sizesFree, .resize = sizesResize,
                                      .other = sizesOther}};
  sizesView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->shared = wants->heap;
  view->top = wants->top;
  SiteNumbersInit(&view->numbers);
  if (SiteBookInit(&view->book) != ResOK) {
    free(view);
    return ResMEMORY;
  }
  client.heap.data = view;
  ViewHeapJoin(wants->heap, &client);
  *viewReturn = view;
  return ResOK;
}

static void sizesDestroy(void *data)
{
  sizesView view = data;

  SiteNumbersFinish(&view->numbers);
  SiteBookFinish(&view->book);
  free(view->size);
  free(view);
}

static void sizesAdd(sizesRow to, const sizesRowStruct *row)
{
  SiteSumAdd(&to->allocated, &row->allocated);
  SiteSumAdd(&to->peak, &row->peak);
  SiteSumAdd(&to->left, &row->left);
  to->resizes += row->resizes;
}

static int sizesBySize(const void *a, const void *b)
{
  const sizesRowStruct *x = a, *y = b;

  return x->size < y->size ? -1 : x->size > y->size;
}

static int sizesByCount(const void *a, const void *b)
{
  const sizesRowStruct *x = a, *y = b;

  if (x->allocated.objects != y->allocated.objects)
    return x->allocated.objects > y->allocated.objects ? -1 : 1;
  return sizesBySize(a, b);
}

/* sizesRows -- the rows of all processes' sizes */
static void sizesRows(sizesView view)
{
  uint32_t number;

  for (number = 1; number <= view->numbers.count; ++number) {
    Site site = SiteNumbersAt(&view->numbers, number);
    sizesRowStruct row = {.size = site->code - 1};
    if (number >= view->book.count || site->code == 0)
      continue;
    row.allocated = view->book.row[number].allocated;
    row.peak = SiteBookAtPeak(&view->book, number);
    row.left = SiteBookLeft(&view->book, number);
    row.resizes = view->book.more[number].resizes;
    view->size[view->sizes++] = row;
    sizesAdd(&view->class[row.size == 0 ? 0 : 64 - __builtin_clzll(row.size)], &row);
    sizesAdd(&view->sum, &row);
  }
}

static Res sizesFinish(void *data)
{
  sizesView view = data;
  Res res = ViewHeapFinish(view->shared);
  Count count = 0;
  Index i;

  view->size = malloc((view->numbers.count + 1) * sizeof *view->size);
  if (res != ResOK || view->failed || view->size == NULL)
    return res != ResOK ? res : ResMEMORY;
  for (i = 1; i < sizesClasses; ++i)
    view->class[i].size = 1ull << (i - 1);
  sizesRows(view);
  qsort(view->size, view->sizes, sizeof *view->size, sizesBySize);
  for (i = 0; i < view->sizes; ++i) {
    if (count > 0 && view->size[count - 1].size == view->size[i].size)
      sizesAdd(&view->size[count - 1], &view->size[i]);
    else
      view->size[count++] = view->size[i];
  }
  view->sizes = count;
  qsort(view->size, count, sizeof *view->size, sizesByCount);
  return ResOK;
}

/* Text */

static Bool sizesAny(const sizesRowStruct *row)
{
  return row->allocated.objects + row->resizes + row->peak.objects + row->left.objects > 0;
}

static void sizesLine(FILE *out, sizesView view, const sizesRowStruct *row)
{
  uint64_t all = view->sum.allocated.objects;

  fprintf(out, "%11llu %5.1f%%", (unsigned long long)row->allocated.objects,
          all == 0 ? 0 : 100.0 * (double)row->allocated.objects / (double)all);
  SayColumn(out, 11, row->allocated.bytes);
  SayColumn(out, 11, row->peak.bytes);
  SayColumn(out, 11, row->left.bytes);
}

static void sizesHead(FILE *out, const char *what)
{
  fprintf(out, "%-14s%11s %6s%11s%11s%11s\n", what, "count", "share", "allocated", "at peak", "left");
}

static void sizesClassesText(FILE *out, sizesView view)
{
  uint64_t most = 0;
  char name[SayShortMAX];
  Index i;

  for (i = 0; i < sizesClasses; ++i)
    most = view->class[i].allocated.objects > most ? view->class[i].allocated.objects : most;
  for (i = 0; i < sizesClasses; ++i) {
    sizesRow row = &view->class[i];
    if (!sizesAny(row))
      continue;
    fprintf(out, "%-14s", i == 0 ? "0 bytes" : SayShortly(name, row->size));
    sizesLine(out, view, row);
    putc(' ', out);
    BarsAcross(out, row->allocated.objects, most, sizesBAR);
    putc('\n', out);
  }
}

static Bool sizesText(FILE *out, void *data)
{
  sizesView view = data;
  LogSummaryStruct log;
  Index i;

  LogSummarize(&log, view->shared->log);
  if (view->sizes > 0) {
    sizesHead(out, "from");
    sizesClassesText(out, view);
    fprintf(out, "%-14s", "all");
    sizesLine(out, view, &view->sum);
    putc('\n', out);
    putc('\n', out);
    sizesHead(out, "size");
  }
  for (i = 0; i < view->sizes && i < view->top; ++i) {
    fprintf(out, "%-14llu", (unsigned long long)view->size[i].size);
    sizesLine(out, view, &view->size[i]);
    putc('\n', out);
  }
  if (view->sizes > view->top)
    fprintf(out, "and %zu other size%s (--top)\n", view->sizes - view->top, TextPlural(view->sizes - view->top));
  if (view->sizes > 0)
    fprintf(out, "\npeak           at %.9f s\n", DocumentSince(log.first, view->book.peakTime));
  if (view->numbers.more > 0)
    fprintf(out, "too many       sizes: %zu operations are not here\n", view->numbers.more);
  ViewNotesText(out, view->shared, FALSE);
  return TRUE;
}

/* JSON */

static void sizesMembers(FILE *out, const sizesRowStruct *row)
{
  fprintf(out, "\"allocations\": %llu, \"allocated_bytes\": %llu, \"resizes\": %llu, \"peak_objects\": %llu, "
          "\"peak_bytes\": %llu, \"left_objects\": %llu, \"left_bytes\": %llu",
          (unsigned long long)row->allocated.objects, (unsigned long long)row->allocated.bytes,
          (unsigned long long)row->resizes, (unsigned long long)row->peak.objects, (unsigned long long)row->peak.bytes,
          (unsigned long long)row->left.objects, (unsigned long long)row->left.bytes);
}

static void sizesRowsJson(FILE *out, const char *name, const char *key, const sizesRowStruct *row, Count count)
{
  Bool first = TRUE;
  Index i;

  fprintf(out, ",\n \"%s\": [", name);
  for (i = 0; i < count; ++i) {
    if (!sizesAny(&row[i]))
      continue;
    fprintf(out, "%s\n  {\"%s\": %llu, ", first ? "" : ",", key, (unsigned long long)row[i].size);
    first = FALSE;
    sizesMembers(out, &row[i]);
    putc('}', out);
  }
  putc(']', out);
}

static Bool sizesJson(FILE *out, void *data)
{
  sizesView view = data;
  LogSummaryStruct log;

  LogSummarize(&log, view->shared->log);
  putc('{', out);
  sizesMembers(out, &view->sum);
  fprintf(out, ", \"peak_at\": %.9f, \"sizes_left_out\": %zu,\n ", DocumentSince(log.first, view->book.peakTime),
          view->numbers.more);
  ViewNotesJson(out, view->shared);
  sizesRowsJson(out, "classes", "from", view->class, sizesClasses);
  sizesRowsJson(out, "sizes", "size", view->size, view->sizes < view->top ? view->sizes : view->top);
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassSizes = {
  "sizes", "objects by size, allocated, at the peak and left (--top)", ViewTakesTOP, sizesCreate, NULL, sizesFinish,
  sizesText, sizesJson, sizesDestroy
};
