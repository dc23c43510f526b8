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

enum { sitePlacesMIN = 256 };

void SiteNumbersInit(SiteNumbers numbers)
{
  memset(numbers, 0, sizeof *numbers);
}

void SiteNumbersFinish(SiteNumbers numbers)
{
  free(numbers->site);
  free(numbers->place);
  free(numbers->first);
  SiteNumbersInit(numbers);
}

/* siteSame -- are these the same, but for what is known of them? */
static Bool siteSame(const SiteStruct *a, const SiteStruct *b)
{
  return a->code == b->code && a->process == b->process && a->asker == b->asker && a->stack == b->stack;
}

/* sitePlace -- where the site's number is, or belongs */
static uint32_t *sitePlace(SiteNumbers numbers, const SiteStruct *site)
{
  uint64_t whose = (uint64_t)site->process << 32 | site->stack;
  uint64_t hash = ScatterMore(ScatterMore(Scatter(site->code), whose), site->asker);
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

uint32_t SiteNumbersAdd(SiteNumbers numbers, const SiteStruct *site)
{
  SiteStruct unknown = {.process = site->process, .asker = site->process};
  uint32_t *place;
  Site new;

  if (numbers->places > 0 && *(place = sitePlace(numbers, site)) != 0)
    return *place;
  if (numbers->count >= SiteNumbersMAX && site->code != 0) {
    ++numbers->more;
    return SiteNumbersAdd(numbers, &unknown);
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
