/* table.h -- who recorded: the processes and streams of a traceset, and their clocks
 *
 * A process is known by its identity, a stream by its process and number.  A process may be known by its blocks
 * before a header of it was found (the first may be damaged): until then it has a clock of its own and no types.
 *
 * Always true (TableCheck): processes, streams and clocks are numbered as they appeared, and stay where they are; each
 * is found by what it is known by; half of the hash's slots are empty; a process's streams are a list in order of
 * number; a process has types if a header of it was found, and its registry and widths are those of the types.
 *
 * Design: design/log.md .table .check      Tests: test/log/logtest.c, test/log/logwhotest.c, test/log/endtest.c
 */
#ifndef LOG_TABLE_H
#define LOG_TABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/header.h"
#include "log/clocktime.h"
#include "log/log.h"
#include "log/registryset.h"
#include "log/blockruns.h"

/* ---- What should be there of a process's streams, as its closing header blocks say ----
 *
 * A process may write several closing header blocks, and several of them may have a line about the same stream.  The
 * largest numbers of these lines count.
 *
 * Always true behind EndsSettle: the streams stand in order of their numbers, each once.
 */

typedef struct EndsStruct {
  Count count, capacity;
  HeaderStream stream; /* owned */
} EndsStruct, *Ends;

/* EndsAdd -- one more `stream:` line; ResMEMORY.  Memory grows with the streams, not with the lines. */
extern Res EndsAdd(Ends ends, const HeaderStreamStruct *stream);
extern void EndsSettle(Ends ends);
extern void EndsFree(Ends ends);

/* ---- Processes and streams ---- */

/* Events of a process that had to be left out, summed up so that they are told in one line. */
typedef struct ProcessOmittedStruct {
  uint64_t place;          /* of the first block with such an event */
  uint64_t events;
  uint16_t code;           /* of the first event */
} ProcessOmittedStruct, *ProcessOmitted;

/* Sealed blocks of a process that say something else than others with their time and number: copies of `other`, a
 * file, stand in the file that `place` is in. */
typedef struct ProcessContraryStruct {
  struct ProcessContraryStruct *next;
  Index other;
  uint64_t place;          /* of the first */
  uint64_t blocks, events; /* and how many they are */
} ProcessContraryStruct, *ProcessContrary;

/* What is known of a process that has no closing header block. */
enum {
  ProcessLifeUNKNOWN,
  ProcessLifeRUNS,         /* it runs, or its collector is about to take what it left */
  ProcessLifeTAKEN,        /* it was killed, and what it left in memory was taken */
  ProcessLifeGONE          /* that cannot be had, which was told */
};

typedef struct ProcessStruct {
  LogProcessStruct public; /* first, so that a LogProcess is one */
  uint32_t pid;            /* as its blocks say */
  Bool headed;             /* a header of it was found */
  Bool recovered;          /* blocks that it left in memory are in the log */
  Bool followed;           /* it became another program, which says that all was found that it had left in memory */
  int64_t ahead;           /* ns by which its monotonic clock is ahead of that of the others on its clock */
  Bool ambiguous;          /* one of its headers had lines of the registry that cannot be taken */
  Bool expected;           /* a closing header block of it should come */
  Bool twice;              /* another one of the traceset was the same when it was recorded (copies.h) */
  Bool moved;              /* its header blocks are of several recordings, or copies */
  Bool orphan;             /* memory of its recording says that the collector was killed */
  uint8_t life;            /* ProcessLife... */
  uint64_t endPlace;       /* of its newest closing header block */
  EndsStruct ends;         /* what those say */
  uint64_t unseen;         /* events discarded in streams of which no block is there */
  uint64_t lost;           /* events that no block could count, as its memory says */
  Bool left;               /* it left memory, which says what no header block knows: */
  uint32_t leftKinds;      /* that it sent at last, */
  uint32_t leftPid;        /* and its number for who made that */
  Index file;              /* that its newest header is in */
  Clock clock;             /* by ClockResolve */
  uint64_t newest;         /* ticks of the first event of its latest block */
  Types types;             /* NULL until headed */
  ProcessOmittedStruct orphans; /* no header was found, or not the registry that it names, */
  ProcessOmittedStruct unknown; /* or none that has their code */
  ProcessContrary contrary;     /* owned; one for each pair of files */
  struct LogStreamStruct *first, *last; /* its streams, in order of their numbers; NULL: none */
} ProcessStruct, *Process;

enum { LogStreamRECENT = 4 };

/* Where a block of a stream was taken last that was not known to be cut short. */
typedef struct LogStreamRecentStruct {
  Bool there;
  uint64_t sequence, place;
} LogStreamRecentStruct, *LogStreamRecent;

typedef struct LogStreamStruct {
  Index number;        /* in the traceset */
  Process process;
  struct LogStreamStruct *next, *previous; /* of its process */
  uint32_t id;         /* in its process */
  uint32_t thread;
  uint32_t pid;        /* as its blocks say */
  uint8_t kind;
  Bool unsent;         /* of the flight recorder */
  Bool logged;         /* it has blocks that are not out of a core, which need not have all */
  uint64_t since;      /* ticks when the first block was opened behind the newest one that is missing, or the first */
  uint64_t discarded;  /* as its latest block says */
  uint64_t passed;     /* the same, as the latest block says that was loaded */
  BlockRunsStruct runs;
  uint64_t newest, newestSequence; /* `first` and number of the block that came last in the files, */
  uint32_t newestCount; /* and its events; 0 if it is cut off */
  Bool newestSeen;      /* there was a copy of it before, which was whole */
  uint64_t cut, cutSequence; /* the same of a block that is cut off, and of which no whole copy has come; 0: none */
  LogStreamRecentStruct recent[LogStreamRECENT]; /* by their numbers, of which each has one place */
} LogStreamStruct, *LogStream;

/* LogStreamRecentOf -- the place of a number, which may have what is known of another */
static inline LogStreamRecent LogStreamRecentOf(LogStream stream, uint64_t sequence)
{
  return &stream->recent[sequence % LogStreamRECENT];
}

enum {
  TableSlabPROCESSES = 64, /* that are mapped at once */
  TablePiecesMAX = 256,    /* further ones are reported as damaged blocks */
  TableSlotsCLOCKS = 1024  /* lists of clocks, by `boot` */
};

typedef struct TableSlotStruct {
  uint64_t identity, id; /* of a process, and of its stream */
  void *thing;           /* that; NULL: an empty slot */
} TableSlotStruct, *TableSlot;

typedef struct TableStruct {
  Count processes, streams, clocks;
  Count processRoom, streamRoom, clockRoom; /* how many of each there is room for, in these: */
  Process *process;  /* owned, as are the things pointed at; so many each stand in one piece */
  LogStream *stream;
  Clock *clock;
  Clock clockSlot[TableSlotsCLOCKS]; /* those that have a name and a boot */
  uint64_t passed;   /* the streams' `passed`, together */
  Count slots;       /* a power of two, half of them empty at least: a hash of processes and streams */
  TableSlot slot;
  TypesTreeStruct types;
  Bool awaited;      /* some header names a registry that no header has yet, */
  Count referred;    /* nor had when there were so many types */
  Count pieces;      /* blocks that look whole, and were cut short, what came behind them standing within */
  uint64_t piece[TablePiecesMAX]; /* their places, as the index has them */
  const int64_t *offset; /* ns to add to the wall times of each file's processes, for so many files; or NULL */
  Count offsets;
} TableStruct, *Table;

/* ns from the earliest clock's beginning to another's that can be told apart: nine years */
#define TableSpanMAX (UINT64_MAX >> (ClockFineSHIFT + 2))

extern void TableFree(Table table);
extern Bool TableCheck(Table table);

/* TableProcess, TableStream -- find, or make; ResMEMORY.  Both cost a hash and a look. */
extern Res TableProcess(Process *processReturn, Table table, uint64_t identity);
extern Res TableStream(LogStream *streamReturn, Table table, BlockHeader header);

/* TableOrphan -- the collector of a recording was killed: of all its processes that is known from now on */
extern void TableOrphan(Table table, uint64_t recording);

/* TableProcessFind, TableStreamFind -- a process, or a stream, that is known, or NULL */
extern Process TableProcessFind(Table table, uint64_t identity);
extern LogStream TableStreamFind(Table table, uint64_t identity, uint32_t id);

/* TablePieceAdd -- a block was cut short though it looks whole; FALSE: there are too many such
 * TablePieceHas -- is the block at this place one? */
extern Bool TablePieceAdd(Table table, uint64_t place);
extern Bool TablePieceHas(Table table, uint64_t place);

/* TableHeader -- take what a sound header block says
 * file          that it is in
 * body, length  its lines of the registry, as HeaderRead gives them
 * newsReturn    its registry had lines that could not be taken, for the first time */
extern Res TableHeader(Table table, Header header, Index file, const char *body, Size length, Bool *newsReturn);

/* ProcessNumber -- its number, as far as is known */
static inline uint32_t ProcessNumber(Process process)
{
  return process->headed ? process->public.header.pid : process->pid;
}

/* ProcessLost -- events that no block could count, as its headers or its memory say */
static inline uint64_t ProcessLost(Process process)
{
  return process->public.header.lost > process->lost ? process->public.header.lost : process->lost;
}

/* ProcessOver -- has it counted all that it ever will?  A closing header block says so, or its memory was taken after
 * its death. */
static inline Bool ProcessOver(Process process)
{
  return process->public.header.ended || process->life == ProcessLifeTAKEN;
}

/* ProcessRecorded -- is it known to be one that was recorded, and no collector?
 * ProcessRecording -- the recording, or copy, that it is of; 0: that is not known */
static inline Bool ProcessRecorded(Process process)
{
  return process->headed && strcmp(process->public.header.role, HeaderRoleCOLLECTOR) != 0;
}
static inline uint64_t ProcessRecording(Process process)
{
  return process->public.header.recording != 0 ? process->public.header.recording : process->public.header.copy;
}

/* ProcessTyped -- is it known what types a process has? */
static inline Bool ProcessTyped(Process process)
{
  return process->headed && process->public.header.registry.length == 0;
}

/* TableRefer -- to be called when all headers are known.  The header of a process may say that it has the registry of
 * another process, whose header may come later: TableRefer gives it that registry.  ResMEMORY
 * TableFit -- fit the line of each clock, by which ticks become time; returns the real time (ns) of fine time 0 */
extern Res TableRefer(Table table);
extern uint64_t TableFit(Table table);

/* TableFitNew -- the same for clocks of which a header came after TableFit, which returned `origin` */
extern void TableFitNew(Table table, uint64_t origin);

#endif /* LOG_TABLE_H */
