/* drain.h -- one process's region, drained
 *
 * A Drain takes the full blocks out of a region, which the process goes on filling, and puts them packed into the
 * batch.  Whatever stands in the region is judged in a copy: the process may write anything there at any time.
 *
 * Always true (DrainCheck):
 *   header is a mapping of size = RegionSize(slots) bytes of the file;  used <= slots <= RegionSlotsMAX
 *   a slot that was looked at has the number of a stream that is there, unless the process is muted
 *   a stream's `stall` is 0, or one more than the slot of the block that its later blocks wait behind
 *   each stream is found by its id, and a quarter of the places at most is taken (DrainStreamsCheck)
 *
 * One thread.
 *
 * Design: design/collector.md .hand, .hand.header, .hand.count, .hand.order, .hand.defined, .hostile      Tests:
 * test/collect/collecttest.c, test/collect/definitions.t
 */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"
#include "collect/batch.h"
#include "collect/regionmaker.h"
#include "collect/rendezvous.h"
#include "format/header.h"
#include "format/pack.h"
#include "format/region.h"
#include "format/registry.h"
#include "monitor/selfevents.h"
#include "monitor/statusline.h"

/* One text of types and what it means. */
typedef struct DrainTypesStruct {
  struct DrainTypesStruct *next;
  Count users;
  Size length;
  Size named;               /* `length` if the log has these lines already, else 0 */
  char *text;               /* owned; the registry's names point into it */
  RegistryStruct registry;  /* its types are owned */
} DrainTypesStruct, *DrainTypes;

typedef struct DrainHeaderStruct {
  uint32_t generation;      /* of the text that was taken last, sound or not; 0: none yet */
  Bool slow;                /* the process's clock is the system's */
  DrainTypes types;         /* NULL: no sound header yet */
  HeaderStruct header;
} DrainHeaderStruct, *DrainHeader;

enum { DrainStreamsMAX = 1 << 15 };

typedef struct DrainStreamStruct {
  uint32_t id;
  uint32_t stall;     /* a slot + 1 */
  uint32_t behind;    /* blocks that were seen to wait behind it */
  Bool used;          /* since it was last looked for one that is not */
  uint64_t next;      /* number of the block that is to come */
  uint64_t total;     /* events in those before; BlockBeforeUNKNOWN */
  uint64_t discarded; /* as the latest block says */
} DrainStreamStruct, *DrainStream;

typedef struct DrainStreamsStruct {
  Count count, capacity; /* capacity is a power of two, or 0 */
  DrainStream stream;    /* owned; by number */
  Count places;          /* a power of two, more than half of them empty, or 0 */
  uint32_t *place;       /* owned; by id: a number + 1, or 0 */
  Index hand;            /* the number at which it goes on to look for a stream that is not used */
} DrainStreamsStruct, *DrainStreams;

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
  StatusLineCountsStruct counts; /* of all that went into the batch */
  uint64_t recording;       /* which this is, */
  uint64_t headed;          /* and of how many of its processes a header block went into the batch */
  SelfEvents self;            /* its header block is to follow the first one of a process; NULL: it is in the log */
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
  uint32_t seenCount;       /* events of it that were counted for who watches */
  uint64_t first;           /* when it was opened: by that it is known to be the same */
  uint64_t before, looked;  /* as it was sent; when it was looked at last, ns */
} DrainSlotStruct, *DrainSlot;

typedef struct DrainStruct {
  DrainShop shop;
  RegionHeader header;
  MadeRegionStruct file;     /* of the region */
  Size size;
  Count slots;
  pid_t pid;                /* as we number it */
  uint64_t identity;
  uint32_t policy;          /* RegionPolicy... */
  uint64_t now;             /* when the round began: monotonic, ns */
  uint64_t unheaded;        /* bytes since its last header block, */
  uint64_t defined;         /* and how many these were at the last DrainDEFINED */
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
  DrainFULL,    /* blocks that are full, as the policy has it */
  DrainDEFINED, /* and what open ones hold that tell of modules and stacks: they stay open, and come again */
  DrainSHOWN,   /* and what all open ones of streams that are sent hold */
  DrainHELD,    /* all that are full, those that RegionPolicyOVERWRITE keeps, too */
  DrainFLUSH,   /* and what all open ones hold, the flight recorder's, too */
  DrainALL      /* everything that was sent: the process is dead */
} DrainWhat;

static inline Bool DrainTakesOpen(DrainWhat what)
{
  return what == DrainDEFINED || what == DrainSHOWN || what >= DrainFLUSH;
}

/* DrainMake -- make a region for a process, and map it
 *
 * message      its request
 * tid          of our thread, which drains it
 * grantReturn  the answer
 * lockedReturn a descriptor of the region, locked, for the process; the caller closes it
 * returns      ResMEMORY, ResIO, ResPARAM: it wants what cannot be
 */
extern Res DrainMake(Drain *drainReturn, DrainShop shop, RegionMaker maker, RendezvousMessage message, uint32_t tid,
                     RegionGrant grantReturn, int *lockedReturn);

/* DrainWithdraw -- remove the region, and forget the process: also where the answer cannot be delivered */
extern void DrainWithdraw(Drain drain);

/* DrainHeaderNew -- read what new header block there is, which is owed from then on; FALSE: there is none yet */
extern Bool DrainHeaderNew(Drain drain);

/* DrainGreet -- put the header block that is owed into the batch; FALSE: not now */
extern Bool DrainGreet(Drain drain);

/* DrainMute -- nothing of the process is wanted: it is switched off, and what it hands over is freed unread */
extern void DrainMute(Drain drain);

/* DrainWorth -- so many blocks must be full to be worth a round: one, or more of a process that has just begun, which
 * may be a short one and be over before there are more */
extern uint32_t DrainWorth(Drain drain);

/* DrainRound -- take what is there into the batch; how many blocks that was */
extern Count DrainRound(Drain drain, DrainWhat what);

/* DrainRepeat -- put the header block, or open blocks that define something, into the batch again if that is due */
extern void DrainRepeat(Drain drain);

/* DrainShut -- switch off what the process sends */
extern void DrainShut(Drain drain);

/* DrainIsDead -- has the process ended?  The lock on its region is ours then, and when that was seen is noted. */
extern Bool DrainIsDead(Drain drain);

/* DrainTakeAll -- the process has ended: put all that it left into the batch; ResIO: not all of it can be.
 * DrainFarewell -- when that is written, put the closing header block of the process into the batch.  When that is
 * written, too, the region is not needed any more. */
extern Res DrainTakeAll(Drain drain);
extern Res DrainFarewell(Drain drain);

/* DrainReach -- the region says how far the log was written: a shorter one was cut.  DrainKeep -- after DrainFarewell:
 * the region stays for its header's sake, and nobody holds the lock on it */
extern void DrainReach(Drain drain, uint64_t place);
extern void DrainKeep(Drain drain);

/* DrainStays -- what the process left cannot be written: how many events stay in the region.  What the process has
 * discarded beside them is counted from then on. */
extern uint64_t DrainStays(Drain drain);

/* DrainLeave -- the process is about to go on by itself: what it has handed over so far is taken.  DrainLetGo -- it
 * does so from now on */
extern void DrainLeave(Drain drain);
extern void DrainLetGo(Drain drain);

/* DrainClose -- unmap; what is in the batch must have been written */
extern void DrainClose(Drain drain);

/* DrainShopFinish -- when all are closed */
extern void DrainShopFinish(DrainShop shop);

/* DrainStopped -- how long after its beginning RegionPolicySTOP ended the process's recording, in ns; 0: it did not */
extern uint64_t DrainStopped(Drain drain);

extern Bool DrainCheck(Drain drain);

/* DrainSpoiled -- the program has written over a block, and so many events are lost with it */
extern void DrainSpoiled(Drain drain, Count events);

/* drainblock.c: DrainSlotList -- is there something to take in a slot of this state, and what?  DrainSlotTake -- take
 * it; TRUE if something of it went into the batch. */
extern Bool DrainSlotList(DrainEntry entryReturn, Drain drain, Index slot, uint8_t state, DrainWhat what);
extern Bool DrainSlotTake(Drain drain, DrainEntry entry, DrainWhat what);

/* ---- drainheader.c: the header block, and how far each stream has come ---- */

/* DrainHeaderTake -- read the newest header block, if there is one that was not read
 *
 * identity  that it must have
 * pid       of the process, as we number it
 * shop      whose types are in use; its batch's room serves to read it, and nothing is put there
 * returns   ResEND: there is none; ResFORMAT: it is not sound, and not looked at again; ResIO, ResMEMORY: not
 *           now
 */
extern Res DrainHeaderTake(DrainHeader header, RegionHeader region, uint64_t identity, uint32_t pid,
                           DrainShop shop);

/* DrainHeaderAgain -- write it into the batch, with the newest relation of ticks to time.  Types that the log has from
 * the collector are named and not repeated.
 * lost   events that no block counts
 * ended  NULL; or nothing is left in memory, and the process's part ends: it names no region, and says what of these
 *        streams should be there */
extern Res DrainHeaderAgain(DrainHeader header, uint64_t lost, const DrainStreamsStruct *ended,
                            DrainShop shop);

/* DrainHeaderForget -- give back its types */
extern void DrainHeaderForget(DrainHeader header, DrainTypes *list);

/* DrainStreamGet -- the number of the stream with this id, made if it is new
 *
 * Where there are as many as can be the place of one that was not used for long is given to it, for threads come and
 * go: if that comes again all the same, nobody knows how many events it has had.
 *
 * returns  ResMEMORY; ResLIMIT: blocks wait in all of them */
extern Res DrainStreamGet(Index *numberReturn, DrainStreams streams, uint32_t id);

/* DrainStreamDiscarded -- a block says how many events the stream has discarded; how many of them are news */
extern uint64_t DrainStreamDiscarded(DrainStream stream, uint64_t discarded);

extern void DrainStreamsFree(DrainStreams streams);
extern Bool DrainStreamsCheck(DrainStreams streams);

#endif /* COLLECT_DRAIN_H */
