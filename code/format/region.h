/* region.h -- the shared memory in which a process keeps its blocks, and how other processes find them
 *
 * A region is a file, in tmpfs where possible, which the recorded process and its collector, if there is one, map
 * shared. It has RegionHeaderStruct at its beginning; at RegionCONTROL the table of what is recorded, which the process
 * has mapped over its EventKindControl; at RegionTEXT two places for the process's header block; and from RegionFIRST
 * on `slots` slots of RegionSlotSIZE bytes.  A slot in use has one block, of a power of two bytes, at its end.  The
 * process holds a lock (flock) on the file as long as it lives: the mapping keeps it, not a descriptor.
 *
 * The state of a slot says who may use it:
 *   RegionFREE         all of its memory is zero; the process's threads take it (compare and swap)
 *   RegionOPEN         the thread that took it fills its block; the state has a size as soon as the block has a header
 *   RegionFULL         its block waits for the collector, which reads it, zeroes the slot when the block is in the log,
 *                      and frees it.  `used` in the block's header says how much was reserved for events, some of which
 *                      may still be pending, also at the end, where a signal handler interrupted one.  Under
 *                      RegionPolicyOVERWRITE the collector marks the block first (RegionTAKEN), lest the process use it
 *                      again meanwhile, and takes a block that has a ticket only if it is asked to.
 *   RegionERASED       a thread of the process erases the block, and frees the slot or makes a new block there
 *   RegionOVERWRITTEN  the same, but the thread first counts the block, which goes because only the newest are kept; if
 *                      it dies meanwhile, whoever comes next finishes that (RegionForget)
 * If there is no collector, or it has died, the process's threads write the full blocks to the log.
 *
 * Always true, whatever process died at any moment, unless the program has written over it: a slot whose state has a
 * size has a block with a sound header.  Whoever makes a header sets the size afterwards; whoever erases one takes the
 * size away before.  A sound header also tells what the state should be, so that a state can be mended that was written
 * over.
 *
 * Design: design/format.md .region, design/collector.md .hand      Tests: test/recover/death.t, test/collect/collect.t
 */
#ifndef FORMAT_REGION_H
#define FORMAT_REGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"
#include "format/block.h"

#define RegionMAGIC "\x8fPAWreg\n"

enum {
  RegionCONTROL = 65536,          /* where the control table lies, in the file */
  RegionControlSIZE = 65536,
  RegionTEXT = 131072,            /* where the texts of the header block lie */
  RegionTextSIZE = 262144,        /* of each of the two */
  RegionFIRST = 1 << 20,          /* where the slots begin; what is not touched is not there: sparse */
  RegionSlotSIZE = 2 * BlockMAX,
  RegionSlotsMAX = 4096,
  RegionPathMAX = 1024
};

/* The state of a slot is the log2 of its block's size, and: */
enum {
  RegionFREE = 0,
  RegionOPEN = 0x20,
  RegionFULL = 0x40,
  RegionTAKEN = 0x80,             /* beside RegionFULL: by the collector, which reads it */
  RegionERASED = 0xa0,            /* there is no block: neither RegionFULL nor a size is beside it */
  RegionOVERWRITTEN = 0xa1,       /* nor are they beside this */
  RegionLog2MASK = 0x1f
};

/* What happens to events when as many blocks are full as may wait for the collector. */
enum {
  RegionPolicyDISCARD,            /* events are discarded, and counted in the block that is full */
  RegionPolicyBLOCK,              /* the thread waits, as long as there is a collector that lives */
  RegionPolicySTOP,               /* recording ends; `stopped` says when */
  RegionPolicyOVERWRITE           /* the oldest full block of a frequent kind is used again; these are not drained */
};

/* The collector of the region, in `collector`: a futex of the kernel's robust list, so that the kernel marks the
 * collector's death, whatever it died of.  The program may have written over it.  So other processes learn whether a
 * collector lives by another lock: a read lock of fcntl (F_OFD_SETLK) on all of the file, which the collector holds as
 * long as it has the file open. */
enum {
  RegionCollectorNONE = 0,             /* the writer sends itself */
  RegionCollectorTID = 0x3fffffff,     /* else: the collector's thread, in its own numbering, */
  RegionCollectorDIED = 0x40000000     /* and whether that has died (FUTEX_OWNER_DIED) */
};
#define RegionCollectorLEAVES 0x80000000u /* beside its thread: it is about to leave the region; until then nothing is
                                             overwritten, so that what it takes has no hole */

/* What other processes ask of this one, in `attention`, a mask.  Whoever sets a bit there sets the attention bit of the
 * control table afterwards; the process clears the bit when it has done it. */
enum {
  RegionAskFLUSH = 1,             /* write what the buffers hold, if there is no collector */
  RegionAskSTATE = 2,             /* emit a state dump first */
  RegionAskHEADER = 4             /* write the header block again: the text here is none */
};

/* The control table at RegionCONTROL: words as wide as the writer's.  In word 0 a bit for each kind says that it is
 * sent, and one RegionControlBUFFER higher that it is buffered; in word RegionControlATTENTION a bit has the next event
 * look at `attention`. */
enum {
  RegionControlBUFFER = 16,
  RegionControlSENT = (1 << RegionControlBUFFER) - 1, /* the bits that say what is sent */
  RegionControlATTENTION = 1,
  RegionControlATTEND = 2
};

/* When kinds were switched off, if they are not known to be on again: at RegionOFF, in the page of the control table,
 * for each kind CLOCK_MONOTONIC in ns, or 0.  Whoever switches a kind off sets it afterwards, unless it is set already;
 * the process clears it when it tells that the kind is on again (KindsOn). */
enum { RegionOFF = RegionCONTROL + 1024 };

/* RegionOff -- that time of `kind`, in a control table */
static inline uint64_t *RegionOff(void *table, unsigned kind)
{
  return (uint64_t *)(void *)((char *)table + (RegionOFF - RegionCONTROL)) + kind;
}

/* RegionOffSay -- note that `kinds`, a mask, have been switched off, not before `now` */
static inline void RegionOffSay(void *table, uint32_t kinds, uint64_t now)
{
  unsigned kind;

  for (kind = 0; kind < RegionControlBUFFER; ++kind) {
    uint64_t none = 0;
    if ((kinds >> kind & 1) != 0)
      (void)__atomic_compare_exchange_n(RegionOff(table, kind), &none, now, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  }
}

/* RegionControlAt -- where in the file the 32 bits of the control table are whose lower half says which kinds are sent
 * word  bytes of a word of the process */
static inline Size RegionControlAt(unsigned word)
{
  static const uint32_t one = 1;

  return RegionCONTROL + (*(const unsigned char *)&one == 1 || word != 8 ? 0 : sizeof(uint32_t));
}

/* A block of private memory that is being written to the log.  If the process is killed meanwhile, the log tells
 * whether the events are lost. */
enum { RegionLEAVING = 64, RegionLeavingCLAIMED = 0xffff };

typedef struct RegionLeavingStruct {
  uint32_t stream;
  uint32_t count;                 /* of its events; 0: there is none; RegionLeavingCLAIMED: there will be */
  uint64_t sequence;
  uint64_t to;                    /* events of the stream up to its end; BlockBeforeUNKNOWN */
} RegionLeavingStruct, *RegionLeaving;

typedef struct RegionHeaderStruct {
  char magic[BlockMagicSIZE];
  uint32_t order;                 /* BlockORDER */
  uint32_t major;                 /* BlockMAJOR */
  uint32_t pid;                   /* as the writer sees itself */
  uint32_t slots;
  uint64_t identity;              /* of the process */
  uint64_t device, inode;         /* of the log; 0: another way out */
  uint32_t policy;                /* RegionPolicy... */
  uint32_t limit;                 /* so many blocks may be full */
  uint32_t blockSize;             /* of the largest block of a frequent kind that is sent */
  uint32_t raw;                   /* blocks go to the log unpacked */
  uint64_t lost;                  /* events of threads that could have no stream, or of streams that could have no
                                     block, or have one in private memory, where a count would end with the process */
  uint64_t stopped;               /* ticks when RegionPolicySTOP ended the recording; 0 */
  uint32_t chosen;                /* kinds that are sent as soon as recording starts: a mask */
  uint32_t frequent;              /* which of a thread's streams (BlockStreamPlace) RegionPolicyOVERWRITE overwrites: a
                                     mask */
  char log[RegionPathMAX];        /* the log that the blocks belong to, an absolute path; "" for another way out */
  uint64_t recording;             /* identity of the recording that they belong to; 0: unknown */
  uint64_t ending;                /* ticks when the process was about to end, or to execute another program; 0: not */

  /* The writer and the collector together; each line of the cache for one purpose. */
  struct {
    uint32_t collector;           /* see above */
    uint32_t word;                /* so that what follows is aligned */
    void *next;                   /* of the collector's robust list; nobody else's */
    uint32_t sleeping;            /* the collector wants to be woken when so many blocks are full (design/collector.md
                                     .wake); 0: it is awake */
    uint32_t attention;           /* RegionAsk... */
    uint32_t unwritten;           /* not 0: the process has no collector and has ended, and could not write all */
    uint32_t released;            /* not 0: the recording is over, and the collector has let the process go, alive */
  } hand __attribute__((aligned(64)));
  struct {
    uint32_t full;                /* blocks that are full now */
    uint32_t freed;               /* futex: counts blocks that became free, while `waiting` */
    uint32_t waiting;             /* threads that wait for one */
    uint32_t overwritten;         /* blocks that RegionPolicyOVERWRITE used again; RegionOverwrittenMOST: or more */
    uint64_t ticket;              /* counts tickets */
    uint64_t away;                /* events in private memory, for want of a slot, that are to be sent: lost if the
                                     process is killed.  Those that are being written are in `leaving`. */
    uint64_t reached;             /* bytes of the log when the collector last took something of the recording out of
                                     memory: a shorter log was cut; 0: unknown */
    uint64_t forgotten;           /* overwritten events of blocks in private memory; RegionForgotten has all */
    uint64_t forgottenTo;         /* ticks: none of these was later, nor any that slots count */
  } pool __attribute__((aligned(64)));
  struct {
    uint32_t generation;          /* of the header block; the newest, if any, is in text (generation & 1); the
                                     other text may be being written */
    uint32_t length[2];
    uint32_t lock;                /* the writer's own */
  } text __attribute__((aligned(64)));
  uint8_t state[RegionSlotsMAX] __attribute__((aligned(64)));   /* of each slot */
  RegionLeavingStruct leaving[RegionLEAVING] __attribute__((aligned(64)));
  uint64_t tickets[RegionSlotsMAX];   /* of each full slot: twice `ticket`, so in the order in which they may be
                                         overwritten, and one more if something may be pending; 0: it is not
                                         overwritten */
} RegionHeaderStruct, *RegionHeader;

_Static_assert(sizeof(RegionHeaderStruct) <= RegionCONTROL, "the control table is behind the header");
_Static_assert(RegionTEXT + 2 * RegionTextSIZE <= RegionFIRST, "the slots are behind the texts");

/* RegionSize -- bytes of a file of so many slots */
#define RegionSize(slots) (RegionFIRST + (Size)(slots) * RegionSlotSIZE)

/* RegionSlotsOf -- how many slots a region says that it has, but no more than any can have: the program may have
 * written over the number */
static inline Count RegionSlotsOf(RegionHeader header)
{
  Count slots = __atomic_load_n(&header->slots, __ATOMIC_RELAXED);

  return slots < RegionSlotsMAX ? slots : RegionSlotsMAX;
}

/* RegionBegin -- fill in the header of a new region, which is zero: what the region is, and whose blocks it is for
 * log  the log's absolute path, or "" */
extern void RegionBegin(RegionHeader header, uint32_t pid, Count slots, uint64_t identity, uint64_t recording,
                        const char *log);

/* RegionTextCopy -- copy the text of the header block of this generation, which the process may be writing over.
 * Returns how long it says that it is, RegionTextSIZE at most; 0: there is none.  `room` has RegionTextSIZE bytes. */
extern Size RegionTextCopy(void *room, RegionHeader header, uint32_t generation);

/* RegionHeaderSound -- is this the header of a region of our byte order and version, in a file of `size` bytes? */
extern Bool RegionHeaderSound(RegionHeader header, Size size);

/* The file of a region is called `pawprint-R-PID-N` in RegionFOLDER, or `LOG.region-R-PID-N` beside the log.  R is the
 * recording's identity in 16 hex digits.  Beside a region in RegionFOLDER is a symbolic link, `pawprint-R-PID-N.log`,
 * whose target is the absolute path of the log.  The maker of the region made it; it is read and never followed. */
#define RegionFOLDER "/dev/shm"
#define RegionPREFIX "pawprint-"
#define RegionBESIDE ".region-"
#define RegionLINK ".log"
#define RegionNAMELESS "pawprint-region" /* the name of a memfd, if no file can be made, */
#define RegionMEMFD "/memfd:" RegionNAMELESS /* and how maps show it */

enum { RegionNameMAX = sizeof RegionPREFIX + 16 + 1 + 10 + 1 + 10 }; /* bytes of a name in RegionFOLDER, NUL included */

typedef struct RegionNameStruct {
  uint64_t recording;
  uint32_t pid;                   /* as whoever made the region numbers the process */
  uint32_t number;                /* of its regions, from 0 */
  Size log;                       /* bytes of the name of the log that it lies beside; 0: it is in RegionFOLDER */
} RegionNameStruct, *RegionName;

/* RegionNameWrite -- append such a name to `text`, without a folder
 * log  the last part of the log's path; NULL: the region is in RegionFOLDER */
extern void RegionNameWrite(Text text, RegionName name, const char *log);

/* When a collector stands still, the processes of its recording leave symbolic links for it (handover/standstill.h).
 * One says that it stands still.  Others are notes for which its queue had no room, each in a place that has a number;
 * and one says that there are notes.  Their names are made as those of the links beside regions, with numbers that no
 * region has: so whoever removes links that have no region removes these, too.
 * RegionLeftWrite -- append the name of the link with this number to `text`, without a folder */
enum {
  RegionNoteNUMBER = 8192,        /* the first place of a note; */
  RegionNotesMAX = 1024,
  RegionMoreNUMBER = RegionNoteNUMBER + RegionNotesMAX, /* there were more notes than places */
  RegionNotesNUMBER,              /* there are notes: made after the note, and removed before notes are read */
  RegionStillNUMBER = 9999,
  RegionLeftMAX = RegionNameMAX + sizeof RegionLINK - 1 /* bytes, NUL included */
};
extern void RegionLeftWrite(Text text, uint64_t recording, unsigned number);

/* RegionNameParse -- take a name without a folder apart; FALSE: no region has such a name */
extern Bool RegionNameParse(RegionName nameReturn, const char *name);

/* RegionPathNamed -- is a path one that a region of the log at this path can have? */
extern Bool RegionPathNamed(const char *path, const char *log);

/* RegionNamed -- does a path end as those of regions do, or as maps show a region without a file?  It may be another
 * file all the same. */
extern Bool RegionNamed(const char *path);

/* RegionBlockAt -- where slot `i`'s block begins in the file, and its size; FALSE if there is none */
extern Bool RegionBlockAt(Size *offsetReturn, Size *sizeReturn, RegionHeader header, Index i);

/* RegionStateTold -- what the state of a slot should be, by the header of the block in it: the header of a block that
 * was handed over says how much of it is used.  So a state can be mended that the program has written over.
 *
 * end       the end of the slot, in memory
 * most      bytes before it that may be read
 * identity  of the process
 * returns   RegionFREE: there is no sound header of this process
 */
extern uint8_t RegionStateTold(const void *end, Size most, uint64_t identity);

/* RegionStateWrong -- does `state` contradict what RegionStateTold says?  The header of a full block may not say yet
 * that it is full.  RegionERASED and RegionOVERWRITTEN are never wrong: until the block is erased its header says what
 * it was. */
static inline Bool RegionStateWrong(uint8_t state, uint8_t told)
{
  return state != RegionERASED && state != RegionOVERWRITTEN && told != RegionFREE &&
         ((state & RegionLog2MASK) != (told & RegionLog2MASK) || (state & RegionFULL) < (told & RegionFULL) ||
          (state & (RegionFULL | RegionOPEN)) == 0);
}

/* RegionFilled -- is a block being filled?  The header of one that was handed over says how much is used, unless it is
 * empty. */
static inline Bool RegionFilled(const BlockHeaderStruct *block)
{
  return block->used == 0 && *(const uint64_t *)(const void *)(block + 1) != 0;
}

/* RegionOverwrites -- does the block belong to a stream of which RegionPolicyOVERWRITE keeps the newest?  Then what is
 * missing before it is no loss, and BlockFlagUNSENT says so in the log. */
static inline Bool RegionOverwrites(RegionHeader header, BlockHeader block)
{
  return header->policy == RegionPolicyOVERWRITE && (header->frequent >> BlockStreamPlace(block) & 1) != 0;
}

/* The header of a full block that may be overwritten says in memory what would go with it: `count` is the number of its
 * events, and `rest` how much later than `first` the last of them came, in units of 1 << RegionRestSHIFT ticks.  `size`
 * is how many of its events the collector has written to the log while the block was open.  `reserved2`, if not 0, is
 * the slot's count of overwritten events after this block was counted. */
enum { RegionRestSHIFT = 8 };

static inline uint32_t RegionRest(uint64_t first, uint64_t last)
{
  uint64_t rest = last <= first ? 0 : ((last - first) >> RegionRestSHIFT) + 1;

  return rest < UINT32_MAX ? (uint32_t)rest : UINT32_MAX;
}

/* For each slot, how many events of its blocks were overwritten is counted at RegionFORGOT, only by the thread that has
 * claimed the slot: so a single store counts a block, whatever other threads count meanwhile. */
enum { RegionFORGOT = RegionCONTROL + 16384, RegionForgotSIZE = RegionSlotsMAX * 8, RegionOverwrittenMOST = 1 << 30 };

_Static_assert((int)RegionFORGOT + (int)RegionForgotSIZE <= RegionTEXT, "the counts are behind the control table");

/* RegionForgot -- the count of a slot */
static inline uint64_t *RegionForgot(RegionHeader header, Index slot)
{
  return (uint64_t *)(void *)((char *)header + RegionFORGOT) + slot;
}

/* RegionForgotThen -- the count of a slot after the block in it was counted
 * forgot  the count now, at any moment of RegionForget */
static inline uint64_t RegionForgotThen(uint64_t forgot, const BlockHeaderStruct *block)
{
  uint32_t there = __atomic_load_n(&block->size, __ATOMIC_RELAXED), count = block->count;

  if (block->reserved2 != 0 && block->reserved2 == forgot)
    return forgot;
  count = count < BlockMAX / EventALIGN ? count : BlockMAX / EventALIGN;
  return forgot + (there < count ? count - there : 0);
}

/* RegionForgotLast -- none of the block's events was later */
static inline uint64_t RegionForgotLast(const BlockHeaderStruct *block)
{
  return block->first + ((uint64_t)block->rest << RegionRestSHIFT);
}

/* RegionForgetTo -- one block more is overwritten: no event of it was later than `last` */
static inline void RegionForgetTo(RegionHeader header, uint64_t last)
{
  uint64_t to = __atomic_load_n(&header->pool.forgottenTo, __ATOMIC_RELAXED);

  if (__atomic_load_n(&header->pool.overwritten, __ATOMIC_RELAXED) < RegionOverwrittenMOST)
    (void)__atomic_fetch_add(&header->pool.overwritten, 1, __ATOMIC_RELAXED);
  while (last > to && !__atomic_compare_exchange_n(&header->pool.forgottenTo, &to, last, FALSE, __ATOMIC_RELAXED,
                                                   __ATOMIC_RELAXED))
    ;
}

/* RegionForget -- count the block in a slot that is RegionOVERWRITTEN.  If the thread dies meanwhile, another may do
 * all of it again. */
static inline void RegionForget(RegionHeader header, Index slot, BlockHeader block)
{
  uint64_t *forgot = RegionForgot(header, slot), then = RegionForgotThen(*forgot, block);

  RegionForgetTo(header, RegionForgotLast(block));
  __atomic_store_n(&block->reserved2, then, __ATOMIC_RELEASE);
  __atomic_store_n(forgot, then, __ATOMIC_RELEASE);
}

/* RegionForgetBegun -- the block in a slot whose thread died while it overwrote the block; NULL: there is none
 * end  the end of the slot, in memory: BlockMAX bytes before it may be read */
extern BlockHeader RegionForgetBegun(RegionHeader header, Index slot, void *end);

/* RegionForgotCan -- `events`, if so many can have been overwritten; else the program has written over a count: 0 */
static inline uint64_t RegionForgotCan(RegionHeader header, uint64_t events)
{
  uint64_t blocks = __atomic_load_n(&header->pool.overwritten, __ATOMIC_RELAXED);

  return header->policy == RegionPolicyOVERWRITE &&
         (blocks >= RegionOverwrittenMOST || events <= blocks * (BlockMAX / EventALIGN)) ? events : 0;
}

/* RegionForgotten -- how many events were overwritten that the log does not have; 0 if a count cannot be */
extern uint64_t RegionForgotten(RegionHeader header);

/* RegionCollected -- does the region have a living collector, as far as its word says?  One load. */
static inline Bool RegionCollected(RegionHeader header)
{
  uint32_t collector = __atomic_load_n(&header->hand.collector, __ATOMIC_ACQUIRE);

  return collector != RegionCollectorNONE && (collector & RegionCollectorDIED) == 0;
}

/* RegionKeeps -- is the oldest block to make room for the newest?  Not while the collector takes all blocks: what goes
 * out then has no hole. */
static inline Bool RegionKeeps(RegionHeader header)
{
  return header->policy == RegionPolicyOVERWRITE && RegionCollected(header) &&
         (__atomic_load_n(&header->hand.collector, __ATOMIC_ACQUIRE) & RegionCollectorLEAVES) == 0;
}

/* Children of fork keep the page of the control table mapped, and so may a program that is executed.  If such a process
 * can neither send events nor leave them in a region, it counts them as lost in the 8 bytes at RegionLEDGER, until the
 * process whose region this is has ended (RegionLedgerCLOSED). */
enum { RegionLEDGER = RegionCONTROL + 2048 };
#define RegionLedgerCLOSED ((uint64_t)1 << 63)

/* RegionCounted -- how many events are counted there */
static inline uint64_t RegionCounted(RegionHeader header)
{
  return __atomic_load_n((uint64_t *)(void *)((char *)header + RegionLEDGER), __ATOMIC_RELAXED) & ~RegionLedgerCLOSED;
}

/* RegionLedgerClose -- the process ends: add what its children have counted to its own `lost` */
static inline void RegionLedgerClose(RegionHeader header)
{
  uint64_t *ledger = (uint64_t *)(void *)((char *)header + RegionLEDGER);
  uint64_t lost = __atomic_exchange_n(ledger, RegionLedgerCLOSED, __ATOMIC_ACQ_REL);

  (void)__atomic_fetch_add(&header->lost, CountAdd(0, lost & ~RegionLedgerCLOSED), __ATOMIC_RELAXED);
}

/* RegionLost -- events of a dead process that are in no block */
static inline uint64_t RegionLost(RegionHeader header)
{
  uint64_t away = __atomic_load_n(&header->pool.away, __ATOMIC_RELAXED);

  /* A block that was given up may have arrived all the same: then the number away is below zero. */
  return CountAdd(CountAdd(0, __atomic_load_n(&header->lost, __ATOMIC_RELAXED)), away <= INT64_MAX ? away : 0);
}

/* RegionMiscounts -- has the program written over one of the counts that RegionLost adds up, as far as can be seen? */
static inline Bool RegionMiscounts(RegionHeader header)
{
  uint64_t away = __atomic_load_n(&header->pool.away, __ATOMIC_RELAXED);

  return __atomic_load_n(&header->lost, __ATOMIC_RELAXED) > CountMAX || (away <= INT64_MAX && away > CountMAX);
}

/* The one environment variable by which a recorder tells the processes of a family what is wanted: settings
 * (base/settings.h), whose names and meanings are in emit/controlenv.c. */
#define RegionVARIABLE "PAWPRINT_RECORDING"

/* A note to the collector (RegionMeetStruct.note): the sender is about to execute a program (EXEC), could not (STAYS),
 * or has started one as process `child` (START); it ends with `lost` events that no log counts (LOST); or of the
 * library `program`: it comes before ours in the process and has a malloc (BEFORE), it is opened with RTLD_DEEPBIND and
 * does not get malloc from us (DEEP), or it would be, and is opened without (SHALLOW). */
enum {
  RegionNoteNONE, RegionNoteEXEC, RegionNoteSTAYS, RegionNoteSTART, RegionNoteLOST, RegionNoteBEFORE, RegionNoteDEEP,
  RegionNoteSHALLOW
};

/* What the environment that a program is given lacks (RegionMeetStruct.lack): with RegionLackCOLLECTOR it names another
 * collector, whose recording is inside ours; with RegionLackOTHERS, which comes with RegionLackLIBRARY, it has
 * LD_PRELOAD without our library. */
enum { RegionLackLIBRARY = 1, RegionLackRECORDING = 2, RegionLackCOLLECTOR = 4, RegionLackOTHERS = 8 };

/* The meeting of a process and its collector: one datagram to the abstract UNIX socket that the setting `collector`
 * names ("NAME:TOKEN"), with one end of a socket pair (SOCK_SEQPACKET) beside it, and an answer on that.  The collector
 * makes the region; so nothing that the process says names a file. */
enum { RegionTokenMAX = 64, RegionCommMAX = 16, RegionMeetVERSION = 4 };

typedef struct RegionMeetStruct {
  char magic[BlockMagicSIZE];     /* RegionMAGIC; with pid 0: no meeting, but a note, or only a call to wake up */
  uint32_t version;               /* RegionMeetVERSION */
  uint32_t pid;                   /* as the sender sees itself */
  uint64_t identity;              /* of the process */
  uint32_t slots;                 /* at most so many: it cannot map more */
  uint32_t policy;                /* RegionPolicy... */
  uint32_t limit;                 /* so many blocks may be full */
  uint32_t note;                  /* RegionNote... */
  uint32_t lack;                  /* a mask of RegionLack... */
  uint32_t self, child;           /* of a note: the sender, and what it has started, as the sender numbers them */
  uint32_t called;                /* `program` is the name by which it was called, not yet the path of a file */
  uint64_t lost;                  /* of a note: events */
  uint64_t stack;                 /* where the program's stack begins, by which images are told apart; 0: unknown */
  char name[RegionCommMAX];       /* that the system has for the process */
  char program[RegionPathMAX];    /* that it runs, or is about to run; "" if unknown */
  char token[RegionTokenMAX];     /* that the setting gave */
} RegionMeetStruct, *RegionMeet;

/* A note may also be left in the file system, as the target of a symbolic link.  The target is a text that has the
 * fields note, lack, self and identity, and the program.
 * RegionNotePut -- make that text, and put it into note->program in place of the program; FALSE: it is too long
 * RegionNoteTake -- read such a text into a note; FALSE: `text` is none, or is too long */
extern Bool RegionNotePut(RegionMeet note);
extern Bool RegionNoteTake(RegionMeet noteReturn, const char *text);

/* The answer.  Descriptors beside it, in this order: the region, locked, and the lock is the process's from then on;
 * the same file without the lock, for its control table; if the log is a file, that, for appending.  With `slots` 0
 * there are none: the collector takes no more processes. */
typedef struct RegionGrantStruct {
  char magic[BlockMagicSIZE];     /* RegionMAGIC */
  uint32_t version;               /* RegionMeetVERSION */
  uint32_t slots;                 /* of the region */
  uint64_t recording;             /* identity of the recording */
  uint32_t quiet;                 /* nothing of the process is wanted: it begins with everything off */
  uint32_t reserved;
  char path[RegionPathMAX];       /* of the region, as the collector sees it; "" if it has none (memfd) */
  char program[RegionPathMAX];    /* which file the process runs, if it has only said how it was called; else "" */
} RegionGrantStruct, *RegionGrant;

enum { RegionGrantLOCKED, RegionGrantCONTROL, RegionGrantLOG, RegionGrantMAX };

/* RegionAsk -- ask the process for RegionAskX, which it does with its next event; does not wait */
static inline void RegionAsk(RegionHeader region, uint32_t what)
{
  Word *table = (Word *)(void *)((char *)region + RegionCONTROL);

  (void)__atomic_fetch_or(&region->hand.attention, what, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_or(&table[RegionControlATTENTION], (Word)RegionControlATTEND, __ATOMIC_SEQ_CST);
}

#endif /* FORMAT_REGION_H */
