/* recordingsay.c -- what is told at the end of a recording
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/say.h"
#include "base/text.h"
#include "collect/observable.h"
#include "log/log.h"

/* RecordingLine -- to be told at the end, once */
void RecordingLine(void *data, const char *line)
{
  Recording recording = data;
  Index i;

  for (i = 0; i < recording->lines; ++i)
    if (strcmp(recording->line[i], line) == 0)
      return;
  if (recording->lines < recordingLinesMAX && (recording->line[recording->lines] = strdup(line)) != NULL)
    ++recording->lines;
  else
    ++recording->linesMore;
}

void RecordingUnseen(Recording recording, const char *path, const char *reason, Count count)
{
  char line[PATH_MAX + 256];
  int length = snprintf(line, sizeof line, "not seen: %s: %s", path, reason);
  Count lines = recording->lines + recording->linesMore;

  if (count > 1 && length < (int)sizeof line)
    (void)snprintf(line + length, sizeof line - (Size)length, " (%zu processes)", count);
  RecordingLine(recording, line);
  if (recording->collector != NULL && lines < recording->lines + recording->linesMore)
    CollectorUnseen(recording->collector, path, reason, count);
}

void RecordingTell(Recording recording, const char *format, ...)
{
  char line[2 * PATH_MAX + 600];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  RecordingLine(recording, line);
}

/* recordingWhole -- is that a reason for which nothing of a program is seen? */
static Bool recordingWhole(const char *reason)
{
  return reason != NULL && !ProgramPartly(reason);
}

/* recordingNamed -- has this user named a program so a moment ago, and there was nothing against it?  What a name leads to is looked up once:
 * that takes several microseconds, and a family of short processes runs the same few programs again and again. */
static Bool recordingNamed(Recording recording, const char *name, uid_t user)
{
  Index i;

  for (i = 0; i < recordingNamesMAX && recording->name[i] != NULL; ++i)
    if (recording->nameUser[i] == user && strcmp(recording->name[i], name) == 0)
      return TRUE;
  return FALSE;
}

static void recordingName(Recording recording, const char *name, uid_t user)
{
  Index i = recording->names++ % recordingNamesMAX;

  free(recording->name[i]);
  recording->name[i] = strdup(name);
  recording->nameUser[i] = user;
}

/* recordingAgainst -- does the file of the program say that nothing of it is seen? */
static Bool recordingAgainst(Recording recording, const char *path, uid_t user)
{
  const char *reason;
  Index i;

  for (i = 0; i < recording->known; ++i)
    if (strcmp(recording->path[i], path) == 0 && (recording->namer[i] == user || user == ProgramANYBODY))
      return recordingWhole(recording->reason[i]);
  if (!RecordingLooks(recording, path, recording->known) || (recording->path[recording->known] = strdup(path)) == NULL)
    return FALSE;
  reason = ProgramUnseen(path, user, &recording->looked);
  recording->namer[recording->known] = user;
  recording->reason[recording->known++] = reason;
  return recordingWhole(reason);
}

Bool RecordingLooks(Recording recording, const char *path, Count others)
{
  if (others < recordingKnownMAX && recording->looked >= ProgramBytesMAX)
    return TRUE;
  if (recording->unlooked++ == 0)
    (void)snprintf(recording->first, sizeof recording->first, "%s", path);
  return FALSE;
}

/* RecordingProgram -- a program of the family: is there anything against its being observed? */
Bool RecordingProgram(void *data, const char *name, uid_t user)
{
  Recording recording = data;
  char found[PATH_MAX], path[PATH_MAX];

  if (recordingNamed(recording, name, user) || ProgramFind(found, sizeof found, name) != ResOK ||
      realpath(found, path) == NULL)
    return FALSE;
  if (recordingAgainst(recording, path, user))
    return TRUE;
  recordingName(recording, name, user);
  return FALSE;
}

/* recordingWhy -- the first of the programs that were looked at which has this path, and something speaks against it;
 * `known`: there is none */
static Index recordingWhy(Recording recording, const char *path)
{
  Index i;

  for (i = 0; i < recording->known; ++i)
    if (recording->reason[i] != NULL && strcmp(recording->path[i], path) == 0)
      break;
  return i;
}

/* recordingMet -- has a process of this program announced itself, though by its file it cannot?  It is linked with the library. */
static Bool recordingMet(Recording recording, const char *path)
{
  Index i;

  for (i = 0; i < recording->mets; ++i)
    if (strcmp(recording->met[i], path) == 0)
      return TRUE;
  return FALSE;
}

/* recordingFiles -- tell what the files of programs say */
static void recordingFiles(Recording recording)
{
  Index i;

  for (i = 0; i < recording->known; ++i)
    if (recordingWhy(recording, recording->path[i]) == i &&
        !(recording->reason[i] != NULL && ProgramStatic(recording->reason[i]) && recordingMet(recording, recording->path[i])))
      RecordingUnseen(recording, recording->path[i], recording->reason[i], recording->unseen[i]);
  if (recording->unlooked == 0)
    return;
  RecordingTell(recording, "programs and libraries were too many, or too large, to look into all: of %s and those after "
                "it it is not known whether their files speak against their being seen", recording->first);
}

void RecordingLast(void *data)
{
  Recording recording = data;

  (void)RecordingProgram(recording, recording->program, geteuid());
  RecordingLibraries(recording);
  recordingFiles(recording);
}

void RecordingAbsent(void *data, const char *name, const char *reason, Count count)
{
  Recording recording = data;
  char found[PATH_MAX], path[PATH_MAX];
  Index i;

  if ((name[0] != '/' && strchr(name, '/') != NULL) || ProgramFind(found, sizeof found, name) != ResOK ||
      realpath(found, path) == NULL)
    (void)snprintf(path, sizeof path, "%s", name);
  i = recordingWhy(recording, path);
  if (i < recording->known && recordingWhole(recording->reason[i]))
    recording->unseen[i] += count;
  else
    RecordingUnseen(recording, path, reason != NULL ? reason : "by its file nothing can be loaded into it", count);
}

static void recordingSilent(void *data, const char *line)
{
  UNUSED(data), UNUSED(line);
}

static void recordingLines(Recording recording)
{
  Index i;

  for (i = 0; i < recording->lines; ++i)
    SayLine(stderr, "eventrec: %s", recording->line[i]);
  if (recording->linesMore > 0)
    SayLine(stderr, "eventrec: %zu more line%s, for which there was no room, %s left out", recording->linesMore,
            TextPlural(recording->linesMore), recording->linesMore == 1 ? "is" : "are");
}

/* recordingSeen -- is there a recorded program in the log, not only what the collector saw? */
static Bool recordingSeen(Log log, Count processes)
{
  Index i;

  for (i = 0; i < processes; ++i)
    if (LogProcessAt(log, i)->header.role[0] == '\0')
      return TRUE;
  return FALSE;
}

/* recordingNothing -- nothing was recorded: why? */
static void recordingNothing(Recording recording)
{
  if (recording->lines > 0)
    return;
  if (recording->process != NULL)
    RecordingTell(recording, "--process: no process of the family was called '%s'", recording->process);
  else
    RecordingTell(recording, "not seen: %s: it did not load the library", recording->program);
}

/* recordingThere -- is the log what a name leads to? */
static Bool recordingThere(Recording recording, const char *path)
{
  struct stat status;

  return lstat(path, &status) == 0 && status.st_dev == recording->device && status.st_ino == recording->inode;
}

/* recordingMoved -- the log is not where it was made: where is it? */
static void recordingMoved(Recording recording)
{
  char name[PATH_MAX];
  struct stat status;
  ssize_t length = readlink(recording->found, name, sizeof name - 1);

  name[length > 0 ? length : 0] = '\0';
  if (recordingThere(recording, name)) {
    RecordingTell(recording, "%s: the log was moved while it was written; it is %s now", recording->log, name);
    (void)strcpy(recording->log, name);
    recording->output = recording->log;
  } else if (fstat(recording->own, &status) == 0 && status.st_nlink > 0) {
    RecordingTell(recording, "%s: the log was moved while it was written, and its name is not known", recording->log);
  } else {
    RecordingTell(recording, "%s: the log was removed while it was written; its events are gone with it",
                  recording->log);
  }
}

void RecordingFind(Recording recording)
{
  if (recording->own >= 0 && !recordingThere(recording, recording->log))
    recordingMoved(recording);
  if (recording->counts.missing == 0)
    return;
  RecordingTell(recording, "%s: the log was cut while it was written: %llu bytes of it are missing", recording->log,
                (unsigned long long)recording->counts.missing);
}

/* recordingRead -- what is in the log; FALSE: it cannot be read, which is told
 * seenReturn  there is a recorded program in it */
static Bool recordingRead(LogSummary summaryReturn, Bool *seenReturn, Recording recording)
{
  const char *place = recording->found[0] != '\0' ? recording->found : recording->log, *reason;
  LogHooksStruct hooks = {.note = recordingSilent};
  char error[512];
  Log log;

  if (LogOpen(&log, &place, 1, &hooks, error, sizeof error) == ResOK) {
    LogSummarize(summaryReturn, log);
    *seenReturn = recordingSeen(log, summaryReturn->processes);
    LogClose(log);
    return TRUE;
  }
  reason = strncmp(error, place, strlen(place)) == 0 ? error + strlen(place) : error;
  if (recording->whole && recording->counts.events > 0)
    RecordingTell(recording, "%s: what was written cannot be read back%s", recording->log, reason);
  return FALSE;
}

/* RecordingSummary -- one line of what was recorded, and one for what was not.  The log has also what processes wrote that
 * the collector does not know; but where it is not as it was written, that is what is known. */
void RecordingSummary(Recording recording, Count running)
{
  LogSummaryStruct summary = {0};
  Bool seen = FALSE, read;

  read = recordingRead(&summary, &seen, recording);
  if (recording->whole && (!read || recording->counts.missing > 0)) {
    summary.events = recording->counts.events;
    summary.discarded = recording->counts.discarded;
    summary.bytes = recording->counts.bytes;
    seen = recording->mets > 0;
  } else {
    summary.discarded += recording->counts.untold;
  }
  if (!seen)
    recordingNothing(recording);
  SayLine(stderr, "eventrec: %llu events (%llu discarded), %llu bytes, %.3f s -> %s", (unsigned long long)summary.events,
          (unsigned long long)summary.discarded, (unsigned long long)summary.bytes, recording->seconds,
          !read ? recording->log : recording->output != NULL ? recording->output : strrchr(recording->log, '/') + 1);
  recordingLines(recording);
  if (running > 0)
    SayLine(stderr, running == 1 ? "eventrec: %zu of its processes still runs, and writes to the log" :
                                   "eventrec: %zu of its processes still run, and write to the log", running);
  if (recording->barred > 0)
    SayLine(stderr, recording->barred == 1 ? "eventrec: %zu of them has another user now, and may not remove its shared memory when it ends; "
                                           "eventrec --clean %s removes it then" :
                                           "eventrec: %zu of them have another user now, and may not remove their shared memory when they "
                                           "end; eventrec --clean %s removes it then", recording->barred, recording->log);
}

/* RecordingSent -- the end of a recording that went to another place, and a line of what was sent */
void RecordingSent(Recording recording)
{
  CollectorCounts counts = &recording->counts;
  Count running = 0;

  if (recording->collector != NULL) {
    (void)CollectorEnd(recording->collector, &running); /* what could not be sent is told, with its number */
    CollectorCount(counts, recording->collector);
    CollectorFree(recording->collector);
  }
  SayLine(stderr, "eventrec: %llu events (%llu discarded), %llu bytes, %.3f s -> %s",
          (unsigned long long)counts->events, (unsigned long long)counts->discarded, (unsigned long long)counts->bytes,
          recording->seconds, recording->to);
  recordingLines(recording);
  if (running > 0)
    SayLine(stderr, running == 1 ? "eventrec: %zu of its processes still runs, and sends by itself" :
                                   "eventrec: %zu of its processes still run, and send by themselves", running);
}

/* ---- Recorded programs and the libraries that they have loaded: do they go to an allocator without us? ----
 *
 * A process has its libraries when it comes; which these are is looked up once for each program.  What is in them, and in
 * the program, is looked up at the end, when nobody waits. */

/* loadedAdd -- one more string in a list of so many at most; FALSE: it is there, or there is no room */
static Bool loadedAdd(char *list[recordingKnownMAX], Count *count, const char *string)
{
  Index i;

  for (i = 0; i < *count; ++i)
    if (strcmp(list[i], string) == 0)
      return FALSE;
  if (*count == recordingKnownMAX || (list[*count] = strdup(string)) == NULL)
    return FALSE;
  ++*count;
  return TRUE;
}

void RecordingLoaded(void *data, pid_t pid, uid_t user, const char *program)
{
  Recording recording = data;
  char path[32], *line = NULL;
  size_t room = 0;
  FILE *maps;

  if (program[0] == '\0' || !loadedAdd(recording->met, &recording->mets, program))
    return;
  (void)snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
  maps = fopen(path, "re");
  while (maps != NULL && getline(&line, &room, maps) >= 0) {
    char permissions[8];
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%*x-%*x %7s %*x %*x:%*x %*u %n", permissions, &at) == 1 && at > 0 &&
        strchr(permissions, 'x') != NULL && line[at] == '/' &&
        loadedAdd(recording->loaded, &recording->libraries, line + at))
      recording->loader[recording->libraries - 1] = user;
  }
  free(line);
  if (maps != NULL)
    (void)fclose(maps);
}

void RecordingLibraries(Recording recording)
{
  ProgramDoorsStruct *doors = calloc(recording->libraries + 1, sizeof *doors);
  unsigned there = 0;
  Index i;

  for (i = 0; doors != NULL && i < recording->libraries; ++i) {
    if (RecordingLooks(recording, recording->loaded[i], i))
      ProgramDoorsRead(&doors[i], recording->loaded[i], recording->loader[i], &recording->looked);
    there |= doors[i].has;
  }
  for (i = 0; doors != NULL && i < recording->libraries; ++i) {
    const char *reason = ProgramDoor(&doors[i], there);
    if (reason == NULL)
      continue;
    RecordingUnseen(recording, recording->loaded[i], reason, 0);
  }
  free(doors);
}
