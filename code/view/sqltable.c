/* sqltable.c -- the tables of the SQL format
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/sqltable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/aver.h"
#include "view/form.h"
#include "view/put.h"

enum {
  sqlViewTABLES = 500,  /* SQLite's limit on the parts of one query */
  sqlViewCOLUMNS = 1900 /* and, nearly, on its columns */
};

/* The columns that each table begins with, or the view has. */
static const char *const sqlOwn[] = {"n", "time", "pid", "tid", "kind", "name"};

Res SqlTablesInit(SqlTables tables, Log log)
{
  memset(tables, 0, sizeof *tables);
  tables->end = &tables->first;
  if (TypeIdsMake(&tables->ids, log) != ResOK)
    return ResMEMORY;
  tables->table = calloc(tables->ids.count + 1, sizeof *tables->table);
  return tables->table != NULL ? ResOK : ResMEMORY;
}

void SqlTablesFinish(SqlTables tables)
{
  while (tables->first != NULL) {
    SqlTable next = tables->first->next;
    free(tables->first);
    tables->first = next;
  }
  free(tables->table);
  TypeIdsFree(&tables->ids);
}

/* ---- Literals ---- */

static char *sqlHexString(char *p, const char *bytes, Size length, Bool cut)
{
  static const char hex[] = "0123456789abcdef";
  Index i;

  memcpy(p, "CAST(x'", 7);
  p += 7;
  for (i = 0; i < length; ++i) {
    *p++ = hex[(unsigned char)bytes[i] >> 4];
    *p++ = hex[bytes[i] & 15];
  }
  if (cut) {
    memcpy(p, "2e2e2e", 6);
    p += 6;
  }
  memcpy(p, "' AS TEXT)", 10);
  return p + 10;
}

char *SqlString(char *p, const char *bytes, Size length, Bool cut)
{
  char *begin = p;
  Size i, n;

  *p++ = '\'';
  for (i = 0; i < length; i += n) {
    n = TextPrintable(bytes + i, length - i);
    /* What sqlite3 or a terminal would take amiss goes as digits, and comes out as the same bytes. */
    if (n == 0)
      return sqlHexString(begin, bytes, length, cut);
    if (bytes[i] == '\'')
      *p++ = '\'';
    memcpy(p, bytes + i, n);
    p += n;
  }
  if (cut) {
    memcpy(p, "...", 3);
    p += 3;
  }
  *p++ = '\'';
  return p;
}

/* ---- Names ---- */

/* sqlSafe -- a name as it can stand between double quotes */
static void sqlSafe(char *safe, const char *name, Size length)
{
  Index i;

  if (length > 255)
    length = 255;
  for (i = 0; i < length; ++i)
    safe[i] = FormNameChar(name[i]);
  safe[length] = '\0';
}

static void sqlName(Output output, const char *name)
{
  OutputString(output, "\"");
  OutputString(output, name);
  OutputString(output, "\"");
}

/* sqlLiteral -- bytes of a header as a literal; descriptions are cut where nobody would read on */
static void sqlLiteral(Output output, const char *bytes, Size length)
{
  enum { most = 1024 };
  char literal[2 * most + 32];

  OutputBytes(output, literal, (Size)(SqlString(literal, bytes, length < most ? length : most, FALSE) - literal));
}

/* sqlPlain -- a name as text has it, as a literal */
static void sqlPlain(Output output, const char *name, Size length)
{
  char safe[256];

  sqlSafe(safe, name, length);
  sqlLiteral(output, safe, strlen(safe));
}

static Bool sqlTaken(SqlTables tables, const char *name)
{
  static const char *const reserved[] = {"events", "types", "processes", "recording"};
  SqlTable table;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(reserved); ++i)
    if (strcasecmp(name, reserved[i]) == 0)
      return TRUE;
  for (table = tables->first; table != NULL; table = table->next)
    if (strcasecmp(name, table->name) == 0)
      return TRUE;
  return strncasecmp(name, "sqlite_", 7) == 0;
}

static void sqlTableName(SqlTables tables, SqlTable table)
{
  char safe[256];
  Count n = tables->count;

  sqlSafe(safe, table->type->name, table->type->nameLength);
  (void)snprintf(table->name, sizeof table->name, "%s", safe);
  while (sqlTaken(tables, table->name))
    (void)snprintf(table->name, sizeof table->name, "event%zu_%s", ++n, safe);
}

static Bool sqlColumnTaken(SqlTable table, Index params, const char *name)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(sqlOwn); ++i)
    if (strcasecmp(name, sqlOwn[i]) == 0)
      return TRUE;
  for (i = 0; i < params; ++i)
    if (strcasecmp(name, table->column[i]) == 0)
      return TRUE;
  return FALSE;
}

static void sqlColumnName(SqlTable table, Index i)
{
  char *name = table->column[i];

  sqlSafe(name, table->type->param[i], table->type->paramLength[i]);
  while (sqlColumnTaken(table, i, name))
    strcat(name, "_"); /* at most once for each own column and each parameter: there is room */
}

/* ---- Tables ---- */

static Bool sqlAlike(EventType a, EventType b)
{
  Index i;

  if (a->params != b->params || a->nameLength != b->nameLength || memcmp(a->name, b->name, a->nameLength) != 0 ||
      memcmp(a->letter, b->letter, a->params) != 0)
    return FALSE;
  for (i = 0; i < a->params; ++i)
    if (a->paramLength[i] != b->paramLength[i] || memcmp(a->param[i], b->param[i], a->paramLength[i]) != 0)
      return FALSE;
  return TRUE;
}

static void sqlCreate(Output output, SqlTable table)
{
  EventType type = table->type;
  Index i;

  OutputString(output, "CREATE TABLE ");
  sqlName(output, table->name);
  OutputString(output, "(n INTEGER PRIMARY KEY, time REAL, pid INTEGER, tid INTEGER");
  for (i = 0; i < type->params; ++i) {
    OutputString(output, ", ");
    sqlName(output, table->column[i]);
    OutputString(output, type->letter[i] == 'S' ? " TEXT" : type->letter[i] == 'D' ? " REAL" : " INTEGER");
  }
  OutputString(output, ");\n");
}

SqlTable SqlTablesMake(SqlTables tables, Output output, LogEvent event)
{
  SqlTable *place = &tables->table[TypeIdsOf(&tables->ids, event)], table;
  Index i;

  for (table = tables->first; table != NULL && !sqlAlike(table->type, event->type); table = table->next)
    ;
  if (table == NULL) {
    table = calloc(1, sizeof *table + event->type->params * sizeof table->column[0]);
    if (table == NULL)
      return NULL;
    table->number = tables->count;
    table->registry = event->process->registry;
    table->type = event->type;
    sqlTableName(tables, table);
    for (i = 0; i < event->type->params; ++i)
      sqlColumnName(table, i);
    *tables->end = table;
    tables->end = &table->next;
    ++tables->count;
    sqlCreate(output, table);
  }
  *place = table;
  return table;
}

/* ---- The end ---- */

/* sqlIndexes -- addresses are what is looked for */
static void sqlIndexes(Output output, SqlTable table)
{
  char number[32];
  Index i;

  for (i = 0; i < table->type->params; ++i) {
    if (table->type->letter[i] != 'A')
      continue;
    (void)snprintf(number, sizeof number, "address_%zu_%zu", table->number, i);
    OutputString(output, "CREATE INDEX ");
    sqlName(output, number);
    OutputString(output, " ON ");
    sqlName(output, table->name);
    OutputString(output, "(");
    sqlName(output, table->column[i]);
    OutputString(output, ");\n");
  }
}

/* sqlColumns -- every column name of all tables, once; returns how many */
static Count sqlColumns(SqlTables tables, const char *column[sqlViewCOLUMNS])
{
  Count count = 0;
  SqlTable table;
  Index i, c;

  for (table = tables->first; table != NULL && table->number < sqlViewTABLES; table = table->next)
    for (i = 0; i < table->type->params; ++i) {
      for (c = 0; c < count && strcasecmp(column[c], table->column[i]) != 0; ++c)
        ;
      if (c == count && count < sqlViewCOLUMNS)
        column[count++] = table->column[i];
    }
  return count;
}

static void sqlViewPart(Output output, SqlTable table, const char *const *column, Count columns)
{
  const char *kind = table->registry->kind[table->type->kind];
  Index c, i;

  OutputString(output, "SELECT n,time,pid,tid,");
  sqlPlain(output, kind, strlen(kind));
  OutputString(output, " AS kind,");
  sqlPlain(output, table->type->name, table->type->nameLength);
  OutputString(output, " AS name");
  for (c = 0; c < columns; ++c) {
    for (i = 0; i < table->type->params && strcasecmp(column[c], table->column[i]) != 0; ++i)
      ;
    OutputString(output, ",");
    if (i == table->type->params)
      OutputString(output, "NULL AS ");
    sqlName(output, column[c]);
  }
  OutputString(output, " FROM ");
  sqlName(output, table->name);
  OutputString(output, "\n");
}

static void sqlView(SqlTables tables, Output output)
{
  const char *column[sqlViewCOLUMNS];
  Count columns = sqlColumns(tables, column);
  SqlTable table;

  OutputString(output, "CREATE VIEW events AS\n");
  if (tables->first == NULL)
    OutputString(output, "SELECT 0 AS n, 0 AS time, 0 AS pid, 0 AS tid, '' AS kind, '' AS name WHERE 0\n");
  for (table = tables->first; table != NULL && table->number < sqlViewTABLES; table = table->next) {
    if (table != tables->first)
      OutputString(output, "UNION ALL ");
    sqlViewPart(output, table, column, columns);
  }
  OutputString(output, ";\n");
}

static void sqlType(Output output, SqlTable table)
{
  EventType type = table->type;
  const char *kind = table->registry->kind[type->kind];

  OutputString(output, "INSERT INTO types VALUES(");
  sqlPlain(output, type->name, type->nameLength);
  OutputString(output, ",");
  sqlPlain(output, kind, strlen(kind));
  OutputNumber(output, ",", type->code);
  OutputNumber(output, ",", table->count);
  OutputString(output, ",");
  sqlLiteral(output, table->name, strlen(table->name));
  OutputString(output, ",");
  sqlLiteral(output, type->describe, type->describeLength);
  OutputString(output, ");\n");
}

void SqlTablesEnd(SqlTables tables, Output output)
{
  SqlTable table;

  OutputString(output, "CREATE TABLE types(name TEXT, kind TEXT, code INTEGER, events INTEGER, tablename TEXT, "
                  "description TEXT);\n");
  for (table = tables->first; table != NULL; table = table->next)
    sqlType(output, table);
  sqlView(tables, output);
  for (table = tables->first; table != NULL; table = table->next)
    sqlIndexes(output, table);
}
