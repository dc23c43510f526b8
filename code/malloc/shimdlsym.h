/* shimdlsym.h -- all of the library's calls of dlsym and its kin, and the real functions behind mmap, prctl and _exit
 *
 * (The real functions behind malloc and its kin are shimnext.h.)
 *
 * A lookup that fails allocates the message for dlerror, and another lookup, or the thread's end, frees it.  The
 * program does neither.  So the library calls the dynamic loader only here: memory that the thread allocates meanwhile
 * comes from ShimEarly, and has no event.  Memory that the thread frees meanwhile has one, because the loader may have
 * allocated it for a lookup of the program's.  errno is kept.
 *
 * Design: design/shim.md .shim.look .shim.pass      Tests: test/malloc/shimnew.t, test/malloc/count.t,
 * test/malloc/shim.t
 */
#ifndef MALLOC_SHIMDLSYM_H
#define MALLOC_SHIMDLSYM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdint.h>
#include <sys/types.h>

#include "base/types.h"

/* SHIM -- a function of the library that stands before another of the same name */
#define SHIM __attribute__((visibility("default")))

/* ShimSymbol -- what dlsym finds in `library`; NULL: nothing
 * ShimNextSymbol -- store the function of this name that comes behind this library's in the pointer at `function`
 * ShimSymbolVersion -- the function behind this library's, by name and version
 * ShimReached -- does a call of malloc come to this library's?  FALSE also where its kind is off
 * ShimLibrary -- a library that is loaded already; NULL: it is not.  ShimLibraryLeave gives it back.
 * ShimExtent -- where the library in which `address` is begins and ends in memory; FALSE: it is in none.  That is a
 *   walk through the libraries, and takes a fortieth of what dladdr does, which looks for a symbol. */
extern void *ShimSymbol(void *library, const char *name);
extern void ShimNextSymbol(void *function, const char *name);
extern void *ShimSymbolVersion(const char *name, const char *version);
extern Bool ShimReached(void);
extern void *ShimLibrary(const char *path);
extern void ShimLibraryLeave(void *library);
extern Bool ShimExtent(Word *baseReturn, Word *limitReturn, const void *address);

/* Where this library begins in memory, and ends: the linker says so. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* ShimContains -- is the address inside this library? */
static inline Bool ShimContains(const void *address)
{
  return (Word)address - (Word)__ehdr_start < (Word)(_end - __ehdr_start);
}

/* ShimExecStart -- look up what starts programs (shimexec.c), before a child may need it whose parent has more threads
 * than one */
extern void ShimExecStart(void);

/* ---- The functions behind wrappers that could as well make a system call ----
 *
 * If libc comes next behind the library, a wrapper makes the system call, which is the same.  If another library has
 * one of these functions, all calls are passed on to it.  Nothing is looked up at the start, because most short
 * programs call none of them: it is done at the first call; before the first fork, and before a second thread begins;
 * and, where an allocator other than libc's serves, before that is called the first time, because it may call mmap
 * with its locks held.  Until then, which concerns the calls of the lookup itself, the wrapper makes the system call.
 *
 * A library that comes next may call another one of these functions by its name, and so reach a wrapper again.  While
 * a call is passed on a mark of the thread is set, and a wrapper that finds it set passes the call on and emits
 * nothing.  libc's functions do not call each other that way: where libc comes next nothing sets the mark, and the
 * calls of a signal handler are always seen.
 */

/* X(returns, member, name, parameters) */
#define PASS_FUNCTIONS(X) \
  X(void *, mmap, "mmap", (void *place, size_t size, int protection, int flags, int fd, off_t offset)) \
  X(void *, mmap64, "mmap64", (void *place, size_t size, int protection, int flags, int fd, off64_t offset)) \
  X(int, munmap, "munmap", (void *place, size_t size)) \
  X(void *, mremap, "mremap", (void *old, size_t oldSize, size_t size, int flags, ...)) \
  X(int, brk, "brk", (void *limit)) \
  X(void *, sbrk, "sbrk", (intptr_t more)) \
  X(int, prctl, "prctl", (int option, ...)) \
  X(void, exit, "_exit", (int status)) \
  X(void, exitC, "_Exit", (int status))

typedef struct ShimPassStruct {
#define X(returns, member, name, parameters) returns (*member) parameters;
  PASS_FUNCTIONS(X)
#undef X
} ShimPassStruct;

typedef enum ShimPassKnown {
  ShimPassUNKNOWN, /* they were not looked up */
  ShimPassLIBC,    /* libc comes next */
  ShimPassOTHERS   /* another library has one of the functions */
} ShimPassKnown;

/* The functions that come next; complete once ShimPassWho is not ShimPassUNKNOWN. */
extern ShimPassStruct ShimPass;
extern unsigned ShimPassWho;

/* ShimPassLook -- look them up, if that is possible now; returns ShimPassWho */
extern unsigned ShimPassLook(void);

/* SHIM_PASS -- the function `member` that a call is to be passed on to; NULL: the system is to be asked */
#define SHIM_PASS(member) (ShimPassTo() == ShimPassOTHERS ? ShimPass.member : NULL)

static inline unsigned ShimPassTo(void)
{
  unsigned who = __atomic_load_n(&ShimPassWho, __ATOMIC_ACQUIRE);

  return LIKELY(who != ShimPassUNKNOWN) ? who : ShimPassLook();
}

/* ShimPassing -- how many calls the thread is passing on now, one inside the other; while there are any, it emits
 * nothing */
extern __thread unsigned ShimPassing __attribute__((tls_model("initial-exec")));

/* SHIM_PASSING -- make a call, with the mark of the thread if it is passed on */
#define SHIM_PASSING(passes, call) \
  do { \
    unsigned passing_ = (passes) ? 1 : 0; \
    ShimPassing += passing_; \
    call; \
    ShimPassing -= passing_; \
  } while (0)

#endif /* MALLOC_SHIMDLSYM_H */
