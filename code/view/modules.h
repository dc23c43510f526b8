/* modules.h -- which file an address of a program was in
 *
 * Known from events called ModuleLoad with base, size and path; a forked child tells its own.
 *
 * Design: design/view.md .drawn.folded      Tests: test/drawn.t
 */
#ifndef VIEW_MODULES_H
#define VIEW_MODULES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/plans.h"
#include "view/strings.h"

typedef struct ModulesModuleStruct {
  LogProcess process;
  uint64_t base, size;
  uint32_t name;     /* number of the file's name in `strings` */
} ModulesModuleStruct, *ModulesModule;

typedef struct ModulesStruct {
  Count count, capacity;
  ModulesModule module; /* in order of appearance */
  StringsStruct strings;
  PlansStruct plans;
  Bool failed;       /* there was no memory: some are not known */
} ModulesStruct, *Modules;

extern void ModulesInit(Modules modules);
extern void ModulesFinish(Modules modules);

/* ModulesTell -- learn from an event; TRUE: it is about a module, and nothing else */
extern Bool ModulesTell(Modules modules, LogEvent event);

/* ModulesFind -- the module in which *address of `process` is; of several the newest among the first `known`, then the
 * oldest of the others.  Returns it, and in *address the place in it; NULL: in none that is known. */
extern ModulesModule ModulesFind(Modules modules, LogProcess process, Count known, uint64_t *address);

#endif /* VIEW_MODULES_H */
