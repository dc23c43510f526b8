/* collectorstill.c -- a notice that the collector does not answer, for all processes of its family
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/collectorstill.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emit/control.h"
#include "plinth/rawsyscall.h"

enum { stillHOLDS = 60 }; /* s; then somebody asks again */

typedef struct StillPathStruct {
  char room[sizeof RegionFOLDER + RegionStillMAX];
} StillPathStruct, *StillPath;

/* stillPath -- where the notice is; NULL: the recording has no identity by which all know it */
static const char *stillPath(StillPath path)
{
  TextStruct text;

  if (ControlSettings.recording == 0)
    return NULL;
  TextInit(&text, path->room, sizeof path->room);
  TextString(&text, RegionFOLDER "/");
  RegionStillWrite(&text, ControlSettings.recording);
  return TextTerminate(&text);
}

/* stillHolds -- is it a minute old at most?  By the system's clock, which may have been set since. */
static Bool stillHolds(const struct stat *status)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_REALTIME, &now);
  return status->st_mtim.tv_sec <= now.tv_sec && now.tv_sec - status->st_mtim.tv_sec <= stillHOLDS;
}

Bool HandStill(void)
{
  StillPathStruct room;
  const char *path = stillPath(&room);
  struct stat status;

  if (path == NULL || RawCall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      (status.st_uid != 0 && status.st_uid != RawUser()))
    return FALSE;
  if (stillHolds(&status))
    return TRUE;
  HandStillOver();
  return FALSE;
}

void HandStillTell(void)
{
  StillPathStruct room;
  const char *path = stillPath(&room);

  if (path != NULL)
    (void)RawCall(SYS_symlinkat, ControlSettings.log, AT_FDCWD, path);
}

void HandStillOver(void)
{
  StillPathStruct room;
  const char *path = stillPath(&room);

  if (path != NULL)
    (void)RawCall(SYS_unlinkat, AT_FDCWD, path, 0);
}
