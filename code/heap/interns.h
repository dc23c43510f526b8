/* interns.h -- strings to which a program gave numbers, and addresses that it labelled with them
 *
 * Known from events called Intern with id and string, and Label with addr and id.  A number is a process's own.
 *
 * Always true: table[i] and label[i] are of the process with number i; in a table a place's address is the string's
 * number + 1, in a label's it is what is labelled; its `client` is the place in `strings`, and its `time` that of the
 * event.
 *
 * Design: design/view.md .interns .labels      Tests: test/export/linetest.c, test/export/drawn.t, test/heap/labels.t
 */
#ifndef HEAP_INTERNS_H
#define HEAP_INTERNS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heaptable.h"
#include "request/request.h"
#include "request/strings.h"

typedef struct InternsStruct {
  Strings strings;     /* the owner's, in which they are kept */
  Count count;         /* of tables */
  HeapTable table;     /* no objects: none yet */
  Count labelled;      /* the same of labels: so many tables; 0: nothing has a label */
  HeapTable label;
} InternsStruct, *Interns;

/* InternsInit -- nothing known yet.  InternsFinish gives the memory back. */
extern void InternsInit(Interns interns, Strings strings);
extern void InternsFinish(Interns interns);

/* InternsTells -- does an event of this type give a string a number?  Which parameters say so. */
extern Bool InternsTells(int *idReturn, int *stringReturn, EventType type);

/* InternsAdd -- learn from an event of such a type; ResMEMORY: it is not known */
extern Res InternsAdd(Interns interns, LogEvent event, int id, int string);

/* InternsFind -- the string with this number in a process, as a number in `strings`; 0: not known */
extern uint32_t InternsFind(Interns interns, LogProcess process, uint64_t id);

/* InternsLabels -- does an event of this type label an address?  Which parameters say so.
 * InternsLabel -- learn from an event of such a type: a number that no string has takes the label away; ResMEMORY */
extern Bool InternsLabels(int *addrReturn, int *idReturn, EventType type);
extern Res InternsLabel(Interns interns, LogEvent event, int addr, int id);

/* InternsLabelOf -- the label of an address in a process, as a number in `strings`, if it was given at `since` (ns) or
 * later; 0: none */
extern uint32_t InternsLabelOf(Interns interns, LogProcess process, uint64_t addr, uint64_t since);

/* InternsMay -- can there be labels in the log?  FALSE, too, where it is followed
 * InternsLearn -- learn what is said before `end`; as LogRead */
extern Bool InternsMay(Log log);
extern Res InternsLearn(Interns interns, Log log, const LogPositionStruct *end);

/* InternsRead -- read what `request` chooses, and learn the strings that come before its end and that it does not choose;
 * from what it is given it learns itself.  Its hook is `event`, and no other.  As LogRead; ResMEMORY: also if strings have
 * found no room.
 * cost     that of LogRead, if it chooses all that tell of strings; else 10 ns more for an event */
extern Res InternsRead(Interns interns, Log log, LogRequest request);

#endif /* HEAP_INTERNS_H */
