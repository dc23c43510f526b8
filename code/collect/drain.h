/* drain.h -- one process's region, drained
 *
 * A Drain takes the full blocks out of a region, which the process goes on filling, and puts them packed into the
 * batch.  Whatever stands in the region is judged in a copy: the process may write anything there at any time.
 *
 * Always true (DrainCheck): header is a mapping of `size` bytes, and all slots lie in it; a slot's mark is drainNONE
 * unless its block was looked at and is still there.
 *
 * One thread.
 *
 * Design: design/collector.md .hand, .hostile      Tests: test/collecttest.c
 */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"
#include "collect/batch.h"
#include "collect/drainheader.h"
#include "collect/drainstream.h"
#include "collect/meet.h"
#include "collect/place.h"
#include "collect/teller.h"
#include "collect/watch.h"
#include "format/pack.h"
#include "format/region.h"

/* A slot that may have something to take. */
typedef struct DrainEntryStruct {
  uint64_t first, sequence; /* of its block, as its header says */
  uint32_t slot;
  Bool open;
} DrainEntryStruct, *DrainEntry;

enum { DrainSPARE = 16 };

/* What all Drains of a collector share: what is wanted, and working memory. */
typedef struct DrainShopStruct {
  const uint8_t *events;    /* bits by code: the types that are wanted; NULL: all */
  char chosen[HeaderEventsSIZE]; /* their names, for header blocks; "": all */
  Bool raw;                 /* blocks are not packed */
  DrainTypes types;         /* in use */
  RegistryNameStruct known; /* the types that the collector's own header block has put into the log; length 0: none */
  Pack pack;
  WatchCountsStruct counts; /* of all that went into the batch */
  uint64_t recording;       /* which this is, */
  uint64_t headed;          /* and of how many of its processes a header block went into the batch */
  Teller teller;            /* whose own header block is to follow the first one of a process; NULL: it is in the log */
  Watch watch;              /* NULL: nobody watches */
  BatchStruct batch;
  struct DrainStruct *spare[DrainSPARE]; /* of processes that have ended, as new */
  Count spares;
  DrainEntryStruct list[RegionSlotsMAX];
  uint64_t copy[(BlockMAX + PackSlackSIZE) / sizeof(uint64_t)];
} DrainShopStruct, *DrainShop;

/* What is known of the block in a slot. */
typedef struct DrainSlotStruct {
  uint8_t mark;
  uint32_t stream;          /* its number among the streams */
  uint32_t count;           /* events of it that are in the log */
  uint32_t seen, seenCount; /* bytes and events of it that were counted for who watches */
  uint64_t first;           /* when it was opened: by that it is known to be the same */
  uint64_t before, looked;  /* as it was sent; when it was looked at last, ns */
} DrainSlotStruct, *DrainSlot;

typedef struct DrainStruct {
  DrainShop shop;
  RegionHeader header;
  PlaceFileStruct file;     /* of the region */
  Size size;
  Count slots;
  pid_t pid;                /* as we number it */
  uint64_t identity;
  uint32_t policy;          /* RegionPolicy... */
  uint64_t now;             /* when the round began: monotonic, ns */
  uint64_t unheaded;        /* bytes since its last header block */
  Bool muted;               /* nothing of it is wanted: blocks are freed and not written */
  Bool owed;                /* its header block is known, and not in the log */
  Bool counted;             /* among those of which there is one */
  Bool shut;                /* sends nothing any more, by our will */
  uint32_t sent;            /* the kinds that it sent, when that was looked at last, or until it was shut */
  uint64_t gone;            /* ticks when it was seen that the process had ended; 0: it has not */
  uint64_t newest;          /* ticks of the newest event that was taken, or of the beginning of its block */
  Count spoiled;            /* blocks that the program has written over, */
  uint64_t spoiledEvents;   /* and events that are lost with them: the region counts them among others */
  Bool taken, parted;       /* all that it left, and its last header block, were put into the batch */
  DrainHeaderStruct head;
  DrainStreamsStruct streams;
  char path[RegionPathMAX]; /* of the region; "" if it has none */
  char program[RegionPathMAX]; /* that it runs, as it says; "" if unknown */
  Count used;               /* of the slots from here on nothing was ever noted */
  DrainSlotStruct slot[RegionSlotsMAX];
} DrainStruct, *Drain;

typedef enum DrainWhat {
  DrainFULL,  /* blocks that are full, as the policy has it */
  DrainSHOWN, /* and what open ones of streams that are sent hold: they stay open, and come again */
  DrainHELD,  /* all that are full, those that RegionPolicyOVERWRITE keeps, too */
  DrainFLUSH, /* and what all open ones hold, the flight recorder's, too */
  DrainALL    /* everything that was sent: the process is dead */
} DrainWhat;

static inline Bool DrainTakesOpen(DrainWhat what)
{
  return what == DrainSHOWN || what >= DrainFLUSH;
}

/* DrainMake -- make a region for a process, and map it
 *
 * message      its request
 * tid          of our thread, which drains it
 * grantReturn  the answer
 * lockedReturn a descriptor of the region, locked, for the process; the caller closes it
 * returns      ResMEMORY, ResIO, ResPARAM: it wants what cannot be
 */
extern Res DrainMake(Drain *drainReturn, DrainShop shop, Place place, MeetMessage message, uint32_t tid,
                     RegionGrant grantReturn, int *lockedReturn);

/* DrainWithdraw -- remove the region, and forget the process: also where the answer cannot be delivered */
extern void DrainWithdraw(Drain drain);

/* DrainHeaderNew -- read what new header block there is, which is owed from then on; FALSE: there is none yet */
extern Bool DrainHeaderNew(Drain drain);

/* DrainGreet -- put the header block that is owed into the batch; FALSE: not now */
extern Bool DrainGreet(Drain drain);

/* DrainMute -- nothing of the process is wanted: it is switched off, and what it hands over is freed unread */
extern void DrainMute(Drain drain);

/* DrainWorth -- so many blocks must be full to be worth a round: one, or more of a process that has just begun, which may
 * be a short one and be over before there are more */
extern uint32_t DrainWorth(Drain drain);

/* DrainRound -- take what is there into the batch; how many blocks that was */
extern Count DrainRound(Drain drain, DrainWhat what);

/* DrainRepeat -- put the header block into the batch again if that is due */
extern void DrainRepeat(Drain drain);

/* DrainShut -- switch off what the process sends */
extern void DrainShut(Drain drain);

/* DrainIsDead -- has the process ended?  The lock on its region is ours then, and when that was seen is noted. */
extern Bool DrainIsDead(Drain drain);

/* DrainTakeAll -- the process has ended: put all that it left into the batch; ResIO: not all of it can be.
 * DrainFarewell -- when that is written, put what is said of it at the end into the batch.  DrainParted -- is that written, too?
 * Then the region is not needed for it any more. */
extern Res DrainTakeAll(Drain drain);
extern Res DrainFarewell(Drain drain);
extern Bool DrainParted(Drain drain);

/* DrainFinish -- all of that.  ResIO: the log could not be written; the region has what it has not. */
extern Res DrainFinish(Drain drain);

/* DrainReach -- the region says how far the log was written: a shorter one was cut.  DrainKeep -- after DrainFinish: the
 * region stays for its header's sake, and nobody holds the lock on it */
extern void DrainReach(Drain drain, uint64_t place);
extern void DrainKeep(Drain drain);

/* DrainStays -- after DrainFinish has failed: how many events stay in the region.  What the process has discarded beside
 * them is counted from then on. */
extern uint64_t DrainStays(Drain drain);

/* DrainLeave -- the process is about to go on by itself: what it has handed over so far is taken.  DrainLetGo -- it does so
 * from now on */
extern void DrainLeave(Drain drain);
extern void DrainLetGo(Drain drain);

/* DrainClose -- unmap; what is in the batch must have been written */
extern void DrainClose(Drain drain);

/* DrainShopFinish -- when all are closed */
extern void DrainShopFinish(DrainShop shop);

/* DrainProgram -- the program that the process runs, as it says; "" if unknown */
extern const char *DrainProgram(Drain drain);

/* DrainHeaded -- is there a header block by which the log says of the process what is lost, if that is wanted? */
extern Bool DrainHeaded(Drain drain);

/* DrainStopped -- how long after its beginning RegionPolicySTOP ended the process's recording, in ns; 0: it did not */
extern uint64_t DrainStopped(Drain drain);

extern Bool DrainCheck(Drain drain);

/* DrainSpoiled -- the program has written over a block, and so many events are lost with it */
extern void DrainSpoiled(Drain drain, Count events);

/* drainblock.c: DrainSlotList -- is there something to take in a slot of this state, and what?  DrainSlotTake -- take
 * it; TRUE if something of it went into the batch. */
extern Bool DrainSlotList(DrainEntry entryReturn, Drain drain, Index slot, uint8_t state, DrainWhat what);
extern Bool DrainSlotTake(Drain drain, DrainEntry entry, DrainWhat what);

#endif /* COLLECT_DRAIN_H */
