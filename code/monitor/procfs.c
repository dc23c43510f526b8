/* procfs.c -- what the system says of processes and threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "base/text.h"

enum {
  procNumberMAX = 1 << 22, /* processes have smaller numbers */
  procHeldMAX = 512,       /* whose ends are to be known, */
  procHeldSHARE = 8        /* and at most an eighth of the files that may be open */
};

/* What the system tells of a process by a descriptor: struct pidfd_info of Linux 6.15, which older headers lack. */
typedef struct procInfoStruct {
  uint64_t mask;          /* going in: which fields we want; coming back: which the kernel has filled in */
  uint64_t group;
  uint32_t pid, leader, parent, ids[8];
  int32_t status;         /* as wait has it */
} procInfoStruct;

enum { procInfoPID = 1, procInfoEXIT = 8 };

#define procINFO _IOWR(0xff, 11, procInfoStruct)

_Static_assert(sizeof(procInfoStruct) == 64, "as the system has it");

Bool ProcCheck(Proc proc)
{
  return proc->root >= 0 && proc->kept <= proc->keepMAX && proc->tick > 0 && WordIsPowerOf2(proc->page);
}

Res ProcInit(Proc proc, const char *root, Count keepMAX)
{
  long hertz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE), files = sysconf(_SC_OPEN_MAX);

  proc->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc->root < 0)
    return ResIO;
  proc->kept = proc->held = 0;
  proc->heldMAX = files > 0 && files / procHeldSHARE < procHeldMAX ? (Count)files / procHeldSHARE : procHeldMAX;
  proc->real = strcmp(root, "/proc") == 0;
  proc->keepMAX = keepMAX;
  proc->tick = hertz > 0 ? 1000000u / (uint64_t)hertz : 10000;
  proc->page = page > 0 ? (uint64_t)page : 4096;
  AVER(ProcCheck(proc));
  return ResOK;
}

void ProcFinish(Proc proc)
{
  AVER(proc->kept == 0 && proc->held == 0);
  (void)close(proc->root);
  proc->root = -1;
}

Size ProcRead(Proc proc, int *fd, const char *path, char *room, Size size)
{
  int mine = *fd >= 0 ? *fd : openat(proc->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ssize_t length;

  if (mine < 0)
    return 0;
  length = pread(mine, room, size, 0);
  if (*fd < 0) {
    if (length > 0 && proc->kept < proc->keepMAX) {
      *fd = mine;
      ++proc->kept;
    } else {
      (void)close(mine);
    }
  }
  return length > 0 ? (Size)length : 0;
}

int ProcHold(Proc proc, uint32_t pid)
{
  int held = proc->real && proc->held < proc->heldMAX ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

  proc->held += held >= 0;
  return held;
}

Bool ProcStatus(int *statusReturn, int held)
{
  procInfoStruct info = {.mask = procInfoEXIT};

  if (held < 0 || ioctl(held, procINFO, &info) != 0 || (info.mask & procInfoEXIT) == 0)
    return FALSE;
  *statusReturn = info.status;
  return TRUE;
}

Bool ProcParent(uint32_t *parentReturn, int held)
{
  procInfoStruct info = {.mask = procInfoPID};

  if (held < 0 || ioctl(held, procINFO, &info) != 0 || (info.mask & procInfoPID) == 0)
    return FALSE;
  *parentReturn = info.parent;
  return TRUE;
}

void ProcRelease(Proc proc, int held)
{
  if (held < 0)
    return;
  (void)close(held);
  AVER(proc->held > 0);
  --proc->held;
}

void ProcDrop(Proc proc, int *fd)
{
  if (*fd < 0)
    return;
  (void)close(*fd);
  *fd = -1;
  AVER(proc->kept > 0);
  --proc->kept;
}

const char *ProcPath(char room[ProcPathSIZE], uint32_t pid, uint32_t tid, const char *file)
{
  TextStruct text;

  TextInit(&text, room, ProcPathSIZE);
  TextDecimal(&text, pid);
  if (tid != 0) {
    TextString(&text, "/task/");
    TextDecimal(&text, tid);
  }
  TextChar(&text, '/');
  TextString(&text, file);
  AVER(!text.overflow);
  return TextTerminate(&text);
}

/* procAt -- where that is, below `root` */
static const char *procAt(char room[ProcPathSIZE], int root, pid_t pid, const char *file)
{
  (void)snprintf(room, ProcPathSIZE, "%s%ld/%s", root == AT_FDCWD ? "/proc/" : "", (long)pid, file);
  return room;
}

Bool ProcProgram(char *room, Size size, int root, pid_t pid)
{
  char path[ProcPathSIZE];
  ssize_t length = readlinkat(root, procAt(path, root, pid, "exe"), room, size - 1);

  room[length > 0 ? length : 0] = '\0';
  return length > 0;
}

Bool ProcHolds(ssize_t *readReturn, int root, pid_t pid, const char *file, const char *string, Size most)
{
  Size length = strlen(string), kept = 0;
  char path[ProcPathSIZE], room[ProcReadMAX * 4];
  int fd = openat(root, procAt(path, root, pid, file), O_RDONLY | O_CLOEXEC);
  Bool found = FALSE;
  ssize_t n;

  AVER(length > 0 && length < sizeof room / 2);
  *readReturn = fd < 0 ? -1 : 0;
  if (fd < 0)
    return FALSE;
  /* The string may be cut by the end of what is read at once: that much is kept. */
  while (!found && (Size)*readReturn < most && (n = read(fd, room + kept, sizeof room - kept)) > 0) {
    Size there = kept + (Size)n;
    *readReturn += n;
    found = memmem(room, there, string, length) != NULL;
    kept = there < length - 1 ? there : length - 1;
    memmove(room, room + there - kept, kept);
  }
  (void)close(fd);
  return found;
}

/* procDigits -- a number at *next, before `limit`, and past it; FALSE if there is none.  What is too large stays so. */
static Bool procDigits(uint64_t *nReturn, const char **next, const char *limit)
{
  const char *begin = *next;
  uint64_t n = 0;

  for (; *next < limit && **next >= '0' && **next <= '9'; ++*next) {
    uint64_t digit = (uint64_t)(**next - '0');
    n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
  }
  *nReturn = n;
  return *next > begin;
}

/* procField -- the next of numbers with blanks between them; one that is less than 0 is taken for 0 */
static Bool procField(uint64_t *nReturn, const char **next, const char *limit)
{
  Bool negative;

  while (*next < limit && **next == ' ')
    ++*next;
  negative = *next < limit && **next == '-';
  if (negative)
    ++*next;
  if (!procDigits(nReturn, next, limit))
    return FALSE;
  if (negative)
    *nReturn = 0;
  return TRUE;
}

static int procCompare(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

static Bool procAppend(uint32_t **numbers, Count *capacity, Count *count, uint32_t number)
{
  if (!Grow(numbers, capacity, *count, sizeof **numbers))
    return FALSE;
  (*numbers)[(*count)++] = number;
  return TRUE;
}

/* procEntries -- take the numbers among `size` bytes of folder entries */
static Res procEntries(uint32_t **numbers, Count *capacity, Count *count, Bool *sorted, const char *entries, Size size)
{
  Size at, length;

  for (at = 0; at < size; at += length) {
    const struct dirent64 *entry = (const void *)(entries + at);
    const char *next = entry->d_name;
    uint64_t n;

    length = entry->d_reclen;
    if (!procDigits(&n, &next, next + strlen(next)) || *next != '\0' || n == 0 || n >= procNumberMAX)
      continue;
    if (*count > 0 && (*numbers)[*count - 1] >= n)
      *sorted = FALSE;
    if (!procAppend(numbers, capacity, count, (uint32_t)n))
      return ResMEMORY;
  }
  return ResOK;
}

Res ProcNumbers(uint32_t **numbers, Count *capacity, Count *countReturn, Proc proc, const char *path)
{
  uint64_t room[ProcReadMAX / sizeof(uint64_t) * 4];
  int fd = openat(proc->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  Bool sorted = TRUE;
  Count count = 0;
  Res res = ResOK;
  long size = 0;

  if (fd < 0)
    return ResIO;
  /* Without opendir, which allocates. */
  while (res == ResOK && (size = syscall(SYS_getdents64, fd, room, sizeof room)) > 0)
    res = procEntries(numbers, capacity, &count, &sorted, (char *)room, (Size)size);
  (void)close(fd);
  if (res != ResOK || size < 0)
    return res != ResOK ? res : ResIO;
  if (!sorted)
    qsort(*numbers, count, sizeof **numbers, procCompare);
  *countReturn = count;
  return ResOK;
}

/* What is wanted of the numbers behind a stat's state, which is field 3 of proc(5). */
enum {
  procPARENT = 4, procMINOR = 10, procMAJOR = 12, procUSER = 14, procSYSTEM = 15, procTHREADS = 20, procSTART = 22,
  procVIRTUAL = 23, procRESIDENT = 24, procSTACK = 28, procDISK = 42, procEXIT = 52, procFIELDS
};

/* procFields -- the numbers, by their number; those that are not there are 0.  FALSE: too few. */
static Bool procFields(uint64_t fields[procFIELDS], const char *next, const char *limit)
{
  unsigned i;

  memset(fields, 0, procFIELDS * sizeof fields[0]);
  for (i = procPARENT; i < procFIELDS; ++i)
    if (!procField(&fields[i], &next, limit))
      break;
  return i > procSTACK;
}

Bool ProcStatParse(ProcStat stat, Proc proc, const char *text, Size size)
{
  const char *limit = text + size, *next = text, *close = memrchr(text, ')', size);
  uint64_t fields[procFIELDS], pid;
  Size length;

  /* Only the last parenthesis is surely not the name's. */
  if (!procDigits(&pid, &next, limit) || close == NULL || limit - next < 2 || next[0] != ' ' || next[1] != '(' ||
      limit - close < 4 || close < next + 2 || close[1] != ' ' || !procFields(fields, close + 3, limit))
    return FALSE;
  next += 2;
  length = (Size)(close - next) < ProcNameSIZE ? (Size)(close - next) : ProcNameSIZE - 1;
  *stat = (ProcStatStruct){
    .pid = (uint32_t)pid,
    .parent = (uint32_t)fields[procPARENT],
    .state = close[2],
    .minor = fields[procMINOR],
    .major = fields[procMAJOR],
    .user = fields[procUSER] * proc->tick,
    .system = fields[procSYSTEM] * proc->tick,
    .threads = fields[procTHREADS],
    .start = fields[procSTART],
    .virtual = fields[procVIRTUAL],
    .resident = fields[procRESIDENT] * proc->page,
    .stack = fields[procSTACK],
    .disk = fields[procDISK] * proc->tick,
    .exit = (uint32_t)fields[procEXIT],
  };
  memcpy(stat->name, next, length);
  return TRUE;
}

Bool ProcSchedParse(uint64_t numbers[3], const char *text, Size size)
{
  const char *next = text, *limit = text + size;

  return procField(&numbers[0], &next, limit) && procField(&numbers[1], &next, limit) &&
         procField(&numbers[2], &next, limit);
}

/* procProcessors -- lines that begin with "cpu" and a digit */
static uint32_t procProcessors(const char *text, Size size)
{
  const char *next = text, *limit = text + size;
  uint32_t count = 0;

  while ((next = memmem(next, (Size)(limit - next), "\ncpu", 4)) != NULL) {
    next += 4;
    count += next < limit && *next >= '0' && *next <= '9';
  }
  return count;
}

Bool ProcMachineParse(ProcMachine machine, Proc proc, const char *text, Size size)
{
  enum { USER, NICE, SYSTEM, IDLE, DISK, HARD, SOFT, STOLEN, FIELDS };
  const char *next = text + 4, *limit = text + size;
  uint64_t fields[FIELDS] = {0};
  unsigned i;

  if (size < 5 || memcmp(text, "cpu ", 4) != 0)
    return FALSE;
  for (i = 0; i < FIELDS; ++i)
    if (!procField(&fields[i], &next, limit))
      break;
  if (i <= IDLE)
    return FALSE;
  *machine = (ProcMachineStruct){
    .user = (fields[USER] + fields[NICE]) * proc->tick,
    .system = (fields[SYSTEM] + fields[HARD] + fields[SOFT]) * proc->tick,
    .idle = fields[IDLE] * proc->tick,
    .disk = fields[DISK] * proc->tick,
    .stolen = fields[STOLEN] * proc->tick,
    .processors = procProcessors(text, size),
  };
  return TRUE;
}

uint32_t ProcNewest(Proc proc, int *fd)
{
  char text[128];
  Size size = ProcRead(proc, fd, "loadavg", text, sizeof text);
  const char *next = memrchr(text, ' ', size), *limit = text + size;
  uint64_t n;

  return next != NULL && procField(&n, &next, limit) && n < procNumberMAX ? (uint32_t)n : 0;
}
