/* modules.c -- which file an address of a program was in
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

typedef struct modulesPlanStruct {
  Bool made;
  int base, size, path;
} modulesPlanStruct, *modulesPlan;

void ModulesInit(Modules modules)
{
  memset(modules, 0, sizeof *modules);
  PlansInit(&modules->plans, sizeof(modulesPlanStruct));
}

void ModulesFinish(Modules modules)
{
  free(modules->module);
  PlansFinish(&modules->plans);
  StringsFinish(&modules->strings);
}

static void modulesPlanMake(modulesPlan plan, EventType type)
{
  plan->made = TRUE;
  plan->base = plan->size = plan->path = -1;
  if (PlansNamed(type, "ModuleLoad")) {
    plan->base = PlansParam(type, "base", "AP");
    plan->size = PlansParam(type, "size", "W");
    plan->path = PlansParam(type, "path", "S");
  }
}

static void modulesAdd(Modules modules, modulesPlan plan, LogEvent event)
{
  const char *path, *slash;
  ModulesModule module;
  Size length;

  if (!Grow(&modules->module, &modules->capacity, modules->count, sizeof *modules->module)) {
    modules->failed = TRUE;
    return;
  }
  module = &modules->module[modules->count++];
  module->process = event->process;
  module->base = LogEventWord(event, (Index)plan->base);
  module->size = LogEventWord(event, (Index)plan->size);
  path = LogEventString(event, (Index)plan->path, &length);
  slash = memrchr(path, '/', length);
  if (slash != NULL) {
    length -= (Size)(slash + 1 - path);
    path = slash + 1;
  }
  module->name = StringsAdd(&modules->strings, path, length);
}

Bool ModulesTell(Modules modules, LogEvent event)
{
  modulesPlan plan = PlansOf(&modules->plans, event);

  if (UNLIKELY(plan == NULL)) {
    modules->failed = TRUE;
    return FALSE;
  }
  if (UNLIKELY(!plan->made))
    modulesPlanMake(plan, event->type);
  if (LIKELY(plan->base < 0 || plan->size < 0 || plan->path < 0))
    return FALSE;
  modulesAdd(modules, plan, event);
  return TRUE;
}

static Bool modulesHas(ModulesModule module, LogProcess process, uint64_t address)
{
  return module->process == process && address - module->base < module->size;
}

ModulesModule ModulesFind(Modules modules, LogProcess process, Count known, uint64_t *address)
{
  ModulesModule found = NULL;
  Index i;

  for (i = known; i-- > 0 && found == NULL;) {
    if (modulesHas(&modules->module[i], process, *address))
      found = &modules->module[i];
  }
  for (i = known; i < modules->count && found == NULL; ++i) {
    if (modulesHas(&modules->module[i], process, *address))
      found = &modules->module[i];
  }
  if (found != NULL)
    *address -= found->base;
  return found;
}
