/* regionplace.h -- finds the files of regions, and decides which of them may be opened
 *
 * Nothing that a log or a region says names a file that is opened. Regions are looked for in two places, RegionFOLDER and
 * the folder of the log, by the name that whoever made them gave them (RegionNameParse), and opened only if they are
 * regular files of ours or of the log's owner.
 *
 * Design: design/log.md .trust      Tests: test/recover/orphantest.c, test/recover/trusttest.c
 */
#ifndef RECOVER_REGIONPLACE_H
#define RECOVER_REGIONPLACE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/types.h"
#include "format/region.h"

/* A file that is called as regions are. */
typedef struct RegionPlaceStruct {
  const char *folder;              /* its path, */
  int at;                          /* a descriptor of it, */
  const char *file;                /* and the name there */
  RegionNameStruct name;           /* what that says */
} RegionPlaceStruct, *RegionPlace;

/* RegionPlaceOpen -- open such a file, for reading, or for reading and writing
 *
 * It is looked at before it is opened, so that nothing but a regular file ever is; no link is followed.
 * owner    besides us, who may own it
 * returns  a descriptor, and *statusReturn; -1 with errno: EPERM if it is nobody's whom we may believe */
extern int RegionPlaceOpen(struct stat *statusReturn, RegionPlace place, Bool write, uid_t owner);

/* RegionPlaceVisit -- called for a file that is called as regions are; not ResOK: the search ends */
typedef Res (*RegionPlaceVisit)(void *data, RegionPlace place);

/* RegionPlaceSearch -- in RegionFOLDER, and then beside a log
 * log      its path; NULL: it has none
 * returns  ResOK, or what `visit` returned; a folder that cannot be read has nothing */
extern Res RegionPlaceSearch(const char *log, RegionPlaceVisit visit, void *data);

/* RegionPlaceNamed -- the same for one file whose path a log tells: it is taken apart, and has to be in one of the places,
 * and of this recording (0: of any)
 * returns  ResOK, or what `visit` returned; ResPARAM: it is no such path */
extern Res RegionPlaceNamed(const char *path, uint64_t recording, const char *log, RegionPlaceVisit visit, void *data);

/* RegionPlaceTarget -- the absolute path of the log that a region in RegionFOLDER was made for, as the link beside it says,
 * which its owner made; FALSE: there is none
 * room  PATH_MAX bytes */
extern Bool RegionPlaceTarget(char *room, RegionPlace place, uid_t owner);

/* RegionPlaceFirst -- may a log to which nothing has come be the one that a region was made for, though it cannot say so?  It has the
 * number that the region tells of it, which is given again when a file is gone; so it must not be younger than the region,
 * either.  FALSE also where the file system does not tell.
 * inode  that number */
extern Bool RegionPlaceFirst(RegionPlace place, uint64_t inode, int log);

/* RegionPlaceAppend -- open the log that such a link names, for appending, if it is a regular file of ours; -1 with errno
 * (ELOOP: it is a link).
 * Whether it is of the region's recording LogRecordingHas tells.
 * certain  if it is empty it is the log of this recording: no link is on the way to it, in any folder, and it has one name, so
 *          whoever may write in one of the folders cannot have led us to a file that is elsewhere; and all regions of the
 *          recording were made for it, and can be read (RegionPlaceFirst).  Of recording 0 none is. */
extern int RegionPlaceAppend(Bool *certainReturn, const char *path, uint64_t recording);

/* RegionPlaceLog -- was a region in RegionFOLDER made for the log at this absolute path, as the link beside it says, which
 * its owner made? */
extern Bool RegionPlaceLog(RegionPlace place, uid_t owner, const char *path);

/* RegionPlaceBarred -- is the process that a region is of one that may not remove it now, because it has changed its user?  FALSE also where
 * that is not known. */
extern Bool RegionPlaceBarred(RegionPlace place, const struct stat *status);

/* RegionPlaceRemove -- remove the file, if it is still the one of `status`, and then the link beside it: so there is no
 * region without it, whenever we are killed, and a link alone is found by eventrec --clean */
extern void RegionPlaceRemove(RegionPlace place, const struct stat *status);

#endif /* RECOVER_REGIONPLACE_H */
