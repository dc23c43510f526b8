/* pidlivestest.c -- processes whose numbers are used again are told apart, and programs of one process are not
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <unistd.h>

#include "analyse/summary.h"
#include "logmake.h"
#include "request/request.h"
#include "view/threadtimes.h"
#include "view/viewclasses.h"

enum { PID = 5001, COLLECTOR = 900, STEPS = 6 };

/* What happens to a number: a program's first event, which says that it was forked then or (0) nothing of that; or the
 * collector's ProcessExit. */
typedef struct StepStruct {
  enum { NONE, PROGRAM, EXIT } does;
  uint64_t time, forked;
} StepStruct;

static const struct {
  const char *what;
  Count threads;
  StepStruct step[STEPS];
} cases[] = {
  {"programs that follow each other by exec are one process", 1, {{PROGRAM, 1000, 500}, {PROGRAM, 2000, 0},
                                                                   {PROGRAM, 3000, 0}}},
  {"who is forked later is another process", 3, {{PROGRAM, 1000, 500}, {PROGRAM, 2000, 1500}, {PROGRAM, 3000, 2500}}},
  {"and goes on by exec", 2, {{PROGRAM, 1000, 500}, {PROGRAM, 2000, 1500}, {PROGRAM, 3000, 0}}},
  {"an end that is told late is that of the process before", 2, {{PROGRAM, 1000, 500}, {PROGRAM, 2000, 1500},
                                                                  {EXIT, 2100, 0}, {PROGRAM, 3000, 0}}},
  {"who comes after the end is another process, without a fork, too", 3, {{PROGRAM, 1000, 0}, {EXIT, 1500, 0},
                                                                          {PROGRAM, 2000, 0}, {EXIT, 2500, 0},
                                                                          {PROGRAM, 3000, 0}}},
  {"two registries of a child of fork are one process", 1, {{PROGRAM, 1000, 500}, {PROGRAM, 2000, 500}}},
  {"and one that was opened after the fork may come first", 1, {{PROGRAM, 1000, 0}, {PROGRAM, 2000, 500}}},
};

static MakeStruct make;
static MakeBlockStruct block;

static void writeEvent(MakeProcess process, uint64_t sequence, const StepStruct *step)
{
  Bool exit = step->does == EXIT;

  MakeBlockBegin(&block, process, process->header.pid, exit ? EventKindSystem : EventKindObject, sequence, step->time);
  if (exit)
    (void)MakeEvent(&block, EventProcessExitCODE, step->time, (uint64_t[]){PID, 0}, "exit");
  else
    (void)MakeEvent(&block, EventPoolAllocCODE, step->time, (uint64_t[]){1, 64, 10}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

static void writeLog(const char *path, const StepStruct *step)
{
  MakeProcess collector = MakeProcessNew(COLLECTOR, 0xc0);
  uint64_t exits = 0;
  Index i;

  strcpy(collector->header.role, HeaderRoleCOLLECTOR);
  MakeHeader(&make, collector);
  for (i = 0; i < STEPS && step[i].does != NONE; ++i) {
    MakeProcess process = MakeProcessNew(PID, i + 1);
    if (step[i].forked != 0)
      process->header.forked = (HeaderForkStruct){0xf0, 1, step[i].forked, step[i].forked + 100};
    if (step[i].does == PROGRAM)
      MakeHeader(&make, process);
    writeEvent(step[i].does == EXIT ? collector : process, step[i].does == EXIT ? exits++ : 0, &step[i]);
    MakeProcessFree(process);
  }
  MakeProcessFree(collector);
  MakeWrite(&make, path);
  MakeFree(&make);
}

/* inSummary -- threads, as the summary says */
static Count inSummary(Log log)
{
  static const LogRequestStruct all = LogRequestALL;
  ViewWantsStruct wants = {.log = log, .request = &all, .at = UINT64_MAX};
  unsigned long threads = 0;
  Size size;
  char *text;
  FILE *out = open_memstream(&text, &size);
  void *view;

  if (out == NULL || CodeNamesCreate(&wants.names, log, NULL, NULL, NULL) != ResOK ||
      ViewHeapCreate(&wants.heap, log, &all, NULL, wants.names) != ResOK ||
      ViewClassSummary.create(&view, &wants) != ResOK)
    makeFail("no memory");
  if (LogRead(log, ViewHeapRequest(wants.heap)) != ResOK || ViewClassSummary.finish(view) != ResOK ||
      !ViewClassSummary.text(out, view) || fclose(out) != 0)
    makeFail("the log cannot be read");
  (void)sscanf(strstr(text, "\nthreads "), "\nthreads %lu", &threads);
  free(text);
  ViewClassSummary.destroy(view);
  ViewHeapDestroy(wants.heap);
  CodeNamesDestroy(wants.names);
  return threads;
}

/* inThreads -- threads that the view of them has */
static Count inThreads(Log log)
{
  static const LogRequestStruct all = LogRequestALL;
  ViewWantsStruct wants = {.log = log, .request = &all, .at = UINT64_MAX};
  Count rows;
  void *view;

  if (ViewClassThreads.create(&view, &wants) != ResOK || LogRead(log, ViewClassThreads.request(view)) != ResOK ||
      ViewClassThreads.finish(view) != ResOK)
    makeFail("the log cannot be read");
  rows = ((ThreadTimes)view)->rows;
  ViewClassThreads.destroy(view);
  return rows;
}

static void checks(void)
{
  PidLifeStruct newest[1] = {{.life = 2, .began = 1000}};
  uint32_t program[2] = {1, 2};
  PidLivesStruct lives = {.lives = 2, .count = 1, .capacity = 1, .newest = newest, .programs = 2, .program = program};

  TapSees(newest[0].life, 3, PidLivesCheck(&lives), "a number whose life there is not is seen");
  TapSees(program[1], 3, PidLivesCheck(&lives), "a program whose life there is not is seen");
}

int main(void)
{
  LogHooksStruct hooks = {.data = NULL};
  char room[64], error[256];
  const char *path = room;
  Index i;
  Log log;

  snprintf(room, sizeof room, "/tmp/pidlivestest.%d.paw", (int)getpid());
  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    writeLog(path, cases[i].step);
    if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK)
      makeFail(error);
    TapIs(inSummary(log), cases[i].threads, "%s", cases[i].what);
    TapIs(inThreads(log), cases[i].threads, "and so it is in the view of threads");
    LogClose(log);
  }
  unlink(path);
  checks();
  return TapDone();
}
