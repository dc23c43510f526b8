/* recordingsay.c -- what eventrec says at the end of a recording
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/say.h"
#include "collect/programfile.h"
#include "log/log.h"

/* ---- Lists of names ---- */

/* listFind -- the first entry with this name that this user gave; ProgramANYBODY: whoever gave it.  NULL: there is
 * none. */
static RecordingName listFind(RecordingList list, const char *name, uid_t user)
{
  Index i;

  for (i = 0; i < list->count; ++i)
    if (strcmp(list->entry[i].name, name) == 0 && (user == ProgramANYBODY || list->entry[i].user == user))
      return &list->entry[i];
  return NULL;
}

/* listAdd -- one more entry; NULL: the list is full, or there is no memory */
static RecordingName listAdd(RecordingList list, const char *name, uid_t user)
{
  RecordingName entry = &list->entry[list->count];

  AVER(list->count <= recordingNamesMAX);
  if (list->count == recordingNamesMAX || (entry->name = strdup(name)) == NULL)
    return NULL;
  entry->user = user;
  ++list->count;
  return entry;
}

static Bool listCheck(const RecordingListStruct *list, Count most)
{
  Index i;

  for (i = 0; i < list->count && i < most; ++i)
    if (list->entry[i].name == NULL)
      return FALSE;
  return list->count <= most;
}

Bool RecordingCheck(const RecordingStruct *recording)
{
  return listCheck(&recording->lines, recordingLinesMAX) && listCheck(&recording->met, recordingNamesMAX) &&
         listCheck(&recording->libraries, recordingNamesMAX) && listCheck(&recording->programs, recordingNamesMAX) &&
         listCheck(&recording->names, recordingFewMAX) && listCheck(&recording->absent, recordingNamesMAX) &&
         recording->looked <= recordingLookedMAX && (recording->unlooked == 0 || recording->first[0] != '\0');
}

/* ---- What is said at the end ---- */

void RecordingLine(void *data, const char *line)
{
  Recording recording = data;

  if (listFind(&recording->lines, line, ProgramANYBODY) == NULL &&
      (recording->lines.count == recordingLinesMAX || listAdd(&recording->lines, line, ProgramANYBODY) == NULL))
    ++recording->linesMore;
}

/* recordingUnseen -- name a program or library that is not seen, and why: in a line at the end, and by an event in the
 * log
 * count  processes that ran it; 0: they are not counted */
static void recordingUnseen(Recording recording, const char *path, const char *reason, Count count)
{
  char line[PATH_MAX + 256];
  int length = snprintf(line, sizeof line, "not seen: %s: %s", path, reason);
  Count lines = recording->lines.count + recording->linesMore;

  if (count > 1 && length < (int)sizeof line)
    (void)snprintf(line + length, sizeof line - (Size)length, " (%zu processes)", count);
  RecordingLine(recording, line);
  if (recording->collector != NULL && lines < recording->lines.count + recording->linesMore)
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

/* ---- Programs of the family: do their files say that they cannot be observed? ---- */

/* recordingWhole -- is that a reason for which nothing of a program is seen? */
static Bool recordingWhole(const char *reason)
{
  return reason != NULL && !ProgramPartly(reason);
}

/* recordingKeep -- remember that this user named a program so, and that nothing speaks against it: to look up a name
 * takes several microseconds, and a family of short processes runs the same few programs again and again */
static void recordingKeep(Recording recording, const char *name, uid_t user)
{
  RecordingList names = &recording->names;

  if (names->count == recordingFewMAX)
    while (names->count > 0)
      free(names->entry[--names->count].name);
  (void)listAdd(names, name, user);
}

/* recordingLooks -- may this program or library be looked at, after so many others of its sort?  FALSE: they were too
 * many, or too large, which is said at the end. */
static Bool recordingLooks(Recording recording, const char *path, Count others)
{
  if (others < recordingNamesMAX && recording->looked >= ProgramBytesMAX)
    return TRUE;
  if (recording->unlooked++ == 0)
    (void)snprintf(recording->first, sizeof recording->first, "%s", path);
  return FALSE;
}

/* recordingAgainst -- what the file of the program says against its being seen; NULL: nothing */
static const char *recordingAgainst(Recording recording, const char *path, uid_t user)
{
  RecordingName known = listFind(&recording->programs, path, user);

  if (known == NULL && recordingLooks(recording, path, recording->programs.count) &&
      (known = listAdd(&recording->programs, path, user)) != NULL)
    known->reason = ProgramUnseen(path, user, &recording->looked);
  if (known == NULL)
    return NULL;
  ++known->runs;
  return known->reason;
}

/* recordingPath -- the absolute path, without links, of the file that running `name` runs; FALSE: there is none */
static Bool recordingPath(char path[PATH_MAX], const char *name)
{
  char found[PATH_MAX];

  return ProgramFind(found, sizeof found, name) == ResOK && realpath(found, path) != NULL;
}

Bool RecordingProgram(void *data, const char *name, uid_t user)
{
  Recording recording = data;
  const char *reason;
  char path[PATH_MAX];

  if (listFind(&recording->names, name, user) != NULL || !recordingPath(path, name))
    return FALSE;
  reason = recordingAgainst(recording, path, user);
  if (reason == NULL)
    recordingKeep(recording, name, user);
  return recordingWhole(reason);
}

void RecordingStays(void *data, const char *name, uid_t user)
{
  Recording recording = data;
  RecordingName its = NULL;
  char path[PATH_MAX];

  if (listFind(&recording->names, name, user) == NULL && recordingPath(path, name))
    its = listFind(&recording->programs, path, user);
  if (its != NULL && its->runs > 0)
    --its->runs;
}

/* recordingWhy -- the first entry of the program at `path` that was run, and in whose file there is a reason why it
 * cannot be observed; NULL: there is no such entry */
static RecordingName recordingWhy(Recording recording, const char *path)
{
  Index i;

  for (i = 0; i < recording->programs.count; ++i)
    if (recording->programs.entry[i].reason != NULL && recording->programs.entry[i].runs > 0 &&
        strcmp(recording->programs.entry[i].name, path) == 0)
      return &recording->programs.entry[i];
  return NULL;
}

/* recordingFiles -- say what the files of programs say.  A static program that has announced itself is linked with the
 * library. */
static void recordingFiles(Recording recording)
{
  Index i;

  for (i = 0; i < recording->programs.count; ++i) {
    RecordingName its = &recording->programs.entry[i];
    if (recordingWhy(recording, its->name) == its &&
        !(ProgramStatic(its->reason) && listFind(&recording->met, its->name, ProgramANYBODY) != NULL))
      recordingUnseen(recording, its->name, its->reason, its->unseen);
  }
  if (recording->unlooked > 0)
    RecordingTell(recording,
                  "programs and libraries were too many, or too large, to look into all: of %s and those after "
                  "it it is not known whether their files speak against their being seen",
                  recording->first);
}

/* recordingAbsents -- say which programs did not announce themselves: each with its reason, once, by whatever names it
 * was started */
static void recordingAbsents(Recording recording)
{
  Index i;

  for (i = 0; i < recording->absent.count; ++i) {
    RecordingName its = &recording->absent.entry[i];
    recordingUnseen(recording, its->name, its->reason, its->unseen);
  }
}

/* recordingLibraries -- at the end: which libraries call what is not seen? */
static void recordingLibraries(Recording recording)
{
  Count count = recording->libraries.count;
  ProgramDoorsStruct *doors = calloc(count + 1, sizeof *doors);
  unsigned there = 0;
  Index i;

  for (i = 0; doors != NULL && i < count; ++i) {
    RecordingName its = &recording->libraries.entry[i];
    if (recordingLooks(recording, its->name, i))
      ProgramDoorsRead(&doors[i], its->name, its->user, &recording->looked);
    there |= doors[i].has;
  }
  for (i = 0; doors != NULL && i < count; ++i) {
    const char *reason = ProgramDoor(&doors[i], there);
    if (reason != NULL)
      recordingUnseen(recording, recording->libraries.entry[i].name, reason, 0);
  }
  free(doors);
}

void RecordingLast(void *data)
{
  Recording recording = data;

  AVER(RecordingCheck(recording));
  recordingAbsents(recording);
  (void)RecordingProgram(recording, recording->program, geteuid());
  recordingLibraries(recording);
  recordingFiles(recording);
}

/* recordingAbsentOf -- the entry of a program and a reason; NULL: there is no place for one more */
static RecordingName recordingAbsentOf(Recording recording, const char *path, const char *reason)
{
  RecordingName its;
  Index i;

  for (i = 0; i < recording->absent.count; ++i) {
    its = &recording->absent.entry[i];
    if (strcmp(its->name, path) == 0 && strcmp(its->reason, reason) == 0)
      return its;
  }
  its = listAdd(&recording->absent, path, ProgramANYBODY);
  if (its != NULL)
    its->reason = reason;
  return its;
}

void RecordingAbsent(void *data, const char *name, const char *reason, Count count)
{
  Recording recording = data;
  RecordingName why, its;
  char path[PATH_MAX];

  if (reason == NULL)
    reason = "by its file nothing can be loaded into it";
  if ((name[0] != '/' && strchr(name, '/') != NULL) || !recordingPath(path, name))
    (void)snprintf(path, sizeof path, "%s", name);
  why = recordingWhy(recording, path);
  if (why != NULL && recordingWhole(why->reason))
    why->unseen += count;
  else if ((its = recordingAbsentOf(recording, path, reason)) != NULL)
    its->unseen += count;
  else
    recordingUnseen(recording, path, reason, count);
}

/* ---- The sum of it ---- */

static void recordingSilent(void *data, const char *line)
{
  UNUSED(data), UNUSED(line);
}

/* recordingTotals -- one line of what was recorded, and the lines that were kept for the end */
static void recordingTotals(Recording recording, uint64_t events, uint64_t discarded, uint64_t bytes, const char *where)
{
  Index i;

  SayLine(stderr, "eventrec: %llu events (%llu discarded), %llu bytes, %.3f s -> %s", (unsigned long long)events,
          (unsigned long long)discarded, (unsigned long long)bytes, recording->seconds, where);
  for (i = 0; i < recording->lines.count; ++i)
    SayLine(stderr, "eventrec: %s", recording->lines.entry[i].name);
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
  if (recording->lines.count > 0)
    return;
  if (recording->wanted.process != NULL)
    RecordingTell(recording, "--process: no process of the family was called '%s'", recording->wanted.process);
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

/* recordingRead -- sum up what is in the log, and say what it lacks; FALSE: it cannot be read, which is said
 * seenReturn  there is a recorded program in it */
static Bool recordingRead(LogSummary summaryReturn, Bool *seenReturn, Recording recording)
{
  const char *place = recording->found[0] != '\0' ? recording->found : recording->log, *reason;
  LogHooksStruct hooks = {.note = recordingSilent};
  char error[512], line[1200];
  Log log;

  if (LogOpen(&log, &place, 1, &hooks, error, sizeof error) == ResOK) {
    LogSummarize(summaryReturn, log);
    *seenReturn = recordingSeen(log, summaryReturn->processes);
    if (RecordingRange(line, sizeof line, recording->range, log))
      RecordingLine(recording, line);
    LogClose(log);
    return TRUE;
  }
  reason = strncmp(error, place, strlen(place)) == 0 ? error + strlen(place) : error;
  if (recording->whole && recording->counts.events > 0)
    RecordingTell(recording, "%s: what was written cannot be read back%s", recording->log, reason);
  return FALSE;
}

/* The log has also what processes wrote themselves, which the collector does not know.  Where the log is not as it was
 * written, what the collector counted is said instead. */
void RecordingSummary(Recording recording, Count running)
{
  CollectorCounts counts = &recording->counts;
  LogSummaryStruct summary = {0};
  Bool seen = FALSE, read;

  AVER(recording->file && recording->collector == NULL && RecordingCheck(recording));
  read = recordingRead(&summary, &seen, recording);
  if (recording->whole && (!read || counts->missing > 0)) {
    summary.events = counts->events;
    summary.discarded = counts->discarded;
    summary.bytes = counts->bytes;
    seen = recording->met.count > 0;
  } else {
    summary.discarded += counts->untold;
  }
  if (!seen)
    recordingNothing(recording);
  recordingTotals(recording, summary.events, summary.discarded, summary.bytes,
                  !read                       ? recording->log
                  : recording->output != NULL ? recording->output
                                              : strrchr(recording->log, '/') + 1);
  if (running > 0)
    SayLine(stderr, "eventrec: %zu of its processes still %s to the log", running,
            running == 1 ? "runs, and writes" : "run, and write");
  if (recording->barred > 0)
    SayLine(stderr, "eventrec: %zu of them %s shared memory when %s; eventrec --clean %s removes it then",
            recording->barred,
            recording->barred == 1 ? "has another user now, and may not remove its"
                                   : "have another user now, and may not remove their",
            recording->barred == 1 ? "it ends" : "they end", recording->log);
}

void RecordingSent(Recording recording, Count running)
{
  CollectorCounts counts = &recording->counts;

  AVER(!recording->file && recording->collector == NULL && RecordingCheck(recording));
  recordingTotals(recording, counts->events, counts->discarded, counts->bytes, recording->to);
  if (running > 0)
    SayLine(stderr, "eventrec: %zu of its processes still %s", running,
            running == 1 ? "runs, and sends by itself" : "run, and send by themselves");
}

/* ---- Recorded programs and the libraries that they have loaded: do they go to an allocator without us? ----
 *
 * A process has its libraries when it comes; which these are is looked up once for each program.  What is in them, and
 * in the program, is looked up at the end, when nobody waits. */

void RecordingLoaded(void *data, pid_t pid, uid_t user, const char *program)
{
  Recording recording = data;
  char path[32], *line = NULL;
  size_t room = 0;
  FILE *maps;

  if (program[0] == '\0' || listFind(&recording->met, program, ProgramANYBODY) != NULL ||
      listAdd(&recording->met, program, user) == NULL)
    return;
  (void)snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
  maps = fopen(path, "re");
  while (maps != NULL && getline(&line, &room, maps) >= 0) {
    char permissions[8];
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%*x-%*x %7s %*x %*x:%*x %*u %n", permissions, &at) == 1 && at > 0 &&
        strchr(permissions, 'x') != NULL && line[at] == '/' &&
        listFind(&recording->libraries, line + at, ProgramANYBODY) == NULL)
      (void)listAdd(&recording->libraries, line + at, user);
  }
  free(line);
  if (maps != NULL)
    (void)fclose(maps);
}
