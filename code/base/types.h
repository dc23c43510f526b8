/* types.h -- the words that every room speaks
 *
 * Word is as wide as a pointer.  Addr is an address that is managed, not dereferenced here:
 * a pointer to a struct that is never completed, so that it mixes with nothing by accident.
 * The world's failures are a Res; our own mistakes are AVERs (aver.h).
 *
 * Design: design/house.md .words      Tests: test/base/basetest.c
 */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* SPDX-License-Identifier: BSD-2-Clause */

/* PAWPRINT_API -- a name that those who use the emitter reach.  libpawprint.so shows it to everybody.  An emitter that
 * is part of another program or library (PAWPRINT_EMITTER) keeps it inside: there may be one of another registry beside
 * it in the same process, and the dynamic linker would make them one. */
#if defined(PAWPRINT_EMITTER)
#define PAWPRINT_API __attribute__((visibility("hidden")))
#else
#define PAWPRINT_API __attribute__((visibility("default")))
#endif

typedef uintptr_t Word;
typedef struct AddrStruct *Addr;
typedef size_t Size;   /* bytes */
typedef size_t Count;  /* how many of something */
typedef size_t Index;  /* which of several, from 0 */
typedef int Bool;

/* No count of events, blocks or bytes that is true is greater: at a thousand million events a second that takes three
 * months.  One that stands where others can write may be. */
#define CountMAX ((uint64_t)1 << 53)

/* CountAdd -- add a count that a program may have written over.  A count above CountMAX is not believed, and counts as
 * one. */
static inline uint64_t CountAdd(uint64_t sum, uint64_t more)
{
  if (sum >= CountMAX)
    return CountMAX;
  return more <= CountMAX - sum ? sum + more : sum + 1;
}

/* CountRaise -- let a number be so much at least */
static inline void CountRaise(uint64_t *number, uint64_t least)
{
  if (*number < least)
    *number = least;
}

#ifndef TRUE
#define TRUE  1
#define FALSE 0
#endif

#define WORD_WIDTH ((unsigned)sizeof(Word) * 8u) /* bits */

/* Res -- what the world did.  ResOK is zero, so `if (res != ResOK)` reads as "failed". */
typedef enum Res {
  ResOK = 0,
  ResFAIL,     /* something failed that no other code names */
  ResRESOURCE, /* a resource other than memory ran out (blocks, slots, threads) */
  ResMEMORY,   /* no memory or no address space */
  ResLIMIT,    /* a stated limit was reached */
  ResUNIMPL,   /* not available on this platform */
  ResIO,       /* input or output failed; errno says why where it was a system call */
  ResFORMAT,   /* bytes from outside that are not what they claim to be */
  ResVERSION,  /* a format or registry that this build does not know */
  ResPARAM,    /* an argument from outside that cannot be meant */
  ResEND,      /* nothing more to read: not an error */
  ResLIMITED   /* number of codes; not a result */
} Res;

/* ResName -- the code as a word for messages: "memory", "io" ...; never NULL */
extern const char *ResName(Res res);

#define UNUSED(x)      ((void)(x))
#define LIKELY(x)      __builtin_expect(!!(x), 1)
#define UNLIKELY(x)    __builtin_expect(!!(x), 0)
/* Of a variable that is large and mostly not touched: it lies behind all small ones, which so share their pages. */
#define LARGE          __attribute__((section(".bss.~large")))
#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Rounding to a power of two `p`; sizes and addresses as Words. */
#define WordAlignUp(w, p)   (((Word)(w) + ((Word)(p)-1)) & ~((Word)(p)-1))
#define WordAlignDown(w, p) ((Word)(w) & ~((Word)(p)-1))
#define WordIsPowerOf2(w)   ((w) != 0 && ((w) & ((w)-1)) == 0)

#endif /* BASE_TYPES_H */
