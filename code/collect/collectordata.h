/* collectordata.h -- the data of a collector, for its own files
 *
 * Design: design/collector.md      Tests: test/collect/collecttest.c, test/collect/closing.t
 */
#ifndef COLLECT_COLLECTORDATA_H
#define COLLECT_COLLECTORDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <linux/futex.h>
#include <sys/types.h>
#include <time.h>

#include "base/types.h"
#include "collect/collector.h"
#include "collect/drain.h"
#include "collect/regionmaker.h"
#include "collect/rendezvous.h"
#include "collect/sigbus.h"
#include "monitor/processwatch.h"
#include "monitor/unrecorded.h"
#include "plinth/plinth.h"

/* What stands in the environment of each process of the family, before our address. */
#define collectorVARIABLE RegionVARIABLE "=collector="

enum {
  collectorUsersMAX = 64,
  collectorDrainsMAX = SigbusMAX - 1, /* `last` has one, too; the kernel walks 2048 of a robust list */
  collectorImagesMAX = 64
};

/* Which file a process ran that was called so. */
typedef struct ImageStruct {
  char called[RegionPathMAX], program[RegionPathMAX];
  dev_t device;            /* of the file that `called` led to */
  ino_t inode;
  struct timespec changed;
} ImageStruct, *Image;

typedef struct ImagesStruct {
  Count count;             /* that were ever kept; the newest are there */
  Image image;             /* collectorImagesMAX places, owned; NULL: none was kept */
} ImagesStruct, *Images;

/* The events of processes that have ended which cannot be written to the log; the user is told of them at the end. */
enum { leavingsNAMED = 3 };
typedef struct LeavingsStruct {
  Count processes;
  uint64_t events;
  pid_t pid;               /* of the first */
  char path[leavingsNAMED][RegionPathMAX]; /* the regions of the first; "": they have no name */
} LeavingsStruct, *Leavings;

/* The head of the kernel's list; the nodes are in the regions, hand.next. */
typedef struct CollectorStruct {
  struct robust_list_head robust; /* first: the kernel has its address */
  CollectorSettingsStruct settings;
  RendezvousSocketStruct meet;
  RegionMakerStruct maker;
  int handed;                  /* the log, for recorded programs; -1: it is no file */
  char mark[sizeof collectorVARIABLE + RendezvousNameMAX + 1 + RegionTokenMAX]; /* collectorVARIABLE and our address */
  Count drains;
  Drain drain[collectorDrainsMAX];
  Drain last;                  /* of a process that has ended, when there was no other: its region stays; NULL */
  Drain stays;                 /* of one whose region stays, because the log could not be written; NULL */
  Count stayed;                /* regions of which that is so */
  LeavingsStruct kept;         /* what stays in regions, */
  LeavingsStruct lost;         /* and what is lost because its region has no name */
  uint64_t tended;             /* when the collector looked last which processes live; monotonic ns */
  Count dead;                  /* processes that are known to have ended, and are not buried yet */
  Bool stopped;
  Bool met;                    /* the header block of a process is in the log */
  Bool refused;                /* a message has said that there are too many processes */
  int reason;                  /* errno of the first failure at the end; 0 */
  uint64_t untold;             /* events that are lost, and the log does not say so, or that a block is cut off */
  Bool told;                   /* the log could not be written at the last try, */
  uint64_t since;              /* ns, monotonic: since then, */
  Bool complained;             /* and a message has said so */
  Bool crowded;                /* a message has said that the log cannot be kept small */
  PlinthStruct forward;         /* where it goes, if that is no file */
  ImagesStruct images;
  Count users;
  uid_t user[collectorUsersMAX]; /* whose processes have met us */
  Bool unheard;                /* a message has said that not all that was noted then was heard */
  SelfEvents self;               /* our own stream; NULL: no memory */
  ProcessWatch watcher;             /* NULL before anything is to be told, and at the end */
  Unrecorded absent;               /* NULL: there is no family, or no memory */
  pid_t program;               /* our child; 0: none yet */
  DrainShopStruct shop;
} CollectorStruct;

/* CollectorLink -- the kernel's list anew.  As a whole: what is in the regions may have been changed. */
extern void CollectorLink(Collector collector);

/* CollectorReceive -- handle the datagrams that are there, no more than the queue holds: any process may send more
 * without end.  A process that asks for a region gets one. */
extern void CollectorReceive(Collector collector);

/* CollectorBury -- finish the processes that have ended; ResIO: not all that they left can be written
 * look  find out which have ended, and write header blocks that are due of the others; else only those that are known
 *       to have ended */
extern Res CollectorBury(Collector collector, Bool look);

/* CollectorReach -- whatever happens to us, the regions say how long the log is now */
extern void CollectorReach(Collector collector);

/* CollectorRelease -- the region that was kept is not needed any more */
extern void CollectorRelease(Collector collector);

/* CollectorNotes -- take the notes that processes have left because we stood still, if there are any
 * last  no more will be taken */
extern void CollectorNotes(Collector collector, Bool last);

/* CollectorGoesRound -- remove the notice that the collector stands still, if a process of the family has left one,
 * take what was noted since, and do not take the processes for unrecorded that recorded themselves because of it.
 * collect/regionmaker.h, monitor/unrecorded.h */
extern void CollectorGoesRound(Collector collector);

/* CollectorRound -- once through all regions; how many blocks that was */
extern Count CollectorRound(Collector collector);

/* CollectorWrite -- write the batch to the log; the first of several writes in a row that fail is told to the user */
extern Res CollectorWrite(Collector collector);

/* CollectorAlone -- end the watch over the family */
extern void CollectorAlone(Collector collector);

/* CollectorTell -- a line for the user */
extern void CollectorTell(Collector collector, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* COLLECT_COLLECTORDATA_H */
