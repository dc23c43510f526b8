/* partial.c -- blocks of which a longer copy may come, and which of their events were delivered
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/partial.h"

#include <stdlib.h>

#include "format/block.h"

/* partialsLink -- where the block is, or would be */
static Partial *partialsLink(Partials partials, const IndexEntryStruct *entry)
{
  Partial *link = &partials->list[(entry->stream * 31 + entry->sequence) % PartialsLISTS];

  while (*link != NULL && ((*link)->stream != entry->stream || (*link)->sequence != entry->sequence ||
                           (*link)->first != entry->first))
    link = &(*link)->next;
  return link;
}

static void partialsRemove(Partials partials, Partial *link)
{
  Partial partial = *link;

  *link = partial->next;
  --partials->count;
  free(partial);
}

Res PartialsSee(Bool *wantedReturn, Partials partials, const IndexEntryStruct *entry, Bool seen)
{
  Partial *link = partialsLink(partials, entry), partial = *link;

  *wantedReturn = partial != NULL ? !partial->whole : !seen;
  if ((entry->flags & BlockFlagSNAPSHOT) == 0) {
    if (partial != NULL)
      partial->whole = TRUE;
    return ResOK;
  }
  if (partial != NULL || seen)
    return ResOK;
  partial = calloc(1, sizeof *partial);
  if (partial == NULL)
    return ResMEMORY;
  partial->stream = entry->stream;
  partial->sequence = entry->sequence;
  partial->first = entry->first;
  *link = partial;
  ++partials->count;
  return ResOK;
}

void PartialsForget(Partials partials, const IndexEntryStruct *entry)
{
  Partial *link = partialsLink(partials, entry);

  if (*link != NULL)
    partialsRemove(partials, link);
}

void PartialsTake(Partials partials, Loaded loaded, const IndexEntryStruct *entry)
{
  Partial *link = partialsLink(partials, entry), partial = *link;
  Count n = 0;
  Index i;

  if (partial == NULL)
    return;
  for (i = 0; i < loaded->count; ++i) {
    uint32_t place = loaded->item[i].at / EventALIGN;
    if ((partial->had[place / 64] >> place % 64 & 1) != 0)
      continue;
    partial->had[place / 64] |= (uint64_t)1 << place % 64;
    loaded->item[n++] = loaded->item[i];
  }
  loaded->count = n;
  if ((entry->flags & BlockFlagSNAPSHOT) == 0)
    partialsRemove(partials, link);
}

void PartialsFree(Partials partials)
{
  Index i;

  for (i = 0; i < PartialsLISTS; ++i)
    while (partials->list[i] != NULL)
      partialsRemove(partials, &partials->list[i]);
}
