/* scripttables.h -- the file of a script while it is compiled, and the tables that stand at its end
 *
 * What is written goes to the file at once; tables grow in memory until all is known.  The first failure stays in
 * `res`: whoever compiles goes on, and looks once.  One thread at a time.
 *
 * Design: design/replayer.md .script      Tests: test/replay/scripttest.c
 */
#ifndef REPLAY_SCRIPTTABLES_H
#define REPLAY_SCRIPTTABLES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { ScriptTablesMAX = 16 /* that a file may have */ };

typedef struct ScriptTablesStruct {
  int fd;               /* owned */
  Res res;              /* ResMEMORY, ResLIMIT, ResIO: the script cannot be made */
  int error;            /* errno of ResIO */
  uint64_t offset;      /* bytes written */
  const Size *size;     /* of an element of each table */
  Count count;
  struct {
    void *base;         /* `count` elements of `size` bytes */
    Count count, capacity;
  } table[ScriptTablesMAX];
} ScriptTablesStruct, *ScriptTables;

/* ScriptTablesBegin -- an empty file without a name, and so many tables, with elements of these sizes, which stay the
 * caller's; ResIO: errno says why there is none */
extern Res ScriptTablesBegin(ScriptTables tables, const Size *size, Count count);
extern void ScriptTablesEnd(ScriptTables tables);

/* ScriptTablesAdd -- one more element of a table, zeroed; NULL without memory, which `res` says.  Pointers to other
 * elements of the table are good no longer. */
extern void *ScriptTablesAdd(ScriptTables tables, unsigned table);

/* ScriptTablesWrite -- write behind what is written; nothing after a failure */
extern void ScriptTablesWrite(ScriptTables tables, const void *data, Size size);

#endif /* REPLAY_SCRIPTTABLES_H */
