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
  HeaderEventsSIZE = 192   /* of which events were chosen */
};

#define HeaderDROPPED "dropped: " /* the key of a line that is added to a header block when the log is cut down */

/* The role of a process that is no recorded program: it tells what it sees of them from outside. */
#define HeaderRoleCOLLECTOR "collector"

/* What was cut away from a log on purpose, so that it stays small: whole blocks, the oldest. */
typedef struct DroppedStruct {
  uint64_t blocks, events;
  uint64_t ticks;                  /* no event of those blocks is later */
  Bool marked;                     /* something was, if only header blocks: in what is read */
} DroppedStruct, *Dropped;

/* A registry by what its lines are: a header block may name one that stands in another of the same log. */
typedef struct RegistryNameStruct {
  uint64_t length;                 /* bytes; 0: none is named */
  uint64_t crc;                    /* CRC-32C of them */
} RegistryNameStruct, *RegistryName;

/* What a process had sent of one stream when its part of the log ended. */
typedef struct HeaderStreamStruct {
  uint32_t stream;
  uint64_t blocks;                 /* the number of the stream's next block: all below it were sent */
  uint64_t events;                 /* in those blocks; HeaderEventsUNKNOWN if nobody counted them */
  uint64_t discarded;              /* events that found no room */
} HeaderStreamStruct, *HeaderStream;

#define HeaderEventsUNKNOWN UINT64_MAX

/* Whose child by fork a process is.  Ticks: it was made between the two. */
typedef struct HeaderForkStruct {
  uint64_t identity;               /* of its parent; 0: it is none */
  uint32_t thread;                 /* the parent's thread that forked, as the system numbers it; 0: not known */
  uint64_t before, after;
} HeaderForkStruct, *HeaderFork;

/* Which kinds a process sends, a bit for each kind's number: when it began to be recorded, and when the block was written. */
typedef struct HeaderSentStruct {
  uint64_t ticks;                  /* when it began; 0: nothing is said of kinds */
  uint32_t first, now;
} HeaderSentStruct, *HeaderSent;

typedef struct HeaderStruct {
  unsigned major, median, minor;
  uint32_t pid, parent;            /* as who records it numbers it, if that is known; `parent` as it does itself */
  uint32_t inner;                  /* as the process numbers itself, in a namespace of its own; 0: as `pid` */
  uint64_t identity;               /* of the process, and of the registry that it has: random */
  uint64_t recording;              /* identity of the recording that the process belongs to: random; 0 if unknown */
  uint64_t copy;                   /* where there is none: that of a log which was written from others; 0: it was not */
  HeaderForkStruct forked;
  WidthsStruct widths;
  char clock[16];                  /* SyncCOUNTER, "monotonic", ... */
  uint64_t frequency;              /* ticks a second, as the writer estimates; syncs far apart are better */
  char boot[40];                   /* identity of the system's run: equal means one clock; "" if unknown */
  Count syncs;
  SyncStruct sync[HeaderSyncsMAX];
  uint64_t lost;                   /* events that no block could count: no room for a stream; or that none of this log counts */
  DroppedStruct dropped;           /* cut away from the log on purpose */
  uint32_t open;                   /* not 0: a closing header block of the process comes later in the log */
  uint64_t lacks;                  /* not 0: the log that this one was written from lacked so many events, or more */
  uint32_t alone;                  /* not 0: its collector has died, and it goes on without */
  uint64_t begun;                  /* ticks when the log was opened, where the process ran before; 0: from its start */
  HeaderSentStruct sent;
  uint64_t older, kept;            /* so many events, or more, were overwritten; from these ticks on all are there.  0: none, or
                                      the blocks tell */
  uint64_t forgotten, forgottenTo; /* so many events were overwritten when this was written, none after these ticks;
                                      0: none, or the blocks tell */
  uint64_t stopped;                /* ticks when the recording was ended on purpose, and programs went on, in a collector's;
                                      in a program's: when its own ended, for want of a block.  0: it was not */
  uint64_t processes;              /* so many of the recording, or the copy, had a header block, besides collectors;
                                      0: nobody says */
  Bool ended;                      /* the process's part of the log ends here */
  uint64_t streams;                /* if so: how many streams have sent a block, in all closing header blocks */
  uint64_t gone;                   /* ticks when the process had ended, or was about to; 0: it has not, or nobody knows */
  char role[HeaderRoleSIZE];       /* "" for a recorded program */
  char events[HeaderEventsSIZE];   /* types of events that were chosen by name, for people; "": nothing is said of that */
  RegistryNameStruct registry;     /* whose lines come before its own */
  char program[HeaderTextMAX];     /* path; "" if unknown */
  char region[HeaderTextMAX];      /* where the open blocks are while it lives; "" if nowhere */
  Count arguments;                 /* how many it was given */
  char argument[HeaderArgumentsMAX][HeaderTextMAX]; /* the first, terminated, each cut to its room; last, because they
                                      are mostly not there */
} HeaderStruct, *Header;

/* HeaderForgotten -- a region says that so many events were overwritten; the program may have written over that */
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

/* HeaderOutside -- who records the process numbers it so; 0: not known */
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

/* HeaderTypes -- where the lines of the registry begin, which stand last; from the beginning of any line.  `limit`: no
 * such line */
extern const char *HeaderTypes(const char *line, const char *limit);

/* RegistryNameOf, RegistryNameIs -- the name of a registry's lines; are they what a name says? */
extern RegistryNameStruct RegistryNameOf(const char *text, Size length);
extern Bool RegistryNameIs(const RegistryNameStruct *a, const RegistryNameStruct *b);

#endif /* FORMAT_HEADER_H */
