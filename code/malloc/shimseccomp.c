/* shimseccomp.c -- calls by which a thread forbids itself system calls (seccomp) or the processor's counter, wrapped
 *
 * A program that makes the system call itself, and not through these functions, is not seen.  libseccomp and most
 * others that install filters call either prctl or `syscall`, because libc has no function for seccomp.
 *
 * Design: design/shim.md .shim.forbid      Tests: test/malloc/forbid.t, test/malloc/strict.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/emitter.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimsync.h"

/* What a call of the program's is about to forbid. */
typedef enum ForbidsEnum {
  ForbidsNOTHING,
  ForbidsCOUNTER, /* the processor's counter */
  ForbidsSTRICT,  /* that, and all but three system calls */
  ForbidsFILTER,  /* what a filter says, which has been read */
  ForbidsUNKNOWN  /* what a filter says that could not be */
} Forbids;

/* forbidFilter -- the program installs a filter, if that is where it says.  The kernel is to say so if not. */
static Forbids forbidFilter(const void *place)
{
  struct sock_fprog program;
  struct sock_filter *code;
  Size size;
  char one = 0;

  if (RawPeek(&one, &one, 1) != 1)
    return ForbidsUNKNOWN;
  if (RawPeek(&program, place, sizeof program) != sizeof program || program.len == 0 || program.len > BPF_MAXINSNS)
    return ForbidsNOTHING;
  code = ForbidBegin(program.len);
  if (code == NULL)
    return ForbidsUNKNOWN;
  size = program.len * sizeof program.filter[0];
  if (RawPeek(code, program.filter, size) == size)
    return ForbidsFILTER;
  ForbidEnd(TRUE);
  return ForbidsNOTHING;
}

/* forbidBefore -- the library keeps to it from here on: when the kernel has it, it is too late */
static void forbidBefore(Forbids what)
{
  if (what == ForbidsNOTHING)
    return;
  (void)SyncThread(); /* asks the system the first time */
  if (what == ForbidsCOUNTER || what == ForbidsSTRICT)
    EmitterBar(what == ForbidsCOUNTER);
  else
    EmitterForbid(what == ForbidsFILTER);
}

/* forbidAfter -- the system has done it, or refused it */
static void forbidAfter(Forbids what, Bool done)
{
  if (what == ForbidsFILTER)
    ForbidEnd(done);
  else if (what == ForbidsUNKNOWN && !done)
    ForbidUnknown(FALSE);
  else if ((what == ForbidsCOUNTER || what == ForbidsSTRICT) && !done)
    EmitterUnbar();
}

/* forbidPrctl -- what does this prctl forbid? */
static Forbids forbidPrctl(unsigned long option, const unsigned long argument[4])
{
  if (option == PR_SET_TSC && argument[0] == PR_TSC_SIGSEGV)
    return ForbidsCOUNTER;
  if (option == PR_SET_SECCOMP && argument[0] == SECCOMP_MODE_STRICT)
    return ForbidsSTRICT;
  if (option == PR_SET_SECCOMP && argument[0] == SECCOMP_MODE_FILTER)
    return forbidFilter((const void *)argument[1]);
  return ForbidsNOTHING;
}

SHIM int prctl(int option, ...)
{
  int (*next)(int, ...) = SHIM_PASS(prctl);
  unsigned long argument[4];
  va_list list;
  Forbids forbids;
  int result;
  Index i;

  va_start(list, option);
  for (i = 0; i < ARRAY_LENGTH(argument); ++i)
    argument[i] = va_arg(list, unsigned long);
  va_end(list);
  forbids = forbidPrctl((unsigned long)option, argument);
  forbidBefore(forbids);
  result = next != NULL ? next(option, argument[0], argument[1], argument[2], argument[3])
                        : (int)syscall(SYS_prctl, option, argument[0], argument[1], argument[2], argument[3]);
  forbidAfter(forbids, result == 0);
  if (option == PR_SET_TSC && result == 0 && forbids == ForbidsNOTHING)
    EmitterUnbar();
  if (option == PR_SET_NAME && result == 0)
    SyncThreadNamed();
  return result;
}

#if defined(__x86_64__) && defined(__LP64__)
/* `syscall', as libc has it, but for seccomp and execve: nothing else may be done here, not even to the stack, on
 * which a child may begin. */
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "  .cfi_startproc\n"
        "  endbr64\n"
        "  cmpq $317, %rdi\n" /* SYS_seccomp */
        "  je shimSeccomp\n"
        "  cmpq $59, %rdi\n" /* SYS_execve */
        "  je ShimSystemExecve\n"
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rdi\n"
        "  movq %rdx, %rsi\n"
        "  movq %rcx, %rdx\n"
        "  movq %r8, %r10\n"
        "  movq %r9, %r8\n"
        "  movq 8(%rsp), %r9\n"
        "  syscall\n"
        "  cmpq $-4095, %rax\n"
        "  jae 1f\n"
        "  ret\n"
        "1: movl %eax, %edi\n"
        "  negl %edi\n"
        "  jmp shimSystemFails\n"
        "  .cfi_endproc\n"
        ".size syscall, .-syscall\n");
_Static_assert(SYS_seccomp == 317 && SYS_execve == 59, "as it is compared with");

/* shimSystemFails -- what `syscall' ends with where the system says no */
__attribute__((used)) long shimSystemFails(int error);
long shimSystemFails(int error)
{
  errno = error;
  return -1;
}

static long shimSystemSeccomp(unsigned long operation, unsigned long flags, const void *place)
{
  long result = SYS_seccomp;

  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(operation), "S"(flags), "d"(place)
                   : "rcx", "r11", "memory");
  return result;
}

/* shimSeccomp -- syscall(SYS_seccomp, ...).  A filter that could not be given to all threads is refused with the
 * number of one of them; a descriptor is success. */
__attribute__((used)) long shimSeccomp(long number, unsigned long operation, unsigned long flags, const void *place);
long shimSeccomp(long number, unsigned long operation, unsigned long flags, const void *place)
{
  Forbids forbids = operation == SECCOMP_SET_MODE_STRICT   ? ForbidsSTRICT
                    : operation == SECCOMP_SET_MODE_FILTER ? forbidFilter(place)
                                                           : ForbidsNOTHING;
  long result;

  UNUSED(number);
  forbidBefore(forbids);
  result = shimSystemSeccomp(operation, flags, place);
  forbidAfter(forbids, result >= 0);
  return result < 0 ? shimSystemFails((int)-result) : result;
}
#endif
