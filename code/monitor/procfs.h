/* procfs.h -- reads and parses what /proc shows of processes and threads
 *
 * Files of /proc are input from outside: a name in them may have spaces, parentheses and newlines, and each may vanish
 * at any moment.  Files that are read again and again stay open, up to a bound.
 *
 * Always true (ProcCheck): the folder is open;  kept <= keepMAX, the descriptors that ProcRead left with its callers;
 * held <= heldMAX, those of ProcHold;  a tick is not 0, and a page is a power of two.
 *
 * Design: design/collector.md .sample.read      Tests: test/monitor/sampletest.c
 */
#ifndef MONITOR_PROCFS_H
#define MONITOR_PROCFS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <fcntl.h>
#include <sys/types.h>

#include "base/types.h"

enum {
  ProcNameSIZE = 64,      /* of a thread, with its NUL: 16 for programs', the kernel's own have more */
  ProcPathSIZE = 64,      /* of a file of a thread, below the root */
  ProcReadMAX = 4096      /* bytes that ProcRead is asked for, by us */
};

typedef struct ProcStruct {
  int root;               /* descriptor of the folder */
  Count kept, keepMAX;    /* descriptors of files that stay open */
  Count held, heldMAX;    /* descriptors of processes (pidfd) */
  Bool real;              /* the folder is the system's own */
  uint64_t tick;          /* us of one clock tick */
  uint64_t page;          /* bytes */
} ProcStruct, *Proc;

/* What a `stat` file says of a process or thread.  Times are in us. */
typedef struct ProcStatStruct {
  uint32_t pid, parent;
  char state;             /* R S D T t Z X I ... */
  char name[ProcNameSIZE];
  uint64_t minor, major;  /* page faults */
  uint64_t user, system;
  uint64_t threads;
  uint64_t start;         /* clock ticks since the machine's start */
  uint64_t virtual, resident; /* bytes */
  uint64_t stack;         /* where its stack begins, which changes with exec; 0: we may not know */
  uint64_t disk;          /* waiting for a disk; 0 also where the system does not measure that */
  uint32_t exit;          /* wait status, where the state is Z; 0 also where we may not know */
} ProcStatStruct, *ProcStat;

/* The machine's times, in us, and how many processors it has. */
typedef struct ProcMachineStruct {
  uint64_t user, system, idle, disk, stolen;
  uint32_t processors;
} ProcMachineStruct, *ProcMachine;

/* ProcInit -- `root` is /proc, or stands for it; keepMAX descriptors may stay open.  ResIO, with errno. */
extern Res ProcInit(Proc proc, const char *root, Count keepMAX);
extern void ProcFinish(Proc proc);
extern Bool ProcCheck(Proc proc);

/* ProcRead -- read the beginning of a file
 *
 * fd       -1, or what an earlier ProcRead of the same file left there; the caller's, until ProcDrop.  NULL: the file
 *          is read once
 * path     below the root
 * returns  bytes; 0 if it is not there, or is empty
 * cost     1 us for most files if it is open, else 3 to 5 */
extern Size ProcRead(Proc proc, int *fd, const char *path, char *room, Size size);
extern void ProcDrop(Proc proc, int *fd);

/* ProcHold -- a pidfd of a process that lives, by which its status can be read even after it has been reaped; -1: there
 * is none, or heldMAX is reached.  The caller's, until ProcRelease.
 * ProcStatus -- its wait status; FALSE: it has not ended, or the system does not say (before Linux 6.15)
 * ProcParent -- the number of its parent; FALSE: it has been reaped, or the system does not say (before Linux 6.13) */
extern int ProcHold(Proc proc, uint32_t pid);
extern Bool ProcStatus(int *statusReturn, int held);
extern Bool ProcParent(uint32_t *parentReturn, int held);
extern void ProcRelease(Proc proc, int held);

/* ProcPath -- "PID/file", or "PID/task/TID/file" if tid is not 0; returns room */
extern const char *ProcPath(char room[ProcPathSIZE], uint32_t pid, uint32_t tid, const char *file);

/* ProcProgram -- the path of the program that a process runs; FALSE, and "": it has ended, reaped or not, or we may not
 * know (errno)
 * root  of a Proc; AT_FDCWD: /proc */
extern Bool ProcProgram(char *room, Size size, int root, pid_t pid);

/* ProcHolds -- is the string among the first `most` bytes of a file of a process?
 * readReturn  bytes that were read; -1: the file cannot be opened */
extern Bool ProcHolds(ssize_t *readReturn, int root, pid_t pid, const char *file, const char *string, Size most);

/* ProcNumbers -- the names in a folder that are numbers, rising, each once
 * *numbers, *capacity  the caller's array, which grows as needed
 * errors               ResMEMORY; ResIO: there is no such folder */
extern Res ProcNumbers(uint32_t **numbers, Count *capacity, Count *countReturn, Proc proc, const char *path);

/* ProcStatParse -- parse the text of a `stat` file; FALSE: it is none */
extern Bool ProcStatParse(ProcStat statReturn, Proc proc, const char *text, Size size);

/* ProcSchedParse -- parse the text of a `schedstat` file: ns that the thread ran, ns that it waited for a processor,
 * and how often it ran */
extern Bool ProcSchedParse(uint64_t numbersReturn[3], const char *text, Size size);

/* ProcMachineParse -- parse the beginning of /proc/stat */
extern Bool ProcMachineParse(ProcMachine machineReturn, Proc proc, const char *text, Size size);

/* ProcNewest -- the newest process number of the system: as long as it stays the same, no process or thread has
 * started; 0: unknown.  fd as for ProcRead. */
extern uint32_t ProcNewest(Proc proc, int *fd);

#endif /* MONITOR_PROCFS_H */
