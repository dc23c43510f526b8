/* visits.c -- reads objects as a program would
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/visits.h"

#include <time.h>

#include "base/readclock.h"

/* visitsRandom -- 64 random bits: xorshift, which is quick and has no multiplication */
static uint64_t visitsRandom(Visits visits)
{
  uint64_t x = visits->random;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return visits->random = x;
}

/* visitsRead -- read a word of each cache line of the slot's object, of its first VisitsREAD bytes, if it has one
 * wait  0, which is known only when the object read before has come
 * returns  0, which is known only when this one has */
static uint64_t visitsRead(Visits visits, uint32_t slot, uint64_t wait)
{
  const volatile char *p = visits->slots[slot];
  Size size = visits->sizes[slot], end = size < VisitsREAD ? size : VisitsREAD, at;

  if (p == NULL || p == visits->absent)
    return wait;
  for (at = 0; at < end; at += VisitsLINE) {
    uint64_t byte = (uint8_t)p[at + wait];
    __asm__("" : "+r"(byte)); /* that it has no more than 8 bits is not known to the compiler */
    wait = byte >> 8;
  }
  return wait;
}

/* visitsDistance -- how far back, in order of allocation, a program looks: below 2, 4, 8 ... with the same probability
 * for each, up to `known` */
static uint64_t visitsDistance(Visits visits, uint64_t known)
{
  uint64_t random = visitsRandom(visits);
  unsigned powers = 64 - (unsigned)__builtin_clzll(known | 1); /* 2^powers > known */
  unsigned power = (unsigned)(((random & UINT32_MAX) * (powers + 1)) >> 32);

  return (random >> 32) & (((uint64_t)1 << power) - 1);
}

/* visitsNext -- what the next operations free or resize, the program has read */
static void visitsNext(Visits visits, ScriptOp op, ScriptOp limit)
{
  uint64_t wait = 0;

  for (; op < limit; ++op)
    if (op->kind == ScriptFREE || op->kind == ScriptDROP || op->kind == ScriptRESIZE)
      wait = visitsRead(visits, op->slot, wait);
}

/* visitsSingle -- objects that have nothing to do with each other */
static void visitsSingle(Visits visits, uint64_t known)
{
  uint64_t distance;
  Index i;

  for (i = 0; i < VisitsSINGLE; ++i) {
    distance = visitsDistance(visits, known);
    if (distance < known)
      (void)visitsRead(visits, visits->recent[(visits->made - 1 - distance) % VisitsRECENT], 0);
  }
}

/* visitsRun -- objects that were allocated one after the other, from any of those that are known on */
static void visitsRun(Visits visits, uint64_t known)
{
  uint64_t at = visits->made - 1 - visitsRandom(visits) % known, wait = 0;
  Index i;

  for (i = 0; i < VisitsRUN && at < visits->made; ++i, ++at)
    wait = visitsRead(visits, visits->recent[at % VisitsRECENT], wait);
}

void VisitsMake(Visits visits, ScriptOp op, ScriptOp limit)
{
  uint64_t known = visits->made < VisitsRECENT ? visits->made : VisitsRECENT, begin;

  if (known == 0)
    return;
  begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  visitsNext(visits, op, limit);
  visitsSingle(visits, known);
  visitsRun(visits, known);
  visits->ns += ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin;
}
