/* recording.h -- one recording: its options and its result
 *
 * Design: design/collector.md      Tests: test/end/eventrec.t, test/collect/collect.t,
 * test/collect/recordingtest.c
 */
#ifndef COLLECT_RECORDING_H
#define COLLECT_RECORDING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/option.h"
#include "collect/collector.h"
#include "log/log.h"
#include "monitor/eventchoice.h"

enum { eventrecFAILED = 125, eventrecCANNOT = 126, eventrecMISSING = 127 };

enum {
  recordingBlocks = 1920,     /* that may wait, and their size: 60 MiB a process */
  recordingBlock = 32768,
  recordingBlocksMAX = 3072,
  recordingLook = 100,        /* ms between two looks at the family */
  recordingGrace = 1000,      /* ms that a program has to end after a signal; then the recording ends */
  recordingLinesMAX = 256,    /* to be told at the end */
  recordingNamesMAX = 1024,   /* entries of a list: programs of the family, libraries */
  recordingFewMAX = 64,       /* names of programs that are remembered for a moment */
  recordingLookedMAX = 512 << 20 /* bytes of files of programs that are read: two seconds of work */
};

/* A list of names, each of which is there once for each user who gave it. */
typedef struct RecordingNameStruct {
  char *name;          /* owned */
  uid_t user;          /* who gave it */
  const char *reason;  /* of a program: what in its file speaks against observing it; NULL: nothing */
  Count runs;          /* of a program: announced execs of it that have not failed */
  Count unseen;        /* of a program: processes that ran it and were not seen, as far as they were counted */
} RecordingNameStruct, *RecordingName;

typedef struct RecordingListStruct {
  Count count;
  RecordingNameStruct entry[recordingNamesMAX];
} RecordingListStruct, *RecordingList;

enum { recordingDepthMAX = 64 }; /* frames of a stack (unwind/walk.h, StackDepthMAX) */

/* What the command line asks for, and what becomes of it.
 *
 * Always true (RecordingCheck): no list has more than its most, and each entry has a name;  no more bytes of files
 * may be read than at first;  where programs were not looked at, the first of them is known. */
typedef struct RecordingStruct {
  const OptionToolStruct *tool;
  const char *output; /* NULL: named after the program and its process */
  const char *to;     /* where the log is sent; NULL: nowhere */
  Bool file;          /* it is a file, too */
  const char *kinds, *events;
  Count stack;        /* depth of the stacks of allocations; 0 to recordingDepthMAX */
  Bool stackFrees;    /* frees have one, too */
  Bool usable;        /* allocations with a caller tell what the allocator gave */
  const char *range;  /* record the first caller in this module or range of addresses; NULL: the caller, or its stack */
  unsigned manage, policy;
  Bool debug; /* manage by a debug pool */
  Size blockSize;
  Count blocks;
  double limit;       /* seconds, more than 0; HUGE_VAL: none */
  CollectorSettingsStruct wanted; /* of the collector; its hooks are set when there is one */
  Bool force, clean;
  Bool baseline;      /* run the program once more, unrecorded */
  uint8_t codes[EventChoiceSIZE]; /* that `events` names */
  Collector collector; /* NULL: there is none, processes write to the log themselves */
  char **logs;         /* that `clean` is for, NULL at their end, */
  Bool *meant;         /* and for which of them something was in memory */
  int signals;         /* a descriptor that tells of signals */
  pid_t pid;
  int fd;              /* the log, until the collector has it; -1 */
  int own;             /* the log again, for us to count what is in it, wherever it is by then; -1 */
  int folder;          /* where it was made; -1: nowhere */
  dev_t device;        /* and which file that is */
  ino_t inode;
  uint64_t identity;   /* of the recording */
  uint64_t end;        /* when the recording ends, monotonic ns */
  uint64_t stopped;    /* when it ended while the program went on; 0: it did not */
  Bool signalled;      /* we were told to end it */
  RecordingListStruct lines;     /* for the end, recordingLinesMAX at most; */
  Count linesMore;               /* lines for which there was no room */
  RecordingListStruct met;       /* programs that announced themselves, */
  RecordingListStruct libraries; /* and the libraries that they had loaded */
  RecordingListStruct absent; /* programs that did not announce themselves, by path and reason */
  RecordingListStruct programs;  /* paths of programs whose files were looked at */
  RecordingListStruct names;     /* of programs whose files nothing speaks against; recordingFewMAX at most */
  Size looked;                /* bytes of files that may yet be read to find that out, */
  Count unlooked;             /* programs and libraries that were not looked at, */
  char first[PATH_MAX];       /* and the first of them */
  char program[PATH_MAX];
  char library[PATH_MAX];
  char log[PATH_MAX]; /* absolute */
  char found[32];     /* where it can be opened, whatever has its name by now; "": by that */
  Bool whole;          /* the collector has written all that it had */
  CollectorCountsStruct counts; /* what the collector has counted */
  Count barred;        /* processes that go on, and may not remove their memory at their end */
  double seconds;
  sigset_t watched;          /* the signals that `signals` tells of */
  sigset_t mask;             /* as we were given them, for the program */
  struct sigaction children; /* and what to do when children end, */
  struct sigaction limited;  /* and at the limit on file sizes */
  struct rlimit files;       /* and how many files may be open; */
  off_t input;               /* where its standard input was; -1: it is no file */
  struct rusage took;        /* what the program took, when it has ended, with those it had waited for */
} RecordingStruct, *Recording;

extern Bool RecordingCheck(const RecordingStruct *recording);

/* collect/recordingstart.c: RecordingLibrary -- where libpawprint.so is: beside us, as built or as installed; FALSE:
 * told. */
extern Bool RecordingLibrary(Recording recording);

/* RecordingLog -- the log's name for a process, absolute; FALSE: it is too long */
extern Bool RecordingLog(Recording recording, pid_t pid);

/* RecordingStart -- start the program; -1 if it did not come to that, *statusReturn is ours then */
extern pid_t RecordingStart(Recording recording, char **argv, int *statusReturn);

/* collect/recordingwait.c: RecordingSignals -- from here on signals wait until they are read; FALSE: told
 * RecordingRestore -- in a child that becomes the program: signals are as we were given them
 * RecordingEnded -- take the signals that are there, and pass them on; TRUE: `pid` has ended
 * RecordingNap -- until a signal comes, or `until` (monotonic ns); the collector works meanwhile, if there is one */
extern Bool RecordingSignals(Recording recording);
extern void RecordingRestore(Recording recording);
extern Bool RecordingEnded(Recording recording);
extern void RecordingNap(Recording recording, uint64_t until);

/* collect/recordingrun.c: RecordingRun -- the whole of it; our status */
extern int RecordingRun(Recording recording, char **argv);

/* collect/baseline.c: BaselineKeep -- remember what the program begins with, before it begins
 * BaselineRun -- run it once more, unrecorded, and tell the log what that took; `status`: how it ended when it was
 * recorded, as wait has it */
extern void BaselineKeep(Recording recording);
extern void BaselineRun(Recording recording, char **argv, int status);

/* collect/recordingsay.c: RecordingLine -- a line to be told at the end, once; a hook, `data` is the Recording.
 * RecordingTell -- the same with a format.
 * RecordingProgram -- does something speak against observing a program of the family?  A path, or a name to be looked
 * for, that this user named, or ProgramANYBODY (collect/programfile.h).  The reason is said at the end.  TRUE: nothing
 * of it can be observed.
 * RecordingStays -- the exec for which it was asked has failed: nothing has to be said of the program for that one. */
extern void RecordingLine(void *data, const char *line);
extern void RecordingTell(Recording recording, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern Bool RecordingProgram(void *data, const char *name, uid_t user);
extern void RecordingStays(void *data, const char *name, uid_t user);

/* RecordingLast -- a hook, at the end: name those of which the file says that they cannot be seen; `data` is the
 * Recording */
extern void RecordingLast(void *data);

/* RecordingAbsent -- so many processes of the family ran this program, and did not announce themselves, for this
 * reason; NULL: for that which its file says */
extern void RecordingAbsent(void *data, const char *name, const char *reason, Count count);

/* RecordingLoaded -- a process of this program has come: what has it loaded? */
extern void RecordingLoaded(void *data, pid_t pid, uid_t user, const char *program);

/* RecordingFind -- is the log still where it was made, and as long as it was written?  If it was moved that is its name
 * from now on.  If not, that is said at the end. */
extern void RecordingFind(Recording recording);

/* RecordingSummary -- one line of what was recorded, and a line for each thing that was not.  RecordingSent -- the same
 * of what was sent to another place.
 * running  processes of the family that go on */
extern void RecordingSummary(Recording recording, Count running);
extern void RecordingSent(Recording recording, Count running);

/* collect/recordingrange.c: RecordingRange -- has the log no module of the name that --range gives?  Then `line` says
 * so, with the names of those that there are.  NULL: no range was given.
 * RecordingRangeEmpty -- is it LO-HI with no address between them? */
extern Bool RecordingRangeEmpty(const char *range);
extern Bool RecordingRange(char *line, Size size, const char *range, Log log);

#endif /* COLLECT_RECORDING_H */
