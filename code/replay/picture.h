/* picture.h -- a page with a picture: resident bytes over time with each allocator, of the program itself, and the
 * bytes that live
 *
 * For the picture each allocator runs once more, so that looking at memory costs nothing where time is measured.
 *
 * Design: design/replayer.md .picture      Tests: test/replay/picture.t
 */
#ifndef REPLAY_PICTURE_H
#define REPLAY_PICTURE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/curve.h"
#include "replay/report.h"

typedef struct PictureStruct {
  const char *path;        /* of the page; NULL: none is wanted, and nothing of the rest is used */
  CurveStruct live;        /* bytes that the program's objects had */
  CurveStruct resident;    /* of the program, as it was sampled, without the recording's */
  CurveStruct with[MeasureAllocatorsMAX]; /* in the replay, by allocator; empty: it did not run */
} PictureStruct, *Picture;

/* PictureRun -- run each allocator that is shown once more, and keep its curve; arguments as MeasureRun's */
extern void PictureRun(Picture picture, Report report, ReplayRun run, int file, const PlayParamsStruct *params,
                       void (*say)(void *data, const char *name), void *data);

/* PictureSave -- write the page; NULL, or what failed, in words */
extern const char *PictureSave(Picture picture, Report report);

#endif /* REPLAY_PICTURE_H */
