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

/* What a process runs. */
typedef struct deathsNamedStruct {
  uint32_t pid, name;      /* in `strings`; 0: not known */
  struct deathsNamedStruct *next;
} deathsNamedStruct, *deathsNamed;

/* What event types tell. */
enum { deathsNAME = TypeCacheCLIENT, deathsEXIT, deathsUNSEEN };
enum { deathsPID, deathsSTRING, deathsSTATUS, deathsPROCESSES }; /* the string is a name, or how it ended */

static const TypeCacheKnownStruct deathsKnown[] = {
  {"ProcessStart", deathsNAME, {"UW pid", "S name"}},
  {"ProcessExec", deathsNAME, {"UW pid", "S program"}},
  {"ProcessExit", deathsEXIT, {"UW pid", "S how", "UW status"}},
  {"ProgramUnseen", deathsUNSEEN, {NULL, "S program", NULL, "UW processes"}},
};

void DeathsInit(Deaths deaths, Log log)
{
  memset(deaths, 0, sizeof *deaths);
  deaths->log = log;
  TypeCacheInit(&deaths->plans, sizeof(TypeCacheTellStruct));
}

void DeathsFinish(Deaths deaths)
{
  Index i;

  for (i = 0; i < DeathsBUCKETS; ++i)
    while (deaths->bucket[i] != NULL) {
      deathsNamed next = deaths->bucket[i]->next;
      free(deaths->bucket[i]);
      deaths->bucket[i] = next;
    }
  free(deaths->pid);
  TypeCacheFinish(&deaths->plans);
  StringsFinish(&deaths->strings);
}

/* deathsNamedOf -- what is known of a process, made if nothing is; NULL: no memory */
static deathsNamed deathsNamedOf(Deaths deaths, uint32_t pid)
{
  deathsNamed *bucket = &deaths->bucket[pid % DeathsBUCKETS], named;

  for (named = *bucket; named != NULL && named->pid != pid; named = named->next)
    ;
  if (named != NULL)
    return named;
  named = calloc(1, sizeof *named);
  if (named == NULL) {
    deaths->failed = TRUE;
    return NULL;
  }
  *named = (deathsNamedStruct){pid, 0, *bucket};
  *bucket = named;
  return named;
}

static void deathsName(Deaths deaths, LogEvent event, TypeCacheTell plan)
{
  deathsNamed named = deathsNamedOf(deaths, (uint32_t)LogEventWord(event, (Index)plan->param[deathsPID]));
  Size length;
  const char *name = LogEventString(event, (Index)plan->param[deathsSTRING], &length);

  name = TypeCacheBase(name, &length);
  if (named != NULL && length > 0)
    named->name = StringsAdd(&deaths->strings, name, length);
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

static int deathsOrder(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return x < y ? -1 : x > y;
}

/* deathsRecorded -- has the log a block of a process with this number?  A header block alone is nothing that was recorded.  A later process
 * may have the number, too. */
static Bool deathsRecorded(Deaths deaths, uint32_t pid)
{
  Count processes = LogProcesses(deaths->log);

  if (deaths->pid == NULL || deaths->recorded != processes) {
    uint32_t *numbers = realloc(deaths->pid, (processes + 1) * sizeof *numbers);
    if (numbers == NULL) {
      deaths->failed = TRUE;
      return TRUE;
    }
    deaths->pid = numbers;
    deaths->pids = 0;
    for (deaths->recorded = 0; deaths->recorded < processes; ++deaths->recorded)
      if (LogProcessNewest(deaths->log, deaths->recorded) != 0)
        numbers[deaths->pids++] = LogProcessAt(deaths->log, deaths->recorded)->header.pid;
    qsort(numbers, deaths->pids, sizeof *numbers, deathsOrder);
  }
  return bsearch(&pid, deaths->pid, deaths->pids, sizeof pid, deathsOrder) != NULL;
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
    deathsNamed named = deathsNamedOf(deaths, pid);
    deaths->death[deaths->count] = (DeathStruct){
        pid, (unsigned)LogEventWord(event, (Index)plan->param[deathsSTATUS]), event->time,
        deathsLog(deaths, event, pid), named != NULL ? named->name : 0};
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
