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
 * Manual: pawlog(3)      Design: design/requests.md .public      Tests: test/library/pawlogtest.c,
 * test/library/pawlog.t
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
typedef struct PawHeapStruct *PawHeap;       /* to be destroyed before its log is closed; the same */
typedef struct PawBatchStruct *PawBatch;
typedef struct CodeSymbolsStruct *PawSymbols;

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

/* PawVersion -- the library's version, as "1.1.1" */
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
PAW_API uint64_t PawLast(PawLog log);      /* no event is later, unless reading tells of one */
PAW_API uint64_t PawEvents(PawLog log);    /* events that sound blocks announce */
PAW_API uint64_t PawDiscarded(PawLog log); /* discarded while recording, for want of room */
/* gaps and lost events told so far */
PAW_API uint64_t PawGaps(PawLog log);
PAW_API uint64_t PawLost(PawLog log);

/* PawTime -- a time as people give it: seconds since the earliest event, end-SECONDS before the end of the
 * recording (PawLast), or HH:MM:SS.frac of wall time.  PAW_PARAM. */
PAW_API int PawTime(uint64_t *timeReturn, PawLog log, const char *text);

/* PawKinds -- the bits of kinds, by names: "all", "Pool,Object", "+Object,-Ref".  PAW_PARAM, with a message. */
PAW_API int PawKinds(uint32_t *kindsReturn, PawLog log, const char *names, char *message, size_t size);

/* PawTypesKnown -- are these names, separated by commas or spaces, those of types of some process?  PAW_PARAM, with a
 * message that names such as are near. */
PAW_API int PawTypesKnown(PawLog log, const char *names, char *message, size_t size);

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

/* Heaps: what lives
 *
 * Time stamps of two threads may contradict what happened by up to a microsecond, and an address that is free is soon
 * given out again.  Who counts allocations and frees as their events come therefore sees objects that have gone, and
 * misses some that live.  A heap restores the order, knows what a process told of what it had already, what a child of
 * fork begins with, and that the objects of a process end with it. */

/* PawObject -- what was allocated; the heap's own copy. */
typedef struct PawObject {
  PawProcess process;
  uint64_t pool;       /* that it is in, as the log names it */
  uint64_t addr, size; /* bytes asked for */
  uint64_t time;       /* of its allocation; a resize does not change it */
  uint64_t site;       /* code address to which the call returned that allocated or last resized it; 0: not recorded */
  uint64_t stack;      /* all calls, for PawHeapStack; 0: not recorded */
  uint32_t thread;     /* that allocated it, as the system numbers it */
  uint32_t align;      /* bytes asked for; 0: none were */
} PawObject;

/* Kinds of operations. */
enum {
  PAW_ALLOC = 1,   /* the object comes */
  PAW_FREE,        /* it goes */
  PAW_MOVE,        /* it is being resized, and is nowhere until that ends: another may come to its address meanwhile */
  PAW_RESIZE,      /* it has been, and is where `object` says, perhaps at its old place */
  PAW_RESIZE_FAIL, /* it is back as it was */
  PAW_END          /* the process of `object` has ended, and all its objects with it */
};

/* What is special of an operation: bits. */
enum {
  PAW_TOLD = 1,      /* PAW_ALLOC: the object was there before: the process has it from its parent, or told of it when
                        recording began.  PAW_FREE: it was told of, and its real allocation follows. */
  PAW_PRESUMED = 2,  /* PAW_FREE: no event says so; the address was given out again, or its pool has gone */
  PAW_BESIDE = 4     /* the object is no longer at its address, where another one may live: it counts, but what is at
                        an address stays as it is */
};

typedef struct PawOperation {
  int kind;
  unsigned special;
  uint64_t time;     /* never falls within a process */
  uint32_t thread;   /* whose operation it is, as the system numbers it; 0: of none */
  PawObject object;
  uint64_t oldAddr, oldSize; /* PAW_RESIZE: before */
} PawOperation;

/* What is known of the heap of a process. */
typedef struct PawHeapCounts {
  uint64_t objects, bytes;         /* that live, or lived when it ended */
  uint64_t peakObjects, peakBytes; /* that lived at the peak of bytes, */
  uint64_t peakTime;               /* which was then */
  uint64_t repairs;                /* events that were put behind a later one */
  uint64_t overlaps;               /* allocations of a live address: a free is missing */
  uint64_t unmatched;              /* frees and resizes of what was never seen allocated */
  uint64_t doubt;                  /* objects more or less: the parent's other threads were at work during the fork */
} PawHeapCounts;

typedef void (*PawOperationHook)(void *data, const PawOperation *operation);

/* PawHeapCreate -- an empty heap, of the events that `only` is for
 * only       copied; its bounds, kinds, `choose` and `accept` count, and its hooks do not.  NULL: all events.  A heap
 *            that misses the beginning, or some of a process's kinds, is that of what it sees.
 * operation  called for each operation, in an order in which all can have happened; NULL: nobody is told, and reading
 *            begins at a check point before the end of `only` if the log's index has one
 * PAW_MEMORY, PAW_PARAM
 * PawHeapDestroy -- after its request; NULL is none */
PAW_API int PawHeapCreate(PawHeap *heapReturn, PawLog log, const PawRequest *only, PawOperationHook operation,
                          void *data);
PAW_API void PawHeapDestroy(PawHeap heap);

/* PawHeapRequest -- the request by which it gets its events; it is the heap's, to be served once (PawRead,
 * PawServiceFile), and then PawHeapSettle be called
 * PawHeapSettle -- nothing more comes: what still waited for an order is decided.  PAW_MEMORY: operations are missing.
 * PawHeapRead -- both: the short way.  Errors as PawRead and PawHeapSettle have them.
 * Cost: 20 million events a second */
PAW_API PawRequest *PawHeapRequest(PawHeap heap);
PAW_API int PawHeapSettle(PawHeap heap);
PAW_API int PawHeapRead(PawHeap heap);

/* PawHeapObjects -- the objects of a process that live, pool by pool, in each the oldest first.  The array is the
 * heap's, until its next call or event.  Before it is settled, events that wait for an order do not count.  Of a
 * process that has ended there are none, but where no process lives of the one that ended last.  Not from a hook of the
 * heap's.  PAW_MEMORY.
 * PawHeapCount -- in numbers; NULL: no event of it has come.  Valid until the next call.  Not from a hook, either. */
PAW_API int PawHeapObjects(PawHeap heap, PawProcess process, const PawObject **objectsReturn, size_t *countReturn);
PAW_API const PawHeapCounts *PawHeapCount(PawHeap heap, PawProcess process);

/* PawHeapStack -- the calls of a stack that an object has, the innermost first: addresses of code inside the calls, in
 * the object's process.  At most `most` of them, *countReturn many.  Not from a hook.
 * PAW_FAIL: these are not all; others were not recorded, not found, or are more than `most`; PAW_MEMORY, PAW_IO
 * Cost: of the first call, a pass over the definitions of stacks, 24 to 48 bytes for each frame */
PAW_API int PawHeapStack(PawHeap heap, uint64_t stack, uint64_t *frames, size_t most, size_t *countReturn);

/* Symbols: what is at addresses of code */

/* A function at an address, and where in it that is.  Strings may have any bytes. */
typedef struct PawFrame {
  const char *function; /* as people write it; NULL: unknown */
  const char *file;     /* its path; NULL: unknown */
  uint32_t line;        /* 0: unknown */
  int inlined;          /* the next frame is where it was inlined */
} PawFrame;

/* PawSymbolsCreate -- the modules of a log.  Their files, and those with debug information, are opened when the first
 * address in one is asked for: regular ELF files, for reading.  Names of C++ and Rust go through c++filt, a process
 * that is started when the first is met, if it is installed.
 * note     is given a line for each file that is missing, is another one, or has no symbols; or NULL
 * PAW_MEMORY, PAW_IO
 * PawSymbolsDestroy -- NULL is none */
PAW_API int PawSymbolsCreate(PawSymbols *symbolsReturn, PawLog log, void (*note)(void *data, const char *line),
                             void *data);
PAW_API void PawSymbolsDestroy(PawSymbols symbols);

/* PawSymbolsFind -- the functions at an address, the innermost first, with those into which it was inlined; they stay
 * until PawSymbolsDestroy
 * time     at which the address was met: modules come and go
 * address  inside of the call: that to which it returns (PawObject.site) less 1; or one that PawHeapStack gave
 * returns  how many there are; 0: nothing is known, or there is no memory
 * PawSymbolsText -- the same in words, in `text`: "inner at pool.c:12 (inlined by) PoolGet at pool.c:30", else the
 * module and the distance from its base, "libc.so.6+0x2724a"; cut to `size` bytes, the end included, and fit for a
 * terminal.  Returns `text`, or "" if size is 0.
 * Cost: of an address that was asked for before, 50 ns */
PAW_API size_t PawSymbolsFind(PawSymbols symbols, PawProcess process, uint64_t time, uint64_t address,
                              const PawFrame **framesReturn);
PAW_API const char *PawSymbolsText(PawSymbols symbols, PawProcess process, uint64_t time, uint64_t address, char *text,
                                   size_t size);

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

/* Batches: many events for one call, for languages in which a call costs more than an event (pawlog.py) */

/* PawRecords -- events of one type, each in PAW_RECORD + PawTypeFields(type) words:
 *   the time; the number of the process and that of the thread, 32 bits each; and then the fields.  P, A, W and U are
 *   numbers of 64 bits, D is a double, S two of 32 bits: where the string begins in `text`, and its bytes. */
typedef struct PawRecords {
  PawType type;
  size_t count;
  const uint64_t *words;
} PawRecords;

enum { PAW_RECORD = 2 };

typedef struct PawBatchEvents {
  size_t count;              /* events, of all types */
  const uint32_t *order;     /* count numbers: event after event, the place in `records` of its type, whose next record
                                it is */
  size_t types;
  const PawRecords *records; /* so many, some without events; a place stays its type's in later batches */
  const char *text;          /* all strings, one after the other */
  size_t textSize;
} PawBatchEvents;

/* PawBatchCreate -- events in batches, those that `request` is for: copied, and its hooks do not count; NULL: all
 * events.  `chunk` is how many events are read for a batch; 0: 16384.  PAW_MEMORY, PAW_PARAM.
 * PawBatchNext -- the next events; valid until the next call.  NULL: there are no more.  Errors as PawServiceRun.
 * PawBatchDestroy -- NULL is none
 * Cost: 15 ns an event */
PAW_API int PawBatchCreate(PawBatch *batchReturn, PawLog log, const PawRequest *request, size_t chunk);
PAW_API int PawBatchNext(PawBatch batch, const PawBatchEvents **eventsReturn);
PAW_API void PawBatchDestroy(PawBatch batch);

#ifdef __cplusplus
}
#endif

#endif /* PAWLOG_H */
