/* pawlog.h -- read Pawprint's logs: libpawlog
 *
 * Logs (.paw files, and cores of recorded programs) are opened together and read as one, in order of time.  Who wants
 * events describes them in a request, and its hooks are called for exactly those; requests that overlap share a pass.
 * What is damaged or missing is told, and the rest is delivered.
 *
 * This header stands alone, in C99 and C++.  Structs that the caller makes begin with their size, which PawRequestInit
 * and PawHandlersInit set.  All else is opaque.
 *
 * A log, and the services over it, belong to one thread at a time.  Strings are NUL-terminated.  Times are nanoseconds
 * of wall time since 1970.  Functions that return an int return PAW_OK (0) or what went wrong, unless they say
 * otherwise.
 *
 * Manual: pawlog(3)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PAWLOG_H
#define PAWLOG_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PAW_API __attribute__((visibility("default")))
#else
#define PAW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong. */
enum {
  PAW_OK = 0,
  PAW_FAIL,    /* as the function says */
  PAW_MEMORY,  /* no memory */
  PAW_IO,      /* reading failed: errno says why */
  PAW_FORMAT,  /* what was given is not what it should be: no log, no position */
  PAW_VERSION, /* a log of another major version */
  PAW_PARAM,   /* an argument that cannot be meant */
  PAW_PENDING  /* PawServiceRun has stopped because something is pending */
};

typedef struct PawLogStruct *PawLog;
typedef const struct PawProcessStruct *PawProcess; /* lives as long as its log */
typedef const struct PawTypeStruct *PawType;       /* of events, in one process; the same */
typedef const struct PawEventStruct *PawEvent;     /* lives while a hook runs */
typedef struct PawFilterStruct *PawFilter;         /* to be freed before its log is closed */
typedef struct PawServiceStruct *PawService;

/* One thing that is damaged or missing. */
typedef struct PawGap {
  const char *path;
  uint64_t offset;  /* in the file */
  const char *what; /* "block checksum mismatch", ... */
  uint64_t lost;    /* events; */
  int exact;        /* 0: exactly so many, 1: about, 2: at least */
} PawGap;

/* What is told of a log as a whole; each function may be NULL. */
typedef struct PawHandlers {
  size_t size; /* of this struct */
  void *data;  /* handed to each */
  void (*gap)(void *data, const PawGap *gap);     /* once for each gap, in the first pass that comes to it */
  void (*note)(void *data, const char *line);     /* worth telling, nothing is lost */
  void (*progress)(void *data, uint64_t done, uint64_t total); /* blocks, in a pass */
} PawHandlers;

/* Logs */

/* PawVersion -- the library's version, as "1.1.0" */
PAW_API const char *PawVersion(void);

/* PawError -- an error in words, for messages */
PAW_API const char *PawError(int error);

PAW_API void PawHandlersInit(PawHandlers *handlers, size_t size);
#define PawHandlersInit(handlers) PawHandlersInit(handlers, sizeof *(handlers))

/* PawOpen -- open `count` logs as one; "-" is standard input.  With `handlers` NULL nothing is told.
 * message  `size` bytes for one that says which file and why, when it fails; or NULL
 * PAW_IO, PAW_FORMAT, PAW_VERSION, PAW_MEMORY, PAW_PARAM */
PAW_API int PawOpen(PawLog *logReturn, const char *const *paths, size_t count, const PawHandlers *handlers,
                    char *message, size_t size);
PAW_API void PawClose(PawLog log); /* after its services; NULL is none */

/* What is known without reading events. */
PAW_API uint64_t PawFirst(PawLog log);     /* time of the earliest event */
PAW_API uint64_t PawLast(PawLog log);      /* no event is later */
PAW_API uint64_t PawEvents(PawLog log);    /* events that sound blocks announce */
PAW_API uint64_t PawDiscarded(PawLog log); /* discarded while recording, for want of room */
/* gaps and lost events told so far */
PAW_API uint64_t PawGaps(PawLog log);
PAW_API uint64_t PawLost(PawLog log);

/* PawTime -- a time as people give it: seconds since the earliest event, or HH:MM:SS.frac of wall time.  PAW_PARAM. */
PAW_API int PawTime(uint64_t *timeReturn, PawLog log, const char *text);

/* PawKinds -- the bits of kinds, by names: "all", "Pool,Object", "+Object,-Ref".  PAW_PARAM, with a message. */
PAW_API int PawKinds(uint32_t *kindsReturn, PawLog log, const char *names, char *message, size_t size);

/* Processes */

PAW_API size_t PawProcesses(PawLog log);
PAW_API PawProcess PawProcessAt(PawLog log, size_t i); /* NULL behind the last */
PAW_API size_t PawProcessNumber(PawProcess process);   /* that PawProcessAt has */
PAW_API uint32_t PawProcessPid(PawProcess process);
PAW_API uint32_t PawProcessParent(PawProcess process);
PAW_API uint64_t PawProcessIdentity(PawProcess process);   /* a random number: pids come again */
PAW_API const char *PawProcessProgram(PawProcess process); /* its path, or "" */
PAW_API int PawProcessIsCollector(PawProcess process);     /* 1: it watched the others, 0: it was recorded */
PAW_API size_t PawProcessArguments(PawProcess process);    /* those that are kept */
PAW_API const char *PawProcessArgument(PawProcess process, size_t i); /* "" behind the last */
PAW_API unsigned PawProcessWord(PawProcess process);       /* bytes of its words: 4 or 8 */

/* Types of events, as the process's registry has them */

PAW_API size_t PawTypes(PawProcess process);
PAW_API PawType PawTypeAt(PawProcess process, size_t i);             /* NULL behind the last */
PAW_API PawType PawTypeFind(PawProcess process, const char *name);   /* or NULL */
PAW_API unsigned PawTypeCode(PawType type);
PAW_API unsigned PawTypeKind(PawType type);
PAW_API int PawTypeIs(PawType type, const char *name);               /* 1: it is called so */
PAW_API unsigned PawTypeFields(PawType type);
PAW_API int PawTypeField(PawType type, const char *name);            /* number of the field, or -1 */
PAW_API char PawTypeLetter(PawType type, unsigned field);            /* P A W U D S, or 0 */
/* Copies of names, cut to `size`; they return `name`.  PawTypeKindName: of the kind, in this process. */
PAW_API const char *PawTypeName(PawType type, char *name, size_t size);
PAW_API const char *PawTypeFieldName(PawType type, unsigned field, char *name, size_t size);
PAW_API const char *PawTypeKindName(PawProcess process, PawType type);

/* Events */

PAW_API uint64_t PawEventTime(PawEvent event);
PAW_API PawProcess PawEventProcess(PawEvent event);
PAW_API PawType PawEventType(PawEvent event);
PAW_API uint32_t PawEventThread(PawEvent event); /* as the system numbers it */
PAW_API uint32_t PawEventStream(PawEvent event); /* in its process */
/* The processor on which the thread began and ended the block that the event is in; -1: they differ, or the log does
 * not say. */
PAW_API int PawEventCpu(PawEvent event);

/* A field by its number, as PawTypeField gives it; one that the event does not have, or that is of another letter, is 0
 * or NULL.  PawEventWord is for P, A, W and U, PawEventDouble for all numbers.  A string is not NUL-terminated. */
PAW_API uint64_t PawEventWord(PawEvent event, int field);
PAW_API double PawEventDouble(PawEvent event, int field);
PAW_API const char *PawEventString(PawEvent event, int field, size_t *lengthReturn);

/* PawEventGet -- a P, A, W or U by its name; 0: the event has none, and *valueReturn is as it was */
PAW_API int PawEventGet(uint64_t *valueReturn, PawEvent event, const char *name);

/* PawEventDescribe -- the event in words, as the registry of its log describes it, in `text`: cut to `size` bytes, the
 * end included, and fit for a terminal.  Interned strings stay numbers.  Returns `text`, or "" if size is 0. */
PAW_API const char *PawEventDescribe(PawEvent event, char *text, size_t size);

/* Positions: places in the one order of all events; before an event, or between two. */

typedef struct PawPosition {
  uint64_t part[5]; /* not for others to look at */
} PawPosition;

enum { PAW_POSITION_TEXT = 128 }; /* bytes, the end included */

PAW_API void PawEventPosition(PawPosition *positionReturn, PawEvent event); /* that before the event */
PAW_API int PawPositionCompare(const PawPosition *a, const PawPosition *b); /* less than, equal to, greater than 0 */
PAW_API void PawPositionOfTime(PawPosition *positionReturn, PawLog log, uint64_t time);
/* as text, which holds for later openings of the same logs; and back: PAW_FORMAT, PAW_FAIL: of another log */
PAW_API void PawPositionText(char text[PAW_POSITION_TEXT], PawLog log, const PawPosition *position);
PAW_API int PawPositionRead(PawPosition *positionReturn, PawLog log, const char *text);

/* Requests */

/* PawFilterMake -- what an expression means for the events of a log, as eventcnv --filter takes it.  PAW_PARAM: the
 * message says what is wrong, and where; PAW_MEMORY.  Any number of requests may have it.  PawFilterFree -- not while
 * a request with it is filed; NULL is none. */
PAW_API int PawFilterMake(PawFilter *filterReturn, PawLog log, const char *expression, char *message, size_t size);
PAW_API void PawFilterFree(PawFilter filter);

typedef struct PawRequest PawRequest;

typedef struct PawStream {
  PawProcess process;
  uint32_t stream, thread;
  unsigned kind;
} PawStream;

enum { PAW_HOOKS_MAX = 16 }; /* of one request */

/* A hook for events; TRUE (not 0) ends the chunk. */
typedef struct PawHook {
  int (*call)(PawRequest *request, PawEvent event);
  int priority;  /* those for one event are called by rising priority, then in the order of filing */
  unsigned code; /* only events with this code; 0: all that the request chooses */
} PawHook;

/* The caller's; while it is filed nothing of it changes but `stop`. */
struct PawRequest {
  size_t size;     /* of this struct */
  void *data;      /* the caller's own */
  uint64_t from, to; /* times: from inclusive, to exclusive */
  const PawPosition *start, *end; /* the same by position, or NULL; of two bounds the narrower holds */
  uint64_t count;  /* at most so many events */
  uint32_t kinds;  /* a bit for each kind */
  int (*choose)(PawRequest *request, PawProcess process, PawType type); /* asked once for each type; NULL: all */
  PawFilter filter; /* only events for which it holds; NULL: all */
  int high;        /* goes before those that are not */
  int stop;        /* set by a hook of its own: the request ends */

  int (*event)(PawRequest *request, PawEvent event); /* a hook for all events, of priority 0; or NULL */
  const PawHook *hooks;                              /* more of them */
  size_t hookCount;

  /* Called once each, before and after the whole, each process, each of its streams; and before and after each time
   * that the request is worked on.  Each may be NULL. */
  void (*before)(PawRequest *request);
  void (*after)(PawRequest *request);
  void (*beforeProcess)(PawRequest *request, PawProcess process);
  void (*afterProcess)(PawRequest *request, PawProcess process);
  void (*beforeStream)(PawRequest *request, const PawStream *stream);
  void (*afterStream)(PawRequest *request, const PawStream *stream);
  void (*beforeChunk)(PawRequest *request);
  void (*afterChunk)(PawRequest *request);
  void (*gap)(PawRequest *request, const PawGap *gap); /* events that it might have wanted are lost */
};

/* PawRequestInit -- a request for all events, without hooks */
PAW_API void PawRequestInit(PawRequest *request, size_t size);
#define PawRequestInit(request) PawRequestInit(request, sizeof *(request))

/* PawRead -- serve one request: the short way.  A hook that returns TRUE ends it.  PAW_MEMORY, PAW_IO, PAW_PARAM. */
PAW_API int PawRead(PawLog log, PawRequest *request);

/* PawPositionStep -- move a position by `n` events of the request's choice, which its filter takes, backwards if n < 0;
 * *nReturn, which may be NULL, is how many there were.  PAW_MEMORY, PAW_IO, PAW_PARAM. */
PAW_API int PawPositionStep(PawPosition *position, uint64_t *nReturn, PawLog log, PawRequest *request, int64_t n);

/* Services: many requests at a time */

/* PawServiceCreate -- `chunk` is how many events are read between two looks at what is pending; 0: 65536.  PAW_MEMORY.
 * Destroying it withdraws what is filed. */
PAW_API int PawServiceCreate(PawService *serviceReturn, PawLog log, uint64_t chunk);
PAW_API void PawServiceDestroy(PawService service); /* NULL is none; not from a hook */

/* PawServiceFile -- the request is served from now on; also from a hook.  PAW_MEMORY; PAW_PARAM: it is filed already,
 * or of a size that cannot be.  PawServiceWithdraw -- and no longer; 1, or 0 if it was not filed, or has ended. */
PAW_API int PawServiceFile(PawService service, PawRequest *request);
PAW_API int PawServiceWithdraw(PawService service, PawRequest *request);

/* PawServiceRun -- serve until all requests have ended; or until `pending`, which may be NULL, says so after a chunk:
 * PAW_PENDING, and the next call goes on.  PAW_MEMORY, PAW_IO.  Not from a hook. */
PAW_API int PawServiceRun(PawService service, int (*pending)(void *data), void *data);

#ifdef __cplusplus
}
#endif

#endif /* PAWLOG_H */
