/* difflogs.c -- two logs compared, caller by caller
 *
 * A caller of one log is that of the other if it is the same function of a module of the same name, or, where functions
 * are not known, has the same offset in it.  If each log has one
 * program, that is the same module, whatever it is called.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/viewnotes.h"
#include "analyse/views.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/sitelines.h"
#include "export/jsondocument.h"

enum { logsOLD, logsNEW, logsBOTH };

#define logsPROGRAM UINT32_MAX /* in place of a module's number: the one program of each log, whatever its name */

typedef struct logsLineStruct {
  SiteLineStruct side[logsBOTH]; /* a side that does not have the caller has only 0 */
  Bool has[logsBOTH];
} logsLineStruct, *LogsLine;

typedef struct LogsStruct {
  ViewHeap heap[logsBOTH];
  SiteLinesStruct lines[logsBOTH];
  StringsStruct names;    /* of functions, modules and files of both */
  StringsStruct keys;     /* what callers are known by in both; the number less one is the line's, until all are
                             sorted */
  LogsLine line;          /* owned */
  Count count;
  SiteOrder order;
  Count top;
} LogsStruct, *Logs;

static Res logsCreate(void **viewReturn, ViewWants wants)
{
  Logs logs = calloc(1, sizeof *logs);
  Index side;

  AVER(wants->other != NULL);
  if (logs == NULL)
    return ResMEMORY;
  logs->heap[logsOLD] = wants->heap;
  logs->heap[logsNEW] = wants->other;
  logs->order = wants->order;
  logs->top = wants->top;
  for (side = logsOLD; side < logsBOTH; ++side) {
    ViewHeapBook(logs->heap[side]);
    CodeNamesWant(logs->heap[side]->names);
  }
  *viewReturn = logs;
  return ResOK;
}

/* logsOne -- is there one program in the log? */
static Bool logsOne(SiteLines lines)
{
  uint32_t module = 0;
  Index i;

  for (i = 0; i < lines->count; ++i) {
    CodePlaceStruct place = SiteGroupsPlace(&lines->groups, i);
    if (place.program && module != 0 && place.module != module)
      return FALSE;
    if (place.program)
      module = place.module;
  }
  return module != 0;
}

/* What a caller is known by in both logs: numbers in `names`. */
typedef struct logsKeyStruct {
  uint64_t offset;
  uint32_t function, module, file, line;
} logsKeyStruct;

/* logsName -- the number of a name in both logs, 0 for none; FALSE: no memory */
static Bool logsName(uint32_t *numberReturn, Logs logs, const char *name, Size length)
{
  *numberReturn = length == 0 ? 0 : StringsAdd(&logs->names, name, length);
  return length == 0 || *numberReturn != 0;
}

/* logsKey -- the number of a caller in both logs; 0: no memory */
static uint32_t logsKey(Logs logs, SiteGroups groups, Index group, Bool one)
{
  CodePlaceStruct place = SiteGroupsPlace(groups, group);
  Strings names = &groups->names->strings;
  logsKeyStruct key = {.offset = place.offset, .line = place.line};
  Size function, file, module;
  const char *functionName = StringsAt(names, place.function, &function);
  const char *fileName = StringsAt(names, place.file, &file);
  const char *moduleName = CodeNamesModule(groups->names, &place, &module);

  if (!logsName(&key.function, logs, functionName, function) || !logsName(&key.file, logs, fileName, file) ||
      !logsName(&key.module, logs, moduleName, module))
    return 0;
  if (one && place.program)
    key.module = logsPROGRAM;
  return StringsAdd(&logs->keys, (const char *)&key, sizeof key);
}

/* logsDelta -- how much more there is of what lines are sorted by, or fewer */
static uint64_t logsDelta(const logsLineStruct *line, SiteOrder order)
{
  uint64_t old = SiteLineKey(&line->side[logsOLD], order), new = SiteLineKey(&line->side[logsNEW], order);

  return new > old ? new - old : old - new;
}

static int logsCompare(const void *a, const void *b, void *order)
{
  const logsLineStruct *x = a, *y = b;
  uint64_t xd = logsDelta(x, *(SiteOrder *)order), yd = logsDelta(y, *(SiteOrder *)order);
  Index side;

  if (xd != yd)
    return xd > yd ? -1 : 1;
  for (side = logsOLD; side < logsBOTH; ++side) {
    if (x->has[side] != y->has[side])
      return x->has[side] ? -1 : 1;
    if (x->side[side].group != y->side[side].group)
      return x->side[side].group < y->side[side].group ? -1 : 1;
  }
  return 0;
}

static Res logsFinish(void *view)
{
  Logs logs = view;
  Bool one = TRUE;
  Res res = ResOK;
  Index side, i;

  for (side = logsOLD; side < logsBOTH && res == ResOK; ++side) {
    ViewHeap heap = logs->heap[side];
    res = ViewHeapFinish(heap);
    if (res == ResOK)
      res = SiteLinesMake(&logs->lines[side], &heap->book, &heap->numbers, heap->names, NULL);
    one = one && logsOne(&logs->lines[side]);
  }
  if (res != ResOK ||
      (logs->line = calloc(logs->lines[logsOLD].count + logs->lines[logsNEW].count + 1, sizeof *logs->line)) == NULL)
    return ResMEMORY;
  for (side = logsOLD; side < logsBOTH; ++side)
    for (i = 0; i < logs->lines[side].count; ++i) {
      SiteLine line = &logs->lines[side].line[i];
      uint32_t key = logsKey(logs, &logs->lines[side].groups, line->group, one);
      if (key == 0)
        return ResMEMORY;
      SiteLineAdd(&logs->line[key - 1].side[side], line);
      logs->line[key - 1].side[side].group = line->group;
      logs->line[key - 1].has[side] = TRUE;
    }
  logs->count = logs->keys.count;
  qsort_r(logs->line, logs->count, sizeof *logs->line, logsCompare, &logs->order);
  return ResOK;
}

static void logsDestroy(void *view)
{
  Logs logs = view;

  SiteLinesFinish(&logs->lines[logsOLD]);
  SiteLinesFinish(&logs->lines[logsNEW]);
  StringsFinish(&logs->names);
  StringsFinish(&logs->keys);
  free(logs->line);
  free(logs);
}

/* logsSide -- the log whose name for a caller is printed: the new one, if the caller is in it */
static Index logsSide(const logsLineStruct *line)
{
  return line->has[logsNEW] ? logsNEW : logsOLD;
}

/* Text */

/* textKeys -- what lines are sorted by, in both logs, and the change: bytes, or how many */
static void textKeys(FILE *out, SiteOrder order, const SiteLineStruct *old, const SiteLineStruct *new)
{
  uint64_t before = SiteLineKey(old, order), after = SiteLineKey(new, order);

  if (!SiteOrderIsBytes(order)) {
    fprintf(out, "%13llu%13llu", (unsigned long long)before, (unsigned long long)after);
    fprintf(out, after > before ? "%+13lld" : "%13lld", (long long)(after - before));
    return;
  }
  SayColumn(out, 13, before);
  SayColumn(out, 13, after);
  SayChange(out, 13, before, after);
}

/* logsWasted -- was it recorded in one of them what the allocator gave? */
static Bool logsWasted(Logs logs)
{
  return logs->lines[logsOLD].all.wasted.objects > 0 || logs->lines[logsNEW].all.wasted.objects > 0;
}

static Bool logsText(FILE *out, void *view)
{
  Logs logs = view;
  Count more = 0;
  SiteOrder order;
  Index i;

  fprintf(out, "%-14s%13s%13s%13s\n", "", "old", "new", "change");
  for (order = 0; order < SiteOrderLIMIT; ++order) {
    if (order == SiteOrderWASTED && !logsWasted(logs))
      continue;
    fprintf(out, "%-14s", SiteOrderName(order));
    textKeys(out, order, &logs->lines[logsOLD].all, &logs->lines[logsNEW].all);
    putc('\n', out);
  }
  fprintf(out, "\n%13s%13s%13s  caller, %s\n", "old", "new", "change", SiteOrderName(logs->order));
  for (i = 0; i < logs->count; ++i) {
    LogsLine line = &logs->line[i];
    Index side = logsSide(line);
    if (logsDelta(line, logs->order) == 0)
      break;
    if (i >= logs->top) {
      ++more;
      continue;
    }
    textKeys(out, logs->order, &line->side[logsOLD], &line->side[logsNEW]);
    fputs("  ", out);
    SiteGroupsText(out, &logs->lines[side].groups, line->side[side].group);
    putc('\n', out);
  }
  if (more > 0)
    fprintf(out, "               and %zu more that changed (--top)\n", more);
  fputs("\nold:\n", out);
  ViewNotesText(out, logs->heap[logsOLD], TRUE);
  fputs("new:\n", out);
  ViewNotesText(out, logs->heap[logsNEW], TRUE);
  return TRUE;
}

/* JSON */

static void jsonSide(FILE *out, const char *name, const SiteLineStruct *line)
{
  fprintf(out, "\"%s\": {", name);
  SiteLineJson(out, line);
  putc('}', out);
}

static Bool logsJson(FILE *out, void *view)
{
  Logs logs = view;
  Index i;

  putc('{', out);
  jsonSide(out, "old", &logs->lines[logsOLD].all);
  fputs(", ", out);
  jsonSide(out, "new", &logs->lines[logsNEW].all);
  fputs(",\n \"old_log\": {", out);
  ViewNotesJson(out, logs->heap[logsOLD]);
  fputs("},\n \"new_log\": {", out);
  ViewNotesJson(out, logs->heap[logsNEW]);
  fputs("},\n \"sites\": [", out);
  for (i = 0; i < logs->count; ++i) {
    LogsLine line = &logs->line[i];
    Index side = logsSide(line);
    fputs(i == 0 ? "\n  {" : ",\n  {", out);
    SiteGroupsJson(out, &logs->lines[side].groups, line->side[side].group);
    fputs(", ", out);
    jsonSide(out, "old", &line->side[logsOLD]);
    fputs(", ", out);
    jsonSide(out, "new", &line->side[logsNEW]);
    putc('}', out);
  }
  fputs("]}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassDiffLogs = {
  "diff", "OLD NEW: what callers had in each of two logs (--by)",
  ViewTakesTOP | ViewTakesCALLERS | ViewTakesBY, logsCreate, NULL,
  logsFinish, logsText, logsJson, logsDestroy
};
