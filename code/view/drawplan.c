/* drawplan.c -- what an event type is in a picture, by its name and the names of its parameters
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/text.h"
#include "view/drawdata.h"
#include "view/heapplan.h"

/* Types that come in pairs, and what is added to their stem for the name of the slice. */
static const struct {
  const char *begin, *end, *shown;
  Bool own; /* a thread ends its own only, and some ends have no beginning: who need not wait does not begin to */
} drawPairs[] = {
  {"Begin", "End", "", FALSE}, {"Start", "End", "", FALSE}, {"Request", "Acquire", " wait", TRUE},
  {"Reach", "Resume", " wait", TRUE},
};

/* drawEnds -- does the name end so, with a stem before it, whose length is returned? */
static Bool drawEnds(const char *name, Size length, const char *suffix, Size *stemReturn)
{
  Size more = strlen(suffix);

  if (length <= more || memcmp(name + length - more, suffix, more) != 0)
    return FALSE;
  *stemReturn = length - more;
  return TRUE;
}

/* drawPlain -- the length of the type's name, without the Site of one that says where besides */
static Size drawPlain(EventType type)
{
  Size length = type->nameLength;

  if (PlansParam(type, "site", "PAW") >= 0)
    (void)drawEnds(type->name, length, "Site", &length);
  return length;
}

/* drawFind -- the type whose name is the stem and the suffix; or NULL */
static EventType drawFind(Registry registry, const char *stem, Size length, const char *suffix)
{
  Index i;

  for (i = 0; i < registry->count; ++i) {
    EventType type = &registry->types[i];
    Size plain = drawPlain(type), other;
    if (plain == length + strlen(suffix) && drawEnds(type->name, plain, suffix, &other) &&
        memcmp(type->name, stem, length) == 0)
      return type;
  }
  return NULL;
}

/* drawSalts -- which parameters both types of a pair have, and what tells them apart */
static void drawSalts(DrawPlan plan, EventType type, EventType other)
{
  Index i, j, k;

  for (i = 0; i < type->params; ++i) {
    uint64_t salt = type->paramLength[i];
    for (j = 0; j < other->params; ++j) {
      if (type->letter[i] == other->letter[j] && strchr("PAWU", type->letter[i]) != NULL &&
          type->paramLength[i] == other->paramLength[j] &&
          memcmp(type->param[i], other->param[j], type->paramLength[i]) == 0)
        break;
    }
    for (k = 0; j < other->params && k < type->paramLength[i]; ++k)
      salt = (salt ^ (unsigned char)type->param[i][k]) * 0x9e3779b97f4a7c15u;
    plan->salt[i] = j < other->params ? salt | 1 : 0;
  }
}

/* drawPair -- if the type is one of a pair, name the slice and say which */
static void drawPair(Draw draw, DrawPlan plan, EventType type, Registry registry)
{
  Size plain = drawPlain(type), stem;
  char name[512];
  TextStruct text;
  EventType other = NULL;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(drawPairs); ++i) {
    if (drawEnds(type->name, plain, drawPairs[i].begin, &stem) &&
        (other = drawFind(registry, type->name, stem, drawPairs[i].end)) != NULL)
      plan->role = DrawRoleBEGIN;
    else if (drawEnds(type->name, plain, drawPairs[i].end, &stem) &&
             (other = drawFind(registry, type->name, stem, drawPairs[i].begin)) != NULL)
      plan->role = DrawRoleEND;
    else
      continue;
    if (!drawPairs[i].own)
      drawSalts(plan, type, other);
    TextInit(&text, name, sizeof name);
    TextBytes(&text, type->name, stem);
    TextString(&text, drawPairs[i].shown);
    plan->name = StringsAdd(&draw->who.strings, name, TextLength(&text));
    return;
  }
}

/* drawValues -- types that say values, and strings */
static void drawValues(Draw draw, DrawPlan plan, EventType type)
{
  Size stem;
  int id, string;

  if (drawEnds(type->name, type->nameLength, "Sample", &stem)) {
    plan->role = DrawRoleSAMPLE;
    plan->name = StringsAdd(&draw->who.strings, type->name, stem);
    plan->param = PlansParam(type, "pid", "UW");
    plan->other = PlansParam(type, "task", "UW");
  } else if (InternsTells(&id, &string, type)) {
    plan->role = DrawRoleINTERN;
    plan->param = id;
    plan->other = string;
  } else if (type->nameLength > 4 && memcmp(type->name, "User", 4) == 0 && PlansParam(type, "id", "UW") >= 0) {
    plan->role = DrawRoleUSER;
    plan->param = PlansParam(type, "id", "UW");
    plan->other = PlansParam(type, "value", "UWD");
  }
}

void DrawPlanMake(Draw draw, DrawPlan plan, LogEvent event)
{
  EventType type = event->type;
  HeapPlanStruct heap;

  plan->heap = HeapPlanMake(&heap, type, event->process->header.widths.swapped);
  plan->name = StringsAdd(&draw->who.strings, type->name, type->nameLength);
  plan->role = DrawRoleMARK;
  plan->param = plan->other = -1;
  if (heap.does == HeapDoesFREE || heap.does == HeapDoesLIVE) {
    plan->role = DrawRoleQUIET;
  } else if (heap.does == HeapDoesALLOC || heap.does == HeapDoesZERO || heap.does == HeapDoesALIGNED) {
    plan->role = DrawRoleALLOC;
    plan->param = heap.param[HeapParamSIZE];
  } else {
    drawPair(draw, plan, type, event->process->registry);
    if (plan->role == DrawRoleMARK)
      drawValues(draw, plan, type);
  }
}
