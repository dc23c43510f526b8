/* load.h -- a block in memory: its events, in order of time, ready to be delivered; or spilled to disk
 *
 * Loading reads the block, verifies its checksum, unpacks it, and lists the events that are wanted, sorted by time
 * (a signal handler's events may stand out of order).
 *
 * Always true (LoadedCheck): items rise in time, equal times in the order of the bytes; next <= count; what is spilled
 * is within its place in the file.  Every item's event lies within the bytes and has the length that its type asks for.
 *
 * Design: design/log.md .load      Tests: test/log/logtest.c, test/log/hostiletest.c
 */
#ifndef LOG_LOAD_H
#define LOG_LOAD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/pack.h"
#include "log/index.h"
#include "log/logfile.h"

/* One event that is to be delivered. */
typedef struct LoadedItemStruct {
  uint64_t fine;
  uint32_t at;   /* of the event in the block's bytes */
  uint16_t type; /* place in the registry */
  uint16_t length;
} LoadedItemStruct, *LoadedItem;

typedef struct LoadedStruct {
  LogStream stream;
  uint64_t sequence;
  uint16_t cpu;              /* BlockCpu */
  Count count, next;         /* items, and the one that is next */
  LoadedItem item;           /* behind this */
  const unsigned char *bytes; /* behind those */
  const struct ReadingRouteStruct *routes; /* reading.h: the hooks for its events, */
  uint64_t stamp;            /* if it is the pass's; 0: not asked yet */
  const uint32_t *original;  /* of a window: where each item's event was in the block; NULL: where `at` says */
  Size size;                 /* bytes of memory that the loader counts, this included; 0 for one that was spilled */
  struct LoadedStruct *spare; /* in the loader's list */
  Bool spilled;               /* items and bytes are a window of what stands in a file */
  uint32_t place;            /* there */
  uint64_t at, end;          /* in the file: what comes behind the window */
} LoadedStruct, *Loaded;

typedef struct LoaderStruct {
  Table table;
  File *file;            /* by number */
  uint64_t from;         /* fine: events before are not wanted */
  unsigned char *rest;   /* room for a block at rest */
  Unpack unpack;
  Loaded spare;          /* memory of blocks that are used up */
  Count spares;
  Size memory;           /* bytes of the blocks that are loaded, and were not spilled; without spares */
} LoaderStruct, *Loader;

/* What loading found that a caller may have to tell. */
typedef struct LoadReportStruct {
  const char *what;      /* if the block could not be had, or not all of it; a constant */
  uint32_t lost;         /* events */
  Bool dropped;          /* because it was cut away on purpose meanwhile */
  uint32_t unknown;      /* events whose code no header names, */
  uint16_t unknownCode;  /* and the first such code */
} LoadReportStruct, *LoadReport;

extern Res LoaderInit(Loader loader, Table table, File *files);
extern void LoaderFinish(Loader loader);

/* LoaderLoad -- the block of an entry, whose process has a header
 *
 * wanted   by place in the process's registry, whether a type is; NULL: all are
 *
 * Events that are not wanted (time, type) are left out.
 * ResFORMAT: it cannot be had: report->what says why, and report->lost what is gone.  ResMEMORY, ResIO.
 * The caller gives *loadedReturn back with LoaderFree.
 */
extern Res LoaderLoad(Loaded *loadedReturn, LoadReport report, Loader loader, const IndexEntryStruct *entry,
                      const unsigned char *wanted);
extern void LoaderFree(Loader loader, Loaded loaded);
extern Bool LoadedCheck(const LoadedStruct *loaded);

/* ---- Open blocks put aside on disk ----
 *
 * A pass has a block open for every stream that is in the middle of one.  Where these are many, those whose next
 * event is furthest away have what is left of their events written to a temporary file without a name, and read back
 * in small windows; so an open stream costs a few KiB, and nothing is ever read or unpacked twice.
 *
 * Always true (SpillCheck): a place in the file is free, or belongs to one open block; places are used again, and all
 * that are free are known.
 */

enum { SpillPlacesMAX = 65536 };

typedef struct SpillStruct {
  int fd;          /* -1 while nothing was spilled */
  Bool failed;     /* the file cannot be had or written: memory has to do */
  uint32_t places; /* in the file, used or free */
  Count free, capacity;
  uint32_t *freed; /* numbers of the free ones */
} SpillStruct, *Spill;

extern void SpillInit(Spill spill);
extern void SpillFinish(Spill spill);
extern Bool SpillCheck(const SpillStruct *spill);

/* SpillPut -- put *loaded aside: it is given back to the loader, and a small one takes its place
 * ResFAIL: that cannot be done; *loaded stays as it is.  ResIO: its events are gone, and reading cannot go on. */
extern Res SpillPut(Spill spill, Loader loader, Loaded *loaded);

/* SpillRefill -- bring the next events of a spilled block in; its `next` is 0 again.  ResEND: there are none, and
 * its place is
 * free.  ResIO.  For a block that was never spilled always ResEND. */
extern Res SpillRefill(Spill spill, Loaded loaded);

/* SpillRelease -- a spilled block will not be read to its end: its place is free */
extern void SpillRelease(Spill spill, Loaded loaded);

#endif /* LOG_LOAD_H */
