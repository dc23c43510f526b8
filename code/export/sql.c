/* sql.c -- events as SQL, for sqlite3
 *
 * Rows of one table are collected and inserted together, which is what sqlite3 loads fastest; `n`, the number of the
 * event, keeps the order of text.  All of it is one transaction: of an output that was cut off nothing is loaded.
 *
 * Design: design/view.md .sql      Tests: test/export/formats.t
 *
 * There is a table for each type of event, made when its first event comes.  Types of several registries that look the
 * same (name, parameters, letters) share one.  Names come out of logs: what of them would end a quoted name is
 * replaced, and what SQLite has another meaning for, or is taken, is changed.
 *
 * Always true: rows wait in at most `sqlHeapsMAX` heaps, each of one table; a heap has room for one more row; no two
 * tables have the same name, and no two columns of one, also for SQLite, which does not tell capitals from small
 * letters.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/aver.h"
#include "base/text.h"
#include "base/types.h"
#include "export/describe.h"
#include "export/eventstamp.h"
#include "export/output.h"
#include "export/writer.h"
#include "log/log.h"
#include "request/typecache.h"

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

enum {
  sqlViewTABLES = 500,  /* SQLite's limit on the parts of one query */
  sqlViewCOLUMNS = 1900, /* and, nearly, on its columns */
  sqlLiteralMAX = 1024
};

/* The columns that each table begins with, or the view has. */
static const char *const sqlOwn[] = {"n", "time", "pid", "tid", "kind", "name"};

enum {
  sqlHeapsMAX = 64, sqlHeapSIZE = 16 * 1024,
  sqlRowMAX = 32 + StampMAX + EventParamMAX * 24 + 2 * LogEventMAX + 32 /* bytes that a row may take */
};

/* Rows of one table, that one statement will insert. */
typedef struct sqlHeapStruct {
  SqlTable table;   /* NULL: empty */
  char *next;       /* == rows: no row */
  char rows[sqlHeapSIZE];
} sqlHeapStruct, *SqlHeap;

struct WriterStruct {
  Log log;
  Output output;
  uint64_t count;    /* events */
  StampStruct stamp; /* time 0 is the events' earliest */
  TypeCacheStruct plans; /* SqlTable; NULL: none of the type came yet */
  SqlTable first, *end;  /* in the order in which they were made */
  Count tables;
  sqlHeapStruct heap[sqlHeapsMAX]; /* by table, modulo */
};

/* ---- Names and literals ---- */

/* sqlSafe -- a name as it can stand between double quotes */
static void sqlSafe(char *safe, const char *name, Size length)
{
  if (length > 255)
    length = 255;
  CleanName(safe, name, length);
  safe[length] = '\0';
}

/* sqlLiteral -- write bytes as a literal, cut to sqlLiteralMAX */
static void sqlLiteral(Output output, const char *bytes, Size length)
{
  TextStruct text;

  TextInit(&text, OutputRoom(output), OutputRoomMAX);
  DescribeString(&text, DescribeSQL, bytes, length < sqlLiteralMAX ? length : sqlLiteralMAX, FALSE);
  output->next = text.next;
}

/* sqlPlain -- write `before`, and a name as a literal */
static void sqlPlain(Output output, const char *before, const char *name, Size length)
{
  char safe[256];

  sqlSafe(safe, name, length);
  OutputString(output, before);
  sqlLiteral(output, safe, strlen(safe));
}

static Bool sqlTaken(Writer sql, const char *name)
{
  static const char *const reserved[] = {"events", "types", "processes", "recording"};
  SqlTable table;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(reserved); ++i)
    if (strcasecmp(name, reserved[i]) == 0)
      return TRUE;
  for (table = sql->first; table != NULL; table = table->next)
    if (strcasecmp(name, table->name) == 0)
      return TRUE;
  return strncasecmp(name, "sqlite_", 7) == 0;
}

static void sqlTableName(Writer sql, SqlTable table)
{
  char safe[256];
  Count n = sql->tables;

  sqlSafe(safe, table->type->name, table->type->nameLength);
  (void)snprintf(table->name, sizeof table->name, "%s", safe);
  while (sqlTaken(sql, table->name))
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

static void sqlTableCreate(Output output, SqlTable table)
{
  EventType type = table->type;
  Index i;

  OutputFormat(output, "CREATE TABLE \"%s\"(n INTEGER PRIMARY KEY, time REAL, pid INTEGER, tid INTEGER", table->name);
  for (i = 0; i < type->params; ++i)
    OutputFormat(output, ", \"%s\" %s", table->column[i],
                 type->letter[i] == 'S' ? "TEXT" : type->letter[i] == 'D' ? "REAL" : "INTEGER");
  OutputString(output, ");\n");
}

/* sqlTablesMake -- the table for an event whose type has none yet, and the statement that creates it if it is new;
 * NULL: no memory */
static SqlTable sqlTablesMake(Writer sql, LogEvent event)
{
  SqlTable table;
  Index i;

  for (table = sql->first; table != NULL && !sqlAlike(table->type, event->type); table = table->next)
    ;
  if (table == NULL) {
    table = calloc(1, sizeof *table + event->type->params * sizeof table->column[0]);
    if (table == NULL)
      return NULL;
    table->number = sql->tables;
    table->registry = event->process->registry;
    table->type = event->type;
    sqlTableName(sql, table);
    for (i = 0; i < event->type->params; ++i)
      sqlColumnName(table, i);
    *sql->end = table;
    sql->end = &table->next;
    ++sql->tables;
    sqlTableCreate(sql->output, table);
  }
  return table;
}

/* ---- The end ---- */

/* sqlIndexes -- addresses are what is looked for */
static void sqlIndexes(Output output, SqlTable table)
{
  Index i;

  for (i = 0; i < table->type->params; ++i)
    if (table->type->letter[i] == 'A')
      OutputFormat(output, "CREATE INDEX \"address_%zu_%zu\" ON \"%s\"(\"%s\");\n", table->number, i, table->name,
                   table->column[i]);
}

/* sqlColumns -- every column name of all tables, once; returns how many */
static Count sqlColumns(Writer sql, const char *column[sqlViewCOLUMNS])
{
  Count count = 0;
  SqlTable table;
  Index i, c;

  for (table = sql->first; table != NULL && table->number < sqlViewTABLES; table = table->next)
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

  sqlPlain(output, "SELECT n,time,pid,tid,", kind, strlen(kind));
  sqlPlain(output, " AS kind,", table->type->name, table->type->nameLength);
  OutputString(output, " AS name");
  for (c = 0; c < columns; ++c) {
    for (i = 0; i < table->type->params && strcasecmp(column[c], table->column[i]) != 0; ++i)
      ;
    OutputFormat(output, ",%s\"%s\"", i == table->type->params ? "NULL AS " : "", column[c]);
  }
  OutputFormat(output, " FROM \"%s\"\n", table->name);
}

static void sqlView(Writer sql)
{
  const char *column[sqlViewCOLUMNS];
  Count columns = sqlColumns(sql, column);
  SqlTable table;

  OutputString(sql->output, "CREATE VIEW events AS\n");
  if (sql->first == NULL)
    OutputString(sql->output, "SELECT 0 AS n, 0 AS time, 0 AS pid, 0 AS tid, '' AS kind, '' AS name WHERE 0\n");
  for (table = sql->first; table != NULL && table->number < sqlViewTABLES; table = table->next) {
    if (table != sql->first)
      OutputString(sql->output, "UNION ALL ");
    sqlViewPart(sql->output, table, column, columns);
  }
  OutputString(sql->output, ";\n");
}

static void sqlType(Output output, SqlTable table)
{
  EventType type = table->type;
  const char *kind = table->registry->kind[type->kind];

  sqlPlain(output, "INSERT INTO types VALUES(", type->name, type->nameLength);
  sqlPlain(output, ",", kind, strlen(kind));
  OutputFormat(output, ",%u,%lu,", type->code, table->count);
  sqlLiteral(output, table->name, strlen(table->name));
  OutputString(output, ",");
  sqlLiteral(output, type->describe, type->describeLength);
  OutputString(output, ");\n");
}

/* sqlTablesEnd -- what comes behind all rows: indexes, the view `events` over all tables, and the table `types` */
static void sqlTablesEnd(Writer sql)
{
  SqlTable table;

  OutputString(sql->output, "CREATE TABLE types(name TEXT, kind TEXT, code INTEGER, events INTEGER, tablename TEXT, "
                  "description TEXT);\n");
  for (table = sql->first; table != NULL; table = table->next)
    sqlType(sql->output, table);
  sqlView(sql);
  for (table = sql->first; table != NULL; table = table->next)
    sqlIndexes(sql->output, table);
}

/* ---- Rows ---- */

static void sqlFlush(Output output, SqlHeap heap)
{
  if (heap->next == heap->rows)
    return;
  OutputFormat(output, "INSERT INTO \"%s\" VALUES\n", heap->table->name);
  OutputBytes(output, heap->rows, (Size)(heap->next - heap->rows) - 2); /* without the last comma */
  OutputString(output, ";\n");
  heap->next = heap->rows;
}

static inline char *sqlValue(char *p, LogEvent event, Index i)
{
  char letter = event->type->letter[i];
  TextStruct text;
  uint64_t word;

  if (letter == 'P' || letter == 'A') {
    memcpy(p, "0x", 2); /* a hexadecimal literal has all 64 bits for SQLite */
    return PutHex(p + 2, LogEventWord(event, i));
  }
  if (letter != 'S' && letter != 'D' && LIKELY((word = LogEventWord(event, i)) < UINT32_MAX))
    return PutDecimal(p, word);
  TextInit(&text, p, 2 * LogEventMAX + 32);
  DescribeValue(&text, DescribeSQL, event, i);
  return text.next;
}

static char *sqlRow(Writer sql, char *p, LogEvent event)
{
  Index i;

  *p++ = '(';
  p = StampPut(PutDecimal(p, sql->count), &sql->stamp, event);
  for (i = 0; i < event->type->params; ++i) {
    *p++ = ',';
    p = sqlValue(p, event, i);
  }
  memcpy(p, "),\n", 3);
  return p + 3;
}

static Bool sqlEvent(LogRequest request, LogEvent event)
{
  Writer sql = request->data;
  SqlTable *place = TypeCacheOf(&sql->plans, event), table;
  SqlHeap heap;

  if (UNLIKELY(place == NULL || (*place == NULL && (*place = sqlTablesMake(sql, event)) == NULL)))
    OutputFail(sql->output, ENOMEM);
  if (UNLIKELY(sql->output->failed != 0))
    return TRUE;
  table = *place;
  heap = &sql->heap[table->number % sqlHeapsMAX];
  if (UNLIKELY(heap->table != table) || UNLIKELY(heap->next > heap->rows + (sqlHeapSIZE - sqlRowMAX))) {
    sqlFlush(sql->output, heap);
    heap->table = table;
  }
  ++sql->count;
  ++table->count;
  heap->next = sqlRow(sql, heap->next, event);
  AVER_CRITICAL(heap->next <= heap->rows + sqlHeapSIZE);
  return FALSE;
}

/* ---- Beginning and end ---- */

static Res sqlCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  static const StampPartsStruct parts = {",", ",", ",", "", NULL};
  Writer sql = calloc(1, sizeof *sql);
  Index i;

  UNUSED(class);
  if (sql == NULL)
    return ResMEMORY;
  sql->log = options->log;
  sql->output = options->output;
  StampInit(&sql->stamp, &parts, options->start);
  for (i = 0; i < sqlHeapsMAX; ++i)
    sql->heap[i].next = sql->heap[i].rows;
  sql->end = &sql->first;
  TypeCacheInit(&sql->plans, sizeof(SqlTable));
  OutputString(sql->output, "-- Events of a memory manager, for sqlite3: eventcnv -f sql LOG | sqlite3 FILE.db\n"
               "PRAGMA synchronous=OFF;\nPRAGMA cache_size=-65536;\nBEGIN;\n"
               "CREATE TABLE processes(pid INTEGER, parent INTEGER, program TEXT);\n");
  for (i = 0; i < LogProcesses(sql->log); ++i) {
    const HeaderStruct *header = &LogProcessAt(sql->log, i)->header;
    OutputFormat(sql->output, "INSERT INTO processes VALUES(%u,%u,", header->pid, header->parent);
    sqlLiteral(sql->output, header->program, strlen(header->program));
    OutputString(sql->output, ");\n");
  }
  *writerReturn = sql;
  return ResOK;
}

static void sqlFinish(Writer sql)
{
  LogSummaryStruct summary;
  Index i;

  for (i = 0; i < sqlHeapsMAX && sql->output->failed == 0; ++i)
    sqlFlush(sql->output, &sql->heap[i]);
  if (sql->output->failed != 0)
    return;
  sqlTablesEnd(sql);
  LogSummarize(&summary, sql->log); /* what a query cannot know from the events */
  OutputFormat(sql->output, "CREATE TABLE recording(start_ns INTEGER, events INTEGER, discarded INTEGER, lost INTEGER, "
               "gaps INTEGER);\nINSERT INTO recording VALUES(%lu,%lu,%lu,%lu,%lu);\nCOMMIT;\n",
               sql->stamp.start, sql->count, (uint64_t)summary.discarded, (uint64_t)summary.lost,
               (uint64_t)summary.gaps);
}

static void sqlDestroy(Writer sql)
{
  while (sql->first != NULL) {
    SqlTable next = sql->first->next;
    free(sql->first);
    sql->first = next;
  }
  TypeCacheFinish(&sql->plans);
  free(sql);
}

const WriterClassStruct WriterClassSql = {
  .name = "sql", .create = sqlCreate, .event = sqlEvent, .finish = sqlFinish, .destroy = sqlDestroy,
};
