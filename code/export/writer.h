/* writer.h -- events written in some format
 *
 * A writer takes the events of a log in order, and writes them to an Output, or, where the format is a folder of
 * files, into a folder of its own.
 *
 * Always true: what a writer of one file writes goes through its Output, whose failure is the writer's; `finish` comes
 * at most once and last.
 *
 * Design: design/view.md .writer      Tests: test/export/formats.t
 */
#ifndef EXPORT_WRITER_H
#define EXPORT_WRITER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/output.h"
#include "heap/processevents.h"
#include "request/request.h"

typedef struct WriterStruct *Writer;

#define WriterThinAUTO UINT64_MAX

/* What folded stacks count: bytes allocated, allocations, or bytes that live at the end. */
typedef enum WriterValue { WriterBYTES, WriterCOUNT, WriterLIVE } WriterValue;
#define WriterVALUES "bytes|count|live"

/* What all writers may be told; each looks at what concerns it. */
typedef struct WriterOptionsStruct {
  void (*note)(void *data, const char *line); /* what is worth telling */
  void *data;          /* for that */
  const char *path;    /* --output, or NULL */
  OfProcess of;        /* whose processes are shown, or NULL: all */
  Bool force;          /* what is there may be written over */
  uint64_t start;      /* ns of wall time from which times are counted */
  uint64_t thin;       /* ns: of values that change more often, one in so long; 0: all; WriterThinAUTO: what suits */
  unsigned value;      /* of what is summed up: WriterValue */
  Bool verbose;        /* text: kind and code, too */
  Bool describe;       /* text: in words */
  Bool raw;            /* paw: blocks as they are in memory */
  Bool bare;           /* paw: nothing but what is chosen */
} WriterOptionsStruct, *WriterOptions;

/* Options that not every format has a use for: bits of a class's `takes`. */
enum {
  WriterTakesWORDS = 1,  /* verbose, describe */
  WriterTakesBLOCKS = 2, /* raw, packed, bare */
  WriterTakesTHIN = 4,
  WriterTakesVALUE = 8
};

typedef struct WriterClassStruct {
  const char *name; /* as --format has it */
  Bool folder;      /* it writes into a folder, options->path, which it makes, and not to the output */
  Bool follow;      /* it takes events that come late, out of order, as --follow has them */
  Bool heirs;       /* it shows what lives: with the events of some processes come those of whom they have inherited, and
                       are not shown */
  unsigned takes;   /* the options of its own */

  /* A writer for the events of `log`; `error` gets the reason when it fails.  ResMEMORY, ResIO, ResPARAM. */
  Res (*create)(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                Size size);

  /* Takes one event; TRUE when writing has failed.  The request's `data` is the Writer, so that it is a hook. */
  PawEventHook event;

  /* Reads by itself what the request chooses, and what it needs besides; NULL: it only takes events.  As LogRead. */
  Res (*read)(Writer writer, LogRequest request);

  /* What comes behind all events.  ResIO: writing has failed, here or before: errno says why. */
  Res (*finish)(Writer writer);
  void (*destroy)(Writer writer);
} WriterClassStruct;

/* The formats that eventcnv has, in the order of its --help. */
extern const WriterClassStruct *const WriterClasses[];
extern const Count WriterClassCount;

extern const WriterClassStruct WriterClassText, WriterClassCsv, WriterClassJson; /* textcsvjson.c */
extern const WriterClassStruct WriterClassSql;                                   /* sql.c */
extern const WriterClassStruct WriterClassCtf;                                   /* ctf.c */
extern const WriterClassStruct WriterClassPaw;                                   /* extract.c */
extern const WriterClassStruct WriterClassChrome;                                /* chrome.c */
extern const WriterClassStruct WriterClassPaje;                                  /* paje.c */
extern const WriterClassStruct WriterClassFolded;                                /* folded.c */

/* WriterChoices -- their names with bars between, as OptionChoice takes them; of `size` bytes, NUL-terminated */
extern const char *WriterChoices(char *names, Size size);

/* WriterThin -- a time as --thin has it: seconds, or with ms, us or ns behind; NULL is WriterThinAUTO.  ResPARAM. */
extern Res WriterThin(uint64_t *thinReturn, const char *string);

#endif /* EXPORT_WRITER_H */
