/* wrappers.h -- functions that pass on what others ask for: malloc and its like, and the insides of containers
 *
 * A person who asks who holds memory wants the function of the program that filled the vector, not the vector.  So a
 * function is a wrapper if a table has its name (operator new, g_malloc, xmalloc ...), or if it belongs to the standard
 * library of C++ (namespaces std and __gnu_cxx) or Rust (crates alloc, core, std, and hashbrown, of which its maps are
 * made).  No wrapper is what runs the program's code, which the compiler may have put into it: in which a thread or a
 * std::function begins.
 *
 * Names come as people write them or as the linker knows them, by whether there is a c++filt: the answer is the same.
 *
 * Design: design/view.md .sites.skip      Tests: test/callers/wrapperstest.c, test/analyse/wrappers.t
 */
#ifndef CALLERS_WRAPPERS_H
#define CALLERS_WRAPPERS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* WrapperIs -- is the function of that name, any `length` bytes, a wrapper? */
extern Bool WrapperIs(const char *name, Size length);

#endif /* CALLERS_WRAPPERS_H */
