/* unrecorded.c -- finds processes of the family that do not record themselves
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/unrecorded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "format/region.h"
#include "monitor/procfs.h"

enum {
  unrecordedMOMENT = 200,       /* ms in which a program has loaded its libraries, on a busy machine, too */
  unrecordedPATIENCE = 5000,    /* ms after which one that still runs is looked at all the same */
  unrecordedRECENT = 10000,     /* ms in which a process number is not used again */
  unrecordedWaitsMAX = 4096,    /* processes that are waited for */
  unrecordedNamesMAX = 200,     /* programs that are named */
  unrecordedClearedMAX = 4096,
  unrecordedNsPerMs = 1000000
};

typedef struct UnrecordedWaitStruct {
  pid_t pid;
  unsigned lack;
  Bool seen;                /* nobody has announced it; it was found */
  Bool certain;             /* it cannot come: its file says so */
  uint64_t since;
  char *path;               /* owned */
} UnrecordedWaitStruct, *UnrecordedWait;

typedef struct UnrecordedNameStruct {
  char *path;               /* owned */
  const char *reason;
  Count count;              /* processes whose number is known, */
  Count seen;               /* those of them that were only seen, */
  Count hidden;             /* and processes without a number: each may be one that was seen */
} UnrecordedNameStruct, *UnrecordedName;

/* A process of which all is well, as long as it runs this program. */
typedef struct UnrecordedClearedStruct {
  pid_t pid;
  uint32_t hash;            /* of the program's path */
  uint64_t when;
} UnrecordedClearedStruct, *UnrecordedCleared;

/* The reason of a process whose file says that it cannot announce itself.  It is compared only: UnrecordedTell gives no reason
 * then, because its caller knows what the file says. */
static const char unrecordedFile[] = "its file says that it cannot";

struct UnrecordedStruct {
  UnrecordedWait wait;
  Count waits, waitCapacity;
  UnrecordedName name;
  Count names, nameCapacity;
  Count unnamed;            /* processes for which there was no room */
  uint64_t forgiven;        /* who was announced until then may have recorded itself without a word */
  UnrecordedClearedStruct cleared[unrecordedClearedMAX]; /* by the low bits of the process number */
};

Res UnrecordedCreate(Unrecorded *unrecordedReturn)
{
  *unrecordedReturn = calloc(1, sizeof **unrecordedReturn);
  return *unrecordedReturn != NULL ? ResOK : ResMEMORY;
}

/* unrecordedForget -- the i-th is waited for no longer */
static void unrecordedForget(Unrecorded absent, Index i)
{
  free(absent->wait[i].path);
  absent->wait[i] = absent->wait[--absent->waits];
}

void UnrecordedDestroy(Unrecorded absent)
{
  Index i;

  while (absent->waits > 0)
    unrecordedForget(absent, absent->waits - 1);
  for (i = 0; i < absent->names; ++i)
    free(absent->name[i].path);
  free(absent->wait);
  free(absent->name);
  free(absent);
}

Bool UnrecordedCheck(Unrecorded absent)
{
  Index i, k;

  for (i = 0; i < absent->waits; ++i)
    for (k = 0; k < i; ++k)
      AVER(absent->wait[i].pid != absent->wait[k].pid);
  for (i = 0; i < absent->names; ++i)
    for (k = 0; k < i; ++k)
      AVER(absent->name[i].reason != absent->name[k].reason ||
           strcmp(absent->name[i].path, absent->name[k].path) != 0);
  return TRUE;
}

static uint32_t unrecordedHash(const char *path)
{
  uint32_t hash = 2166136261u;

  for (; *path != '\0'; ++path)
    hash = (hash ^ (unsigned char)*path) * 16777619u;
  return hash;
}

static UnrecordedCleared unrecordedCleared(Unrecorded absent, pid_t pid)
{
  return &absent->cleared[(unsigned)pid % unrecordedClearedMAX];
}

static void unrecordedClear(Unrecorded absent, pid_t pid, const char *path, uint64_t now)
{
  *unrecordedCleared(absent, pid) = (UnrecordedClearedStruct){pid, unrecordedHash(path), now};
}

/* unrecordedName -- the name of a program that has not come for this reason; NULL: there are too many */
static UnrecordedName unrecordedName(Unrecorded absent, const char *path, const char *reason)
{
  UnrecordedName name;
  Index i;

  for (i = 0; i < absent->names; ++i)
    if (absent->name[i].reason == reason && strcmp(absent->name[i].path, path) == 0)
      return &absent->name[i];
  absent->unnamed += absent->names == unrecordedNamesMAX;
  if (absent->names == unrecordedNamesMAX ||
      !Grow(&absent->name, &absent->nameCapacity, absent->names, sizeof *absent->name))
    return NULL;
  name = &absent->name[absent->names];
  *name = (UnrecordedNameStruct){.path = strdup(path), .reason = reason};
  absent->names += name->path != NULL;
  return name->path != NULL ? name : NULL;
}

/* unrecordedCount -- one more process has not come.  A file has one name here, whatever links lead to it. */
static void unrecordedCount(Unrecorded absent, const UnrecordedWaitStruct *wait, const char *path, const char *reason)
{
  char real[PATH_MAX];
  UnrecordedName name = unrecordedName(absent, path[0] == '/' && realpath(path, real) != NULL ? real : path, reason);

  if (name != NULL) {
    ++name->count;
    name->seen += wait->seen;
  }
}

/* unrecordedOver -- the i-th is waited for no longer; who was certain not to come has been there all the same */
static void unrecordedOver(Unrecorded absent, Index i)
{
  if (absent->wait[i].certain)
    unrecordedCount(absent, &absent->wait[i], absent->wait[i].path, unrecordedFile);
  unrecordedForget(absent, i);
}

/* unrecordedNext -- the process has become another program by now, or is another process */
static void unrecordedNext(Unrecorded absent, pid_t pid)
{
  Index i;

  for (i = absent->waits; i-- > 0; )
    if (absent->wait[i].pid == pid)
      unrecordedOver(absent, i);
}

void UnrecordedStays(Unrecorded absent, pid_t pid)
{
  Index i;

  for (i = absent->waits; i-- > 0; )
    if (absent->wait[i].pid == pid)
      unrecordedForget(absent, i);
}

void UnrecordedMet(Unrecorded absent, pid_t pid, const char *path, uint64_t now)
{
  unrecordedNext(absent, pid);
  unrecordedClear(absent, pid, path, now);
}

/* unrecordedAdd -- wait for a process; where too many are waited for, it is only counted */
static void unrecordedAdd(Unrecorded absent, UnrecordedWaitStruct wait, const char *path)
{
  unrecordedNext(absent, wait.pid);
  if (absent->waits < unrecordedWaitsMAX &&
      Grow(&absent->wait, &absent->waitCapacity, absent->waits, sizeof *absent->wait) &&
      (wait.path = strdup(path)) != NULL)
    absent->wait[absent->waits++] = wait;
  else
    ++absent->unnamed;
}

/* unrecordedSaw -- a note about a process comes after the process was seen in /proc: forget what was seen.  Both are of one
 * program; the note was still in the queue. */
static void unrecordedSaw(Unrecorded absent, pid_t pid)
{
  Index i;

  for (i = absent->waits; i-- > 0; )
    if (absent->wait[i].pid == pid && absent->wait[i].seen)
      unrecordedForget(absent, i);
}

void UnrecordedExec(Unrecorded absent, pid_t pid, const char *path, unsigned lack, Bool certain, uint64_t now)
{
  unrecordedSaw(absent, pid);
  unrecordedAdd(absent, (UnrecordedWaitStruct){.pid = pid, .lack = lack, .certain = certain, .since = now}, path);
}

void UnrecordedStart(Unrecorded absent, pid_t pid, const char *path, unsigned lack, Bool certain, uint64_t now)
{
  UnrecordedCleared cleared = unrecordedCleared(absent, pid);

  if (cleared->pid == pid && now - cleared->when <= (uint64_t)unrecordedRECENT * unrecordedNsPerMs)
    return;
  UnrecordedStays(absent, pid); /* it may have been seen before it was announced */
  UnrecordedExec(absent, pid, path, lack, certain, now);
}

void UnrecordedSeen(Unrecorded absent, pid_t pid, const char *path, Bool certain, uint64_t now)
{
  UnrecordedCleared cleared = unrecordedCleared(absent, pid);
  Index i;

  if (cleared->pid == pid && cleared->hash == unrecordedHash(path))
    return;
  for (i = 0; i < absent->waits; ++i)
    if (absent->wait[i].pid == pid)
      return;
  unrecordedAdd(absent, (UnrecordedWaitStruct){.pid = pid, .seen = TRUE, .certain = certain, .since = now}, path);
}

/* unrecordedHolds -- does a file of the process hold this string?  *readReturn: how many bytes were read; -1: it cannot be */
static Bool unrecordedHolds(ssize_t *readReturn, pid_t pid, const char *file, const char *string)
{
  return ProcHolds(readReturn, AT_FDCWD, pid, file, string, SIZE_MAX);
}

/* unrecordedElsewhere -- does the process see other folders than we do? */
static Bool unrecordedElsewhere(pid_t pid)
{
  struct stat its, ours, itsRoot, ourRoot;
  char path[64];

  (void)snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)pid);
  if (stat(path, &its) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 && its.st_ino != ours.st_ino)
    return TRUE;
  (void)snprintf(path, sizeof path, "/proc/%ld/root", (long)pid);
  return stat(path, &itsRoot) == 0 && stat("/", &ourRoot) == 0 &&
         (itsRoot.st_ino != ourRoot.st_ino || itsRoot.st_dev != ourRoot.st_dev);
}

/* unrecordedLack -- what was missing in an environment, in words; constants, which are compared by address */
static const char *unrecordedLack(unsigned lack)
{
  /* First: without the library nobody records it. */
  return (lack & RegionLackOTHERS) != 0      ? "LD_PRELOAD was without libpawprint.so in the environment that it was given"
         : (lack & RegionLackLIBRARY) != 0   ? "LD_PRELOAD was not in the environment that it was given"
         : (lack & RegionLackCOLLECTOR) != 0 ? "another eventrec, inside this one, records it, and what it starts"
                                           : RegionVARIABLE " was not in the environment that it was given";
}

void UnrecordedForgive(Unrecorded absent, uint64_t now)
{
  absent->forgiven = now + (uint64_t)unrecordedMOMENT * unrecordedNsPerMs;
}

/* unrecordedReason -- why the process did not announce itself to the collector.  NULL: it need not, or it has ended and the
 * reason cannot be found out. */
static const char *unrecordedReason(Unrecorded absent, const UnrecordedWaitStruct *wait)
{
  Bool recorded, preloads, others;
  ssize_t read;

  if ((wait->lack & RegionLackCOLLECTOR) == 0 && unrecordedHolds(&read, wait->pid, "maps", "libpawprint.so"))
    return NULL;
  if (wait->lack != 0)
    return unrecordedLack(wait->lack);
  if (read <= 0)
    return wait->seen || wait->since <= absent->forgiven
               ? NULL : "it ended, or changed its user, before it announced itself, or could not reach eventrec "
                        "(another network namespace)";
  preloads = unrecordedHolds(&read, wait->pid, "environ", "libpawprint.so");
  if (read >= 0 && !preloads) {
    others = unrecordedHolds(&read, wait->pid, "environ", "LD_PRELOAD=");
    return unrecordedLack(others ? RegionLackLIBRARY | RegionLackOTHERS : RegionLackLIBRARY);
  }
  recorded = unrecordedHolds(&read, wait->pid, "environ", RegionVARIABLE "=");
  if (read >= 0 && !recorded)
    return unrecordedLack(RegionLackRECORDING);
  return unrecordedElsewhere(wait->pid) ? "it sees other folders, in which the library is not" :
                                      "it did not load the library";
}

void UnrecordedHidden(Unrecorded absent, const char *path, unsigned lack)
{
  char real[PATH_MAX];
  UnrecordedName name;

  /* Who is seen has the name that the system gives the file. */
  name = lack == 0 ? NULL : unrecordedName(absent, realpath(path, real) != NULL ? real : path, unrecordedLack(lack));
  if (name != NULL)
    ++name->hidden;
}

/* unrecordedJudge -- count a process that has not come, or remember that all is well */
static void unrecordedJudge(Unrecorded absent, const UnrecordedWaitStruct *wait, uint64_t now)
{
  const char *reason = wait->certain ? NULL : unrecordedReason(absent, wait);
  char path[PATH_MAX];
  const char *program = ProcProgram(path, sizeof path, AT_FDCWD, wait->pid) ? path : wait->path;

  /* What exec was given is certain; what runs now may be the next program already. */
  if (reason != NULL)
    unrecordedCount(absent, wait, wait->lack != 0 ? wait->path : program, reason);
  unrecordedClear(absent, wait->pid, program, now);
}

/* unrecordedLoading -- may the process still be loading its libraries?  On a busy machine that takes any time; but whoever
 * loads does not sleep. */
static Bool unrecordedLoading(pid_t pid)
{
  char path[64], text[512];
  const char *behind;
  ssize_t n = -1;
  int fd;

  (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    n = read(fd, text, sizeof text - 1);
    (void)close(fd);
  }
  text[n > 0 ? n : 0] = '\0';
  behind = strrchr(text, ')');
  return behind != NULL && (strncmp(behind, ") R", 3) == 0 || strncmp(behind, ") D", 3) == 0);
}

/* unrecordedBefore -- is the process still the program that announced what it is going to be?  On a busy machine any time lies
 * between the note and the exec. */
static Bool unrecordedBefore(const UnrecordedWaitStruct *wait)
{
  ssize_t read;

  return !wait->seen && (wait->certain || wait->lack != 0) && (wait->lack & RegionLackCOLLECTOR) == 0 &&
         unrecordedHolds(&read, wait->pid, "maps", "libpawprint.so");
}

/* unrecordedDue -- is the moment over?  At the end of the recording it is for who is not there any more, or will not
 * come. */
static Bool unrecordedDue(const UnrecordedWaitStruct *wait, uint64_t now, Bool last)
{
  char path[PATH_MAX];

  if (!last && now - wait->since < (uint64_t)unrecordedPATIENCE * unrecordedNsPerMs && unrecordedBefore(wait))
    return FALSE;
  if (now - wait->since >= (uint64_t)unrecordedMOMENT * unrecordedNsPerMs)
    return wait->lack != 0 || wait->certain || now - wait->since >= (uint64_t)unrecordedPATIENCE * unrecordedNsPerMs ||
           !unrecordedLoading(wait->pid);
  return last && (wait->lack != 0 || wait->certain || (!ProcProgram(path, sizeof path, AT_FDCWD, wait->pid) && errno != EACCES));
}

void UnrecordedPoll(Unrecorded absent, uint64_t now, Bool last)
{
  Index i;

  for (i = absent->waits; i-- > 0; )
    if (unrecordedDue(&absent->wait[i], now, last)) {
      unrecordedJudge(absent, &absent->wait[i], now);
      unrecordedOver(absent, i);
    }
}

Count UnrecordedUnnamed(Unrecorded absent)
{
  return absent->unnamed;
}

void UnrecordedTell(Unrecorded absent, void (*tell)(void *data, const char *path, const char *reason, Count count), void *data)
{
  Index i;

  AVER(UnrecordedCheck(absent));
  for (i = 0; i < absent->names; ++i) {
    UnrecordedName name = &absent->name[i];
    tell(data, name->path, name->reason == unrecordedFile ? NULL : name->reason,
         name->count + (name->hidden > name->seen ? name->hidden - name->seen : 0));
  }
}
