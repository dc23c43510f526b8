/* pawwriter.c -- a log again, as a format
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <unistd.h>

#include "log/rewrite.h"
#include "view/writer.h"

/* A Writer of this class is a LogRewrite and nothing else. */
static Res pawWriterCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                           Size size)
{
  LogRewrite rewrite;
  Res res;

  if (isatty(output->fd)) {
    (void)snprintf(error, size, "a log is not for a terminal; -o names a file for it");
    return ResPARAM;
  }
  res = LogRewriteCreate(&rewrite, log, output->fd, !options->raw);
  if (res == ResOK)
    *writerReturn = (Writer)rewrite;
  return res;
}

static Res pawWriterFinish(Writer writer)
{
  return LogRewriteEnd((LogRewrite)writer);
}

static void pawWriterDestroy(Writer writer)
{
  LogRewriteDestroy((LogRewrite)writer);
}

const WriterClassStruct WriterClassPaw = {
  .name = "paw", .takes = WriterTakesBLOCKS, .create = pawWriterCreate, .event = LogRewriteEvent,
  .finish = pawWriterFinish, .destroy = pawWriterDestroy,
};
