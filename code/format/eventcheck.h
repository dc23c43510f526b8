/* eventcheck.h -- checks at compile time that each argument of an annotation fits its letter
 *
 * An argument that does not fit is an error whatever warnings are on: an annotation that compiles says what the
 * registry says.  The argument is looked at, never evaluated.
 *
 *   P  any pointer                    W, U  any integer: char, _Bool and enumerations too
 *   A  Addr, or any pointer           D     float or double
 *   S  char *, const char *
 *
 * Design: design/telemetry.md .annot.check      Tests: test/house/compile.t
 */
#ifndef FORMAT_EVENTCHECK_H
#define FORMAT_EVENTCHECK_H

/* SPDX-License-Identifier: BSD-2-Clause */

/* What gcc and clang call the classes of types: 1 to 4 are the integers (clang tells char, enum and _Bool apart in
 * some modes), 5 is a pointer, to which arrays and functions decay.  _Generic cannot say "any pointer". */
#define EVENT_IS_INTEGER(p) (__builtin_classify_type(p) >= 1 && __builtin_classify_type(p) <= 4)
#define EVENT_IS_POINTER(p) (__builtin_classify_type(p) == 5)

#define EVENT_CHECK_P(p) _Static_assert(EVENT_IS_POINTER(p), "event: P takes a pointer")
#define EVENT_CHECK_A(p) _Static_assert(EVENT_IS_POINTER(p), "event: A takes an Addr or a pointer")
#define EVENT_CHECK_W(p) _Static_assert(EVENT_IS_INTEGER(p), "event: W takes an integer")
#define EVENT_CHECK_U(p) _Static_assert(EVENT_IS_INTEGER(p), "event: U takes an integer")
#define EVENT_CHECK_D(p) _Static_assert(_Generic((p), float: 1, double: 1, default: 0), \
                                        "event: D takes a float or a double")
#define EVENT_CHECK_S(p) _Static_assert(_Generic((p), char *: 1, const char *: 1, default: 0), \
                                        "event: S takes a char *")

#endif /* FORMAT_EVENTCHECK_H */
