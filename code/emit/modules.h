/* modules.h -- which files' code is mapped where: what addresses inside code mean
 *
 * A module is told by ModuleLoad, and by ModuleBuild where it has a build id; and by ModuleUnload when it has gone.
 * Which modules there are comes from /proc/self/maps: the dynamic linker's own list has a lock, and the thread that
 * was interrupted may hold it.
 *
 * Threads: any; signal handlers, too.  No lock: while a thread reads the list another one does nothing, and tries again
 * with the next address.
 *
 * Design: design/telemetry.md .modules      Tests: test/malloc/stack.t, test/malloc/site.t
 */
#ifndef EMIT_MODULES_H
#define EMIT_MODULES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { ModulesMAX = 4096 }; /* modules that are remembered, so that each has one event and its unloading is noticed */

/* ModulesHook -- the code from base to limit has gone */
typedef void (*ModulesHook)(Word base, Word limit);

/* ModulesTell -- emit the events of all modules that are mapped now
 *
 * needed  events that are recorded have addresses in code: from now on modules are told whatever kinds are on.
 *         Else they are told if the kind System is wanted, or they were needed before. */
extern void ModulesTell(Bool needed);

/* ModulesSee -- emit the events of the module with this address, if it is new
 *
 * Only modules that the dynamic linker knows are found, with glibc 2.35 or later.
 * gone  as of ModulesGone: a module that was at its place may have to be told as gone
 * cost  a load and a comparison for a page of code that was seen lately; for a new module a pass over
 *   /proc/self/maps */
extern void ModulesSee(Word at, ModulesHook gone);

/* ModulesLink -- the dynamic linker's handle, a struct link_map, of the module with this address; NULL: none, or
 * glibc is older than 2.35.  Takes no lock, and calls nothing that a sanitizer replaces. */
extern const void *ModulesLink(Word at);

/* ModulesCalled -- that of the module whose file has this name, without its folder, of all that were loaded after
 * libc; NULL: there is none, or it cannot be told.  Takes no lock, and system calls for each module. */
extern const void *ModulesCalled(const char *file);

/* ModulesChoose -- choose modules by name, before any is told: that of a file without its folder, with or without what
 * follows `.so'.  The string must stay.
 * ModulesChosen -- is this an address in one of them, which ModulesSee has seen? */
extern void ModulesChoose(const char *name);
extern Bool ModulesChosen(Word at);

/* ModulesGone -- for each module that was told and that the dynamic linker has unloaded since: emit ModuleUnload, and
 * call `gone`, if that is not NULL
 * ModulesForget -- none was told yet: for a forked child */
extern void ModulesGone(ModulesHook gone);
extern void ModulesForget(void);

#endif /* EMIT_MODULES_H */
