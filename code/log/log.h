/* log.h -- the reader: any number of logs, merged by time, delivered to the hooks of requests
 *
 * A Log is one or more files opened together (the seeds' traceset): of each process (trace) the header, of each
 * thread and kind a stream of blocks.  Who wants events files a request (request.h), and its hooks are called for each
 * event in one fixed order: by time, then process, stream, block, and place in the block.
 *
 * What is damaged or missing is told to the message hook, one line for each gap, and the rest is delivered.  Memory is
 * constant for each stream that is open at a time, whatever the size of the files.
 *
 * Design: design/log.md      Tests: test/log/logtest.c, test/log/logwhotest.c, test/log/logbadtest.c,
 * test/log/hostiletest.c
 */
#ifndef LOG_LOG_H
#define LOG_LOG_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/types.h"
#include "format/block.h"
#include "format/header.h"
#include "format/registry.h"
#include "log/pawlog.h"

typedef PawLog Log;
typedef struct IndexFileStruct *IndexFile; /* indexfile.h */

/* A position stands before an event, or between two: it is the key by which events are ordered, and any key is a
 * position, whether or not an event has it.  So positions can be compared without reading anything, and mean the same
 * place whichever kinds or types are read.  A time is the position before all events of that time. */
typedef PawPosition LogPositionStruct, *LogPosition;

#define LogPositionFIRST {0, 0, 0, 0, 0}
#define LogPositionLAST  {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}

/* LogPositionCompare -- less than, equal to or greater than 0, as `a` stands before, at or behind `b` */
static inline int LogPositionCompare(const LogPositionStruct *a, const LogPositionStruct *b)
{
  if (a->fine != b->fine)
    return a->fine < b->fine ? -1 : 1;
  if (a->process != b->process)
    return a->process < b->process ? -1 : 1;
  if (a->stream != b->stream)
    return a->stream < b->stream ? -1 : 1;
  if (a->sequence != b->sequence)
    return a->sequence < b->sequence ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

/* A process that recorded, as its newest sound header says. */
typedef struct LogProcessStruct {
  Index number;            /* 0, 1, ... in order of appearance */
  HeaderStruct header;
  RegistryStruct *registry;
} LogProcessStruct, *LogProcess;

enum {
  LogEventHEADER = 8,   /* bytes of an event before its parameters */
  LogEventMAX = 2048,   /* bytes of an event; no longer one is delivered */
  LogCpuUNKNOWN = 0xffff /* of an event whose block names no processor, or was given up on another one */
};

/* One event; valid while the hook runs. */
typedef struct LogEventStruct {
  uint64_t time;           /* ns of wall time since 1970 */
  uint64_t fine;           /* this and the next three are the event's position in its process */
  uint64_t sequence;       /* of its block in the stream */
  uint32_t at;             /* place in the block's bytes */
  LogProcess process;
  uint32_t thread;         /* the system's number */
  uint32_t stream;         /* number of its stream in the process */
  uint8_t kind;            /* of its block: its type's, unless the log is nonsense */
  EventType type;
  uint16_t length;         /* of the event, without the mark for a cut string */
  Bool cut;                /* the string was cut */
  uint16_t cpu;            /* the processor that its thread was on; LogCpuUNKNOWN */
  const unsigned char *bytes; /* the event as written: header, parameters; in the writer's order */
} LogEventStruct, *LogEvent;

/* LogEventUnsent -- did the event's kind not go to the log, so that only the flight recorder had it, until a flush? */
static inline Bool LogEventUnsent(LogEvent event)
{
  return BlockStreamUnsent(event->stream);
}

/* LogEventWord -- parameter `i`, a P, A, W or U, as an integer */
static inline uint64_t LogEventWord(LogEvent event, Index i)
{
  const unsigned char *place = event->bytes + event->type->offset[i];

  if (event->type->width[i] == 8) {
    uint64_t w;
    memcpy(&w, place, sizeof w);
    return event->process->header.widths.swapped ? __builtin_bswap64(w) : w;
  } else {
    uint32_t w;
    memcpy(&w, place, sizeof w);
    return event->process->header.widths.swapped ? __builtin_bswap32(w) : w;
  }
}

/* LogEventDouble -- parameter `i`, a D */
static inline double LogEventDouble(LogEvent event, Index i)
{
  uint64_t w = LogEventWord(event, i);
  double d;

  memcpy(&d, &w, sizeof d);
  return d;
}

/* LogEventString -- parameter `i`, an S (the last): its bytes, not terminated for certain, and how many */
static inline const char *LogEventString(LogEvent event, Index i, Size *lengthReturn)
{
  Size offset = event->type->offset[i];

  *lengthReturn = event->length > offset ? event->length - offset - 1 : 0;
  return (const char *)event->bytes + offset;
}

/* LogEventPosition -- the position before an event */
static inline void LogEventPosition(LogPosition positionReturn, LogEvent event)
{
  *positionReturn = (LogPositionStruct){event->fine, event->process->number, event->stream, event->sequence, event->at};
}

/* What is wrong with a log, for the hook `gap` */
typedef PawGap LogGapStruct;
typedef const PawGap *LogGap;
enum { LogLostEXACTLY, LogLostABOUT, LogLostATLEAST }; /* its `exact` */

typedef PawHandlers LogHooksStruct, *LogHooks;

/* LogOpen -- open `n` logs as one
 *
 * paths   files, or "-" for standard input (which is copied to a temporary file where it cannot seek); core files, too
 * hooks   PawHandlers (pawlog.h), of any size; copied, but for `offset`, which stays the caller's until the log is
 *         closed.  Without a version 1.0.0 is known, without a registry none
 * error   room of `size` bytes for a message when it fails: "FILE: reason"
 * returns ResIO: cannot be read; ResFORMAT: no log at all (empty, text, not one sound block); ResVERSION: another major
 *
 * Reads each file's block headers once.  Open blocks of a process that is dead are taken from the memory file that
 * its header names.
 */
extern Res LogOpen(Log *logReturn, const char *const *paths, Count n, LogHooks hooks, char *error, Size size);
extern void LogClose(Log log);

/* LogIndexWrite -- write an index file for a log, PATH.idx, so that opening it need not look through it
 *
 * Every LogOpen uses such a file where it is there and fits the log: what is read is the same.  One that was there is
 * replaced in one step; what has its name and is no index stays.  The log is looked through from its beginning.
 *
 * hooks        as LogOpen has them
 * points       called with the open log, may add check points to the index file (log/indexfile.h); or NULL
 * error        room of `size` bytes for a message when it fails
 * returns      as LogOpen has it, and ResIO: cannot be written; ResPARAM: there is something else of that name
 */
typedef struct LogIndexedStruct {
  uint64_t blocks, covered; /* in the index: blocks of so many bytes of the log, */
  uint64_t bytes;           /* and how many it has itself, */
  uint64_t checks;          /* with so many check points */
} LogIndexedStruct, *LogIndexed;

typedef Res (*LogCheckPoints)(IndexFile file, Log log);

extern Res LogIndexWrite(LogIndexed indexedReturn, const char *path, LogHooks hooks, LogCheckPoints points, char *error,
                         Size size);

/* LogKnown -- the index file whose check points are those of the log as it is, or NULL */
extern IndexFile LogKnown(Log log);

/* What is known without reading events. */
typedef struct LogSummaryStruct {
  uint64_t first, last;    /* ns of wall time; first is the time that `--from 0` means */
  uint64_t blocks, bytes;  /* in the files */
  uint64_t events;         /* that sound block headers announce */
  uint64_t discarded;      /* by the writers, for want of room */
  uint64_t passed;         /* of those, before blocks that have been read so far */
  uint64_t dropped;        /* events that were cut away on purpose, so that the log stays small */
  uint64_t overwritten;    /* events of which only the newest were to be kept, and are not there; */
  Bool overwrittenMore;    /* or more; */
  uint64_t kept;           /* if so: ns from when on all are there */
  uint64_t unsent;         /* events that the flight recorder had, while their kinds were not sent; */
  uint64_t unsentFrom;     /* if so: ns from when on they are its newest, of all threads; */
  uint64_t unsentOlder;    /* and so many, or more, that it had had before are not there */
  uint64_t stopped;        /* ns when the recording was ended on purpose, and programs went on; 0: it was not */
  uint64_t lost;           /* by damage, as far as known, so far */
  uint64_t gaps;           /* lines told so far */
  uint64_t lacks;          /* notes so far that something recorded may not have been read: it is not in the log yet, or
                              its end cannot be found */
  const char *chosen;      /* types of events that were chosen by name when it was recorded, as it says; "": all */
  Bool chosenSome;         /* it has processes of which that is not so */
  Bool newer;              /* a registry of a newer median than the hooks' version */
  Count processes;
} LogSummaryStruct, *LogSummary;

/* LogSummarize -- looks at all processes and streams: not for each of many things
 * LogProcesses -- how many processes are known by now, at no cost
 * LogProcessFind -- the one that has this identity, or NULL, at the cost of a hash and a look */
extern void LogSummarize(LogSummary summaryReturn, Log log);
extern Count LogProcesses(Log log);
extern LogProcess LogProcessAt(Log log, Index i);
extern LogProcess LogProcessFind(Log log, uint64_t identity);

/* Events that were discarded before blocks of a stream, or, if `stream` is FALSE, that no block of the process could
 * count. */
typedef struct LogDiscardStruct {
  LogProcess process;
  Bool stream;
  uint32_t thread; /* the system's number */
  unsigned kind;
  uint64_t events; /* not 0 */
} LogDiscardStruct;

/* LogDiscards -- call `hook` for all that were discarded, which sum up to LogSummaryStruct's `discarded` */
extern void LogDiscards(Log log, void (*hook)(void *data, const LogDiscardStruct *discard), void *data);

/* DocumentSince -- seconds from `first`, when a log begins, to `time`, both ns; 0 if that is earlier */
static inline double DocumentSince(uint64_t first, uint64_t time)
{
  return time < first ? 0 : (double)(time - first) / 1e9;
}

/* LogTime -- ticks of a process's clock as ns of wall time
 * LogProcessNewest -- ns of wall time of the first event in the latest block that the log has, so far, of process `i`;
 * 0: of none */
extern uint64_t LogTime(Log log, Index i, uint64_t ticks);
extern uint64_t LogProcessNewest(Log log, Index i);

/* LogKindMask -- the bits of the kinds whose names `list` gives, by name, as PAWPRINT_KINDS has them: "all",
 * "none", "Arena,Pool",
 * "+Object,-Ref" (against all).  ResPARAM: `error` says which name is unknown, and lists those there are. */
extern Res LogKindMask(uint32_t *maskReturn, Log log, const char *list, char *error, Size size);

/* LogKindsThere -- the bits of the kinds, by their numbers, of which some process has blocks; 0, too, where the log is
 * followed: nobody knows */
extern uint32_t LogKindsThere(Log log);

#endif /* LOG_LOG_H */
