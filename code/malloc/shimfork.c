/* shimfork.c -- fork: our handlers stand before all that the program registers
 *
 * Before a fork handlers run in the reverse order of their registration, and after it in that order.  So ours, which are
 * registered before any other one is, run last in the parent and first in the child: what the program's handlers allocate
 * and free, on either side, is told of the process in which it happens, and what the child has from its parent is known
 * when all is done that it sees.  pthread_atfork is in each module, and calls libc's __register_atfork: that is wrapped,
 * because what other libraries run first of all may come before our constructors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "emit/process.h"
#include "malloc/shimlookup.h"
#include "malloc/shimnext.h"
#include "malloc/shimthread.h"
#include "mm/mmalloc.h"

static Bool shimHeld; /* by the thread that forks: all locks of the memory manager */

static void shimPrepare(void)
{
  ShimExecStart();
  (void)ShimPassTo();
  shimHeld = ShimNext.manages;
  if (shimHeld)
    MMForkPrepare();
}

static void shimParent(void)
{
  if (shimHeld)
    MMForkParent();
}

static void shimChild(void)
{
  if (shimHeld)
    MMForkChild();
  ShimForked();
}

void ShimForkStart(void)
{
  static Bool started;

  if (__atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    return;
  ProcessForkStart();
  (void)pthread_atfork(shimPrepare, shimParent, shimChild);
}

#if defined(__GLIBC__)
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module);
extern void *__dso_handle __attribute__((visibility("hidden"))); /* by which libc knows our module */

__attribute__((visibility("default")))
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module)
{
  int (*next)(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module);
  void *symbol = ShimSymbol(RTLD_NEXT, "__register_atfork");

  if (symbol == NULL)
    return ENOMEM;
  if (module != __dso_handle)
    ShimForkStart();
  memcpy(&next, &symbol, sizeof next);
  return next(prepare, parent, child, module);
}
#endif
