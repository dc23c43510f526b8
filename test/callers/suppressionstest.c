/* suppressionstest.c -- patterns of leaks, and files of them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callers/suppressions.h"
#include "tap.h"

static void testMatches(void)
{
  static const struct {
    const char *pattern, *name;
    Bool matches;
  } cases[] = {
    {"foo", "foo", TRUE}, {"foo", "a_foo_b", TRUE}, {"foo", "fo", FALSE}, {"foo", "", FALSE},
    {"^foo", "foobar", TRUE}, {"^foo", "a_foo", FALSE}, {"foo$", "a_foo", TRUE}, {"foo$", "foobar", FALSE},
    {"^foo$", "foo", TRUE}, {"^foo$", "foofoo", FALSE}, {"foo$", "foofoo", TRUE}, {"f*o", "f...o", TRUE},
    {"f*o", "o...f", FALSE}, {"^f*o$", "f o o", TRUE}, {"^f*o$", "xfoo", FALSE}, {"a*b*c", "1a2b3c4", TRUE},
    {"a*b*c", "acb", FALSE}, {"*", "anything", TRUE}, {"^*x", "yx", TRUE}, {"a**b", "a-b", TRUE},
    {"lib$z", "lib$z.so", TRUE}, {"ab*$", "xab...", TRUE}, {"^ab$", "aab", FALSE}, {"^$", "a", FALSE},
    {"libz.so", "/usr/lib/libz.so.1", TRUE}, {"LIBZ", "/usr/lib/libz.so.1", FALSE},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    TapOk(SuppressionMatches(cases[i].pattern, cases[i].name, strlen(cases[i].name)) == cases[i].matches,
          "'%s' %s '%s'", cases[i].pattern, cases[i].matches ? "matches" : "does not match", cases[i].name);
  }
}

static Res readText(Suppressions suppressions, const char *text, Size length, char *error, Size size)
{
  char path[] = "/tmp/suppressionstest.XXXXXX";
  int fd = mkstemp(path);
  Res res;

  *suppressions = (SuppressionsStruct){.count = 0};
  if (fd < 0 || write(fd, text, length) != (ssize_t)length)
    return ResIO;
  close(fd);
  res = SuppressionsRead(suppressions, path, error, size);
  unlink(path);
  return res;
}

static void testFile(void)
{
  static const char text[] = "# ours\n\nleak:first\n  leak:second of *  \r\nleak:third";
  static char longLine[3 * SuppressionMAX];
  SuppressionsStruct all;
  char error[256];

  TapOk(readText(&all, text, sizeof text - 1, error, sizeof error) == ResOK, "a file is read");
  TapIs(all.count, 3, "with its patterns");
  TapOk(all.count == 3 && strcmp(all.pattern[0], "first") == 0 && strcmp(all.pattern[1], "second of *") == 0 &&
        strcmp(all.pattern[2], "third") == 0, "as they stand there");
  SuppressionsFinish(&all);
  TapOk(readText(&all, "leak:a\nrace:b\n", 14, error, sizeof error) == ResFORMAT && strstr(error, "line 2 is not") != NULL,
        "another type is refused, and the line named");
  SuppressionsFinish(&all);
  TapOk(readText(&all, "leak:\n", 6, error, sizeof error) == ResFORMAT, "so is an empty pattern, which would match all");
  SuppressionsFinish(&all);
  memset(longLine, 'x', sizeof longLine);
  memcpy(longLine, "leak:", 5);
  TapOk(readText(&all, longLine, sizeof longLine, error, sizeof error) == ResFORMAT, "so is a line without end");
  SuppressionsFinish(&all);
  TapOk(SuppressionsRead(&all, "/nonexistent/file", error, sizeof error) == ResIO && strstr(error, "No such file") != NULL,
        "a file that is not there");
  SuppressionsFinish(&all);
}

int main(void)
{
  testMatches();
  testFile();
  return TapDone();
}
