/* request.h -- who wants events says which, and is called for exactly those
 *
 * A request has bounds, a choice of kinds and types, hooks, and a priority.  Requests are filed with a service, which
 * serves all of them in as few passes over the log as it can: where requests overlap they share the pass, and an event
 * is decoded once.  Each request sees exactly its events, once, in the order of position.h, whatever else is filed.
 *
 * Requests are served in chunks; after each, the service asks whether something else is pending, and if so keeps its
 * state and returns to be called again.  Requests of high priority go first.
 *
 * Always true of a request: before- and after-hooks are called once; beforeChunk and afterChunk alternate, beginning
 * and ending with the service of it; event hooks are called between beforeChunk and afterChunk only.
 *
 * A service and its requests belong to one thread at a time.
 *
 * Design: design/requests.md      Tests: test/requesttest.c
 */
#ifndef LOG_REQUEST_H
#define LOG_REQUEST_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct LogRequestStruct LogRequestStruct, *LogRequest;

/* One thread's events of one kind, in one process. */
typedef struct LogStreamStruct {
  LogProcess process;
  uint32_t id;     /* in the process */
  uint32_t thread; /* the system's number */
  uint8_t kind;
} LogStreamStruct, *LogStream;

/* An event hook; TRUE ends the chunk: once all hooks have been called for this event, `pending` is asked. */
typedef Bool (*LogEventHook)(LogRequest request, LogEvent event);

typedef struct LogEventHookStruct {
  LogEventHook call;
  int priority;  /* hooks for one event are called by rising priority; equal ones in the order of filing, then as
                    given */
  uint16_t code; /* only events with this code; 0: every event of the request's choice */
} LogEventHookStruct;

typedef enum LogPriority { LogPriorityLOW, LogPriorityHIGH, LogPriorityLIMIT } LogPriority;

/* LogRequestStruct -- the caller's; not changed while it is filed, but for `stop`.  The service only reads it. */
struct LogRequestStruct {
  void *data;              /* the client's own */
  uint64_t from, to;       /* ns of wall time: from inclusive, to exclusive; 0 and UINT64_MAX for all */
  const LogPositionStruct *start, *end; /* the same by position, or NULL; of two bounds the narrower holds */
  uint64_t count;          /* at most so many events; UINT64_MAX for all.  Counts events of the choice, hooks or not,
                              that are accepted */
  uint32_t kinds;          /* a bit for each kind; blocks of others are skipped unread.  UINT32_MAX is all, also those
                              that no header can name */
  Bool (*choose)(void *data, LogProcess process, EventType type); /* asked once for each type; NULL for all types */
  void *chooseData;        /* handed to `choose` instead of `data`, unless NULL */
  Bool (*accept)(void *data, LogEvent event); /* asked for each event of the choice; what it refuses is not the
                              request's, and not counted.  It files, withdraws and stops nothing.  NULL: all are */
  void *acceptData;        /* handed to `accept` */
  LogPriority priority;
  Bool stop;               /* set by a hook of its own: the request ends when the hook returns.  Others withdraw it. */

  LogEventHook event;      /* for every event, with priority 0; or NULL */
  const LogEventHookStruct *hooks; /* more, `hookCount` of them */
  Count hookCount;

  /* Each may be NULL. */
  void (*beforeTraceset)(LogRequest request);
  void (*beforeTrace)(LogRequest request, LogProcess process);
  void (*beforeStream)(LogRequest request, LogStream stream);
  void (*beforeChunk)(LogRequest request);
  void (*afterChunk)(LogRequest request);
  void (*afterStream)(LogRequest request, LogStream stream);
  void (*afterTrace)(LogRequest request, LogProcess process);
  void (*afterTraceset)(LogRequest request);
  void (*gap)(LogRequest request, LogGap gap); /* while it is served, events that it might have wanted are lost */
};

/* LogRequestChooses -- does the request choose events of this type, by kind and by name? */
static inline Bool LogRequestChooses(LogRequest request, LogProcess process, EventType type)
{
  void *data = request->chooseData != NULL ? request->chooseData : request->data;

  return (type->kind >= 32 || (request->kinds >> type->kind & 1) != 0) &&
         (request->choose == NULL || request->choose(data, process, type));
}

#define LogRequestALL {.to = UINT64_MAX, .count = UINT64_MAX, .kinds = UINT32_MAX}

typedef struct LogServiceStruct *LogService;

enum { LogChunkDEFAULT = 65536 }; /* events */

/* LogServiceCreate -- a service over an open log; `chunk` is how many events are read between two looks at what is
 * pending, 0 for LogChunkDEFAULT.  ResMEMORY.  Destroying it withdraws what is filed. */
extern Res LogServiceCreate(LogService *serviceReturn, Log log, uint64_t chunk);
extern void LogServiceDestroy(LogService service);

/* LogServiceFile -- from now on the request is served; also from a hook.  ResMEMORY; ResPARAM: it is filed already. */
extern Res LogServiceFile(LogService service, LogRequest request);

/* LogServiceWithdraw -- no more of it; also from a hook.  If it is being served its after-hooks are called before this
 * returns; if it never was, none.  Then it is the caller's again, and may be freed, in its own hook, too.  FALSE: it
 * was not filed, or has ended. */
extern Bool LogServiceWithdraw(LogService service, LogRequest request);

/* LogServiceRun -- serve until all requests have ended: ResOK; or until `pending`, which may be NULL, returns TRUE:
 * ResLIMIT, and a call goes on where this one stopped.  ResMEMORY, ResIO: the requests in service end there.
 * Not from a hook. */
extern Res LogServiceRun(LogService service, Bool (*pending)(void *data), void *data);

/* What it cost so far. */
typedef struct LogServiceCountsStruct {
  uint64_t seeks;     /* passes begun by looking for a place, */
  uint64_t restores;  /* and by going on with a saved state */
  uint64_t blocks;    /* loaded */
  uint64_t decoded;   /* events that those blocks listed */
} LogServiceCountsStruct, *LogServiceCounts;

extern void LogServiceCount(LogServiceCounts countsReturn, LogService service);

/* LogRead -- file one request and serve it: the short way.  `stop` is reset before; TRUE from a hook ends it, too,
 * since nothing else waits.  Errors as LogServiceRun. */
extern Res LogRead(Log log, LogRequest request);

/* LogPositionStep -- the position `n` events that `request` chooses and accepts before (n < 0) or behind another; what
 * else the request says is not looked at.  Returns how many there were, n's absolute at most, in *nReturn.  ResMEMORY,
 * ResIO.
 * Cost: forwards, reading so many events; backwards, a few times that. */
extern Res LogPositionStep(LogPosition positionReturn, uint64_t *nReturn, Log log, LogRequest request,
                           const LogPositionStruct *position, int64_t n);

/* LogPositionOfTime -- the position before all events at or behind `time` (ns of wall time) */
extern void LogPositionOfTime(LogPosition positionReturn, Log log, uint64_t time);

/* LogPositionText, LogPositionRead -- as text (position.h), NUL-terminated, and back
 * ResFORMAT: it is no position; ResFAIL: its process is not in the log */
extern void LogPositionText(char text[LogPositionTextMAX], Log log, const LogPositionStruct *position);
extern Res LogPositionRead(LogPosition positionReturn, Log log, const char *text);

#endif /* LOG_REQUEST_H */
