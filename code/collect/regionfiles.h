/* regionfiles.h -- where the collector makes regions, and removes them
 *
 * A region is made in a folder that was opened once, under a name that says the recording and the process, and is
 * removed by the same folder and name, which stand in our memory alone.  Nothing that a recorded program says names a
 * file here.
 *
 * Always true: of a file that was made `fd` is open; `folder` is -1 if it has no name.
 *
 * Design: design/collector.md .meet      Tests: test/collect/collecttest.c, test/collect/collect.t
 */
#ifndef COLLECT_REGIONFILES_H
#define COLLECT_REGIONFILES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>
#include <sys/types.h>

#include "base/types.h"
#include "format/region.h"

typedef struct PlaceStruct {
  uint64_t recording;
  int memory, beside;      /* the folders: RegionFOLDER, and that of the log; -1: there is none */
  int open;                /* the folder of our own open files; -1 */
  char log[PATH_MAX];      /* the log's absolute path; "": it is no file */
  dev_t device;            /* and which file that is */
  ino_t inode;
} PlaceStruct, *Place;

typedef struct PlaceFileStruct {
  int fd;                  /* -1: there is none */
  int locked;              /* another open file description, with the lock: the process's, once it has it; -1 */
  int folder;              /* of the Place */
  Bool linked;
  char name[NAME_MAX + 1];
} PlaceFileStruct, *PlaceFile;

/* PlaceFolder -- the folder that a file lies in, opened once, for what is to be made, looked at and removed there: so all of it
 * happens in one folder, whoever may put another one in its place meanwhile
 *
 * nameReturn  the file's name in it; a part of `path`
 * returns     a descriptor (O_PATH); -1: errno says why
 */
extern int PlaceFolder(const char **nameReturn, const char *path);

/* PlaceOpen -- where regions of a recording can be
 * log  its absolute path, or NULL */
extern void PlaceOpen(Place placeReturn, uint64_t recording, const char *log);
extern void PlaceClose(Place place);

/* PlaceMake -- a new file of mode 0600, `size` bytes long, whose first page is there
 *
 * It is locked before it has a size: so whoever finds one that has a size and no lock knows that nobody makes it.
 *
 * pathReturn  where it is, RegionPathMAX bytes; "": it has no name
 * returns     ResIO: errno says why
 */
extern Res PlaceMake(PlaceFile fileReturn, char *pathReturn, Place place, pid_t pid, Size size);

/* PlaceAgain -- open a file that is open already once more: another open file description, -1 with errno set */
extern int PlaceAgain(Place place, int fd, int flags);

/* PlaceGoesRound -- whoever has said that the collector stands still was wrong: remove that notice.  FALSE: there is none */
extern Bool PlaceGoesRound(Place place);

/* PlaceRemove -- remove the file, and the link beside it.  PlaceDrop -- close it; it stays where it is. */
extern void PlaceRemove(PlaceFile file);
extern void PlaceDrop(PlaceFile file);

#endif /* COLLECT_REGIONFILES_H */
