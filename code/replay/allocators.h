/* allocators.h -- which allocators are compared: by name, by path, and with which settings
 *
 * An allocator is `pawprint`, `libc`, `none`, the name of one that is found where systems install it (jemalloc,
 * mimalloc, tcmalloc), or the path of a shared library with malloc.  Settings follow behind colons, as KEY=VALUE or
 * KEY:VALUE, and become what the allocator reads of its environment:
 *
 *   libc:M_ARENA_MAX=2         MALLOC_ARENA_MAX=2
 *   libc:tcache_count=0        GLIBC_TUNABLES=glibc.malloc.tcache_count=0
 *   jemalloc:narenas:1         MALLOC_CONF=narenas:1
 *   mimalloc:reset_delay=0     MIMALLOC_RESET_DELAY=0
 *   pawprint:Arena.spare=0     PAWPRINT_POOLS=Arena.spare=0
 *   /opt/own.so:OWN_CACHE=8    OWN_CACHE=8
 *
 * Design: design/replayer.md .allocators      Tests: test/replay/allocatorstest.c, test/replay/replay.t
 */
#ifndef REPLAY_ALLOCATORS_H
#define REPLAY_ALLOCATORS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>

#include "base/types.h"

typedef enum ReplayKind { ReplayPAWPRINT, ReplayLIBC, ReplayNONE, ReplayLIBRARY } ReplayKind;

enum { AllocatorErrorSIZE = PATH_MAX + 128, AllocatorSettingsMAX = 8, AllocatorRoomSIZE = 1024 };

/* An allocator as it was asked for. */
typedef struct AllocatorStruct {
  const char *name;              /* as the user gave it, settings and all; the caller's */
  ReplayKind kind;
  char library[PATH_MAX];        /* to preload, for ReplayLIBRARY; else "" */
  Count settings;
  const char *setting[AllocatorSettingsMAX]; /* NAME=VALUE, for its environment; in `room` */
  char room[AllocatorRoomSIZE];
} AllocatorStruct, *Allocator;

/* AllocatorParse -- what the user means
 *
 * name    stays the caller's, and has to last as long as the allocator
 * error   AllocatorErrorSIZE bytes: where it cannot be, why
 * errors  ResPARAM: no such allocator or setting;  ResFAIL: its library is not there, or cannot be preloaded */
extern Res AllocatorParse(Allocator allocatorReturn, const char *name, char *error);

/* AllocatorVariable -- the i-th variable that a program must find in its environment to have this allocator with these
 * settings, as NAME=VALUE; FALSE: there are no more */
enum { AllocatorVariableSIZE = PATH_MAX + AllocatorRoomSIZE };
extern Bool AllocatorVariable(char variable[AllocatorVariableSIZE], const AllocatorStruct *allocator, Index i);

/* AllocatorSame -- are two the same allocator with the same settings?
 * AllocatorOf -- the name of the known allocator whose library has this file name, as in "libjemalloc.so.2", which need
 *   not be installed here; NULL: none has */
extern Bool AllocatorSame(const AllocatorStruct *this, const AllocatorStruct *that);
extern const char *AllocatorOf(const char *file);

extern Bool AllocatorCheck(const AllocatorStruct *allocator);

#endif /* REPLAY_ALLOCATORS_H */
