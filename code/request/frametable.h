/* frametable.h -- the frames of call stacks, as the processes of a log have told them
 *
 * A stack is a number of its process.  Events called StackFrame, with the parameters stack, parent and address, say
 * what it is: a call at an address, from the stack `parent`.  They may come later than the first event that has the
 * number, because times of different threads contradict each other by up to a microsecond: so a stack is looked up when
 * the log has been read.
 *
 * The table has a request of its own, for all of the log: one that is for a part of it, or for other kinds, has stacks
 * whose frames were told before.  Blocks of other streams are not read for it.
 *
 * Threads: one at a time.  Memory: 24 to 48 bytes for each frame.
 * Design: design/requests.md .frames      Tests: test/request/frametabletest.c
 */
#ifndef REQUEST_FRAMETABLE_H
#define REQUEST_FRAMETABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/request.h"

/* Numbers that are no stack: what lies beyond the outermost frame. */
enum {
  FrameWHOLE,  /* nothing */
  FrameCUT,    /* frames that were not recorded */
  FrameBROKEN, /* frames that could not be found */
  FrameNESTED, /* all frames: a signal's handler interrupted the walk */
  FrameFIRST   /* the least number of a stack */
};

/* FrameSHORT -- a bit of a stack's number: its inner frames are missing, because the process had no number left */
#define FrameSHORT ((uint32_t)1 << 31)

typedef struct FrameStruct {
  uint64_t key;     /* the process and the number; 0: a free place */
  uint64_t address; /* in the call: the address that it returns to, minus one */
  uint32_t parent;  /* stack that the call was made from */
} FrameStruct, *Frame;

typedef struct FrameTableStruct *FrameTable;

/* FrameTableCreate -- an empty table; ResMEMORY
 * FrameTableRequest -- the request that fills it, to be served once, with others or alone; the table's */
extern Res FrameTableCreate(FrameTable *tableReturn);
extern void FrameTableDestroy(FrameTable table);
extern LogRequest FrameTableRequest(FrameTable table);

/* FrameTableWants -- is it an event type that tells of frames?
 * FrameTableEvent -- enter what the event tells, if it is of such a type */
extern Bool FrameTableWants(EventType type);
extern void FrameTableEvent(FrameTable table, LogEvent event);

/* FrameTableStatus -- ResMEMORY if there was no memory for a frame */
extern Res FrameTableStatus(FrameTable table);

/* FrameTableFind -- the frame that a stack consists of besides its caller's; NULL: it is no stack, or was not told.
 * FrameSHORT is ignored.  Valid until the next event. */
extern Frame FrameTableFind(FrameTable table, Index process, uint32_t stack);

extern Bool FrameTableCheck(FrameTable table);

#endif /* REQUEST_FRAMETABLE_H */
