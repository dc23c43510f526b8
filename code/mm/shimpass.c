/* shimpass.c -- looking up who comes next
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/shimpass.h"

#include <dlfcn.h>

#include "emit/process.h"
#include "mm/shimlook.h"

ShimPassStruct ShimPass;
unsigned ShimPassWho;
__thread unsigned ShimPassing __attribute__((tls_model("initial-exec")));

static __thread Bool passLooking; /* this thread, at this moment */

/* passFind -- look up all of them; who comes next.  Two threads that do find the same.  A sanitizer that we stay out
 * for has a walk through the libraries in its hands, too, and is another one in any case. */
static unsigned passFind(void)
{
  unsigned who = ProcessAside() ? ShimPassOTHERS : ShimPassLIBC;
  Word base = 0, limit = 0;
  void *symbol;

  if (who == ShimPassLIBC)
    (void)ShimExtent(&base, &limit, ShimSymbol(RTLD_NEXT, "gnu_get_libc_version")); /* only libc has that */
#define X(returns, member, name, parameters) \
  symbol = ShimSymbol(RTLD_NEXT, name); \
  __atomic_store_n((void **)&ShimPass.member, symbol, __ATOMIC_RELAXED); \
  if (symbol != NULL && (Word)symbol - base >= limit - base) \
    who = ShimPassOTHERS;
  PASS_FUNCTIONS(X)
#undef X
  return who;
}

unsigned ShimPassLook(void)
{
  unsigned who = __atomic_load_n(&ShimPassWho, __ATOMIC_ACQUIRE);

  /* A sanitizer's functions may not be called before they are ready; but those of one that we stay out for must. */
  if (who != ShimPassUNKNOWN || passLooking || (ProcessSleeps() && !ProcessAside()))
    return who;
  passLooking = TRUE;
  who = passFind();
  __atomic_store_n(&ShimPassWho, who, __ATOMIC_RELEASE);
  passLooking = FALSE;
  return who;
}
