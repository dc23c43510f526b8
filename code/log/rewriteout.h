/* rewriteout.h -- where a log that is written again goes: bytes, and the first thing that failed
 *
 * Design: design/log.md .rewrite      Tests: test/logwhotest.c
 */
#ifndef LOG_REWRITEOUT_H
#define LOG_REWRITEOUT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { RewriteOutSIZE = 256 * 1024 }; /* bytes that are written at a time */

typedef struct RewriteOutStruct {
  int fd;                     /* the caller's */
  Res failed;                 /* what the first failure was, */
  int reason;                 /* and its errno */
  uint64_t written;           /* bytes, those that wait included */
  Size pending;               /* bytes in `bytes` */
  unsigned char bytes[RewriteOutSIZE];
} RewriteOutStruct, *RewriteOut;

/* RewriteOutFail -- note a failure, and errno; of several the first counts
 * RewriteOutBytes, RewriteOutFlush -- write; write what waits.  Nothing more is written once something failed. */
extern void RewriteOutFail(RewriteOut out, Res res);
extern void RewriteOutBytes(RewriteOut out, const void *bytes, Size size);
extern void RewriteOutFlush(RewriteOut out);

#endif /* LOG_REWRITEOUT_H */
