/* deaths.c -- which processes died of a signal, and which programs were not seen
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/deaths.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "export/jsondocument.h"
#include "log/processname.h"

enum { deathsCommMAX = 15 }; /* of a program's name that the kernel keeps */

/* What event types tell. */
enum { deathsNAME = TypeCacheCLIENT, deathsEXIT, deathsUNSEEN };
enum { deathsPID, deathsSTRING, deathsSTATUS, deathsPROCESSES }; /* the string is a name, or how it ended */

static const TypeCacheKnownStruct deathsKnown[] = {
  {"ProcessStart", deathsNAME, {"UW pid", "S name"}},
  {"ProcessExec", deathsNAME, {"UW pid", "S program"}},
  {"ProcessExit", deathsEXIT, {"UW pid", "S how", "UW status"}},
  {"ProgramUnseen", deathsUNSEEN, {NULL, "S program", NULL, "UW processes"}},
};

Res DeathsInit(Deaths deaths, Log log)
{
  memset(deaths, 0, sizeof *deaths);
  deaths->log = log;
  TypeCacheInit(&deaths->plans, sizeof(TypeCacheTellStruct));
  return HeapTableInit(&deaths->named);
}

void DeathsFinish(Deaths deaths)
{
  HeapTableFinish(&deaths->named);
  HeapTableFinish(&deaths->recorded);
  TypeCacheFinish(&deaths->plans);
  StringsFinish(&deaths->strings);
}

/* deathsPut -- the entry of a process's number in a table, which is made if there is none; NULL: no memory */
static HeapObject deathsPut(Deaths deaths, HeapTable table, uint32_t pid)
{
  HeapObject place = HeapTablePut(table, (uint64_t)pid + 1);

  deaths->failed |= place == NULL;
  return place;
}

static void deathsName(Deaths deaths, LogEvent event, TypeCacheTell plan)
{
  HeapObject named = deathsPut(deaths, &deaths->named, (uint32_t)LogEventWord(event, (Index)plan->param[deathsPID]));
  Size length;
  const char *name = LogEventString(event, (Index)plan->param[deathsSTRING], &length);

  name = TypeCacheBase(name, &length);
  if (named != NULL && length > 0)
    named->client = StringsAdd(&deaths->strings, name, length);
}

/* deathsLog -- the process as it recorded itself: the newest of that number on the collector's machine; or NULL */
static LogProcess deathsLog(Deaths deaths, LogEvent event, uint32_t pid)
{
  Index i;

  for (i = LogProcesses(deaths->log); i-- > 0;) {
    LogProcess process = LogProcessAt(deaths->log, i);
    if (process->header.pid == pid && strcmp(process->header.boot, event->process->header.boot) == 0)
      return process;
  }
  return NULL;
}

/* deathsRecorded -- has the log a block of a process with this number?  A header block alone is nothing that was
 * recorded.  A later process may have the number, too. */
static Bool deathsRecorded(Deaths deaths, uint32_t pid)
{
  Index i;

  if (deaths->recorded.objects == NULL) {
    if (HeapTableInit(&deaths->recorded) != ResOK) {
      deaths->failed = TRUE;
      return TRUE;
    }
    for (i = 0; i < LogProcesses(deaths->log); ++i)
      if (LogProcessNewest(deaths->log, i) != 0)
        (void)deathsPut(deaths, &deaths->recorded, LogProcessAt(deaths->log, i)->header.pid);
  }
  return HeapTableSeek(&deaths->recorded, (uint64_t)pid + 1)->addr != 0;
}

static void deathsExit(Deaths deaths, LogEvent event, TypeCacheTell plan)
{
  static const char signal[] = "signal";
  uint32_t pid = (uint32_t)LogEventWord(event, (Index)plan->param[deathsPID]);
  Size length;
  const char *how = LogEventString(event, (Index)plan->param[deathsSTRING], &length);

  if (length != strlen(signal) || memcmp(how, signal, length) != 0)
    return;
  if (deaths->count < DeathsMAX) {
    HeapObject named = deathsPut(deaths, &deaths->named, pid);
    deaths->death[deaths->count] = (DeathStruct){
        pid, (unsigned)LogEventWord(event, (Index)plan->param[deathsSTATUS]), event->time,
        deathsLog(deaths, event, pid), named != NULL ? named->client : 0};
  }
  ++deaths->count;
  deaths->unrecorded += !deathsRecorded(deaths, pid);
}

static void deathsUnseen(Deaths deaths, LogEvent event, TypeCacheTell plan)
{
  Size length;
  const char *string = LogEventString(event, (Index)plan->param[deathsSTRING], &length);
  uint32_t program = length > 0 ? StringsAdd(&deaths->strings, string, length) : 0;
  uint64_t processes = LogEventWord(event, (Index)plan->param[deathsPROCESSES]);
  Index i;

  deaths->failed |= program == 0 && length > 0;
  for (i = 0; i < deaths->unseens && i < DeathsUnseenMAX; ++i)
    if (deaths->unseen[i].program == program) {
      deaths->unseen[i].processes = CountAdd(deaths->unseen[i].processes, processes);
      return;
    }
  if (program == 0)
    return;
  if (i < DeathsUnseenMAX)
    deaths->unseen[i] = (DeathsUnseenStruct){program, processes};
  ++deaths->unseens;
}

Bool DeathsWants(EventType type)
{
  return TypeCacheKnows(type, deathsKnown, ARRAY_LENGTH(deathsKnown));
}

void DeathsEvent(Deaths deaths, LogEvent event)
{
  TypeCacheTell plan = TypeCacheTells(&deaths->plans, event, deathsKnown, ARRAY_LENGTH(deathsKnown));

  if (UNLIKELY(plan == NULL)) {
    deaths->failed = TRUE;
    return;
  }
  if (LIKELY(plan->tells == TypeCacheNOTHING))
    return;
  if (plan->tells == deathsNAME)
    deathsName(deaths, event, plan);
  else if (plan->tells == deathsEXIT)
    deathsExit(deaths, event, plan);
  else
    deathsUnseen(deaths, event, plan);
}

/* deathsNameOf -- what a dead process is called, without its folders; "" if that is not known */
static const char *deathsNameOf(Deaths deaths, const DeathStruct *death, Size *lengthReturn)
{
  const char *name = death->log != NULL ? HeaderProgram(&death->log->header) : "";
  Size length = 0;
  const char *told = death->name != 0 ? StringsAt(&deaths->strings, death->name, &length) : NULL;

  /* Whoever became a program that was not recorded is called like that one; else as people know it. */
  if (told != NULL && !(strncmp(told, name, length) == 0 && (name[length] == '\0' || length == deathsCommMAX))) {
    *lengthReturn = length;
    return told;
  }
  name = death->log != NULL ? HeaderCalled(&death->log->header) : "";
  *lengthReturn = strlen(name);
  return name;
}

/* deathsSignal -- what a signal is called, as KILL; "" if that is not known */
static const char *deathsSignal(unsigned signal)
{
  const char *name = signal < NSIG ? sigabbrev_np((int)signal) : NULL;

  return name != NULL ? name : "";
}

static void deathsUnseenText(FILE *out, Deaths deaths)
{
  Index i;

  for (i = 0; i < deaths->unseens && i < DeathsUnseenMAX; ++i) {
    Size length;
    const char *program = StringsAt(&deaths->strings, deaths->unseen[i].program, &length);
    fprintf(out, "%-14s ", i == 0 ? "not seen" : "");
    SayPlain(out, program, length);
    if (deaths->unseen[i].processes > 1)
      fprintf(out, " (%llu processes)", (unsigned long long)deaths->unseen[i].processes);
    putc('\n', out);
  }
  if (deaths->unseens > DeathsUnseenMAX)
    fprintf(out, "               and %zu more\n", deaths->unseens - DeathsUnseenMAX);
}

void DeathsText(FILE *out, Deaths deaths, uint64_t start)
{
  Index i;

  for (i = 0; i < deaths->count && i < DeathsMAX; ++i) {
    Death death = &deaths->death[i];
    Size length;
    const char *name = deathsNameOf(deaths, death, &length), *signal = deathsSignal(death->signal);
    fprintf(out, "%-14s %u", i == 0 ? "killed" : "", death->pid);
    fputs(length > 0 ? " (" : "", out);
    SayPlain(out, name, length);
    fprintf(out, "%s by signal %u%s%s, at %.9f s\n", length > 0 ? ")" : "", death->signal,
            signal[0] != '\0' ? ", " : "", signal, DocumentSince(start, death->time));
  }
  if (deaths->count > DeathsMAX)
    fprintf(out, "               and %zu more\n", deaths->count - DeathsMAX);
  if (deaths->unrecorded > 0)
    fprintf(out, "               %zu of %zu had recorded nothing, and %s none of the processes above\n",
            deaths->unrecorded, deaths->count, deaths->unrecorded == 1 ? "is" : "are");
  deathsUnseenText(out, deaths);
}

static void deathsUnseenJson(FILE *out, Deaths deaths)
{
  Index i;

  fputs("\"not_seen\": [", out);
  for (i = 0; i < deaths->unseens && i < DeathsUnseenMAX; ++i) {
    Size length;
    fprintf(out, "%s{\"program\": ", i == 0 ? "" : ", ");
    JsonString(out, StringsAt(&deaths->strings, deaths->unseen[i].program, &length));
    fprintf(out, ", \"processes\": %llu}", (unsigned long long)deaths->unseen[i].processes);
  }
  fprintf(out, "], \"not_seen_count\": %zu,\n ", deaths->unseens);
}

void DeathsJson(FILE *out, Deaths deaths, uint64_t start)
{
  Index i;

  fputs("\"killed\": [", out);
  for (i = 0; i < deaths->count && i < DeathsMAX; ++i) {
    Death death = &deaths->death[i];
    Size length;
    fprintf(out, "%s{\"pid\": %u, \"signal\": %u, \"at\": %.9f, \"name\": ", i == 0 ? "" : ", ", death->pid,
            death->signal, DocumentSince(start, death->time));
    JsonString(out, deathsNameOf(deaths, death, &length));
    putc('}', out);
  }
  fprintf(out, "], \"killed_count\": %zu, \"killed_unrecorded\": %zu,\n ", deaths->count, deaths->unrecorded);
  deathsUnseenJson(out, deaths);
}
