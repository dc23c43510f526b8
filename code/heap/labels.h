/* labels.h -- strings that a program interned, and addresses that it labelled with them
 *
 * They come from events called Intern with the parameters id and string, and Label with addr and id.  Each process has
 * ids of its own.
 *
 * Always true: the key in a table of strings is the id plus one, that in a table of labels is the address;  an entry's
 * `client` is the string's number in `strings`, and its `time` is that of the event
 *
 * Design: design/view.md .interns .labels      Tests: test/export/linetest.c, test/export/drawn.t, test/heap/labels.t
 */
#ifndef HEAP_LABELS_H
#define HEAP_LABELS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heaptable.h"
#include "request/request.h"
#include "request/stringtable.h"
#include "request/typecache.h"

typedef struct LabelsTablesStruct {
  HeapTable table;     /* owned; by the number of a process; no objects: none yet */
  Count count, capacity;
} LabelsTablesStruct, *LabelsTables;

typedef struct LabelsStruct {
  Strings strings;     /* the owner's, in which they are kept */
  LabelsTablesStruct string, label;
} LabelsStruct, *Labels;

/* LabelsInit -- no strings or labels yet.  LabelsFinish frees the memory. */
extern void LabelsInit(Labels labels, Strings strings);
extern void LabelsFinish(Labels labels);

/* What an event of a type defines: the string of an id, or the label of an address. */
enum { LabelsNOTHING = TypeCacheNOTHING, LabelsSTRING = TypeCacheCLIENT, LabelsLABEL };

/* LabelsTells -- what events of this type say
 * LabelsLearn -- learn from an event of any type.  A label with an id that no string has removes the address's label.
 * ResMEMORY: the event was not learned. */
extern int LabelsTells(EventType type);
extern Res LabelsLearn(Labels labels, LogEvent event);

/* LabelsString -- the string with this id in a process, as a number in `strings`; 0: unknown
 * LabelsOf -- the label of an address in a process, as a number in `strings`, if it was given at `since` (ns) or later;
 * 0: it has none */
extern uint32_t LabelsString(Labels labels, LogProcess process, uint64_t id);
extern uint32_t LabelsOf(Labels labels, LogProcess process, uint64_t addr, uint64_t since);

/* LabelsMay -- can there be labels in the log?  FALSE also if the log is followed.
 * LabelsBefore -- learn from all events before `end`.  Results as for LogRead. */
extern Bool LabelsMay(Log log);
extern Res LabelsBefore(Labels labels, Log log, const LogPositionStruct *end);

/* LabelsRead -- serve `request`, which has no hook but `event`, and learn in the same pass from the events before its
 * end that it does not choose.  The hook learns from those that it gets.  Results as for LogRead; ResMEMORY also if a
 * string found no memory.
 * cost     that of LogRead if the request chooses all types that LabelsTells knows; else 10 ns more for an event */
extern Res LabelsRead(Labels labels, Log log, LogRequest request);

#endif /* HEAP_LABELS_H */
