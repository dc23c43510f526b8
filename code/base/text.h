/* text.h -- text built in a fixed piece of memory
 *
 * For what may not call stdio (a signal handler, a malloc) and for what must be fast (a line for each of
 * millions of events).  A Text never grows: what does not fit is cut, and `overflow` says so.
 *
 * Always true: base <= next <= limit; one byte behind limit belongs to the Text, so that TextTerminate fits.
 *
 * Design: design/house.md .text      Tests: test/base/basetest.c
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "types.h"

typedef struct TextStruct {
  char *base;    /* first byte */
  char *next;    /* where the next byte goes */
  char *limit;   /* one behind the last that may be written */
  Bool overflow; /* something was cut */
} TextStruct, *Text;

/* TextInit -- an empty text in `size` (at least 1) bytes at `room`, which the caller owns */
static inline void TextInit(Text text, char *room, Size size)
{
  text->base = text->next = room;
  text->limit = room + size - 1;
  text->overflow = FALSE;
}

#define TextLength(text) ((Size)((text)->next - (text)->base))
#define TextRoom(text)   ((Size)((text)->limit - (text)->next))

/* Each appends to `text`; none allocates, locks or fails otherwise than by cutting. */
extern void TextBytes(Text text, const char *bytes, Size size);
extern void TextString(Text text, const char *string);
extern void TextChar(Text text, char c);
extern void TextDecimal(Text text, uint64_t n);
extern void TextHex(Text text, uint64_t n);                        /* 0x and no leading zeros */
extern void TextPadded(Text text, uint64_t n, unsigned digits);    /* decimal, leading zeros */
extern void TextDouble(Text text, double d);                       /* shortest that reads back the same */
extern void TextQuoted(Text text, const char *bytes, Size size);   /* in double quotes with C escapes */
extern void TextPlain(Text text, const char *bytes, Size size);    /* as it is, but what is not TextPrintable as \ooo */

/* TextUtf8 -- bytes of the sound UTF-8 character at `bytes`, of which `left` (at least 1) are there; 0 if there is none
 * TextPrintable -- the same, and 0 for what terminals obey: control characters (C0, DEL and C1), and those that change
 *   the direction of writing, so that a name cannot look like another one
 * TextPutEscape -- a byte as \ooo at `p`, unchecked: TextEscapeMAX bytes */
enum { TextEscapeMAX = 4 };
extern Size TextUtf8(const char *bytes, Size left);
extern Size TextPrintable(const char *bytes, Size left);
extern char *TextPutEscape(char *p, char byte);

/* TextPlural -- what makes a noun fit its number: "1 event", "2 events", "0 events" */
static inline const char *TextPlural(uint64_t n)
{
  return n == 1 ? "" : "s";
}

/* TextFormat -- append as printf does: %s, %c, %.*s; %u, %zu and %ju, which is a uint64_t, in decimal; %#jx as TextHex
 * TextMake -- the same as a string in `room`, cut where that ends; returns `room` */
extern void TextFormat(Text text, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern char *TextMake(char *room, Size size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* TextNumber -- the number whose digits begin at *at, in base 10 or 16 (small letters); *at goes behind them, and
 * stays where there are none.  UINT64_MAX: it is that, or larger. */
extern uint64_t TextNumber(const char **at, unsigned base);

/* TextTerminate -- a NUL behind the text, not counted; returns the text as a string */
extern char *TextTerminate(Text text);

extern const char TextPairs[201]; /* 00 to 99 */

/* TextPutDecimal -- the digits of `n` at `p`, unchecked, for callers that have made sure of room: at most 20 bytes.
 * Returns the place behind the last digit. */
extern char *TextPutDecimal(char *p, uint64_t n);

#endif /* BASE_TEXT_H */
