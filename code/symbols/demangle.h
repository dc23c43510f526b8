/* demangle.h -- names of C++ and Rust as people write them, by c++filt
 *
 * c++filt runs as long as it is needed, and is given one name at a time: a line is written, a line is read.  Where it
 * is not installed, names stay as they are.  Where it ends or does not answer in time, that name does, and the next
 * one is given to a new c++filt, a few times.  Where names take far more processor time than names do, the rest stay as
 * they are.
 *
 * Design: design/symbols.md .demangle      Tests: test/symbols/symbols.t, test/symbols/symbolstest.c
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

enum { DemangleMAX = 4096 }; /* bytes of a name that is tried, and of what it becomes */

/* All zero at first: nothing was asked yet. */
typedef struct DemanglerStruct {
  Bool tried;      /* it has been started, and is not to be started again */
  Count failures;  /* names after which it had to be ended */
  Count names;     /* that were asked for */
  uint64_t cpu;    /* ns of processor time that the one that runs has taken, */
  uint64_t spent;  /* and all of them */
  pid_t pid;       /* 0: it does not run */
  int fd;          /* of a socket to it */
} DemanglerStruct, *Demangler;

/* Demangle -- the name as people write it, in `room` (DemangleMAX bytes); `name` itself where it has no other */
extern const char *Demangle(char *room, Demangler demangler, const char *name);

/* DemangleMay -- does it look like a name that has another? */
extern Bool DemangleMay(const char *name);

/* DemangleFinish -- end c++filt */
extern void DemangleFinish(Demangler demangler);

#endif /* SYMBOLS_DEMANGLE_H */
