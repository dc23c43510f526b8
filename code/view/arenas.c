/* arenas.c -- address space of arenas
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/arenas.h"

#include <stdlib.h>

#include "base/grow.h"

enum { arenasCREATE = TypeCacheCLIENT, arenasDESTROY, arenasRESERVE, arenasRELEASE, arenasCOMMIT, arenasDECOMMIT };

static const TypeCacheKnownStruct arenasKnown[] = {
  {"ArenaCreate", arenasCREATE, {"PAWU arena"}},
  {"ArenaDestroy", arenasDESTROY, {"PAWU arena"}},
  {"ArenaReserve", arenasRESERVE, {"PAWU arena", "PAWU size"}},
  {"ArenaRelease", arenasRELEASE, {"PAWU arena", "PAWU size"}},
  {"ArenaCommit", arenasCOMMIT, {"PAWU arena", "PAWU size"}},
  {"ArenaDecommit", arenasDECOMMIT, {"PAWU arena", "PAWU size"}},
};

/* arenasNew -- a row for an arena that was not there */
static ArenaRow arenasNew(Arenas arenas, LogProcess process, uint64_t arena, Index key)
{
  arenas->newest[key] = arenas->rows;
  arenas->row[arenas->rows] = (ArenaRowStruct){.process = process, .arena = arena};
  return &arenas->row[arenas->rows++];
}

/* arenasRow -- that of an event's arena; NULL: no memory */
static ArenaRow arenasRow(Arenas arenas, LogEvent event, TypeCacheTell plan)
{
  uint64_t key[] = {event->process->number, LogEventWord(event, (Index)plan->param[0])};
  Count before = arenas->keys.count;
  uint32_t number;
  ArenaRow row;

  /* Room first: each key has its place, whatever fails. */
  if (!Grow(&arenas->row, &arenas->rowsRoom, arenas->rows, sizeof *arenas->row) ||
      !Grow(&arenas->newest, &arenas->keysRoom, before, sizeof *arenas->newest))
    return NULL;
  number = StringsAdd(&arenas->keys, (const char *)key, sizeof key);
  if (number == 0)
    return NULL;
  if (number > before)
    return arenasNew(arenas, event->process, key[1], number - 1);
  row = &arenas->row[arenas->newest[number - 1]];
  return row->destroyed && plan->tells == arenasCREATE ? arenasNew(arenas, event->process, key[1], number - 1) : row;
}

static void arenasMore(uint64_t *bytes, uint64_t *peak, uint64_t more)
{
  *bytes += more;
  if (*bytes > *peak)
    *peak = *bytes;
}

static void arenasLess(uint64_t *bytes, uint64_t less)
{
  *bytes -= less < *bytes ? less : *bytes;
}

static Bool arenasEvent(LogRequest request, LogEvent event)
{
  Arenas arenas = request->data;
  TypeCacheTell plan = TypeCacheTells(&arenas->plans, event, arenasKnown, ARRAY_LENGTH(arenasKnown));
  ArenaRow row;
  uint64_t size;

  if (plan != NULL && plan->tells == TypeCacheNOTHING)
    return FALSE; /* it counts where only so many events are asked for */
  if (arenas->of != NULL && OfProcessBefore(arenas->of, event->process->number))
    return FALSE;
  if (plan == NULL || (row = arenasRow(arenas, event, plan)) == NULL) {
    arenas->failed = TRUE;
    return TRUE;
  }
  size = plan->param[1] < 0 ? 0 : LogEventWord(event, (Index)plan->param[1]);
  switch (plan->tells) {
  case arenasCREATE:
    row->created = TRUE;
    row->time = event->time;
    break;
  case arenasDESTROY: row->destroyed = TRUE; break;
  case arenasRESERVE: arenasMore(&row->reserved, &row->reservedPeak, size); break;
  case arenasRELEASE: arenasLess(&row->reserved, size); break;
  case arenasCOMMIT: arenasMore(&row->committed, &row->committedPeak, size); break;
  default: arenasLess(&row->committed, size); break;
  }
  return FALSE;
}

static Bool arenasChoose(void *data, LogProcess process, EventType type)
{
  Arenas arenas = data;

  return (TypeCacheKnows(type, arenasKnown, ARRAY_LENGTH(arenasKnown)) || arenas->request.count != UINT64_MAX) &&
         LogRequestChooses((LogRequest)arenas->only, process, type);
}

void ArenasInit(Arenas arenas, const LogRequestStruct *only, OfProcess of)
{
  *arenas = (ArenasStruct){.of = of, .only = only, .request = *only};
  TypeCacheInit(&arenas->plans, sizeof(TypeCacheTellStruct));
  arenas->request.data = arenas;
  arenas->request.choose = arenasChoose;
  arenas->request.chooseData = arenas;
  arenas->request.event = arenasEvent;
}

void ArenasFinish(Arenas arenas)
{
  TypeCacheFinish(&arenas->plans);
  StringsFinish(&arenas->keys);
  free(arenas->newest);
  free(arenas->row);
}
