/* fuzzlog.h -- any bytes as a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Most logs get the checksums that they should have, because no mutation finds those by itself.  What is done with a
 * log depends on its bytes, so that a file that crashed does so again.  FUZZ_SEALED=FILE writes the log as it was read.
 */
#ifndef TEST_FUZZ_FUZZLOG_H
#define TEST_FUZZ_FUZZLOG_H

#include <fcntl.h>

#include "fuzz.h"
#include "request/request.h"

enum { FuzzLogMAX = 1 << 18 };

/* A log that is open, and what it told. */
typedef struct FuzzLogStruct {
  Log log;
  int fd;
  uint64_t gaps, told;
} FuzzLogStruct, *FuzzLog;

static void fuzzGap(void *data, LogGap gap)
{
  FuzzLog open = data;

  ++open->gaps;
  open->told += strlen(gap->path) + strlen(gap->what);
}

static void fuzzNote(void *data, const char *line)
{
  ((FuzzLog)data)->told += strlen(line);
}

static void fuzzKeep(const unsigned char *bytes, Size size)
{
  const char *path = getenv("FUZZ_SEALED");
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

  if (path != NULL && (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0))
    FuzzFail(path);
}

/* fuzzLogFile -- open a file that has a log, `copies` times, as one; `open` has its descriptor already */
static Bool fuzzLogFile(FuzzLog open, Count copies)
{
  LogHooksStruct hooks = {.data = open, .gap = fuzzGap, .note = fuzzNote};
  char path[32], error[512];
  const char *paths[2] = {path, path};

  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", open->fd);
  return LogOpen(&open->log, paths, copies, &hooks, error, sizeof error) == ResOK;
}

/* FuzzLogOpen -- bytes as a log; *howReturn says what is to be done with it.  FALSE: they are none. */
static Bool FuzzLogOpen(FuzzLog open, uint32_t *howReturn, const uint8_t *data, size_t size)
{
  static unsigned char bytes[FuzzLogMAX];
  uint32_t how = Crc32c(0, data, size);
  char path[32];

  if (size > sizeof bytes)
    return FALSE;
  memset(open, 0, sizeof *open);
  memcpy(bytes, data, size);
  if (how % 8 != 0)
    FuzzSeal(bytes, size);
  fuzzKeep(bytes, size);
  open->fd = FuzzFile(path, bytes, size);
  *howReturn = how;
  if (fuzzLogFile(open, 1 + (how >> 3) % 2))
    return TRUE;
  (void)close(open->fd);
  return FALSE;
}

static void FuzzLogClose(FuzzLog open)
{
  LogClose(open->log);
  (void)close(open->fd);
}

#endif /* TEST_FUZZ_FUZZLOG_H */
