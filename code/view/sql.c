/* sql.c -- events as SQL, for sqlite3
 *
 * Rows of one table are collected and inserted together, which is what sqlite3 loads fastest; `n`, the number of the
 * event, keeps the order of text.  All of it is one transaction: of an output that was cut off nothing is loaded.
 *
 * Design: design/view.md .sql      Tests: test/formats.t
 *
 * Always true: rows wait in at most `sqlHeapsMAX` heaps, each of one table; a heap has room for one more row.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "view/describe.h"
#include "view/put.h"
#include "view/sqltable.h"
#include "view/writer.h"

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
  OutputString(output, "INSERT INTO \"");
  OutputString(output, heap->table->name);
  OutputString(output, "\" VALUES\n");
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
    return SqlString(p, bytes, length, event->cut);
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
  SqlTable table = sql->tables.table[TypeIdsOf(&sql->tables.ids, event)];
  SqlHeap heap;

  if (UNLIKELY(table == NULL))
    table = SqlTablesMake(&sql->tables, sql->output, event);
  if (UNLIKELY(table == NULL))
    sql->output->failed = ENOMEM;
  if (UNLIKELY(sql->output->failed != 0))
    return TRUE;
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
  TextStruct text;
  char room[128];

  TextInit(&text, room, sizeof room);
  TextString(&text, "INSERT INTO processes VALUES(");
  TextDecimal(&text, header->pid);
  TextChar(&text, ',');
  TextDecimal(&text, header->parent);
  TextChar(&text, ',');
  OutputBytes(output, room, TextLength(&text));
  p = SqlString(literal, header->program, strlen(header->program), FALSE);
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
  if (SqlTablesInit(&sql->tables, log) != ResOK) {
    SqlTablesFinish(&sql->tables);
    free(sql);
    return ResMEMORY;
  }
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
  TextStruct text;
  char room[512];

  LogSummarize(&summary, sql->log);
  TextInit(&text, room, sizeof room);
  TextString(&text, "CREATE TABLE recording(start_ns INTEGER, events INTEGER, discarded INTEGER, lost INTEGER, "
             "gaps INTEGER);\n"
             "INSERT INTO recording VALUES(");
  TextDecimal(&text, sql->start);
  TextChar(&text, ',');
  TextDecimal(&text, sql->count);
  TextChar(&text, ',');
  TextDecimal(&text, summary.discarded);
  TextChar(&text, ',');
  TextDecimal(&text, summary.lost);
  TextChar(&text, ',');
  TextDecimal(&text, summary.gaps);
  TextString(&text, ");\n");
  OutputBytes(sql->output, room, TextLength(&text));
}

static Res sqlFinish(Writer sql)
{
  Index i;

  for (i = 0; i < sqlHeapsMAX && sql->output->failed == 0; ++i)
    sqlFlush(sql->output, &sql->heap[i]);
  if (sql->output->failed == 0) {
    SqlTablesEnd(&sql->tables, sql->output);
    sqlRecording(sql);
    OutputString(sql->output, "COMMIT;\n");
  }
  return OutputEnd(sql->output);
}

static void sqlDestroy(Writer sql)
{
  SqlTablesFinish(&sql->tables);
  free(sql);
}

const WriterClassStruct WriterClassSql = {
  .name = "sql", .create = sqlCreate, .event = sqlEvent, .finish = sqlFinish, .destroy = sqlDestroy,
};
