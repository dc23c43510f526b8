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
#include "log/logfile.h"
#include "monitor/procfs.h"

enum {
  unrecordedMOMENT = 200,       /* ms in which a program has loaded its libraries, on a busy machine, too */
  unrecordedPATIENCE = 5000,    /* ms after which one that still runs is looked at all the same */
  unrecordedRECENT = 10000,     /* ms in which a process number is not used again */
  unrecordedWaitsMAX = 4096,    /* processes that are waited for */
  unrecordedNamesMAX = 200,     /* programs that are named */
  unrecordedClearedMAX = 4096,
  unrecordedNAME = 64,          /* bytes of a process's name in /proc */
  unrecordedCOMM = 15,          /* of which the system keeps so many */
  unrecordedNsPerMs = 1000000
};

typedef struct UnrecordedWaitStruct {
  pid_t pid;
  unsigned lack;
  Bool seen;                /* it was not announced, but found */
  Bool certain;             /* it cannot ask for a region: its file shows that */
  uint64_t since;
  char *path;               /* owned */
} UnrecordedWaitStruct, *UnrecordedWait;

typedef struct UnrecordedNameStruct {
  char *path;               /* owned */
  const char *reason;
  Count count;              /* processes whose number is known */
  Count seen;               /* those of them that were found, and not announced */
  Count hidden;             /* processes whose number is not known: each may be one of `seen` */
} UnrecordedNameStruct, *UnrecordedName;

/* A process that need not be looked at again as long as it runs this program. */
typedef struct UnrecordedClearedStruct {
  pid_t pid;
  uint32_t hash;            /* of the program's path */
  uint64_t when;
  Index counted;            /* the entry, plus one, in which it was counted: it did not record itself; 0: in none */
  Bool seen;                /* as one that was found */
} UnrecordedClearedStruct, *UnrecordedCleared;

/* The reason of a process whose file shows that it cannot load the library.  It is only compared: UnrecordedTell passes
 * NULL then, because its caller knows what the file shows. */
static const char unrecordedFile[] = "its file says that it cannot";

struct UnrecordedStruct {
  UnrecordedWait wait;
  Count waits, waitCapacity;
  UnrecordedName name;
  Count names, nameCapacity;
  Count unnamed;            /* processes for which there was no room */
  const char *library;      /* its path; NULL: not known */
  uint64_t forgiven;        /* a process that was announced until then may have recorded itself without asking */
  UnrecordedClearedStruct cleared[unrecordedClearedMAX]; /* by the low bits of the process number */
};

Res UnrecordedCreate(Unrecorded *unrecordedReturn, const char *library)
{
  *unrecordedReturn = calloc(1, sizeof **unrecordedReturn);
  if (*unrecordedReturn == NULL)
    return ResMEMORY;
  (*unrecordedReturn)->library = library;
  return ResOK;
}

/* unrecordedForget -- stop waiting for the i-th process */
static void unrecordedForget(Unrecorded unrecorded, Index i)
{
  AVER(i < unrecorded->waits);
  free(unrecorded->wait[i].path);
  unrecorded->wait[i] = unrecorded->wait[--unrecorded->waits];
}

void UnrecordedDestroy(Unrecorded unrecorded)
{
  Index i;

  AVER(UnrecordedCheck(unrecorded));
  while (unrecorded->waits > 0)
    unrecordedForget(unrecorded, unrecorded->waits - 1);
  for (i = 0; i < unrecorded->names; ++i)
    free(unrecorded->name[i].path);
  free(unrecorded->wait);
  free(unrecorded->name);
  free(unrecorded);
}

Bool UnrecordedCheck(Unrecorded unrecorded)
{
  Index i, k;

  for (i = 0; i < unrecorded->waits; ++i)
    for (k = 0; k < i; ++k)
      if (unrecorded->wait[i].pid == unrecorded->wait[k].pid)
        return FALSE;
  for (i = 0; i < unrecorded->names; ++i) {
    UnrecordedName name = &unrecorded->name[i];
    if (name->seen > name->count)
      return FALSE;
    for (k = 0; k < i; ++k)
      if (name->reason == unrecorded->name[k].reason && strcmp(name->path, unrecorded->name[k].path) == 0)
        return FALSE;
  }
  return unrecorded->waits <= unrecorded->waitCapacity && unrecorded->waits <= unrecordedWaitsMAX &&
         unrecorded->names <= unrecorded->nameCapacity && unrecorded->names <= unrecordedNamesMAX;
}

static uint32_t unrecordedHash(const char *path)
{
  uint32_t hash = 2166136261u;

  for (; *path != '\0'; ++path)
    hash = (hash ^ (unsigned char)*path) * 16777619u;
  return hash;
}

static UnrecordedCleared unrecordedCleared(Unrecorded unrecorded, pid_t pid)
{
  return &unrecorded->cleared[(unsigned)pid % unrecordedClearedMAX];
}

/* unrecordedName -- the entry of a program and a reason; NULL: there are too many */
static UnrecordedName unrecordedName(Unrecorded unrecorded, const char *path, const char *reason)
{
  UnrecordedName name;
  Index i;

  for (i = 0; i < unrecorded->names; ++i)
    if (unrecorded->name[i].reason == reason && strcmp(unrecorded->name[i].path, path) == 0)
      return &unrecorded->name[i];
  unrecorded->unnamed += unrecorded->names == unrecordedNamesMAX;
  if (unrecorded->names == unrecordedNamesMAX ||
      !Grow(&unrecorded->name, &unrecorded->nameCapacity, unrecorded->names, sizeof *unrecorded->name))
    return NULL;
  name = &unrecorded->name[unrecorded->names];
  *name = (UnrecordedNameStruct){.path = strdup(path), .reason = reason};
  unrecorded->names += name->path != NULL;
  return name->path != NULL ? name : NULL;
}

/* unrecordedCount -- count one more process that does not record itself.  A file has one name here, whatever links lead
 * to it.  Returns the number of its entry, plus one; 0: it has none */
static Index unrecordedCount(Unrecorded unrecorded, const UnrecordedWaitStruct *wait, const char *path,
                             const char *reason)
{
  char real[PATH_MAX];
  UnrecordedName name =
      unrecordedName(unrecorded, path[0] == '/' && realpath(path, real) != NULL ? real : path, reason);

  if (name == NULL)
    return 0;
  ++name->count;
  name->seen += wait->seen;
  return (Index)(name - unrecorded->name) + 1;
}

/* unrecordedOver -- stop waiting for the i-th process.  One that cannot ask for a region is counted all the same. */
static void unrecordedOver(Unrecorded unrecorded, Index i)
{
  if (unrecorded->wait[i].certain)
    (void)unrecordedCount(unrecorded, &unrecorded->wait[i], unrecorded->wait[i].path, unrecordedFile);
  unrecordedForget(unrecorded, i);
}

/* unrecordedFind -- where the process is among those that are waited for; `waits` if it is not */
static Index unrecordedFind(Unrecorded unrecorded, pid_t pid)
{
  Index i;

  for (i = 0; i < unrecorded->waits && unrecorded->wait[i].pid != pid; ++i)
    ;
  return i;
}

/* unrecordedNext -- the process has become another program by now, or is another process */
static void unrecordedNext(Unrecorded unrecorded, pid_t pid)
{
  Index i = unrecordedFind(unrecorded, pid);

  if (i < unrecorded->waits)
    unrecordedOver(unrecorded, i);
}

void UnrecordedStays(Unrecorded unrecorded, pid_t pid)
{
  Index i = unrecordedFind(unrecorded, pid);

  if (i < unrecorded->waits)
    unrecordedForget(unrecorded, i);
}

void UnrecordedMet(Unrecorded unrecorded, pid_t pid, const char *path, uint64_t now)
{
  UnrecordedCleared cleared = unrecordedCleared(unrecorded, pid);
  uint32_t hash = unrecordedHash(path);

  unrecordedNext(unrecorded, pid);
  /* It was judged too early: a debugger had stopped it, or a file system was slow. */
  if (cleared->pid == pid && cleared->hash == hash && cleared->counted > 0) {
    --unrecorded->name[cleared->counted - 1].count;
    unrecorded->name[cleared->counted - 1].seen -= cleared->seen;
  }
  *cleared = (UnrecordedClearedStruct){pid, hash, now, 0, FALSE};
}

/* unrecordedAdd -- wait for a process; where too many are waited for, it is only counted */
static void unrecordedAdd(Unrecorded unrecorded, UnrecordedWaitStruct wait, const char *path)
{
  unrecordedNext(unrecorded, wait.pid);
  if (unrecorded->waits < unrecordedWaitsMAX &&
      Grow(&unrecorded->wait, &unrecorded->waitCapacity, unrecorded->waits, sizeof *unrecorded->wait) &&
      (wait.path = strdup(path)) != NULL)
    unrecorded->wait[unrecorded->waits++] = wait;
  else
    ++unrecorded->unnamed;
}

void UnrecordedExec(Unrecorded unrecorded, pid_t pid, const char *path, unsigned lack, Bool certain, uint64_t now)
{
  Index i = unrecordedFind(unrecorded, pid);

  /* It was seen in /proc while this was still on its way: both are of one program. */
  if (i < unrecorded->waits && unrecorded->wait[i].seen)
    unrecordedForget(unrecorded, i);
  unrecordedAdd(unrecorded, (UnrecordedWaitStruct){.pid = pid, .lack = lack, .certain = certain, .since = now}, path);
}

void UnrecordedStart(Unrecorded unrecorded, pid_t pid, const char *path, unsigned lack, Bool certain, uint64_t now)
{
  UnrecordedCleared cleared = unrecordedCleared(unrecorded, pid);

  if (cleared->pid == pid && now - cleared->when <= (uint64_t)unrecordedRECENT * unrecordedNsPerMs)
    return;
  UnrecordedStays(unrecorded, pid); /* it may have been seen before it was announced */
  UnrecordedExec(unrecorded, pid, path, lack, certain, now);
}

void UnrecordedSeen(Unrecorded unrecorded, pid_t pid, const char *path, Bool certain, uint64_t now)
{
  UnrecordedCleared cleared = unrecordedCleared(unrecorded, pid);

  if ((cleared->pid != pid || cleared->hash != unrecordedHash(path)) &&
      unrecordedFind(unrecorded, pid) == unrecorded->waits)
    unrecordedAdd(unrecorded, (UnrecordedWaitStruct){.pid = pid, .seen = TRUE, .certain = certain, .since = now}, path);
}

/* unrecordedHolds -- does a file of the process hold this string?  *readReturn: how many bytes were read; -1: it cannot
 * be */
static Bool unrecordedHolds(ssize_t *readReturn, pid_t pid, const char *file, const char *string)
{
  return ProcHolds(readReturn, AT_FDCWD, pid, file, string, SIZE_MAX);
}

/* unrecordedWithout -- is the library missing in the root folder of the process?  The process
 * may control that folder, so the file is not opened, and a symbolic link is not followed. */
static Bool unrecordedWithout(const char *library, pid_t pid)
{
  char path[PATH_MAX + 64];
  struct stat status;

  if (library == NULL)
    return TRUE;
  (void)snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, library);
  return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* unrecordedElsewhere -- that the process sees other folders than we do, without the library; NULL: it does not */
static const char *unrecordedElsewhere(const char *library, pid_t pid)
{
  struct stat its, ours, itsRoot, ourRoot;
  char path[64];

  if (!unrecordedWithout(library, pid))
    return NULL;
  (void)snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)pid);
  if (stat(path, &its) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 && its.st_ino != ours.st_ino)
    return "it sees other folders, in which the library is not";
  (void)snprintf(path, sizeof path, "/proc/%ld/root", (long)pid);
  return stat(path, &itsRoot) == 0 && stat("/", &ourRoot) == 0 &&
                 (itsRoot.st_ino != ourRoot.st_ino || itsRoot.st_dev != ourRoot.st_dev)
             ? "it has another root folder, in which the library is not" : NULL;
}

/* unrecordedLack -- what was missing in an environment, in words; constants, which are compared by address */
static const char *unrecordedLack(unsigned lack)
{
  /* The library first: without it nothing else matters. */
  return (lack & RegionLackOTHERS) != 0 ? "LD_PRELOAD was without libpawprint.so in the environment that it was given"
         : (lack & RegionLackLIBRARY) != 0   ? "LD_PRELOAD was not in the environment that it was given"
         : (lack & RegionLackCOLLECTOR) != 0 ? "another eventrec, inside this one, records it, and what it starts"
                                             : RegionVARIABLE " was not in the environment that it was given";
}

void UnrecordedForgive(Unrecorded unrecorded, uint64_t now)
{
  unrecorded->forgiven = now + (uint64_t)unrecordedMOMENT * unrecordedNsPerMs;
}

/* unrecordedReason -- why the process did not announce itself to the collector.  NULL: it need not, or it has ended and
 * the reason cannot be found out. */
static const char *unrecordedReason(Unrecorded unrecorded, const UnrecordedWaitStruct *wait)
{
  Bool recorded, preloads, others;
  const char *elsewhere;
  ssize_t read;

  if ((wait->lack & RegionLackCOLLECTOR) == 0 && unrecordedHolds(&read, wait->pid, "maps", "libpawprint.so"))
    return NULL;
  if (wait->lack != 0)
    return unrecordedLack(wait->lack);
  if (read <= 0)
    return wait->seen || wait->since <= unrecorded->forgiven
               ? NULL : "it ended, or changed its user, before it announced itself, or could not reach eventrec "
                        "(another network namespace), or has another root folder";
  preloads = unrecordedHolds(&read, wait->pid, "environ", "libpawprint.so");
  if (read >= 0 && !preloads) {
    others = unrecordedHolds(&read, wait->pid, "environ", "LD_PRELOAD=");
    return unrecordedLack(others ? RegionLackLIBRARY | RegionLackOTHERS : RegionLackLIBRARY);
  }
  recorded = unrecordedHolds(&read, wait->pid, "environ", RegionVARIABLE "=");
  if (read >= 0 && !recorded)
    return unrecordedLack(RegionLackRECORDING);
  elsewhere = unrecordedElsewhere(unrecorded->library, wait->pid);
  return elsewhere != NULL ? elsewhere : "it did not load the library";
}

void UnrecordedHidden(Unrecorded unrecorded, const char *path, unsigned lack, Bool certain)
{
  char real[PATH_MAX];
  UnrecordedName name;

  if (lack == 0 && !certain)
    return;
  /* A process that is found has the name that the system gives the file. */
  name = unrecordedName(unrecorded, path[0] == '/' && realpath(path, real) != NULL ? real : path,
                        certain ? unrecordedFile : unrecordedLack(lack));
  if (name != NULL)
    ++name->hidden;
}

/* unrecordedStill -- does a process still run what exec was given, and not another program that this has become?  It
 * runs that file, or is called so: a script, or a link. */
static Bool unrecordedStill(const UnrecordedWaitStruct *wait, const char *program)
{
  const char *slash = strrchr(wait->path, '/'), *file = slash != NULL ? slash + 1 : wait->path;
  char path[PATH_MAX], name[unrecordedNAME];

  (void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)wait->pid);
  (void)FileText(path, name, sizeof name);
  name[strcspn(name, "\n")] = '\0';
  return name[0] == '\0' || strncmp(name, file, unrecordedCOMM) == 0 ||
         (wait->path[0] == '/' && realpath(wait->path, path) != NULL && strcmp(path, program) == 0);
}

/* unrecordedJudge -- count a process that does not record itself, or remember that it need not be looked at again.  One
 * that was found and is another program by now was noted as that, or will be found as that, but for the `last` time. */
static void unrecordedJudge(Unrecorded unrecorded, const UnrecordedWaitStruct *wait, uint64_t now, Bool last)
{
  const char *reason = wait->certain ? NULL : unrecordedReason(unrecorded, wait);
  char path[PATH_MAX];
  const char *program = ProcProgram(path, sizeof path, AT_FDCWD, wait->pid) ? path : wait->path;
  const char *judged = wait->lack == 0 || unrecordedStill(wait, program) ? program : wait->path;
  Index counted = 0;

  if (wait->seen && !last && strcmp(program, wait->path) != 0)
    return;
  /* What exec was given is certain; what runs now may be the next program already. */
  if (reason != NULL)
    counted = unrecordedCount(unrecorded, wait, wait->lack != 0 ? wait->path : program, reason);
  *unrecordedCleared(unrecorded, wait->pid) =
      (UnrecordedClearedStruct){wait->pid, unrecordedHash(judged), now, counted, wait->seen};
}

/* unrecordedLoading -- may the process still be loading its libraries?  On a busy machine that takes any time, but a
 * process that loads does not sleep. */
static Bool unrecordedLoading(pid_t pid)
{
  char path[64], text[512];
  const char *behind;

  (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  (void)FileText(path, text, sizeof text);
  behind = strrchr(text, ')');
  return behind != NULL && (strncmp(behind, ") R", 3) == 0 || strncmp(behind, ") D", 3) == 0);
}

/* unrecordedBefore -- does the process still run the program that announced the exec?  On a busy machine any time may
 * pass between the note and the exec. */
static Bool unrecordedBefore(const UnrecordedWaitStruct *wait)
{
  ssize_t read;

  return !wait->seen && (wait->certain || wait->lack != 0) && (wait->lack & RegionLackCOLLECTOR) == 0 &&
         unrecordedHolds(&read, wait->pid, "maps", "libpawprint.so");
}

/* unrecordedDue -- has the process had its moment to ask for a region?  At the end of the recording (`last`) also a
 * process has that has ended, or cannot ask. */
static Bool unrecordedDue(const UnrecordedWaitStruct *wait, uint64_t now, Bool last)
{
  char path[PATH_MAX];

  if (!last && now - wait->since < (uint64_t)unrecordedPATIENCE * unrecordedNsPerMs && unrecordedBefore(wait))
    return FALSE;
  if (now - wait->since >= (uint64_t)unrecordedMOMENT * unrecordedNsPerMs)
    return wait->lack != 0 || wait->certain || now - wait->since >= (uint64_t)unrecordedPATIENCE * unrecordedNsPerMs ||
           !unrecordedLoading(wait->pid);
  return last && (wait->lack != 0 || wait->certain ||
                  (!ProcProgram(path, sizeof path, AT_FDCWD, wait->pid) && errno != EACCES));
}

void UnrecordedPoll(Unrecorded unrecorded, uint64_t now, Bool last)
{
  Index i;

  for (i = unrecorded->waits; i-- > 0; )
    if (unrecordedDue(&unrecorded->wait[i], now, last)) {
      unrecordedJudge(unrecorded, &unrecorded->wait[i], now, last);
      unrecordedOver(unrecorded, i);
    }
}

Count UnrecordedUnnamed(Unrecorded unrecorded)
{
  return unrecorded->unnamed;
}

void UnrecordedTell(Unrecorded unrecorded, void (*tell)(void *data, const char *path, const char *reason, Count count),
                    void *data)
{
  Index i;

  AVER(UnrecordedCheck(unrecorded));
  for (i = 0; i < unrecorded->names; ++i) {
    UnrecordedName name = &unrecorded->name[i];
    Count count = name->count + (name->hidden > name->seen ? name->hidden - name->seen : 0);
    if (count > 0)
      tell(data, name->path, name->reason == unrecordedFile ? NULL : name->reason, count);
  }
}
