/* park.h -- open blocks put aside on disk
 *
 * A pass has a block open for every stream that is in the middle of one.  Where these are many, those whose next
 * event is furthest away have what is left of their events written to a temporary file without a name, and read back
 * in small windows; so an open stream costs a few KiB, and nothing is ever read or unpacked twice.
 *
 * Always true: a place in the file belongs to one open block; places are used again.
 *
 * Design: design/log.md .memory      Tests: test/logtest.c
 */
#ifndef LOG_PARK_H
#define LOG_PARK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/load.h"

enum { ParkPlacesMAX = 65536 };

typedef struct ParkStruct {
  int fd;          /* -1 while nothing was parked */
  Bool failed;     /* the file cannot be had or written: memory has to do */
  uint32_t places; /* in the file, used or free */
  Count free, capacity;
  uint32_t *freed; /* numbers of the free ones */
} ParkStruct, *Park;

extern void ParkInit(Park park);
extern void ParkFinish(Park park);

/* ParkPut -- put *loaded aside: it is given back to the loader, and a small one takes its place
 * ResFAIL: that cannot be done; *loaded stays as it is.  ResIO: its events are gone, and reading cannot go on. */
extern Res ParkPut(Park park, Loader loader, Loaded *loaded);

/* ParkRefill -- bring the next events of a parked block in; its `next` is 0 again.  ResEND: there are none, and
 * its place is
 * free.  ResIO.  For a block that was never parked always ResEND. */
extern Res ParkRefill(Park park, Loaded loaded);

/* ParkRelease -- a parked block will not be read to its end: its place is free */
extern void ParkRelease(Park park, Loaded loaded);

#endif /* LOG_PARK_H */
