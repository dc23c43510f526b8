/* eventctl-traceback.c -- the newest events that are in the memory of a process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "eventctl-process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/peek.h"
#include "log/file.h"
#include "view/output.h"

/* What is missing from these blocks is in the log, not lost. */
static void ctlGap(void *data, LogGap gap)
{
  UNUSED(data);
  UNUSED(gap);
}

static void ctlNote(void *data, const char *note)
{
  UNUSED(data);
  UNUSED(note);
}

static Bool ctlCount(LogRequest request, LogEvent event)
{
  Ctl ctl = request->data;

  if (event->process->number < LiveEMITTERS)
    ++ctl->events[event->process->number][event->type->kind];
  return FALSE;
}

static Bool ctlPrint(LogRequest request, LogEvent event)
{
  Ctl ctl = request->data;
  LogRequestStruct line = {.data = ctl->line};

  return event->process->number < LiveEMITTERS &&
         ctl->events[event->process->number][event->type->kind]-- <= ctl->newest && LineEvent(&line, event);
}

/* ctlPrintAll -- two passes over the copied blocks: which events are the newest, and those */
static int ctlPrintAll(Ctl ctl)
{
  LogRequestStruct request = LogRequestALL;
  OutputStruct output;
  Res res;

  OutputInit(&output, STDOUT_FILENO);
  if (LineCreate(&ctl->line, LineTEXT, ctl->log, &output) != ResOK)
    return OptionFail(ctl->tool, "no memory");
  request.data = ctl;
  request.event = ctlCount;
  res = LogRead(ctl->log, &request);
  request.event = ctlPrint;
  if (res == ResOK)
    res = LogRead(ctl->log, &request);
  (void)OutputFlush(&output);
  LineDestroy(ctl->line);
  if (res != ResOK)
    return OptionFail(ctl->tool, "reading stopped: %s", res == ResIO ? strerror(errno) : ResName(res));
  if (output.failed != 0 && output.failed != EPIPE)
    return OptionFail(ctl->tool, "standard output: %s", strerror(output.failed));
  return 0;
}

/* ctlCopy -- the blocks of all emitters, as a log */
static Res ctlCopy(Ctl ctl, int fd)
{
  Res res = fd < 0 ? ResIO : ResOK;
  Index i;

  for (i = 0; i < ctl->emitters && res == ResOK; ++i)
    res = PeekAppend(ctl->emitter[i], fd, TRUE);
  return res;
}

/* CtlTraceback -- copy the blocks into a log without a name, and read that */
int CtlTraceback(Ctl ctl)
{
  LogHooksStruct hooks = {.data = ctl, .gap = ctlGap, .note = ctlNote};
  char path[32], error[256];
  const char *paths[] = {path};
  int fd, status;
  Res res;

  if (ctl->count == 2)
    (void)OptionParseNumber(ctl->words[1], &ctl->newest);
  fd = FileOpenTemporary();
  res = ctlCopy(ctl, fd);
  if (res != ResOK) {
    status = OptionFail(ctl->tool, "temporary file: %s", res == ResMEMORY ? "no memory" : strerror(errno));
  } else {
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (LogOpen(&ctl->log, paths, 1, &hooks, error, sizeof error) != ResOK) {
      status = OptionFail(ctl->tool, "process %" PRIu32 ": %s", ctl->live->pid, error);
    } else {
      status = ctlPrintAll(ctl);
      LogClose(ctl->log);
    }
  }
  if (fd >= 0)
    (void)close(fd);
  return status;
}
