/* writer.h -- the interface that all output formats of eventcnv implement, and the table of these formats
 *
 * Each format is a WriterClass in a file of its own (below).  Its writer takes the events of a log in order, and writes
 * them to an Output or, if the format is a folder of files, into a folder of its own.
 *
 * Always true: whatever fails while a writer writes is in its output's `failed`, also where the format is a folder;
 * `finish` is called at most once, after the last event.
 *
 * Design: design/view.md .writer      Tests: test/export/formats.t
 */
#ifndef EXPORT_WRITER_H
#define EXPORT_WRITER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/output.h"
#include "heap/processevents.h"
#include "request/request.h"
#include "symbols/calls.h"

typedef struct WriterStruct *Writer;

#define WriterThinAUTO UINT64_MAX

/* What folded stacks count: bytes allocated, allocations, or bytes that live at the end. */
typedef enum WriterValue { WriterBYTES, WriterCOUNT, WriterLIVE } WriterValue;
#define WriterVALUES "bytes|count|live"

enum { WriterErrorMAX = 1024 };

/* What a writer is made from; each class looks at what concerns it. */
typedef struct WriterOptionsStruct {
  Log log;             /* whose events are written */
  Output output;       /* where they go */
  char *error;         /* WriterErrorMAX bytes, for the reason why no writer could be made */
  void (*note)(void *data, const char *line); /* is given a line for the user */
  void *data;          /* for `note` */
  const char *path;    /* --output, or NULL */
  OfProcess of;        /* whose processes are shown, or NULL: all */
  Bool force;          /* what is there may be written over */
  uint64_t start;      /* ns of wall time from which times are counted */
  uint64_t thin;       /* ns: a value that changes more often is written once in this time; 0: always; WriterThinAUTO:
                          the writer chooses */
  CodeSymbols symbols;   /* what is at code addresses, where that is asked for; or NULL */
  unsigned value;      /* folded: a WriterValue */
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
  WriterTakesVALUE = 8,
  WriterTakesSYMBOLS = 16
};

typedef struct WriterClassStruct {
  const char *name; /* as --format has it */
  Bool folder;      /* it writes into a folder, options->path, which it makes, and not to the output */
  Bool follow;      /* it takes events that come late, out of order, as --follow has them */
  Bool heirs;       /* it shows live objects: it also needs the events of processes from which those shown inherited */
  unsigned takes;   /* the options of its own */
  const void *own;  /* for `create`, where it serves several classes */

  /* Makes a writer, which `options` outlives.  ResMEMORY; ResIO, ResPARAM: options->error says why. */
  Res (*create)(Writer *writerReturn, const struct WriterClassStruct *class, const WriterOptionsStruct *options);

  /* Takes one event; TRUE when writing has failed.  The request's `data` is the Writer, so that it is a hook.  NULL:
   * `read` takes the events. */
  PawEventHook event;

  /* Reads what the request chooses, and what it needs besides.  As LogRead, which NULL stands for. */
  Res (*read)(Writer writer, LogRequest request);

  /* Writes what comes behind all events, or NULL; the output is then flushed by its owner. */
  void (*finish)(Writer writer);
  void (*destroy)(Writer writer);
} WriterClassStruct;

/* All but the profile's (view/formats.h) are here. */
extern const WriterClassStruct WriterClassText, WriterClassCsv, WriterClassJson; /* eventlines.c */
extern const WriterClassStruct WriterClassSql;                                   /* sql.c */
extern const WriterClassStruct WriterClassCtf;                                   /* ctf.c */
extern const WriterClassStruct WriterClassPaw;                                   /* extract.c */
extern const WriterClassStruct WriterClassChrome;                                /* chrome.c */
extern const WriterClassStruct WriterClassPaje;                                  /* paje.c */
extern const WriterClassStruct WriterClassFolded;                                /* folded.c */

/* WriterThin -- a time as --thin has it: seconds, or with ms, us or ns behind; NULL is WriterThinAUTO.  ResPARAM. */
extern Res WriterThin(uint64_t *thinReturn, const char *string);

/* WriterCalls -- the calls of the log that is written.  As CallsInit; with ResIO options->error says why. */
extern Res WriterCalls(Calls calls, const WriterOptionsStruct *options);

/* WriterWrite -- write what the request chooses; its hook and data are set here
 *
 * returns  as `create` if no writer could be made: options->error says why, and is empty otherwise; else as `read`,
 *          with errno.  Writing may have failed besides: options->output says so.
 */
extern Res WriterWrite(const WriterClassStruct *class, const WriterOptionsStruct *options, LogRequest request);

#endif /* EXPORT_WRITER_H */
