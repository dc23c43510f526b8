/* recording.h -- one recording: its options and its result
 *
 * Design: design/collector.md      Tests: test/end/eventrec.t, test/collect/collect.t
 */
#ifndef COLLECT_RECORDING_H
#define COLLECT_RECORDING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#include "base/option.h"
#include "collect/collector.h"
#include "monitor/eventchoice.h"

enum { eventrecFAILED = 125, eventrecCANNOT = 126, eventrecMISSING = 127 };

enum {
  recordingBlocks = 1920,     /* that may wait, and their size: 60 MiB a process */
  recordingBlock = 32768,
  recordingBlocksMAX = 3072,
  recordingLook = 100,        /* ms between two looks at the family */
  recordingGrace = 1000,      /* ms that a program has to end when it was told to; then the recording does */
  recordingLinesMAX = 256,    /* to be told at the end */
  recordingKnownMAX = 1024,   /* programs of the family */
  recordingLookedMAX = 512 << 20, /* bytes of their files that are read: two seconds of work, if somebody wants it so */
  recordingNamesMAX = 64      /* names of theirs that are remembered */
};

/* What the command line asks for, and what becomes of it. */
typedef struct RecordingStruct {
  const OptionToolStruct *tool;
  const char *output; /* NULL: named after the program and its process */
  const char *to;     /* where the log is sent; NULL: nowhere */
  Bool file;          /* it is a file, too */
  const char *kinds, *events, *process, *stack;
  unsigned manage, policy;
  Size blockSize;
  Count blocks;
  Count sample;       /* ms between two samples; 0: none */
  Bool system;        /* what the collector sees of processes and threads is wanted */
  double limit;       /* seconds, more than 0; HUGE_VAL: none */
  Size keep;         /* bytes of the log that stay, the newest; 0: all */
  Bool force, raw, paused, alone, clean;
  uint8_t codes[ChooseSIZE]; /* that `events` names */
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
  Count lines;         /* for the summary, owned */
  char *line[recordingLinesMAX];
  Count linesMore;     /* for which there was no room */
  Count mets;          /* programs that came, owned, */
  char *met[recordingKnownMAX];
  Count libraries;     /* and what they had loaded, the same */
  char *loaded[recordingKnownMAX];
  uid_t loader[recordingKnownMAX]; /* and who had */
  Count known;         /* paths of programs that were looked at, owned */
  char *path[recordingKnownMAX];
  uid_t namer[recordingKnownMAX];          /* for whom they were, */
  const char *reason[recordingKnownMAX];   /* and what speaks against them; NULL: nothing */
  Count unseen[recordingKnownMAX];         /* processes that ran them, as far as they were counted */
  Count names;         /* by which such programs were found, owned, the newest by turns, */
  char *name[recordingNamesMAX];
  uid_t nameUser[recordingNamesMAX];       /* and who named them */
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
} RecordingStruct, *Recording;

/* collect/recordingstart.c: RecordingLibrary -- where libpawprint.so is: beside us, as built or as installed.  RecordingTo --
 * can logs be sent to where `to` says?  FALSE: told. */
extern Bool RecordingLibrary(Recording recording);
extern Bool RecordingTo(Recording recording);

/* RecordingLog -- the log's name for a process, absolute; FALSE: it is too long */
extern Bool RecordingLog(Recording recording, pid_t pid);

/* RecordingStart -- start the program; -1 if it did not come to that, *statusReturn is ours then */
extern pid_t RecordingStart(Recording recording, char **argv, int *statusReturn);

/* collect/recordingrun.c: RecordingRun -- the whole of it; our status */
extern int RecordingRun(Recording recording, char **argv);

/* collect/recordingsay.c: RecordingLine -- a line to be told at the end, once; a hook, `data` is the Recording.  RecordingTell -- the
 * same with a format.
 * RecordingProgram -- does something speak against observing a program of the family?  A path, or a name to be looked for,
 * that this user named, or ProgramANYBODY (collect/observable.h).  It is told at the end.  TRUE: nothing of it can be observed. */
extern void RecordingLine(void *data, const char *line);
extern void RecordingTell(Recording recording, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern Bool RecordingProgram(void *data, const char *name, uid_t user);

/* RecordingLooks -- may this program or library be looked at, after so many others of its sort?  FALSE: they were too many, or
 * too large, which is told at the end. */
extern Bool RecordingLooks(Recording recording, const char *path, Count others);

/* RecordingUnseen -- name a program or library that is not seen, and why: in a line at the end, and by an event in the log
 * count  processes that ran it; 0: they are not counted
 * RecordingLast -- a hook, at the end: name those of which the file says that they cannot be seen; `data` is the Recording */
extern void RecordingUnseen(Recording recording, const char *path, const char *reason, Count count);
extern void RecordingLast(void *data);

/* RecordingAbsent -- so many processes of the family ran this program, and did not announce themselves, for this reason;
 * NULL: for that which its file says */
extern void RecordingAbsent(void *data, const char *name, const char *reason, Count count);

/* RecordingLoaded -- a process of this program has come: what has it loaded?  RecordingLibraries -- at
 * the end: which of these call what is not seen */
extern void RecordingLoaded(void *data, pid_t pid, uid_t user, const char *program);
extern void RecordingLibraries(Recording recording);

/* RecordingFind -- is the log still where it was made, and as long as it was written?  If it was moved that is its name from
 * now on.  What is not so is told at the end. */
extern void RecordingFind(Recording recording);

/* RecordingSummary -- one line of what was recorded, and one for what was not.  RecordingSent -- the same of what was sent
 * elsewhere. */
extern void RecordingSummary(Recording recording, Count running);
extern void RecordingSent(Recording recording);

#endif /* COLLECT_RECORDING_H */
