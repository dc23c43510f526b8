/* pidlives.c -- processes of the system, told apart although their numbers are used again
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/pidlives.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "request/typecache.h"

void PidLivesFinish(PidLives lives)
{
  StringsFinish(&lives->boots);
  StringsFinish(&lives->numbers);
  free(lives->newest);
  free(lives->program);
  memset(lives, 0, sizeof *lives);
}

/* livesNewest -- of a number on the machine of an event; NULL: no memory */
static PidLife livesNewest(PidLives lives, LogEvent event, uint32_t pid)
{
  const char *boot = event->process->header.boot;
  uint32_t key[] = {StringsAdd(&lives->boots, boot, strlen(boot)), pid};
  uint32_t number = StringsAdd(&lives->numbers, (const char *)key, sizeof key);

  if (number > lives->count && Grow(&lives->newest, &lives->capacity, lives->count, sizeof *lives->newest))
    lives->newest[lives->count++] = (PidLifeStruct){0, 0, 0};
  lives->failed |= lives->boots.failed || number == 0 || number > lives->count;
  return lives->failed ? NULL : &lives->newest[number - 1];
}

static uint32_t livesBegin(PidLives lives, PidLife newest, uint64_t time)
{
  if (newest->life == 0) {
    newest->life = ++lives->lives;
    newest->began = time;
  }
  return newest->life;
}

uint32_t PidLivesTold(PidLives lives, LogEvent event, uint32_t pid)
{
  PidLife newest = livesNewest(lives, event, pid);

  return newest == NULL ? 0 : livesBegin(lives, newest, event->time);
}

/* livesMeet -- the first event of a program */
static void livesMeet(PidLives lives, LogEvent event)
{
  HeaderStruct *header = &event->process->header;
  PidLife newest = livesNewest(lives, event, header->pid);

  if (!GrowTo(&lives->program, &lives->programs, event->process->number, sizeof *lives->program))
    lives->failed = TRUE;
  if (newest == NULL || lives->failed)
    return;
  if (newest->life != 0 && header->forked.identity != 0 &&
      LogTime(lives->log, event->process->number, header->forked.before) > newest->began) {
    newest->life = 0;
    ++newest->older;
  }
  lives->program[event->process->number] = livesBegin(lives, newest, event->time);
}

uint32_t PidLivesOf(PidLives lives, LogEvent event)
{
  if (UNLIKELY(PidLivesAt(lives, event->process->number) == 0))
    livesMeet(lives, event);
  return PidLivesAt(lives, event->process->number);
}

Bool PidLivesExits(EventType type)
{
  return TypeCacheNamed(type, "ProcessExit");
}

void PidLivesExit(PidLives lives, LogEvent event)
{
  int pid = TypeCacheParam(event->type, "pid", "UW");
  PidLife newest = pid < 0 ? NULL : livesNewest(lives, event, (uint32_t)LogEventWord(event, (Index)pid));

  if (newest != NULL && newest->older > 0)
    --newest->older;
  else if (newest != NULL)
    newest->life = 0;
}

Bool PidLivesCheck(const PidLivesStruct *lives)
{
  Index i;

  for (i = 0; i < lives->count; ++i)
    if (lives->newest[i].life > lives->lives)
      return FALSE;
  for (i = 0; i < lives->programs; ++i)
    if (lives->program[i] > lives->lives)
      return FALSE;
  return lives->count <= lives->capacity;
}
