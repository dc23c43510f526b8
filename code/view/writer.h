/* writer.h -- events written in some format
 *
 * A writer takes the events of a log in order, and writes them to an Output, or, where the format is a folder of
 * files, into a folder of its own.
 *
 * Always true: what a writer of one file writes goes through its Output, whose failure is the writer's; `finish` comes
 * at most once and last.
 *
 * Design: design/view.md .writer      Tests: test/formats.t
 */
#ifndef VIEW_WRITER_H
#define VIEW_WRITER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/request.h"
#include "view/output.h"

typedef struct WriterStruct *Writer;

/* What all writers may be told; each looks at what concerns it. */
typedef struct WriterOptionsStruct {
  const char *tool;    /* for messages */
  const char *path;    /* --output, or NULL */
  Bool force;          /* what is there may be written over */
  uint64_t start;      /* ns of wall time from which times are counted */
  uint64_t thin;       /* ns: of values that change more often, one in so long; 0: all */
} WriterOptionsStruct, *WriterOptions;

typedef struct WriterClassStruct {
  const char *name; /* as --format has it */
  Bool folder;      /* it writes into a folder, options->path, which it makes, and not to the output */

  /* A writer for the events of `log`; `error` gets the reason when it fails.  ResMEMORY, ResIO, ResPARAM. */
  Res (*create)(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error, Size size);

  /* Takes one event; TRUE when writing has failed.  The request's `data` is the Writer, so that it is a hook. */
  LogEventHook event;

  /* What comes behind all events.  ResIO: writing has failed, here or before: errno says why. */
  Res (*finish)(Writer writer);
  void (*destroy)(Writer writer);
} WriterClassStruct;

#endif /* VIEW_WRITER_H */
