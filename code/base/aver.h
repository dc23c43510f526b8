/* aver.h -- assertions about our own code
 *
 * AVER stays in the varieties that people record with (cool, hot); AVER_CRITICAL, for the paths that
 * every allocation takes, is in cool only; `rash` has neither.  A failed AVER tells on standard error
 * what, where, calls the handler (the emitter sets one that prints the newest events), and aborts.
 * It allocates nothing and takes no lock: it may fail inside a memory manager.
 *
 * Design: design/house.md .aver      Tests: test/base/basetest.c
 */
#ifndef BASE_AVER_H
#define BASE_AVER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "types.h"

/* AverHandler -- called once with the failed condition, before the process is aborted */
typedef void (*AverHandler)(const char *condition, const char *file, unsigned line);

/* AverHandlerSet -- replace the handler; NULL for none.  Returns the old one. */
extern AverHandler AverHandlerSet(AverHandler handler);

/* AverFail -- report and abort; does not return.  A good place for a breakpoint. */
extern void AverFail(const char *condition, const char *file, unsigned line)
  __attribute__((noreturn, cold, noinline));

#define AVER_ALWAYS(cond) \
  (LIKELY(cond) ? (void)0 : AverFail(#cond, __FILE__, __LINE__))

#if defined(VARIETY_RASH)
#define AVER(cond)          ((void)sizeof(cond))
#define AVER_CRITICAL(cond) ((void)sizeof(cond))
#elif defined(VARIETY_HOT)
#define AVER(cond)          AVER_ALWAYS(cond)
#define AVER_CRITICAL(cond) ((void)sizeof(cond))
#else
#define AVER(cond)          AVER_ALWAYS(cond)
#define AVER_CRITICAL(cond) AVER_ALWAYS(cond)
#endif

#define NOTREACHED AverFail("not reached", __FILE__, __LINE__)

#endif /* BASE_AVER_H */
