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
 * ShimLibrary -- a library that is loaded already; NULL: it is not.  ShimLibraryLeave gives it back. */
extern void *ShimSymbol(void *library, const char *name);
extern void *ShimSymbolVersion(const char *name, const char *version);
extern void *ShimLibrary(const char *path);
extern void ShimLibraryLeave(void *library);

#endif /* MM_SHIMLOOK_H */
