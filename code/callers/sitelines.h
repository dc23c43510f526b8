/* sitelines.h -- the lines of a table of callers: a book (sitebook.h), by places in code
 *
 * Always true: there is one line for each group of sites;  the lines add up to the book
 *
 * Design: design/view.md .sites.group      Tests: test/analyse/sites.t
 */
#ifndef CALLERS_SITELINES_H
#define CALLERS_SITELINES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "callers/sitebook.h"
#include "callers/sitegroups.h"

typedef struct SiteLineStruct {
  Index group;
  SiteSumStruct peak, left, allocated, told, wasted; /* as the book has them */
  uint64_t resizes, away, temporary;
} SiteLineStruct, *SiteLine;

typedef struct SiteLinesStruct {
  SiteGroupsStruct groups;
  Count count;
  SiteLine line;      /* owned; by group, until they are sorted */
  SiteLineStruct all; /* the sum; its `group` means nothing */
} SiteLinesStruct, *SiteLines;

/* What lines are sorted by, the most first; ties by what else there is, and then by group. */
typedef enum SiteOrder {
  SiteOrderPEAK, SiteOrderLEFT, SiteOrderALLOCATED, SiteOrderCALLS, SiteOrderTEMPORARY, SiteOrderWASTED, SiteOrderLIMIT
} SiteOrder;

#define SiteOrderCHOICES "peak|left|allocated|calls|temporary|wasted"

/* SiteOrderName -- what it is called in text
 * SiteOrderIsBytes -- is it a number of bytes, and not of calls or objects? */
extern const char *SiteOrderName(SiteOrder order);
extern Bool SiteOrderIsBytes(SiteOrder order);

/* SiteLinesMake -- the lines of a book that is complete, unsorted; ResMEMORY.  SiteLinesFinish in either case.
 * without  by number: these sites are left out;  NULL: none */
extern Res SiteLinesMake(SiteLines lines, SiteBook book, SiteNumbers numbers, CodeNames names, const Bool *without);

/* SiteLineOf -- what one site has, by its number */
extern SiteLineStruct SiteLineOf(SiteBook book, uint32_t number);
extern void SiteLinesFinish(SiteLines lines);

extern void SiteLinesSort(SiteLines lines, SiteOrder order);

/* SiteLineAdd -- add what another one has
 * SiteLineCalls -- how often it allocated or resized
 * SiteLineHad -- how many objects were its when they were freed, or are left: each object counts for one line
 * SiteLineKey -- what it is sorted by */
extern void SiteLineAdd(SiteLine line, const SiteLineStruct *other);

static inline uint64_t SiteLineCalls(const SiteLineStruct *line)
{
  return line->allocated.objects + line->resizes;
}

static inline uint64_t SiteLineHad(const SiteLineStruct *line)
{
  uint64_t came = SiteLineCalls(line) + line->told.objects;

  AVER(came >= line->away + line->left.objects);
  return came - line->away;
}

extern uint64_t SiteLineKey(const SiteLineStruct *line, SiteOrder order);

/* SiteLineJson -- print what it has as members of an object in JSON */
extern void SiteLineJson(FILE *out, const SiteLineStruct *line);

#endif /* CALLERS_SITELINES_H */
