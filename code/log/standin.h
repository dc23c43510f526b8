/* standin.h -- for the while until the reading can seek
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LOG_STANDIN_H
#define LOG_STANDIN_H

#include "log/logset.h"
#include "log/request.h"

typedef struct ReadingClientStruct {
  void *data;
  const unsigned char *(*wanted)(void *data, Process process, unsigned kind, uint64_t first, uint64_t last);
  void (*gap)(void *data, LogGap gap);
} ReadingClientStruct, *ReadingClient;

typedef struct StandinEventStruct { LogEventStruct event; LogPositionStruct position; Index block; } StandinEventStruct;
typedef struct StandinBlockStruct {
  Process process; unsigned kind; uint32_t stream; uint64_t sequence, first, last; unsigned char *wanted; Bool met;
  uint64_t events;
} StandinBlockStruct;

typedef struct ReadingStruct {
  LogPositionStruct position;
  uint64_t blocks, decoded, delivered;
  Bool halt;
  Log log;
  const ReadingClientStruct *client;
  StandinEventStruct *event; Count events; Index next;
  StandinBlockStruct *block; Count blockCount;
} ReadingStruct, *Reading;

extern Res ReadingCreate(Reading *readingReturn, Log log, const ReadingClientStruct *client, const LogPositionStruct *position);
extern void ReadingDestroy(Reading reading);
extern Res ReadingRun(Reading reading, LogRequest request, const LogPositionStruct *end, uint64_t count);
#endif
