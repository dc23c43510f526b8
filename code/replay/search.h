/* search.h -- tries the settings of allocators that matter, and keeps the best
 *
 * There are more settings than there is time to measure each as often as its difference from another needs.  So all run
 * once; the worse half is dropped, and the others run twice; and so on (successive halving), until a few are left, for
 * which the rest of the time is spent.  Better is who takes less processor time and less memory: of two that differ
 * both ways, neither is.  The allocator that the program had stays to the end, because all are compared with it; and an
 * allocator as it is stays as long as one of its settings does, because a setting is worth nothing that cannot be told
 * from none.
 *
 * Design: design/replayer.md .search      Tests: test/replay/searchtest.c, test/replay/replay.t
 */
#ifndef REPLAY_SEARCH_H
#define REPLAY_SEARCH_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/measure.h"
#include "replay/predict.h"
#include "replay/script.h"

enum { SearchLAST = 5 /* of so many the last round is, the one that the program had not counted */ };

/* SearchAdd -- put the settings that matter behind the allocators of `measure`, of those that have a name and no
 * settings; of our pools, parameters of classes that the script has.  ResLIMIT: there is no room for all. */
extern Res SearchAdd(Measure measure, Script script);

/* SearchRun -- run all, as MeasureRun does, for measure->seconds: no run begins later.  `measure` has only those that
 * are left then; if there was no time for all to run once, all are there, and those that have not are `untried`.  When
 * *measure->stop is set, with what is known by then. */
extern void SearchRun(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params,
                      void (*say)(void *data, const char *name), void *data);

/* SearchKeep -- the best so many of those that have run stay, their allocators as they are, and the one that the
 * program had */
extern void SearchKeep(Measure measure, Count keep);

/* SearchBest -- is no other known to take as little of one and less of the other?  By the ranges of `predict`, or,
 * where nothing can be predicted, by the medians.  One with settings also has to be known to take less of something
 * than its allocator without. */
extern Bool SearchBest(const PredictStruct *predict, const MeasureStruct *measure, Index allocator);

#endif /* REPLAY_SEARCH_H */
