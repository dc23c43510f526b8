/* liveregion.c -- finds the region of a process that runs, and maps it from outside
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/liveregion.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/settings.h"
#include "plinth/clock.h"
#include "recover/regionplace.h"

enum { liveTriesMAX = 4, liveTablesMAX = 16, liveEnvironmentMAX = 1 << 20 };

_Static_assert(RegionCONTROL == 0x10000, "as maps has it: liveLine");

/* A region's mapping in /proc/PID/maps. */
typedef struct livePlaceStruct {
  uint64_t from, to, offset; /* addresses in the process; and where in the file */
  unsigned long major, minor;
  uint64_t inode;
  char path[2 * RegionPathMAX];
} livePlaceStruct, *LivePlace;

/* What a search carries along. */
typedef struct liveSearchStruct {
  LiveRegion live;
  Index number;              /* so many regions of the process are to be passed over */
  uint64_t passed[LiveRegionEMITTERS]; /* the inodes of those that were */
  Count count;
  Bool seen;                 /* something that was called as regions are */
  uint32_t other;            /* and was one, of this process; 0 */
  Bool others;               /* its region is of a user whom we do not believe */
  char *error;
  Size size;
} liveSearchStruct, *LiveRegionSearch;

static Res __attribute__((format(printf, 2, 3))) liveSay(LiveRegionSearch search, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  (void)vsnprintf(search->error, search->size, format, arguments);
  va_end(arguments);
  return ResFAIL;
}

/* liveIsPid -- is `pid` one of the numbers that the process has, in its own namespace or one around it? */
static Bool liveIsPid(LiveRegion live, uint32_t pid)
{
  char path[64], line[512];
  const char *numbers = NULL;
  Bool is = pid == live->pid;
  FILE *status;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", live->pid);
  status = fopen(path, "re");
  while (status != NULL && numbers == NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "NSpid:", 6) == 0)
      numbers = line + 6;
  if (numbers != NULL) {
    char *end;
    is = FALSE;
    for (;; numbers = end) {
      unsigned long number = strtoul(numbers, &end, 10);
      if (end == numbers)
        break;
      is |= number == pid;
    }
  }
  if (status != NULL)
    (void)fclose(status);
  return is;
}

/* liveText -- a sound copy of the newest header block; a writer may be replacing it */
static Res liveText(LiveRegion live)
{
  RegionHeader region = live->region;
  const char *body, *limit, *line, *end;
  RegistryStruct *registry;
  unsigned tries;
  Res res = ResFORMAT;

  live->text = malloc(RegionTextSIZE);
  registry = calloc(1, sizeof *registry);
  if (live->text == NULL || registry == NULL) {
    free(registry);
    return ResMEMORY;
  }
  for (tries = 0; tries < liveTriesMAX && res != ResOK; ++tries) {
    uint32_t generation = __atomic_load_n(&region->text.generation, __ATOMIC_ACQUIRE);
    live->length = __atomic_load_n(&region->text.length[generation & 1], __ATOMIC_RELAXED);
    if (generation == 0 || live->length > RegionTextSIZE)
      break;
    memcpy(live->text, (char *)region + RegionTEXT + (generation & 1) * RegionTextSIZE, live->length);
    res = HeaderRead(&live->header, &body, live->text, live->length);
  }
  if (res == ResOK) {
    RegistryInit(registry, NULL, 0, live->header.widths);
    limit = live->text + live->length;
    for (line = body; line < limit && (end = memchr(line, '\n', (Size)(limit - line))) != NULL; line = end + 1)
      if (strncmp(line, "kind: ", 6) == 0)
        (void)RegistryLine(registry, line, (Size)(end - line));
      else if (strncmp(line, "event: ", 7) == 0)
        ++live->types;
    live->registry = RegistryNameOf(body, (Size)(limit - body));
    memcpy(live->kind, registry->kind, sizeof live->kind);
    res = live->header.identity == region->identity && live->header.widths.word == sizeof(Word) ? ResOK : ResFORMAT;
  }
  free(registry);
  return res;
}

/* liveMap -- map the file `fd`, if it is the process's region, and take the descriptor.  The caller has checked the file's
 * owner (liveBelieved).  ResFORMAT: it is something else. */
static Res liveMap(LiveRegionSearch search, int fd, const char *path, Bool locked)
{
  LiveRegion live = search->live;
  struct stat status;
  void *base = MAP_FAILED;

  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < RegionFIRST ||
      (locked && flock(fd, LOCK_SH | LOCK_NB) == 0)) {
    (void)close(fd);
    return ResFORMAT;
  }
  base = mmap(NULL, (Size)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  (void)close(fd);
  if (base == MAP_FAILED)
    return liveSay(search, "process %" PRIu32 ": %s: %s", live->pid, path, strerror(errno));
  live->region = base;
  live->device = status.st_dev;
  live->inode = status.st_ino;
  live->size = (Size)status.st_size;
  live->slots = live->region->slots;
  if (live->slots <= RegionSlotsMAX && live->size >= RegionSize(live->slots) &&
      RegionHeaderSound(live->region, live->size)) {
    if (liveIsPid(live, live->region->pid))
      return ResOK;
    search->other = live->region->pid;
  }
  (void)munmap(base, live->size);
  live->region = NULL;
  return ResFORMAT;
}

/* liveOwner -- who may own the region besides us: for root, the process's user, who can do no more by it than with files of
 * his own.  Users that our namespace does not know have one number, but there root may do no more with their files than
 * everybody. */
static uid_t liveOwner(LiveRegion live)
{
  char path[32];
  struct stat status;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32, live->pid);
  return geteuid() == 0 && stat(path, &status) == 0 ? status.st_uid : geteuid();
}

static Bool liveBelieved(LiveRegion live, const struct stat *status)
{
  return status->st_uid == geteuid() || status->st_uid == liveOwner(live);
}

/* liveBegins -- does the file begin as a region does? */
static Bool liveBegins(int fd)
{
  char magic[BlockMagicSIZE];

  return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, RegionMAGIC, sizeof magic) == 0;
}

/* liveLook -- open a file that the process has mapped, if it is a regular file, has an owner whom we believe, and is a
 * region.  The process chooses what has such a name in its own mounts, so we look at the file before we open it, and read it
 * before we open it for writing.  -1 with errno, and the file's number in `status` if there is one. */
static int liveLook(LiveRegion live, const char *path, int flags, struct stat *status)
{
  int handle = open(path, O_PATH | O_CLOEXEC | flags), fd = -1, reason;
  char again[32];

  status->st_ino = 0;
  if (handle < 0)
    return -1;
  if (fstat(handle, status) != 0 || !S_ISREG(status->st_mode) || !liveBelieved(live, status)) {
    errno = EACCES;
  } else {
    (void)snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
    fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
      Bool region = liveBegins(fd);
      (void)close(fd);
      fd = region ? open(again, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
      errno = region ? errno : EINVAL;
    }
  }
  reason = errno;
  (void)close(handle);
  errno = reason;
  return fd;
}

/* livePass -- is it a region that is to be passed over, or has been?  Then it is closed. */
static Bool livePass(LiveRegionSearch search, uint64_t inode)
{
  Index i;

  for (i = 0; i < search->count && search->passed[i] != inode; ++i)
    ;
  if (i == search->count && search->count == search->number)
    return FALSE;
  if (i == search->count)
    search->passed[search->count++] = inode;
  (void)munmap(search->live->region, search->live->size);
  search->live->region = NULL;
  return TRUE;
}

/* liveTry -- the region at `path`, as we see it, if it is the file that the process has mapped, as it is where
 * links are followed (flags 0: map_files).  ResEND, with errno: it is not. */
static Res liveTry(LiveRegionSearch search, LivePlace place, const char *path, int flags)
{
  struct stat status;
  int fd = liveLook(search->live, path, flags, &status);
  int reason = errno;

  /* The device is not compared: filesystems in layers show another one in maps.  Pid and soundness are, later. */
  if (status.st_ino != 0 && (flags == 0 || (uint64_t)status.st_ino == place->inode)) {
    if (fd >= 0)
      return liveMap(search, fd, path, FALSE);
    search->others |= !liveBelieved(search->live, &status);
  } else if (fd >= 0) {
    (void)close(fd);
  }
  errno = reason;
  return ResEND;
}

/* liveTake -- the region that a line of maps names */
static Res liveTake(LiveRegionSearch search, LivePlace place)
{
  LiveRegion live = search->live;
  char path[sizeof place->path + 64];
  Res res;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%s", live->pid, place->path);
  res = liveTry(search, place, path, O_NOFOLLOW);
  if (res == ResEND)
    res = liveTry(search, place, place->path, O_NOFOLLOW);
  if (res != ResEND)
    return res;
  /* Without a name: removed meanwhile, or never with one. */
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, live->pid, place->from,
                 place->to);
  res = liveTry(search, place, path, 0);
  if (res != ResEND)
    return res;
  if (search->others)
    (void)liveSay(search, "process %" PRIu32 ": its memory for events is another user's", live->pid);
  else if (errno == EPERM || errno == EACCES)
    (void)liveSay(search, "process %" PRIu32 ": its memory for events has no name; only root reaches it, by %s",
                  live->pid, path);
  return ResEND;
}

/* liveLine -- a line of maps, if it is where a region, or the control table in one, begins to be mapped.  A region is
 * mapped in as many pieces as it has blocks: so first a quick look at the offset. */
static Bool liveLine(LivePlace place, char *line)
{
  char permissions[8];
  char *at;
  int path = 0;

  if (strstr(line, " 00000000 ") == NULL && strstr(line, " 00010000 ") == NULL)
    return FALSE;
  line[strcspn(line, "\n")] = '\0';
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %lx:%lx %" SCNu64 " %n", &place->from, &place->to,
             permissions, &place->offset, &place->major, &place->minor, &place->inode, &path) < 7 ||
      path == 0 || strchr(permissions, 's') == NULL || strlen(line + path) >= sizeof place->path)
    return FALSE;
  (void)strcpy(place->path, line + path);
  while ((at = strstr(place->path, "\\012")) != NULL) { /* how maps has a newline */
    *at = '\n';
    memmove(at + 1, at + 4, strlen(at + 4) + 1);
  }
  return RegionNamed(place->path);
}

/* liveFromMaps -- look through what the process has mapped */
static Res liveFromMaps(LiveRegionSearch search, FILE *maps)
{
  struct {
    uint64_t from, inode;
  } table[liveTablesMAX];
  uint64_t base = 0, inode = 0;
  livePlaceStruct place;
  char *line = NULL;
  size_t room = 0;
  Count tables = 0;
  Res res = ResEND;

  while (res != ResFAIL && getline(&line, &room, maps) >= 0)
    if (!liveLine(&place, line)) {
      continue;
    } else if (place.offset == RegionCONTROL && tables < liveTablesMAX) {
      table[tables].from = place.from;
      table[tables++].inode = place.inode;
    } else if (place.offset == 0 && res != ResOK) {
      search->seen = TRUE;
      base = place.from;
      inode = place.inode;
      res = liveTake(search, &place);
      if (res == ResOK && livePass(search, place.inode))
        res = ResEND;
    }
  free(line);
  /* Mapped over the variable, besides where the region itself is. */
  while (res == ResOK && tables-- > 0)
    search->live->controlled |= table[tables].inode == inode && table[tables].from != base + RegionCONTROL;
  return res;
}

/* liveNamed -- a file that is called as a region of the process is */
static Res liveNamed(void *data, RegionPlace place)
{
  LiveRegionSearch search = data;
  struct stat status;
  int fd;

  if (place->name.pid != search->live->pid || search->live->region != NULL)
    return ResOK;
  fd = RegionPlaceOpen(&status, place, TRUE, liveOwner(search->live));
  if (fd >= 0 && liveMap(search, fd, place->file, TRUE) == ResOK)
    (void)livePass(search, status.st_ino);
  return ResOK;
}

/* liveFromNames -- where maps may not be read: by the name that a region has where nothing is unusual */
static Res liveFromNames(LiveRegionSearch search)
{
  (void)RegionPlaceSearch(NULL, liveNamed, search);
  /* Whether the table is mapped cannot be seen; a process that lets others control it has written there. */
  search->live->controlled = search->live->region != NULL;
  return search->live->region != NULL ? ResOK : ResEND;
}

/* liveWhyNot -- why maps could not be read, or show no region */
static void liveWhyNot(LiveRegionSearch search, Bool readable)
{
  uint32_t pid = search->live->pid;
  char path[32];
  struct stat status;

  if (search->error[0] != '\0')
    return;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
    (void)liveSay(search, "there is no process %" PRIu32, pid);
  else if (!readable && stat(path, &status) == 0 && status.st_uid != geteuid() && status.st_uid != 0)
    (void)liveSay(search, "process %" PRIu32 " is another user's", pid);
  else if (!readable)
    (void)liveSay(search, "process %" PRIu32 " does not let us look into it: it is another user's, or has privileges",
                  pid);
  else if (search->other != 0)
    (void)liveSay(search, "process %" PRIu32 " is not recorded itself: it has the events of process %" PRIu32, pid,
                  search->other);
  else if (search->seen)
    (void)liveSay(search, "process %" PRIu32 ": its memory for events cannot be opened", pid);
  else
    (void)liveSay(search, "process %" PRIu32 " is not recorded, and has not allowed control (PAWPRINT_CONTROL=1)", pid);
}

Res LiveRegionOpen(LiveRegion live, uint32_t pid, Index number, char *error, Size size)
{
  liveSearchStruct search = {.live = live, .number = number, .error = error, .size = size};
  char path[32];
  FILE *maps;
  Res res;

  AVER(size > 0 && number < LiveRegionEMITTERS);
  *error = '\0';
  memset(live, 0, sizeof *live);
  live->pid = pid;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
  maps = fopen(path, "re");
  res = maps != NULL ? liveFromMaps(&search, maps) : liveFromNames(&search);
  if (number > 0 && (res == ResEND || res == ResFORMAT) && search.error[0] == '\0')
    res = ResEND;
  else if (res == ResEND || res == ResFORMAT)
    liveWhyNot(&search, maps != NULL && !ferror(maps));
  if (maps != NULL)
    (void)fclose(maps);
  if (res == ResOK) {
    res = liveText(live);
    if (res == ResFORMAT)
      (void)liveSay(&search, "process %" PRIu32 " has not yet said what its events are, or in a way that this program "
                    "cannot read", pid);
    else if (res != ResOK)
      (void)liveSay(&search, "no memory");
  }
  return res == ResOK || (res == ResEND && number > 0) ? res : ResFAIL;
}

void LiveRegionClose(LiveRegion live)
{
  if (live->region != NULL)
    (void)munmap(live->region, live->size);
  free(live->text);
  live->region = NULL;
  live->text = NULL;
}

Bool LiveRegionCheck(LiveRegion live)
{
  AVER(live->region != NULL && live->text != NULL);
  AVER(live->slots <= RegionSlotsMAX && live->size >= RegionSize(live->slots));
  AVER(live->header.identity == live->region->identity);
  AVER(live->length <= RegionTextSIZE);
  return TRUE;
}

/* ---- Control ---- */

static Word *liveTable(LiveRegion live)
{
  return (Word *)(void *)((char *)live->region + RegionCONTROL);
}

static Word liveWord(LiveRegion live)
{
  return __atomic_load_n(&liveTable(live)[0], __ATOMIC_SEQ_CST);
}

uint32_t LiveRegionSent(LiveRegion live)
{
  return (uint32_t)liveWord(live) & ((1u << RegionControlBUFFER) - 1);
}

uint32_t LiveRegionBuffered(LiveRegion live)
{
  return (uint32_t)liveWord(live) >> RegionControlBUFFER;
}

/* liveChange -- these bits on, those off, in one step */
static void liveChange(LiveRegion live, Word on, Word off)
{
  Word *table = liveTable(live), old = liveWord(live);

  while (!__atomic_compare_exchange_n(&table[0], &old, (old | on) & ~off, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
}

void LiveRegionSend(LiveRegion live, uint32_t kinds)
{
  uint32_t old = LiveRegionSent(live), on = kinds & ~old, off = old & ~kinds;
  uint64_t now = EventClockMonotonic();

  /* Before, so that the state is what comes first; and behind, because threads to which other kinds matter may have told
   * one meanwhile. */
  if (on != 0)
    RegionAsk(live->region, RegionAskSTATE);
  liveChange(live, on, off);
  RegionOffSay(liveTable(live), off, now);
  if (on != 0)
    RegionAsk(live->region, RegionAskSTATE);
}

void LiveRegionBuffer(LiveRegion live, uint32_t kinds)
{
  uint32_t old = LiveRegionBuffered(live);

  liveChange(live, (Word)(kinds & ~old) << RegionControlBUFFER, (Word)(old & ~kinds) << RegionControlBUFFER);
}

/* liveCollector -- read from the environment of a live process where its collector is: "NAME:TOKEN", in `room`; NULL if
 * it has none.  `bytes`, of `size`, is working memory for the environment. */
static const char *liveCollector(LiveRegion live, char *room, Size roomSize, char *bytes, Size size)
{
  static const char name[] = RegionVARIABLE "=";
  const char *at = bytes;
  char path[32];
  ssize_t length;
  int fd;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/environ", live->pid);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return NULL;
  length = read(fd, bytes, size - 1);
  (void)close(fd);
  bytes[length > 0 ? length : 0] = '\0';
  for (; length > 0 && at < bytes + length; at += strlen(at) + 1)
    if (strncmp(at, name, sizeof name - 1) == 0)
      return SettingsGet(at + sizeof name - 1, "collector", room, roomSize);
  return NULL;
}

void LiveRegionWake(LiveRegion live)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  RegionMeetStruct call = {.version = RegionMeetVERSION};
  char *room = malloc(liveEnvironmentMAX), words[sizeof address.sun_path + sizeof call.token];
  const char *collector =
    room != NULL ? liveCollector(live, words, sizeof words, room, liveEnvironmentMAX) : NULL;
  const char *colon = collector != NULL ? strchr(collector, ':') : NULL;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd >= 0 && colon != NULL && (Size)(colon - collector) < sizeof address.sun_path - 1 &&
      strlen(colon + 1) < sizeof call.token) {
    memcpy(address.sun_path + 1, collector, (Size)(colon - collector));
    memcpy(call.magic, RegionMAGIC, BlockMagicSIZE);
    (void)strcpy(call.token, colon + 1);
    (void)sendto(fd, &call, sizeof call, MSG_NOSIGNAL, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (Size)(colon - collector)));
  }
  if (fd >= 0)
    (void)close(fd);
  free(room);
}

Bool LiveRegionWait(LiveRegion live, uint32_t what, unsigned ms)
{
  uint32_t *attention = &live->region->hand.attention, now;
  struct timespec moment = {0, 1000000};
  unsigned waited;

  for (waited = 0; ((now = __atomic_load_n(attention, __ATOMIC_SEQ_CST)) & what) != 0; ++waited) {
    if (waited == ms)
      return FALSE;
    /* Who answers may wake us; a millisecond is the longest that we would miss it. */
    (void)syscall(SYS_futex, attention, FUTEX_WAIT, now, &moment, NULL, 0);
  }
  return TRUE;
}
