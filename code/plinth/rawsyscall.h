/* rawsyscall.h -- system calls that the program does not notice: they leave errno alone and allocate nothing
 *
 * The emitter works inside other people's programs, at any moment: in malloc, in a signal handler, before main.  What
 * is here keeps errno, is no cancellation point, allocates nothing from the program's malloc, and takes no lock.
 *
 * Design: design/telemetry.md .quiet      Tests: test/emit/emittest.c, test/base/standard.t
 */
#ifndef PLINTH_RAWSYSCALL_H
#define PLINTH_RAWSYSCALL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/text.h"
#include "base/types.h"

/* The signals that a thread lets through, as the kernel keeps them. */
typedef struct RawMaskStruct {
  uint64_t bits;
} RawMaskStruct, *RawMask;

/* RawCall(SYS_x, argument...) -- a system call: its result, or minus what errno would be.  One that a filter of seccomp
 * would kill for is not made, and fails with EPERM (seccomp.h).
 *
 * Directly: libc's functions are cancellation points, change errno, keep two signals out of every set, or are wrapped
 * by the very library that this is part of.  Arguments are integers or pointers.
 */
#define RawCall(...) quietCallPadded(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define quietCallPadded(number, a, b, c, d, e, f, ...) \
  RawSystem((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
extern long RawSystem(long number, long a, long b, long c, long d, long e, long f);

/* RawBar -- the calling thread makes no system call any more: each one that is asked for fails with EPERM.  For a thread
 * that would be killed for it.  RawUnbar -- it may, after all.  RawBarred --
 * is it so?  For what asks libc. */
extern void RawBar(void);
extern void RawUnbar(void);
extern Bool RawBarred(void);

/* RawPid, RawUser -- getpid and geteuid; UINT32_MAX and its kin where they may not be asked for, and where
 * another user would have the same number (a user namespace that does not know us)
 * RawLimit -- getrlimit: what holds now; UINT64_MAX: no limit is known
 * RawStat -- fstat; 0, or minus an errno
 * RawBirth -- what tells an open file from an earlier one that had the same number: when it was born, in ns, or else a
 * digest of its handle; 0: the system tells neither */
extern uint32_t RawPid(void);
extern uint32_t RawUser(void);
extern uint64_t RawLimit(int resource);
extern long RawStat(int fd, struct stat *statusReturn);
extern uint64_t RawBirth(int fd);

/* RawPeek -- of memory that need not be there: how many bytes could be read */
extern Size RawPeek(void *room, const void *from, Size size);

/* RawMapAt -- mmap; NULL if it fails.  offset is 0. */
extern void *RawMapAt(void *place, Size size, int protection, int flags, int fd);

/* RawMapFrom -- the same, from `offset`, a multiple of the page */
extern void *RawMapFrom(void *place, Size size, int protection, int flags, int fd, long offset);

/* RawBegin, RawEnd -- block all signals; let them through as before */
extern void RawBegin(RawMask maskReturn);
extern void RawEnd(RawMask mask);

/* RawMap -- fresh zeroed memory of `size` bytes, aligned to `align` (a power of two, at least a page); NULL if
 * there is none. Only what is touched is used up. */
extern void *RawMap(Size size, Size align);

/* RawUnmap -- give back what RawMap gave */
extern void RawUnmap(void *base, Size size);

/* RawReadFile -- the first bytes of a small file; returns how many, 0 also if it cannot be read */
extern Size RawReadFile(const char *path, char *room, Size size);

/* RawProgram -- the path of the program that runs; "" if the system does not tell.  It is asked once: a program that
 * follows by exec has memory of its own. */
enum { RawProgramMAX = 1024 };
extern const char *RawProgram(void);

/* RawProgramTold -- somebody who is believed has asked it already */
extern void RawProgramTold(const char *path);

/* RawProgramCalled -- how the program was called; NULL: it is known which it is, or the system does not tell.  Later the
 * program may write over it: only while the library's constructor runs. */
extern const char *RawProgramCalled(void);

/* RawEnvironment -- the value of an environment variable, or NULL; works before libc has set itself up.  NULL in
 * set-user-id programs.  It is valid until the program changes its environment: copy what is to stay. */
extern const char *RawEnvironment(const char *name);

/* RawWrite -- write; past the limit on file sizes it is -EFBIG, without the signal that would kill */
extern long RawWrite(int fd, const void *bytes, Size size);

/* RawAbsolute -- append `path`, in front of it the current folder if it begins in none, and terminate the text.
 * ResLIMIT: it does not fit; ResIO: the folder cannot be named. */
extern Res RawAbsolute(Text text, const char *path);

/* RawDumped -- cores are to have files that are mapped shared, which the system leaves out of them unless asked.  It
 * holds for all that the process starts, too; nothing is taken out.
 * named  those that have a name, else those that have none */
extern void RawDumped(Bool named);

/* RawVoice -- descriptor 2 as it is now is the program's standard error: at the beginning, and where the program has put a
 * file there (dup2).  If it is closed now, whatever gets its number later is something else.
 * RawVoiceWrite -- write to the program's standard error; to nothing else, whatever is called 2 by now */
extern void RawVoice(void);
extern void RawVoiceWrite(const char *bytes, Size size);

/* RawSay -- one line to standard error, "pawprint: " in front */
extern void RawSay(const char *thing, const char *place, const char *reason);

/* RawErrno -- what an errno means, in words, without locale or allocation */
extern const char *RawErrno(int error);

#endif /* PLINTH_RAWSYSCALL_H */
