/* trusttest.c -- which files reading a log opens, and whose left-overs it takes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What should not be opened is watched (inotify): looking at a file's kind and owner is no opening.
 */
#include <limits.h>
#include <sys/inotify.h>

#include "orphanmake.h"

static MakeStruct make;

/* trustOpened -- is `watched` opened while the log is read? */
static Bool trustOpened(const char *watched)
{
  char events[4096];
  int fd = inotify_init1(IN_NONBLOCK);
  Bool opened;

  if (fd < 0 || inotify_add_watch(fd, watched, IN_OPEN | IN_DONT_FOLLOW) < 0)
    makeFail(watched);
  (void)testReadAll();
  opened = read(fd, events, sizeof events) > 0;
  (void)close(fd);
  return opened;
}

/* trustMake -- a log with one block, of a process with a region of another; what is in the region is expected, too */
static void trustMake(Left left, MakeProcess process)
{
  make.size = 0;
  made.count = 0;
  leftBegin(left, process);
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  leftFill(&blocks[0], leftEach, TRUE);
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeBlockNext(&blocks[0], 200);
  leftFill(&blocks[0], leftEach, TRUE);
  leftPut(left, &blocks[0], RegionOPEN);
  leftWrite(left);
  MakeWrite(&make, path);
}

/* trustAt -- a name beside the log for a region of a recording, or with another beginning */
static const char *trustAt(char name[300], const char *beginning, uint64_t recording)
{
  (void)snprintf(name, 300, "%s.region-%016llx-10-7", beginning, (unsigned long long)recording);
  return name;
}

static void testRegular(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  LeftStruct left;
  char name[300], another[64];

  (void)snprintf(another, sizeof another, "%s/another", leftFolder);
  trustMake(&left, process);
  TapOk(trustOpened(left.path), "a region of the recording is opened");
  TapIs(got.count, 2 * leftEach, "and what is in it taken");
  (void)rename(left.path, trustAt(name, another, leftRECORDING));
  TapOk(testReadAll() && got.count == 2 * leftEach, "whatever the log was called then");
  (void)rename(name, left.path);
  (void)snprintf(name, sizeof name, "%s.elsewhere", path);
  (void)rename(left.path, name);
  strcpy(process->header.region, name);
  trustMake(&left, process);
  (void)rename(left.path, name);
  strcpy(process->header.region, name);
  make.size = 0;
  MakeHeader(&make, process);
  MakeWrite(&make, path);
  TapOk(!trustOpened(name), "a file that only the log names as a region is not opened");
  TapIs(got.count, 0, "nor taken");
  (void)unlink(name);
  leftEnd(&left);
  MakeProcessFree(process);
}

static void testStrange(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  LeftStruct left;
  char name[300], other[300];

  trustMake(&left, process);
  (void)snprintf(other, sizeof other, "%s.kept", path);
  (void)rename(left.path, other);
  if (mkfifo(left.path, 0600) != 0)
    makeFail(left.path);
  TapOk(!trustOpened(left.path), "a fifo that is called as a region is not opened");
  (void)unlink(left.path);
  if (symlink(other, left.path) != 0)
    makeFail(left.path);
  TapOk(!trustOpened(other), "no link is followed");
  (void)unlink(left.path);
  (void)rename(other, trustAt(name, path, leftRECORDING + 1));
  TapOk(!trustOpened(name), "a region of another recording is not opened, though it lies beside the log");
  TapIs(got.count, leftEach, "and nothing of it taken");
  (void)rename(name, left.path);
  if (geteuid() == 0 && chown(left.path, 12345, (gid_t)-1) == 0) {
    TapOk(!trustOpened(left.path), "a region that another user owns is not opened");
    if (chown(path, 12345, (gid_t)-1) != 0)
      makeFail(path);
    TapOk(trustOpened(left.path) && got.count == 2 * leftEach, "unless the log is that user's, too");
    (void)unlink(path);
  } else {
    TapOk(TRUE, "skipped: only root can give files away");
    TapOk(TRUE, "skipped: only root can give files away");
  }
  leftEnd(&left);
  MakeProcessFree(process);
}

/* testSame -- one recording has died; another is made at the same path */
static void testSame(void)
{
  MakeProcess dead = MakeProcessNew(10, 1), next = MakeProcessNew(12, 2);
  LeftStruct left;

  trustMake(&left, dead);
  if (realpath(path, left.header.log) == NULL)
    makeFail(path);
  leftWrite(&left);
  make.size = 0;
  next->header.recording = leftRECORDING + 1;
  MakeHeader(&make, next);
  MakeBlockBegin(&blocks[1], next, 12, EventKindObject, 0, 100);
  leftFill(&blocks[1], leftEach, FALSE);
  MakeBlockEnd(&make, &blocks[1], BlockFlagSEALED);
  MakeWrite(&make, path);
  TapOk(testReadAll() && got.count == leftEach, "a recording at the path of one that died has only its own events");
  leftEnd(&left);
  MakeProcessFree(dead);
  MakeProcessFree(next);
}

/* testShared -- in /dev/shm, where the log is empty: the link says which log it is for */
static void testShared(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  char name[300], link[400], real[PATH_MAX];
  LeftStruct left;

  trustMake(&left, process);
  leftText(&left);
  leftWrite(&left);
  (void)snprintf(name, sizeof name, RegionFOLDER "/" RegionPREFIX "%016llx-10-0",
                 (unsigned long long)(getpid() * 0x10001ull));
  (void)snprintf(link, sizeof link, "%s" RegionLINK, name);
  make.size = 0;
  MakeWrite(&make, path);
  (void)unlink(link);
  if (rename(left.path, name) != 0) {
    char command[800]; /* another file system */
    (void)snprintf(command, sizeof command, "cp %s %s", left.path, name);
    if (system(command) != 0)
      makeFail(name);
    (void)unlink(left.path);
  }
  TapOk(!testReadAll(), "of an empty log no region is found by what it says itself");
  if (realpath(path, real) == NULL || symlink(real, link) != 0)
    makeFail(link);
  TapOk(testReadAll() && got.count == leftEach, "but by the link beside it");
  if (geteuid() == 0 && lchown(link, 12345, (gid_t)-1) == 0)
    TapOk(!testReadAll(), "unless another user than the region's owns it");
  else
    TapOk(TRUE, "skipped: only root can give files away");
  (void)unlink(link);
  if (symlink("/tmp/other", link) != 0)
    makeFail(link);
  TapOk(!testReadAll(), "which must name the log");
  (void)unlink(link);
  (void)unlink(name);
  leftEnd(&left);
  MakeProcessFree(process);
}

int main(void)
{
  leftLog();
  testRegular();
  testStrange();
  testSame();
  testShared();
  leftLogEnd();
  MakeFree(&make);
  return TapDone();
}
