/* procfs.c -- what the system says of processes and threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
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
  return proc->root >= 0 && proc->kept <= proc->keepMAX && proc->held <= proc->heldMAX && proc->tick > 0 &&
         WordIsPowerOf2(proc->page);
}

Res ProcInit(Proc proc, const char *root, Count keepMAX)
{
  long hertz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE), files = sysconf(_SC_OPEN_MAX);

  *proc = (ProcStruct){
    .root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
    .keepMAX = keepMAX,
    .heldMAX = files > 0 && files / procHeldSHARE < procHeldMAX ? (Count)files / procHeldSHARE : procHeldMAX,
    .real = strcmp(root, "/proc") == 0,
    .tick = hertz > 0 ? 1000000u / (uint64_t)hertz : 10000,
    .page = page > 0 ? (uint64_t)page : 4096,
  };
  AVER(proc->root < 0 || ProcCheck(proc));
  return proc->root < 0 ? ResIO : ResOK;
}

void ProcFinish(Proc proc)
{
  AVER(proc->kept == 0 && proc->held == 0);
  (void)close(proc->root);
  proc->root = -1;
}

Size ProcRead(Proc proc, int *fd, const char *path, char *room, Size size)
{
  Bool kept = fd != NULL && *fd >= 0;
  int mine = kept ? *fd : openat(proc->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ssize_t length;

  AVER(size > 0 && proc->root >= 0);
  if (mine < 0)
    return 0;
  length = pread(mine, room, size, 0);
  if (!kept && fd != NULL && length > 0 && proc->kept < proc->keepMAX) {
    *fd = mine;
    ++proc->kept;
  } else if (!kept) {
    (void)close(mine);
  }
  return length > 0 ? (Size)length : 0;
}

int ProcHold(Proc proc, uint32_t pid)
{
  int held = proc->real && proc->held < proc->heldMAX ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

  proc->held += held >= 0;
  return held;
}

/* procInfo -- what the system tells of a process by its descriptor; FALSE: it does not tell what is wanted */
static Bool procInfo(procInfoStruct *info, int held, uint64_t wanted)
{
  *info = (procInfoStruct){.mask = wanted};
  return held >= 0 && ioctl(held, procINFO, info) == 0 && (info->mask & wanted) != 0;
}

Bool ProcStatus(int *statusReturn, int held)
{
  procInfoStruct info;
  Bool known = procInfo(&info, held, procInfoEXIT);

  if (known)
    *statusReturn = info.status;
  return known;
}

Bool ProcParent(uint32_t *parentReturn, int held)
{
  procInfoStruct info;
  Bool known = procInfo(&info, held, procInfoPID);

  if (known)
    *parentReturn = info.parent;
  return known;
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
  if (tid != 0)
    TextFormat(&text, "/task/%u", tid);
  TextFormat(&text, "/%s", file);
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

  AVER(size > 0 && length < (ssize_t)size);
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

/* procFields -- numbers with blanks between them, `most` at most; one that is less than 0 is taken for 0.  Returns how
 * many there are; the others are 0. */
static unsigned procFields(uint64_t *fieldsReturn, unsigned most, const char *next, const char *limit)
{
  Bool negative;
  unsigned i;

  memset(fieldsReturn, 0, most * sizeof *fieldsReturn);
  for (i = 0; i < most; ++i) {
    while (next < limit && *next == ' ')
      ++next;
    negative = next < limit && *next == '-';
    next += negative;
    if (!procDigits(&fieldsReturn[i], &next, limit))
      break;
    if (negative)
      fieldsReturn[i] = 0;
  }
  return i;
}

/* procNumber -- a name that is a number of a process or thread; 0: it is none */
static uint32_t procNumber(const char *name)
{
  const char *next = name;
  uint64_t n;

  return procDigits(&n, &next, name + strlen(name)) && *next == '\0' && n < procNumberMAX ? (uint32_t)n : 0;
}

/* procInsert -- a number, at its place among those that are there, unless it is there.  The system lists them rising.
 */
static Res procInsert(uint32_t **numbers, Count *capacity, Count *count, uint32_t number)
{
  Index i = *count;

  while (i > 0 && (*numbers)[i - 1] >= number)
    --i;
  if (i < *count && (*numbers)[i] == number)
    return ResOK;
  if (!Grow(numbers, capacity, *count, sizeof **numbers))
    return ResMEMORY;
  memmove(*numbers + i + 1, *numbers + i, ((*count)++ - i) * sizeof **numbers);
  (*numbers)[i] = number;
  return ResOK;
}

Res ProcNumbers(uint32_t **numbers, Count *capacity, Count *countReturn, Proc proc, const char *path)
{
  int fd = openat(proc->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
  const struct dirent *entry = NULL;
  Count count = 0;
  Res res = ResOK;

  if (folder == NULL) {
    if (fd >= 0)
      (void)close(fd);
    return fd >= 0 ? ResMEMORY : ResIO;
  }
  for (errno = 0; res == ResOK && (entry = readdir(folder)) != NULL; errno = 0) {
    uint32_t number = procNumber(entry->d_name);
    if (number != 0)
      res = procInsert(numbers, capacity, &count, number);
  }
  if (entry == NULL && errno != 0)
    res = ResIO;
  (void)closedir(folder);
  AVER(count <= *capacity);
  if (res == ResOK)
    *countReturn = count;
  return res;
}

/* What is wanted of the numbers behind a stat's state, which is field 3 of proc(5). */
enum {
  procPARENT = 4, procMINOR = 10, procMAJOR = 12, procUSER = 14, procSYSTEM = 15, procTHREADS = 20, procSTART = 22,
  procVIRTUAL = 23, procRESIDENT = 24, procSTACK = 28, procDISK = 42, procEXIT = 52, procFIELDS
};

Bool ProcStatParse(ProcStat stat, Proc proc, const char *text, Size size)
{
  const char *limit = text + size, *next = text, *close = memrchr(text, ')', size);
  uint64_t fields[procFIELDS], pid;
  Size length;

  /* Only the last parenthesis is surely not the name's. */
  if (!procDigits(&pid, &next, limit) || close == NULL || limit - next < 2 || next[0] != ' ' || next[1] != '(' ||
      limit - close < 4 || close < next + 2 || close[1] != ' ' ||
      procFields(fields + procPARENT, procFIELDS - procPARENT, close + 3, limit) <= procSTACK - procPARENT)
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
  return procFields(numbers, 3, text, text + size) == 3;
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
  uint64_t fields[FIELDS];

  if (size < 5 || memcmp(text, "cpu ", 4) != 0 || procFields(fields, FIELDS, text + 4, text + size) <= IDLE)
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
  const char *next = memrchr(text, ' ', size);
  uint64_t n;

  return next != NULL && procFields(&n, 1, next, text + size) == 1 && n < procNumberMAX ? (uint32_t)n : 0;
}
