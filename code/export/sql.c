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
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/aver.h"
#include "base/text.h"
#include "base/types.h"
#include "export/describe.h"
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

typedef struct SqlTablesStruct {
  TypeCacheStruct plans;    /* SqlTable; NULL: none of the type came yet */
  SqlTable first, *end;
  Count count;
} SqlTablesStruct, *SqlTables;

enum {
  sqlViewTABLES = 500,  /* SQLite's limit on the parts of one query */
  sqlViewCOLUMNS = 1900 /* and, nearly, on its columns */
};

/* The columns that each table begins with, or the view has. */
static const char *const sqlOwn[] = {"n", "time", "pid", "tid", "kind", "name"};

static void sqlTablesInit(SqlTables tables)
{
  memset(tables, 0, sizeof *tables);
  tables->end = &tables->first;
  TypeCacheInit(&tables->plans, sizeof(SqlTable));
}

static void sqlTablesFinish(SqlTables tables)
{
  while (tables->first != NULL) {
    SqlTable next = tables->first->next;
    free(tables->first);
    tables->first = next;
  }
  TypeCacheFinish(&tables->plans);
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

/* sqlString -- any bytes as a literal; writes at most 2 * length + 32 */
static char *sqlString(char *p, const char *bytes, Size length, Bool cut)
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
  if (length > 255)
    length = 255;
  CleanName(safe, name, length);
  safe[length] = '\0';
}

/* sqlLiteral -- bytes of a header as a literal; descriptions are cut where nobody would read on */
static void sqlLiteral(Output output, const char *bytes, Size length)
{
  enum { most = 1024 };
  char literal[2 * most + 32];

  OutputBytes(output, literal, (Size)(sqlString(literal, bytes, length < most ? length : most, FALSE) - literal));
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
static SqlTable sqlTablesMake(SqlTables tables, Output output, LogEvent event)
{
  SqlTable table;
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
    sqlTableCreate(output, table);
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
    OutputFormat(output, ",%s\"%s\"", i == table->type->params ? "NULL AS " : "", column[c]);
  }
  OutputFormat(output, " FROM \"%s\"\n", table->name);
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
  OutputFormat(output, ",%u,%" PRIu64 ",", type->code, table->count);
  sqlLiteral(output, table->name, strlen(table->name));
  OutputString(output, ",");
  sqlLiteral(output, type->describe, type->describeLength);
  OutputString(output, ");\n");
}

/* sqlTablesEnd -- what comes behind all rows: indexes, the view `events` over all tables, and the table `types` */
static void sqlTablesEnd(SqlTables tables, Output output)
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

enum {
  sqlHeapsMAX = 64, sqlHeapSIZE = 16 * 1024,
  sqlRowMAX = 96 + EventParamMAX * 24 + 2 * LogEventMAX + 32, /* bytes that a row may take */
  sqlWhoSIZE = 32, sqlWhosMAX = 64, sqlNANOS = 1000000000
};

/* Rows of one table, that one statement will insert. */
typedef struct sqlHeapStruct {
  SqlTable table;   /* NULL: empty */
  char *next;       /* == rows: no row */
  char rows[sqlHeapSIZE];
} sqlHeapStruct, *SqlHeap;

/* Process and thread, as columns. */
typedef struct sqlWhoStruct {
  LogProcess process;
  uint32_t thread;
  uint32_t length;
  char text[sqlWhoSIZE];
} sqlWhoStruct, *SqlWho;

struct WriterStruct {
  Log log;
  Output output;
  uint64_t start;    /* ns of wall time: the events' time 0 */
  uint64_t count;    /* events */
  uint64_t second;   /* whose text `seconds` is */
  Size secondsLength;
  char seconds[sqlWhoSIZE];
  SqlTablesStruct tables;
  sqlWhoStruct who[sqlWhosMAX]; /* by thread, modulo; whoever came last has the place */
  sqlHeapStruct heap[sqlHeapsMAX]; /* by table, modulo */
};

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

/* sqlDouble -- always a REAL; there is no literal for what is no number */
static __attribute__((noinline)) char *sqlDouble(char *p, double d)
{
  TextStruct text;

  TextInit(&text, p, 64);
  if (isnan(d)) {
    TextString(&text, "NULL");
  } else if (isinf(d)) {
    TextString(&text, d < 0 ? "-9e999" : "9e999");
  } else {
    TextDouble(&text, d);
    *text.next = '\0';
    if (strpbrk(p, ".e") == NULL)
      TextString(&text, ".0");
  }
  return text.next;
}

static inline char *sqlValue(char *p, LogEvent event, Index i)
{
  char letter = event->type->letter[i];
  uint64_t word;
  const char *bytes;
  Size length;

  if (letter == 'S') {
    bytes = LogEventString(event, i, &length);
    return sqlString(p, bytes, length, event->cut);
  }
  if (letter == 'D')
    return sqlDouble(p, LogEventDouble(event, i));
  word = LogEventWord(event, i);
  if (UNLIKELY(word >= UINT32_MAX) && DescribeUnknown(event, i)) {
    memcpy(p, "NULL", 4);
    return p + 4;
  }
  /* A hex literal has all 64 bits for SQLite, where a large decimal one would become a double. */
  if (letter == 'P' || letter == 'A' || UNLIKELY(word >> 63 != 0)) {
    memcpy(p, "0x", 2);
    return PutHex(p + 2, word);
  }
  return PutDecimal(p, word);
}

static __attribute__((noinline)) void sqlSeconds(Writer sql, uint64_t second)
{
  char *p = sql->seconds;

  *p++ = ',';
  p = TextPutDecimal(p, second);
  *p++ = '.';
  sql->secondsLength = (Size)(p - sql->seconds);
  sql->second = second;
}

static __attribute__((noinline)) void sqlWho(SqlWho who, LogEvent event)
{
  char *p = who->text;

  *p++ = ',';
  p = TextPutDecimal(p, event->process->header.pid);
  *p++ = ',';
  p = TextPutDecimal(p, event->thread);
  who->length = (uint32_t)(p - who->text);
  who->process = event->process;
  who->thread = event->thread;
}

static char *sqlRow(Writer sql, char *p, LogEvent event)
{
  uint64_t time = event->time - sql->start, second = time / sqlNANOS;
  SqlWho who = &sql->who[event->thread % sqlWhosMAX];
  Index i;

  if (UNLIKELY(second != sql->second))
    sqlSeconds(sql, second);
  if (UNLIKELY(event->thread != who->thread || event->process != who->process))
    sqlWho(who, event);
  *p++ = '(';
  p = PutDecimal(p, sql->count);
  memcpy(p, sql->seconds, sizeof sql->seconds);
  p = PutNanos(p + sql->secondsLength, (uint32_t)(time - second * sqlNANOS));
  memcpy(p, who->text, sizeof who->text);
  p += who->length;
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
  SqlTable *place = TypeCacheOf(&sql->tables.plans, event), table;
  SqlHeap heap;

  if (UNLIKELY(place == NULL || (*place == NULL && (*place = sqlTablesMake(&sql->tables, sql->output, event)) == NULL)))
    sql->output->failed = ENOMEM;
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
  return FALSE;
}

/* ---- Beginning and end ---- */

static void sqlProcess(Output output, LogProcess process)
{
  const HeaderStruct *header = &process->header;
  char literal[2 * HeaderTextMAX + 32], *p;

  OutputFormat(output, "INSERT INTO processes VALUES(%u,%u,", header->pid, header->parent);
  p = sqlString(literal, header->program, strlen(header->program), FALSE);
  OutputBytes(output, literal, (Size)(p - literal));
  OutputString(output, ");\n");
}

static Res sqlCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                     Size size)
{
  Writer sql = calloc(1, sizeof *sql);
  Index i;

  UNUSED(error);
  UNUSED(size);
  if (sql == NULL)
    return ResMEMORY;
  sql->log = log;
  sql->output = output;
  sql->start = options->start;
  sql->second = UINT64_MAX;
  for (i = 0; i < sqlHeapsMAX; ++i)
    sql->heap[i].next = sql->heap[i].rows;
  sqlTablesInit(&sql->tables);
  OutputString(output, "-- Events of a memory manager, for sqlite3: eventcnv -f sql LOG | sqlite3 FILE.db\n"
          "PRAGMA synchronous=OFF;\nPRAGMA cache_size=-65536;\nBEGIN;\n"
          "CREATE TABLE processes(pid INTEGER, parent INTEGER, program TEXT);\n");
  for (i = 0; i < LogProcesses(log); ++i)
    sqlProcess(output, LogProcessAt(log, i));
  *writerReturn = sql;
  return ResOK;
}

/* sqlRecording -- what a query cannot know from the events */
static void sqlRecording(Writer sql)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, sql->log);
  OutputFormat(sql->output, "CREATE TABLE recording(start_ns INTEGER, events INTEGER, discarded INTEGER, lost INTEGER, "
               "gaps INTEGER);\n"
               "INSERT INTO recording VALUES(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ");\n",
               sql->start, sql->count, (uint64_t)summary.discarded, (uint64_t)summary.lost, (uint64_t)summary.gaps);
}

static Res sqlFinish(Writer sql)
{
  Index i;

  for (i = 0; i < sqlHeapsMAX && sql->output->failed == 0; ++i)
    sqlFlush(sql->output, &sql->heap[i]);
  if (sql->output->failed == 0) {
    sqlTablesEnd(&sql->tables, sql->output);
    sqlRecording(sql);
    OutputString(sql->output, "COMMIT;\n");
  }
  return OutputEnd(sql->output);
}

static void sqlDestroy(Writer sql)
{
  sqlTablesFinish(&sql->tables);
  free(sql);
}

const WriterClassStruct WriterClassSql = {
  .name = "sql", .create = sqlCreate, .event = sqlEvent, .finish = sqlFinish, .destroy = sqlDestroy,
};
