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

/* What event types tell. */
enum { deathsNAME = PlansCLIENT, deathsEXIT };
enum { deathsPID, deathsSTRING, deathsSTATUS }; /* the string is a name, or how it ended */

static const PlansKnownStruct deathsKnown[] = {
  {"ProcessStart", deathsNAME, {"UW pid", "S name"}},
  {"ProcessExec", deathsNAME, {"UW pid", "S program"}},
  {"ProcessExit", deathsEXIT, {"UW pid", "S how", "UW status"}},
};

void DeathsInit(Deaths deaths, Log log)
{
  memset(deaths, 0, sizeof *deaths);
  deaths->log = log;
  PlansInit(&deaths->plans, sizeof(PlansTellStruct));
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
  PlansFinish(&deaths->plans);
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

static void deathsName(Deaths deaths, LogEvent event, PlansTell plan)
{
  deathsNamed named = deathsNamedOf(deaths, (uint32_t)LogEventWord(event, (Index)plan->param[deathsPID]));
  Size length;
  const char *name = LogEventString(event, (Index)plan->param[deathsSTRING], &length);

  name = PlansBase(name, &length);
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

static void deathsExit(Deaths deaths, LogEvent event, PlansTell plan)
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
}

void DeathsEvent(Deaths deaths, LogEvent event)
{
  PlansTell plan = PlansTells(&deaths->plans, event, deathsKnown, ARRAY_LENGTH(deathsKnown));

  if (UNLIKELY(plan == NULL)) {
    deaths->failed = TRUE;
    return;
  }
  if (LIKELY(plan->tells == PlansNOTHING))
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
