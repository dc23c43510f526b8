/* output.h -- buffered output to a file, and the conversion of numbers and strings that all writers share
 *
 * A writer asks for room once for each line, writes without further checks, and sets `next` behind what it wrote.
 *
 * Always true (OutputCheck): base <= next <= base + OutputSIZE; `failed` is 0 or an errno.  After the first failure
 * nothing more is written.
 *
 * Design: design/log.md .output .line, design/view.md .drawn.clean      Tests: test/end/eventcnv.t,
 * test/export/linetest.c, test/export/drawntest.c, test/export/exportchecktest.c
 */
#ifndef EXPORT_OUTPUT_H
#define EXPORT_OUTPUT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/text.h"
#include "base/types.h"

enum { OutputSIZE = 65536, OutputRoomMAX = 32768 };

typedef struct OutputStruct {
  int fd;                     /* the caller's */
  int failed;                 /* errno of the first failure, the writer's own ones included; 0: none */
  uint64_t flushed;           /* bytes that have left the buffer */
  void (*before)(void *data); /* called before something is written; or NULL */
  void *data;                 /* for `before` */
  char *next;                 /* where the next byte goes */
  char base[OutputSIZE];
} OutputStruct, *Output;

/* OutputInit -- an output to `fd`, which stays the caller's */
extern void OutputInit(Output output, int fd);

/* OutputFlush -- write what is buffered; FALSE once something has failed */
extern Bool OutputFlush(Output output);

/* OutputFail -- the writer has failed, for this errno; of several failures the first counts */
extern void OutputFail(Output output, int reason);

/* OutputBytes, OutputString -- write bytes, or a string, of any length */
extern void OutputBytes(Output output, const void *bytes, Size size);
extern void OutputString(Output output, const char *string);

/* OutputFormat -- as printf does, but only %s, %u, %lu, %zu and, of numbers below 10^9, those with leading zeros, as
 * %03lu; strings may have any length
 * cost     a third of printf's */
extern __attribute__((format(printf, 2, 3))) void OutputFormat(Output output, const char *format, ...);

/* OutputWritten -- bytes so far, those in the buffer included */
#define OutputWritten(output) ((output)->flushed + (Size)((output)->next - (output)->base))

extern Bool OutputCheck(Output output);

/* OutputRoom -- where at least OutputRoomMAX bytes may be written; the caller then sets output->next behind them */
static inline char *OutputRoom(Output output)
{
  if (UNLIKELY(output->next > output->base + (OutputSIZE - OutputRoomMAX)))
    (void)OutputFlush(output);
  return output->next;
}

/* ---- Strings out of logs, made fit for the files of others ----
 *
 * What a log calls its events, threads and programs may be any bytes.  Most of these write to an Output in pieces, so
 * that a string may be of any length. */

/* CleanJson -- as JSON has it, in double quotes; bytes that are no UTF-8 become U+FFFD
 * CleanJsonChar -- one character of that, of the `left` bytes there, at `p`, unchecked:
 * CleanJsonMAX bytes; returns the place behind it */
enum { CleanJsonMAX = 6 };
extern char *CleanJsonChar(char *p, const char *bytes, Size left, Size *lengthReturn);
extern void CleanJson(Output output, const char *bytes, Size length);

/* CleanPlain -- as it is, but for control characters, those of `forbidden` (ASCII) and bytes that are no UTF-8: each of
 * those becomes a '?' */
extern void CleanPlain(Output output, const char *bytes, Size length, const char *forbidden);

/* CleanLines -- lines for people: newlines and tabs stay, what else is not TextPrintable stands as \ooo
 * CleanLineChar -- one character of that, as CleanJsonChar */
extern char *CleanLineChar(char *p, const char *bytes, Size left, Size *lengthReturn);
extern void CleanLines(Output output, const char *bytes, Size length);

/* CleanChar -- a byte of a name out of a log; what would upset a terminal, CSV or JSON becomes a '?'
 * CleanName -- a name of `length` bytes, written at `clean`; CleanText -- appended to a text */
static inline char CleanChar(char c)
{
  return c > ' ' && c < 0x7f && c != '"' && c != ',' && c != '\\' ? c : '?';
}

static inline void CleanName(char *clean, const char *name, Size length)
{
  Index i;

  for (i = 0; i < length; ++i)
    clean[i] = CleanChar(name[i]);
}

static inline void CleanText(Text text, const char *name, Size length)
{
  Index i;

  for (i = 0; i < length; ++i)
    TextChar(text, CleanChar(name[i]));
}

/* ---- Numbers as digits, without checks for room and without calls ----
 *
 * Each writes at `p`, where the caller has made sure of PutSLACK bytes, and returns the place behind what it wrote;
 * beyond that, bytes may be written that the next piece writes over. */

enum { PutSLACK = 40 };

/* PutNanos -- nine digits */
static inline char *PutNanos(char *p, uint32_t n)
{
  uint32_t high = n / 10000, low = n % 10000; /* 5 and 4 digits */

  memcpy(p + 7, TextPairs + 2 * (low % 100), 2);
  memcpy(p + 5, TextPairs + 2 * (low / 100), 2);
  memcpy(p + 3, TextPairs + 2 * (high % 100), 2);
  high /= 100;
  memcpy(p + 1, TextPairs + 2 * (high % 100), 2);
  p[0] = (char)('0' + high / 100);
  return p + 9;
}

/* PutDecimal -- most numbers are small */
static inline char *PutDecimal(char *p, uint64_t n)
{
  if (n < 10) {
    *p = (char)('0' + n);
    return p + 1;
  }
  if (n < 100) {
    memcpy(p, TextPairs + 2 * n, 2);
    return p + 2;
  }
  if (n < 10000) {
    unsigned high = (unsigned)n / 100, low = (unsigned)n % 100;
    char digits[8];
    memcpy(digits, TextPairs + 2 * high, 2);
    memcpy(digits + 2, TextPairs + 2 * low, 2);
    memcpy(p, digits + (n < 1000), 4);
    return p + (n < 1000 ? 3 : 4);
  }
  return TextPutDecimal(p, n);
}

/* PutHex8 -- eight hex digits of a 32-bit number, the first in the lowest byte */
static inline uint64_t PutHex8(uint32_t n)
{
  uint64_t x = __builtin_bswap32(n), nine;

  /* The bytes into 16 bits each, the highest lowest; then the nibbles of each into a byte. */
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  x = (x | x << 8) & 0x00ff00ff00ff00ffu;
  x = (x >> 4 & 0x000f000f000f000fu) | (x & 0x000f000f000f000fu) << 8;
  /* Above nine, a byte gets the distance from '9' + 1 to 'a' as well. */
  nine = (x + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
  return x + 0x3030303030303030u + nine * ('a' - '9' - 1);
}

static inline char *PutHex(char *p, uint64_t n)
{
  char digits[32];
  uint64_t high = PutHex8((uint32_t)(n >> 32)), low = PutHex8((uint32_t)n);
  unsigned skip = n == 0 ? 15 : (unsigned)__builtin_clzll(n) / 4;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  high = __builtin_bswap64(high);
  low = __builtin_bswap64(low);
#endif
  memcpy(digits, &high, 8);
  memcpy(digits + 8, &low, 8);
  memcpy(p, digits + skip, 16); /* what lies behind the digits is written over */
  return p + (16 - skip);
}

#endif /* EXPORT_OUTPUT_H */
