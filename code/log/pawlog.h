/* pawlog.h -- logs, requests and events: read Pawprint's logs, with libpawlog
 *
 * Logs (.paw files, and cores of recorded programs) are opened together and read as one, in order of time.  Who wants
 * events describes them in a request, and its hooks are called for exactly those.  Requests that overlap share a pass
 * over the log, and an event is decoded once; each sees exactly its events, once, in order, whatever else is filed.
 * What is damaged or missing is told, and the rest is delivered.
 *
 * This header stands alone, in C99 and C++.  Structs that the caller makes begin with their size, which PawRequestInit
 * and PawHandlersInit set.  All else is opaque.
 *
 * A log, and the services over it, belong to one thread at a time.  Strings are NUL-terminated.  Times are nanoseconds
 * of wall time since 1970.  Functions that return an int return PAW_OK (0) or what went wrong, unless they say
 * otherwise.
 *
 * Always true of a request that is filed: the hooks before and after it are called once; beforeChunk and afterChunk
 * alternate, and begin and end each time that it is served; hooks for events are called between these only.
 *
 * Manual: pawlog(3)      Design: design/requests.md .public      Tests: test/library/pawlogtest.c, test/library/pawlog.t
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
  PAW_FAIL = 1,    /* as the function says */
  PAW_MEMORY = 3,  /* no memory */
  PAW_PENDING = 4, /* PawServiceRun has stopped because something is pending */
  PAW_IO = 6,      /* reading failed: errno says why */
  PAW_FORMAT = 7,  /* what was given is not what it should be: no log, no position */
  PAW_VERSION = 8, /* a log of another major version */
  PAW_PARAM = 9    /* an argument that cannot be meant */
};

typedef struct LogStruct *PawLog;
typedef struct LogProcessStruct *PawProcess; /* lives as long as its log */
typedef struct EventTypeStruct *PawType;     /* of events, in one process; the same */
typedef struct LogEventStruct *PawEvent;     /* lives while a hook runs */
typedef struct FilterStruct *PawFilter;      /* to be freed before its log is closed */
typedef struct LogServiceStruct *PawService;

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
  void (*note)(void *data, const char *line);     /* worth telling, nothing is lost: newer registry, ... */
  void (*progress)(void *data, uint64_t done, uint64_t total); /* blocks, after each that a pass has come to */
  /* Bytes, now and then while logs are opened; a total of 0: standard input is copied, which ends when it ends. */
  void (*scanning)(void *data, uint64_t done, uint64_t total);
  const int64_t *offset; /* ns by which the times of each path's processes are shifted, for clocks that disagree, or
                            NULL; the caller's until the log is closed */
  int filed;             /* only what is in the files: nothing is taken from shared memory, nor missed there */
  /* Of the registry that the caller knows.  What is newer is noted; it is also that of core files which do not have
   * their own.  0s and NULL: the library's. */
  unsigned version[3];
  const char *registry;  /* its lines */
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
  uint64_t fine;     /* sixteenths of a nanosecond since the logs' earliest block */
  uint64_t process;  /* number in the log */
  uint64_t stream;   /* number in the process */
  uint64_t sequence; /* of the block in the stream */
  uint64_t at;       /* place in the block's bytes */
} PawPosition;

enum { PAW_POSITION_TEXT = 112 }; /* bytes, the end included */

PAW_API void PawEventPosition(PawPosition *positionReturn, PawEvent event); /* that before the event */
PAW_API int PawPositionCompare(const PawPosition *a, const PawPosition *b); /* less than, equal to, greater than 0 */
PAW_API void PawPositionOfTime(PawPosition *positionReturn, PawLog log, uint64_t time);
/* as text, which holds for later openings of the same logs; and back: PAW_FORMAT, PAW_FAIL: of another log */
PAW_API void PawPositionText(char text[PAW_POSITION_TEXT], PawLog log, const PawPosition *position);
PAW_API int PawPositionRead(PawPosition *positionReturn, PawLog log, const char *text);

/* Requests */

typedef struct PawRequest PawRequest;

/* One thread's events of one kind, in one process. */
typedef struct PawStream {
  PawProcess process;
  uint32_t stream; /* its number in the process */
  uint32_t thread; /* as the system numbers it */
  unsigned kind;
} PawStream;

/* A hook for events.  One that returns TRUE (not 0) ends the chunk: once all hooks have been called for this event,
 * `pending` is asked. */
typedef int (*PawEventHook)(PawRequest *request, PawEvent event);

typedef struct PawHook {
  PawEventHook call;
  int priority;  /* those for one event are called by rising priority, then in the order of filing, then as given */
  unsigned code; /* only events with this code; 0: all that the request chooses */
} PawHook;

/* PawRequest -- the caller's; while it is filed nothing of it changes but `stop`.  The service only reads it. */
struct PawRequest {
  size_t size;     /* of this struct */
  void *data;      /* the caller's own */
  uint64_t from, to; /* times: from inclusive, to exclusive; 0 and UINT64_MAX for all */
  const PawPosition *start, *end; /* the same by position, or NULL; of two bounds the narrower holds */
  uint64_t count;  /* at most so many events, hooks or not, that it chooses and accepts; UINT64_MAX for all */
  uint32_t kinds;  /* a bit for each kind; blocks of others are skipped unread.  UINT32_MAX is all, also those that no
                      header can name */
  int (*choose)(void *data, PawProcess process, PawType type); /* asked once for each type; NULL: all */
  void *chooseData; /* handed to `choose` instead of `data`, unless NULL */
  int (*accept)(void *data, PawEvent event); /* asked of each event that it chooses; an event that it refuses is not
                      the request's, and is not counted.  It files, withdraws and stops nothing.  NULL: all are */
  void *acceptData; /* handed to `accept` */
  int high;        /* goes before those that are not */
  int stop;        /* set by a hook of its own: the request ends when the hook returns.  Others withdraw it. */

  PawEventHook event;   /* for all events, of priority 0; or NULL */
  const PawHook *hooks; /* more of them */
  size_t hookCount;

  /* Called once each, before and after the whole, each process, each of its streams; and before and after each time
   * that the request is served.  Each may be NULL. */
  void (*before)(PawRequest *request);
  void (*after)(PawRequest *request);
  void (*beforeProcess)(PawRequest *request, PawProcess process);
  void (*afterProcess)(PawRequest *request, PawProcess process);
  void (*beforeStream)(PawRequest *request, const PawStream *stream);
  void (*afterStream)(PawRequest *request, const PawStream *stream);
  void (*beforeChunk)(PawRequest *request);
  void (*afterChunk)(PawRequest *request);
  void (*gap)(PawRequest *request, const PawGap *gap); /* while it is served, events that it might have wanted are
                                                          lost */
};

/* PawRequestInit -- a request for all events, without hooks */
PAW_API void PawRequestInit(PawRequest *request, size_t size);
#define PawRequestInit(request) PawRequestInit(request, sizeof *(request))

/* PawFilterMake -- what an expression means for the events of a log, as eventcnv --filter takes it.  PAW_PARAM: the
 * message says what is wrong, and where; PAW_MEMORY.  Any number of requests may have it.  PawFilterFree -- not while
 * a request with it is filed; NULL is none. */
PAW_API int PawFilterMake(PawFilter *filterReturn, PawLog log, const char *expression, char *message, size_t size);
PAW_API void PawFilterFree(PawFilter filter);

/* PawRequestFilter -- the request is for events for which a filter holds, of those that it is for already: its times
 * and kinds are narrowed, and `accept` becomes the filter's; so does `choose`, unless the request has one.  Last.
 * PawFilterError -- PAW_MEMORY: there was no memory for the filter, and events may have been left out for that */
PAW_API void PawRequestFilter(PawRequest *request, PawFilter filter);
PAW_API int PawFilterError(PawFilter filter);

/* PawRead -- file one request and serve it: the short way.  A hook that returns TRUE ends it, since nothing else waits.
 * Errors as PawServiceFile and PawServiceRun have them. */
PAW_API int PawRead(PawLog log, PawRequest *request);

/* PawPositionStep -- move a position by `n` events that the request chooses and accepts, backwards if n < 0; what else
 * the request says is not looked at.  *nReturn, which may be NULL, is how many there were.  PAW_MEMORY, PAW_IO,
 * PAW_PARAM.
 * Cost: forwards, reading so many events; backwards, a few times that. */
PAW_API int PawPositionStep(PawPosition *position, uint64_t *nReturn, PawLog log, PawRequest *request, int64_t n);

/* Services: many requests at a time */

/* PawServiceCreate -- `chunk` is how many events are read between two looks at what is pending; 0: 65536.  PAW_MEMORY.
 * Destroying it withdraws what is filed. */
PAW_API int PawServiceCreate(PawService *serviceReturn, PawLog log, uint64_t chunk);
PAW_API void PawServiceDestroy(PawService service); /* NULL is none; not from a hook */

/* PawServiceFile -- the request is served from now on, and its `stop` is reset; also from a hook.  PAW_MEMORY;
 * PAW_PARAM: it is filed already, its size or a hook of it cannot be, or the service is being destroyed. */
PAW_API int PawServiceFile(PawService service, PawRequest *request);

/* PawServiceWithdraw -- the request is served no longer; also from a hook.  If it is being served its after-hooks are
 * called before this returns; if it never was, none.  Then it is the caller's again, and may be freed, in its own hook,
 * too.  Returns 1, or 0 if it was not filed, or has ended. */
PAW_API int PawServiceWithdraw(PawService service, PawRequest *request);

/* PawServiceRun -- serve until all requests have ended; or until `pending`, which may be NULL, says so after a chunk:
 * PAW_PENDING, and the next call goes on.  PAW_MEMORY, PAW_IO: those that are served have ended.  Not from a hook. */
PAW_API int PawServiceRun(PawService service, int (*pending)(void *data), void *data);

#ifdef __cplusplus
}
#endif

#endif /* PAWLOG_H */
