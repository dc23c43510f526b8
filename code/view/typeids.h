/* typeids.h -- one number for each event type of a traceset, 0, 1, ...
 *
 * Processes with one registry share their numbers; two registries have different ones, although types may be equal.
 *
 * Design: design/view.md .writer      Tests: test/formats.t
 */
#ifndef VIEW_TYPEIDS_H
#define VIEW_TYPEIDS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/log.h"

typedef struct TypeIdsStruct {
  uint32_t *first; /* by process number: of the process's first type; the others follow */
  Count count;
} TypeIdsStruct, *TypeIds;

/* TypeIdsMake -- number the types of all processes.  ResMEMORY. */
extern Res TypeIdsMake(TypeIds ids, Log log);
extern void TypeIdsFree(TypeIds ids);

static inline uint32_t TypeIdsOf(TypeIds ids, LogEvent event)
{
  return ids->first[event->process->number] + (uint32_t)(event->type - event->process->registry->types);
}

#endif /* VIEW_TYPEIDS_H */
