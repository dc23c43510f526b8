/* modulemap.h -- which module of a process an address is in, at a time
 *
 * A process tells of its modules in events called ModuleLoad (base, size, path), ModuleUnload (base) and ModuleBuild
 * (base, id); a forked child has events of its own.  All of a log's are read at once, before anything is asked: what a
 * filter leaves out, or what comes late, is known all the same.
 *
 * Always true (ModuleMapCheck): modules are sorted by process, base and time; each process's stand together; a
 * tree over them has for each node what its two children have together.
 *
 * Design: design/symbols.md .modules      Tests: test/symbols/modulemaptest.c
 */
#ifndef SYMBOLS_MODULEMAP_H
#define SYMBOLS_MODULEMAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "request/stringtable.h"
#include "request/typecache.h"

typedef struct ModuleStruct {
  Index process;       /* its number in the log */
  uint64_t base, size, most; /* the first address; how many; the highest end of this one and those of the process
                                before it */
  uint64_t from, to;   /* ns: when it was loaded and unloaded; UINT64_MAX: it stayed */
  uint32_t path, name; /* of the file, and the last part of that: strings of the map */
  uint32_t build;      /* the build id in hex, a string of the map; 0: the log does not say */
} ModuleStruct, *Module;

typedef struct ModuleMapStruct *ModuleMap;

/* ModuleMapRead -- the modules of a log.  As LogRead; ResMEMORY. */
extern Res ModuleMapRead(ModuleMap *mapReturn, Log log);

/* ModuleMapMake -- an empty one.  ModuleMapTake -- learn from an event of any type; FALSE: no memory.  ModuleMapSettle
 * -- after the last event, before anything is asked; ResMEMORY, also if an event had none. */
extern Res ModuleMapMake(ModuleMap *mapReturn, Count processes);
extern Bool ModuleMapTake(ModuleMap map, LogEvent event);
extern Res ModuleMapSettle(ModuleMap map);
extern void ModuleMapDestroy(ModuleMap map); /* NULL is none */

/* ModuleMapTells -- does an event of this type tell of a module? */
extern Bool ModuleMapTells(EventType type);

/* ModuleMapFind -- the module that has the address in that process at that time (ns): of those that were loaded then
 * the newest; else the first that was loaded later, as the log may have begun late; else the last that was.  NULL:
 * none.
 * cost     some 20 ns; where the place was used again, some 20 ns for each doubling of the modules */
extern Module ModuleMapFind(ModuleMap map, Index process, uint64_t time, uint64_t address);

/* ModuleMapOf -- the module of a process that has this path; NULL: none */
extern Module ModuleMapOf(ModuleMap map, Index process, const char *path);

/* ModuleMapNumber -- the module's number, from 1; 0 for NULL */
extern Count ModuleMapNumber(ModuleMap map, Module module);

/* ModuleMapString -- a string of a module, NUL-terminated */
extern const char *ModuleMapString(ModuleMap map, uint32_t string, Size *lengthReturn);

extern Bool ModuleMapCheck(ModuleMap map);

#endif /* SYMBOLS_MODULEMAP_H */
