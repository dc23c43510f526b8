/* shimscope.h -- a function behind this library's, found in the symbol tables of what was loaded at the start
 *
 * dlsym waits for the loader's lock, and the thread that has it may load a library whose constructor waits for ours.
 * And it drops the message that a failed call of the program's has left for dlerror; a program may well call a function
 * that we wrap before it asks for that: `throw runtime_error(dlerror())` allocates the exception first.  So what comes
 * next is looked for here, without a call of the dynamic loader's, a lock or memory.
 *
 * Design: design/shim.md .shim.scope      Tests: test/malloc/dlerror.t, test/malloc/loader.t,
 * test/malloc/shimscopetest.c
 */
#ifndef MALLOC_SHIMSCOPE_H
#define MALLOC_SHIMSCOPE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ShimScopeNext -- the function of this name in the first module behind this library that has it, of those that were
 * loaded at the start
 * ShimScopeFirst -- in the first of all of these
 *
 * version   of the symbol; NULL: the one that is meant where none is named
 * returns   NULL: it is in none of these modules, or a lookup by the dynamic loader is needed for it: this library is
 *           not before libc, a module has no table of GNU's form, or the function is chosen by a resolver
 * Any thread may call it, also in a signal handler. */
extern void *ShimScopeNext(const char *name, const char *version);
extern void *ShimScopeFirst(const char *name);

/* ShimScopeLocal -- the function that the caller at `site` would find, where only a plugin has brought it along: in
 * its own module, in one that this was linked with, or in a runtime of C++.  The runtimes are looked at because a
 * call that is a function's last seems to come from another module.  Where others were found is looked first, because
 * a later caller may be one of these, which we called ourselves.
 * returns   NULL: it is not there, or the modules cannot be looked at */
extern void *ShimScopeLocal(const char *name, const void *site);

/* ShimScopeUnkept -- the file of a module in which ShimScopeLocal has found something, and that is to be kept loaded;
 * NULL: there is none that was not returned before */
extern const char *ShimScopeUnkept(void);

/* ShimScopeFind -- the same in one module, a struct link_map; FALSE: it has no such table, and may have the function */
extern Bool ShimScopeFind(void **functionReturn, const void *module, const char *name, const char *version);

#endif /* MALLOC_SHIMSCOPE_H */
