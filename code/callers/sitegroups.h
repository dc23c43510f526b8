/* sitegroups.h -- the sites of all processes that are the same place in code, together; of stacks, the innermost caller
 *
 * Two processes that run the same program ask for memory at the same places; a table has a line for each place.  Where
 * a caller is not known, it is one place, too.
 *
 * Design: design/view.md .sites.group      Tests: test/analyse/sites.t
 */
#ifndef CALLERS_SITEGROUPS_H
#define CALLERS_SITEGROUPS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "callers/codenames.h"
#include "callers/sitenumbers.h"

typedef struct SiteGroupsStruct {
  CodeNames names;
  StringsStruct places; /* CodePlaceStructs; the number less one is the group's */
  uint32_t *group;      /* owned; by number of a site - 1 */
} SiteGroupsStruct, *SiteGroups;

/* SiteGroupsMake -- sort all sites into groups; ResMEMORY.  SiteGroupsFinish may follow in either case. */
extern Res SiteGroupsMake(SiteGroups groups, SiteNumbers numbers, CodeNames names);
extern void SiteGroupsFinish(SiteGroups groups);

static inline Count SiteGroupsCount(SiteGroups groups)
{
  return groups->places.count;
}

/* SiteGroupsPlace -- where a group's sites are */
extern CodePlaceStruct SiteGroupsPlace(SiteGroups groups, Index group);

/* SiteGroupsText -- print the caller of a group
 * SiteGroupsJson -- print its members of an object (CodeNamesJson) */
extern void SiteGroupsText(FILE *out, SiteGroups groups, Index group);
extern void SiteGroupsJson(FILE *out, SiteGroups groups, Index group);

#endif /* CALLERS_SITEGROUPS_H */
