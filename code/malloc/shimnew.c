/* shimnew.c -- the operators new and delete of C++, wrapped
 *
 * Whoever implements them: libstdc++ and libc++ by malloc and free, whose wrappers find the mark of the thread set and
 * tell nothing; jemalloc, tcmalloc and mimalloc by themselves.  They are written in C under their mangled names.
 *
 * An operator new that finds no memory asks for the program's handler, which may free and allocate, and throws if there
 * is none.  Both must happen with the mark taken away; so whoever asks for the handler inside an operator is given a
 * function of ours, that calls it outside, and the question itself tells that an attempt has failed.  An exception that
 * comes without a question takes the mark away when it passes (operatorUnwound).
 *
 * Design: design/shim.md .shim.new      Tests: test/malloc/shimnew.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <unwind.h>

#include "emit/event.h"
#include "malloc/shimlookup.h"
#include "malloc/shimnext.h"
#include "mm/mmalloc.h"

#if defined(__LP64__)
#define Z "m" /* how size_t is mangled */
#else
#define Z "j"
#endif
#define ALIGN   "St11align_val_t"
#define NOTHROW "RKSt9nothrow_t"

/* X(name, symbol, parameters, arguments, alignment or 0, does it throw?) */
#define OPERATORS_NEW(X) \
  X(one, "_Znw" Z, (size_t size), (size), 0, TRUE) \
  X(array, "_Zna" Z, (size_t size), (size), 0, TRUE) \
  X(oneQuiet, "_Znw" Z NOTHROW, (size_t size, const void *quiet), (size, quiet), 0, FALSE) \
  X(arrayQuiet, "_Zna" Z NOTHROW, (size_t size, const void *quiet), (size, quiet), 0, FALSE) \
  X(oneAligned, "_Znw" Z ALIGN, (size_t size, size_t align), (size, align), align, TRUE) \
  X(arrayAligned, "_Zna" Z ALIGN, (size_t size, size_t align), (size, align), align, TRUE) \
  X(oneAlignedQuiet, "_Znw" Z ALIGN NOTHROW, (size_t size, size_t align, const void *quiet), (size, align, quiet), \
    align, FALSE) \
  X(arrayAlignedQuiet, "_Zna" Z ALIGN NOTHROW, (size_t size, size_t align, const void *quiet), (size, align, quiet), \
    align, FALSE)

/* X(name, symbol, parameters, arguments) */
#define OPERATORS_DELETE(X) \
  X(end, "_ZdlPv", (void *p), (p)) \
  X(endArray, "_ZdaPv", (void *p), (p)) \
  X(endSized, "_ZdlPv" Z, (void *p, size_t size), (p, size)) \
  X(endArraySized, "_ZdaPv" Z, (void *p, size_t size), (p, size)) \
  X(endQuiet, "_ZdlPv" NOTHROW, (void *p, const void *quiet), (p, quiet)) \
  X(endArrayQuiet, "_ZdaPv" NOTHROW, (void *p, const void *quiet), (p, quiet)) \
  X(endAligned, "_ZdlPv" ALIGN, (void *p, size_t align), (p, align)) \
  X(endArrayAligned, "_ZdaPv" ALIGN, (void *p, size_t align), (p, align)) \
  X(endAlignedSized, "_ZdlPv" Z ALIGN, (void *p, size_t size, size_t align), (p, size, align)) \
  X(endArrayAlignedSized, "_ZdaPv" Z ALIGN, (void *p, size_t size, size_t align), (p, size, align)) \
  X(endAlignedQuiet, "_ZdlPv" ALIGN NOTHROW, (void *p, size_t align, const void *quiet), (p, align, quiet)) \
  X(endArrayAlignedQuiet, "_ZdaPv" ALIGN NOTHROW, (void *p, size_t align, const void *quiet), (p, align, quiet))

typedef void (*OperatorHandler)(void);

/* The functions behind the wrappers; NULL until they are called. */
static struct {
#define X(name, symbol, parameters, arguments, align, throws) void *(*name) parameters;
  OPERATORS_NEW(X)
#undef X
#define X(name, symbol, parameters, arguments) void (*name) parameters;
  OPERATORS_DELETE(X)
#undef X
  OperatorHandler (*getHandler)(void);
  OperatorHandler (*setHandler)(OperatorHandler handler);
} operatorNext;

/* Of the outermost operator that the thread is inside of: what it asks for, and the program's handler. */
static __thread size_t operatorSize __attribute__((tls_model("initial-exec")));
static __thread OperatorHandler operatorHandler __attribute__((tls_model("initial-exec")));

/* operatorFind -- who implements a function: the next library in the order of the process; or, where that was loaded
 * for a plugin alone, the one that the caller finds.  That one stays loaded, and is asked for what is sought later, too:
 * the caller then may be an operator that we have called ourselves. */
static __attribute__((cold, noinline)) void operatorFind(void *function, const char *name, const void *site)
{
  static void *home;
  int error = errno;
  void *symbol, *caller;
  Dl_info info;

  ShimStart();
  symbol = ShimSymbol(RTLD_NEXT, name);
  if (symbol == NULL && __atomic_load_n(&home, __ATOMIC_ACQUIRE) == NULL && dladdr(site, &info) != 0 &&
      (caller = ShimLibrary(info.dli_fname)) != NULL)
    __atomic_store_n(&home, caller, __ATOMIC_RELEASE);
  caller = __atomic_load_n(&home, __ATOMIC_ACQUIRE);
  if (symbol == NULL && caller != NULL)
    symbol = ShimSymbol(caller, name);
  __atomic_store_n((void **)function, symbol, __ATOMIC_RELEASE);
  errno = error;
}

#define OPERATOR_FIND(name, symbol) \
  do { \
    if (UNLIKELY(__atomic_load_n(&operatorNext.name, __ATOMIC_ACQUIRE) == NULL)) \
      operatorFind(&operatorNext.name, symbol, SITE); \
  } while (0)

/* OPERATOR_UNWINDS -- exceptions that pass the function it stands in call operatorUnwound.  That is all that is to be
 * done, so there is no need of the tables of C++, and of a library that reads them. */
#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#define OPERATOR_UNWINDS __asm__ volatile(".cfi_personality 0x1b, operatorUnwound") /* a signed 32-bit offset from here */
#else
#define OPERATOR_UNWINDS ((void)0)
#endif

extern _Unwind_Reason_Code operatorUnwound(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception, struct _Unwind_Context *context)
    __attribute__((visibility("hidden"), used));

_Unwind_Reason_Code operatorUnwound(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                    struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
  UNUSED(version), UNUSED(class), UNUSED(exception), UNUSED(context);
  if ((actions & _UA_CLEANUP_PHASE) != 0)
    ShimWithin = ShimOUTSIDE;
  return _URC_CONTINUE_UNWIND;
}

/* The program's handler, called from inside an operator: what it does is the program's. */
static void operatorHandle(void)
{
  unsigned within = ShimWithin;

  ShimWithin = ShimOUTSIDE;
  operatorHandler();
  ShimWithin = within;
}

/* operatorAsked -- an operator found no memory, and asks for the handler.  If there is none it gives up, and throws. */
static OperatorHandler operatorAsked(OperatorHandler handler)
{
  if (ShimWithin != ShimOPERATOR)
    return handler;
  EVENT_PW(PoolAllocFail, ShimNext.pool, operatorSize);
  if (handler == NULL) {
    ShimWithin = ShimOUTSIDE;
    return NULL;
  }
  operatorHandler = handler;
  return operatorHandle;
}

extern OperatorHandler operatorGetHandler(void) __asm__("_ZSt15get_new_handlerv") SHIM;
extern OperatorHandler operatorSetHandler(OperatorHandler handler) __asm__("_ZSt15set_new_handlerPFvvE") SHIM;

OperatorHandler operatorGetHandler(void)
{
  OPERATOR_FIND(getHandler, "_ZSt15get_new_handlerv");
  return operatorNext.getHandler != NULL ? operatorAsked(operatorNext.getHandler()) : NULL;
}

/* Before there was a function to get it, who wanted the handler set none for a moment. */
OperatorHandler operatorSetHandler(OperatorHandler handler)
{
  OperatorHandler before;

  OPERATOR_FIND(setHandler, "_ZSt15set_new_handlerPFvvE");
  if (operatorNext.setHandler == NULL)
    return NULL;
  before = operatorNext.setHandler(handler == operatorHandle ? operatorHandler : handler);
  return handler == NULL ? operatorAsked(before) : before;
}

/* operatorGot -- tell of what an operator new gave.  If it asked for the handler, its failure is told. */
static inline void *operatorGot(void *p, size_t size, size_t align, const void *site)
{
  Bool failed = ShimWithin == ShimOUTSIDE && !ShimNext.manages;

  ShimWithin = ShimOUTSIDE;
  if (UNLIKELY(p == NULL)) {
    if (!failed)
      EVENT_PW(PoolAllocFail, ShimNext.pool, size);
  } else if (align == 0) {
    SHIM_TELL(PAW, PoolAlloc, site, ShimNext.pool, (Addr)p, size);
  } else {
    SHIM_TELL(PAWW, PoolAllocAligned, site, ShimNext.pool, (Addr)p, size, align);
  }
  return p;
}

/* operatorServe -- what Pawprint's own pool gives where it serves.  Another allocator's operators would not know what
 * they are to delete.  NULL: there is no memory, and no handler. */
static void *operatorServe(size_t size, size_t align)
{
  for (;;) {
    void *p = align == 0 ? MMAlloc(size) : MMAllocAligned(size, align);
    OperatorHandler handler = p == NULL ? operatorGetHandler() : NULL;
    if (handler == NULL)
      return p;
    EVENT_PW(PoolAllocFail, ShimNext.pool, size);
    handler();
  }
}

/* OPERATOR_WANTED -- is this call to be told? */
#define OPERATOR_WANTED(event) \
  (EVENT_PRESENT(event) && EVENT_WANTED(Event##event##KIND) && LIKELY(ShimWithin == ShimOUTSIDE))

/* Nobody implements an operator only in a process that could not have been linked without us: malloc serves.  What the
 * pool cannot serve is thrown by an operator that is asked for too much. */
#define X(name, symbol, parameters, arguments, alignment, throws) \
  extern void *operator_##name parameters __asm__(symbol) SHIM; \
  void *operator_##name parameters \
  { \
    size_t asked = size; \
    void *p; \
    OPERATOR_UNWINDS; \
    OPERATOR_FIND(name, symbol); \
    if (UNLIKELY(operatorNext.name == NULL)) \
      return (alignment) == 0 ? malloc(size) : memalign((alignment) != 0 ? (alignment) : 1, size); \
    if (UNLIKELY(ShimNext.manages)) { \
      p = operatorServe(size, alignment); \
      if (p != NULL || !(throws)) \
        return operatorGot(p, size, alignment, SITE); \
      size = PTRDIFF_MAX; \
    } else if (!OPERATOR_WANTED(PoolAlloc)) { \
      return operatorNext.name arguments; \
    } \
    ShimWithin = ShimOPERATOR; \
    operatorSize = asked; \
    p = operatorNext.name arguments; \
    return operatorGot(p, asked, alignment, SITE); \
  }
OPERATORS_NEW(X)
#undef X

#define X(name, symbol, parameters, arguments) \
  extern void operator_##name parameters __asm__(symbol) SHIM; \
  void operator_##name parameters \
  { \
    OPERATOR_FIND(name, symbol); \
    if (UNLIKELY(operatorNext.name == NULL || ShimNext.manages)) { \
      free(p); \
      return; \
    } \
    if (p == NULL || !OPERATOR_WANTED(PoolFree) || ShimIsEarly(p)) { \
      operatorNext.name arguments; \
      return; \
    } \
    EVENT_PA(PoolFree, ShimNext.pool, (Addr)p); \
    ShimWithin = ShimOPERATOR; \
    operatorNext.name arguments; \
    ShimWithin = ShimOUTSIDE; \
  }
OPERATORS_DELETE(X)
#undef X
