/* plinth.h -- the way out: how a memory manager's telemetry reaches the world
 *
 * A plinth carries whole messages, in order, to one place: each message is a header block or an event block.  It may
 * bring messages back: requests to whoever emits.  What holds for every back-end:
 *
 *   a message goes out whole or not at all, as far as anybody can tell who reads what came out
 *   nothing here allocates from the program's malloc, changes errno, or is a cancellation point
 *   sending may be done by several threads at once; opening and closing by one, while nobody sends
 *   a failure is told once on standard error, with its reason, and counted; sending goes on to fail quietly,
 *   and to succeed again when the reason is gone
 *
 * Any number of plinths may be open at once; the emitter sends to each.  A back-end is one PlinthClassStruct.
 *
 * Design: design/telemetry.md .sol.msg      Tests: test/plinth/plinthtest.c
 */
#ifndef PLINTH_PLINTH_H
#define PLINTH_PLINTH_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

typedef struct PlinthStruct *Plinth;

/* PlinthEvents -- how many events a message has: its first bytes, 256 at most, and its size.  The emitter and the collector
 * know that, we do not. */
typedef uint64_t (*PlinthEvents)(const void *message, Size size);

typedef struct PlinthClassStruct {
  const char *name;                    /* in front of the colon in PlinthOpen's `where` */
  Res (*open)(Plinth plinth, const char *place, const char *family, const char **reasonReturn);
  Res (*send)(Plinth plinth, const void *message, Size size, const char **reasonReturn);
  Res (*receive)(Plinth plinth, void *room, Size size, Size *sizeReturn); /* NULL: nothing ever comes */
  void (*close)(Plinth plinth);        /* NULL: nothing is to be done */
  void (*header)(Plinth plinth, const void *message, Size size); /* NULL, or: keep a header block to begin with */
  Count (*wait)(Plinth plinth, unsigned ms); /* NULL, or: wait for what is kept; how much is left */
  uint64_t (*left)(Plinth plinth, PlinthEvents events); /* NULL, or: the events in what is left */
} PlinthClassStruct;

enum {
  PlinthPlaceMAX = 1024,
  PlinthRESERVE = 32 << 10 /* bytes below the limit on file sizes that are left for the last words: how much is missing */
};

typedef struct PlinthStruct {
  const PlinthClassStruct *class;      /* NULL: closed */
  char place[PlinthPlaceMAX];          /* an absolute path, for a file; for a socket, what may be opened again */
  uint64_t sent, bytes;                /* messages that went out, and their bytes */
  uint64_t failed;                     /* messages that did not */
  Bool told;                           /* a failure has been told */
  Bool headless;                       /* the emitter's: it did not take the newest header block */
  Bool last;                           /* the emitter's: what comes now are the last words */
  int fd;                              /* the back-end's own, like what follows */
  uint64_t device, inode, birth;       /* which file; birth 0: that is not known (RawBirth) */
  uint64_t limited;                    /* one more than the limit on file sizes at which it refused a message; 0: at none */
  void *state;
  Size size;                           /* of the memory at `state` */
  Bool warned;                         /* it has been told that the place cannot be reached */
  const char *reason;                  /* why it cannot be, at present; NULL: it can, or it was never tried */
} PlinthStruct;

/* PlinthClassOf -- what kind of way out it is; NULL: closed.  Any thread may ask, while another opens it. */
static inline const PlinthClassStruct *PlinthClassOf(Plinth plinth)
{
  return __atomic_load_n(&plinth->class, __ATOMIC_ACQUIRE);
}

/* PlinthOpen -- open a way out
 *
 * plinthReturn  zeroed memory of the caller's, or one that could not be opened
 * where         "file:PATH", or just a PATH; "tcp:HOST:PORT", "unix:PATH" (plinth/socket.h); "memory:SIZE"
 *               (plinth/memory.h); "none:"
 * family        for a file: what PlinthFileTell tells of a log that may be appended to although it exists, several
 *               separated by +, or NULL
 * reasonReturn  why it failed, in words that live forever
 * returns       ResIO; ResPARAM: no such way; ResLIMIT: the place's name is too long
 */
extern Res PlinthOpen(Plinth plinthReturn, const char *where, const char *family, const char **reasonReturn);

/* PlinthSend -- one message: it goes out now, or is kept by the way out and goes out later (sockets).  ResIO,
 * ResLIMIT ...: it does not; told once, and counted. */
extern Res PlinthSend(Plinth plinth, const void *message, Size size);

/* PlinthSendHeader -- the same for a header block, with which a way out that has to begin anew begins by itself */
extern Res PlinthSendHeader(Plinth plinth, const void *message, Size size);

/* PlinthReceive -- the oldest message that came in and has not been received; never waits.  ResEND: there is none.
 * A message longer than `size` is cut. */
extern Res PlinthReceive(Plinth plinth, void *room, Size size, Size *sizeReturn);

/* PlinthOffer -- the same, for those who keep what is refused and try again: a refusal is neither told nor counted
 *
 * header   whether it is a header block */
extern Res PlinthOffer(Plinth plinth, const void *message, Size size, Bool header);

/* PlinthWait -- wait until all that is kept has arrived, `ms` at most, a fifth of that where there is no connection;
 * returns how many messages are left */
extern Count PlinthWait(Plinth plinth, unsigned ms);

/* PlinthLeft -- how many events are in messages that are kept and have not arrived, as far as is known */
extern uint64_t PlinthLeft(Plinth plinth, PlinthEvents events);

/* PlinthReason -- why what is kept does not arrive, in words that live forever */
extern const char *PlinthReason(Plinth plinth);

/* PlinthFinish -- the end is near: wait, for a second at most, until all that is kept has arrived
 *
 * returns  ResOK: it has; ResLIMIT: not all of it, told.  May be called more than once, and sending go on.
 */
extern Res PlinthFinish(Plinth plinth, PlinthEvents events);

extern void PlinthClose(Plinth plinth);
extern Bool PlinthCheck(Plinth plinth);

/* PlinthFileTell -- append which file that is, for `family`: "DEVICE:INODE:BIRTH", PlinthFileTellMAX bytes at most.  One of
 * birth 0 is not opened by its name: it may be another one by then. */
enum { PlinthFileTellMAX = 3 * 20 + 2 };
extern void PlinthFileTell(Text text, uint64_t device, uint64_t inode, uint64_t birth);

/* PlinthFileLeave -- if the plinth's file is one of those that `family` names, programs that are executed from now on
 * have its descriptor.  PlinthFileInherit -- the descriptor that the program before this one has left so; -1: none.
 * Whoever takes it leaves it to nobody, until he says so. */
extern void PlinthFileLeave(Plinth plinth, const char *family);
extern int PlinthFileInherit(const char *family);

/* The back-ends. */
extern const PlinthClassStruct PlinthClassFile, PlinthClassMemory, PlinthClassNone, PlinthClassTcp, PlinthClassUnix;

#endif /* PLINTH_PLINTH_H */
