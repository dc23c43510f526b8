/* shimdlopen.c -- dlopen, wrapped: a library that is opened with RTLD_DEEPBIND does not get malloc from us
 *
 * It prefers the functions of the libraries that it names itself, libc's among them.  In observe its calls are not
 * seen, and that is said.  In manage libc's free would be given objects of our pool, so the flag is left out.
 *
 * The real dlopen asks for its caller by the address to which it returns: the caller's RUNPATH, $ORIGIN and namespace
 * decide what is found.  So the wrapper leaves no frame: it calls shimOpenMode, and ends with a jump.
 *
 * Design: design/shim.md .shim.deep      Tests: test/malloc/deepbind.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/crc.h"
#include "emit/emitter.h"
#include "handover/collectorsocket.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimnext.h"

#if defined(RTLD_DEEPBIND) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))

enum { openTOLD = 64 };

/* Checksums of the names of the libraries that were reported last.  A program may open and close a library many times,
 * and it is reported once. */
static uint32_t openTold[openTOLD];

/* openLoads -- is the library going to be loaded, as far as can be told?  One that is loaded already stays as it is
 * bound; and of the paths that a program tries most lead to nothing. */
static Bool openLoads(const char *file)
{
  long res = strchr(file, '/') == NULL || strchr(file, '$') != NULL ? 0 : RawCall(SYS_faccessat, AT_FDCWD, file, F_OK);
  void *library = res == -ENOENT || res == -ENOTDIR ? NULL : ShimLibrary(file);

  if (library != NULL)
    ShimLibraryLeave(library);
  return library == NULL && res != -ENOENT && res != -ENOTDIR;
}

/* openTell -- let the collector know, or say it on standard error
 * always  say it also where nothing is recorded */
static void openTell(unsigned note, const char *file, const char *thing, const char *reason, Bool always)
{
  Emitter emitter = EmitterSends() ? EmitterIfReady() : NULL;

  if (emitter != NULL && CollectorSocketNamed())
    CollectorSocketLibrary(note, emitter->identity, file);
  else if (emitter != NULL || always)
    RawSay(thing, file, reason);
}

static void openDeep(const char *file)
{
  const char *slash = file[0] == '$' ? strrchr(file, '/') : NULL; /* in a folder that only the loader knows */
  uint32_t sum = Crc32c(0, file, strlen(file)), *told = &openTold[sum % openTOLD];

  if (__atomic_load_n(told, __ATOMIC_RELAXED) == sum || !openLoads(file))
    return;
  __atomic_store_n(told, sum, __ATOMIC_RELAXED);
  openTell(RegionNoteDEEP, slash != NULL ? slash + 1 : file, "not seen",
           "its calls of malloc are not seen: it was opened with RTLD_DEEPBIND", FALSE);
}

static void openShallow(const char *file)
{
  static Bool told;

  if (!__atomic_exchange_n(&told, TRUE, __ATOMIC_RELAXED))
    openTell(RegionNoteSHALLOW, file, "RTLD_DEEPBIND",
             "it is left out, for this library and all others: they would free what Pawprint's malloc gave by libc's "
             "free",
             TRUE);
}

/* What comes next; the wrapper reads it behind shimOpenMode. */
extern void *(*shimOpenNext)(const char *file, int mode);
void *(*shimOpenNext)(const char *file, int mode) __attribute__((visibility("hidden"), used));

/* openFind -- look up the real one: behind the library, or before it, in an older libc's libdl, to which the program
 * then goes without us */
static void openFind(void)
{
  void *next = __atomic_load_n((void **)&shimOpenNext, __ATOMIC_RELAXED);

  if (next == NULL)
    next = ShimSymbol(RTLD_NEXT, "dlopen");
  if (next == NULL)
    next = ShimSymbol(RTLD_DEFAULT, "dlopen");
  __atomic_store_n((void **)&shimOpenNext, next, __ATOMIC_RELEASE);
}

/* shimOpenMode -- what dlopen calls first; returns the mode that the real one is given */
__attribute__((used)) int shimOpenMode(const char *file, int mode);
int shimOpenMode(const char *file, int mode)
{
  openFind();
  if (LIKELY((mode & RTLD_DEEPBIND) == 0) || (mode & RTLD_NOLOAD) != 0 || file == NULL || file[0] == '\0' ||
      EmitterSleeps())
    return mode;
  EmitterStart();
  ShimStart();
  if (!ShimNext.manages) {
    openDeep(file);
    return mode;
  }
  openShallow(file);
  return mode & ~RTLD_DEEPBIND;
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, @function\n"
        "dlopen:\n"
        "  .cfi_startproc\n"
        "  endbr64\n"
        "  pushq %rdi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call shimOpenMode\n"
        "  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  movl %eax, %esi\n"
        "  jmp *shimOpenNext(%rip)\n"
        "  .cfi_endproc\n"
        ".size dlopen, .-dlopen\n");
#else
__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, %function\n"
        "dlopen:\n"
        "  .cfi_startproc\n"
        "  hint #34\n" /* bti c */
        "  stp x29, x30, [sp, #-32]!\n"
        "  .cfi_def_cfa_offset 32\n"
        "  .cfi_offset 29, -32\n"
        "  .cfi_offset 30, -24\n"
        "  mov x29, sp\n"
        "  str x0, [sp, #16]\n"
        "  bl shimOpenMode\n"
        "  mov w1, w0\n"
        "  ldr x0, [sp, #16]\n"
        "  ldp x29, x30, [sp], #32\n"
        "  .cfi_restore 29\n"
        "  .cfi_restore 30\n"
        "  .cfi_def_cfa_offset 0\n"
        "  adrp x16, shimOpenNext\n"
        "  ldr x16, [x16, #:lo12:shimOpenNext]\n"
        "  br x16\n"
        "  .cfi_endproc\n"
        ".size dlopen, .-dlopen\n");
#endif

#endif
