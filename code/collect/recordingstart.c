/* recordingstart.c -- the log, the environment, and the program in it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/settings.h"
#include "collect/programfile.h"
#include "collect/regionmaker.h"
#include "format/region.h"
#include "plinth/clock.h"
#include "plinth/plinth.h"
#include "plinth/rawsyscall.h"

enum { recordingFAMILY = PlinthFileTellMAX + 1 }; /* bytes that tell which file the log is, sent through a socket */

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

/* recordingFolder -- is there the folder that a path says, `length` bytes of it? */
static Bool recordingFolder(const char *path, int length)
{
  char folder[PATH_MAX];
  struct stat status;

  (void)snprintf(folder, sizeof folder, "%.*s", length, path);
  return stat(folder, &status) == 0 && S_ISDIR(status.st_mode);
}

/* recordingRefused -- the log cannot be made, with errno: why, and what to do */
static Bool recordingRefused(Recording recording)
{
  const char *path = recording->log, *slash = strrchr(path, '/');
  int error = errno, length = slash > path ? (int)(slash - path) : 1;

  if (error == EEXIST)
    (void)OptionFail(recording->tool, "%s: File exists; --force overwrites it", path);
  else if ((error == ENOENT || error == ENOTDIR) && !recordingFolder(path, length))
    (void)OptionFail(recording->tool, "%s: there is no folder %.*s; make it, or choose another one with -o", path,
                     length, path);
  else
    (void)OptionFail(recording->tool, "%s: the log cannot be made: %s; choose another place with -o", path,
                     strerror(error));
  return FALSE;
}

/* recordingCreate -- make the log, which stays open: it is never looked for by its name again; which file it is, by
 * which the program's whole family may append to it */
static Bool recordingCreate(char *familyReturn, Size size, Recording recording)
{
  struct stat status;
  TextStruct text;
  const char *name;

  recording->folder = FolderOpen(&name, recording->log);
  if (recording->folder < 0)
    return recordingRefused(recording);
  if (fstatat(recording->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    /* A device, a FIFO: nothing that a log was, and gone for everybody if it were removed. */
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
      (void)OptionFail(recording->tool, "%s: it is no file; choose another name", recording->log);
      return FALSE;
    }
    if (recording->force)
      (void)unlinkat(recording->folder, name, 0);
  }
  recording->fd = openat(recording->folder, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (recording->fd < 0 || fstat(recording->fd, &status) != 0)
    return recordingRefused(recording);
  recording->device = status.st_dev;
  recording->inode = status.st_ino;
  TextInit(&text, familyReturn, size);
  PlinthFileTell(&text, status.st_dev, status.st_ino, RawBirth(recording->fd));
  (void)TextTerminate(&text);
  return TRUE;
}

static void recordingNumber(Text text, const char *name, Count number)
{
  char room[24];

  (void)snprintf(room, sizeof room, "%zu", number);
  SettingsAdd(text, name, room);
}

/* recordingSettings -- all settings of the library in the program, in one environment variable, which replaces that of
 * another recording around this one.  FALSE: there is no room. */
static Bool recordingSettings(Recording recording, const char *family)
{
  static const char *const policies[] = {"discard", "block", "overwrite", "stop"};
  char room[4 * PATH_MAX], identity[24], stack[256], clock[EventClockTellSIZE];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  /* First: the collector looks for strangers of the family by how this variable begins. */
  if (recording->collector != NULL)
    SettingsAdd(&text, "collector", CollectorAddress(recording->collector));
  if (recording->file)
    SettingsAdd(&text, "family", family);
  (void)snprintf(identity, sizeof identity, "0x%llx", (unsigned long long)recording->identity);
  SettingsAdd(&text, "recording", identity);
  SettingsAdd(&text, "clock", EventClockTell(clock, EventClockChoose()));
  SettingsAdd(&text, "log", recording->file ? recording->log : recording->to);
  SettingsAdd(&text, "kinds", recording->kinds);
  SettingsAdd(&text, "mode", recording->manage ? "manage" : "observe");
  SettingsAdd(&text, "debug", recording->debug ? "1" : "0");
  (void)TextMake(stack, sizeof stack, "%zu%s%s%s%s", recording->range != NULL ? (Count)1 : recording->stack,
                 recording->stackFrees ? ",frees" : "", recording->usable ? ",usable" : "",
                 recording->range != NULL ? ",range=" : "", recording->range != NULL ? recording->range : "");
  SettingsAdd(&text, "stack", stack);
  SettingsAdd(&text, "raw", recording->wanted.raw ? "1" : "0");
  SettingsAdd(&text, "paused", recording->wanted.paused ? "1" : "0");
  recordingNumber(&text, "only", recording->wanted.alone ? (Count)getpid() : 0);
  if (recording->collector != NULL) {
    SettingsAdd(&text, "policy", policies[recording->policy]);
    recordingNumber(&text, "block", recording->blockSize);
    recordingNumber(&text, "blocks", recording->blocks);
  }
  (void)TextTerminate(&text);
  return !text.overflow && setenv(RegionVARIABLE, room, 1) == 0;
}

/* recordingEnvironment -- preload the library into the program, unless it does not start so, and give it its settings
 */
static Bool recordingEnvironment(Recording recording, const char *family)
{
  const char *others = getenv("LD_PRELOAD");
  char preload[2 * PATH_MAX];

  if (snprintf(preload, sizeof preload, "%s%s%s", recording->library, others != NULL ? ":" : "",
               others != NULL ? others : "") >= (int)sizeof preload)
    return FALSE;
  return (!ProgramPreloads(recording->program, geteuid()) || setenv("LD_PRELOAD", preload, 1) == 0) &&
         recordingSettings(recording, family);
}

/* recordingNot -- the program, which was there, could not be executed: why; our status */
static int recordingNot(Recording recording, int error)
{
  char interpreter[PATH_MAX];

  if (error == ENOEXEC)
    (void)OptionFail(recording->tool, "%s: %s: it is no program of this machine, and a script must begin with #!",
                     recording->program, strerror(error));
  else if (error != ENOENT || access(recording->program, F_OK) != 0)
    (void)OptionFail(recording->tool, "%s: %s", recording->program, strerror(error));
  else if (ProgramInterpreter(interpreter, sizeof interpreter, recording->program, getuid()))
    (void)OptionFail(recording->tool, "%s: its interpreter, %s, is missing", recording->program, interpreter);
  else
    (void)OptionFail(recording->tool, "%s: the interpreter or loader that it names is missing", recording->program);
  return error == ENOENT ? eventrecMISSING : eventrecCANNOT;
}

/* recordingBecome -- in the child: become the program.  If that fails it says why, and returns our status. */
static int recordingBecome(Recording recording, char **argv, int end)
{
  char family[recordingFAMILY];

  /* The log's name may have our number in it, and it is the parent's to write. */
  if (read(end, family, sizeof family) != (ssize_t)sizeof family || !RecordingLog(recording, getpid()))
    return eventrecFAILED;
  if (!recordingEnvironment(recording, family)) {
    (void)OptionFail(recording->tool, "no room in the environment");
    return eventrecFAILED;
  }
  /* Here, for the whole family: so its processes need not. */
  RawDumped(TRUE);
  RawDumped(FALSE);
  RecordingRestore(recording);
  (void)execv(recording->program, argv);
  return recordingNot(recording, errno);
}

/* recordingDiscard -- the log of a program that was not started, if that is still what its name leads to */
static void recordingDiscard(Recording recording)
{
  const char *name = strrchr(recording->log, '/') + 1;
  struct stat status;

  if (recording->fd < 0)
    return;
  if (fstatat(recording->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_dev == recording->device &&
      status.st_ino == recording->inode)
    (void)unlinkat(recording->folder, name, 0);
  (void)close(recording->fd);
  recording->fd = -1;
}

/* recordingLaunch -- in the parent: make the log, and let the child go on; its status, 0 if it has become the
 * program */
static int recordingLaunch(Recording recording, pid_t pid, int end)
{
  char family[recordingFAMILY] = "";
  int failed = 0;

  if (!RecordingLog(recording, pid) ||
      (recording->file && !recordingCreate(family, sizeof family, recording)))
    return eventrecFAILED;
  /* Without this the child ends as soon as our end is closed. */
  if (send(end, family, sizeof family, MSG_NOSIGNAL) != (ssize_t)sizeof family) {
    (void)OptionFail(recording->tool, "the process cannot be told to begin: %s", strerror(errno));
    return eventrecFAILED;
  }
  /* Our status comes through, or the end of it as the program begins: whose own status might be the same number. */
  (void)!read(end, &failed, sizeof failed);
  return failed;
}

/* RecordingStart -- start the program; -1 if it did not come to that, *statusReturn is ours then */
pid_t RecordingStart(Recording recording, char **argv, int *statusReturn)
{
  char clock[EventClockTellSIZE];
  int ends[2], failed;
  pid_t pid;

  *statusReturn = eventrecFAILED;
  /* Before the fork: so all that the recording consists of say the same. */
  (void)EventClockTell(clock, EventClockChoose());
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 || (pid = fork()) < 0) {
    (void)OptionFail(recording->tool, "cannot start a process: %s", strerror(errno));
    return -1;
  }
  if (pid == 0) {
    (void)close(ends[0]);
    failed = recordingBecome(recording, argv, ends[1]);
    (void)send(ends[1], &failed, sizeof failed, MSG_NOSIGNAL);
    _exit(failed);
  }
  (void)close(ends[1]);
  failed = recordingLaunch(recording, pid, ends[0]);
  (void)close(ends[0]);
  if (failed == 0)
    return pid;
  (void)waitpid(pid, NULL, 0);
  recordingDiscard(recording);
  *statusReturn = failed;
  return -1;
}
