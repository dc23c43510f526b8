/* output.h -- bytes on their way to a file, in large pieces
 *
 * A writer makes sure of room once for each line, writes without further checks, and says how far it came.
 *
 * Always true: next <= base + OutputSIZE; after the first failure nothing more is written, and `failed` is its errno.
 *
 * Design: design/log.md .output      Tests: test/eventcnv.t
 */
#ifndef VIEW_OUTPUT_H
#define VIEW_OUTPUT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { OutputSIZE = 65536, OutputRoomMAX = 32768 };

typedef struct OutputStruct {
  int fd;
  int failed;  /* errno of the first write that failed; 0 */
  void (*before)(void *data); /* called before something is written; or NULL */
  void *data;  /* for that */
  char *next;
  char base[OutputSIZE];
} OutputStruct, *Output;

/* OutputInit -- an output to `fd`, which stays the caller's */
extern void OutputInit(Output output, int fd);

/* OutputFlush -- write what is there; FALSE once a write has failed */
extern Bool OutputFlush(Output output);

/* OutputBytes -- write `size` bytes, however many */
extern void OutputBytes(Output output, const char *bytes, Size size);

/* OutputString, OutputNumber -- write a string; a string and a number in decimal behind it */
extern void OutputString(Output output, const char *string);
extern void OutputNumber(Output output, const char *before, uint64_t number);

/* OutputEnd -- write what is there; ResIO: that has failed, or something did before, and errno says why */
extern Res OutputEnd(Output output);

/* OutputRoom -- where at least OutputRoomMAX bytes may be written; the caller then sets output->next behind them */
static inline char *OutputRoom(Output output)
{
  if (UNLIKELY(output->next > output->base + (OutputSIZE - OutputRoomMAX)))
    (void)OutputFlush(output);
  return output->next;
}

#endif /* VIEW_OUTPUT_H */
