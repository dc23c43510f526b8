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
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/settings.h"
#include "log/logfile.h"
#include "plinth/clock.h"
#include "recover/regionfile.h"

enum { liveTriesMAX = 4, liveTablesMAX = 16, liveEnvironmentMAX = 1 << 20 };

_Static_assert(RegionCONTROL == 0x10000, "as maps has it: liveLine");

/* A region's mapping in /proc/PID/maps. */
typedef struct LiveRegionPlaceStruct {
  uint64_t from, to, offset; /* addresses in the process; and where in the file */
  dev_t device;              /* of the file, as maps has it */
  uint64_t inode;
  char path[2 * RegionPathMAX];
} LiveRegionPlaceStruct, *LiveRegionPlace;

/* A search for a region. */
typedef struct LiveRegionSearchStruct {
  LiveRegion live;
  const LiveRegionStruct *passed;  /* regions of the process that are open already, */
  Count count;               /* so many: they are passed over */
  Bool seen;                 /* a file with the name of a region was mapped, or is there and cannot be opened */
  uint32_t other;            /* the process whose region that was, if it was another one's; else 0 */
  Bool others;               /* the region's file belongs to a user whom we do not trust */
  char *error;
  Size size;
} LiveRegionSearchStruct, *LiveRegionSearch;

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
  char path[64], line[512], *next, *end;
  Bool is = pid == live->pid;
  FILE *status;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", live->pid);
  status = fopen(path, "re");
  if (status == NULL)
    return is;
  while (fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "NSpid:", 6) == 0)
      for (is = FALSE, next = line + 6; !is && strtoul(next, &end, 10) > 0; next = end)
        is = strtoul(next, NULL, 10) == pid;
  (void)fclose(status);
  return is;
}

/* liveText -- copy and parse the newest header block, which a writer may be replacing meanwhile */
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
    live->length = generation != 0 ? RegionTextCopy(live->text, region, generation) : 0;
    res = live->length > 0 ? HeaderRead(&live->header, &body, live->text, live->length) : ResFORMAT;
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

/* liveMap -- map the file `fd`, if it is the process's region, and take the descriptor.  The caller has checked the
 * file's owner (liveBelieved).  ResFORMAT: it is something else. */
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

/* liveOwner -- who may own the region besides us: for root, the process's user, who can do no more by it than with
 * files of his own.  Users that our namespace does not know have one number, but there root may do no more with their
 * files than everybody. */
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

/* liveBegins -- does the file begin with a region's magic bytes? */
static Bool liveBegins(int fd)
{
  char magic[BlockMagicSIZE];

  return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, RegionMAGIC, sizeof magic) == 0;
}

/* liveLook -- open a file that the process has mapped, if it is a regular file, has an owner whom we believe, and is a
 * region.  The process chooses what has such a name in its own mounts, so we look at the file before we open it, and
 * read it before we open it for writing.  -1 with errno, and the file's number in `status` if there is one. */
static int liveLook(LiveRegion live, const char *path, int flags, struct stat *status)
{
  int handle = open(path, O_PATH | O_CLOEXEC | flags), fd = -1;

  status->st_ino = 0;
  if (handle < 0)
    return -1;
  if (fstat(handle, status) != 0 || !S_ISREG(status->st_mode) || !liveBelieved(live, status)) {
    errno = EACCES;
  } else {
    fd = FileAgain(handle, O_RDONLY | O_NONBLOCK);
    if (fd >= 0) {
      Bool region = liveBegins(fd);
      (void)close(fd);
      fd = region ? FileAgain(handle, O_RDWR | O_NONBLOCK) : -1;
      errno = region ? errno : EINVAL;
    }
  }
  (void)FileCloseFailed(handle);
  return fd;
}

/* livePass -- is the region open already?  Then unmap it again. */
static Bool livePass(LiveRegionSearch search)
{
  LiveRegion live = search->live;
  Index i;

  for (i = 0; i < search->count; ++i)
    if (search->passed[i].inode == live->inode && search->passed[i].device == live->device) {
      (void)munmap(live->region, live->size);
      live->region = NULL;
      return TRUE;
    }
  return FALSE;
}

/* liveMapFile -- the link by which /proc has the file that is mapped at a place */
static void liveMapFile(char *path, Size size, LiveRegion live, LiveRegionPlace place)
{
  (void)snprintf(path, size, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, live->pid, place->from, place->to);
}

/* liveIsMapped -- is this the file that the process has mapped?  A process chooses what has which name in its own
 * mounts, and can have another file there by now, of another filesystem with the same number.  If map_files does not
 * answer, root believes in a number only on the device that maps names; others do so anyway, because filesystems in
 * layers show another device there, and the file is their own. */
static Bool liveIsMapped(LiveRegion live, LiveRegionPlace place, const struct stat *status)
{
  char path[96];
  struct stat mapped;

  liveMapFile(path, sizeof path, live, place);
  if (stat(path, &mapped) == 0)
    return mapped.st_dev == status->st_dev && mapped.st_ino == status->st_ino;
  return (uint64_t)status->st_ino == place->inode && (geteuid() != 0 || status->st_dev == place->device);
}

/* liveTry -- the region at `path`, as we see it, if it is the file that the process has mapped, as it is where
 * links are followed (flags 0: map_files).  ResEND, with errno: it is not. */
static Res liveTry(LiveRegionSearch search, LiveRegionPlace place, const char *path, int flags)
{
  struct stat status;
  int fd = liveLook(search->live, path, flags, &status);
  int reason = errno;

  if (status.st_ino != 0 && (flags == 0 || liveIsMapped(search->live, place, &status))) {
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
static Res liveTake(LiveRegionSearch search, LiveRegionPlace place)
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
  liveMapFile(path, sizeof path, live, place);
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
static Bool liveLine(LiveRegionPlace place, char *line)
{
  char permissions[8];
  unsigned major, minor;
  char *at;
  int path = 0;

  if (strstr(line, " 00000000 ") == NULL && strstr(line, " 00010000 ") == NULL)
    return FALSE;
  line[strcspn(line, "\n")] = '\0';
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &place->from, &place->to,
             permissions, &place->offset, &major, &minor, &place->inode, &path) < 7 ||
      path == 0 || strchr(permissions, 's') == NULL || strlen(line + path) >= sizeof place->path)
    return FALSE;
  (void)strcpy(place->path, line + path);
  place->device = makedev(major, minor);
  while ((at = strstr(place->path, "\\012")) != NULL) { /* how maps has a newline */
    *at = '\n';
    memmove(at + 1, at + 4, strlen(at + 4) + 1);
  }
  return RegionNamed(place->path);
}

/* liveFromMaps -- look for a region among the files that the process has mapped */
static Res liveFromMaps(LiveRegionSearch search, FILE *maps)
{
  struct {
    uint64_t from, inode;
  } table[liveTablesMAX];
  uint64_t base = 0, inode = 0;
  LiveRegionPlaceStruct place;
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
      if (res == ResOK && livePass(search))
        res = ResEND;
    }
  free(line);
  /* Mapped over the variable, besides where the region itself is. */
  while (res == ResOK && tables-- > 0)
    search->live->controlled |= table[tables].inode == inode && table[tables].from != base + RegionCONTROL;
  return res;
}

/* liveNamed -- try a file that has the name of a region of the process */
static Res liveNamed(void *data, RegionFile place)
{
  LiveRegionSearch search = data;
  int fd;

  if (place->name.pid != search->live->pid || search->live->region != NULL)
    return ResOK;
  fd = RegionFileOpen(place, TRUE, liveOwner(search->live));
  search->seen |= fd < 0;
  if (fd >= 0 && liveMap(search, fd, place->file, TRUE) == ResOK)
    (void)livePass(search);
  return ResOK;
}

/* liveFromNames -- where maps may not be read, look for a region by the name that it usually has */
static Res liveFromNames(LiveRegionSearch search)
{
  (void)RegionFileSearch(NULL, liveNamed, search);
  /* Whether the table is mapped cannot be seen; a process that lets others control it has written there. */
  search->live->controlled = search->live->region != NULL;
  return search->live->region != NULL ? ResOK : ResEND;
}

/* liveUser -- whose the process is; FALSE: we may not know.  Its folder in /proc is root's if others may not look into
 * it. */
static Bool liveUser(uid_t *userReturn, uint32_t pid)
{
  char path[32], text[1024];
  const char *line;
  unsigned user;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
  (void)FileText(path, text, sizeof text);
  line = strstr(text, "\nUid:");
  if (line == NULL || sscanf(line, " Uid: %*u %u", &user) != 1)
    return FALSE;
  *userReturn = user;
  return TRUE;
}

/* liveWhyNot -- why maps could not be read, or show no region */
static void liveWhyNot(LiveRegionSearch search, Bool readable)
{
  uint32_t pid = search->live->pid;
  uid_t user = geteuid();
  Bool known;

  if (search->error[0] != '\0')
    return;
  known = liveUser(&user, pid);
  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
    (void)liveSay(search, "there is no process %" PRIu32, pid);
  else if (!readable && user != geteuid())
    (void)liveSay(search, "process %" PRIu32 " is another user's", pid);
  else if (!readable && !known)
    (void)liveSay(search, "process %" PRIu32 " does not let us look into it: it is another user's, or has privileges",
                  pid);
  else if (search->other != 0)
    (void)liveSay(search, "process %" PRIu32 " is not recorded itself: it has the events of process %" PRIu32, pid,
                  search->other);
  else if (search->seen)
    (void)liveSay(search, "process %" PRIu32 ": its memory for events cannot be opened", pid);
  else if (!readable)
    (void)liveSay(search, "process %" PRIu32 " is not recorded, as far as can be seen: it has privileges that we do not "
                          "have, or a program that may not be read, and does not let us look into it", pid);
  else
    (void)liveSay(search, "process %" PRIu32 " is not recorded, and has not allowed control (PAWPRINT_CONTROL=1)", pid);
}

Res LiveRegionOpen(LiveRegion live, uint32_t pid, const LiveRegionStruct *passed, Count count, char *error, Size size)
{
  LiveRegionSearchStruct search = {.live = live, .passed = passed, .count = count, .error = error, .size = size};
  char path[32];
  FILE *maps;
  Res res;

  AVER(size > 0 && count < LiveRegionEMITTERS);
  *error = '\0';
  memset(live, 0, sizeof *live);
  live->pid = pid;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
  maps = fopen(path, "re");
  res = maps != NULL ? liveFromMaps(&search, maps) : liveFromNames(&search);
  if (count > 0 && (res == ResEND || res == ResFORMAT) && search.error[0] == '\0')
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
  AVER(res != ResOK || LiveRegionCheck(live));
  return res == ResOK || (res == ResEND && count > 0) ? res : ResFAIL;
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
  return live->region != NULL && live->text != NULL && live->slots <= RegionSlotsMAX &&
         live->size >= RegionSize(live->slots) && live->length <= RegionTextSIZE &&
         live->header.widths.word == sizeof(Word);
}

/* ---- Control ---- */

static Word *liveTable(LiveRegion live)
{
  AVER(live->region != NULL);
  return (Word *)(void *)((char *)live->region + RegionCONTROL);
}

uint32_t LiveRegionKinds(LiveRegion live, Bool buffered)
{
  uint32_t kinds = (uint32_t)__atomic_load_n(&liveTable(live)[0], __ATOMIC_SEQ_CST);

  return buffered ? kinds >> RegionControlBUFFER : kinds & ((1u << RegionControlBUFFER) - 1);
}

void LiveRegionChoose(LiveRegion live, Bool buffered, uint32_t kinds)
{
  uint32_t was = LiveRegionKinds(live, buffered);
  unsigned shift = buffered ? RegionControlBUFFER : 0;
  Word *table = liveTable(live), old = __atomic_load_n(&table[0], __ATOMIC_SEQ_CST);
  Word on = (Word)(kinds & ~was) << shift, off = (Word)(was & ~kinds) << shift;
  uint64_t now = EventClockMonotonic();

  /* Asked for before the change, so that the state dump comes first; and again behind it, because threads for which
   * other kinds matter may have done one meanwhile. */
  if (on != 0 && !buffered)
    RegionAsk(live->region, RegionAskSTATE);
  while (!__atomic_compare_exchange_n(&table[0], &old, (old | on) & ~off, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  if (!buffered)
    RegionOffSay(table, (uint32_t)off, now);
  if (on != 0 && !buffered)
    RegionAsk(live->region, RegionAskSTATE);
}

/* liveCollector -- read from the environment of a live process where its collector is: "NAME:TOKEN", in `room`; NULL if
 * it has none.  `bytes`, of `size`, is working memory for the environment. */
static const char *liveCollector(LiveRegion live, char *room, Size roomSize, char *bytes, Size size)
{
  static const char name[] = RegionVARIABLE "=";
  const char *at = bytes;
  char path[32];
  Size length;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/environ", live->pid);
  length = FileText(path, bytes, size);
  for (; at < bytes + length; at += strlen(at) + 1)
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

  AVER(what != 0);
  for (waited = 0; ((now = __atomic_load_n(attention, __ATOMIC_SEQ_CST)) & what) != 0; ++waited) {
    if (waited == ms)
      return FALSE;
    /* The process or collector that answers may wake us; if we miss that, we look again after a millisecond. */
    (void)syscall(SYS_futex, attention, FUTEX_WAIT, now, &moment, NULL, 0);
  }
  return TRUE;
}
