/* pawwriter.c -- a log again, as a format
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "view/cut.h"
#include "view/writer.h"

typedef struct pawWriterStruct {
  void (*note)(void *data, const char *line);
  void *data;
  Log log;
  LogRewrite rewrite;
  OfProcess of;
  Bool bare;
} pawWriterStruct, *PawWriter;

static Res pawWriterCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output,
                           char *error, Size size)
{
  PawWriter writer;
  Res res;

  if (isatty(output->fd)) {
    (void)snprintf(error, size, "a log is not for a terminal; -o names a file for it");
    return ResPARAM;
  }
  writer = calloc(1, sizeof *writer);
  if (writer == NULL)
    return ResMEMORY;
  *writer = (pawWriterStruct){.note = options->note, .data = options->data, .log = log, .of = options->of, .bare = options->bare};
  res = LogRewriteCreate(&writer->rewrite, log, output->fd, !options->raw);
  if (res == ResOK)
    *writerReturn = (Writer)writer;
  else
    free(writer);
  return res;
}

static Bool pawWriterEvent(LogRequest request, LogEvent event)
{
  PawWriter writer = request->data;

  return LogRewritePut(writer->rewrite, event);
}

static Res pawWriterRead(Writer theWriter, LogRequest request)
{
  PawWriter writer = (PawWriter)theWriter;
  Count lacking = 0;
  char line[128];
  Res res = CutWrite(&lacking, writer->log, writer->rewrite, request, writer->bare ? NULL : writer->of, writer->bare);

  if (lacking > 0) {
    (void)snprintf(line, sizeof line, "%zu process%s no events to tell what lived at the cut; that is left out", lacking,
                   lacking == 1 ? " has" : "es have");
    writer->note(writer->data, line);
  }
  return res;
}

static Res pawWriterFinish(Writer writer)
{
  return LogRewriteEnd(((PawWriter)writer)->rewrite);
}

static void pawWriterDestroy(Writer writer)
{
  LogRewriteDestroy(((PawWriter)writer)->rewrite);
  free(writer);
}

const WriterClassStruct WriterClassPaw = {
  .name = "paw", .heirs = TRUE, .takes = WriterTakesBLOCKS, .create = pawWriterCreate, .event = pawWriterEvent, .read = pawWriterRead,
  .finish = pawWriterFinish, .destroy = pawWriterDestroy,
};
