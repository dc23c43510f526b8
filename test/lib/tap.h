/* tap.h -- what a unit test needs to speak TAP under prove
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A test program calls TapOk and friends and ends with `return TapDone();`.  Random tests take their seed from
 * TapSeed, which prints it and obeys the environment's SEED.
 */
#ifndef TEST_TAP_H
#define TEST_TAP_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned tapCount, tapFailed;

/* TapOk -- one line of TAP: did `condition` hold?  The rest is the sentence that it proves, printf-style. */
#define TapOk(condition, ...) tapOk(!!(condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

/* TapIs -- two integers are the same; both are shown if not */
#define TapIs(got, expected, ...) tapIs((uint64_t)(got), (uint64_t)(expected), __FILE__, __LINE__, __VA_ARGS__)

/* PLANT -- a field of a live structure has a value that it cannot have: `check` says so, and afterwards is content
 * again */
#define PLANT(field, value, check, what) \
  do { \
    __typeof__(field) was_ = (field); \
    int sees_; \
    (field) = (value); \
    sees_ = !(check); \
    (field) = was_; \
    TapOk(sees_ && (check), "the check sees %s", what); \
  } while (0)

__attribute__((format(printf, 5, 6), unused)) static int tapOk(int ok, const char *condition, const char *file,
                                                              int line, const char *format, ...)
{
  va_list args;

  printf("%sok %u - ", ok ? "" : "not ", ++tapCount);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  if (!ok) {
    ++tapFailed;
    fprintf(stderr, "# not ok %u: %s:%d: %s\n", tapCount, file, line, condition);
  }
  fflush(stdout);
  return ok;
}

__attribute__((format(printf, 5, 6), unused)) static int tapIs(uint64_t got, uint64_t expected, const char *file,
                                                              int line, const char *format, ...)
{
  va_list args;

  printf("%sok %u - ", got == expected ? "" : "not ", ++tapCount);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  if (got != expected) {
    ++tapFailed;
    fprintf(stderr, "# not ok %u: %s:%d: got %llu (0x%llx), expected %llu (0x%llx)\n", tapCount, file, line,
            (unsigned long long)got, (unsigned long long)got, (unsigned long long)expected, (unsigned long long)expected);
  }
  fflush(stdout);
  return got == expected;
}

/* TapSees -- with `value` in place of what is at `place`, `check` fails; and not before or afterwards */
#define TapSees(place, value, check, what) \
  do { \
    __typeof__(place) saved_ = (place); \
    Bool before_ = (check), seen_; \
    (place) = (__typeof__(place))(value); \
    seen_ = !(check); \
    (place) = saved_; \
    TapOk(before_ && seen_ && (check), "%s", what); \
  } while (0)

/* TapSkip -- one line for a test that cannot run here, and why */
#define TapSkip(reason) printf("ok %u # SKIP %s\n", ++tapCount, (reason))

/* TapSeed -- the seed of a random test: $SEED, or the time; printed */
static inline uint64_t TapSeed(void)
{
  const char *given = getenv("SEED");
  uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

  fprintf(stderr, "# SEED=%llu\n", (unsigned long long)seed); /* there, because tool/check keeps that of what fails */
  return seed;
}

/* TapRandom -- the next number of a sequence (xorshift64*); `state` must not be 0 */
static inline uint64_t TapRandom(uint64_t *state)
{
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545f4914f6cdd1dull;
}

/* TapDone -- the plan; returns the program's status */
static inline int TapDone(void)
{
  printf("1..%u\n", tapCount);
  return tapFailed == 0 ? 0 : 1;
}

#endif /* TEST_TAP_H */
