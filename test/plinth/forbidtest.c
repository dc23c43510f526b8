/* forbidtest.c -- filters of seccomp, run by ourselves: every instruction, and what no filter may be
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/seccomp.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "plinth/rawsyscall.h"
#include "tap.h"

#define RUN(...) run((const struct sock_filter[]){__VA_ARGS__}, sizeof((const struct sock_filter[]){__VA_ARGS__}))
#define S(code, k) BPF_STMT(code, k)
#define J(code, k, t, f) BPF_JUMP(code, k, t, f)
#define LOAD(member) S(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER S(BPF_RET | BPF_A, 0)
#define KILLED SECCOMP_RET_KILL_THREAD

static const struct seccomp_data call = {
  .nr = 77, .arch = 5, .instruction_pointer = 9, .args = {0x1122334455667788, 2, 3, 4, 5, 0xfedcba9876543210}};

static uint32_t run(const struct sock_filter *code, Size size)
{
  return ForbidRun(code, size / sizeof *code, &call);
}

static void loads(void)
{
  TapIs(RUN(LOAD(nr), ANSWER), 77u, "the call's number");
  TapIs(RUN(LOAD(arch), ANSWER), 5u, "the architecture");
  TapIs(RUN(LOAD(args[0]), ANSWER), 0x55667788u, "the lower half of an argument");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_ABS, 20), ANSWER), 0x11223344u, "its upper half");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_ABS, 60), ANSWER), 0xfedcba98u, "the last word");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_LEN, 0), ANSWER), 64u, "the size of all");
  TapIs(RUN(S(BPF_LDX | BPF_W | BPF_LEN, 0), S(BPF_MISC | BPF_TXA, 0), ANSWER), 64u, "and in X");
  TapIs(RUN(S(BPF_LD | BPF_IMM, 3), S(BPF_ST, 15), S(BPF_LD | BPF_IMM, 4), S(BPF_LDX | BPF_MEM, 15),
         S(BPF_ALU | BPF_SUB | BPF_X, 0), ANSWER), 1u, "memory");
  TapIs(RUN(S(BPF_LDX | BPF_IMM, 8), S(BPF_STX, 0), S(BPF_LD | BPF_MEM, 0), ANSWER), 8u, "memory of X");
  TapIs(RUN(S(BPF_LD | BPF_IMM, 6), S(BPF_MISC | BPF_TAX, 0), S(BPF_ALU | BPF_MUL | BPF_X, 0), ANSWER), 36u, "A to X");
}

static void reckons(void)
{
  static const struct {
    unsigned op;
    uint32_t k, result;
  } cases[] = {
    {BPF_ADD, 3, 80}, {BPF_SUB, 78, UINT32_MAX}, {BPF_MUL, 2, 154}, {BPF_DIV, 7, 11}, {BPF_OR, 2, 79},
    {BPF_AND, 12, 12}, {BPF_XOR, 1, 76}, {BPF_LSH, 4, 1232}, {BPF_RSH, 1, 38}, {BPF_NEG, 0, (uint32_t)-77},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i)
    TapIs(RUN(LOAD(nr), S((uint16_t)(BPF_ALU | cases[i].op | BPF_K), cases[i].k), ANSWER), cases[i].result, "a result");
}

static void jumps(void)
{
  static const struct {
    unsigned op;
    uint32_t k;
    Bool jumps;
  } cases[] = {
    {BPF_JEQ, 77, TRUE}, {BPF_JEQ, 76, FALSE}, {BPF_JGT, 76, TRUE}, {BPF_JGT, 77, FALSE}, {BPF_JGE, 77, TRUE},
    {BPF_JGE, 78, FALSE}, {BPF_JSET, 64, TRUE}, {BPF_JSET, 2, FALSE},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    TapIs(RUN(LOAD(nr), J((uint16_t)(BPF_JMP | cases[i].op | BPF_K), cases[i].k, 1, 0), S(BPF_RET, 1), S(BPF_RET, 2)),
       cases[i].jumps ? 2u : 1u, "a jump");
    TapIs(RUN(LOAD(nr), S(BPF_LDX | BPF_IMM, cases[i].k), J((uint16_t)(BPF_JMP | cases[i].op | BPF_X), 0, 0, 1),
           S(BPF_RET, 2), S(BPF_RET, 1)), cases[i].jumps ? 2u : 1u, "a jump by X");
  }
  TapIs(RUN(S(BPF_JMP | BPF_JA, 1), S(BPF_RET, 1), S(BPF_RET, 2)), 2u, "a jump always");
}

static void none(void)
{
  TapIs(ForbidRun(NULL, 0, &call), KILLED, "nothing at all");
  TapIs(RUN(LOAD(nr)), KILLED, "no answer");
  TapIs(RUN(S(BPF_JMP | BPF_JA, 1), S(BPF_RET, 1)), KILLED, "a jump to the end");
  TapIs(RUN(S(BPF_JMP | BPF_JA, UINT32_MAX), S(BPF_RET, 1)), KILLED, "a jump far away");
  TapIs(RUN(J(BPF_JMP | BPF_JEQ | BPF_K, 0, 255, 0), S(BPF_RET, 1)), KILLED, "a jump too far");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_ABS, 64), ANSWER), KILLED, "a load behind the end");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_ABS, UINT32_MAX - 3), ANSWER), KILLED, "a load far away");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_ABS, 2), ANSWER), KILLED, "half of a word");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_ABS, 8), ANSWER), KILLED, "where the call comes from is not known");
  TapIs(RUN(S(BPF_LD | BPF_MEM, 16), ANSWER), KILLED, "memory that is not there");
  TapIs(RUN(S(BPF_ST, UINT32_MAX), ANSWER), KILLED, "a store into it");
  TapIs(RUN(S(BPF_STX, 16), ANSWER), KILLED, "a store of X into it");
  TapIs(RUN(S(BPF_ALU | BPF_DIV | BPF_K, 0), ANSWER), KILLED, "a division by zero");
  TapIs(RUN(S(BPF_ALU | BPF_DIV | BPF_X, 0), ANSWER), KILLED, "a division by an X of zero");
  TapIs(RUN(S(BPF_LD | BPF_B | BPF_ABS, 0), ANSWER), KILLED, "a byte");
  TapIs(RUN(S(BPF_LD | BPF_W | BPF_IND, 0), ANSWER), KILLED, "a load by X");
  TapIs(RUN(S(BPF_ALU | BPF_MOD | BPF_K, 2), ANSWER), KILLED, "no such operation");
}

/* filter -- as it is installed; returns whether the call of this number would be killed for */
static Bool filter(uint32_t answer, Bool keep)
{
  const struct sock_filter code[] = {LOAD(nr), J(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1), S(BPF_RET, answer),
                                     S(BPF_RET, SECCOMP_RET_ALLOW)};
  static const long arguments[6];
  struct sock_filter *room = ForbidBegin(ARRAY_LENGTH(code));
  Bool next, set;

  if (room == NULL)
    return FALSE;
  memcpy(room, code, sizeof code);
  next = ForbidNext(SYS_getppid, arguments) && !ForbidNext(SYS_getpid, arguments);
  TapOk(!ForbidAny() && RawCall(SYS_getppid) > 0, "what is not set forbids nothing");
  ForbidSet();
  set = RawCall(SYS_getppid) == -1 && ForbidCall(SYS_getppid, arguments);
  TapOk(next == set && RawCall(SYS_getpid) > 0, "what is set forbids what it would");
  TapOk(ForbidBegin(1) == NULL, "one at a time");
  ForbidEnd(keep);
  return set;
}

static void checked(void)
{
  unsigned has = ForbidFilters;

  TapOk(has > 0 && ForbidCheck(), "the copies of filters are sound");
  PLANT(ForbidFilters, has + 1, ForbidCheck(), "ForbidFilters = has + 1"); /* one without instructions */
  PLANT(ForbidFilters, 257, ForbidCheck(), "ForbidFilters = 257");
}

static void installed(void)
{
  TapOk(!filter(SECCOMP_RET_ALLOW, FALSE) && !filter(SECCOMP_RET_LOG, FALSE) && !filter(SECCOMP_RET_ERRNO | 3, FALSE),
     "what goes on is not forbidden");
  TapOk(filter(SECCOMP_RET_KILL_PROCESS, FALSE) && filter(SECCOMP_RET_KILL_THREAD, FALSE) &&
     filter(SECCOMP_RET_TRAP | 3, FALSE) && filter(SECCOMP_RET_TRACE, FALSE) && filter(SECCOMP_RET_USER_NOTIF, FALSE) &&
     filter(0x12340000, FALSE), "what kills or stops is");
  TapOk(ForbidBegin(32769) == NULL && ForbidBegin(0) == NULL, "there are limits");
  ForbidUnknown(TRUE);
  TapOk(RawCall(SYS_getpid) == -1, "what is not known forbids everything");
  ForbidUnknown(FALSE);
  TapOk(RawCall(SYS_getpid) > 0, "until it is refused");
  TapOk(filter(SECCOMP_RET_TRAP, TRUE) && ForbidAny() && RawCall(SYS_getppid) == -1, "what the kernel has stays");
  checked();
  TapOk(ForbidBegin(32768) == NULL && ForbidBegin(32764) != NULL, "and leaves the rest of the room");
}

int main(void)
{
  loads();
  reckons();
  jumps();
  none();
  installed();
  return TapDone();
}
