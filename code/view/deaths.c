/* deaths.c -- which processes died of a signal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/deaths.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "log/called.h"

enum { deathsCommMAX = 15 }; /* of a program's name that the kernel keeps */

/* What a process runs. */
typedef struct deathsNamedStruct {
  uint32_t pid, name;      /* in `strings`; 0: not known */
  struct deathsNamedStruct *next;
} deathsNamedStruct, *deathsNamed;

/* What an event type tells. */
typedef struct deathsPlanStruct {
  enum { deathsUNSEEN, deathsNOTHING, deathsNAME, deathsEXIT } tells;
  int pid, status, string; /* parameters, or -1; the string is a name, or how it ended */
} deathsPlanStruct, *deathsPlan;

void DeathsInit(Deaths deaths, Log log)
{
  memset(deaths, 0, sizeof *deaths);
  deaths->log = log;
  PlansInit(&deaths->plans, sizeof(deathsPlanStruct));
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
  PlansFinish(&deaths->plans);
  StringsFinish(&deaths->strings);
}

static void deathsPlanMake(deathsPlan plan, EventType type)
{
  static const struct {
    const char *type, *string;
    int tells;
  } known[] = {
    {"ProcessStart", "name", deathsNAME}, {"ProcessExec", "program", deathsNAME}, {"ProcessExit", "how", deathsEXIT},
  };
  Index i;

  plan->tells = deathsNOTHING;
  for (i = 0; i < ARRAY_LENGTH(known); ++i) {
    if (!PlansNamed(type, known[i].type))
      continue;
    plan->pid = PlansParam(type, "pid", "UW");
    plan->status = PlansParam(type, "status", "UW");
    plan->string = PlansParam(type, known[i].string, "S");
    if (plan->pid >= 0 && plan->string >= 0 && (plan->status >= 0 || known[i].tells == deathsNAME))
      plan->tells = known[i].tells;
  }
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

static void deathsName(Deaths deaths, LogEvent event, deathsPlan plan)
{
  deathsNamed named = deathsNamedOf(deaths, (uint32_t)LogEventWord(event, (Index)plan->pid));
  Size length;
  const char *name = LogEventString(event, (Index)plan->string, &length), *slash = memrchr(name, '/', length);

  if (slash != NULL)
    length -= (Size)(slash + 1 - name);
  if (named != NULL && length > 0)
    named->name = StringsAdd(&deaths->strings, slash != NULL ? slash + 1 : name, length);
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

/* deathsRecorded -- is there anything in the log of a process with this number?  A later one may have it, too. */
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
    for (deaths->recorded = 0; deaths->recorded < processes; ++deaths->recorded)
      numbers[deaths->recorded] = LogProcessAt(deaths->log, deaths->recorded)->header.pid;
    qsort(numbers, processes, sizeof *numbers, deathsOrder);
  }
  return bsearch(&pid, deaths->pid, deaths->recorded, sizeof pid, deathsOrder) != NULL;
}

static void deathsExit(Deaths deaths, LogEvent event, deathsPlan plan)
{
  static const char signal[] = "signal";
  uint32_t pid = (uint32_t)LogEventWord(event, (Index)plan->pid);
  Size length;
  const char *how = LogEventString(event, (Index)plan->string, &length);

  if (length != strlen(signal) || memcmp(how, signal, length) != 0)
    return;
  if (deaths->count < DeathsMAX) {
    deathsNamed named = deathsNamedOf(deaths, pid);
    deaths->death[deaths->count] = (DeathStruct){pid, (unsigned)LogEventWord(event, (Index)plan->status), event->time,
                                                 deathsLog(deaths, event, pid), named != NULL ? named->name : 0};
  }
  ++deaths->count;
  deaths->unrecorded += !deathsRecorded(deaths, pid);
}

void DeathsEvent(Deaths deaths, LogEvent event)
{
  deathsPlan plan = PlansOf(&deaths->plans, event);

  if (UNLIKELY(plan == NULL)) {
    deaths->failed = TRUE;
    return;
  }
  if (UNLIKELY(plan->tells == deathsUNSEEN))
    deathsPlanMake(plan, event->type);
  if (LIKELY(plan->tells == deathsNOTHING))
    return;
  if (plan->tells == deathsNAME)
    deathsName(deaths, event, plan);
  else
    deathsExit(deaths, event, plan);
}

const char *DeathsName(Deaths deaths, const DeathStruct *death, Size *lengthReturn)
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

const char *DeathsSignal(unsigned signal)
{
  const char *name = signal < NSIG ? sigabbrev_np((int)signal) : NULL;

  return name != NULL ? name : "";
}
