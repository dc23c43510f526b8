/* header.h -- the header block: what a log says of a process, as text
 *
 * HeaderMAGIC, one line of fixed form with version, length and checksum, then lines `key: value` in any order, as
 * design/format.md lists them.  A reader leaves lines alone whose key it does not know.
 *
 * Design: design/format.md .header      Tests: test/format/formattest.c
 */
#ifndef FORMAT_HEADER_H
#define FORMAT_HEADER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/sync.h"
#include "base/text.h"
#include "base/types.h"
#include "format/registry.h"

enum {
  HeaderMAX = 1 << 20,     /* bytes of a header block; one that claims more is damaged */
  HeaderLineSIZE = 52,     /* bytes of the first line, behind the magic, newline included */
  HeaderSyncsMAX = 2,      /* the first and the newest relation of ticks to time */
  HeaderArgumentsMAX = 64, /* that are kept; more are counted */
  HeaderTextMAX = 256,     /* bytes of a path, program or argument that are kept */
  HeaderRoleSIZE = 16,
  HeaderEventsSIZE = 192
};

#define HeaderDROPPED "dropped: " /* the key of a line that is added to a header block when the log is cut down */

/* The role of the collector, which is no recorded program: it tells what it sees of programs from outside. */
#define HeaderRoleCOLLECTOR "collector"

/* What was cut away from a log on purpose, to keep it small: whole blocks, the oldest. */
typedef struct DroppedStruct {
  uint64_t blocks, events;
  uint64_t ticks;                  /* no event of those blocks is later */
  Bool marked;                     /* the line was there: something was cut away, even if only header blocks */
} DroppedStruct, *Dropped;

/* The name of a registry: what its lines are.  A header block may name lines that another one of the same log has. */
typedef struct RegistryNameStruct {
  uint64_t length;                 /* bytes; 0: none is named */
  uint32_t crc;                    /* CRC-32C of them */
} RegistryNameStruct, *RegistryName;

/* What a process had sent of one stream when its part of the log ended. */
typedef struct HeaderStreamStruct {
  uint32_t stream;
  uint64_t blocks;                 /* the number of the stream's next block: all blocks below it were sent */
  uint64_t events;                 /* in those blocks; HeaderEventsUNKNOWN: nobody has counted them */
  uint64_t discarded;              /* events that found no room */
} HeaderStreamStruct, *HeaderStream;

#define HeaderEventsUNKNOWN UINT64_MAX

/* The parent of a process that is a child by fork. */
typedef struct HeaderForkStruct {
  uint64_t identity;               /* of the parent; 0: the process is no such child */
  uint32_t thread;                 /* the parent's thread that forked, as the system numbers it; 0: unknown */
  uint64_t before, after;          /* ticks between which it forked */
} HeaderForkStruct, *HeaderFork;

/* Which kinds of events a process sends: masks with a bit for each kind's number. */
typedef struct HeaderSentStruct {
  uint64_t ticks;                  /* when it began to be recorded; 0: nothing is said of kinds */
  uint32_t first, now;             /* the kinds then, and when the header block was written */
} HeaderSentStruct, *HeaderSent;

typedef struct HeaderStruct {
  unsigned major, median, minor;
  uint32_t pid, parent;            /* as the recorder numbers the process, if that is known; `parent` as it does */
  uint32_t inner;                  /* as the process numbers itself, in a namespace of its own; 0: as `pid` */
  uint64_t identity;               /* of the process, and of its registry: random */
  uint64_t recording;              /* identity of the recording that the process belongs to: random; 0: unknown */
  uint64_t copy;                   /* identity of the log, if it was written from others; 0: it was recorded */
  HeaderForkStruct forked;
  WidthsStruct widths;
  char clock[16];                  /* SyncCOUNTER, "monotonic", ... */
  uint64_t frequency;              /* ticks a second, as the writer estimates; syncs far apart are better */
  char boot[40];                   /* identity of the machine's boot: equal means one clock; "": unknown */
  Count syncs;
  SyncStruct sync[HeaderSyncsMAX];
  uint64_t lost;                   /* events that no block counts: no room for a stream, or the log lacks the block */
  DroppedStruct dropped;
  uint32_t open;                   /* not 0: a closing header block of the process comes later in the log */
  uint64_t lacks;                  /* not 0: the log that this one was written from lacked so many events, or more */
  uint32_t alone;                  /* not 0: the process's collector has died, and the process goes on without */
  uint64_t begun;                  /* ticks when the log was opened, if the process ran before; 0: it did not */
  HeaderSentStruct sent;
  uint64_t older;                  /* so many events, or more, were overwritten; 0: none, or the blocks tell */
  uint64_t kept;                   /* with `older`: ticks from which on all events are there */
  uint64_t forgotten;              /* events overwritten before this was written; 0: none, or the blocks tell */
  uint64_t forgottenTo;            /* with `forgotten`: none of them was later than these ticks */
  uint64_t stopped;                /* a collector's: ticks when the recording was ended while programs went on;
                                      a program's: ticks when it ended for want of a block; 0: neither */
  uint64_t processes;              /* processes of the recording, or the copy, with a header block, without collectors;
                                      0: nobody has counted them */
  Bool ended;                      /* this is a closing header block: the process's part of the log ends here */
  uint64_t streams;                /* with `ended`: streams that have sent a block, in all closing header blocks */
  uint64_t gone;                   /* ticks when the process had ended, or was about to; 0: not, or unknown */
  char role[HeaderRoleSIZE];       /* "" for a recorded program */
  char events[HeaderEventsSIZE];   /* types of events that were chosen by name, for people; "": nothing is said of it */
  RegistryNameStruct registry;     /* of lines that belong before its own */
  char program[HeaderTextMAX];     /* path; "": unknown */
  char region[HeaderTextMAX];      /* path of its region while it lives; "": it has none */
  uint32_t named;                  /* not 0: the first argument, which may look like a title that the program gave
                                      itself, has the name with which it was executed */
  Count arguments;                 /* how many it was given */
  char argument[HeaderArgumentsMAX][HeaderTextMAX]; /* the first ones, each cut to its room; at the end
                                      because most of this is never touched */
} HeaderStruct, *Header;

/* HeaderForgotten -- note how many events were overwritten, as a region says; the program may have written over that */
static inline void HeaderForgotten(Header header, uint64_t events, uint64_t to)
{
  if (events <= CountMAX && events > header->forgotten) {
    header->forgotten = events;
    header->forgottenTo = to;
  }
}

/* HeaderBegin, HeaderEnd -- write a header block into `text`
 *
 * HeaderBegin writes magic, first line and all lines for `header`; the caller then appends, in this order, lines of
 * HeaderStreamWrite and registry lines (and nothing else), and HeaderEnd fills in length and checksum.  If the text
 * overflowed the block is not sound: HeaderEnd returns ResLIMIT.  Async-signal safe.
 */
extern void HeaderBegin(Text text, Header header);
extern void HeaderStreamWrite(Text text, HeaderStream stream);
extern Res HeaderEnd(Text text);

/* HeaderSeal -- put the checksum into a header block of `length` bytes, which is whole but for that */
extern void HeaderSeal(char *bytes, Size length);

/* HeaderLength -- the length of the header block that `bytes` begin, from its first line
 * size     bytes that are there, at least BlockMagicSIZE + HeaderLineSIZE
 * returns  ResFORMAT: no header block; ResVERSION: another major, and *lengthReturn is set all the same;
 *          the checksum is not looked at */
extern Res HeaderLength(Size *lengthReturn, unsigned versionReturn[3], const void *bytes, Size size);

/* HeaderRead -- a whole header block of `length` bytes: checksum and lines
 *
 * Lines of the registry are left to the caller: they lie in [*bodyReturn, bytes + length), for RegistryText.
 * ResFORMAT: the checksum or a line is wrong; ResVERSION: another major.
 */
extern Res HeaderRead(Header headerReturn, const char **bodyReturn, const void *bytes, Size length);

/* HeaderOutside -- note the number that the recorder has for the process; 0: unknown */
extern void HeaderOutside(Header header, uint32_t pid);

/* HeaderLeader -- the number of the process as its blocks have it, which is that of its first thread */
static inline uint32_t HeaderLeader(const HeaderStruct *header)
{
  return header->inner != 0 ? header->inner : header->pid;
}

/* HeaderStreamNext -- the next `stream:` line, from *next on, which is the beginning of any line, and past it
 *
 * limit    the block's end
 * returns  FALSE: there is no other
 * HeaderRead has checked that each such line is well formed.  A stream may have several lines: the largest numbers
 * hold. */
extern Bool HeaderStreamNext(HeaderStream streamReturn, const char **next, const char *limit);

/* HeaderStreamJoin -- two lines of one stream become one.  A known number of events belongs to its number of blocks. */
extern void HeaderStreamJoin(HeaderStream to, const HeaderStreamStruct *from);

/* HeaderTypes -- where the lines of the registry begin, which stand last; from the beginning of any line.  `limit`: no
 * such line */
extern const char *HeaderTypes(const char *line, const char *limit);

/* RegistryNameOf, RegistryNameIs -- the name of a registry's lines; are they what a name says? */
extern RegistryNameStruct RegistryNameOf(const char *text, Size length);
extern Bool RegistryNameIs(const RegistryNameStruct *a, const RegistryNameStruct *b);

#endif /* FORMAT_HEADER_H */
