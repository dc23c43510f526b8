/* shimsync.c -- looking up the functions of POSIX threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/shimsync.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/process.h"
#include "mm/shimlook.h"

/* syncSymbol -- what would have been called; of libc's condition variables, the version that programs of this century
 * mean.  Their first version is an other thing by the same name; clockwait, which is younger, has none.  A search for that
 * version passes over other libraries, whose functions have none. */
static void syncSymbol(void *function, const char *name)
{
  Bool old = strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name, "pthread_cond_clockwait") != 0;
  void *symbol = ShimSymbol(RTLD_NEXT, name), *version = old ? ShimSymbolVersion(name, "GLIBC_2.3.2") : NULL;
  Word base, limit;

  if (version != NULL && symbol != version && ShimExtent(&base, &limit, version) && (Word)symbol - base < limit - base)
    symbol = version;
  /* A libc that lacks it has no callers of it. */
  if (symbol != NULL)
    __atomic_store_n((void **)function, symbol, __ATOMIC_RELEASE);
}

#define X(returns, member, name, parameters, arguments) \
  static returns syncFirst_##member parameters \
  { \
    syncSymbol(&SyncNext.member, name); \
    return SyncNext.member arguments; \
  }
SYNC_FUNCTIONS(X)
#undef X

SyncNextStruct SyncNext = {
#define X(returns, member, name, parameters, arguments) syncFirst_##member,
  SYNC_FUNCTIONS(X)
#undef X
};

void SyncStart(void)
{
  static Bool started;

  if (LIKELY(__atomic_load_n(&started, __ATOMIC_ACQUIRE)))
    return;
#define X(returns, member, name, parameters, arguments) syncSymbol(&SyncNext.member, name);
  SYNC_FUNCTIONS(X)
#undef X
  __atomic_store_n(&started, TRUE, __ATOMIC_RELEASE);
}

__thread unsigned SyncThreadNumber __attribute__((tls_model("initial-exec")));

unsigned SyncThreadAsk(void)
{
  long number = QuietCall(SYS_gettid);

  SyncThreadNumber = number > 0 ? (unsigned)number : 0; /* it may not be asked */
  return SyncThreadNumber;
}

void SyncForked(void)
{
  SyncThreadNumber = 0;
}
