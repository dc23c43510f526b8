/* drawslice.c -- what happens in a lane: marks, and slices that nest
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Of slices that begin thick and fast only some are drawn.  One that is not, though, and lasts longer than that, is
 * what somebody looks for: its lane waits, and the slice is drawn from when it is due, if it is still open.
 */
#include <stdlib.h>

#include "view/drawdata.h"

enum { drawSeenMIN = 8 };

/* drawSkip -- has the lane had one of these so lately that another is not drawn? */
static Bool drawSkip(Draw draw, DrawLane lane, uint32_t name)
{
  struct DrawSeenStruct *seen;
  Index i;

  if (draw->thin == 0)
    return FALSE;
  for (i = 0; i < lane->seens && lane->seen[i].name != name; ++i)
    ;
  if (i < lane->seens) {
    seen = &lane->seen[i];
    if (draw->now - seen->time < draw->thin)
      return TRUE;
    seen->time = draw->now;
    return FALSE;
  }
  if (i == 0 || (i >= drawSeenMIN && (i & (i - 1)) == 0)) {
    seen = realloc(lane->seen, (i == 0 ? drawSeenMIN : 2 * i) * sizeof *seen);
    if (seen == NULL) {
      draw->failed = TRUE;
      return TRUE;
    }
    lane->seen = seen;
  }
  lane->seen[i].name = name;
  lane->seen[i].time = draw->now;
  ++lane->seens;
  return FALSE;
}

void DrawMark(Draw draw, DrawLane lane, uint32_t name, LogEvent event)
{
  if (!drawSkip(draw, lane, name))
    draw->pen->mark(draw->pen->data, lane->thread, name, event, draw->now);
}

static void drawWait(Draw draw, DrawLane lane, uint64_t time)
{
  lane->due = time + draw->thin;
  lane->waiting = TRUE;
  lane->later = NULL;
  if (draw->firstLane == NULL)
    draw->firstLane = lane;
  else
    draw->lastLane->later = lane;
  draw->lastLane = lane;
}

/* drawKey -- what a beginning says, and an end that belongs to it */
static uint64_t drawKey(DrawPlan plan, LogEvent event)
{
  uint64_t key = 0;
  Index i;

  for (i = 0; i < event->type->params; ++i) {
    if (plan->salt[i] != 0)
      key += (LogEventWord(event, i) + 1) * plan->salt[i];
  }
  return key;
}

void DrawBegin(Draw draw, DrawLane lane, DrawPlan plan, LogEvent event)
{
  DrawProcess process = lane->thread->process->client;
  DrawSlice slice;

  if (lane->depth == DrawDepthMAX)
    return; /* whose ends are all missing: what comes is no picture of anything */
  slice = &lane->slice[lane->depth++];
  ++process->open;
  slice->name = plan->name;
  slice->key = drawKey(plan, event);
  slice->start = draw->now;
  slice->drawn = !drawSkip(draw, lane, plan->name);
  if (slice->drawn)
    draw->pen->begin(draw->pen->data, lane->thread, plan->name, event, draw->now);
  else if (!lane->waiting)
    drawWait(draw, lane, draw->now);
}

/* drawPop -- the innermost slice of the lane ends */
static void drawPop(Draw draw, DrawLane lane)
{
  DrawProcess process = lane->thread->process->client;
  DrawSlice slice = &lane->slice[--lane->depth];

  --process->open;
  if (slice->drawn)
    draw->pen->end(draw->pen->data, lane->thread, slice->name, draw->now);
}

/* drawOpen -- how deep a slice of this name is in the lane, of this key unless that is 0; 0: there is none */
static unsigned drawOpen(DrawLane lane, uint32_t name, uint64_t key)
{
  unsigned depth = lane->depth;

  while (depth > 0 && (lane->slice[depth - 1].name != name || (key != 0 && lane->slice[depth - 1].key != key)))
    --depth;
  return depth;
}

/* DrawEnd -- what is inside it ends with it.  What one thread has begun another may end, if they say the same of it. */
void DrawEnd(Draw draw, DrawLane lane, DrawPlan plan, LogEvent event)
{
  DrawProcess process = lane->thread->process->client;
  WhoThread thread = lane->thread->process->threads;
  unsigned depth = drawOpen(lane, plan->name, 0);
  uint64_t key = 0;

  if (depth == 0 && process->open > 0)
    key = drawKey(plan, event);
  for (; depth == 0 && key != 0 && thread != NULL; thread = thread->next) {
    lane = thread->client;
    depth = lane == NULL ? 0 : drawOpen(lane, plan->name, key);
  }
  while (depth > 0 && lane->depth >= depth)
    drawPop(draw, lane);
}

void DrawEndAll(Draw draw)
{
  DrawLane lane;

  for (lane = draw->lanes; lane != NULL; lane = lane->next) {
    while (lane->depth > 0)
      drawPop(draw, lane);
  }
}

void DrawLaneDue(Draw draw, Bool last)
{
  DrawLane lane = draw->firstLane;
  Bool again = FALSE;
  unsigned i;

  draw->firstLane = lane->later;
  lane->waiting = FALSE;
  for (i = 0; i < lane->depth && !last; ++i) {
    DrawSlice slice = &lane->slice[i];
    unsigned inner = i + 1;
    if (slice->drawn)
      continue;
    while (inner < lane->depth && !lane->slice[inner].drawn)
      ++inner;
    if (inner < lane->depth)
      continue; /* drawn now it would begin inside of what is inside of it */
    if (lane->due - slice->start < draw->thin) {
      again = TRUE;
      break;
    }
    slice->drawn = TRUE;
    draw->pen->begin(draw->pen->data, lane->thread, slice->name, NULL, lane->due);
  }
  if (again)
    drawWait(draw, lane, lane->due);
}
