/* memory.h -- a plinth into memory, which can pretend to be full, slow or broken
 *
 * For tests, and for programs that keep their own telemetry.  Opened as "memory:SIZE"; holds the messages one behind
 * the other.
 *
 * Always true: used <= size; what is in [base, base + used) are whole messages.
 *
 * Design: design/telemetry.md .sol.msg      Tests: test/plinth/plinthtest.c
 */
#ifndef PLINTH_MEMORY_H
#define PLINTH_MEMORY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "plinth/plinth.h"

enum { PlinthMemoryMessageMAX = 256, PlinthMemoryMessages = 16 };

typedef struct PlinthMemoryStruct {
  char *base;
  Size size, used;
  Bool full;                 /* pretend: refuse what comes with ResLIMIT */
  Bool broken;               /* pretend: refuse what comes with ResIO */
  unsigned slow;             /* pretend: each message takes so many microseconds */
  unsigned lock;
  unsigned posted, received; /* messages for the other way, counted */
  Size length[PlinthMemoryMessages];
  char message[PlinthMemoryMessages][PlinthMemoryMessageMAX];
} PlinthMemoryStruct, *PlinthMemory;

/* PlinthMemoryOf -- the state of a plinth of this class; set `full`, `broken` and `slow` at will */
extern PlinthMemory PlinthMemoryOf(Plinth plinth);

/* PlinthMemoryPost -- a message that PlinthReceive will bring.  ResLIMIT: too long, or too many wait already. */
extern Res PlinthMemoryPost(Plinth plinth, const void *message, Size size);

#endif /* PLINTH_MEMORY_H */
