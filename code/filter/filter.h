/* filter.h -- which events a user wants, as an expression
 *
 *   name == "PoolAlloc" && size >= 4K && !(tid == 17) || process =~ "cc1$" && time in [0.5, 1]
 *
 * A comparison of something that an event does not have is false, whatever it compares with; !, && and || are logic
 * and nothing else.  What is wrong with an expression is found when the filter is made, against the event types that
 * the log knows; nothing can go wrong afterwards but memory.
 *
 * For each type of event there is a plan of its own, in which all is worked out that is the same for each event of the
 * type; it is made when the first such event comes, so that types may appear while a log is read.
 *
 * Always true (FilterCheck): a plan's steps lead to steps that come before them in it, or to the end; there is an
 * expression; the times for which it is made do not end before they begin; where each process has plans of its own,
 * they are the process's.
 *
 * Design: design/filter.md      Tests: test/filter/filtertest.c, test/filter/filter.t
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/request.h"

typedef struct FilterStruct *Filter;

enum {
  FilterLengthMAX = 16384, /* bytes of an expression */
  FilterTestsMAX = 1000,   /* comparisons in it */
  FilterDepthMAX = 100     /* parentheses and ! within one another */
};

/* FilterMake -- understand an expression
 *
 * log      whose events it is about; must outlive the filter
 * error    room of `size` bytes for what is wrong: "column 9: ...", a line with the expression, and one that points
 * returns  ResPARAM: it cannot be meant, and error says why; ResMEMORY
 */
extern Res FilterMake(Filter *filterReturn, Log log, const char *expression, char *error, Size size);

/* FilterFree -- NULL does nothing */
extern void FilterFree(Filter filter);

/* FilterTimes -- narrow [from, to) to the times outside of which no event passes.  The caller requests only events of
 * these times, so the plans do not test them again.  Call it before the functions below. */
extern void FilterTimes(Filter filter, uint64_t *fromInOut, uint64_t *toInOut);

/* FilterChooses -- can an event of this type pass?  For a request's `choose`. */
extern Bool FilterChooses(Filter filter, LogProcess process, EventType type);

/* FilterExhausted -- does every event of a chosen type within those times pass?  Then FilterMatches need not be
 * called. FALSE if the log still grows. */
extern Bool FilterExhausted(Filter filter);

/* FilterMatches -- does the expression hold for this event?
 * cost     a few ns, one for each comparison that decides; a regular expression costs what regexec does
 *          no allocation but when the first event of a type comes */
extern Bool FilterMatches(Filter filter, LogEvent event);

/* PawRequestFilter (pawlog.h) makes a request use a filter; call it after FilterTimes. */

/* FilterRes -- ResMEMORY: there was no memory for a plan, and FilterMatches has said FALSE instead.  NULL: ResOK */
extern Res FilterRes(Filter filter);

extern Bool FilterCheck(Filter filter);

#endif /* FILTER_FILTER_H */
