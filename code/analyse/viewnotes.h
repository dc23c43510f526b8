/* viewnotes.h -- what a view of the heap cannot know, a line for each thing
 *
 * Numbers that lack something are shown with what they lack.  Each line is printed only where it is so; each member of
 * JSON always, 0 where it is not.
 *
 * Design: design/view.md .views.notes      Tests: test/analyse/sites.t
 */
#ifndef ANALYSE_VIEWNOTES_H
#define ANALYSE_VIEWNOTES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewheap.h"

/* ViewNotesText -- print the lines; ViewNotesJson -- print members of an object, with no comma behind them
 * callers  the view shows callers, and says how they are recorded where they were not */
extern void ViewNotesText(FILE *out, ViewHeap shared, Bool callers);
extern void ViewNotesJson(FILE *out, ViewHeap shared);

/* ViewNotesStacksText, ViewNotesStacksJson -- how many allocations and resizes have stacks in which callers are
 * missing; of a view that keeps the book */
extern void ViewNotesStacksText(FILE *out, ViewHeap shared);
extern void ViewNotesStacksJson(FILE *out, ViewHeap shared);

/* ViewNotesHeapText, ViewNotesHeapJson -- the same of a view with a heap of its own, and without callers */
extern void ViewNotesHeapText(FILE *out, Log log, Heap heap);
extern void ViewNotesHeapJson(FILE *out, Log log, Heap heap);

/* ViewNotesCount -- a line that counts something, if there is any: `one` or `many` says what */
extern void ViewNotesCount(FILE *out, const char *name, uint64_t n, const char *one, const char *many);

#endif /* ANALYSE_VIEWNOTES_H */
