/* liveprint.c -- what lives at a time, as text and as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "view/asked.h"
#include "view/calledsay.h"
#include "view/heapoff.h"
#include "view/json.h"
#include "view/livedata.h"

static double printSince(Live live, uint64_t time)
{
  return time < live->summary.first ? 0 : (double)(time - live->summary.first) / 1e9;
}

/* printAt -- the time of the question, in the log */
static uint64_t printAt(Live live)
{
  return live->at < live->summary.last ? live->at : live->summary.last;
}

/* printThread -- the system's number of the thread that had an object */
static uint32_t printThread(LiveProcess process, HeapObject object)
{
  Index i;

  for (i = 0; i < process->threads; ++i)
    if (process->thread[i].thread->number == object->thread)
      return process->thread[i].thread->id;
  return 0;
}

/* Text */

static void textSum(FILE *out, LiveSum sum)
{
  fprintf(out, "%10llu object%s, ", (unsigned long long)sum->objects, TextPlural(sum->objects));
  SayBytes(out, sum->bytes);
}

/* textLabel -- what the program calls it */
static void textLabel(FILE *out, const char *label)
{
  if (label[0] == '\0')
    return;
  fputs(", \"", out);
  SayPlain(out, label, strlen(label));
  putc('"', out);
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
    textLabel(out, LiveLabel(live, process, arena->addr, arena->time));
    putc('\n', out);
  }
}

static void textPools(FILE *out, Live live, LiveProcess process)
{
  Index i;

  fprintf(out, "  pools        %zu\n", process->pools);
  for (i = 0; i < process->pools; ++i) {
    HeapPool pool = process->pool[i].pool;
    fprintf(out, "    0x%-14llx ", (unsigned long long)pool->addr);
    textSum(out, &process->pool[i].sum);
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
    textLabel(out, LiveLabel(live, process, pool->addr, pool->time));
    putc('\n', out);
  }
}

static void textClasses(FILE *out, LiveProcess process)
{
  Index i;

  fputs("  by size\n", out);
  for (i = 0; i < LiveClassMAX; ++i) {
    if (process->class[i].objects == 0)
      continue;
    fprintf(out, "    %-16llu ", i == 0 ? 0 : 1ull << (i - 1));
    textSum(out, &process->class[i]);
    putc('\n', out);
  }
}

static void textThreads(FILE *out, LiveProcess process)
{
  Index i;

  fputs("  by thread\n", out);
  for (i = 0; i < process->threads; ++i) {
    fprintf(out, "    %-16u ", process->thread[i].thread->id);
    textSum(out, &process->thread[i].sum);
    putc('\n', out);
  }
}

static void textSites(FILE *out, LiveProcess process)
{
  Index i;

  if (process->sites == 0)
    return;
  fprintf(out, "  by site      %zu, of which:\n", process->siteCount);
  for (i = 0; i < process->sites; ++i) {
    if (process->site[i].site == 0)
      fputs("    unknown          ", out);
    else
      fprintf(out, "    0x%-14llx ", (unsigned long long)process->site[i].site);
    textSum(out, &process->site[i].sum);
    putc('\n', out);
  }
}

static void textTop(FILE *out, Live live, LiveProcess process, const char *name, LiveTop top)
{
  Index i;

  fprintf(out, "  %s\n", name);
  for (i = 0; i < top->count; ++i) {
    HeapObject object = &top->object[i].object;
    uint64_t site = StateSite(live->state, object);
    fprintf(out, "    0x%-14llx %10llu bytes, thread %u, pool 0x%llx, since %.9f s", (unsigned long long)object->addr,
            (unsigned long long)object->size, printThread(process, object),
            (unsigned long long)top->object[i].pool->addr, printSince(live, object->time));
    if (site != 0)
      fprintf(out, ", site 0x%llx", (unsigned long long)site);
    fputs(object->told ? " or before" : "", out);
    textLabel(out, LiveLabel(live, process, object->addr, object->time));
    putc('\n', out);
  }
}

static void textProcess(FILE *out, Live live, LiveProcess process)
{
  Header header = &process->process->header;

  fprintf(out, "process        %u ", header->pid);
  CalledSay(out, header);
  fputs("\n  objects      ", out);
  fprintf(out, "%llu, ", (unsigned long long)process->sum.objects);
  SayBytes(out, process->sum.bytes);
  putc('\n', out);
  if (process->doubt > 0)
    fprintf(out, "  in doubt     %llu at most, more or less: other threads of its parent were at work when it was forked\n",
            (unsigned long long)process->doubt);
  if (process->late)
    fputs("  by clone     made by a system call past the library: what it had at first is what its parent had at its "
          "first event\n", out);
  textArenas(out, live, process);
  textPools(out, live, process);
  if (process->sum.objects == 0)
    return;
  textClasses(out, process);
  textThreads(out, process);
  textSites(out, process);
  textTop(out, live, process, "largest", &process->largest);
  textTop(out, live, process, "oldest", &process->oldest);
}

void LiveText(FILE *out, Live live)
{
  HeapOffStruct off = HeapOff(StateHeap(live->state), NULL);
  Index i;

  fprintf(out, "at             %.9f s\n", printSince(live, printAt(live)));
  HeapOffText(out, &off, live->summary.first);
  AskedText(out, &live->summary);
  for (i = 0; i < live->processes; ++i)
    textProcess(out, live, &live->process[i]);
  if (live->processes == 0)
    fputs("nothing is known of allocations until then\n", out);
}

/* JSON */

static void jsonAddress(FILE *out, const char *name, uint64_t address)
{
  if (address == 0)
    fprintf(out, "\"%s\": null", name);
  else
    fprintf(out, "\"%s\": \"0x%llx\"", name, (unsigned long long)address);
}

static void jsonSum(FILE *out, LiveSum sum)
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

static void jsonLabel(FILE *out, const char *label)
{
  if (label[0] == '\0')
    return;
  fputs(", \"label\": ", out);
  JsonString(out, label);
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
    jsonLabel(out, LiveLabel(live, process, arena->addr, arena->time));
    putc('}', out);
  }
  putc(']', out);
}

static void jsonPools(FILE *out, Live live, LiveProcess process)
{
  Index i;

  jsonBegin(out, "pools");
  for (i = 0; i < process->pools; ++i) {
    HeapPool pool = process->pool[i].pool;
    jsonItem(out, i);
    jsonAddress(out, "pool", pool->addr);
    fputs(", \"class\": ", out);
    JsonString(out, pool->class);
    fputs(", ", out);
    jsonAddress(out, "arena", pool->arena);
    jsonSum(out, &process->pool[i].sum);
    fprintf(out, ", \"segments\": %llu, \"segment_bytes\": %llu, \"since\": %.9f", (unsigned long long)pool->segments,
            (unsigned long long)pool->reserved, printSince(live, pool->time));
    jsonLabel(out, LiveLabel(live, process, pool->addr, pool->time));
    putc('}', out);
  }
  putc(']', out);
}

static void jsonClasses(FILE *out, LiveProcess process)
{
  Index i, printed = 0;

  jsonBegin(out, "sizes");
  for (i = 0; i < LiveClassMAX; ++i) {
    if (process->class[i].objects == 0)
      continue;
    jsonItem(out, printed++);
    fprintf(out, "\"least\": %llu, \"most\": %llu", i == 0 ? 0 : 1ull << (i - 1),
            i == 0 ? 0 : ((1ull << (i - 1)) - 1) * 2 + 1);
    jsonSum(out, &process->class[i]);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonThreads(FILE *out, LiveProcess process)
{
  Index i;

  jsonBegin(out, "threads");
  for (i = 0; i < process->threads; ++i) {
    jsonItem(out, i);
    fprintf(out, "\"tid\": %u", process->thread[i].thread->id);
    jsonSum(out, &process->thread[i].sum);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonSites(FILE *out, LiveProcess process)
{
  Index i;

  jsonBegin(out, "sites");
  for (i = 0; i < process->sites; ++i) {
    jsonItem(out, i);
    jsonAddress(out, "site", process->site[i].site);
    jsonSum(out, &process->site[i].sum);
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
    jsonAddress(out, "site", StateSite(live->state, object));
    fprintf(out, ", \"since\": %.9f, \"earlier\": %s", printSince(live, object->time),
            object->told ? "true" : "false");
    jsonLabel(out, LiveLabel(live, process, object->addr, object->time));
    putc('}', out);
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
  jsonClasses(out, process);
  jsonThreads(out, process);
  fprintf(out, ",\n   \"sites_in_all\": %zu", process->siteCount);
  jsonSites(out, process);
  jsonTop(out, live, process, "largest", &process->largest);
  jsonTop(out, live, process, "oldest", &process->oldest);
  putc('}', out);
}

void LiveJson(FILE *out, Live live)
{
  HeapOffStruct off = HeapOff(StateHeap(live->state), NULL);
  Index i;

  fprintf(out, "{\"at\": %.9f, ", printSince(live, printAt(live)));
  HeapOffJson(out, &off);
  fputs(", ", out);
  AskedJson(out, &live->summary);
  fputs(", \"processes\": [", out);
  for (i = 0; i < live->processes; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    jsonProcess(out, live, &live->process[i]);
  }
  fputs("]}\n", out);
}
