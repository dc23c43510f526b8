/* interns.h -- the strings that programs gave numbers
 *
 * Known from events called Intern with id and string.  A number is a process's own.
 *
 * Always true: table[i] is of the process with number i; a place's address is the string's number + 1, and its `client`
 * the place in `strings`.
 *
 * Design: design/view.md .interns      Tests: test/linetest.c, test/drawn.t
 */
#ifndef VIEW_INTERNS_H
#define VIEW_INTERNS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/request.h"
#include "view/heaptable.h"
#include "view/strings.h"

typedef struct InternsStruct {
  Strings strings;     /* the owner's, in which they are kept */
  Count count;         /* of tables */
  HeapTable table;     /* no objects: none yet */
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

/* InternsRead -- read what `request` chooses, and learn the strings that come before its end and that it does not choose;
 * from what it is given it learns itself.  Its hook is `event`, and no other.  As LogRead; ResMEMORY: also if strings have
 * found no room.
 * cost     that of LogRead, if it chooses all that tell of strings; else 10 ns more for an event */
extern Res InternsRead(Interns interns, Log log, LogRequest request);

#endif /* VIEW_INTERNS_H */
