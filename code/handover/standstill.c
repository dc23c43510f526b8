/* standstill.c -- what the processes of a family leave for each other, and for the collector, while that stands still
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/standstill.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "emit/control.h"

enum {
  standstillHOLDS = 60, /* s; then one process asks the collector again */
  standstillPathMAX = sizeof RegionFOLDER + RegionLeftMAX
};

/* The link that is the note of an exec: who left it, which may be a child of vfork, its place and its inode, by which
 * it is taken back if the exec fails; 0: none */
static struct {
  uint32_t pid;
  unsigned place;
  uint64_t inode;
} standstillExec;

/* standstillPath -- where the notice, or a note, is; NULL: the recording has no identity by which all know it */
static const char *standstillPath(char room[standstillPathMAX], unsigned number)
{
  TextStruct text;

  if (ControlSettings.recording == 0)
    return NULL;
  TextInit(&text, room, standstillPathMAX);
  TextString(&text, RegionFOLDER "/");
  RegionLeftWrite(&text, ControlSettings.recording, number);
  return TextTerminate(&text);
}

/* standstillLink -- leave a link with that target; 0, or minus an errno: -EEXIST, there is one of that number */
static long standstillLink(const char *target, unsigned number)
{
  char room[standstillPathMAX];
  const char *path = standstillPath(room, number);

  return path == NULL ? -ENOENT : RawCall(SYS_symlinkat, target, AT_FDCWD, path);
}

void StandstillOver(void)
{
  char room[standstillPathMAX];
  const char *path = standstillPath(room, RegionStillNUMBER);

  if (path != NULL)
    (void)RawCall(SYS_unlinkat, AT_FDCWD, path, 0);
}

Bool StandstillNow(void)
{
  char room[standstillPathMAX];
  const char *path = standstillPath(room, RegionStillNUMBER);
  struct timespec now;
  struct stat status;

  if (path == NULL || RawCall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      (status.st_uid != 0 && status.st_uid != RawUser()))
    return FALSE;
  (void)clock_gettime(CLOCK_REALTIME, &now); /* which may have been set since */
  if (status.st_mtim.tv_sec <= now.tv_sec && now.tv_sec - status.st_mtim.tv_sec <= standstillHOLDS)
    return TRUE;
  StandstillOver();
  return FALSE;
}

void StandstillTell(void)
{
  (void)standstillLink(ControlSettings.log, RegionStillNUMBER);
}

/* standstillLook -- the inode of the note's link in this place; 0: there is none */
static uint64_t standstillLook(unsigned place)
{
  char room[standstillPathMAX];
  const char *path = standstillPath(room, place);
  struct stat status;

  return path != NULL && RawCall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

void StandstillNote(RegionMeet note)
{
  unsigned place = RegionNoteNUMBER, tries = RegionNotePut(note) ? 0 : RegionNotesMAX;
  long res = -EEXIST;

  for (; tries < RegionNotesMAX && res == -EEXIST; ++tries) {
    place = RegionNoteNUMBER + (note->self + tries) % RegionNotesMAX;
    res = standstillLink(note->program, place);
  }
  if (res != 0)
    (void)standstillLink("more", RegionMoreNUMBER);
  (void)standstillLink("notes", RegionNotesNUMBER);
  if (note->note == RegionNoteEXEC) {
    standstillExec.pid = note->self;
    standstillExec.place = place;
    standstillExec.inode = res == 0 ? standstillLook(place) : 0;
  }
}

Bool StandstillNoteBack(void)
{
  char room[standstillPathMAX];
  uint64_t inode = standstillExec.pid == (uint32_t)RawPid() ? standstillExec.inode : 0;
  const char *path = inode != 0 ? standstillPath(room, standstillExec.place) : NULL;

  if (inode == 0)
    return FALSE;
  standstillExec.inode = 0;
  return path != NULL && standstillLook(standstillExec.place) == inode &&
         RawCall(SYS_unlinkat, AT_FDCWD, path, 0) == 0;
}
