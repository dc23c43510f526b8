/* rawsyscall.h -- the system's help, without the program noticing
 *
 * The emitter works inside other people's programs, at any moment: in malloc, in a signal handler, before main.  What
 * is here keeps errno, is no cancellation point, allocates nothing from the program's malloc, and takes no lock.
 *
 * Design: design/telemetry.md .quiet      Tests: test/emittest.c, test/standard.t
 */
#ifndef PLINTH_RAWSYSCALL_H
#define PLINTH_RAWSYSCALL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/text.h"
#include "base/types.h"

/* The signals that a thread lets through, as the kernel keeps them. */
typedef struct QuietMaskStruct {
  uint64_t bits;
} QuietMaskStruct, *QuietMask;

/* QuietCall(SYS_x, argument...) -- a system call: its result, or minus what errno would be.  One that a filter of seccomp
 * would kill for is not made, and fails with EPERM (forbid.h).
 *
 * Directly: libc's functions are cancellation points, change errno, keep two signals out of every set, or are wrapped
 * by the very library that this is part of.  Arguments are integers or pointers.
 */
#define QuietCall(...) quietCallPadded(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define quietCallPadded(number, a, b, c, d, e, f, ...) \
  QuietSystem((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
extern long QuietSystem(long number, long a, long b, long c, long d, long e, long f);

/* QuietBar -- the calling thread makes no system call any more: each one that is asked for fails with EPERM.  For a thread
 * that would be killed for it.  QuietUnbar -- it may, after all.  QuietBarred --
 * is it so?  For what asks libc. */
extern void QuietBar(void);
extern void QuietUnbar(void);
extern Bool QuietBarred(void);

/* QuietPid, QuietUser -- getpid and geteuid; UINT32_MAX and its kin where they may not be asked for, and where
 * another user would have the same number (a user namespace that does not know us)
 * QuietLimit -- getrlimit: what holds now; UINT64_MAX: no limit is known
 * QuietStat -- fstat; 0, or minus an errno
 * QuietBirth -- what tells an open file from an earlier one that had the same number: when it was born, in ns, or else a
 * digest of its handle; 0: the system tells neither */
extern uint32_t QuietPid(void);
extern uint32_t QuietUser(void);
extern uint64_t QuietLimit(int resource);
extern long QuietStat(int fd, struct stat *statusReturn);
extern uint64_t QuietBirth(int fd);

/* QuietPeek -- of memory that need not be there: how many bytes could be read */
extern Size QuietPeek(void *room, const void *from, Size size);

/* QuietMapAt -- mmap; NULL if it fails.  offset is 0. */
extern void *QuietMapAt(void *place, Size size, int protection, int flags, int fd);

/* QuietMapFrom -- the same, from `offset`, a multiple of the page */
extern void *QuietMapFrom(void *place, Size size, int protection, int flags, int fd, long offset);

/* QuietBegin, QuietEnd -- block all signals; let them through as before */
extern void QuietBegin(QuietMask maskReturn);
extern void QuietEnd(QuietMask mask);

/* QuietMap -- fresh zeroed memory of `size` bytes, aligned to `align` (a power of two, at least a page); NULL if
 * there is none. Only what is touched is used up. */
extern void *QuietMap(Size size, Size align);

/* QuietUnmap -- give back what QuietMap gave */
extern void QuietUnmap(void *base, Size size);

/* QuietReadFile -- the first bytes of a small file; returns how many, 0 also if it cannot be read */
extern Size QuietReadFile(const char *path, char *room, Size size);

/* QuietProgram -- the path of the program that runs; "" if the system does not tell.  It is asked once: a program that
 * follows by exec has memory of its own. */
enum { QuietProgramMAX = 1024 };
extern const char *QuietProgram(void);

/* QuietProgramTold -- somebody who is believed has asked it already */
extern void QuietProgramTold(const char *path);

/* QuietProgramCalled -- how the program was called; NULL: it is known which it is, or the system does not tell.  Later the
 * program may write over it: only while the library's constructor runs. */
extern const char *QuietProgramCalled(void);

/* QuietEnvironment -- the value of an environment variable, or NULL; works before libc has set itself up.  NULL in
 * set-user-id programs.  It is valid until the program changes its environment: copy what is to stay. */
extern const char *QuietEnvironment(const char *name);

/* QuietWrite -- write; past the limit on file sizes it is -EFBIG, without the signal that would kill */
extern long QuietWrite(int fd, const void *bytes, Size size);

/* QuietAbsolute -- append `path`, in front of it the current folder if it begins in none, and terminate the text.
 * ResLIMIT: it does not fit; ResIO: the folder cannot be named. */
extern Res QuietAbsolute(Text text, const char *path);

/* QuietDumped -- cores are to have files that are mapped shared, which the system leaves out of them unless asked.  It
 * holds for all that the process starts, too; nothing is taken out.
 * named  those that have a name, else those that have none */
extern void QuietDumped(Bool named);

/* QuietVoice -- descriptor 2 as it is now is the program's standard error: at the beginning, and where the program has put a
 * file there (dup2).  If it is closed now, whatever gets its number later is something else.
 * QuietVoiceWrite -- write to the program's standard error; to nothing else, whatever is called 2 by now */
extern void QuietVoice(void);
extern void QuietVoiceWrite(const char *bytes, Size size);

/* QuietSay -- one line to standard error, "pawprint: " in front */
extern void QuietSay(const char *thing, const char *place, const char *reason);

/* QuietErrno -- what an errno means, in words, without locale or allocation */
extern const char *QuietErrno(int error);

#endif /* PLINTH_RAWSYSCALL_H */
