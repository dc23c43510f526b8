/* sqltable.h -- the tables of the SQL format: one for each type of event, made when its first event comes
 *
 * Types of several registries that look the same (name, parameters, letters) share a table.  Names come out of logs:
 * what of them would end a quoted name is replaced, and what SQLite has another meaning for, or is taken, is changed.
 *
 * Always true: no two tables have the same name, and no two columns of one, also for SQLite, which does not tell
 * capitals from small letters.
 *
 * Design: design/view.md .sql      Tests: test/formats.t
 */
#ifndef VIEW_SQLTABLE_H
#define VIEW_SQLTABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/log.h"
#include "view/output.h"
#include "view/typeids.h"

enum { SqlNameSIZE = 288 }; /* a name of 255 and what makes it unique, NUL included */

typedef struct SqlTableStruct {
  struct SqlTableStruct *next;
  Index number;      /* 0, 1, ... as they were made */
  Registry registry; /* of the type met first, */
  EventType type;    /* which all others are like */
  uint64_t count;    /* events */
  char name[SqlNameSIZE];
  char column[][SqlNameSIZE]; /* of each parameter */
} SqlTableStruct, *SqlTable;

typedef struct SqlTablesStruct {
  TypeIdsStruct ids;
  SqlTable *table;   /* by number of the type; NULL: none of it came yet */
  SqlTable first, *end;
  Count count;
} SqlTablesStruct, *SqlTables;

/* SqlTablesInit -- no tables yet.  ResMEMORY.  SqlTablesFinish gives all memory back. */
extern Res SqlTablesInit(SqlTables tables, Log log);
extern void SqlTablesFinish(SqlTables tables);

/* SqlTablesMake -- the table for an event whose type has none, and the statement that creates it; NULL: no memory */
extern SqlTable SqlTablesMake(SqlTables tables, Output output, LogEvent event);

/* SqlTablesEnd -- what comes behind all rows: indexes, the view `events` over all tables, and the table `types` */
extern void SqlTablesEnd(SqlTables tables, Output output);

/* SqlString -- any bytes as a literal; writes at most 2 * length + 32 */
extern char *SqlString(char *p, const char *bytes, Size length, Bool cut);

#endif /* VIEW_SQLTABLE_H */
