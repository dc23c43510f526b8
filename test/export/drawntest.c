/* drawntest.c -- strings out of logs: kept once, and made fit for others' files
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "export/output.h"
#include "export/writer.h"
#include "request/stringtable.h"
#include "tap.h"

/* ---- Strings ---- */

static void testStrings(uint64_t state)
{
  enum { many = 20000 };
  StringsStruct strings = {0};
  const char *first;
  char text[32];
  Size length;
  Index i, wrong = 0;

  TapIs(StringsAdd(&strings, "", 0), 0, "the empty string is 0");
  TapOk(*StringsAt(&strings, 0, &length) == '\0' && length == 0, "and 0 is the empty string");
  TapIs(StringsAdd(&strings, "a\0b", 3), 1, "numbers begin with 1");
  first = StringsAt(&strings, 1, &length);
  TapOk(length == 3 && memcmp(first, "a\0b", 4) == 0, "a string may have any bytes, and is terminated");
  for (i = 0; i < many; ++i) {
    int n = snprintf(text, sizeof text, "%zu", (size_t)(TapRandom(&state) % 5000));
    uint32_t number = StringsAdd(&strings, text, (Size)n);
    const char *back = StringsAt(&strings, number, &length);
    wrong += length != (Size)n || memcmp(back, text, length) != 0 || StringsAdd(&strings, text, (Size)n) != number;
  }
  TapIs(wrong, 0, "each is found again under its number, and gets that again");
  TapOk(strings.count <= 5001, "each is there once");
  TapOk(StringsAt(&strings, 1, &length) == first, "and stays where it is");
  StringsFinish(&strings);
}

/* ---- Clean ---- */

/* cleaned -- what of `bytes` is written, through a pipe; forbidden NULL: as JSON */
static const char *cleaned(const char *bytes, Size length, const char *forbidden)
{
  static char text[4096];
  static OutputStruct output;
  int ends[2];
  ssize_t n;

  if (pipe(ends) != 0)
    return "no pipe";
  OutputInit(&output, ends[1]);
  if (forbidden == NULL)
    CleanJson(&output, bytes, length);
  else
    CleanPlain(&output, bytes, length, forbidden);
  (void)OutputFlush(&output);
  (void)close(ends[1]);
  n = read(ends[0], text, sizeof text - 1);
  (void)close(ends[0]);
  text[n < 0 ? 0 : n] = '\0';
  return text;
}

static void testClean(void)
{
  /* What is no UTF-8: a byte that begins nothing, too long, cut off, a surrogate, beyond Unicode. */
  static const char *const broken[] = {"\x80", "\xff", "\xc0", "\xc1", "\xf5"};
  static const char *const longer[] = {"\xc0\xaf", "\xe0\x80\xaf", "\xc3", "\xe2\x82", "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80"};
  static const char sound[] = "plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf";
  Index i, wrong = 0;

  TapOk(strcmp(cleaned("a\"b\\c\n\x01\x7f", 8, NULL), "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\"") == 0, "JSON has escapes");
  TapOk(strcmp(cleaned(sound, strlen(sound), ""), sound) == 0, "what is UTF-8 stays");
  for (i = 0; i < ARRAY_LENGTH(broken); ++i)
    wrong += strcmp(cleaned(broken[i], 1, NULL), "\"\xef\xbf\xbd\"") != 0;
  TapIs(wrong, 0, "a byte that is not becomes U+FFFD");
  for (i = 0; i < ARRAY_LENGTH(longer); ++i) {
    const char *got = cleaned(longer[i], strlen(longer[i]), "");
    wrong += strlen(got) != strlen(longer[i]) || strspn(got, "?") != strlen(got);
  }
  TapIs(wrong, 0, "or '?', each by itself");
  TapOk(strcmp(cleaned("a;b\"c\td", 7, ";\""), "a?b?c?d") == 0, "what is forbidden becomes '?'");
  TapOk(strcmp(cleaned("", 0, NULL), "\"\"") == 0, "nothing is an empty string");
}

/* ---- --thin ---- */

static void testThin(void)
{
  static const struct {
    const char *string;
    uint64_t ns;
  } good[] = {{"0", 0},         {"1", 1000000000}, {"0.25", 250000000},  {"1.5ms", 1500000},
              {"20us", 20000}, {"7ns", 7},        {"2s", 2000000000}};
  static const char *const bad[] = {"", "ms", "-1", "1 x", "x", "1e30", "nan", "inf", "5m"};
  Index i, wrong = 0;
  uint64_t ns;

  for (i = 0; i < ARRAY_LENGTH(good); ++i)
    wrong += WriterThin(&ns, good[i].string) != ResOK || ns != good[i].ns;
  TapIs(wrong, 0, "times have units, or are seconds");
  for (i = 0; i < ARRAY_LENGTH(bad); ++i)
    wrong += WriterThin(&ns, bad[i]) != ResPARAM;
  TapIs(wrong, 0, "and what is no time is refused");
  TapOk(WriterThin(&ns, NULL) == ResOK && ns == WriterThinAUTO, "without one the writer chooses");
}

int main(void)
{
  testStrings(TapSeed() | 1);
  testClean();
  testThin();
  return TapDone();
}
