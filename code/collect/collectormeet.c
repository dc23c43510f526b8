/* collectormeet.c -- processes come and ask for regions
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "collect/collectordata.h"
#include "monitor/procfs.h"
#include "plinth/clock.h"

enum {
  collectorCommMAX = 15,  /* bytes of a process's name that the system keeps */
  meetDatagrams = 64,     /* received at one go */
  meetSameMAX = 16        /* regions at a time for processes of one number */
};

/* collectorNode -- a region in the kernel's list, before `next` */
static struct robust_list *collectorNode(Drain drain, struct robust_list *next)
{
  struct robust_list *node = (struct robust_list *)(void *)&drain->header->hand.next;

  node->next = next;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return node;
}

/* CollectorLink -- the kernel's list anew.  As a whole: what is in the regions may have been changed. */
void CollectorLink(Collector collector)
{
  struct robust_list *next = &collector->robust.list;
  Index i;

  if (collector->last != NULL)
    next = collectorNode(collector->last, next);
  for (i = collector->drains; i-- > 0; )
    next = collectorNode(collector->drain[i], next);
  collector->robust.list.next = next;
}

void CollectorTell(Collector collector, const char *format, ...)
{
  char line[2 * RegionPathMAX + 256];
  va_list args;

  if (collector->settings.tell == NULL)
    return;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  collector->settings.tell(collector->settings.data, line);
}

/* ---- Which file a process runs, of one that has said only how it was called ----
 *
 * The system knows, and a link in /proc says it; but the first look at a process there takes ten microseconds, much of
 * what one costs us that lives for a moment.  So what a name led to is remembered, as long as the same file is there.
 * What a process says is believed of that process alone: what is remembered for others is what the system has said, and
 * only if it is the file that is there under the name.  (Of a script it is not.)  design/collector.md .meet.program */

/* imageKnown -- what is remembered of a name; NULL: nothing */
static Image imageKnown(Images images, const char *called)
{
  Index i;

  for (i = 0; i < images->count && i < collectorImagesMAX; ++i)
    if (strcmp(images->image[i].called, called) == 0)
      return &images->image[i];
  return NULL;
}

/* imageKeep -- remember it, in the place of what was known of the name, or else of the oldest */
static void imageKeep(Images images, Image image, const char *called, const char *program, const struct stat *status)
{
  if (images->image == NULL && (images->image = calloc(collectorImagesMAX, sizeof *images->image)) == NULL)
    return;
  if (image == NULL)
    image = &images->image[images->count++ % collectorImagesMAX];
  (void)strcpy(image->called, called);
  (void)strcpy(image->program, program);
  image->device = status->st_dev;
  image->inode = status->st_ino;
  image->changed = status->st_ctim;
}

/* imageAsk -- the system: which file runs, and its path; FALSE: we may not know */
static Bool imageAsk(char path[RegionPathMAX], struct stat *status, pid_t pid)
{
  char link[32];

  (void)snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
  return ProcProgram(path, RegionPathMAX, AT_FDCWD, pid) && stat(link, status) == 0;
}

/* imageFind -- `program` is how the process was called, an absolute path or another; from here on it is the path of the
 * file that it runs.  FALSE: that cannot be known, and it is as it was. */
static Bool imageFind(Images images, pid_t pid, char program[RegionPathMAX])
{
  /* A name that does not begin at the root may be another file in each folder. */
  Image image = program[0] == '/' ? imageKnown(images, program) : NULL;
  char path[RegionPathMAX];
  struct stat status, its;

  if (image != NULL && stat(program, &status) == 0 && image->device == status.st_dev && image->inode == status.st_ino &&
      image->changed.tv_sec == status.st_ctim.tv_sec && image->changed.tv_nsec == status.st_ctim.tv_nsec) {
    (void)strcpy(program, image->program);
    return TRUE;
  }
  if (!imageAsk(path, &its, pid))
    return FALSE;
  if (program[0] == '/' && stat(program, &status) == 0 && status.st_dev == its.st_dev && status.st_ino == its.st_ino)
    imageKeep(images, image, program, path, &status);
  (void)strcpy(program, path);
  return TRUE;
}

/* ---- Requests and notes ---- */

/* collectorCalled -- is that its name, as the system has it?  A link's name (sh), or a script's, is in no path.  Looked
 * at before its program: if that is another one by now, so was the name. */
static Bool collectorCalled(Drain drain, const char *wanted)
{
  char path[ProcPathSIZE], name[ProcNameSIZE], program[PATH_MAX] = "";
  ProcStruct proc;
  Size length = 0;
  int fd = -1;

  if (ProcInit(&proc, "/proc", 0) == ResOK) {
    length = ProcRead(&proc, &fd, ProcPath(path, (uint32_t)drain->pid, 0, "comm"), name, sizeof name);
    (void)ProcProgram(program, sizeof program, proc.root, drain->pid);
    ProcDrop(&proc, &fd);
    ProcFinish(&proc);
  }
  if (length < 2 || strcmp(basename(program), basename(drain->program)) != 0)
    return FALSE;
  --length; /* a newline comes after it */
  return strncmp(wanted, name, length) == 0 && (wanted[length] == '\0' || length == collectorCommMAX);
}

/* collectorWanted -- does --process choose this process? */
static Bool collectorWanted(Collector collector, Drain drain)
{
  const char *wanted = collector->settings.process;
  char number[24];

  if (wanted == NULL)
    return TRUE;
  (void)snprintf(number, sizeof number, "%ld", (long)drain->pid);
  if (strcmp(wanted, number) == 0)
    return TRUE;
  (void)snprintf(number, sizeof number, "%lu", (unsigned long)drain->header->pid);
  return strcmp(wanted, number) == 0 || strcmp(wanted, basename(drain->program)) == 0 ||
         collectorCalled(drain, wanted);
}

/* collectorSame -- how many regions are for processes of this number; 0 is that of all who are in another namespace */
static Count collectorSame(Collector collector, pid_t pid)
{
  Count same = 0;
  Index i;

  for (i = 0; i < collector->drains; ++i)
    same += pid != 0 && collector->drain[i]->pid == pid;
  return same;
}

/* collectorRoom -- may one more process have a region?  Not if there are too many regions, nor if too many of them
 * belong to one process number: programs that follow each other by exec do not need so many at a time.  The first
 * refusal is told to the user.
 * buriedReturn  processes that have ended were looked for in this round; that is done once */
static Bool collectorRoom(Collector collector, pid_t pid, Bool *buriedReturn)
{
  Count same = collectorSame(collector, pid);

  if (!*buriedReturn && (collector->drains == collectorDrainsMAX || same >= meetSameMAX)) {
    (void)CollectorBury(collector, TRUE);
    *buriedReturn = TRUE;
    same = collectorSame(collector, pid);
  }
  if (collector->drains < collectorDrainsMAX && same < meetSameMAX)
    return TRUE;
  if (!collector->refused)
    CollectorTell(collector, "%ld: more than %u %s; those that come now write to the log themselves", (long)pid,
                  same < meetSameMAX ? (unsigned)collectorDrainsMAX : (unsigned)meetSameMAX,
                  same < meetSameMAX ? "processes at a time" : "regions for one process");
  collector->refused = TRUE;
  return FALSE;
}

/* collectorGrant -- deliver the answer, with the log, if it is a file */
static Res collectorGrant(Collector collector, int to, RegionGrant grant, Drain drain, int locked)
{
  int fds[RegionGrantMAX];
  Res res;

  fds[RegionGrantLOCKED] = locked;
  /* Not ours: when the process has ended we have the lock, and children of fork keep what they map. */
  fds[RegionGrantCONTROL] = FileAgain(drain->file.fd, O_RDWR);
  fds[RegionGrantLOG] = collector->handed;
  if (fds[RegionGrantCONTROL] < 0)
    return ResIO;
  res = RendezvousAnswer(to, grant, fds, collector->handed >= 0 ? RegionGrantMAX : RegionGrantLOG);
  (void)close(fds[RegionGrantCONTROL]);
  return res;
}

/* collectorMake -- answer a process that asks for a region: make one and send it, or refuse */
static void collectorMake(Collector collector, RendezvousMessage message, Bool *buriedReturn)
{
  /* A process that gets no region must be able to believe that answer, too. */
  RegionGrantStruct grant = {
    .magic = RegionMAGIC, .version = RegionMeetVERSION, .recording = collector->maker.recording};
  const char *program = message->request.called != 0 ? message->request.program : "";
  uint32_t tid = (uint32_t)syscall(SYS_gettid);
  int locked = -1;
  Drain drain;

  (void)strcpy(grant.program, program);
  if (!collectorRoom(collector, message->pid, buriedReturn) ||
      DrainMake(&drain, &collector->shop, &collector->maker, message, tid, &grant, &locked) != ResOK) {
    grant.slots = 0;
    (void)RendezvousAnswer(message->fd, &grant, NULL, 0);
  } else {
    grant.quiet = collector->stopped || !collectorWanted(collector, drain);
    if (grant.quiet)
      DrainMute(drain);
    /* Before the process has the region: the kernel is to tell it of our death from then on. */
    AVER(collector->drains < collectorDrainsMAX);
    collector->drain[collector->drains++] = drain;
    CollectorLink(collector);
    if (collectorGrant(collector, message->fd, &grant, drain, locked) != ResOK) {
      --collector->drains;
      CollectorLink(collector);
      DrainWithdraw(drain);
    } else {
      if (collector->last != NULL)
        CollectorRelease(collector);
      if (collector->watcher != NULL)
        ProcessWatchMeet(collector->watcher, drain->pid, &message->request);
    }
  }
  if (locked >= 0)
    (void)close(locked);
}

/* collectorTake -- a process asks for a region.  One that no longer waits for the answer records itself. */
static void collectorTake(Collector collector, RendezvousMessage message, Bool *buriedReturn)
{
  Index i;

  /* Who has ended?  Whoever asks for a region may have waited for that: the end of those is not later than any of its
   * events, whenever they are buried. */
  collector->dead = 0;
  for (i = 0; i < collector->drains; ++i)
    collector->dead += DrainIsDead(collector->drain[i]);
  if (message->request.called != 0)
    message->request.called = imageFind(&collector->images, message->pid, message->request.program);
  if (collector->settings.loaded != NULL)
    collector->settings.loaded(collector->settings.data, message->pid, message->uid, message->request.program);
  if (collector->absent != NULL)
    UnrecordedMet(collector->absent, message->pid, message->request.program, EventClockMonotonic());
  if (RendezvousWaits(message->fd))
    collectorMake(collector, message, buriedReturn);
}

/* collectorExpect -- a program that is not yet there: who runs it will come within a moment, if the library is loaded.
 * A child that its parent numbers in another way than we do is left alone.
 * certain  by its file it will not */
static void collectorExpect(Collector collector, RendezvousMessage message, const char *path, Bool certain)
{
  RegionMeet note = &message->request;
  uint64_t now = EventClockMonotonic();

  if (collector->absent == NULL)
    return;
  if (note->note == RegionNoteEXEC)
    UnrecordedExec(collector->absent, message->pid, path, note->lack, certain, now);
  else if (note->note == RegionNoteSTART && note->child == 0)
    UnrecordedHidden(collector->absent, path, note->lack, certain);
  else if (note->note == RegionNoteSTART && note->self == (uint32_t)message->pid)
    UnrecordedStart(collector->absent, (pid_t)note->child, path, note->lack, certain, now);
}

/* collectorLost -- a process ends that has no region, and had no room in the log to say what is lost with it */
static void collectorLost(Collector collector, pid_t pid, uint64_t events)
{
  uint64_t before = SelfEventsLost(collector->self, 0);

  if (events > CountMAX)
    CollectorTell(collector, "%ld: how many events are lost with it is not known: what it says cannot be", (long)pid);
  collector->shop.counts.discarded += SelfEventsLost(collector->self, events) - before;
}

/* collectorProgram -- the program of the process that sent a note */
static void collectorProgram(char programReturn[RegionPathMAX], Collector collector, RendezvousMessage message)
{
  Index i;

  for (i = 0; i < collector->drains; ++i)
    if (collector->drain[i]->identity == message->request.identity && collector->drain[i]->program[0] != '\0') {
      (void)strcpy(programReturn, collector->drain[i]->program);
      return;
    }
  if (!imageFind(&collector->images, message->pid, programReturn))
    (void)strcpy(programReturn, "a program");
}

/* collectorUnseen -- a process has said that it, or a library of it, is not seen, or not wholly */
static void collectorUnseen(Collector collector, const char *path, const char *reason)
{
  CollectorTell(collector, "not seen: %s: %s", path, reason);
  CollectorUnseen(collector, path, reason, 1);
}

/* collectorBefore -- a library of a process comes before ours, and has a malloc */
static void collectorBefore(Collector collector, RendezvousMessage message)
{
  char program[RegionPathMAX] = "", reason[RegionPathMAX + 128];

  collectorProgram(program, collector, message);
  (void)snprintf(reason, sizeof reason,
                 "it has malloc or operator new of %s, which comes before libpawprint.so: only calls that it passes on "
                 "are seen",
                 message->request.program);
  collectorUnseen(collector, program, reason);
}

/* collectorShallow -- a process that Pawprint's malloc serves opens libraries otherwise than it wanted */
static void collectorShallow(Collector collector, RendezvousMessage message)
{
  char program[RegionPathMAX] = "";

  collectorProgram(program, collector, message);
  CollectorTell(collector,
                "%s: it opens libraries with RTLD_DEEPBIND, which is left out: they would free what Pawprint's malloc "
                "gave by libc's free",
                program);
}

/* collectorLibrary -- a process says something of one of its libraries */
static void collectorLibrary(Collector collector, RendezvousMessage message)
{
  RegionMeet note = &message->request;

  if (note->note == RegionNoteBEFORE)
    collectorBefore(collector, message);
  else if (note->note == RegionNoteDEEP)
    collectorUnseen(collector, note->program, "its calls of malloc are not seen: it was opened with RTLD_DEEPBIND");
  else if (note->note == RegionNoteSHALLOW)
    collectorShallow(collector, message);
}

/* collectorStays -- the exec has failed: what its note said is taken back */
static void collectorStays(Collector collector, RendezvousMessage message, Bool found)
{
  if (collector->absent != NULL)
    UnrecordedStays(collector->absent, message->pid);
  if (collector->settings.stays != NULL && found)
    collector->settings.stays(collector->settings.data, message->request.program, message->uid);
}

/* collectorNote -- a process says which program it is going to run.  The file is looked at only if its path is
 * absolute: for another we do not know the folder in which the path begins. */
static void collectorNote(Collector collector, RendezvousMessage message)
{
  RegionMeet note = &message->request;
  Bool certain = FALSE, found = note->program[0] == '/' || strchr(note->program, '/') == NULL;

  if (note->note == RegionNoteSTAYS)
    collectorStays(collector, message, found);
  if (note->note == RegionNoteLOST)
    collectorLost(collector, message->pid, note->lost);
  collectorLibrary(collector, message);
  if (note->note > RegionNoteSTART || note->note == RegionNoteSTAYS || note->program[0] == '\0')
    return;
  if (collector->settings.program != NULL && found)
    certain = collector->settings.program(collector->settings.data, note->program, message->uid);
  collectorExpect(collector, message, note->program, certain);
}

/* collectorKnows -- is it our own user, or one of whom a process has met us?  Anybody may leave notes. */
static Bool collectorKnows(Collector collector, uid_t user)
{
  Index i;

  for (i = 0; i < collector->users && collector->user[i] != user; ++i)
    ;
  return i < collector->users || user == geteuid();
}

/* collectorUser -- remember that a process of this user has met us */
static void collectorUser(Collector collector, uid_t user)
{
  if (collector->users < collectorUsersMAX && !collectorKnows(collector, user))
    collector->user[collector->users++] = user;
}

/* collectorLeftNote -- a note that its sender has left.  How we number the sender is not known.  FALSE: it is not to be
 * believed, or has no place. */
static Bool collectorLeftNote(Collector collector, RendezvousMessage message)
{
  RegionMeet note = &message->request;

  if (note->note == RegionNoteNONE || note->note == RegionNoteLOST || !collectorKnows(collector, message->uid))
    return FALSE;
  if (note->note == RegionNoteEXEC)
    note->note = RegionNoteSTART;
  message->pid = (pid_t)note->self;
  message->fd = -1;
  collectorNote(collector, message);
  return TRUE;
}

void CollectorNotes(Collector collector, Bool last)
{
  RendezvousMessageStruct message;
  Index i;

  if (!RegionMakerNotes(&collector->maker, last))
    return;
  for (i = 0; i <= RegionNotesMAX; ++i)
    if (RegionMakerNote(&message.request, &message.uid, &collector->maker, i) &&
        !collectorLeftNote(collector, &message) && !collector->unheard) {
      collector->unheard = TRUE;
      CollectorTell(collector, "it stood still, and could not take all that was noted meanwhile of programs: some that "
                               "are not seen may not be named");
    }
}

void CollectorReceive(Collector collector)
{
  RendezvousMessageStruct message;
  Bool buried = FALSE;
  RendezvousKind kind;
  unsigned i;

  for (i = 0; i < meetDatagrams && (kind = RendezvousReceive(&message, &collector->meet)) != RendezvousNOTHING; ++i) {
    if (kind == RendezvousPROCESS) {
      collectorUser(collector, message.uid);
      collectorTake(collector, &message, &buried);
      RendezvousDrop(message.fd);
    } else if (kind == RendezvousNOTE) {
      collectorNote(collector, &message);
    }
  }
}
