/* plinth.h -- a way out: the transport by which blocks leave the process
 *
 * A plinth carries whole messages, in order, to one place: each message is a header block or an event block.  It may
 * bring messages back: requests to the emitter.  Every back-end keeps these rules:
 *
 *   a message goes out whole or not at all, as far as a reader of the output can tell no function allocates from the
 *   program's malloc, changes errno, or is a cancellation point several threads may send at once; one thread opens and
 *   closes, while no thread sends a failure is reported once on standard error, with its reason, and counted; later
 *   messages fail silently, and succeed again when the reason is gone
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

/* PlinthEvents -- how many events a message has, by its first bytes, 256 at most, and its size.  The emitter and the
 * collector know that; plinths do not know the format. */
typedef uint64_t (*PlinthEvents)(const void *message, Size size);

typedef struct PlinthClassStruct {
  const char *name;                    /* in front of the colon in PlinthOpen's `where` */
  Res (*open)(Plinth plinth, const struct PlinthClassStruct *class, const char *place, const char *family,
              const char **reasonReturn);
  Res (*send)(Plinth plinth, const void *message, Size size, const char **reasonReturn);
  Res (*receive)(Plinth plinth, void *room, Size size, Size *sizeReturn); /* NULL: no message ever comes */
  void (*close)(Plinth plinth);        /* NULL: there is nothing to do */
  void (*header)(Plinth plinth, const void *message, Size size); /* keep a header block for later; NULL: not needed */
  Count (*wait)(Plinth plinth, unsigned ms); /* wait for kept messages, return how many are left; NULL: none is kept */
  uint64_t (*left)(Plinth plinth, PlinthEvents events); /* the events in kept messages; NULL: none is kept */
} PlinthClassStruct;

enum {
  PlinthPlaceMAX = 1024,
  PlinthRESERVE = 32 << 10 /* bytes below the limit on file sizes that are left for the last messages */
};

typedef struct PlinthStruct {
  const PlinthClassStruct *class;      /* NULL: closed */
  char place[PlinthPlaceMAX];          /* an absolute path, for a file; for a socket, what may be opened again */
  uint64_t failed;                     /* messages that did not */
  Bool told;                           /* a failure was reported */
  Bool headless;                       /* set by the emitter: it did not take the newest header block */
  Bool last;                           /* set by the emitter: the messages that come now are the last ones */
  int fd;                              /* the back-end's own, like what follows */
  uint64_t device, inode, birth;       /* which file; birth 0: that is not known (RawBirth) */
  uint64_t limited;                    /* 1 + the limit on file sizes at which it refused a message; 0: it did not */
  void *state;
  Size size;                           /* of the memory at `state` */
  Bool warned;                         /* the message that the place cannot be reached was written */
  const char *reason;                  /* why it cannot be reached at present; NULL: it can, or it was never tried */
} PlinthStruct;

/* PlinthClassOf -- what kind of way out it is; NULL: closed.  Any thread may ask, while another opens it. */
static inline const PlinthClassStruct *PlinthClassOf(Plinth plinth)
{
  return __atomic_load_n(&plinth->class, __ATOMIC_ACQUIRE);
}

/* PlinthOpen -- open a way out
 *
 * plinthReturn  zeroed memory of the caller's, or one that could not be opened
 * where         "file:PATH", or just a PATH; "tcp:HOST:PORT", "unix:PATH" (plinth/socket.h); "memory:SIZE";
 *               "none:"
 * family        for a file: the logs that may be appended to although they exist, as PlinthFileTell writes them,
 *               several
 *               separated by +, or NULL
 * reasonReturn  why it failed, in a string that is never freed
 * returns       ResIO; ResPARAM: no such way; ResLIMIT: the place's name is too long
 */
extern Res PlinthOpen(Plinth plinthReturn, const char *where, const char *family, const char **reasonReturn);

/* PlinthSend -- send one message: it goes out now, or the plinth keeps it and sends it later (sockets).  ResIO,
 * ResLIMIT ...: neither; the failure is reported once, and counted. */
extern Res PlinthSend(Plinth plinth, const void *message, Size size);

/* PlinthSendHeader -- the same for a header block, which a socket repeats at the beginning of each new connection */
extern Res PlinthSendHeader(Plinth plinth, const void *message, Size size);

/* PlinthReceive -- give the oldest message that came in; never waits.  ResEND: there is none.  A message longer than
 * `size` is cut. */
extern Res PlinthReceive(Plinth plinth, void *room, Size size, Size *sizeReturn);

/* PlinthOffer -- as PlinthSend, for a caller that keeps a refused message and tries again: a refusal is neither
 * reported nor counted
 *
 * header   whether it is a header block */
extern Res PlinthOffer(Plinth plinth, const void *message, Size size, Bool header);

/* PlinthWait -- wait until all kept messages have arrived, `ms` at most, a fifth of that where there is no connection;
 * returns how many messages are left */
extern Count PlinthWait(Plinth plinth, unsigned ms);

/* PlinthLeft -- how many events are in kept messages of which no arrival was acknowledged */
extern uint64_t PlinthLeft(Plinth plinth, PlinthEvents events);

/* PlinthReason -- why kept messages do not arrive, in a string that is never freed */
extern const char *PlinthReason(Plinth plinth);

/* PlinthFinish -- wait, for a second at most, until all kept messages have arrived, because the process is about to
 * end
 *
 * returns  ResOK: they have; ResLIMIT: not all, which is reported.  It may be called more than once, and sending may
 *          go on.
 */
extern Res PlinthFinish(Plinth plinth, PlinthEvents events);

extern void PlinthClose(Plinth plinth);

/* PlinthCheck -- is it open, and does its place end? */
extern Bool PlinthCheck(Plinth plinth);

/* PlinthFileTell -- append the identity of a file, for `family`: "DEVICE:INODE:BIRTH", PlinthFileTellMAX bytes at
 * most.  A file of birth 0 is not opened by its name, because another one may have that name by then. */
enum { PlinthFileTellMAX = 3 * 20 + 2 };
extern void PlinthFileTell(Text text, uint64_t device, uint64_t inode, uint64_t birth);

/* PlinthFileLeave -- if the plinth's file is one of those that `family` names, keep its descriptor open across exec, if
 * it is to be passed on, or else do not
 * PlinthFileInherit -- the descriptor that the previous program of the process has kept open so; -1: there is none.
 * It is not kept open across the next exec unless PlinthFileLeave is called again. */
extern void PlinthFileLeave(Plinth plinth, const char *family, Bool pass);
extern int PlinthFileInherit(const char *family);

/* What a plinth into memory keeps, its `state`: whole messages, in [base, base + used), where used <= size. */
typedef struct PlinthMemoryStruct {
  char *base;
  Size size, used;
  unsigned lock;
} PlinthMemoryStruct, *PlinthMemory;

/* The back-ends. */
extern const PlinthClassStruct PlinthClassFile, PlinthClassMemory, PlinthClassTcp, PlinthClassUnix;

#endif /* PLINTH_PLINTH_H */
