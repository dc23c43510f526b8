/* sitegroups.c -- the sites of all processes that are the same place in code, together
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/sitegroups.h"

#include <stdlib.h>

Res SiteGroupsMake(SiteGroups groups, SiteNumbers numbers, CodeNames names)
{
  Index i;

  *groups = (SiteGroupsStruct){.names = names};
  groups->group = malloc((numbers->count + 1) * sizeof *groups->group);
  if (groups->group == NULL || CodeNamesRead(names) != ResOK)
    return ResMEMORY;
  for (i = 0; i < numbers->count; ++i) {
    CodePlaceStruct place = CodeNamesCallerOf(names, &numbers->site[i]);
    uint32_t number = StringsAdd(&groups->places, (const char *)&place, sizeof place);
    if (number == 0 || names->res != ResOK)
      return ResMEMORY;
    groups->group[i] = number - 1;
  }
  return ResOK;
}

void SiteGroupsFinish(SiteGroups groups)
{
  StringsFinish(&groups->places);
  free(groups->group);
  groups->group = NULL;
}

CodePlaceStruct SiteGroupsPlace(SiteGroups groups, Index group)
{
  CodePlaceStruct place;
  Size length;

  memcpy(&place, StringsAt(&groups->places, (uint32_t)group + 1, &length), sizeof place);
  return place;
}

void SiteGroupsText(FILE *out, SiteGroups groups, Index group)
{
  CodePlaceStruct place = SiteGroupsPlace(groups, group);

  CodeNamesText(out, groups->names, &place);
}

void SiteGroupsJson(FILE *out, SiteGroups groups, Index group)
{
  CodePlaceStruct place = SiteGroupsPlace(groups, group);

  CodeNamesJson(out, groups->names, &place);
}
