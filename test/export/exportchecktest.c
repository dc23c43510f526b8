/* exportchecktest.c -- the checks of the writers' structures, each of which must see what it is there for
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A structure is made as the writers make it, from a small log; then one field after the other is spoilt, looked at,
 * and put back.
 */
#include <fcntl.h>

#include "export/eventstamp.h"
#include "export/lineform.h"
#include "export/rewritehead.h"
#include "export/trackbuilder.h"
#include "logmake.h"
#include "request/traceset.h"

static const char registry[] =
  "kind: 6 User\nevent: 0x0701 WorkBegin User 1 WU size u\nevent: 0x0702 WorkEnd User 1 WU size u\n"
  "event: 0x0703 UserNumber User 1 WW id value\n";

static char path[] = "/tmp/checktestXXXXXX";
static MakeBlockStruct block;
static OutputStruct output;

/* SPOILT -- the check sees that the field is not what it was */
#define SPOILT(check, field, value, what)                                                                              \
  do {                                                                                                                 \
    __typeof__(field) was = (field);                                                                                   \
    (field) = (value);                                                                                                 \
    TapOk(!(check), "%s", what);                                                                                       \
    (field) = was;                                                                                                     \
    TapOk((check), "%s, and is put right", what);                                                                      \
  } while (0)

/* checkLog -- two processes of one number, each with two threads that have begun some work */
static Log checkLog(void)
{
  MakeStruct make = {0};
  LogHooksStruct hooks = {.data = NULL};
  const char *paths[1] = {path};
  char error[256];
  Index i, t;
  Log log;

  for (i = 0; i < 2; ++i) {
    MakeProcess process = MakeProcessForeign(4711, 1 + i, 8, FALSE, registry);
    MakeHeader(&make, process);
    for (t = 0; t < 2; ++t) {
      uint64_t time = 1000 + 1000 * i + 100 * t;
      MakeBlockBegin(&block, process, (uint32_t)(99 + t), 6, 0, time);
      (void)MakeEvent(&block, 0x0701, time, (uint64_t[]){7, t}, NULL);
      (void)MakeEvent(&block, 0x0703, time + 1, (uint64_t[]){7, t}, NULL);
      MakeBlockEnd(&make, &block, BlockFlagSEALED);
    }
    MakeProcessFree(process);
  }
  MakeWrite(&make, path);
  MakeFree(&make);
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    makeFail(error);
  return log;
}

static void testOutput(void)
{
  TapOk(OutputCheck(&output), "an output is sound");
  SPOILT(OutputCheck(&output), output.next, output.base + OutputSIZE + 1, "an output that is written beyond its end");
  SPOILT(OutputCheck(&output), output.next, output.base - 1, "or before its beginning");
  SPOILT(OutputCheck(&output), output.failed, -1, "one that failed for no reason");
  SPOILT(OutputCheck(&output), output.fd, -1, "one without a file");
}

static void testStamp(Log log)
{
  static const StampPartsStruct parts = {"", " ", "/", " ", NULL};
  static StampStruct stamp;
  LogEventStruct event = {.process = LogProcessAt(log, 0), .thread = 99};
  char text[StampMAX];

  StampInit(&stamp, &parts, 0);
  (void)StampPut(text, &stamp, &event);
  TapOk(StampCheck(&stamp), "the stamp of an event is sound");
  SPOILT(StampCheck(&stamp), stamp.secondsLength, StampTextSIZE + 1, "seconds beyond their text");
  SPOILT(StampCheck(&stamp), stamp.secondsLength, 0, "no seconds");
  SPOILT(StampCheck(&stamp), stamp.who[99 % StampWhosMAX].length, StampTextSIZE + 1, "a thread beyond its text");
  SPOILT(StampCheck(&stamp), stamp.who[99 % StampWhosMAX].process, NULL, "a text of no process");
}

static void testForm(Log log)
{
  Registry types = LogProcessAt(log, 0)->registry;
  FormStruct form = {0};

  if (FormMake(&form, LineTEXT, types, &types->types[0], NULL, FALSE) != ResOK)
    makeFail("no form");
  TapOk(FormCheck(&form, &types->types[0]), "the form of a type is sound");
  SPOILT(FormCheck(&form, &types->types[0]), form.pieces, 0, "a form of nothing");
  SPOILT(FormCheck(&form, &types->types[0]), form.pieces, FormPiecesMAX + 1, "or of too much");
  SPOILT(FormCheck(&form, &types->types[0]), form.piece[0].param, 2, "a parameter that the type does not have");
  SPOILT(FormCheck(&form, &types->types[0]), form.piece[1].literal, registry, "a literal that is not the form's");
  SPOILT(FormCheck(&form, &types->types[0]), form.piece[0].length, FormLiteralMAX + 1, "or goes beyond its end");
  free(form.piece);
}

static void testThreads(Threads who)
{
  ThreadsProcess second = who->process[1];

  TapOk(ThreadsCheck(who), "processes and threads are sound");
  TapOk(second->id == ThreadsOTHER, "a second process of one number has another");
  SPOILT(ThreadsCheck(who), second->id, who->process[0]->id, "two processes with one number");
  SPOILT(ThreadsCheck(who), second->id, ThreadsOTHER + 1, "a number that was not given");
  SPOILT(ThreadsCheck(who), who->process[0]->id, 17, "a number that is not the system's");
  SPOILT(ThreadsCheck(who), who->process[0], second, "a process in the place of another");
  SPOILT(ThreadsCheck(who), who->count, 1, "a process that has no place");
  SPOILT(ThreadsCheck(who), who->others, 2, "a number that is missing");
  SPOILT(ThreadsCheck(who), who->thread[0]->ordinal, 3, "a thread out of order");
  SPOILT(ThreadsCheck(who), who->threads, who->threads - 1, "a thread that is not found");
}

/* testTrack -- lanes with open slices and counters, as a picture of the log has them */
static void testTrack(Log log)
{
  char error[WriterErrorMAX];
  WriterOptionsStruct options = {.log = log, .output = &output, .error = error, .start = 1000, .thin = 1000000};
  const WriterClassStruct *class = &WriterClassChrome;
  LogRequestStruct request = LogRequestALL;
  TrackBuilder builder;

  if (class->create(&builder, class, &options) != ResOK)
    makeFail("no picture");
  request.event = class->event;
  request.data = builder;
  TapOk(class->read(builder, &request) == ResOK && TrackCheck(builder), "a picture is sound");
  TapOk(builder->counterQueue.first != NULL && builder->lanes->depth == 1, "and has counters, and slices that are open");
  SPOILT(TrackCheck(builder), builder->counter[0]->number, 2, "a counter in the place of another");
  SPOILT(TrackCheck(builder), builder->counters, builder->counters - 1, "a counter that is not found");
  SPOILT(TrackCheck(builder), builder->lanes->depth, TrackDepthMAX + 1, "a lane that is too deep");
  SPOILT(TrackCheck(builder), builder->lanes->depth, 0, "a slice that its process counts, and no lane has");
  SPOILT(TrackCheck(builder), builder->lanes->thread->client, NULL, "a lane that its thread does not know");
  SPOILT(TrackCheck(builder), builder->counterQueue.first->waiting, FALSE, "a counter in the queue that does not wait");
  SPOILT(TrackCheck(builder), builder->counterQueue.last, NULL, "a queue without an end");
  testThreads(&builder->who);
  class->finish(builder);
  TapOk(builder->lanes->depth == 0 && TrackCheck(builder), "in the end all slices are closed");
  class->destroy(builder);
}

static void testHeads(Log log)
{
  RewriteHeadsStruct heads = {0};

  if (RewriteHeadsInit(&heads, &log->table, &output) != ResOK)
    makeFail("no headers");
  RewriteHeadsWrite(&heads, log->table.process[0]);
  TapOk(RewriteHeadsCheck(&heads) && heads.head[0].since > 0, "headers are sound");
  SPOILT(RewriteHeadsCheck(&heads), heads.salt, 0, "copies that are the original");
  SPOILT(RewriteHeadsCheck(&heads), heads.head[0].since, OutputWritten(&output) + 1,
         "a header that is not written yet");
  SPOILT(RewriteHeadsCheck(&heads), heads.head[0].headed, FALSE, "a place of no header");
  SPOILT(RewriteHeadsCheck(&heads), heads.types[0].since, OutputWritten(&output) + 1, "types that are not written yet");
  RewriteHeadsFinish(&heads);
}

int main(void)
{
  int fd = mkstemp(path), sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log;

  (void)close(fd);
  OutputInit(&output, sink);
  log = checkLog();
  testOutput();
  testStamp(log);
  testForm(log);
  testTrack(log);
  testHeads(log);
  LogClose(log);
  (void)unlink(path);
  return TapDone();
}
