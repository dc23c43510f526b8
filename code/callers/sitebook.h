/* sitebook.h -- what each site has allocated, has now, had at the peak, and left: counts by number (sitenumbers.h)
 *
 * The peak is the first moment at which most bytes lived in all that is counted.  What each site had then is exact, and
 * costs one comparison for each operation: a row that changes for the first time since the newest peak keeps what it
 * had before.  So at any time the peak of a row is what it has kept, or, if it has not changed since, what it has now.
 *
 * Always true (SiteBookCheck):
 *   the rows' sums are the book's, now and at the peak
 *   stamp of a row <= stamp of the book;  equal: it has changed since the peak, and `peak` is what it had before
 *
 * Design: design/view.md .sites.peak      Tests: test/callers/sitebooktest.c
 */
#ifndef CALLERS_SITEBOOK_H
#define CALLERS_SITEBOOK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/aver.h"
#include "base/types.h"

/* What there is of something. */
typedef struct SiteSumStruct {
  uint64_t bytes, objects;
} SiteSumStruct, *SiteSum;

static inline void SiteSumAdd(SiteSum sum, const SiteSumStruct *more)
{
  sum->bytes += more->bytes;
  sum->objects += more->objects;
}

typedef struct SiteRowStruct {
  SiteSumStruct live;         /* now */
  SiteSumStruct peak;         /* at the peak, if the row has changed since */
  uint64_t stamp;             /* the book's when it changed last */
  SiteSumStruct allocated;    /* `bytes`: asked for, and what resizes have added; `objects`: allocations */
  uint64_t temporary;         /* of these: freed by the thread that had allocated it before it did anything else */
} SiteRowStruct, *SiteRow;

_Static_assert(sizeof(SiteRowStruct) == 64, "a row is a cache line");

typedef struct SiteMoreStruct {
  SiteSumStruct left;         /* when its process ended */
  SiteSumStruct told;         /* of what lived: there before the recording, or its parent's */
  uint64_t resizes;           /* whose objects are its from then on */
  uint64_t away;              /* resizes of its objects, which are another's, or again its own, from then on */
  SiteSumStruct wasted;       /* `bytes` more than it had asked for, in so many allocations and resizes */
} SiteMoreStruct, *SiteMore;

typedef struct SiteBookStruct {
  Count count, capacity;      /* rows: of numbers below `count`; places in `row` and in `more` */
  SiteRow row;                /* owned; by number */
  SiteMore more;              /* owned; the same */
  SiteSumStruct live, peak;   /* of all together */
  uint64_t peakTime;          /* ns */
  uint64_t stamp;             /* how often a new peak has come, plus one */
} SiteBookStruct, *SiteBook;

extern Res SiteBookInit(SiteBook book);
extern void SiteBookFinish(SiteBook book);

/* SiteBookRoom -- numbers below `count` have rows.  ResMEMORY. */
extern Res SiteBookRoom(SiteBook book, Count count);

/* siteBookChange -- the row changes now */
static inline SiteRow siteBookChange(SiteBook book, uint32_t number)
{
  SiteRow row = &book->row[number];

  AVER_CRITICAL(number < book->count);
  if (row->stamp != book->stamp) {
    row->peak = row->live;
    row->stamp = book->stamp;
  }
  return row;
}

/* siteBookPeak -- all that an operation changes is changed; it may be a peak */
static inline void siteBookPeak(SiteBook book, uint64_t time)
{
  if (book->live.bytes > book->peak.bytes) {
    book->peak = book->live;
    book->peakTime = time;
    ++book->stamp;
  }
}

/* SiteBookAlloc -- an object of `size` bytes has come
 * SiteBookTold -- the same of an object that existed before the recording, or before its process
 * SiteBookFree -- an object of the site was freed
 * SiteBookUntold -- an object of SiteBookTold turns out not to have existed
 * SiteBookResize -- a site's object of `old` bytes is another's, or its own, of `size` bytes
 * time  ns; of all operations, never falling by more than what is held back (heapreorder.h) */
static inline void SiteBookAlloc(SiteBook book, uint32_t number, uint64_t size, uint64_t time)
{
  SiteRow row = siteBookChange(book, number);

  row->live.bytes += size;
  ++row->live.objects;
  row->allocated.bytes += size;
  ++row->allocated.objects;
  book->live.bytes += size;
  ++book->live.objects;
  siteBookPeak(book, time);
}

static inline void SiteBookFree(SiteBook book, uint32_t number, uint64_t size, Bool temporary)
{
  SiteRow row = siteBookChange(book, number);

  AVER_CRITICAL(row->live.objects > 0 && row->live.bytes >= size);
  row->live.bytes -= size;
  --row->live.objects;
  row->temporary += temporary;
  book->live.bytes -= size;
  --book->live.objects;
}

extern void SiteBookTold(SiteBook book, uint32_t number, uint64_t size, uint64_t time);
extern void SiteBookUntold(SiteBook book, uint32_t number, uint64_t size);
extern void SiteBookResize(SiteBook book, uint32_t from, uint32_t to, uint64_t old, uint64_t size, uint64_t time);

/* SiteBookUsable -- the allocator gave `usable` bytes where `size` were asked for */
static inline void SiteBookUsable(SiteBook book, uint32_t number, uint64_t size, uint64_t usable)
{
  SiteSum wasted = &book->more[number].wasted;

  AVER_CRITICAL(number < book->count);
  wasted->bytes += usable > size ? usable - size : 0;
  ++wasted->objects;
}

/* SiteBookMany -- give a site `sum` more live objects and bytes, which its process has inherited.  The caller calls
 *   SiteBookPeak after the last site.
 * SiteBookLeave -- the site's process has ended: its live objects count as left (SiteBookLeft)
 * SiteBookReturn -- the process had not ended: its left objects count as live again; SiteBookPeak follows, too */
extern void SiteBookMany(SiteBook book, uint32_t number, const SiteSumStruct *sum);
extern void SiteBookLeave(SiteBook book, uint32_t number);
extern void SiteBookReturn(SiteBook book, uint32_t number);
extern void SiteBookPeak(SiteBook book, uint64_t time);

/* SiteBookAtPeak -- what the site had at the peak
 * SiteBookLeft -- what it has left, and what it has */
extern SiteSumStruct SiteBookAtPeak(SiteBook book, uint32_t number);
extern SiteSumStruct SiteBookLeft(SiteBook book, uint32_t number);

extern Bool SiteBookCheck(SiteBook book);

#endif /* CALLERS_SITEBOOK_H */
