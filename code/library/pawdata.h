/* pawdata.h -- what stands behind the opaque types of pawlog.h
 *
 * A PawProcess is a LogProcess, a PawType an EventType and a PawEvent a LogEvent, by other names: nothing is copied for
 * an event.
 *
 * Design: design/log.md .pawlog      Tests: test/pawlog.t, test/pawlogtest.c
 */
#ifndef LIBRARY_PAWDATA_H
#define LIBRARY_PAWDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "library/pawlog.h"
#include "log/request.h"

struct PawLogStruct {
  Log log;
  PawHandlers handlers;
};

/* PawResult -- a Res as pawlog.h has it */
extern int PawResult(Res res) __attribute__((visibility("hidden")));

static inline LogEvent PawTheEvent(PawEvent event)
{
  return (LogEvent)(uintptr_t)event;
}

static inline LogProcess PawTheProcess(PawProcess process)
{
  return (LogProcess)(uintptr_t)process;
}

static inline EventType PawTheType(PawType type)
{
  return (EventType)(uintptr_t)type;
}

static inline LogPositionStruct PawThePosition(const PawPosition *position)
{
  const uint64_t *part = position->part;

  return (LogPositionStruct){part[0], part[1], part[2], part[3], part[4]};
}

static inline PawPosition PawPositionOf(const LogPositionStruct *position)
{
  return (PawPosition){{position->fine, position->process, position->stream, position->sequence, position->at}};
}

#endif /* LIBRARY_PAWDATA_H */
