/* region.h -- the memory in which a process's blocks lie, as another process finds it
 *
 * A file, in memory (tmpfs) where that can be had, mapped shared by the process that writes it, and by the collector
 * if there is one.  From its beginning: RegionHeaderStruct; at RegionCONTROL the table of what is recorded, which the
 * process has mapped over its EventKindControl; at RegionTEXT two places for its header block; from RegionFIRST on
 * `slots` places of RegionSlotSIZE bytes.  A place in use holds one block, of 1 << log2 bytes, at its end.  The writer
 * holds a lock (flock) on the file as long as it lives: the mapping keeps it, not a descriptor.
 *
 * Who may do what to a slot, by its state:
 *   RegionFREE    all of its memory is zero; the writer's threads take it (compare and swap)
 *   RegionOPEN    belongs to the thread that took it
 *   RegionFULL    `used` in the block's header says how much of it was reserved for events, which may still be pending,
 *                 also at its end: where a signal handler interrupted one.  The collector reads it, and when it is in
 *                 the log zeroes it, the magic first (without that it is nobody's), and frees it.
 *                 Under RegionPolicyOVERWRITE it says so first (RegionTAKEN): else the writer might use the block again
 *                 meanwhile.  What has a ticket it takes only if that is asked for.
 *   RegionTAKEN   alone, with no size: under RegionPolicyOVERWRITE a thread of the writer erases it, and frees it
 * Where there is no collector, or it has died, the writer's threads send what is full, too.
 *
 * Design: design/format.md .region, design/collector.md .hand      Tests: test/deathtest.t, test/collect.t
 */
#ifndef FORMAT_REGION_H
#define FORMAT_REGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

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
  RegionTAKEN = 0x80,             /* beside RegionFULL: by the collector, which reads it; alone: nobody's block */
  RegionLog2MASK = 0x1f
};

/* What happens when as many blocks as may wait are full. */
enum {
  RegionPolicyDISCARD,            /* events are discarded, and counted in the block that is full */
  RegionPolicyBLOCK,              /* the thread waits, as long as there is a collector that lives */
  RegionPolicySTOP,               /* nothing is sent from then on; `stopped` says when */
  RegionPolicyOVERWRITE           /* the oldest full block of a frequent kind is used again; nobody drains those */
};

/* Who drains the region, in `collector`: a futex of the kernel's robust list, so that the kernel itself marks the
 * collector's death, whatever it died of. */
enum {
  RegionCollectorNONE = 0,             /* the writer sends itself */
  RegionCollectorOFFERED = 0x3fffffff, /* the writer has offered it, nobody has taken it yet */
  RegionCollectorTID = 0x3fffffff,     /* else: the collector's thread, in its own numbering, */
  RegionCollectorDIED = 0x40000000     /* and whether that has died (FUTEX_OWNER_DIED) */
};

/* What others ask of the process, in `attention` (a bit set; the process clears what it has done).  Whoever sets one
 * sets the attention bit of the control table afterwards. */
enum {
  RegionAskFLUSH = 1,             /* send what the buffers hold: where there is no collector */
  RegionAskSTATE = 2              /* tell first what already is */
};

/* The control table at RegionCONTROL: words as wide as the writer's.  In word 0 a bit for each kind says that it is
 * sent, and one RegionControlBUFFER higher that it is buffered; in word RegionControlATTENTION a bit has the next event
 * look at `attention`. */
enum {
  RegionControlBUFFER = 16,
  RegionControlATTENTION = 1,
  RegionControlATTEND = 2
};

typedef struct RegionHeaderStruct {
  char magic[BlockMagicSIZE];
  uint32_t order;                 /* BlockORDER */
  uint32_t major;                 /* BlockMAJOR */
  uint32_t pid;                   /* as the writer sees itself */
  uint32_t slots;
  uint64_t identity;              /* of the process */
  uint64_t device, inode;         /* of the log; 0: another way out */
  uint32_t policy;                /* RegionPolicy... */
  uint32_t limit;                 /* so many blocks may be full; those that are being filled are not counted */
  uint32_t blockSize;             /* of the largest block of a frequent kind that is sent */
  uint32_t raw;                   /* blocks go to the log unpacked */
  uint64_t lost;                  /* events of threads that could have no stream, or of streams that could have no
                                     block */
  uint64_t stopped;               /* ticks when RegionPolicySTOP ended the recording; 0 */
  uint32_t chosen;                /* kinds that are sent as soon as recording starts: a mask */
  uint32_t frequent;              /* which of a thread's streams (BlockStreamPlace) RegionPolicyOVERWRITE overwrites: a
                                     mask */
  char log[RegionPathMAX];        /* the log that the blocks belong to, an absolute path; "" for another way out */

  /* The writer and the collector together; each line of the cache for one purpose. */
  struct {
    uint32_t collector;           /* see above */
    uint32_t word;                /* so that what follows is aligned */
    void *next;                   /* of the collector's robust list; nobody else's */
    uint32_t sleeping;            /* the collector wants to be woken (design/collector.md .wake) */
    uint32_t attention;           /* RegionAsk... */
  } hand __attribute__((aligned(64)));
  struct {
    uint32_t full;                /* blocks that are full now */
    uint32_t freed;               /* futex: counts blocks that became free, while `waiting` */
    uint32_t waiting;             /* threads that wait for one */
    uint32_t overwritten;         /* blocks that RegionPolicyOVERWRITE used again */
    uint64_t ticket;              /* counts tickets */
  } pool __attribute__((aligned(64)));
  struct {
    uint32_t generation;          /* counts header blocks; the newest, if any, is in text (generation & 1); the other
                                     one is being written, perhaps */
    uint32_t length[2];
    uint32_t lock;                /* the writer's own */
  } text __attribute__((aligned(64)));
  uint8_t state[RegionSlotsMAX] __attribute__((aligned(64)));   /* of each slot */
  uint64_t tickets[RegionSlotsMAX];   /* of each full slot: twice `ticket`, so in the order in which they may be
                                         overwritten, and one more if something may be pending; 0: it is not
                                         overwritten */
} RegionHeaderStruct, *RegionHeader;

_Static_assert(sizeof(RegionHeaderStruct) <= RegionCONTROL, "the control table is behind the header");
_Static_assert(RegionTEXT + 2 * RegionTextSIZE <= RegionFIRST, "the slots are behind the texts");

/* RegionSize -- bytes of a file of so many slots */
#define RegionSize(slots) (RegionFIRST + (Size)(slots) * RegionSlotSIZE)

/* RegionHeaderSound -- is this the beginning of a region of our own byte order and version, `size` bytes long? */
extern Bool RegionHeaderSound(RegionHeader header, Size size);

/* RegionNamed -- is a file with this path called as regions are?  It may be something else all the same. */
extern Bool RegionNamed(const char *path);

/* RegionBlockAt -- where slot `i`'s block begins in the file, and its size; FALSE if there is none */
extern Bool RegionBlockAt(Size *offsetReturn, Size *sizeReturn, RegionHeader header, Index i);

/* RegionOverwrites -- is the block of a stream of which RegionPolicyOVERWRITE keeps the newest?  Then what is missing
 * before it is no loss, which BlockFlagUNSENT tells. */
static inline Bool RegionOverwrites(RegionHeader header, BlockHeader block)
{
  return header->policy == RegionPolicyOVERWRITE && (header->frequent >> BlockStreamPlace(block) & 1) != 0;
}

/* RegionCollected -- is a collector there, or offered the region, as far as is known?  One load. */
static inline Bool RegionCollected(RegionHeader header)
{
  uint32_t collector = __atomic_load_n(&header->hand.collector, __ATOMIC_ACQUIRE);

  return collector != RegionCollectorNONE && (collector & RegionCollectorDIED) == 0;
}

/* The offer: one datagram to the abstract UNIX socket that PAWPRINT_COLLECTOR names ("NAME TOKEN"), with the region's
 * descriptor beside it.  The collector opens the file anew by /proc/self/fd, so that the lock stays the writer's. */
enum { RegionTokenMAX = 64, RegionOfferVERSION = 1 };

typedef struct RegionOfferStruct {
  char magic[BlockMagicSIZE];     /* RegionMAGIC; with pid 0: no offer, only a call to wake up; or, with a path, a note
                                     that the sender is about to run that program, or to start it */
  uint32_t version;               /* RegionOfferVERSION */
  uint32_t pid;
  uint64_t identity;
  char path[RegionPathMAX];       /* of the file, as the writer sees it; "" if it has none (memfd) */
  char token[RegionTokenMAX];     /* that PAWPRINT_COLLECTOR gave */
} RegionOfferStruct, *RegionOffer;

#endif /* FORMAT_REGION_H */
