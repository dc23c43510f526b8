/* shimnew.c -- the operators new and delete of C++, wrapped
 *
 * The wrappers are written in C under the mangled names.  Inside one, a mark of the thread is set, so that the wrappers
 * of malloc and free emit nothing.  Any implementation works: libstdc++ and libc++ call malloc and free; jemalloc,
 * tcmalloc and mimalloc have operators of their own.
 *
 * An operator new that finds no memory calls std::get_new_handler, and then the program's handler, which may free and
 * allocate; without a handler it throws.  The events of the handler and of the exception's memory are wanted, so the
 * mark must be cleared for both.  Therefore get_new_handler is wrapped: inside an operator it returns a function of
 * ours, which clears the mark while it calls the handler; and the call of get_new_handler shows that an attempt failed.
 * An exception that is thrown without such a call clears the mark when it passes the wrapper (operatorUnwound).  Its
 * memory is allocated before that and freed later, maybe outside of the operator: so the mark is cleared wherever the
 * C++ runtime allocates or frees an exception.
 *
 * Design: design/shim.md .shim.new      Tests: test/malloc/shimnew.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unwind.h>

#include "emit/event.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimnext.h"
#include "malloc/shimscope.h"
#include "mm/mallocpool.h"

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

/* X(name, symbol, parameters, arguments) -- an exception's memory is allocated; and freed */
#define EXCEPTIONS_NEW(X) \
  X(exception, "__cxa_allocate_exception", (size_t size), (size)) \
  X(dependent, "__cxa_allocate_dependent_exception", (void), ())
#define EXCEPTIONS_DELETE(X) \
  X(endException, "__cxa_free_exception", (void *p), (p)) \
  X(endDependent, "__cxa_free_dependent_exception", (void *p), (p))

typedef void (*OperatorHandler)(void);

/* The functions behind the wrappers; NULL until they are called. */
static struct {
#define X(name, symbol, parameters, arguments, align, throws) void *(*name) parameters;
  OPERATORS_NEW(X)
#undef X
#define X(name, symbol, parameters, arguments) void (*name) parameters;
  OPERATORS_DELETE(X)
  EXCEPTIONS_DELETE(X)
#undef X
#define X(name, symbol, parameters, arguments) void *(*name) parameters;
  EXCEPTIONS_NEW(X)
#undef X
  OperatorHandler (*getHandler)(void);
  OperatorHandler (*setHandler)(OperatorHandler handler);
} operatorNext;

/* The outermost operator that the thread is inside of: the size and alignment that it asks for, and the program's
 * handler. */
static __thread size_t operatorSize __attribute__((tls_model("initial-exec")));
static __thread OperatorHandler operatorHandler __attribute__((tls_model("initial-exec")));

/* operatorIn -- the function in a library that is loaded, which is kept loaded if it has it; NULL: it has none */
static void *operatorIn(void **libraryReturn, const char *path, const char *name)
{
  void *symbol = NULL;

  *libraryReturn = ShimLibrary(path);
  if (*libraryReturn != NULL && (symbol = ShimSymbol(*libraryReturn, name)) == NULL)
    ShimLibraryLeave(*libraryReturn);
  return symbol;
}

/* operatorLocal -- the implementation that only a plugin loaded, by the loader: the one that the caller would find.
 * The plugin's library is used for later lookups first. */
static void *operatorLocal(const char *name, const void *site)
{
  static const char *const runtimes[] = {"libstdc++.so.6", "libc++abi.so.1"};
  static void *home;
  void *library = __atomic_load_n(&home, __ATOMIC_ACQUIRE);
  void *symbol = library != NULL ? ShimSymbol(library, name) : NULL;
  Dl_info info;
  Index i;

  if (symbol != NULL)
    return symbol;
  if (dladdr(site, &info) != 0)
    symbol = operatorIn(&library, info.dli_fname, name);
  for (i = 0; symbol == NULL && i < ARRAY_LENGTH(runtimes); ++i)
    symbol = operatorIn(&library, runtimes[i], name);
  if (symbol != NULL && __atomic_load_n(&home, __ATOMIC_ACQUIRE) == NULL)
    __atomic_store_n(&home, library, __ATOMIC_RELEASE);
  return symbol;
}

/* operatorFind -- find the implementation of a function, in the next library in the search order of the process if that
 * has it */
static __attribute__((cold, noinline)) void operatorFind(void *function, const char *name, const void *site)
{
  int error = errno;
  void *symbol;

  ShimStart();
  symbol = ShimScopeNext(name, NULL);
  if (symbol == NULL)
    symbol = ShimScopeLocal(name, site);
  if (symbol == NULL)
    symbol = ShimSymbol(RTLD_NEXT, name);
  if (symbol == NULL)
    symbol = operatorLocal(name, site);
  __atomic_store_n((void **)function, symbol, __ATOMIC_RELEASE);
  errno = error;
}

#define OPERATOR_FIND(name, symbol) \
  do { \
    if (UNLIKELY(__atomic_load_n(&operatorNext.name, __ATOMIC_ACQUIRE) == NULL)) \
      operatorFind(&operatorNext.name, symbol, SITE); \
  } while (0)

/* OPERATOR_UNWINDS -- an exception that passes the function in which this stands calls operatorUnwound.  Nothing else
 * needs to be done, so no tables of C++ are needed, nor a library that reads them. */
#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
/* 0x1b: what follows is a signed 32-bit offset from here. */
#define OPERATOR_UNWINDS __asm__ volatile(".cfi_personality 0x1b, operatorUnwound")
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

/* The program's handler is called from inside an operator: its own allocations are events, as anywhere. */
static void operatorHandle(void)
{
  unsigned within = ShimWithin;

  ShimWithin = ShimOUTSIDE;
  operatorHandler();
  ShimWithin = within;
}

/* operatorAsked -- an operator found no memory and calls get_new_handler.  If there is no handler it will throw. */
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

/* Older libraries had no function to get the handler: an operator set none for a moment to learn it. */
OperatorHandler operatorSetHandler(OperatorHandler handler)
{
  OperatorHandler before;

  OPERATOR_FIND(setHandler, "_ZSt15set_new_handlerPFvvE");
  if (operatorNext.setHandler == NULL)
    return NULL;
  before = operatorNext.setHandler(handler == operatorHandle ? operatorHandler : handler);
  return handler == NULL ? operatorAsked(before) : before;
}

/* operatorGot -- the event of an operator new; if the operator asked for the handler, its failure has its event
 * already */
static inline void *operatorGot(void *p, size_t size, size_t align, const void *site)
{
  Bool failed = ShimWithin == ShimOUTSIDE && !ShimNext.manages;

  ShimWithin = ShimOUTSIDE;
  if (UNLIKELY(size >= LargeSIZE && p != NULL))
    ShimLargeNew(p, size);
  if (UNLIKELY(p == NULL)) {
    if (!failed)
      EVENT_PW(PoolAllocFail, ShimNext.pool, size);
  } else if (UNLIKELY(ShimNext.depth != 0)) {
    return align == 0 ? ShimGotFrom(p, size, site) : ShimAlignedFrom(p, size, align, site);
  } else if (align == 0) {
    EVENT_PAW(PoolAlloc, ShimNext.pool, (Addr)p, size);
  } else {
    EVENT_PAWW(PoolAllocAligned, ShimNext.pool, (Addr)p, size, align);
  }
  return p;
}

/* operatorServe -- serve an operator new from Pawprint's own pool, where that serves malloc: another allocator's
 * operator delete could not free such memory.  NULL: there is no memory, and no handler. */
static void *operatorServe(size_t size, size_t align)
{
  for (;;) {
    void *p = align == 0 ? ShimNext.malloc(size) : ShimNext.memalign(align, size);
    OperatorHandler handler = p == NULL ? operatorGetHandler() : NULL;
    if (handler == NULL)
      return p;
    EVENT_PW(PoolAllocFail, ShimNext.pool, size);
    handler();
  }
}

/* OPERATOR_WANTED -- does this call need an event? */
#define OPERATOR_WANTED(event) \
  (EVENT_PRESENT(event) && EVENT_WANTED(Event##event##KIND) && LIKELY(ShimWithin == ShimOUTSIDE))

/* If no library implements the operators, the process was linked with us to have them, and malloc serves.  If the pool
 * has no memory, an operator of another library is called with a size that is too large, so that it throws. */
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
    SHIM_TELL_FREE(p, SITE); \
    ShimWithin = ShimOPERATOR; \
    operatorNext.name arguments; \
    ShimWithin = ShimOUTSIDE; \
  }
OPERATORS_DELETE(X)
#undef X

/* ---- The memory of exceptions ----
 *
 * An exception outlives the operator that throws it, or is caught in it, or in another one: its allocation and its free
 * both have events.
 */

#define X(name, symbol, parameters, arguments) \
  extern void *exception_##name parameters __asm__(symbol) SHIM; \
  void *exception_##name parameters \
  { \
    unsigned within = ShimWithin; \
    void *p; \
    OPERATOR_FIND(name, symbol); \
    if (UNLIKELY(operatorNext.name == NULL)) \
      abort(); /* as the runtime does that has no memory for an exception */ \
    if (LIKELY((within & ShimINSIDE) == 0)) \
      return operatorNext.name arguments; \
    ShimWithin = ShimOUTSIDE; \
    p = operatorNext.name arguments; \
    ShimWithin = within; \
    return p; \
  }
EXCEPTIONS_NEW(X)
#undef X

#define X(name, symbol, parameters, arguments) \
  extern void exception_##name parameters __asm__(symbol) SHIM; \
  void exception_##name parameters \
  { \
    unsigned within = ShimWithin; \
    OPERATOR_FIND(name, symbol); \
    if (UNLIKELY(operatorNext.name == NULL)) \
      return; \
    if (LIKELY((within & ShimINSIDE) == 0)) { \
      operatorNext.name arguments; \
      return; \
    } \
    ShimWithin = ShimOUTSIDE; \
    operatorNext.name arguments; \
    ShimWithin = within; \
  }
EXCEPTIONS_DELETE(X)
#undef X
