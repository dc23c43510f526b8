/* shimlook.h -- looking up functions, by the library, in the program's threads
 *
 * A lookup that fails allocates what dlerror would say, and another lookup, or the thread's end, frees it.  That is
 * nothing that the program does.  So everything that the library asks of the dynamic loader goes through here: what
 * malloc gives to the thread meanwhile comes from ShimEarly's memory, and has no event.  What the thread frees meanwhile
 * has one: the loader may have allocated it for the program's own lookups.  errno stays as it is.
 *
 * Design: design/shim.md .shim.look      Tests: test/shimnew.t, test/count.t
 */
#ifndef MM_SHIMLOOK_H
#define MM_SHIMLOOK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ShimSymbol -- what dlsym finds in `library`; NULL: nothing.  RTLD_NEXT is next to this library.
 * ShimSymbolVersion -- what comes next to this library, by name and version
 * ShimReached -- does a call of malloc come to this library's?  FALSE also where its kind is off
 * ShimLibrary -- a library that is loaded already; NULL: it is not.  ShimLibraryLeave gives it back.
 * ShimExtent -- where the library in which `address` is begins and ends in memory; FALSE: it is in none.  That is a
 *   walk through the libraries, and takes a fortieth of what dladdr does, which looks for a symbol. */
extern void *ShimSymbol(void *library, const char *name);
extern void *ShimSymbolVersion(const char *name, const char *version);
extern Bool ShimReached(void);
extern void *ShimLibrary(const char *path);
extern void ShimLibraryLeave(void *library);
extern Bool ShimExtent(Word *baseReturn, Word *limitReturn, const void *address);

#endif /* MM_SHIMLOOK_H */
