/* image.h -- which file a process runs, of one that has said only how it was called
 *
 * The system knows, and a link in /proc says it; but the first look at a process there takes ten microseconds, much of
 * what one costs us that lives for a moment.  So what a name led to is remembered, as long as the same file is there.
 * What a process says is believed of that process alone: what is remembered for others is what the system has said, and
 * only if it is the file that is there under the name.  (Of a script it is not.)
 *
 * Design: design/collector.md .meet.program      Tests: test/collect.t, test/start.t
 */
#ifndef COLLECT_IMAGE_H
#define COLLECT_IMAGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>
#include <time.h>

#include "base/types.h"
#include "format/region.h"

enum { ImagesMAX = 64 };

typedef struct ImageStruct {
  char called[RegionPathMAX], program[RegionPathMAX];
  dev_t device;            /* of the file that `called` led to */
  ino_t inode;
  struct timespec changed;
} ImageStruct, *Image;

typedef struct ImagesStruct {
  Count count;             /* that were ever kept; the newest are there */
  Image image[ImagesMAX];
} ImagesStruct, *Images;

/* ImageFind -- `program` is how the process was called, an absolute path or another; from here on it is the path of the
 * file that it runs.  FALSE: that cannot be known, and it is as it was. */
extern Bool ImageFind(Images images, pid_t pid, char program[RegionPathMAX]);

extern void ImagesFinish(Images images);

#endif /* COLLECT_IMAGE_H */
