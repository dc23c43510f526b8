/* plinthtest.c -- ways out: whole messages, in order, or told once and counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/plinth.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plinth/descriptor.h"
#include "plinth/rawsyscall.h"
#include "tap.h"

static char folder[64];

static const char *inFolder(const char *name)
{
  static char room[4][128];
  static unsigned n;
  char *path = room[n++ % 4];

  (void)snprintf(path, sizeof room[0], "%s/%s", folder, name);
  return path;
}

static Size fileRead(const char *path, char *room, Size size)
{
  return RawReadFile(path, room, size);
}

/* refused -- opening fails, with a reason that says so */
static void refused(const char *where, const char *family, Res expected, const char *words)
{
  PlinthStruct plinth = {0};
  const char *reason = "";

  TapIs(PlinthOpen(&plinth, where, family, &reason), expected, "%.40s is refused", where);
  TapOk(strstr(reason, words) != NULL && plinth.class == NULL, "because: %s", reason);
}

static void testRefusals(void)
{
  char name[2000];
  int fd = open(inFolder("there"), O_WRONLY | O_CREAT, 0600);

  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';
  (void)close(fd);
  refused("pigeon:coop", NULL, ResPARAM, "memory:SIZE");
  refused(":x", NULL, ResPARAM, "no such way out");
  refused("memory:", NULL, ResPARAM, "no number");
  refused("memory:12x", NULL, ResPARAM, "no number");
  refused("memory:99999999999999999999999999", NULL, ResPARAM, "no number");
  refused(name, NULL, ResLIMIT, "too long");
  refused(inFolder("no/such"), NULL, ResIO, "No such file");
  refused(inFolder("there"), NULL, ResIO, "there already");
  refused(inFolder("there"), "1:2", ResIO, "there already");
  refused(folder, NULL, ResIO, "irectory");
}

/* familyTell -- the family whose log a plinth has, if that was born then */
static void familyTell(char family[PlinthFileTellMAX + 1], Plinth plinth, uint64_t birth)
{
  TextStruct text;

  TextInit(&text, family, PlinthFileTellMAX + 1);
  PlinthFileTell(&text, plinth->device, plinth->inode, birth);
  (void)TextTerminate(&text);
}

static void testFile(void)
{
  PlinthStruct plinth = {0}, second = {0};
  const char *reason, *path = inFolder("log");
  char room[4096], family[PlinthFileTellMAX + 1];
  struct stat status;
  int fd, i;

  errno = 77;
  TapIs(PlinthOpen(&plinth, path, NULL, &reason), ResOK, "a file is opened");
  TapOk(PlinthSend(&plinth, "hello ", 6) == ResOK && PlinthSend(&plinth, "world ", 6) == ResOK, "messages are sent");
  TapIs(errno, 77, "errno is kept");
  TapOk(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600, "only its owner may read it");
  familyTell(family, &plinth, plinth.birth);
  (void)snprintf(room, sizeof room, "file:%s", path);
  TapIs(PlinthOpen(&second, room, family, &reason), ResOK, "one of the family may append to it");
  TapIs(PlinthSend(&second, "too ", 4), ResOK, "and does");

  /* The program closes everything, and opens its own in the same place. */
  (void)close(plinth.fd);
  fd = open(inFolder("foreign"), O_RDWR | O_CREAT, 0600);
  (void)dup2(fd, plinth.fd);
  TapIs(PlinthSend(&plinth, "again", 5), ResOK, "a descriptor that was closed is opened again");
  TapOk(fstat(fd, &status) == 0 && status.st_size == 0, "the program's own file in its place is left alone");
  TapOk(fileRead(path, room, sizeof room) == 21 && memcmp(room, "hello world too again", 21) == 0,
        "all is there, in order");

  (void)close(plinth.fd);
  (void)unlink(path);
  (void)close(open(path, O_WRONLY | O_CREAT, 0600));
  (void)freopen(inFolder("err"), "w", stderr);
  for (i = 0; i < 3; ++i)
    TapIs(PlinthSend(&plinth, "x", 1), ResIO, "another file of that name is not written to");
  fd = (int)fileRead(inFolder("err"), room, sizeof room - 1);
  room[fd] = '\0';
  TapOk(strstr(room, "another file") != NULL && strchr(room, '\n') == room + fd - 1, "which is told once: %s", room);
  TapIs(plinth.failed, 3, "and counted");
  PlinthClose(&plinth);
  PlinthClose(&second);
  TapOk(plinth.class == NULL, "closed");
}

/* testBorn -- a file that has the number of ours, but was born at another time, or nobody knows when, is not ours */
static void testBorn(void)
{
  PlinthStruct plinth = {0}, second = {0};
  const char *reason = "", *path = inFolder("born");
  char family[PlinthFileTellMAX + 1];
  uint64_t birth;
  struct stat status;
  int fd;

  TapIs(PlinthOpen(&plinth, path, NULL, &reason), ResOK, "a file is opened");
  birth = plinth.birth;
  TapOk(birth != 0, "and it is known when it was born");
  familyTell(family, &plinth, birth + 1);
  TapOk(PlinthOpen(&second, path, family, &reason) == ResIO && PlinthFileInherit(family) < 0,
        "one that was born at another time is not the family's: %s", reason);
  familyTell(family, &plinth, 0);
  TapIs(PlinthOpen(&second, path, family, &reason), ResIO, "nor is one of which that is not known");
  plinth.birth = 0;
  TapIs(PlinthSend(&plinth, "x", 1), ResOK, "whose descriptor serves nevertheless");
  (void)close(plinth.fd);
  TapIs(PlinthOffer(&plinth, "x", 1, FALSE), ResIO, "but it is not opened again");
  plinth.birth = birth + 1;
  TapIs(PlinthOffer(&plinth, "x", 1, FALSE), ResIO, "as one that was born at another time is not");
  plinth.birth = birth;
  TapIs(PlinthOffer(&plinth, "x", 1, FALSE), ResOK, "and the right one is");
  plinth.birth = birth + 1;
  fd = plinth.fd;
  TapOk(PlinthOffer(&plinth, "x", 1, FALSE) == ResIO && stat(path, &status) == 0 && status.st_size == 2,
        "nor is it written to where it has the number of our descriptor");
  (void)close(fd);
  (void)unlink(path);
  (void)mkfifo(path, 0600);
  TapIs(PlinthOffer(&plinth, "x", 1, FALSE), ResIO, "nobody waits for the reader of a FIFO in its place");
  PlinthClose(&plinth);
}

/* testKept -- what the wrappers of close and dup2 ask */
static void testKept(void)
{
  PlinthStruct plinth = {0};
  unsigned first = 0, last = 0;
  const char *reason;
  struct rlimit limit, few;
  struct stat status;
  int fd, moved;

  TapIs(PlinthOpen(&plinth, inFolder("kept"), NULL, &reason), ResOK, "a file is opened");
  fd = plinth.fd;
  TapOk(fd >= DescriptorLowest && fd >= 48 && DescriptorKept(fd),
        "its descriptor has a high number, and is known as ours");
  TapOk(!DescriptorKept(fd + 1) && !DescriptorKept(1) && !DescriptorKept(-1), "others are not");
  TapOk(DescriptorGap(&first, &last, UINT_MAX) && first == 0 && last == (unsigned)fd - 1, "numbers up to it");
  first = (unsigned)fd;
  TapOk(DescriptorGap(&first, &last, UINT_MAX) && first == (unsigned)fd + 1 && last == UINT_MAX, "and behind it");
  first = (unsigned)fd;
  TapOk(!DescriptorGap(&first, &last, (unsigned)fd), "and none in between");
  TapOk(!DescriptorYield(fd + 1) && DescriptorYield(fd) && plinth.fd != fd && DescriptorKept(plinth.fd), "it moves");
  moved = plinth.fd;
  TapOk(close(fd) == 0 && PlinthSend(&plinth, "moved", 5) == ResOK, "and serves there");
  TapOk(dup2(1, moved) == moved && !DescriptorKept(moved), "what the program has put there is not ours");
  TapOk(PlinthSend(&plinth, "again", 5) == ResOK && plinth.fd != moved && DescriptorKept(plinth.fd),
        "and is left alone");
  TapOk(DescriptorAgain(&plinth, moved) == ResIO && fcntl(moved, F_GETFD) >= 0,
        "nor is it the log where the program has put it in its place since it was opened");
  TapOk(PlinthSend(&plinth, "to the log", 10) == ResOK && stat(inFolder("kept"), &status) == 0 && status.st_size == 20,
        "which is written to");
  PlinthClose(&plinth);
  TapOk(!DescriptorKept(fd) && plinth.fd < 0, "closed");
  (void)close(moved);

  (void)getrlimit(RLIMIT_NOFILE, &limit);
  few = (struct rlimit){32, limit.rlim_max};
  (void)setrlimit(RLIMIT_NOFILE, &few);
  TapIs(PlinthOpen(&plinth, inFolder("few"), NULL, &reason), ResOK, "where there are few descriptors");
  TapOk(plinth.fd < 0 && PlinthSend(&plinth, "one ", 4) == ResOK && PlinthSend(&plinth, "two", 3) == ResOK &&
        plinth.fd < 0, "none is kept, and messages go out all the same");
  TapOk(stat(inFolder("few"), &status) == 0 && status.st_size == 7, "all of them");
  fd = open("/dev/null", O_RDONLY);
  TapOk(fd >= 0 && fd < 16, "and the numbers are the program's");
  (void)close(fd);
  PlinthClose(&plinth);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* testForeign -- sockets and pipes have no time of birth: device and inode alone tell ours from the program's */
static void testForeign(void)
{
  PlinthStruct plinth = {.fd = -1};
  struct stat status;
  int ours[2], theirs[2], number = 40, kept;

  TapOk(socketpair(AF_UNIX, SOCK_STREAM, 0, ours) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, theirs) == 0 &&
        dup2(ours[0], number) == number && DescriptorNote(&plinth, number) == ResOK, "a socket of ours");
  TapOk(DescriptorSame(&plinth, number, &status, TRUE), "is ours");
  kept = dup(number);
  TapOk(dup2(theirs[0], number) == number && !DescriptorSame(&plinth, number, &status, TRUE),
        "another one under its number is not, though both are in one file system");
  TapOk(dup2(ours[1], number) == number && !DescriptorSame(&plinth, number, &status, TRUE), "nor is its other end");
  TapOk(dup2(kept, number) == number && DescriptorSame(&plinth, number, &status, TRUE), "it may come back");
  ++plinth.device;
  TapOk(!DescriptorSame(&plinth, number, &status, TRUE), "the same inode of another device is another file");
  close(number);
  TapOk(!DescriptorSame(&plinth, number, &status, TRUE), "and where there is nothing, nothing is");
  close(kept);
  close(ours[0]), close(ours[1]), close(theirs[0]), close(theirs[1]);
}

static void testFull(void)
{
  PlinthStruct plinth = {0};
  const char *reason;
  char room[4096];
  Size size;

  TapIs(PlinthOpen(&plinth, "/dev/full", NULL, &reason), ResOK, "a device may be a log");
  (void)freopen(inFolder("err"), "w", stderr);
  TapOk(PlinthSend(&plinth, "x", 1) == ResIO && PlinthSend(&plinth, "x", 1) == ResIO, "a full one takes nothing");
  size = fileRead(inFolder("err"), room, sizeof room - 1);
  room[size] = '\0';
  TapOk(strcmp(room, "pawprint: cannot write the log: /dev/full: No space left on device\n") == 0, "told once: %s",
        room);
  PlinthClose(&plinth);
}

static void testMemory(void)
{
  PlinthStruct plinth = {0};
  PlinthMemory memory;
  const char *reason;
  char room[8];
  Size size;

  TapIs(PlinthOpen(&plinth, "memory:20", NULL, &reason), ResOK, "memory");
  memory = plinth.state;
  (void)freopen("/dev/null", "w", stderr);
  TapOk(PlinthSend(&plinth, "0123456789", 10) == ResOK && PlinthSend(&plinth, "abcdefghijk", 11) == ResLIMIT &&
        PlinthSend(&plinth, "abcdefghij", 10) == ResOK, "takes whole messages, or none");
  TapOk(memory->used == 20 && memcmp(memory->base, "0123456789abcdefghij", 20) == 0, "and holds them");
  memory->used = 0;
  memory->lock = (unsigned)getpid();
  TapIs(PlinthSend(&plinth, "x", 1), ResLIMIT, "is not waited for without end if a thread has stopped within");
  memory->lock = 0;
  TapIs(plinth.failed, 2, "what failed is counted");
  TapIs(PlinthReceive(&plinth, room, sizeof room, &size), ResEND, "no message ever comes out of it");
  PlinthClose(&plinth);
  TapOk(PlinthOpen(&plinth, "none:", NULL, &reason) == ResOK && PlinthSend(&plinth, "x", 1) == ResOK &&
        PlinthReceive(&plinth, room, 8, &size) == ResEND, "and one that leads nowhere");
  PlinthClose(&plinth);
}

enum { manyTHREADS = 4, manyMESSAGES = 2000, manySIZE = 120 };

static PlinthStruct shared;

static void *sendRun(void *number)
{
  char message[manySIZE];
  int i;

  memset(message, 'a' + (int)(Word)number, sizeof message);
  for (i = 0; i < manyMESSAGES; ++i)
    if (PlinthSend(&shared, message, sizeof message) != ResOK)
      return NULL;
  return NULL;
}

static void testMany(void)
{
  static char room[manyTHREADS * manyMESSAGES * manySIZE];
  const char *reason, *path = inFolder("many");
  pthread_t thread[manyTHREADS];
  Count torn = 0;
  Index i, j;

  TapIs(PlinthOpen(&shared, path, NULL, &reason), ResOK, "a file for many threads");
  for (i = 0; i < manyTHREADS; ++i)
    pthread_create(&thread[i], NULL, sendRun, (void *)i);
  for (i = 0; i < manyTHREADS; ++i)
    pthread_join(thread[i], NULL);
  TapIs(fileRead(path, room, sizeof room), sizeof room, "all messages arrive");
  for (i = 0; i < sizeof room; i += manySIZE)
    for (j = 1; j < manySIZE; ++j)
      torn += room[i + j] != room[i];
  TapIs(torn, 0, "each whole");
  PlinthClose(&shared);
}


static struct {
  const char *path;
  unsigned opened;
  Bool kept, room;
} apart;

static void apartLook(void *unused)
{
  (void)unused;
  apart.kept = DescriptorMay();
  apart.room = ApartRoom();
  while (apart.opened < 5 && open(apart.path, O_RDONLY | O_CLOEXEC) >= 0)
    ++apart.opened;
}

static void testApart(void)
{
  int fds[1024], count = 0, i, open1;
  struct rlimit before, few;
  Bool there = TRUE;

  (void)getrlimit(RLIMIT_NOFILE, &before);
  few = before;
  few.rlim_cur = 100;
  (void)setrlimit(RLIMIT_NOFILE, &few);
  apart.path = inFolder("many");
  TapOk(ApartRoom(), "there are descriptors");
  while ((open1 = open(apart.path, O_RDONLY | O_CLOEXEC)) >= 0)
    fds[count++] = open1;
  TapOk(!ApartRoom(), "there are none");
  for (i = 0; i < 3; ++i) {
    apart.opened = 0;
    errno = 77;
    TapOk(ApartRun(apartLook, NULL) && errno == 77, "a thread has a table of its own");
    TapIs(apart.opened, 5, "in which there is room");
    TapOk(apart.room && !apart.kept, "for as many as a meeting takes, but none is kept");
    TapOk(DescriptorMay() && !ApartRoom(), "and all is as it was");
  }
  for (i = 0; i < count; ++i)
    there = there && close(fds[i]) == 0;
  TapOk(there, "each that was open is");
  (void)setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
  char command[128];

  (void)snprintf(folder, sizeof folder, "/tmp/pawprint-plinth-XXXXXX");
  if (mkdtemp(folder) == NULL)
    return 1;
  testRefusals();
  testFile();
  testBorn();
  testKept();
  testForeign();
  testFull();
  testMemory();
  testMany();
  testApart();
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  (void)!system(command);
  return TapDone();
}
