/* sitenumbers.c -- a small number for each place that asks for memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/sitenumbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/scatter.h"
#include "symbols/codesymbols.h"

enum { sitePlacesMIN = 256 };

void SiteNumbersInit(SiteNumbers numbers)
{
  memset(numbers, 0, sizeof *numbers);
}

void SiteNumbersFinish(SiteNumbers numbers)
{
  AVER(SiteNumbersCheck(numbers));
  free(numbers->site);
  free(numbers->place);
  free(numbers->first);
  SiteNumbersInit(numbers);
}

/* siteSame -- are these the same, but for what is known of them? */
static Bool siteSame(const SiteStruct *a, const SiteStruct *b)
{
  return a->code == b->code && a->process == b->process && a->asker == b->asker && a->stack == b->stack &&
         a->module == b->module;
}

/* sitePlace -- where the site's number is, or belongs */
static uint32_t *sitePlace(SiteNumbers numbers, const SiteStruct *site)
{
  uint64_t whose = (uint64_t)site->process << 32 | site->stack;
  uint64_t hash = ScatterMore(ScatterMore(Scatter(site->code), whose), (uint64_t)site->module << 32 | site->asker);
  Index i, mask = numbers->places - 1;

  for (i = (Index)(hash >> 32) & mask; numbers->place[i] != 0; i = (i + 1) & mask)
    if (siteSame(&numbers->site[numbers->place[i] - 1], site))
      break;
  return &numbers->place[i];
}

/* siteMore -- room for one number more, which may be of a new process; FALSE: no memory */
static Bool siteMore(SiteNumbers numbers, Index process)
{
  Count places = numbers->places == 0 ? sitePlacesMIN : numbers->places * 2;
  uint32_t *old = numbers->place;
  Index i;

  if (!GrowTo(&numbers->first, &numbers->processes, process, sizeof *numbers->first) ||
      !Grow(&numbers->site, &numbers->capacity, numbers->count, sizeof *numbers->site))
    return FALSE;
  if ((numbers->count + 1) * 2 <= numbers->places)
    return TRUE;
  if ((numbers->place = calloc(places, sizeof *numbers->place)) == NULL) {
    numbers->place = old;
    return FALSE;
  }
  numbers->places = places;
  free(old);
  for (i = 0; i < numbers->count; ++i)
    *sitePlace(numbers, &numbers->site[i]) = (uint32_t)i + 1;
  return TRUE;
}

/* siteModule -- the module that the site is in; NULL: not known, or not asked for */
static Module siteModule(SiteNumbers numbers, const SiteStruct *site)
{
  return numbers->modules == NULL || site->stack || site->code == 0 ? NULL :
         ModuleMapFind(numbers->modules, site->asker, site->time, CodeInside(site->code, CodeCALL));
}

/* siteAdd -- SiteNumbersAdd, of a site whose module is filled in */
static uint32_t siteAdd(SiteNumbers numbers, const SiteStruct *site)
{
  SiteStruct unknown = {.process = site->process, .asker = site->process};
  uint32_t *place;
  Site new;

  if (numbers->places > 0 && *(place = sitePlace(numbers, site)) != 0)
    return *place;
  if (numbers->count >= SiteNumbersMAX && site->code != 0) {
    ++numbers->more;
    site = &unknown;
    if (numbers->places > 0 && *(place = sitePlace(numbers, site)) != 0)
      return *place;
  }
  if (!siteMore(numbers, site->process))
    return 0;
  place = sitePlace(numbers, site);
  new = &numbers->site[numbers->count++];
  *new = *site;
  new->next = numbers->first[site->process];
  *place = numbers->first[site->process] = (uint32_t)numbers->count;
  return *place;
}

uint32_t SiteNumbersAdd(SiteNumbers numbers, const SiteStruct *site)
{
  SiteStruct added = *site;

  added.module = (uint32_t)ModuleMapNumber(numbers->modules, siteModule(numbers, site));
  return siteAdd(numbers, &added);
}

uint32_t SiteNumbersMeet(SiteNumbers numbers, Index i, uint32_t process, uint64_t code, Bool stack, uint64_t time)
{
  SiteStruct site = {.code = code, .process = process, .asker = process, .time = time, .stack = stack && code != 0};
  Module module = siteModule(numbers, &site);
  uint64_t since = 0, until = UINT64_MAX;

  if (module != NULL) {
    since = module->from <= time && time < module->to ? module->from : time;
    until = time < module->from ? module->from : time < module->to ? module->to : UINT64_MAX;
  }
  site.module = (uint32_t)ModuleMapNumber(numbers->modules, module);
  numbers->recent[i].code = code;
  numbers->recent[i].process = process;
  numbers->recent[i].since = since;
  numbers->recent[i].span = until - since;
  return numbers->recent[i].number = siteAdd(numbers, &site);
}

Bool SiteNumbersCheck(SiteNumbers numbers)
{
  Count linked = 0;
  uint32_t n;
  Index i;

  if (numbers->count > numbers->capacity || numbers->count * 2 > numbers->places)
    return FALSE;
  for (i = 0; i < numbers->count; ++i)
    if (*sitePlace(numbers, &numbers->site[i]) != i + 1)
      return FALSE;
  for (i = 0; i < numbers->processes; ++i)
    for (n = numbers->first[i]; n != 0; n = numbers->site[n - 1].next, ++linked)
      if (numbers->site[n - 1].process != i)
        return FALSE;
  return linked == numbers->count;
}
