/* request.h -- event requests (pawlog.h), by the names of the house
 *
 * Programs of others and our tools use the same structs and functions, which pawlog.h declares.  Here are the names
 * that the house has for them, and what only the tools need.
 *
 * Design: design/requests.md .public      Tests: test/request/requesttest.c
 */
#ifndef REQUEST_REQUEST_H
#define REQUEST_REQUEST_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "log/pawlog.h"

typedef PawRequest LogRequestStruct, *LogRequest;

#define LogRequestALL {.size = sizeof(PawRequest), .to = UINT64_MAX, .count = UINT64_MAX, .kinds = UINT32_MAX}
#define LogRead(log, request) ((Res)PawRead(log, request)) /* errors have the numbers of results */

/* LogServe -- serve several requests in one pass over a log.  As LogRead. */
extern Res LogServe(Log log, const LogRequest *requests, Count n);

/* LogRequestChooses -- does the request choose events of this type, by kind and by name? */
static inline Bool LogRequestChooses(LogRequest request, LogProcess process, EventType type)
{
  void *data = request->chooseData != NULL ? request->chooseData : request->data;

  return (type->kind >= 32 || (request->kinds >> type->kind & 1) != 0) &&
         (request->choose == NULL || request->choose(data, process, type));
}

enum { ServiceChunkDEFAULT = 65536 }; /* events */

#endif /* REQUEST_REQUEST_H */
