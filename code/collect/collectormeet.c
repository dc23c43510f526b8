/* collectormeet.c -- processes come and offer their regions
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/collectordata.h"
#include "collect/procfs.h"

enum {
  collectorCommMAX = 15,  /* bytes of a process's name that the system keeps */
  meetDatagrams = 64      /* received at one go */
};

/* CollectorLink -- the kernel's list anew.  As a whole: what is in the regions may have been changed. */
void CollectorLink(Collector collector)
{
  struct robust_list *next = &collector->robust.list;
  Index i;

  for (i = collector->drains; i-- > 0; ) {
    struct robust_list *node = (struct robust_list *)(void *)&collector->drain[i]->header->hand.next;
    node->next = next;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    next = node;
  }
  collector->robust.list.next = next;
}

void CollectorTell(Collector collector, const char *format, ...)
{
  char line[RegionPathMAX + 256];
  va_list args;

  if (collector->settings.tell == NULL)
    return;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  collector->settings.tell(collector->settings.data, line);
}

/* collectorLast -- the last part of a path */
static const char *collectorLast(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash != NULL ? slash + 1 : path;
}

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
    (void)!readlinkat(proc.root, ProcPath(path, (uint32_t)drain->pid, 0, "exe"), program, sizeof program - 1);
    ProcDrop(&proc, &fd);
    ProcFinish(&proc);
  }
  if (length < 2 || strcmp(collectorLast(program), collectorLast(DrainProgram(drain))) != 0)
    return FALSE;
  --length; /* a newline comes after it */
  return strncmp(wanted, name, length) == 0 && (wanted[length] == '\0' || length == collectorCommMAX);
}

/* collectorWanted -- does the user want to know of this process? */
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
  return strcmp(wanted, number) == 0 || strcmp(wanted, collectorLast(DrainProgram(drain))) == 0 ||
         collectorCalled(drain, wanted);
}

/* collectorTake -- somebody offers a region */
static void collectorTake(Collector collector, OfferMessage message)
{
  Drain drain;
  Size used;

  /* Room for a header, so that nothing need be written for it. */
  if (BatchPlace(&collector->shop.batch, RegionTextSIZE) == NULL || collector->drains == collectorDrainsMAX ||
      DrainOpen(&drain, &collector->shop, message) != ResOK)
    return;
  /* Whose program it is its header says.  That is written when there is more to write, or in a while: most processes
   * that are there for a moment only need no more than one.  But the log begins with that of its first process. */
  used = collector->shop.batch.used;
  (void)DrainHeaderNew(drain);
  if (!collectorWanted(collector, drain))
    DrainMute(drain);
  if (drain->muted || collector->met)
    BatchUndo(&collector->shop.batch, used);
  drain->owed = collector->met;
  collector->met |= !drain->muted;
  collector->drain[collector->drains++] = drain;
  CollectorLink(collector);
  if (DrainAttach(drain, (uint32_t)syscall(SYS_gettid)) != ResOK) {
    --collector->drains;
    CollectorLink(collector);
    DrainClose(drain);
    return;
  }
  if (collector->witness != NULL)
    WitnessMeet(collector->witness, drain->pid, DrainProgram(drain));
  if (collector->stopped)
    DrainShut(drain);
}

/* collectorNote -- somebody says which program it is going to run; a path that is not absolute is meant as from its
 * folder */
static void collectorNote(Collector collector, OfferMessage message)
{
  char path[2 * RegionPathMAX], link[32];
  ssize_t length = 0;

  if (collector->settings.program == NULL)
    return;
  if (message->offer.path[0] != '/' && strchr(message->offer.path, '/') != NULL) {
    (void)snprintf(link, sizeof link, "/proc/%ld/cwd", (long)message->pid);
    length = readlink(link, path, RegionPathMAX - 1);
    if (length <= 0)
      return;
    path[length++] = '/';
  }
  (void)strcpy(path + length, message->offer.path);
  collector->settings.program(collector->settings.data, path);
}

void CollectorReceive(Collector collector)
{
  OfferMessageStruct message;
  OfferKind kind;
  unsigned i;

  for (i = 0; i < meetDatagrams && (kind = OfferReceive(&message, &collector->offer)) != OfferNOTHING; ++i) {
    if (kind == OfferREGION) {
      collectorTake(collector, &message);
      (void)close(message.fd);
    } else if (kind == OfferNOTE) {
      collectorNote(collector, &message);
    }
  }
}
