/* sitenumbers.h -- a small number for each place that asks for memory: of a process, its sites or its stacks
 *
 * What counts by site keeps an array by these numbers, and an object its site's in `client`.  A child of fork has
 * numbers of its own: an object that it has inherited keeps its parent's until it goes or is resized.  An address
 * that is in another module later, because the first was unloaded, is another site.
 *
 * Always true (SiteNumbersCheck):
 *   numbers are 1, 2, ... in order of appearance; no two have the same process, asker, code, `stack` and module
 *   those of a process are linked, the newest first
 *
 * Design: design/view.md .sites.number      Tests: test/callers/sitebooktest.c
 */
#ifndef CALLERS_SITENUMBERS_H
#define CALLERS_SITENUMBERS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "symbols/modulemap.h"

enum {
  SiteNumbersMAX = 1 << 24, /* more are not told apart: they are what is not known */
  siteRecentMAX = 1 << 11
};

typedef struct SiteStruct {
  uint64_t code;         /* the address of the site, or the number of the stack; 0: not known */
  uint32_t process;      /* number in the log: whose memory it is; */
  uint32_t asker;        /* who asked for it: that process, or an ancestor by fork */
  uint32_t next;         /* another one of the process; 0: none */
  uint32_t module;       /* number of the module that the site is in (modulemap.h); 0: not known, or a stack */
  Bool stack;            /* it is a stack */
  uint64_t time;         /* ns, when it was met first: modules come and go */
} SiteStruct, *Site;

typedef struct SiteNumbersStruct {
  Count count, capacity;  /* numbers; places in `site` */
  Site site;              /* owned; by number - 1 */
  Count places;           /* in `place`: a power of two, at least twice as many as numbers */
  uint32_t *place;        /* owned; numbers by hash; 0: none */
  Count processes;
  uint32_t *first;        /* owned; by process: its newest number; 0: none */
  ModuleMap modules;      /* the owner's; NULL: modules do not tell sites apart */
  Count more;             /* sites that were met when there were as many as may be; the same one may count often */
  struct {
    uint64_t code;
    uint32_t process, number;
    uint64_t since, span; /* ns: for so long the address is known to be in the same module */
  } recent[siteRecentMAX]; /* number 0: none */
} SiteNumbersStruct, *SiteNumbers;

/* SiteNumbersInit -- none yet.  SiteNumbersFinish frees the memory. */
extern void SiteNumbersInit(SiteNumbers numbers);
extern void SiteNumbersFinish(SiteNumbers numbers);

/* SiteNumbersAdd -- the number of the site, of which `next` and `module` do not matter, and `time` only for its module
 * returns  0: no memory */
extern uint32_t SiteNumbersAdd(SiteNumbers numbers, const SiteStruct *site);

/* SiteNumbersMeet -- SiteNumbersOf, of what recent[i] is not */
extern uint32_t SiteNumbersMeet(SiteNumbers numbers, Index i, uint32_t process, uint64_t code, Bool stack, uint64_t time);

/* SiteNumbersOf -- the same of what a process asks for itself; mostly a look at what was asked lately.  All codes of a
 * process are stacks, or none. */
static inline uint32_t SiteNumbersOf(SiteNumbers numbers, uint32_t process, uint64_t code, Bool stack, uint64_t time)
{
  Index i = (Index)(((code ^ process) * 0x9e3779b97f4a7c15ull) >> 53) % siteRecentMAX;

  if (UNLIKELY(numbers->recent[i].code != code || numbers->recent[i].process != process ||
               numbers->recent[i].number == 0 || time - numbers->recent[i].since >= numbers->recent[i].span))
    return SiteNumbersMeet(numbers, i, process, code, stack, time);
  return numbers->recent[i].number;
}

/* SiteNumbersAt -- the site with this number
 * SiteNumbersFirst -- a number of the process's; `next` of its site leads to the others.  0: it has none. */
static inline Site SiteNumbersAt(SiteNumbers numbers, uint32_t number)
{
  return &numbers->site[number - 1];
}

static inline uint32_t SiteNumbersFirst(SiteNumbers numbers, Index process)
{
  return process < numbers->processes ? numbers->first[process] : 0;
}

extern Bool SiteNumbersCheck(SiteNumbers numbers);

#endif /* CALLERS_SITENUMBERS_H */
