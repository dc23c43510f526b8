/* extract.h -- writes a part of a log as a log that can be read alone
 *
 * Chosen events are written as they are.  Unless the part is to be bare, these are written besides, so that it can be
 * replayed and shown as if the whole log were there: the events before the part's end that define what others refer to
 * (interned strings and labels, modules, names of threads and processes, arenas and pools); where the log is cut by
 * time, a state dump of the objects that lived there; and the objects that a child of fork inherited from a process
 * that is not chosen.
 *
 * Design: design/log.md .cut      Tests: test/export/extract.t, test/export/extracttest.c
 */
#ifndef EXPORT_EXTRACT_H
#define EXPORT_EXTRACT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/rewrite.h"
#include "heap/heapat.h"
#include "heap/processevents.h"

/* ---- Symbols that an extract gets (extractsymbols.c) ----
 *
 * What the code addresses of the events that are written are, as events SymbolFunction and SymbolFile: of each process
 * in a stream of its own, at the time of the first event that has the address. */

typedef struct ExtractSymbolsStruct *ExtractSymbols;

/* ExtractSymbolsCreate -- ResMEMORY.  ExtractSymbolsEvent -- an event is written; FALSE: no memory.
 * ExtractSymbolsSite -- so is one that was not recorded, for a call that returns to `site`, at `time` (ns)
 * ExtractSymbolsWrite -- behind all events; *lackingReturn is how many processes have no types for that. */
extern Res ExtractSymbolsCreate(ExtractSymbols *writerReturn, LogRewrite rewrite, Log log, CodeSymbols symbols);
extern void ExtractSymbolsDestroy(ExtractSymbols writer); /* NULL is none */
extern Bool ExtractSymbolsEvent(ExtractSymbols writer, LogEvent event);
extern Bool ExtractSymbolsSite(ExtractSymbols writer, LogProcess process, uint64_t time, uint64_t site);
extern void ExtractSymbolsWrite(Count *lackingReturn, ExtractSymbols writer);

/* How many processes have a registry that lacks the events to tell */
typedef struct ExtractLackingStruct {
  Count objects; /* what lives in them, */
  Count callers; /* or who asked for that */
} ExtractLackingStruct, *ExtractLacking;

/* ExtractWrite -- read a part of `log`, and write it with `rewrite`, whose end is left to the caller
 *
 * request  what is chosen; its hooks are not called
 * of       the processes that are chosen, or NULL; the request has the events of their ancestors, too, whose heap is
 *          read, and not written
 * bare     nothing but what was chosen
 * symbols  is told of each event that is written; or NULL
 * returns  ResMEMORY, ResIO: reading stopped; a failure to write is in the output
 * cost     what comes before the part is read, too, for definitions, and for the heap from the nearest check point on
 *          (heap/heapat.h)
 */
extern Res ExtractWrite(ExtractLacking lackingReturn, Log log, LogRewrite rewrite, LogRequest request, OfProcess of, Bool bare,
                        ExtractSymbols symbols);

/* ---- The state dump with which an extract begins (extractstate.c) ----
 *
 * Between StateBegin and StateEnd stands a PoolLive for each live object, or a PoolLiveSite or PoolLiveStack where it
 * is known who asked for it, at one moment before the cut.  What was not settled at the cut (a resize that goes on,
 * an event that waits for another) follows at its own time, still before the cut; so do objects that were allocated
 * meanwhile.  At every later time the cut log's live heap is the uncut one's. */

/* A heap of `log` that is to be written. */
typedef struct ExtractHeapStruct {
  Log log;
  Heap heap;
  HeapSites sites;        /* of its objects */
  LogRewrite rewrite;
  ExtractSymbols symbols; /* gets the address of each site that is written, to look up its name; or NULL */
  ExtractLacking lacking; /* counts the processes that lack events: what these would say is left out */
} ExtractHeapStruct, *ExtractHeap;

/* ExtractState -- write what lives in a heap, which has taken all events before `from` (ns), in all its processes that
 * are shown
 * ExtractStateOf -- in one process; its dump is in the stream of `thread`, NULL: its first
 *
 * returns  ResMEMORY; a failure to write is in the output */
extern Res ExtractState(ExtractHeap heap, uint64_t from);
extern Res ExtractStateOf(ExtractHeap heap, Index number, HeapThread thread, uint64_t from);

#endif /* EXPORT_EXTRACT_H */
