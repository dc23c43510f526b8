/* regionfile.h -- the reader's way to regions of dead processes: finds their files, and decides which may be opened
 *
 * (The collector makes and removes such files: collect/regionmaker.h.)
 *
 * A region is the shared memory in which a recorded process keeps its blocks (format/region.h).  Its file is looked for
 * in two folders, RegionFOLDER and the folder of the log, by the name that the maker of the region gave it.  Nothing
 * that a log or a region says names a file that is opened: it only chooses among the files in these folders.  A file is
 * opened only if it is regular, and owned by our own user or by the owner of the log.
 *
 * Design: design/log.md .trust .certain      Tests: test/recover/orphanreadertest.c, test/recover/trusttest.c
 */
#ifndef RECOVER_REGIONFILE_H
#define RECOVER_REGIONFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/types.h"
#include "format/region.h"

/* A file that has the name of a region. */
typedef struct RegionFileStruct {
  const char *folder;              /* the path of its folder */
  int at;                          /* a descriptor of that folder */
  const char *file;                /* its name there */
  RegionNameStruct name;           /* what that name says */
  struct stat status;              /* of the file, by RegionFileOpen */
} RegionFileStruct, *RegionFile;

/* RegionFileOpen -- open the file for reading, or for reading and writing
 *
 * The file is looked at before it is opened, so that no device, pipe or link ever is.
 * owner    the user who may own it, besides our own
 * returns  a descriptor; -1 with errno, which is EPERM if the file is not regular or belongs to another user
 */
extern int RegionFileOpen(RegionFile file, Bool write, uid_t owner);

/* RegionFileVisit -- called for a file that has the name of a region; anything but ResOK ends the search */
typedef Res (*RegionFileVisit)(void *data, RegionFile file);

/* RegionFileSearch -- visit the files in RegionFOLDER, and then those beside a log
 *
 * log      the path of the log; NULL: only RegionFOLDER is searched
 * returns  ResOK, or what `visit` returned.  A folder that cannot be read counts as empty.
 */
extern Res RegionFileSearch(const char *log, RegionFileVisit visit, void *data);

/* RegionFileNamed -- visit the file at a path that a log or a core names
 *
 * The path is taken apart: only its last part is used, as a name in one of the two folders.
 * recording  the recording that the name must say; 0: any
 * returns    ResOK, or what `visit` returned; ResPARAM: no region can be at this path
 */
extern Res RegionFileNamed(const char *path, uint64_t recording, const char *log, RegionFileVisit visit, void *data);

/* RegionFileTarget -- the absolute path of the log that an opened region in RegionFOLDER was made for, as the link
 * beside it says.  The link must have the same owner as the region.  FALSE: there is no such link.
 * room  PATH_MAX bytes */
extern Bool RegionFileTarget(char *room, RegionFile file);

/* RegionFileFirst -- may an empty log, which cannot say which recording it belongs to, be the log of this region?
 *
 * The log must have the inode number that the region's header tells.  Such a number is used again after a file was
 * removed, so the log must also be no younger than the region.  FALSE if the file system does not tell their ages.
 */
extern Bool RegionFileFirst(RegionFile file, uint64_t inode, int log);

/* RegionFileAppend -- open for appending the log that the link beside a region names
 *
 * Whether the log belongs to the region's recording is for RecoverLogOpen to find out.
 * certainReturn  an empty file at this path is certainly the log of `recording` (not 0): no part of the path is a link
 *                and the file has no other name, so that nobody who may write in one of the folders can have led us to
 *                another file; and every region of the recording can be read and was made for this file
 *                (RegionFileFirst)
 * returns        a descriptor; -1 with errno: ELOOP if the file is a link, EPERM if it is not regular or not our own
 *                user's
 */
extern int RegionFileAppend(Bool *certainReturn, const char *path, uint64_t recording);

/* RegionFileBarred -- is the process of an opened region unable to remove the file, because it has changed its user?
 * FALSE also if that is not known. */
extern Bool RegionFileBarred(RegionFile file);

/* RegionFileRemove -- remove the file that was opened, if its name still leads to it, and then the link beside it
 *
 * In this order a region has its link even if we are killed in between; `eventrec --clean` finds a link without a
 * region.
 */
extern void RegionFileRemove(RegionFile file);

#endif /* RECOVER_REGIONFILE_H */
