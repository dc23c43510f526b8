/* rawsyscall.h -- system calls that the program does not notice: they leave errno alone and allocate nothing
 *
 * The emitter works inside other people's programs, at any moment: in malloc, in a signal handler, before main.  The
 * functions here keep errno, are no cancellation points, allocate nothing from the program's malloc, and take no lock.
 *
 * Design: design/telemetry.md .quiet      Tests: test/emit/emittest.c, test/base/standard.t
 */
#ifndef PLINTH_RAWSYSCALL_H
#define PLINTH_RAWSYSCALL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/text.h"
#include "base/types.h"

/* What a thread has outside a section of ours: the signals that it lets through, as the kernel keeps them, and errno.
 */
typedef struct RawMaskStruct {
  uint64_t bits;
  int error;
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

/* RawBar -- let all RawCalls of the calling thread fail with EPERM from here on, because the thread would be killed
 * for a call
 * RawUnbar -- allow them again
 * RawBarred -- are they barred?  For a caller that would call a function of libc. */
extern void RawBar(void);
extern void RawUnbar(void);
extern Bool RawBarred(void);

/* RawSANITIZED, RawThreadSANITIZED -- does AddressSanitizer or MemorySanitizer, or ThreadSanitizer, stand in front of
 * libc's functions?  It is not ready when the library first needs them.  FALSE in a program that is built with the
 * library's code inside. */
#if defined(PAWPRINT_LIBRARY)
extern void __asan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
#define RawSANITIZED       (__asan_init != NULL || __msan_init != NULL)
#define RawThreadSANITIZED (__tsan_init != NULL)
#else
#define RawSANITIZED       FALSE
#define RawThreadSANITIZED FALSE
#endif

/* RawPid, RawUser -- getpid and geteuid; a number near UINT32_MAX where the call is forbidden, and where another user
 * would have the same number (a user namespace in which this user has none)
 * RawAlone -- is there no other thread, as far as the C library knows?  FALSE where it does not say
 * RawLimit -- getrlimit: the current limit; UINT64_MAX: none is known
 * RawStat -- fstat; 0, or minus an errno
 * RawBirth -- distinguishes an open file from an earlier one with the same inode number: the time of its birth, in ns,
 * or else a digest of its handle; 0: the system gives neither */
extern uint32_t RawPid(void);
extern uint32_t RawUser(void);
extern Bool RawAlone(void);
extern uint64_t RawLimit(int resource);
extern Bool RawLimitRaise(int resource);
extern long RawStat(int fd, struct stat *statusReturn);
extern uint64_t RawBirth(int fd);

/* RawPeek -- copy memory that need not be mapped; returns how many bytes could be read */
extern Size RawPeek(void *room, const void *from, Size size);

/* RawMapFrom -- mmap from `offset`, a multiple of the page; NULL if it fails.  RawMapAt -- the same, from the
 * beginning */
extern void *RawMapFrom(void *place, Size size, int protection, int flags, int fd, long offset);
#define RawMapAt(place, size, protection, flags, fd) RawMapFrom(place, size, protection, flags, fd, 0)

/* RawBegin, RawEnd -- block all signals but those that the thread itself causes; let them through as before, and
 * restore errno.  Where the stack is about to overflow RawBegin does it, before anything is changed. */
extern void RawBegin(RawMask maskReturn);
extern void RawEnd(RawMask mask);

/* RawNap -- sleep so many ns */
extern void RawNap(long ns);

/* RawLock, RawUnlock -- a lock in which the number of the process stands that has it
 *
 * copied   fork copies the lock: one that another process has is nobody's here
 * returns  FALSE: another thread has had it for a tenth of a second, and may have been stopped
 */
extern Bool RawLock(unsigned *lock, Bool copied);
extern void RawUnlock(unsigned *lock);

/* RawRandom -- a random number, odd; where the system gives none, one that differs by time and process */
extern uint64_t RawRandom(void);

enum { RawPAGE = 4096 }; /* bytes of the smallest page: every mapping is so aligned */

/* RawMap -- fresh zeroed memory of `size` bytes, aligned to `align` (a power of two, at least a page); NULL if
 * there is none. Only what is touched is used up. */
extern void *RawMap(Size size, Size align);

/* RawUnmap -- give back what RawMap gave */
extern void RawUnmap(void *base, Size size);

/* RawReadFile -- the first bytes of a small file; returns how many, 0 also if it cannot be read */
extern Size RawReadFile(const char *path, char *room, Size size);

/* RawProgram -- the path of the program that runs; "" if the system does not give it.  It is looked up once in each
 * program. */
enum { RawProgramMAX = 1024 };
extern const char *RawProgram(void);

/* RawProgramTold -- the collector has looked up the program's path: this is it */
extern void RawProgramTold(const char *path);

/* RawProgramCalled -- the name by which the program was executed; NULL: its path is known already, or the system does
 * not give the name.  Only while the library's constructor runs: later the program may have written over it. */
extern const char *RawProgramCalled(void);

/* RawEnvironment -- the value of an environment variable, or NULL; also before libc has set itself up.  NULL in
 * set-user-id programs.  It is valid until the program changes its environment: copy it to keep it. */
extern const char *RawEnvironment(const char *name);

/* RawWrite -- write; past the limit on file sizes it gives -EFBIG, without the signal that would end the program */
extern long RawWrite(int fd, const void *bytes, Size size);

/* RawAbsolute -- append `path`, in front of it the current folder if it is relative, and terminate the text.
 * ResLIMIT: it does not fit; ResIO: the current folder has no path. */
extern Res RawAbsolute(Text text, const char *path);

/* RawDumped -- have core files include memory that is mapped shared from files, which the system leaves out by
 * default.  The programs that the process starts inherit this; nothing else changes.
 * named  of files that have a name, else of those that have none */
extern void RawDumped(Bool named);

/* RawVoice -- the file that descriptor 2 leads to now is the program's standard error, to which RawSay writes.  To be
 * called at the beginning, and after the program has put a file there (dup2).  If descriptor 2 is closed now, a file
 * that gets its number later is not standard error, and RawSay writes nothing. */
extern void RawVoice(void);

/* RawSay -- write the line "pawprint: THING: PLACE: REASON" to standard error; without PLACE if that is "" */
extern void RawSay(const char *thing, const char *place, const char *reason);

/* RawErrno -- the meaning of an errno as text, without locale or allocation */
extern const char *RawErrno(int error);

#endif /* PLINTH_RAWSYSCALL_H */
