/* visitstest.c -- reading objects between operations
 *
 * Objects of random sizes end where memory ends that may be read, so that one byte too many is a crash.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replay/visits.h"
#include "tap.h"

enum { SLOTS = 200, PAGE = 4096, OPS = 2000 };

static char *pages;            /* one for each slot, each with one behind it that cannot be read */
static void *slots[SLOTS + 1]; /* slot 0 has never an object */
static uint32_t sizes[SLOTS + 1];
static uint32_t *ring;
static ScriptOpStruct ops[OPS];
#define nobody ((void *)1)     /* what a slot has whose allocation failed */

static VisitsStruct visits;

static void start(void)
{
  memset(slots, 0, sizeof slots);
  memset(sizes, 0, sizeof sizes);
  memset(ring, 0, VisitsRECENT * sizeof *ring);
  visits = (VisitsStruct){.on = TRUE, .slots = slots, .absent = nobody, .sizes = sizes, .recent = ring, .random = 42};
}

/* place -- an object of this size in the slot, the last of whose bytes is the last that can be read */
static void place(uint32_t slot, uint32_t size)
{
  slots[slot] = pages + (Size)slot * 2 * PAGE + PAGE - (size < PAGE ? size : PAGE);
  VisitsSized(&visits, slot, size, TRUE);
}

/* testBounds -- objects come, go and fail at random; nothing that is none is read, and nothing beyond an end */
static void testBounds(void)
{
  Index i, j;

  start();
  srand((unsigned)TapSeed());
  for (i = 0; i < 300; ++i) {
    for (j = 0; j < OPS; ++j) {
      uint32_t slot = 1 + (uint32_t)rand() % SLOTS;
      ops[j] = (ScriptOpStruct){.slot = slot, .kind = (uint8_t)(rand() % (ScriptRESIZE + 1))};
      if (rand() % 3 == 0)
        place(slot, (uint32_t)(rand() % 8 == 0 ? rand() % PAGE : 1 + rand() % 300));
      else if (rand() % 4 == 0)
        slots[slot] = rand() % 2 == 0 ? NULL : nobody;
    }
    VisitsMake(&visits, ops, ops + 1 + (Index)rand() % OPS);
  }
  TapOk(visits.ns > 0, "random objects of all sizes are read, and nothing else");
}

/* wasRead -- is the slot's page read?  It is given back before. */
static Bool wasRead(uint32_t slot, ScriptOp op, ScriptOp limit)
{
  unsigned char in;
  char *page = pages + (Size)slot * 2 * PAGE;

  (void)madvise(page, PAGE, MADV_DONTNEED);
  VisitsMake(&visits, op, limit);
  return mincore(page, PAGE, &in) == 0 && (in & 1) != 0;
}

/* testNext -- what the next operations free or resize is read, however old; of no page that was given back is anything
 * there before */
static void testNext(void)
{
  Index kind;

  for (kind = 0; kind <= ScriptRESIZE; ++kind) {
    Bool goes = kind == ScriptFREE || kind == ScriptDROP || kind == ScriptRESIZE;
    Index i;
    start();
    place(1, 100);
    for (i = 0; i < VisitsRECENT; ++i) /* slot 1 is none of the newest */
      VisitsSized(&visits, 0, 0, TRUE);
    ops[0] = (ScriptOpStruct){.slot = 1, .kind = (uint8_t)kind};
    TapIs(wasRead(1, ops, ops + 1), goes, goes ? "what goes is read before" : "what comes is not");
  }
}

/* testNewest -- objects that nothing is done to are read, too, but none that are older than VisitsRECENT */
static void testNewest(void)
{
  Count read = 0;
  Index i, round;

  start();
  for (i = 1; i <= SLOTS; ++i)
    place((uint32_t)i, 64);
  for (i = 1; i <= SLOTS; ++i) {
    Bool was = FALSE;
    for (round = 0; round < 200 && !was; ++round)
      was = wasRead((uint32_t)i, ops, ops);
    read += was;
  }
  TapIs(read, SLOTS, "each of the newest objects is read in its time");
  for (i = 0; i < VisitsRECENT; ++i)
    VisitsSized(&visits, 0, 0, TRUE);
  read = 0;
  for (round = 0; round < 2000; ++round)
    read += wasRead(1, ops, ops);
  TapIs(read, 0, "and no older one");
}

int main(void)
{
  Index i;

  pages = mmap(NULL, (SLOTS + 1) * 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ring = calloc(VisitsRECENT, sizeof *ring);
  if (pages == MAP_FAILED || ring == NULL)
    return 1;
  for (i = 0; i <= SLOTS; ++i)
    if (mprotect(pages + i * 2 * PAGE + PAGE, PAGE, PROT_NONE) != 0)
      return 1;
  start();
  VisitsMake(&visits, ops, ops);
  TapIs(visits.ns, 0, "where no object has been, nothing is read");
  testBounds();
  testNext();
  testNewest();
  return TapDone();
}
