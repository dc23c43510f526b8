/* lifetimes.c -- the view `lifetimes`: how long objects lived, in time and in bytes that were allocated meanwhile
 *
 * The clock of bytes is that of all processes together: what was asked for, and what resizes added.  An object keeps 30
 * bits of the clock at its birth, and one bit that tells which of two neighbouring rounds of these bits it was; the
 * round itself is known from the time of its birth.  So this view has a heap of its own, and no memory for each object
 * besides.
 *
 * Design: design/view.md .lifetimes      Tests: test/view/heapviews.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "heap/temporaries.h"
#include "analyse/viewnotes.h"
#include "base/aver.h"
#include "base/grow.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/sitebook.h"
#include "export/jsondocument.h"
#include "heap/switchedoff.h"
#include "view/bars.h"
#include "view/viewclasses.h"

enum {
  lifetimesTIMES = 21,      /* less than 1 us, and decades from there */
  lifetimesMEANWHILE = 33,  /* no byte, and powers of four from 1 on */
  lifetimesLOW = 30,        /* bits of the clock in an object; */
  lifetimesROUNDS = 1 << 24, /* rounds of these that are remembered: births in later ones are not known */
  lifetimesBAR = 24
};

/* From `time` on the clock has these bits above the low ones. */
typedef struct lifetimesRoundStruct {
  uint64_t time, high;
} lifetimesRoundStruct, *lifetimesRound;

typedef struct lifetimesViewStruct {
  Log log;
  OfProcess of;
  Heap heap;
  LogRequestStruct request;
  TemporariesStruct temporaries;
  Bool failed;
  uint64_t clock;
  Count rounds, capacity;
  lifetimesRound round;     /* owned */
  Bool over;                /* there were more than are remembered */
  HeapSumStruct live;       /* `bytes`, `objects`: now, and then left at the end */
  SiteSumStruct left;       /* in processes when they ended */
  SiteSumStruct gone, temporary, presumed; /* objects whose lifetime is known; of these; and those without a free */
  SiteSumStruct older;      /* that went, and whose birth is not known */
  SiteSumStruct time[lifetimesTIMES], meanwhile[lifetimesMEANWHILE];
  double sum;               /* ns, of all that are gone */
} lifetimesViewStruct, *lifetimesView;

static void lifetimesCount(SiteSum sum, uint64_t bytes)
{
  ++sum->objects;
  sum->bytes += bytes;
}

/* The clock */

static void lifetimesTick(lifetimesView view, uint64_t bytes, uint64_t time)
{
  uint64_t high = (view->clock + bytes) >> lifetimesLOW;

  view->clock += bytes;
  if (LIKELY(view->rounds > 0 && view->round[view->rounds - 1].high == high))
    return;
  if (view->rounds >= lifetimesROUNDS)
    view->over = TRUE;
  else if (!Grow(&view->round, &view->capacity, view->rounds, sizeof *view->round))
    view->failed = TRUE;
  else
    view->round[view->rounds++] = (lifetimesRoundStruct){time, high};
}

/* lifetimesBirth -- what an object keeps of the clock; 0: its birth is not known */
static uint32_t lifetimesBirth(lifetimesView view)
{
  if (UNLIKELY(view->over))
    return 0;
  return 1 + ((uint32_t)(view->clock & ((1u << lifetimesLOW) - 1)) | (uint32_t)(view->rounds & 1) << lifetimesLOW);
}

/* lifetimesMeanwhile -- bytes since the object's birth */
static uint64_t lifetimesMeanwhile(lifetimesView view, const HeapObjectStruct *object)
{
  uint32_t birth = object->client - 1;
  Index i = view->rounds;
  uint64_t then;

  while (i > 1 && view->round[i - 1].time > object->time)
    --i;
  /* Times of different processes may be in the wrong order by a moment. */
  if (((uint32_t)i & 1) != birth >> lifetimesLOW)
    i = i < view->rounds && (i == 1 || view->round[i].time - object->time < object->time - view->round[i - 1].time)
      ? i + 1 : i - 1;
  if (i == 0)
    return 0;
  then = view->round[i - 1].high << lifetimesLOW | (birth & ((1u << lifetimesLOW) - 1));
  return view->clock > then ? view->clock - then : 0;
}

/* Operations */

static Bool lifetimesMine(lifetimesView view, HeapOperation operation)
{
  return LIKELY(view->of == NULL) || !OfProcessBefore(view->of, operation->process);
}

static void lifetimesAlloc(void *data, HeapOperation operation)
{
  lifetimesView view = data;

  if (LIKELY(!operation->told)) {
    lifetimesTick(view, operation->object->size, operation->time);
    operation->object->client = lifetimesBirth(view);
  }
  if (!lifetimesMine(view, operation))
    return;
  if (!operation->told)
    (void)TemporariesDid(&view->temporaries, operation, TRUE);
  HeapSumTell(&view->live, operation);
}

static Index lifetimesTimeClass(uint64_t ns)
{
  uint64_t us = ns / 1000;
  Index class;

  for (class = 0; us > 0; us /= 10)
    ++class;
  return class;
}

static void lifetimesFree(void *data, HeapOperation operation)
{
  lifetimesView view = data;
  const HeapObjectStruct *object = operation->object;
  uint64_t time, meanwhile, size = object->size;

  if (!lifetimesMine(view, operation))
    return;
  HeapSumTell(&view->live, operation);
  if (UNLIKELY(operation->told))
    return; /* it was taken for older than the recording, but its allocation comes now: nothing has ended */
  if (!operation->presumed && !operation->destroyed && TemporariesDid(&view->temporaries, operation, FALSE))
    lifetimesCount(&view->temporary, size);
  if (UNLIKELY(object->client == 0)) {
    lifetimesCount(&view->older, size);
    return;
  }
  if (UNLIKELY(operation->presumed))
    lifetimesCount(&view->presumed, size);
  time = operation->time > object->time ? operation->time - object->time : 0;
  meanwhile = lifetimesMeanwhile(view, object);
  lifetimesCount(&view->gone, size);
  lifetimesCount(&view->time[lifetimesTimeClass(time)], size);
  lifetimesCount(&view->meanwhile[meanwhile == 0 ? 0 : 1 + (63 - __builtin_clzll(meanwhile)) / 2], size);
  view->sum += (double)time;
}

static void lifetimesResize(void *data, HeapOperation operation)
{
  lifetimesView view = data;
  uint64_t size = operation->object->size;

  if (size > operation->oldSize)
    lifetimesTick(view, size - operation->oldSize, operation->time);
  if (!lifetimesMine(view, operation))
    return;
  (void)TemporariesDid(&view->temporaries, operation, FALSE);
  HeapSumTell(&view->live, operation);
}

static void lifetimesOther(void *data, HeapOperation operation)
{
  lifetimesView view = data;

  if (!lifetimesMine(view, operation))
    return;
  HeapSumTell(&view->live, operation);
  if (operation->kind == HeapPROCESSEND || (operation->kind == HeapPROCESSBEGIN && operation->revived)) {
    view->left.objects += operation->kind == HeapPROCESSEND ? operation->objects : 0 - operation->objects;
    view->left.bytes += operation->kind == HeapPROCESSEND ? operation->bytes : 0 - operation->bytes;
  }
}

/* The view */

static Bool lifetimesEvent(LogRequest request, LogEvent event)
{
  lifetimesView view = request->data;

  HeapEvent(view->heap, event);
  return view->failed;
}

static void lifetimesDestroy(void *data)
{
  lifetimesView view = data;

  if (view->heap != NULL)
    HeapDestroy(view->heap);
  TemporariesFinish(&view->temporaries);
  free(view->round);
  free(view);
}

static Res lifetimesCreate(void **viewReturn, ViewWants wants)
{
  HeapClientStruct client = {.alloc = lifetimesAlloc, .free = lifetimesFree, .resize = lifetimesResize,
                             .other = lifetimesOther};
  lifetimesView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->log = wants->log;
  view->of = wants->of;
  view->request = *wants->request;
  HeapChoose(&view->request, wants->request);
  view->request.data = view;
  view->request.event = lifetimesEvent;
  client.data = view;
  if (HeapCreate(&view->heap, &client, wants->log) != ResOK) {
    lifetimesDestroy(view);
    return ResMEMORY;
  }
  HeapOf(view->heap, wants->of);
  HeapOffPart(view->heap, wants->request);
  *viewReturn = view;
  return ResOK;
}

static LogRequest lifetimesRequest(void *view)
{
  return &((lifetimesView)view)->request;
}

static Res lifetimesFinish(void *data)
{
  lifetimesView view = data;
  Res res;

  HeapUntil(view->heap, UINT64_MAX);
  res = HeapSettle(view->heap);
  view->live.objects += view->left.objects;
  view->live.bytes += view->left.bytes;
  return res != ResOK ? res : view->failed || view->temporaries.failed ? ResMEMORY : ResOK;
}

/* Text */

static void lifetimesSum(FILE *out, const char *name, const SiteSumStruct *sum, const char *what)
{
  if (sum->objects == 0)
    return;
  fprintf(out, "%-14s %llu object%s, ", name, (unsigned long long)sum->objects, TextPlural(sum->objects));
  SayShort(out, sum->bytes);
  fprintf(out, "%s\n", what);
}

/* lifetimesName -- of the class of times that begins at 10^(class - 1) us */
static const char *lifetimesName(char room[SayShortMAX], Index class)
{
  static const char *const name[] = {"0 us", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s",
                                     "100 s", "1000 s"};

  if (class < ARRAY_LENGTH(name))
    return name[class];
  (void)snprintf(room, SayShortMAX, "10^%zu s", class - 7);
  return room;
}

static void lifetimesRows(FILE *out, lifetimesView view, const SiteSumStruct *row, Count rows, Bool times)
{
  uint64_t most = 0;
  char room[SayShortMAX];
  Index i;

  for (i = 0; i < rows; ++i)
    most = row[i].objects > most ? row[i].objects : most;
  for (i = 0; i < rows; ++i) {
    if (row[i].objects == 0)
      continue;
    fprintf(out, "%-16s%12llu %5.1f%%", times ? lifetimesName(room, i)
            : i == 0 ? "0 bytes" : SayShortly(room, 1ull << (2 * i - 2)), (unsigned long long)row[i].objects,
            100.0 * (double)row[i].objects / (double)view->gone.objects);
    SayColumn(out, 12, row[i].bytes);
    putc(' ', out);
    BarsAcross(out, row[i].objects, most, lifetimesBAR);
    putc('\n', out);
  }
}

static Bool lifetimesText(FILE *out, void *data)
{
  lifetimesView view = data;
  SiteSumStruct left = {view->live.bytes, view->live.objects};

  if (view->gone.objects > 0) {
    fprintf(out, "%-16s%12s %6s%12s\n", "lived from", "objects", "share", "bytes");
    lifetimesRows(out, view, view->time, lifetimesTIMES, TRUE);
    fprintf(out, "\n%-16s%12s %6s%12s\n", "meanwhile from", "objects", "share", "bytes");
    lifetimesRows(out, view, view->meanwhile, lifetimesMEANWHILE, FALSE);
    putc('\n', out);
    lifetimesSum(out, "gone", &view->gone, "");
    fprintf(out, "mean lifetime  %.9f s\n", view->sum / (double)view->gone.objects / 1e9);
  }
  lifetimesSum(out, "temporary", &view->temporary, ": freed before the thread did anything else");
  lifetimesSum(out, "without a free", &view->presumed, ", whose addresses were given out again: counted until then");
  lifetimesSum(out, "at first", &view->older, " that went: older than the recording, not counted");
  lifetimesSum(out, "never freed", &left, ": each process's own at its end");
  ViewNotesHeapText(out, view->log, view->heap);
  return TRUE;
}

/* JSON */

static void lifetimesMembers(FILE *out, const char *name, const SiteSumStruct *sum)
{
  fprintf(out, "\"%s_objects\": %llu, \"%s_bytes\": %llu, ", name, (unsigned long long)sum->objects, name,
          (unsigned long long)sum->bytes);
}

static void lifetimesRowsJson(FILE *out, const char *name, const SiteSumStruct *row, Count rows, Bool times)
{
  double from = 1e-6;
  Bool first = TRUE;
  Index i;

  fprintf(out, ",\n \"%s\": [", name);
  for (i = 0; i < rows; ++i, from *= i > 1 ? 10 : 1) {
    if (row[i].objects == 0)
      continue;
    if (times)
      fprintf(out, "%s\n  {\"from\": %g, ", first ? "" : ",", i == 0 ? 0 : from);
    else
      fprintf(out, "%s\n  {\"from\": %llu, ", first ? "" : ",", i == 0 ? 0 : 1ull << (2 * i - 2));
    fprintf(out, "\"objects\": %llu, \"bytes\": %llu}", (unsigned long long)row[i].objects,
            (unsigned long long)row[i].bytes);
    first = FALSE;
  }
  putc(']', out);
}

static Bool lifetimesJson(FILE *out, void *data)
{
  lifetimesView view = data;
  SiteSumStruct left = {view->live.bytes, view->live.objects};

  putc('{', out);
  lifetimesMembers(out, "gone", &view->gone);
  lifetimesMembers(out, "temporary", &view->temporary);
  lifetimesMembers(out, "without_free", &view->presumed);
  lifetimesMembers(out, "earlier", &view->older);
  lifetimesMembers(out, "left", &left);
  fprintf(out, "\"mean_lifetime\": %.9f,\n ",
          view->gone.objects == 0 ? 0 : view->sum / (double)view->gone.objects / 1e9);
  ViewNotesHeapJson(out, view->log, view->heap);
  lifetimesRowsJson(out, "seconds", view->time, lifetimesTIMES, TRUE);
  lifetimesRowsJson(out, "meanwhile", view->meanwhile, lifetimesMEANWHILE, FALSE);
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassLifetimes = {
  "lifetimes", "how long objects lived, in time and in bytes allocated meanwhile", 0, lifetimesCreate, lifetimesRequest,
  lifetimesFinish, lifetimesText, lifetimesJson, lifetimesDestroy
};
