/* seccomp.c -- the filters of seccomp, run by ourselves
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/seccomp.h"

#include <linux/audit.h>
#include <stddef.h>
#include <string.h>

enum {
  forbidROOM = 32768, /* instructions of all filters: as many as the kernel takes */
  forbidMOST = 256,   /* filters */
  forbidALL = 65536   /* added for each that is not known */
};

#if defined(__x86_64__) && defined(__LP64__)
#define forbidARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define forbidARCH AUDIT_ARCH_AARCH64
#elif defined(__i386__)
#define forbidARCH AUDIT_ARCH_I386
#else
#define forbidARCH 0 /* filters that ask kill */
#endif

/* The filters, one behind the other.  They are only ever added, and hold for all threads: whose a filter is, and who has it
 * from whom, is not asked.  A child of fork has them, too. */
static struct sock_filter forbidCode[forbidROOM] LARGE;
static unsigned forbidEnds[forbidMOST]; /* each ends where the next one begins */
static unsigned forbidLength;           /* of the one that is being installed; 0: none is */
unsigned ForbidFilters;

static unsigned forbidEnd(Index filters)
{
  return filters == 0 ? 0 : forbidEnds[filters - 1];
}

/* forbidSome -- how many filters are known */
static unsigned forbidSome(void)
{
  return __atomic_load_n(&ForbidFilters, __ATOMIC_ACQUIRE) % forbidALL;
}

/* forbidStops -- is this one of the answers by which the program does not simply go on? */
static Bool forbidStops(uint32_t answer)
{
  switch (answer & SECCOMP_RET_ACTION_FULL) {
  case SECCOMP_RET_ALLOW:
  case SECCOMP_RET_LOG:
  case SECCOMP_RET_ERRNO:
    return FALSE;
  default:
    return TRUE;
  }
}

static struct seccomp_data forbidData(long number, const long arguments[6])
{
  struct seccomp_data call = {.nr = (int)number, .arch = forbidARCH};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(call.args); ++i)
    call.args[i] = (uint64_t)arguments[i];
  return call;
}

struct sock_filter *ForbidBegin(Count length)
{
  unsigned none = 0;

  if (length == 0 || length > forbidROOM ||
      !__atomic_compare_exchange_n(&forbidLength, &none, (unsigned)length, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return NULL;
  if (forbidSome() < forbidMOST && length <= forbidROOM - forbidEnd(forbidSome()))
    return forbidCode + forbidEnd(forbidSome());
  ForbidKeep();
  return NULL;
}

Bool ForbidNext(long number, const long arguments[6])
{
  struct seccomp_data call = forbidData(number, arguments);

  return forbidStops(ForbidRun(forbidCode + forbidEnd(forbidSome()), forbidLength, &call));
}

void ForbidSet(void)
{
  forbidEnds[forbidSome()] = forbidEnd(forbidSome()) + forbidLength;
  (void)__atomic_fetch_add(&ForbidFilters, 1, __ATOMIC_ACQ_REL);
}

void ForbidKeep(void)
{
  __atomic_store_n(&forbidLength, 0, __ATOMIC_RELEASE);
}

void ForbidDrop(void)
{
  (void)__atomic_fetch_sub(&ForbidFilters, 1, __ATOMIC_ACQ_REL);
  ForbidKeep();
}

void ForbidUnknown(void)
{
  (void)__atomic_fetch_add(&ForbidFilters, forbidALL, __ATOMIC_ACQ_REL);
}

void ForbidKnown(void)
{
  (void)__atomic_fetch_sub(&ForbidFilters, forbidALL, __ATOMIC_ACQ_REL);
}

Bool ForbidCall(long number, const long arguments[6])
{
  unsigned filters = __atomic_load_n(&ForbidFilters, __ATOMIC_ACQUIRE);
  struct seccomp_data call = forbidData(number, arguments);
  Index i;

  if (filters > forbidMOST)
    return TRUE;
  for (i = 0; i < filters; ++i)
    if (forbidStops(ForbidRun(forbidCode + forbidEnd(i), forbidEnds[i] - forbidEnd(i), &call)))
      return TRUE;
  return FALSE;
}

/* The machine that runs a filter. */
typedef struct ForbidMachineStruct {
  const struct seccomp_data *call;
  uint32_t a, x, memory[BPF_MEMWORDS];
} ForbidMachineStruct, *ForbidMachine;

/* forbidLoad -- LD and LDX; FALSE: there is nothing to be had, or it is not known */
static Bool forbidLoad(ForbidMachine machine, const struct sock_filter *at)
{
  uint32_t *to = BPF_CLASS(at->code) == BPF_LD ? &machine->a : &machine->x;
  const Size from = offsetof(struct seccomp_data, instruction_pointer), limit = from + sizeof machine->call->instruction_pointer;

  switch (at->code) {
  case BPF_LD | BPF_W | BPF_ABS:
    if (at->k % 4 != 0 || at->k > sizeof *machine->call - 4 || (at->k >= from && at->k < limit))
      return FALSE;
    memcpy(to, (const char *)machine->call + at->k, sizeof *to);
    return TRUE;
  case BPF_LD | BPF_W | BPF_LEN:
  case BPF_LDX | BPF_W | BPF_LEN:
    *to = sizeof *machine->call;
    return TRUE;
  case BPF_LD | BPF_IMM:
  case BPF_LDX | BPF_IMM:
    *to = at->k;
    return TRUE;
  case BPF_LD | BPF_MEM:
  case BPF_LDX | BPF_MEM:
    if (at->k >= BPF_MEMWORDS)
      return FALSE;
    *to = machine->memory[at->k];
    return TRUE;
  default:
    return FALSE;
  }
}

/* forbidReckon -- ALU; FALSE: there is no result, which ends the filter */
static Bool forbidReckon(ForbidMachine machine, const struct sock_filter *at)
{
  uint32_t by = BPF_SRC(at->code) == BPF_X ? machine->x : at->k, *a = &machine->a;

  switch (BPF_OP(at->code)) {
  case BPF_ADD: *a += by; return TRUE;
  case BPF_SUB: *a -= by; return TRUE;
  case BPF_MUL: *a *= by; return TRUE;
  case BPF_OR: *a |= by; return TRUE;
  case BPF_AND: *a &= by; return TRUE;
  case BPF_XOR: *a ^= by; return TRUE;
  case BPF_NEG: *a = -*a; return TRUE;
  case BPF_LSH: *a <<= by & 31; return TRUE;
  case BPF_RSH: *a >>= by & 31; return TRUE;
  case BPF_DIV:
    if (by == 0)
      return FALSE;
    *a /= by;
    return TRUE;
  default:
    return FALSE;
  }
}

/* forbidJump -- JMP: over how many instructions; FALSE: it is no such thing */
static Bool forbidJump(Count *overReturn, ForbidMachine machine, const struct sock_filter *at)
{
  uint32_t by = BPF_SRC(at->code) == BPF_X ? machine->x : at->k, a = machine->a;
  Bool holds;

  switch (BPF_OP(at->code)) {
  case BPF_JA: *overReturn = at->k; return TRUE;
  case BPF_JEQ: holds = a == by; break;
  case BPF_JGT: holds = a > by; break;
  case BPF_JGE: holds = a >= by; break;
  case BPF_JSET: holds = (a & by) != 0; break;
  default: return FALSE;
  }
  *overReturn = holds ? at->jt : at->jf;
  return TRUE;
}

/* forbidStep -- one instruction that does not return; FALSE: it cannot be */
static Bool forbidStep(Count *overReturn, ForbidMachine machine, const struct sock_filter *at)
{
  switch (BPF_CLASS(at->code)) {
  case BPF_LD:
  case BPF_LDX:
    return forbidLoad(machine, at);
  case BPF_ST:
  case BPF_STX:
    if (at->k >= BPF_MEMWORDS)
      return FALSE;
    machine->memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? machine->a : machine->x;
    return TRUE;
  case BPF_ALU:
    return forbidReckon(machine, at);
  case BPF_JMP:
    return forbidJump(overReturn, machine, at);
  case BPF_MISC:
    if (BPF_MISCOP(at->code) == BPF_TAX)
      machine->x = machine->a;
    else
      machine->a = machine->x;
    return TRUE;
  default:
    return FALSE;
  }
}

uint32_t ForbidRun(const struct sock_filter *code, Count length, const struct seccomp_data *call)
{
  ForbidMachineStruct machine = {.call = call};
  Index i;

  /* It only ever goes forward, so it ends. */
  for (i = 0; i < length; ++i) {
    const struct sock_filter *at = &code[i];
    Count over = 0;
    if (BPF_CLASS(at->code) == BPF_RET)
      return BPF_RVAL(at->code) == BPF_A ? machine.a : at->k;
    if (!forbidStep(&over, &machine, at) || over >= length - i)
      return SECCOMP_RET_KILL_THREAD;
    i += over;
  }
  return SECCOMP_RET_KILL_THREAD;
}
