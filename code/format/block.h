/* block.h -- the bytes of an event and of a block of events
 *
 * A block is a header of BlockHeaderSIZE bytes and then, in memory, `used` bytes of events.  All of it is in the
 * writer's byte order; `order` tells which.  At rest the events may be packed (pack.h), and the block is as long as it
 * needs.
 *
 * An event is EventHeaderStruct and its parameters, packed, in the writer's widths; it begins at a multiple of
 * EventALIGN and takes its length rounded up to that.  A word of zeros where an event should begin is room that was
 * reserved and never filled.
 *
 * Always true of a block at rest (BlockHeaderRead refuses others):
 *   size >= BlockHeaderSIZE + rest;  used <= whole - BlockHeaderSIZE;  whole <= BlockMAX
 *   first <= last where the block is sealed
 *
 * Design: design/format.md .block      Tests: test/format/formattest.c
 */
#ifndef FORMAT_BLOCK_H
#define FORMAT_BLOCK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/types.h"

#define BlockMAGIC  "\x8fPAWblk\n" /* 8 bytes: an event block */
#define HeaderMAGIC "\x8fPAWhdr\n" /* 8 bytes: a header block (header.h) */

enum {
  BlockMagicSIZE = 8,
  BlockHeaderSIZE = 128,
  BlockMIN = 4096,         /* bytes of the smallest block in memory */
  BlockMAX = 65536,        /* and of the largest; both powers of two */
  BlockRestMAX = 2 * BlockMAX, /* bytes of a block at rest: packing may lose a little, never this much */
  BlockORDER = 0x01020304, /* as the writer stores it */
  BlockMAJOR = 1,          /* the version of the format: every registry's major */

  EventALIGN = 8,
  EventMaxStringLength = 1023, /* characters of an S, without its NUL; more is cut */
  EventSizeMAX = 2048,         /* bytes of an event */
  EventLengthCUT = 0x8000,     /* in `length`: the string was cut */

  EventPadCODE = 0x0001,   /* nothing; fills room that was reserved and given up */
  EventEpochCODE = 0x0002, /* its 8 bytes are the time in full: the epoch of the events behind it */
  EventCodeFIRST = 0x0100, /* registries' codes begin here */
  EventCodeDYNAMIC = 0x8000 /* types defined at run time begin here */
};

/* `before` where a block was handed over uncounted, and its collector has died */
#define BlockBeforeUNKNOWN UINT64_MAX

/* EventHeaderStruct -- the first 8 bytes of an event; code is stored last, and makes it committed */
typedef struct EventHeaderStruct {
  uint16_t code;
  uint16_t length; /* bytes, this header included, not rounded; EventLengthCUT may be set */
  uint32_t time;   /* the low 32 bits of the time in ticks; the high ones are the epoch's */
} EventHeaderStruct, *EventHeader;

#define EventSizeOfLength(length) ((((Size)(length) & 0x7fffu) + (EventALIGN - 1)) & ~(Size)(EventALIGN - 1))

/* EventCommit -- the event is whole */
static inline void EventCommit(EventHeader header, uint16_t code)
{
  __atomic_store_n(&header->code, code, __ATOMIC_RELEASE);
}

/* EventStringLength -- the characters of `string` that an event takes */
static inline Size EventStringLength(const char *string)
{
  /* Compilers that see a shorter array behind it warn of the bound; it ends in it all the same. */
  __asm__("" : "+r"(string));
  return strnlen(string, EventMaxStringLength);
}

/* EventStringCopy -- put `length` characters and a NUL in an event; mark it if the string goes on */
static inline void EventStringCopy(char *place, const char *string, Size length, EventHeader header)
{
  memcpy(place, string, length);
  place[length] = '\0';
  if (string[length] != '\0')
    __atomic_fetch_or(&header->length, EventLengthCUT, __ATOMIC_RELAXED);
}

/* What `flags` may say. */
enum {
  BlockFlagSEALED = 1,    /* the writer closed it: `last`, `mono`, `count` and the checksums are the writer's */
  BlockFlagPACKED = 2,    /* the events are packed */
  BlockFlagSNAPSHOT = 4,  /* sent before it was full; a longer one of the same stream and sequence may follow */
  BlockFlagRECOVERED = 8, /* taken from the memory of a dead process, by a reader or a recovery */
  BlockFlagUNSENT = 16,   /* of the flight recorder: earlier blocks of this stream were overwritten, not lost */
  BlockFlagCPU = 32,      /* cpuFirst and cpuLast are what the owner was on, as far as it came */
  BlockFlagSUMMED = 64,   /* in memory only: `last` and `mono` are BlockHeaderSum */
  BlockFlagBEHIND = 128   /* beside UNSENT: the block before it was written, too, not overwritten */
};

/* The flags that stand in an open block in its owner's memory, too. */
#define BlockFlagsOWNER (BlockFlagUNSENT | BlockFlagCPU)

enum { BlockCpuUNKNOWN = UINT16_MAX };

typedef struct BlockHeaderStruct {
  char magic[BlockMagicSIZE];
  uint32_t order;     /* BlockORDER */
  uint8_t major;      /* of the format: BlockMAJOR */
  uint8_t flags;
  uint8_t kind;
  uint8_t reserved0;
  uint32_t size;      /* bytes at rest from this header to what comes behind the block */
  uint32_t rest;      /* bytes of events at rest, behind the header */
  uint32_t whole;     /* bytes of the block in memory, header included */
  uint32_t used;      /* bytes of events in memory */
  uint32_t count;     /* events, those of the format (code < EventCodeFIRST) not counted */
  uint32_t pid;
  uint32_t thread;    /* as the system numbers it */
  uint16_t cpuFirst;  /* with BlockFlagCPU: the owner's processor when it opened the block, */
  uint16_t cpuLast;   /* and when it gave it up; until then that of the opening */
  uint64_t process;   /* the identity that the header block of its process has, too */
  uint32_t stream;    /* number of the stream in its process: the thread's serial number, from 1, * 32 + kind * 2 +
                         unsent */
  uint32_t reserved1;
  uint64_t sequence;  /* number of the block in its stream, from 0 */
  uint64_t before;    /* events in the stream's earlier blocks; or BlockBeforeUNKNOWN */
  uint64_t discarded; /* events of the stream discarded before this block was sealed */
  uint64_t first;     /* time of opening, ticks; no event is earlier; its high half is the first epoch */
  uint64_t last;      /* time of sealing, ticks; no event is later; in memory: BlockHeaderSum */
  uint64_t mono;      /* monotonic clock at sealing, ns; 0 if it was not sealed; in memory: BlockHeaderSum */
  uint64_t reserved2;
  uint32_t restCrc;   /* CRC-32C of the `rest` bytes */
  uint32_t headerCrc; /* CRC-32C of the 124 bytes before it */
} BlockHeaderStruct, *BlockHeader;

_Static_assert(sizeof(BlockHeaderStruct) == BlockHeaderSIZE, "the header block's layout is the format");
_Static_assert(sizeof(EventHeaderStruct) == EventALIGN, "an event's header is one word");

/* BlockStreamPlace -- which of its thread's streams a block belongs to: that of its kind, or one behind all kinds */
static inline unsigned BlockStreamPlace(BlockHeader header)
{
  return header->stream / 2 % 16;
}

/* BlockStreamUnsent -- is this the number of a flight recorder's stream?  Its events came while their kind was not
 * sent. */
static inline Bool BlockStreamUnsent(uint32_t stream)
{
  return (stream & 1) != 0;
}

/* BlockCpu -- the processor on which its events were emitted; BlockCpuUNKNOWN: several, or it is unknown */
static inline uint16_t BlockCpu(const BlockHeaderStruct *header)
{
  return (header->flags & BlockFlagCPU) != 0 && header->cpuFirst == header->cpuLast ? header->cpuFirst
                                                                                   : BlockCpuUNKNOWN;
}

/* BlockHeaderSeal -- compute headerCrc; every other field is the caller's */
extern void BlockHeaderSeal(BlockHeader header);

/* BlockSeal -- the block at rest: the rest of its header, and its events, packed if that makes them less
 *
 * header  `used`, and all that says nothing of the events at rest, is the caller's; not at `rest`
 * rest    where the events go: `packed` bytes are there that BlockPack has written; 0: none
 * events  `used` bytes, as they are in memory; at `rest` if they are to stay there
 */
extern void BlockSeal(BlockHeader header, void *rest, Size packed, const void *events);

/* BlockHeaderRead -- a header from outside, into our byte order
 *
 * bytes           BlockHeaderSIZE bytes, of any alignment
 * headerReturn    the header, in our order; `order` is BlockORDER
 * swappedReturn   whether the writer's order is the other one, which its events are in, too
 * returns         ResFORMAT: no magic, a wrong checksum, or sizes or counts that cannot be; ResVERSION: sound, of
 *                 another major
 */
extern Res BlockHeaderRead(BlockHeader headerReturn, Bool *swappedReturn, const void *bytes);

/* BlockHeaderSum -- of the header of a block in memory, whose checksum is not computed yet: by that it is known whether
 * the program has written over it.  What readers of the log believe is in it, but for the magic, cpuLast and
 * BlockFlagSNAPSHOT.
 *
 * It stands in the header twice, as `mono` and as `last`, which get their own meaning when the block is sealed: what
 * changes while the block is in memory goes between the two, so that one of them is right whatever dies at any moment.
 * BlockSumPart is the part of it that those fields have. */
extern uint64_t BlockHeaderSum(const BlockHeaderStruct *header);

static inline uint64_t BlockSumPart(uint64_t used, uint64_t before, uint64_t discarded)
{
  return used * 0xd6e8feb86659fd93u + before * 0xa0761d6478bd642fu + discarded * 0xe7037ed1a0b428dbu;
}

/* BlockUnsealedIs -- is this the sound header of a block in memory, of our version and byte order?
 *
 * A header whose sum is wrong is not sound; who writes no sum (an older emitter) is believed.
 * bytes    BlockHeaderSIZE bytes, which may be written meanwhile
 * whole    bytes of the block, header included
 * process  whose block it must be; 0: any
 */
extern Bool BlockUnsealedIs(BlockHeader headerReturn, const void *bytes, Size whole, uint64_t process);

/* BlockSpoiled -- how many events go with a block in memory, of `size` bytes in all, whose header cannot be believed:
 * those that can still be counted, and one at least; 0: all is zero, so there is no block */
extern Count BlockSpoiled(void *block, Size size);

/* BlockMessageEvents -- how many events a message has that come with no other; 0 for a header block, and for a
 * snapshot: the whole block follows it.  Of our own, BlockHeaderSIZE bytes at least. */
extern uint64_t BlockMessageEvents(const void *message, Size size);

/* BlockTally -- what a walk over the events in memory found */
typedef struct BlockTallyStruct {
  Size used;     /* bytes up to the end of the last committed event */
  Count count;   /* committed events, those of the format not counted */
  Count pending; /* pieces of room that were reserved and not committed, before `used` */
  uint64_t last; /* the latest time of an event, ticks; `first` if there is none */
  Bool broken;   /* what ended it is no event: the program has written there, and lost one event at least */
} BlockTallyStruct, *BlockTally;

/* BlockWalk -- count what `size` bytes of events at `events` hold; in the writer's own memory (its order)
 *
 * Committed is what has a code; a length without a code, or zeros, is pending: skipped, and counted if something
 * committed follows.  With `settle`, pending room becomes pads, so that the block can be packed and read plainly; only
 * for blocks whose owner is done or dead.  An event whose length cannot be ends the walk.  `events` may be written
 * meanwhile by its owner. Times are taken to begin in the epoch of `first`.
 */
extern void BlockWalk(BlockTally tallyReturn, void *events, Size size, uint64_t first, Bool settle);

/* BlockChoose -- of settled events (BlockWalk), keep only those of types that are wanted, and no pads
 *
 * wanted  a bit for each code; and the type `always` is wanted in any case
 * used, count  of all; then of those that are left
 */
extern void BlockChoose(void *events, Size *used, Count *count, const uint8_t *wanted, uint16_t always);

/* BlockSealOpen -- make an open block a sound one, as it stands, not sealed by its writer
 *
 * header  in our byte order, with the settled events (BlockWalk) behind it
 * flag    BlockFlagRECOVERED: its process is dead; BlockFlagSNAPSHOT: it goes on, and that is a copy
 */
extern void BlockSealOpen(BlockHeader header, BlockTally tally, unsigned flag);

/* BlockSame -- is the block in memory, which its owner may be using, still the one with this header? */
extern Bool BlockSame(const void *block, const BlockHeaderStruct *header);

/* BlockCopyLive -- copy a block in memory that its owner may be filling: `size` bytes, aligned as events are, from low
 * to high, so that an event whose code is seen is seen whole.  FALSE: it is not the same block any more. */
extern Bool BlockCopyLive(void *copy, const void *block, Size size);

#endif /* FORMAT_BLOCK_H */
