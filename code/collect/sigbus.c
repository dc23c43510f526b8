/* sigbus.c -- a mapping of a file that another process may cut short
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/sigbus.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/aver.h"

/* What is mapped: changed by one thread, read by the handler that interrupts it. */
static struct {
  char *base; /* NULL: free */
  Size size;
  int fd;
  Bool zeroed; /* some of it is zeros of our own */
} guards[SigbusMAX];
static Count guardsZeroed; /* so many mappings are, or were */
static Size sigbusPage;     /* 0: the handler is not installed */

/* sigbusZero -- zeros of our own there */
static Bool sigbusZero(char *at, Size size)
{
  return mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == at;
}

static void sigbusHandle(int signal, siginfo_t *info, void *context)
{
  char *at = info->si_addr;
  Index i;

  UNUSED(context);
  for (i = 0; i < SigbusMAX; ++i) {
    char *base = __atomic_load_n(&guards[i].base, __ATOMIC_ACQUIRE);
    Size size = guards[i].size, from;
    if (base == NULL || at < base || at >= base + size)
      continue;
    if (!guards[i].zeroed)
      ++guardsZeroed;
    guards[i].zeroed = TRUE;
    /* Only this page is replaced: it may be the only one that a full file system could not give.  If the file was cut
     * so much that the system gives us no more mappings, all of it is replaced. */
    from = WordAlignDown((Size)(at - base), sigbusPage);
    if (sigbusZero(base + from, sigbusPage) || sigbusZero(base, size))
      return;
  }
  /* Not ours: it comes again when we return, and does what it does by default. */
  (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

/* sigbusFind -- the place of a mapping; NULL: a free one.  SigbusMAX: there is none. */
static Index sigbusFind(const char *base)
{
  Index i = 0;

  while (i < SigbusMAX && guards[i].base != base)
    ++i;
  return i;
}

void *SigbusMap(int fd, Size size)
{
  struct sigaction action = {.sa_sigaction = sigbusHandle, .sa_flags = SA_SIGINFO};
  Index i = sigbusFind(NULL);
  char *base;

  AVER(fd >= 0 && size > 0);
  if (i == SigbusMAX || (sigbusPage == 0 && sigaction(SIGBUS, &action, NULL) != 0))
    return NULL;
  sigbusPage = (Size)sysconf(_SC_PAGESIZE);
  base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED)
    return NULL;
  guards[i].size = size;
  guards[i].fd = fd;
  __atomic_store_n(&guards[i].base, base, __ATOMIC_RELEASE);
  return base;
}

void SigbusAgain(void *base)
{
  Index i = guardsZeroed > 0 ? sigbusFind(base) : SigbusMAX;

  if (i == SigbusMAX || !guards[i].zeroed)
    return;
  guards[i].zeroed = FALSE;
  --guardsZeroed;
  (void)mmap(base, guards[i].size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, guards[i].fd, 0);
}

void SigbusUnmap(void *base, Size size)
{
  Index i = sigbusFind(base);

  AVER(i < SigbusMAX && guards[i].size == size);
  guardsZeroed -= guards[i].zeroed;
  guards[i].zeroed = FALSE;
  __atomic_store_n(&guards[i].base, NULL, __ATOMIC_RELEASE);
  (void)munmap(base, size);
}
