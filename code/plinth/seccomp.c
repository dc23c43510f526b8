/* seccomp.c -- seccomp filters: copies of the program's, and the machine that runs them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/seccomp.h"

#include <linux/audit.h>
#include <stddef.h>
#include <string.h>

#include "base/aver.h"

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

/* The filters, one behind the other.  They are never removed, and apply to all threads: which thread has installed or
 * inherited a filter is not recorded.  The child of a fork has them, too. */
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

Bool ForbidCheck(void)
{
  unsigned some = ForbidFilters % forbidALL;
  Index i;

  if (some > forbidMOST || forbidLength > forbidROOM)
    return FALSE;
  for (i = 0; i < some; ++i)
    if (forbidEnds[i] <= forbidEnd(i) || forbidEnds[i] > forbidROOM)
      return FALSE;
  return TRUE;
}

/* forbidStops -- is this a result after which the program does not simply go on? */
static Bool forbidStops(uint32_t answer)
{
  switch (answer & SECCOMP_RET_ACTION_FULL) {
  case SECCOMP_RET_ALLOW:
  case SECCOMP_RET_LOG:
  case SECCOMP_RET_ERRNO: return FALSE;
  default: return TRUE;
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
  ForbidEnd(TRUE);
  return NULL;
}

Bool ForbidNext(long number, const long arguments[6])
{
  struct seccomp_data call = forbidData(number, arguments);

  return forbidStops(ForbidRun(forbidCode + forbidEnd(forbidSome()), forbidLength, &call));
}

void ForbidSet(void)
{
  AVER(forbidLength > 0 && ForbidFilters % forbidALL < forbidMOST);
  AVER(ForbidCheck());
  AVER(forbidLength <= forbidROOM - forbidEnd(ForbidFilters % forbidALL));
  forbidEnds[forbidSome()] = forbidEnd(forbidSome()) + forbidLength;
  (void)__atomic_fetch_add(&ForbidFilters, 1, __ATOMIC_ACQ_REL);
}

void ForbidEnd(Bool kept)
{
  AVER(forbidLength > 0 && ForbidCheck());
  if (!kept)
    (void)__atomic_fetch_sub(&ForbidFilters, 1, __ATOMIC_ACQ_REL);
  __atomic_store_n(&forbidLength, 0, __ATOMIC_RELEASE);
}

void ForbidUnknown(Bool begins)
{
  (void)__atomic_fetch_add(&ForbidFilters, begins ? forbidALL : -forbidALL, __ATOMIC_ACQ_REL);
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

/* forbidLoad -- LD and LDX; FALSE: the place does not exist, or is not known here */
static Bool forbidLoad(ForbidMachine machine, const struct sock_filter *at)
{
  Bool ld = BPF_CLASS(at->code) == BPF_LD;
  uint32_t *to = ld ? &machine->a : &machine->x;
  const Size from = offsetof(struct seccomp_data, instruction_pointer),
             limit = from + sizeof machine->call->instruction_pointer;

  if (BPF_SIZE(at->code) != BPF_W)
    return FALSE;
  switch (BPF_MODE(at->code)) {
  case BPF_ABS:
    if (!ld || at->k % 4 != 0 || at->k > sizeof *machine->call - 4 || (at->k >= from && at->k < limit))
      return FALSE;
    memcpy(to, (const char *)machine->call + at->k, sizeof *to);
    return TRUE;
  case BPF_LEN: *to = sizeof *machine->call; return TRUE;
  case BPF_IMM: *to = at->k; return TRUE;
  case BPF_MEM:
    if (at->k >= BPF_MEMWORDS)
      return FALSE;
    *to = machine->memory[at->k];
    return TRUE;
  default: return FALSE;
  }
}

/* forbidReckon -- ALU, with the second operand `by`; FALSE: there is no result, which ends the filter */
static Bool forbidReckon(uint32_t *a, uint16_t operation, uint32_t by)
{
  switch (operation) {
  case BPF_ADD: *a += by; return TRUE;
  case BPF_SUB: *a -= by; return TRUE;
  case BPF_MUL: *a *= by; return TRUE;
  case BPF_DIV: *a /= by != 0 ? by : 1; return by != 0;
  case BPF_OR: *a |= by; return TRUE;
  case BPF_AND: *a &= by; return TRUE;
  case BPF_XOR: *a ^= by; return TRUE;
  case BPF_NEG: *a = -*a; return TRUE;
  case BPF_LSH: *a <<= by & 31; return TRUE;
  case BPF_RSH: *a >>= by & 31; return TRUE;
  default: return FALSE;
  }
}

/* forbidJump -- JMP, likewise: over how many instructions; FALSE: it is no such thing */
static Bool forbidJump(Count *overReturn, uint32_t a, const struct sock_filter *at, uint32_t by)
{
  switch (BPF_OP(at->code)) {
  case BPF_JA: *overReturn = at->k; return TRUE;
  case BPF_JEQ: *overReturn = a == by ? at->jt : at->jf; return TRUE;
  case BPF_JGT: *overReturn = a > by ? at->jt : at->jf; return TRUE;
  case BPF_JGE: *overReturn = a >= by ? at->jt : at->jf; return TRUE;
  case BPF_JSET: *overReturn = (a & by) != 0 ? at->jt : at->jf; return TRUE;
  default: return FALSE;
  }
}

/* forbidStep -- one instruction that does not return; FALSE: it cannot be */
static Bool forbidStep(Count *overReturn, ForbidMachine machine, const struct sock_filter *at)
{
  uint32_t by = BPF_SRC(at->code) == BPF_X ? machine->x : at->k;

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
    return forbidReckon(&machine->a, BPF_OP(at->code), by);
  case BPF_JMP:
    return forbidJump(overReturn, machine->a, at, by);
  default: /* BPF_MISC */
    if (BPF_MISCOP(at->code) == BPF_TAX)
      machine->x = machine->a;
    else
      machine->a = machine->x;
    return TRUE;
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
