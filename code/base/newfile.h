/* newfile.h -- a file that is written beside its place, and put there when it is whole
 *
 * The folder is opened once, and every name is looked up in that: who puts another folder, or a link to one, in its
 * place meanwhile does not have a file replaced there.
 *
 * Always true: `out` is there from NewFileBegin to NewFileEnd, and then `beside` is a file in the folder
 *
 * Design: design/log.md .trust      Tests: test/base/basetest.c, test/log/indexfiletest.c
 */
#ifndef BASE_NEWFILE_H
#define BASE_NEWFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>
#include <stdio.h>

#include "base/types.h"

enum { NewFileBeginsMAX = 512 }; /* bytes by which a file is known that may be replaced */

typedef struct NewFileStruct {
  int folder;                /* that the place is in; -1: not open */
  const char *name;          /* of the place, in the folder: the end of the path */
  char beside[NAME_MAX + 1]; /* what the file is called there until it is whole */
  FILE *out;                 /* while it is written; else NULL */
} NewFileStruct, *NewFile;

/* NewFileAt -- open the folder of a path, which must stay as long as `file`; ResIO with errno set
 * NewFileClose -- one that was begun and not ended is gone; errno stays as it is, so that it says what failed before */
extern Res NewFileAt(NewFile file, const char *path);
extern void NewFileClose(NewFile file);

/* NewFileOld -- a descriptor for reading the file at the place; -1 with errno set.  The open follows no link and does
 * not block.
 * NewFileReplaces -- may it be replaced: is nothing there, or a file that is empty or begins with these bytes? */
extern int NewFileOld(NewFile file);
extern Bool NewFileReplaces(NewFile file, const char *begins, Size length);

/* NewFileBegin -- make the file that is to be written, which nobody else may read; ResIO with errno set
 * NewFileEnd -- put it at its place in one step; ResIO with errno set: all is as it was */
extern Res NewFileBegin(NewFile file);
extern Res NewFileEnd(NewFile file);

#endif /* BASE_NEWFILE_H */
