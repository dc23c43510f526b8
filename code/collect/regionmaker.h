/* regionmaker.h -- the collector makes the files of regions (shared memory), and removes them
 *
 * (The readers find what is left of them: recover/regionfile.h.)
 *
 * A file is made in a folder that was opened once, under a name that contains the recording and the process.  It is
 * removed by the same folder and name, which are kept in our own memory only.  Nothing that a recorded program says
 * names a file here.
 *
 * Always true:
 *   MadeRegionCheck   `fd` is open; `folder` is -1 if the file has no name, and only a file with a name has a link
 *   RegionMakerCheck  the log is no file, or has an absolute path; only then is there a folder for what lies beside it
 *
 * Design: design/collector.md .meet      Tests: test/collect/recordingtest.c, test/collect/collect.t
 */
#ifndef COLLECT_REGIONMAKER_H
#define COLLECT_REGIONMAKER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>
#include <sys/types.h>

#include "base/types.h"
#include "format/region.h"

typedef struct RegionMakerStruct {
  uint64_t recording;
  int memory, beside;      /* the folders: RegionFOLDER, and that of the log; -1: there is none */
  char log[PATH_MAX];      /* the log's absolute path; "": it is no file */
  dev_t device;            /* and which file that is */
  ino_t inode;
} RegionMakerStruct, *RegionMaker;

typedef struct MadeRegionStruct {
  int fd;                  /* -1: there is none */
  int locked;              /* another open file description, with the lock: the process's, once it has it; -1 */
  int folder;              /* of the RegionMaker; -1: the file has no name */
  Bool linked;
  char name[NAME_MAX + 1];
} MadeRegionStruct, *MadeRegion;

extern Bool RegionMakerCheck(const RegionMakerStruct *maker);
extern Bool MadeRegionCheck(const MadeRegionStruct *file);

/* FolderOpen -- open the folder that a file lies in.  The descriptor stands for this folder, also after somebody has
 * renamed it and has given its name to another one.
 *
 * nameReturn  the file's name in it; a part of `path`
 * returns     a descriptor (O_PATH); -1: errno says why
 */
extern int FolderOpen(const char **nameReturn, const char *path);

/* RegionMakerOpen -- open the folders in which regions of a recording can be
 * log  its absolute path, or NULL */
extern void RegionMakerOpen(RegionMaker makerReturn, uint64_t recording, const char *log);
extern void RegionMakerClose(RegionMaker maker);

/* RegionMakerMake -- a new file of mode 0600, `size` bytes long, whose first page is there
 *
 * It is locked before it has a size, so a file with a size and without a lock is not being made.
 *
 * pathReturn  where it is, RegionPathMAX bytes; "": it has no name
 * returns     ResIO: errno says why
 */
extern Res RegionMakerMake(MadeRegion fileReturn, char *pathReturn, RegionMaker maker, pid_t pid, Size size);

/* RegionMakerGoesRound -- remove the notice by which a process has said that the collector stands still; FALSE: there
 * is none */
extern Bool RegionMakerGoesRound(RegionMaker maker);

/* RegionMakerNotes -- have processes left notes since this was asked last, because the collector stood still?  One
 * system call if not.
 * last  asked at the end: TRUE also where another user has made the sign that there are, which we cannot remove */
extern Bool RegionMakerNotes(RegionMaker maker, Bool last);

/* RegionMakerNote -- take the i'th of these notes, and remove it; with RegionNotesMAX the sign that there were more
 *
 * noteReturn  RegionNoteNONE: it cannot be read, or be removed, or is that sign
 * userReturn  whose it is: any user of the system may have made it
 * returns     FALSE: there is none
 */
extern Bool RegionMakerNote(RegionMeet noteReturn, uid_t *userReturn, RegionMaker maker, Index i);

/* MadeRegionRemove -- remove the file, and the link beside it.  MadeRegionDrop -- close it; it stays where it is. */
extern void MadeRegionRemove(MadeRegion file);
extern void MadeRegionDrop(MadeRegion file);

#endif /* COLLECT_REGIONMAKER_H */
