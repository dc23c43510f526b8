/* moment.h -- times as people give them to tools: those of timeparse.h, and mark:NAME
 *
 * A mark is the first event of this name that the program itself told: EventUserWord and its kin, by the string that
 * names the event, or an event of a type that the program defined.
 *
 * Design: design/view.md .mark      Tests: test/view/mark.t
 */
#ifndef SOURCE_MOMENT_H
#define SOURCE_MOMENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/labels.h"
#include "log/log.h"
#include "request/stringtable.h"
#include "request/typecache.h"

/* What is needed to know marks by their names; all events of strings and of marks have to come.  MarksInit makes it
 * empty, MarksFinish frees the memory. */
typedef struct MarksStruct {
  StringsStruct strings;
  LabelsStruct labels;
  TypeCacheStruct plans;
} MarksStruct, *Marks;

extern void MarksInit(Marks marks);
extern void MarksFinish(Marks marks);

/* MarksEvent -- the name of the mark that an event is, of *lengthReturn bytes, or NULL: it is none.  ResMEMORY. */
extern Res MarksEvent(const char **nameReturn, Size *lengthReturn, Marks marks, LogEvent event);

/* MomentFind -- `string` as ns of wall time
 * returns  ResPARAM: it is no time, or there is no such mark; ResMEMORY, ResIO.  `error` has room for `size` bytes, and
 * says why.
 * cost     a mark: reading what programs told themselves, from the log's beginning to the mark */
extern Res MomentFind(uint64_t *timeReturn, Log log, const char *string, char *error, Size size);

#endif /* SOURCE_MOMENT_H */
