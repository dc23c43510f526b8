/* eventrec-start.c -- the log, the environment, and the program in it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "eventrec-recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/listen.h"
#include "plinth/plinth.h"
#include "plinth/quiet.h"

/* RecordingLibrary -- where libpawprint.so is: beside us, as built or as installed */
Bool RecordingLibrary(Recording recording)
{
  char self[PATH_MAX], path[PATH_MAX + 32];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  char *slash;

  if (length > 0) {
    self[length] = '\0';
    slash = strrchr(self, '/');
    *slash = '\0';
    (void)snprintf(path, sizeof path, "%s/../lib/libpawprint.so", self);
    if (realpath(path, recording->library) != NULL && strpbrk(recording->library, ": ") == NULL)
      return TRUE;
  }
  (void)OptionFail(recording->tool, "libpawprint.so is not in ../lib beside this program, or its path has a space or "
                                    "a colon, which LD_PRELOAD cannot carry");
  return FALSE;
}

/* RecordingTo -- --to, with its host looked up: the program itself asks no network; and its path absolute: the program
 * may go to another folder */
Bool RecordingTo(Recording recording)
{
  static char room[PlinthPlaceMAX];
  char where[PlinthPlaceMAX];
  const char *reason;
  TextStruct text;
  Res res;

  if (recording->to == NULL)
    return TRUE;
  res = ListenResolve(where, sizeof where, recording->to, &reason);
  if (res == ResOK && strncmp(where, "unix:", 5) == 0) {
    TextInit(&text, room, sizeof room);
    TextString(&text, "unix:");
    reason = "its path is too long";
    res = QuietAbsolute(&text, where + 5);
    if (res == ResOK)
      res = ListenResolve(where, sizeof where, room, &reason);
  } else if (res == ResOK) {
    (void)strcpy(room, where);
  }
  if (res != ResOK) {
    (void)OptionUsage(recording->tool, "--to %s: %s", recording->to, reason);
    return FALSE;
  }
  recording->to = room;
  return TRUE;
}

/* RecordingLog -- the log's name for a process, absolute */
Bool RecordingLog(Recording recording, pid_t pid)
{
  const char *slash = strrchr(recording->program, '/');
  char name[PATH_MAX], folder[PATH_MAX] = "";
  int length;

  if (recording->output != NULL)
    length = snprintf(name, sizeof name, "%s", recording->output);
  else
    length = snprintf(name, sizeof name, "%s.%ld.paw", slash != NULL ? slash + 1 : recording->program, (long)pid);
  if (name[0] != '/' && getcwd(folder, sizeof folder) == NULL)
    return FALSE;
  return length < PATH_MAX &&
         snprintf(recording->log, sizeof recording->log, "%s%s%s", folder, name[0] != '/' ? "/" : "", name) < PATH_MAX;
}

/* recordingRefused -- the log cannot be made, with errno: why, and what to do */
static Bool recordingRefused(Recording recording)
{
  const char *path = recording->log, *slash = strrchr(path, '/');
  int error = errno;

  if (error == EEXIST)
    (void)OptionFail(recording->tool, "%s: File exists; --force overwrites it", path);
  else if (error == ENOENT || error == ENOTDIR)
    (void)OptionFail(recording->tool, "%s: there is no folder %.*s; make it, or choose another one with -o", path,
                     slash > path ? (int)(slash - path) : 1, path);
  else
    (void)OptionFail(recording->tool, "%s: the log cannot be made: %s; choose another place with -o", path,
                     strerror(error));
  return FALSE;
}

/* recordingCreate -- make the log, and let the program's whole family append to it */
static Bool recordingCreate(Recording recording)
{
  struct stat status;
  char family[64];
  int fd;

  if (lstat(recording->log, &status) == 0) {
    /* A device, a FIFO: nothing that a log was, and gone for everybody if it were removed. */
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
      (void)OptionFail(recording->tool, "%s: it is no file; choose another name", recording->log);
      return FALSE;
    }
    if (recording->force)
      (void)unlink(recording->log);
  }
  fd = open(recording->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || fstat(fd, &status) != 0)
    return recordingRefused(recording);
  (void)close(fd);
  (void)snprintf(family, sizeof family, "%llu:%llu", (unsigned long long)status.st_dev,
                 (unsigned long long)status.st_ino);
  return setenv("PAWPRINT_FAMILY", family, 1) == 0;
}

static Bool recordingNumber(const char *name, Count number)
{
  char room[24];

  (void)snprintf(room, sizeof room, "%zu", number);
  return setenv(name, room, 1) == 0;
}

/* recordingHand -- what is told of the collector, and of what is handed over to it */
static Bool recordingHand(Recording recording)
{
  static const char *const policies[] = {"discard", "block", "overwrite", "stop"};

  if (recording->collector == NULL)
    return unsetenv("PAWPRINT_COLLECTOR") == 0;
  return setenv("PAWPRINT_COLLECTOR", CollectorAddress(recording->collector), 1) == 0 &&
         setenv("PAWPRINT_POLICY", policies[recording->policy], 1) == 0 &&
         recordingNumber("PAWPRINT_BLOCK", recording->blockSize) &&
         recordingNumber("PAWPRINT_BLOCKS", recording->blocks);
}

/* recordingEnvironment -- tell the library in the program what is wanted */
static Bool recordingEnvironment(Recording recording)
{
  const char *others = getenv("LD_PRELOAD");
  char preload[2 * PATH_MAX];

  if (snprintf(preload, sizeof preload, "%s%s%s", recording->library, others != NULL ? ":" : "",
               others != NULL ? others : "") >= (int)sizeof preload)
    return FALSE;
  /* What another recording around this one has told its family is not for ours. */
  if (recording->to != NULL && unsetenv("PAWPRINT_FAMILY") != 0)
    return FALSE;
  return setenv("LD_PRELOAD", preload, 1) == 0 &&
         setenv("PAWPRINT_LOG", recording->to != NULL ? recording->to : recording->log, 1) == 0 &&
         setenv("PAWPRINT_KINDS", recording->kinds, 1) == 0 &&
         setenv("PAWPRINT_MODE", recording->manage ? "manage" : "observe", 1) == 0 &&
         setenv("PAWPRINT_STACK", recording->stack, 1) == 0 &&
         setenv("PAWPRINT_RAW", recording->raw ? "1" : "0", 1) == 0 &&
         setenv("PAWPRINT_PAUSED", recording->paused ? "1" : "0", 1) == 0 &&
         recordingNumber("PAWPRINT_ONLY", recording->alone ? (Count)getpid() : 0) && recordingHand(recording);
}

/* recordingBecome -- in the child: become the program.  What goes wrong is told here; then our status is returned. */
static int recordingBecome(Recording recording, char **argv)
{
  int error;

  if (recording->to == NULL && (!RecordingLog(recording, getpid()) || !recordingCreate(recording)))
    return eventrecFAILED;
  if (!recordingEnvironment(recording)) {
    (void)OptionFail(recording->tool, "no room in the environment");
    return eventrecFAILED;
  }
  (void)sigaction(SIGCHLD, &recording->children, NULL);
  (void)sigprocmask(SIG_SETMASK, &recording->mask, NULL);
  (void)execv(recording->program, argv);
  error = errno;
  (void)OptionFail(recording->tool, "%s: %s", recording->program, strerror(error));
  if (recording->to == NULL)
    (void)unlink(recording->log);
  return error == ENOENT ? eventrecMISSING : eventrecCANNOT;
}

/* RecordingStart -- start the program; -1 if it did not come to that, *statusReturn is ours then */
pid_t RecordingStart(Recording recording, char **argv, int *statusReturn)
{
  int ends[2], failed = 0;
  pid_t pid;

  *statusReturn = eventrecFAILED;
  if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
    (void)OptionFail(recording->tool, "cannot start a process: %s", strerror(errno));
    return -1;
  }
  if (pid == 0) {
    failed = recordingBecome(recording, argv);
    (void)!write(ends[1], &failed, sizeof failed);
    _exit(failed);
  }
  /* Our status comes through, or the end of it as the program begins: whose own status might be the same number. */
  (void)close(ends[1]);
  (void)!read(ends[0], &failed, sizeof failed);
  (void)close(ends[0]);
  if (failed == 0)
    return pid;
  (void)waitpid(pid, NULL, 0);
  *statusReturn = failed;
  return -1;
}
