/* lent.h -- descriptors that the library has for a moment only, beside a program that puts files under numbers
 *
 * The system gives the lowest number that is free.  A thread of the program that puts a file of its own under just that
 * number (dup2), or closes it though it has not opened it, would replace or close ours, and we would close the
 * program's.  So the number of each file that we open for a moment stands in a table while we have it.  The wrappers
 * (malloc/shimfd.c) close no number that stands there, and put a file under one only when we have returned it.
 *
 * A number is known only when the system has given it.  So those who open and those who put exclude each other, as
 * readers and writers do: many threads may open, or many may put.  Who puts goes first, for one system call.  Nobody
 * waits without end, because a system call may take long, and a thread may not come back from a handler: who opens
 * waits for a tenth of a second at most, who puts or closes for a second.
 *
 * Always true:  no two entries of the table are equal, but for those that are free; LentActive is 0 only if all are
 * free and no thread opens.
 *
 * Nothing is entered while there is one thread only, as it does one thing at a time; apart (descriptor.h); and in the
 * child of a vfork, which has the memory of others, but a table of descriptors of its own.
 *
 * Design: design/telemetry.md .descriptor.lent
 * Tests: test/plinth/lenttest.c, test/plinth/ownfiles.t
 */
#ifndef PLINTH_LENT_H
#define PLINTH_LENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "plinth/rawsyscall.h"

/* LentCall(SYS_x, argument...) -- a system call that gives one descriptor, which is entered: its result, or minus an
 * errno */
#define LentCall(...) (LentBegin(), LentOne(RawCall(__VA_ARGS__)))

/* LentBegin, LentNumber, LentEnd -- the same where a call gives several: between the first and the last, enter each
 * that is not below 0.  What finds no place (64 at once, of all threads) is not entered.  Pairs may be nested, for
 * example by a signal handler.
 * LentOne -- LentNumber and LentEnd; returns `fd` */
extern void LentBegin(void);
extern void LentNumber(long fd);
extern void LentEnd(void);
extern long LentOne(long fd);

/* LentClose -- close the file, and return its number.  A number whose file the program has replaced (LentPut, after it
 * had waited in vain) is left alone.
 * LentKeep -- the number is ours for longer, and stands elsewhere (descriptor.h).  Call it between LentBegin and
 * LentEnd. */
extern void LentClose(long fd);
extern void LentKeep(long fd);

/* LentApart -- the calling thread has a table of descriptors of its own (descriptor.h) */
extern __thread Bool LentApart __attribute__((tls_model("initial-exec")));

/* ---- For the wrappers ---- */

/* LentActive -- the numbers in the table, and the threads that open: while it is 0 the wrapper of close has nothing to
 * ask for */
extern unsigned LentActive;

/* LentIs -- is this number lent to us now?  Waits while a thread opens a file, whose number is not known yet. */
extern Bool LentIs(int fd);

/* LentPut, LentPutEnd -- enclose a call of the program's that puts a file under number `fd`, or, with -1, closes a
 * range of numbers: the first waits until `fd` is not lent to us, a second at most; until the second no number is
 * entered. */
extern void LentPut(int fd);
extern void LentPutEnd(void);

/* LentFrom -- the lowest number from `first` on that is lent; UINT_MAX: none is */
extern unsigned LentFrom(unsigned first);

/* LentForked -- in the child of a fork, which has this number: none of its threads has anything open.  (What others had
 * open in its parent stays open in the child until it executes a program.) */
extern void LentForked(uint32_t pid);

/* LentCheck -- is what is always true so? */
extern Bool LentCheck(void) __attribute__((no_sanitize("thread")));

#endif /* PLINTH_LENT_H */
