/* liveprint.c -- what lives at a time, as text and as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/live.h"

#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/switchedoff.h"

/* Callers: what the view is sorted by, and what it prints */

uint64_t LiveSite(Live live, const HeapObjectStruct *object)
{
  uint64_t site = HeapAtSite(live->state, object);
  Frame frame = HeapSiteIsStack(site)
                  ? FrameTableFind(live->names->frames, HeapSiteProcess(site), HeapSiteNumber(site)) : NULL;

  if (!HeapSiteIsStack(site))
    return site;
  return frame != NULL ? frame->address + 1 : 0;
}

CodePlaceStruct LiveCaller(Live live, LogProcess process, const HeapObjectStruct *object)
{
  uint64_t site = HeapAtSite(live->state, object);
  SiteStruct asked = {.code = site, .process = (uint32_t)process->number, .asker = (uint32_t)process->number,
                      .time = object->time};

  asked.stack = HeapSiteIsStack(site);
  if (asked.stack) {
    asked.code = HeapSiteNumber(site);
    asked.asker = (uint32_t)HeapSiteProcess(site);
  }
  return CodeNamesCallerOf(live->names, &asked);
}

static double printSince(Live live, uint64_t time)
{
  return DocumentSince(live->summary.first, time);
}

/* printAt -- the time that was asked for, or the log's end if that is earlier */
static double printAt(Live live)
{
  return printSince(live, live->at < live->summary.last ? live->at : live->summary.last);
}

/* printThread -- the system's number of the thread that had an object */
static uint32_t printThread(LiveProcess process, HeapObject object)
{
  return object->thread < process->threads ? process->thread[object->thread]->id : 0;
}

/* Text */

static void textSum(FILE *out, LiveRow sum)
{
  fprintf(out, "%10llu object%s, ", (unsigned long long)sum->objects, TextPlural(sum->objects));
  SayBytes(out, sum->bytes);
}

/* textLabel -- what the program calls what is at an address since then; the line ends */
static void textLabel(FILE *out, Live live, LiveProcess process, uint64_t addr, uint64_t since)
{
  ViewLabelsText(out, &live->labels, process->process, addr, since);
  putc('\n', out);
}

static void textArenas(FILE *out, Live live, LiveProcess process)
{
  Index i;

  fprintf(out, "  arenas       %zu\n", process->arenas);
  for (i = 0; i < process->arenas; ++i) {
    HeapObject arena = &process->arena[i];
    fprintf(out, "    0x%-14llx ", (unsigned long long)arena->addr);
    SayBytes(out, arena->size);
    fprintf(out, " of address space, grain %u, since %.9f s", arena->client, printSince(live, arena->time));
    textLabel(out, live, process, arena->addr, arena->time);
  }
}

static void textPools(FILE *out, Live live, LiveProcess process)
{
  Index i;

  fprintf(out, "  pools        %zu\n", process->byPool.count);
  for (i = 0; i < process->byPool.count; ++i) {
    HeapPool pool = process->pool[i];
    fprintf(out, "    0x%-14llx ", (unsigned long long)pool->addr);
    textSum(out, &process->byPool.row[i]);
    if (pool->class[0] != '\0') {
      fputs(", class ", out);
      SayPlain(out, pool->class, strlen(pool->class));
    }
    if (pool->segments > 0) {
      fprintf(out, ", %llu segments of ", (unsigned long long)pool->segments);
      SayBytes(out, pool->reserved);
    }
    if (pool->arena != 0)
      fprintf(out, ", arena 0x%llx", (unsigned long long)pool->arena);
    textLabel(out, live, process, pool->addr, pool->time);
  }
}

static void textRows(FILE *out, LiveRows rows)
{
  Index i;

  for (i = 0; i < rows->count; ++i) {
    fprintf(out, "    %-16llu ", (unsigned long long)rows->row[i].key);
    textSum(out, &rows->row[i]);
    putc('\n', out);
  }
}

/* printPlace -- where the callers of a row are */
static CodePlaceStruct printPlace(Live live, LiveRow row)
{
  CodePlaceStruct place;
  Size length;

  memcpy(&place, StringsAt(&live->places, (uint32_t)row->key, &length), sizeof place);
  return place;
}

static void textSites(FILE *out, Live live, LiveProcess process)
{
  Index i;

  if (process->bySite.count > 0)
    fprintf(out, "  by caller    %zu, of which:\n", process->sites);
  for (i = 0; i < process->bySite.count; ++i) {
    CodePlaceStruct place = printPlace(live, &process->bySite.row[i]);
    fputs("    ", out);
    textSum(out, &process->bySite.row[i]);
    fputs("  ", out);
    CodeNamesText(out, live->names, &place);
    putc('\n', out);
  }
}

static void textTop(FILE *out, Live live, LiveProcess process, const char *name, LiveTop top)
{
  Index i;

  fprintf(out, "  %s\n", name);
  for (i = 0; i < top->count; ++i) {
    HeapObject object = &top->object[i].object;
    fprintf(out, "    0x%-14llx %10llu bytes, thread %u, pool 0x%llx, since %.9f s", (unsigned long long)object->addr,
            (unsigned long long)object->size, printThread(process, object),
            (unsigned long long)top->object[i].pool->addr, printSince(live, object->time));
    fputs(object->told ? " or before" : "", out);
    if (process->bySite.count > 0) {
      CodePlaceStruct place = LiveCaller(live, process->process, object);
      fputs(", by ", out);
      CodeNamesText(out, live->names, &place);
    }
    textLabel(out, live, process, object->addr, object->time);
  }
}

static void textProcess(FILE *out, Live live, LiveProcess process)
{
  Header header = &process->process->header;

  fprintf(out, "process        %u ", header->pid);
  CalledSay(out, header);
  fprintf(out, "\n  objects      %llu, ", (unsigned long long)process->sum.objects);
  SayBytes(out, process->sum.bytes);
  putc('\n', out);
  if (process->doubt > 0)
    fprintf(out,
            "  in doubt     %llu at most, more or less: other threads of its parent were at work when it was forked\n",
            (unsigned long long)process->doubt);
  if (process->late)
    fputs("  by clone     made by a system call past the library: what it had at first is what its parent had at its "
          "first event\n", out);
  textArenas(out, live, process);
  textPools(out, live, process);
  if (process->sum.objects == 0)
    return;
  fputs("  by size\n", out);
  textRows(out, &process->byClass);
  fputs("  by thread\n", out);
  textRows(out, &process->byThread);
  textSites(out, live, process);
  textTop(out, live, process, "largest", &process->largest);
  textTop(out, live, process, "oldest", &process->oldest);
}

Bool LiveText(FILE *out, void *view)
{
  Live live = view;
  HeapOffStruct off = HeapOff(live->state->heap, NULL);
  Index i;

  fprintf(out, "at             %.9f s\n", printAt(live));
  HeapOffText(out, &off, live->summary.first);
  AskedText(out, &live->summary);
  for (i = 0; i < live->processes; ++i)
    textProcess(out, live, &live->process[i]);
  if (live->processes == 0)
    fputs("nothing is known of allocations until then\n", out);
  return TRUE;
}

/* JSON */

static void jsonAddress(FILE *out, const char *name, uint64_t address)
{
  if (address == 0)
    fprintf(out, "\"%s\": null", name);
  else
    fprintf(out, "\"%s\": \"0x%llx\"", name, (unsigned long long)address);
}

static void jsonSum(FILE *out, LiveRow sum)
{
  fprintf(out, ", \"objects\": %llu, \"bytes\": %llu", (unsigned long long)sum->objects,
          (unsigned long long)sum->bytes);
}

static void jsonBegin(FILE *out, const char *name)
{
  fprintf(out, ",\n   \"%s\": [", name);
}

static void jsonItem(FILE *out, Index i)
{
  fputs(i == 0 ? "\n    {" : ",\n    {", out);
}

/* jsonLabel -- what the program calls what is at an address since then; the item ends */
static void jsonLabel(FILE *out, Live live, LiveProcess process, uint64_t addr, uint64_t since)
{
  ViewLabelsJson(out, &live->labels, process->process, addr, since);
  putc('}', out);
}

static void jsonArenas(FILE *out, Live live, LiveProcess process)
{
  Index i;

  jsonBegin(out, "arenas");
  for (i = 0; i < process->arenas; ++i) {
    HeapObject arena = &process->arena[i];
    jsonItem(out, i);
    jsonAddress(out, "arena", arena->addr);
    fprintf(out, ", \"size\": %llu, \"grain\": %u, \"since\": %.9f", (unsigned long long)arena->size, arena->client,
            printSince(live, arena->time));
    jsonLabel(out, live, process, arena->addr, arena->time);
  }
  putc(']', out);
}

static void jsonPools(FILE *out, Live live, LiveProcess process)
{
  Index i;

  jsonBegin(out, "pools");
  for (i = 0; i < process->byPool.count; ++i) {
    HeapPool pool = process->pool[i];
    jsonItem(out, i);
    jsonAddress(out, "pool", pool->addr);
    fputs(", \"class\": ", out);
    JsonString(out, pool->class);
    fputs(", ", out);
    jsonAddress(out, "arena", pool->arena);
    jsonSum(out, &process->byPool.row[i]);
    fprintf(out, ", \"segments\": %llu, \"segment_bytes\": %llu, \"since\": %.9f", (unsigned long long)pool->segments,
            (unsigned long long)pool->reserved, printSince(live, pool->time));
    jsonLabel(out, live, process, pool->addr, pool->time);
  }
  putc(']', out);
}

static void jsonClass(FILE *out, uint64_t key)
{
  fprintf(out, "\"least\": %llu, \"most\": %llu", (unsigned long long)key, key == 0 ? 0 : (key - 1) * 2ull + 1);
}

static void jsonThread(FILE *out, uint64_t key)
{
  fprintf(out, "\"tid\": %llu", (unsigned long long)key);
}

static void jsonRows(FILE *out, const char *name, LiveRows rows, void (*jsonKey)(FILE *out, uint64_t key))
{
  Index i;

  jsonBegin(out, name);
  for (i = 0; i < rows->count; ++i) {
    jsonItem(out, i);
    jsonKey(out, rows->row[i].key);
    jsonSum(out, &rows->row[i]);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonSites(FILE *out, Live live, LiveProcess process)
{
  Index i;

  fprintf(out, ",\n   \"sites_in_all\": %zu", process->sites);
  jsonBegin(out, "sites");
  for (i = 0; i < process->bySite.count; ++i) {
    CodePlaceStruct place = printPlace(live, &process->bySite.row[i]);
    jsonItem(out, i);
    CodeNamesJson(out, live->names, &place);
    fputs(", ", out);
    jsonAddress(out, "site", process->bySite.row[i].site);
    jsonSum(out, &process->bySite.row[i]);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonTop(FILE *out, Live live, LiveProcess process, const char *name, LiveTop top)
{
  Index i;

  jsonBegin(out, name);
  for (i = 0; i < top->count; ++i) {
    HeapObject object = &top->object[i].object;
    jsonItem(out, i);
    jsonAddress(out, "addr", object->addr);
    fprintf(out, ", \"size\": %llu, \"tid\": %u, ", (unsigned long long)object->size, printThread(process, object));
    jsonAddress(out, "pool", top->object[i].pool->addr);
    fputs(", ", out);
    jsonAddress(out, "site", LiveSite(live, object));
    if (process->bySite.count > 0) {
      CodePlaceStruct place = LiveCaller(live, process->process, object);
      fputs(", ", out);
      CodeNamesJson(out, live->names, &place);
    }
    fprintf(out, ", \"since\": %.9f, \"earlier\": %s", printSince(live, object->time),
            object->told ? "true" : "false");
    jsonLabel(out, live, process, object->addr, object->time);
  }
  putc(']', out);
}

static void jsonProcess(FILE *out, Live live, LiveProcess process)
{
  Header header = &process->process->header;

  fprintf(out, "  {\"pid\": %u, \"name\": ", header->pid);
  JsonString(out, HeaderCalled(header));
  fputs(", \"program\": ", out);
  JsonString(out, header->program);
  jsonSum(out, &process->sum);
  fprintf(out, ", \"in_doubt\": %llu, \"by_clone\": %s", (unsigned long long)process->doubt,
          process->late ? "true" : "false");
  jsonArenas(out, live, process);
  jsonPools(out, live, process);
  jsonRows(out, "sizes", &process->byClass, jsonClass);
  jsonRows(out, "threads", &process->byThread, jsonThread);
  jsonSites(out, live, process);
  jsonTop(out, live, process, "largest", &process->largest);
  jsonTop(out, live, process, "oldest", &process->oldest);
  putc('}', out);
}

Bool LiveJson(FILE *out, void *view)
{
  Live live = view;
  HeapOffStruct off = HeapOff(live->state->heap, NULL);
  Index i;

  fprintf(out, "{\"at\": %.9f, ", printAt(live));
  HeapOffJson(out, &off);
  fputs(", ", out);
  AskedJson(out, &live->summary);
  fputs(", \"processes\": [", out);
  for (i = 0; i < live->processes; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    jsonProcess(out, live, &live->process[i]);
  }
  fputs("]}\n", out);
  return TRUE;
}
