/* livedata.h -- what lives at a time, for what counts and what prints it
 *
 * Design: design/view.md .live      Tests: test/live.t
 */
#ifndef VIEW_LIVEDATA_H
#define VIEW_LIVEDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heaplook.h"
#include "view/interns.h"
#include "view/live.h"
#include "view/livetop.h"
#include "view/state.h"

enum { LiveClassMAX = 65 }; /* size 0, and for each power of two up to 2^63 */

/* Objects of one sort. */
typedef struct LiveSumStruct {
  uint64_t objects, bytes;
} LiveSumStruct, *LiveSum;

typedef struct LivePoolStruct {
  HeapPool pool;
  LiveSumStruct sum;
} LivePoolStruct, *LivePool;

typedef struct LiveThreadStruct {
  HeapThread thread;
  LiveSumStruct sum;
} LiveThreadStruct, *LiveThread;

typedef struct LiveSiteStruct {
  uint64_t site;
  LiveSumStruct sum;
} LiveSiteStruct, *LiveSite;

/* A process of which there are events. */
typedef struct LiveProcessStruct {
  LogProcess process;
  LiveSumStruct sum;
  uint64_t doubt;                     /* so many objects more or less */
  Bool late;                          /* what it had from its parent is what that had when it came to its first event */
  Count arenas, pools, threads, sites;
  HeapObject arena;                   /* owned, as the next three: by age, */
  LivePool pool;                      /* in order of appearance, */
  LiveThread thread;                  /* those with objects, most bytes first */
  LiveSite site;                      /* the same, and `top` of them at most; of objects without a site: 0 */
  Count siteCount;                    /* all */
  LiveSumStruct class[LiveClassMAX];
  LiveTopStruct largest, oldest;
} LiveProcessStruct, *LiveProcess;

struct LiveStruct {
  Log log;
  State state;
  uint64_t at;
  Count top;
  LogPositionStruct ahead;    /* all events before it come, and none behind */
  LogPositionStruct position;
  LogSummaryStruct summary;
  StringsStruct strings;
  InternsStruct interns;  /* the labels of addresses */
  Count processes;
  LiveProcess process;
};

/* LiveLabel -- the label of what is at an address since then; "": it has none */
extern const char *LiveLabel(Live live, LiveProcess process, uint64_t addr, uint64_t since);

/* LiveClass -- the class of a size: 0 for 0, else its bits */
static inline Index LiveClass(uint64_t size)
{
  return size == 0 ? 0 : 64 - (Index)__builtin_clzll(size);
}

#endif /* VIEW_LIVEDATA_H */
