/* compile.h -- from a log to a script: which process is replayed, and what it did to its heap
 *
 * In:  the log of a source, the process that the user names, if any
 * Out: a finished script (script.h); what the program took (predict.h); why the script may not be exactly what happened
 *
 * One process at a time: CompileScript, then CompileDone, for each that is replayed.
 *
 * Design: design/replayer.md .what      Tests: test/replay/replay.t
 */
#ifndef REPLAY_COMPILE_H
#define REPLAY_COMPILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"
#include "replay/picture.h"
#include "replay/report.h"
#include "source/openlogs.h"

typedef struct CompileStruct {
  SourceStruct source;     /* first: it is the request's data */
  Report report;           /* whose process is replayed; it gets the reasons, and what the program took */
  Picture picture;
  double speed;            /* of the recorded time; 0: as fast as possible */
  const char *named;       /* the process that --process names; NULL: any */
  Bool all;                /* it names all, each of which is replayed */
  LogProcess lookedFor, lookedAt; /* compileFollows: which process was replayed, and of which it was asked last; */
  Bool follows;            /* and the answer */
  Count processes;         /* in the log */
  Bool begun;              /* the process has done an operation of its own */
  Index first;             /* the thread that did the first, */
  uint64_t elsewhere;      /* and how many other threads did */
  Count others;            /* processes with operations that are not replayed */
  uint64_t *counts;        /* events on objects, by process; the caller frees them */
  Heap heap;
  Script script;
} CompileStruct, *Compile;

/* CompileBegin -- the source is open: nothing has been compiled yet */
extern void CompileBegin(Compile compile);

/* CompileChoose -- choose the one process that is replayed, that with the most events on its heap if several may be
 * CompileCount -- count the events of each process on its heap
 * CompileAsked -- may the process be replayed, by --process?
 *   The first two: FALSE: reported, with the status */
extern Bool CompileChoose(Compile compile, int *status);
extern Bool CompileCount(Compile compile, int *status);
extern Bool CompileAsked(Compile compile, LogProcess process);

/* CompileScript -- make the script of the report's process; FALSE: reported, with the status
 * CompileDone -- it was replayed */
extern Bool CompileScript(Compile compile, int *status);
extern void CompileDone(Compile compile);

#endif /* REPLAY_COMPILE_H */
