/* reportlives.c -- how long objects lived that went, by slice of time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .lives      Tests: test/report/report.t
 */
#include "report/reportlives.h"

enum { livesOBJECTS, livesBYTES, livesFIELDS };

static const SeriesFieldStruct livesFields[livesFIELDS] = {{"objects", SeriesSUM}, {"bytes", SeriesSUM}};

static void livesAlloc(void *data, HeapOperation operation)
{
  UNUSED(data);
  operation->object->client = !operation->told;
}

static void livesFree(void *data, HeapOperation operation)
{
  Lives lives = data;
  const HeapObjectStruct *object = operation->object;
  uint64_t us = operation->time > object->time ? (operation->time - object->time) / 1000 : 0;
  int64_t *cell;
  Index row;

  if (operation->told || object->client == 0 ||
      (lives->of != NULL && OfProcessBefore(lives->of, operation->process)))
    return;
  for (row = 0; us > 0; us /= 10)
    ++row;
  cell = SeriesAt(&lives->table, row, ReportSlice(lives->span, operation->time));
  ++cell[livesOBJECTS];
  cell[livesBYTES] += object->size;
}

static Bool livesEvent(LogRequest request, LogEvent event)
{
  HeapEvent(((Lives)request->data)->heap, event);
  return FALSE;
}

Res LivesInit(Lives lives, ReportSpan span, Log log, const LogRequestStruct *only, OfProcess of)
{
  HeapClientStruct client = {.data = lives, .alloc = livesAlloc, .free = livesFree, .resize = HeapIgnore,
                             .other = HeapIgnore};

  *lives = (LivesStruct){.span = span, .of = of, .request = *only};
  HeapChoose(&lives->request, only);
  lives->request.data = lives;
  lives->request.event = livesEvent;
  if (SeriesTableInit(&lives->table, livesFields, livesFIELDS, LivesROWS, span->slices) != ResOK ||
      HeapCreate(&lives->heap, &client, log) != ResOK)
    return ResMEMORY;
  HeapOf(lives->heap, of);
  return ResOK;
}

void LivesFinish(Lives lives)
{
  if (lives->heap != NULL)
    HeapDestroy(lives->heap);
  SeriesTableFinish(&lives->table);
}

Res LivesEnd(Lives lives)
{
  HeapUntil(lives->heap, UINT64_MAX);
  return HeapSettle(lives->heap);
}

Size LivesJson(FILE *out, Lives lives, Bool *failed)
{
  Size size;
  Index i;

  fputs(",\n \"bylife\": ", out);
  size = SeriesPacked(out, &lives->table, LivesROWS - 1, failed);
  fputs(",\n \"lifetimes\": [0", out);
  for (i = 1; i < LivesROWS; ++i)
    fprintf(out, ", 1e%zu", i + 2);
  putc(']', out);
  return size;
}
