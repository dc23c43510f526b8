/* trackplan.c -- what an event type is in a picture, by its name and the names of its parameters
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "export/describe.h"
#include "export/trackbuilder.h"

/* Types that come in pairs, and what is added to their stem for the name of the slice. */
static const struct {
  const char *begin, *end, *shown;
  Bool own; /* a thread ends only its own; an end without a beginning means that the thread need not wait */
} planPairs[] = {
  {"Begin", "End", "", FALSE}, {"Start", "End", "", FALSE}, {"Request", "Acquire", " wait", TRUE},
  {"Reach", "Resume", " wait", TRUE},
};

/* planEnds -- does the name end so, with a stem before it, whose length is returned? */
static Bool planEnds(const char *name, Size length, const char *suffix, Size *stemReturn)
{
  Size more = strlen(suffix);

  if (length <= more || memcmp(name + length - more, suffix, more) != 0)
    return FALSE;
  *stemReturn = length - more;
  return TRUE;
}

/* planFind -- the type whose name is the stem and the suffix; or NULL */
static EventType planFind(Registry registry, const char *stem, Size length, const char *suffix)
{
  Index i;

  for (i = 0; i < registry->count; ++i) {
    EventType type = &registry->types[i];
    Size plain = HeapPlain(type), other;
    if (plain == length + strlen(suffix) && planEnds(type->name, plain, suffix, &other) &&
        memcmp(type->name, stem, length) == 0)
      return type;
  }
  return NULL;
}

/* planSalts -- which parameters both types of a pair have, and what tells them apart */
static void planSalts(TrackBuilder builder, TrackPlan plan, EventType type, EventType other)
{
  Index i, j;

  for (i = 0; i < type->params; ++i) {
    j = DescribeParam(other, type->param[i], type->paramLength[i]);
    if (j < other->params && type->letter[i] == other->letter[j] && strchr("PAWU", type->letter[i]) != NULL)
      plan->salt[i] = StringsAdd(&builder->who.strings, type->param[i], type->paramLength[i]) * 0x9e3779b97f4a7c15u | 1;
  }
}

/* planPair -- if the type is one of a pair, name the slice and say which */
static void planPair(TrackBuilder builder, TrackPlan plan, EventType type, Registry registry)
{
  Size plain = HeapPlain(type), stem;
  char name[512];
  EventType other = NULL;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(planPairs); ++i) {
    if (planEnds(type->name, plain, planPairs[i].begin, &stem) &&
        (other = planFind(registry, type->name, stem, planPairs[i].end)) != NULL)
      plan->role = TrackRoleBEGIN;
    else if (planEnds(type->name, plain, planPairs[i].end, &stem) &&
             (other = planFind(registry, type->name, stem, planPairs[i].begin)) != NULL)
      plan->role = TrackRoleEND;
    else
      continue;
    if (!planPairs[i].own)
      planSalts(builder, plan, type, other);
    (void)snprintf(name, sizeof name, "%.*s%s", (int)stem, type->name, planPairs[i].shown);
    plan->name = StringsAdd(&builder->who.strings, name, strlen(name));
    return;
  }
}

/* planValues -- types that say values, and strings */
static void planValues(TrackBuilder builder, TrackPlan plan, EventType type)
{
  Size stem;

  if (planEnds(type->name, type->nameLength, "Sample", &stem)) {
    plan->role = TrackRoleSAMPLE;
    plan->name = StringsAdd(&builder->who.strings, type->name, stem);
    plan->param = TypeCacheParam(type, "pid", "UW");
    plan->other = TypeCacheParam(type, "task", "UW");
  } else if (LabelsTells(type) == LabelsSTRING) {
    plan->role = TrackRoleINTERN;
  } else if (type->nameLength > 4 && memcmp(type->name, "User", 4) == 0 && TypeCacheParam(type, "id", "UW") >= 0) {
    plan->role = TrackRoleUSER;
    plan->param = TypeCacheParam(type, "id", "UW");
    plan->other = TypeCacheParam(type, "value", "UWD");
  }
}

void TrackPlanMake(TrackBuilder builder, TrackPlan plan, LogEvent event)
{
  EventType type = event->type;
  HeapPlanStruct heap;

  plan->heap = HeapPlanMake(&heap, type, event->process->header.widths.swapped);
  plan->name = StringsAdd(&builder->who.strings, type->name, type->nameLength);
  plan->collection = TypeCacheParam(type, "pool", "PAWU") >= 0 && TypeCacheParam(type, "trace", "WU") >= 0;
  plan->role = TrackRoleMARK;
  plan->param = plan->other = -1;
  if (heap.does == HeapDoesFREE || heap.does == HeapDoesLIVE || heap.does == HeapDoesUSABLE ||
      FrameTableWants(type)) {
    plan->role = TrackRoleQUIET;
  } else if (heap.does == HeapDoesALLOC || heap.does == HeapDoesZERO || heap.does == HeapDoesALIGNED) {
    plan->role = TrackRoleALLOC;
    plan->param = heap.param[HeapParamSIZE];
  } else {
    planPair(builder, plan, type, event->process->registry);
    if (plan->role == TrackRoleMARK)
      planValues(builder, plan, type);
  }
}
