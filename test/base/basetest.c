/* basetest.c -- the words all rooms speak: results, text, checksums, bit tables, AVER
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/bt.h"
#include "base/bytesreader.h"
#include "base/crc.h"
#include "base/grow.h"
#include "base/page.h"
#include "base/say.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/types.h"
#include "tap.h"

static void testWords(void)
{
  Res res;
  Bool named = TRUE;

  TapOk(sizeof(Word) == sizeof(void *) && sizeof(Addr) == sizeof(void *), "Word and Addr are as wide as a pointer");
  TapOk(WordAlignUp(0, 16) == 0 && WordAlignUp(1, 16) == 16 && WordAlignUp(16, 16) == 16, "WordAlignUp");
  TapOk(WordAlignDown(15, 16) == 0 && WordAlignDown(31, 16) == 16, "WordAlignDown");
  TapOk(WordIsPowerOf2(1u) && WordIsPowerOf2(4096u) && !WordIsPowerOf2(0u) && !WordIsPowerOf2(12u), "WordIsPowerOf2");
  for (res = ResOK; res < ResLIMITED; ++res)
    named = named && ResName(res) != NULL && ResName(res)[0] != '\0';
  TapOk(named, "each result has a name");
  TapOk(ResOK == 0 && strcmp(ResName(ResOK), "ok") == 0 && strcmp(ResName(ResEND), "end") == 0, "the right ones");
  TapOk(strcmp(ResName((Res)999), "unknown result") == 0, "and what is no result has one too");
}

/* ---- Text ---- */

static char room[512];

static const char *decimal(uint64_t n)
{
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextDecimal(&text, n);
  return TextTerminate(&text);
}

static const char *hex(uint64_t n)
{
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextHex(&text, n);
  return TextTerminate(&text);
}

static const char *real(double d)
{
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextDouble(&text, d);
  return TextTerminate(&text);
}

static const char *quoted(const char *bytes, Size size)
{
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextQuoted(&text, bytes, size);
  return TextTerminate(&text);
}

/* Numbers of all lengths: near powers of two and ten, and random ones of random width. */
static void testNumbers(uint64_t seed)
{
  uint64_t n, power = 1;
  unsigned i, wrong = 0;
  char expected[40];

  for (i = 0; i < 20000; ++i) {
    power = i % 20 == 0 ? 1 : power * 10;
    n = i < 400 ? power + i / 20 - 10 : TapRandom(&seed) >> (TapRandom(&seed) % 64);
    snprintf(expected, sizeof expected, "%" PRIu64, n);
    wrong += strcmp(decimal(n), expected) != 0;
    snprintf(expected, sizeof expected, "0x%" PRIx64, n);
    wrong += strcmp(hex(n), expected) != 0;
  }
  TapIs(wrong, 0, "decimal and hex are printf's");
  TapOk(strcmp(decimal(0), "0") == 0 && strcmp(decimal(UINT64_MAX), "18446744073709551615") == 0, "decimal's ends");
  TapOk(CountAdd(3, 4) == 7 && CountAdd(0, CountMAX) == CountMAX && CountAdd(3, UINT64_MAX) == 4 &&
            CountAdd(CountMAX, CountMAX) == CountMAX,
        "of counts more than there can be count one, and no sum wraps");
  TapOk(*TextPlural(1) == '\0' && strcmp(TextPlural(0), "s") == 0 && strcmp(TextPlural(2), "s") == 0 &&
        strcmp(TextPlural((1ULL << 32) + 1), "s") == 0, "one is one, and all else many");
  TapOk(strcmp(hex(0), "0x0") == 0 && strcmp(hex(UINT64_MAX), "0xffffffffffffffff") == 0, "hex's ends");
}

static void testAppending(void)
{
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextString(&text, "a");
  TextChar(&text, ' ');
  TextDecimal(&text, UINT64_MAX);
  TextChar(&text, ' ');
  TextPadded(&text, 42, 9);
  TextChar(&text, ' ');
  TextPadded(&text, 123456, 3);
  TextBytes(&text, " xyz", 2);
  TapOk(strcmp(TextTerminate(&text), "a 18446744073709551615 000000042 123456 x") == 0, "pieces follow one another");
  TapOk(!text.overflow && TextLength(&text) == strlen(room) && TextRoom(&text) == sizeof room - 1 - strlen(room),
        "length and room");
}

/* All characters of one and two bytes: those that a terminal obeys are escaped, and no other. */
static void testPlain(void)
{
  TextStruct text;
  unsigned a, b, wrong = 0;

  for (a = 0; a < 256; ++a)
    for (b = 0; b < 256; ++b) {
      char bytes[] = {(char)a, (char)b};
      Bool ascii = a < 0x80, pair = a >= 0xc2 && a < 0xe0 && b >= 0x80 && b < 0xc0;
      Bool control = ascii ? a < ' ' || a == 0x7f : a == 0xc2 && b < 0xa0;
      wrong += TextUtf8(bytes, 2) != (ascii ? 1u : pair ? 2u : 0u);
      wrong += TextPrintable(bytes, 2) != (control ? 0u : TextUtf8(bytes, 2));
    }
  TapIs(wrong, 0, "controls of C0, DEL and C1 are not printable, nor what is no UTF-8");
  for (wrong = 0, a = 0x2000; a < 0x3000; ++a) {
    char bytes[] = {(char)(0xe0 | a >> 12), (char)(0x80 | (a >> 6 & 63)), (char)(0x80 | (a & 63))};
    Bool turns = (a >= 0x202a && a <= 0x202e) || (a >= 0x2066 && a <= 0x2069);
    wrong += TextPrintable(bytes, 3) != (turns ? 0u : 3u);
  }
  TapIs(wrong, 0, "nor are changes of direction, of characters of three bytes");
  TextInit(&text, room, sizeof room);
  TextPlain(&text, "a\\\"\n\xc2\x9b\xc3\xa4\x9b", 9);
  TapOk(strcmp(TextTerminate(&text), "a\\\"\\012\\302\\233\xc3\xa4\\233") == 0,
        "what is not is escaped, all else stays");
  TextInit(&text, room, 7);
  TextPlain(&text, "abcd\x1b" "e", 6);
  TapOk(strcmp(TextTerminate(&text), "abcd") == 0 && text.overflow, "an escape is not cut in two");
}

/* What does not fit is cut at the last byte, and nothing behind it is touched. */
static __attribute__((format(printf, 2, 3))) void sayLines(FILE *out, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  SayLines(out, "name", format, args);
  va_end(args);
}

/* Each write to a pipe of packets is read by itself: so a line that is written in pieces is seen. */
static void testSay(void)
{
  char got[256];
  ssize_t n;
  int ends[2];
  FILE *out;

  if (pipe2(ends, O_DIRECT) != 0 || (out = fdopen(ends[1], "w")) == NULL) {
    TapSkip("this system has no pipes of packets");
    return;
  }
  setvbuf(out, NULL, _IONBF, 0);
  SayLine(out, "one %s, %d", "\x1b[m\n line", 7);
  n = read(ends[0], got, sizeof got);
  TapOk(n == 23 && memcmp(got, "one \\033[m\\012 line, 7\n", 23) == 0, "a line is one write");
  sayLines(out, "%s", "one\ntwo");
  n = read(ends[0], got, sizeof got);
  TapOk(n == 14 && memcmp(got, "name: one\ntwo\n", 14) == 0, "and so are several, with the name before them");
  fclose(out);
  close(ends[0]);
}

static void testCut(void)
{
  static char small[16];
  TextStruct text;
  Size size;
  unsigned wrong = 0;

  for (size = 1; size < 12; ++size) {
    memset(small, '#', sizeof small);
    TextInit(&text, small, size);
    TextString(&text, "12345");
    TextHex(&text, 0xabcdefu);
    TextTerminate(&text);
    wrong += strlen(small) != size - 1 || strncmp(small, "123450xabcdef", size - 1) != 0 || !text.overflow ||
             small[size] != '#';
  }
  TapIs(wrong, 0, "a text is cut where its room ends, and says so");
}

static void testReadNumber(void)
{
  const char *at = "120 18446744073709551614 18446744073709551616 99999999999999999999999 ff0g";

  TapOk(TextNumber(&at, 10) == 120 && *at == ' ', "digits are read, and no more");
  TapOk(TextNumber(&at, 10) == 0 && *at == ' ', "where there are none nothing is passed");
  ++at;
  TapOk(TextNumber(&at, 10) == UINT64_MAX - 1 && *at++ == ' ', "the largest number");
  TapOk(TextNumber(&at, 10) == UINT64_MAX && *at++ == ' ', "one that is too large is the largest, and is passed");
  TapOk(TextNumber(&at, 10) == UINT64_MAX && *at++ == ' ', "so is one that is much too large");
  TapOk(TextNumber(&at, 16) == 0xff0 && *at == 'g', "hexadecimal");
}

static void testFormat(void)
{
  const uint64_t large = UINT64_MAX;
  char line[128], libc[128], small[8];
  TextStruct text;

  (void)snprintf(libc, sizeof libc, "%s of %c: %.*s %u %zu %ju %#jx", "all", 'x', 3, "abcdef", 7u, (size_t)12345678901,
                 large, large);
  (void)TextMake(line, sizeof line, "%s of %c: %.*s %u %zu %ju %#jx", "all", 'x', 3, "abcdef", 7u, (size_t)12345678901,
                 large, large);
  TapOk(strcmp(line, libc) == 0, "as printf has it: %s", line);
  TextInit(&text, line, sizeof line);
  TextFormat(&text, "%u", 1u);
  TextFormat(&text, "+%u=%s", 2u, "3");
  TapOk(strcmp(TextTerminate(&text), "1+2=3") == 0, "appended");
  TapOk(strcmp(TextMake(small, sizeof small, "%ju events", large), "1844674") == 0, "cut where the room ends");
}

static void testDoubles(uint64_t seed)
{
  static const struct {
    double value;
    const char *text;
  } known[] = {{0, "0"}, {-0.0, "-0"}, {1, "1"}, {0.1, "0.1"}, {1e100, "1e+100"}, {-2.5, "-2.5"},
               {1.0 / 3, "0.3333333333333333"}, {5e-324, "5e-324"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
  unsigned i, wrong = 0;

  for (i = 0; i < ARRAY_LENGTH(known); ++i)
    TapOk(strcmp(real(known[i].value), known[i].text) == 0, "%s", known[i].text);
  TapOk(strcmp(real(NAN), "nan") == 0, "nan");
  for (i = 0; i < 2000; ++i) {
    uint64_t bits = TapRandom(&seed);
    double d;

    memcpy(&d, &bits, sizeof d);
    wrong += !isnan(d) && strtod(real(d), NULL) != d;
  }
  TapIs(wrong, 0, "random doubles read back the same");
}

static void testQuoted(void)
{
  TapOk(strcmp(quoted("plain \xc3\xa4", 8), "\"plain \xc3\xa4\"") == 0, "letters, also beyond ASCII, as they are");
  TapOk(strcmp(quoted("\"\\\n\t\r", 5), "\"\\\"\\\\\\n\\t\\r\"") == 0, "C escapes");
  TapOk(strcmp(quoted("\0" "1\x7f\x1b", 4), "\"\\0001\\177\\033\"") == 0, "control characters in octal, three digits");
  TapOk(strcmp(quoted("nrt", 3), "\"nrt\"") == 0, "the letters of escapes are letters");
}

/* ---- CRC-32C ---- */

static void testCrc(uint64_t seed)
{
  static const unsigned char read10[48] = { /* an iSCSI read command, RFC 3720 B.4 */
    0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0,
    0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0};
  unsigned char data[600];
  unsigned i, wrong = 0, split = 0;

  TapIs(Crc32c(0, "123456789", 9), 0xe3069283u, "the check value of the catalogues");
  TapIs(Crc32c(0, "", 0), 0, "nothing");
  memset(data, 0, 32);
  TapIs(Crc32c(0, data, 32), 0x8a9136aau, "RFC 3720: 32 zeros");
  memset(data, 0xff, 32);
  TapIs(Crc32c(0, data, 32), 0x62a8ab43u, "RFC 3720: 32 ones");
  for (i = 0; i < 32; ++i)
    data[i] = (unsigned char)i;
  TapIs(Crc32c(0, data, 32), 0x46dd794eu, "RFC 3720: rising");
  for (i = 0; i < 32; ++i)
    data[i] = (unsigned char)(31 - i);
  TapIs(Crc32c(0, data, 32), 0x113fdb5cu, "RFC 3720: falling");
  TapIs(Crc32c(0, read10, sizeof read10), 0xd9963a56u, "RFC 3720: a command");
  for (i = 0; i < sizeof data; ++i)
    data[i] = (unsigned char)(TapRandom(&seed) >> 32);
  for (i = 0; i < 2000; ++i) {
    Size from = TapRandom(&seed) % 300, size = TapRandom(&seed) % 300, first = TapRandom(&seed) % (size + 1);
    uint32_t start = (uint32_t)TapRandom(&seed), whole = Crc32c(start, data + from, size);

    wrong += whole != Crc32cByTable(start, data + from, size);
    split += whole != Crc32c(Crc32c(start, data + from, first), data + from + first, size - first);
  }
  TapIs(wrong, 0, "instruction and table agree, at any length and alignment");
  TapIs(split, 0, "parts make the whole");
}

/* ---- Bit tables ---- */

static Word shared[BTSize(2) / sizeof(Word)];

static void *flip(void *bit)
{
  unsigned i;

  for (i = 0; i < 100000; ++i) {
    BTSet(shared, *(Index *)bit);
    BTRes(shared, *(Index *)bit);
  }
  BTSet(shared, *(Index *)bit);
  return NULL;
}

static void testBT(void)
{
  enum { bits = 200 };
  Word table[BTSize(bits) / sizeof(Word) + 1];
  unsigned expected[bits] = {FALSE};
  uint64_t seed = 7;
  Index i, j, ends[2] = {0, 1};
  unsigned wrong = 0;
  pthread_t thread[2];

  memset(table, 0, sizeof table);
  TapIs(BTSize(1), sizeof(Word), "a table is whole words");
  TapIs(BTSize(WORD_WIDTH + 1), 2 * sizeof(Word), "as many as it needs");
  for (i = 0; i < 2000; ++i) {
    j = TapRandom(&seed) % bits;
    expected[j] = TapRandom(&seed) >> 32 & 1;
    (expected[j] ? BTSet : BTRes)(table, j);
  }
  for (i = 0; i < bits; ++i)
    wrong += BTGet(table, i) != expected[i];
  TapIs(wrong, 0, "each bit is what it was last set to");
  TapIs(table[BTSize(bits) / sizeof(Word)], 0, "and nothing behind the table was touched");
  memset(table, 0, sizeof table);
  BTSet(table, WORD_WIDTH + 3);
  TapIs(table[1], 8, "bit i is bit i mod width of word i div width");
  for (i = 0; i < 2; ++i)
    pthread_create(&thread[i], NULL, flip, &ends[i]);
  for (i = 0; i < 2; ++i)
    pthread_join(thread[i], NULL);
  TapIs(shared[0], 3, "two threads that change neighbours lose nothing");
}

/* ---- Arrays ---- */

static void testGrow(void)
{
  enum { grown = 1000 };
  uint32_t *array = NULL;
  Count capacity = 0, count, moves = 0, same = 0;

  for (count = 0; count < grown; ++count) {
    Count was = capacity;
    if (!Grow(&array, &capacity, count, sizeof *array))
      break;
    moves += was != capacity;
    array[count] = (uint32_t)count * 3;
  }
  while (same < count && array[same] == same * 3)
    ++same;
  TapOk(same == grown && capacity >= grown && moves < 12, "an array grows as things are appended");
  free(array);
}

/* lebRead -- LebGet of `size` bytes; -1: it does not end */
static int64_t lebRead(const unsigned char *bytes, Size size, Bool sign)
{
  const unsigned char *next = bytes;
  unsigned bits;
  uint64_t number = LebGet(&bits, &next, bytes + size);

  if (bits == 0)
    return next == bytes + size && number == 0 ? -1 : 0;
  return bits != 7 * (unsigned)(next - bytes) ? 0 : sign ? LebSigned(number, bits) : (int64_t)number;
}

static void testLeb(void)
{
  static const unsigned char minus[] = {0x80, 0x7f}, long1[] = {0x81, 0x80, 0x80, 0}, many[] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
  unsigned char bytes[LebMAX];
  unsigned shift, wrong = 0;

  for (shift = 0; shift < 64; ++shift) {
    uint64_t number = UINT64_MAX >> shift;
    unsigned char *end = LebPut(bytes, number);
    ReaderStruct reader = ReaderOf(bytes, (Size)(end - bytes), 0, FALSE);
    wrong += end != bytes + (64 - shift + 6) / 7 || ReaderUleb(&reader) != number || reader.failed ||
             ReaderLeft(&reader) != 0;
    reader = ReaderOf(bytes, (Size)(end - bytes) - 1, 0, FALSE);
    wrong += ReaderUleb(&reader) != 0 || !reader.failed;
  }
  TapOk(wrong == 0, "a number in LEB128 is read as it was written, and as 0 if its end is missing");
  TapOk(lebRead(minus, 2, TRUE) == -128 && lebRead(minus, 2, FALSE) == 0x3f80, "one with a sign has it");
  TapOk(lebRead(long1, 4, FALSE) == 1 && lebRead(many, 11, TRUE) == -1,
        "one with more bytes than it needs is read all the same");
  TapOk(lebRead(minus, 1, TRUE) == -1 && lebRead(minus, 0, TRUE) == -1, "no byte behind the limit is read");
}

/* ---- AVER ---- */

static void handler(const char *condition, const char *file, unsigned line)
{
  char said[256];
  int length = snprintf(said, sizeof said, "handler: %s %s %u\n", condition, strrchr(file, '/') + 1, line);

  (void)!write(2, said, (size_t)length);
}

static void badHandler(const char *condition, const char *file, unsigned line)
{
  (void)!write(2, "again\n", 6);
  AverFail(condition, file, line);
}

/* Runs `body` in a child; what it writes to standard error comes back, and how it ended. */
static int apart(void (*body)(void), char *output, size_t size)
{
  int ends[2], status;
  size_t length = 0;
  ssize_t n;
  pid_t child;

  fflush(NULL);
  if (pipe(ends) != 0 || (child = fork()) < 0)
    return -1;
  if (child == 0) {
    dup2(ends[1], 2);
    signal(SIGABRT, SIG_DFL);
    body();
    _exit(0);
  }
  close(ends[1]);
  while (length + 1 < size && (n = read(ends[0], output + length, size - 1 - length)) > 0)
    length += (size_t)n;
  output[length] = '\0';
  close(ends[0]);
  waitpid(child, &status, 0);
  return status;
}

static void fails(void)
{
  AverHandlerSet(handler);
  AVER_ALWAYS(1 + 1 == 3);
}

static void failsInHandler(void)
{
  AverHandlerSet(badHandler);
  AVER_ALWAYS(1 + 1 == 3);
}

static void failsAver(void)
{
  AVER(getpid() == 0);
}

static void failsCritical(void)
{
  AVER_CRITICAL(getpid() == 0);
}

static void testAver(void)
{
  char output[1024];
  int status = apart(fails, output, sizeof output);
  const char *message = strstr(output, ": assertion failed: 1 + 1 == 3\n");
#if defined(VARIETY_RASH)
  const Bool aver = FALSE, critical = FALSE;
#elif defined(VARIETY_HOT)
  const Bool aver = TRUE, critical = FALSE;
#else
  const Bool aver = TRUE, critical = TRUE;
#endif

  TapOk(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "a failed AVER aborts");
  TapOk(strncmp(output, "test/base/basetest.c:", 16) == 0 && message != NULL, "and says where and what");
  TapOk(message != NULL && strstr(message, "handler: 1 + 1 == 3 basetest.c ") != NULL, "and calls the handler");
  status = apart(failsInHandler, output, sizeof output);
  message = strstr(output, "again\n");
  TapOk(WIFSIGNALED(status) && message != NULL && strstr(message + 1, "again\n") == NULL,
        "a handler that fails itself is not entered twice");
  status = apart(failsAver, output, sizeof output);
  TapOk(WIFSIGNALED(status) == (int)aver, "AVER is there in cool and hot");
  status = apart(failsCritical, output, sizeof output);
  TapOk(WIFSIGNALED(status) == (int)critical, "AVER_CRITICAL is there in cool");
  TapOk(AverHandlerSet(handler) == NULL && AverHandlerSet(NULL) == handler, "AverHandlerSet returns the old one");
}

/* ---- settings ---- */

static void testSettings(void)
{
  static const char *const names[] = {"log", "block", "blocks"};
  static const char *const bad[] = {"", "log", "=x", "log=a,", ",log=a", "log=a,log=b", "other=1", "log=a b", "log=%2",
                                    "log=%2g", "log=%2c", "log=%00", "log=a,,block=1", "block=1 ", "Log=a"};
  static char every[256], settings[1024], small[4];
  char value[256];
  TextStruct text;
  Index i;

  for (i = 0; i < 255; ++i)
    every[i] = (char)(i + 1);
  TextInit(&text, settings, sizeof settings);
  SettingsAdd(&text, "log", every);
  SettingsAdd(&text, "blocks", "12");
  SettingsAdd(&text, "block", "");
  (void)TextTerminate(&text);
  TapOk(SettingsSound(settings, names, ARRAY_LENGTH(names)), "what is written is sound: %s", settings + 700);
  TapOk(strpbrk(settings, " ;'\"\\$\n") == NULL, "and may stand in a line of a shell");
  TapOk(SettingsGet(settings, "log", value, sizeof value) == value && strcmp(value, every) == 0,
        "each byte comes back");
  TapOk(SettingsGet(settings, "blocks", value, sizeof value) != NULL && strcmp(value, "12") == 0, "a number");
  TapOk(SettingsGet(settings, "block", value, sizeof value) != NULL && value[0] == '\0',
        "an empty value; a name that begins another one");
  TapOk(SettingsGet(settings, "og", value, sizeof value) == NULL && SettingsGet(settings, "", value, 9) == NULL,
        "what is not there");
  TapOk(SettingsGet("log=abcd", "log", small, sizeof small) == NULL && SettingsGet("log=abc", "log", small, 4) == small,
        "what does not fit is not cut");
  for (i = 0; i < ARRAY_LENGTH(bad); ++i)
    TapOk(!SettingsSound(bad[i], names, ARRAY_LENGTH(names)), "not sound: \"%s\"", bad[i]);
  TapOk(SettingsGet("log=%2", "log", value, sizeof value) == NULL, "a malformed value is none");
}

/* ---- pages ---- */

static const char pageBegins[] = "<p>made by basetest\n";
static char pageFolder[] = "/tmp/basepageXXXXXX", pagePath[64];

/* pageAt -- the path of a file in a folder of the test's */
static const char *pageAt(const char *name)
{
  static char path[2][128];
  static Index next;

  next = 1 - next;
  (void)snprintf(path[next], sizeof path[next], "%s/%s", pageFolder, name);
  return path[next];
}

static void pagePut(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");

  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
    TapOk(FALSE, "%s can be written", path);
}

/* pageIs -- is this what the file says? */
static Bool pageIs(const char *name, const char *text)
{
  char bytes[256];
  FILE *file = fopen(pageAt(name), "r");
  Size size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;

  if (file != NULL)
    (void)fclose(file);
  return file != NULL && size == strlen(text) && memcmp(bytes, text, size) == 0;
}

/* pageFiles -- how many files match a pattern; *firstReturn: the first one's name */
static Count pageFiles(char firstReturn[64], const char *pattern)
{
  glob_t found = {0};
  Count count = glob(pageAt(pattern), 0, NULL, &found) == 0 ? found.gl_pathc : 0;

  if (count > 0)
    (void)snprintf(firstReturn, 64, "%s", strrchr(found.gl_pathv[0], '/') + 1);
  globfree(&found);
  return count;
}

static void pagePlain(FILE *file, void *data)
{
  fputs(pageBegins, file);
  fputs(data, file);
}

/* pageExchange -- write the page; meanwhile a link to another folder comes in the place of the page's own, and there is
 * a file in that with the name which the page has until it is whole */
static void pageExchange(FILE *file, void *data)
{
  char name[64] = "none", forged[72];

  pagePlain(file, data);
  (void)pageFiles(name, "place/page.html.*");
  (void)snprintf(forged, sizeof forged, "other/%s", name);
  pagePut(pageAt(forged), "forged");
  (void)rename(pageAt("place"), pageAt("away"));
  (void)symlink("other", pageAt("place"));
}

/* pageFull -- the same, and there is no room for the page */
static void pageFull(FILE *file, void *data)
{
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

  pageExchange(file, data);
  (void)dup2(full, fileno(file));
  (void)close(full);
}

static const char *pageSave(void (*write)(FILE *file, void *data))
{
  static char text[] = "its text\n";

  return PageSave(pagePath, pageBegins, sizeof pageBegins - 1, write, text);
}

/* pageBack -- the page's own folder is at its place again, and in the other one is a page that somebody needs */
static void pageBack(void)
{
  (void)unlink(pageAt("place"));
  (void)rename(pageAt("away"), pageAt("place"));
  pagePut(pageAt("other/page.html"), "precious");
}

static void testPage(void)
{
  static const char whole[] = "<p>made by basetest\nits text\n";
  char command[64], name[64];
  const char *wrong;

  (void)!mkdtemp(pageFolder);
  (void)mkdir(pageAt("place"), 0700);
  (void)mkdir(pageAt("other"), 0700);
  (void)snprintf(pagePath, sizeof pagePath, "%s", pageAt("place/page.html"));
  TapOk(pageSave(pagePlain) == NULL && pageIs("place/page.html", whole), "a page is written");
  pageBack();
  TapOk(pageSave(pageExchange) == NULL && pageIs("other/page.html", "precious"),
        "another folder comes in the place of a page's while it is written: nothing is replaced in that");
  TapOk(pageIs("away/page.html", whole), "the page is where its folder is now");
  pageBack();
  (void)unlink(pageAt("place/page.html"));
  wrong = pageSave(pageFull);
  TapOk(wrong != NULL && strcmp(wrong, strerror(ENOSPC)) == 0, "there is no room for it, which is said");
  TapIs(pageFiles(name, "away/*"), 0, "and nothing of it is left, wherever its folder is");
  TapOk(pageIs("other/page.html", "precious"), "nor is anything replaced");
  (void)snprintf(command, sizeof command, "rm -rf %s", pageFolder);
  TapIs(system(command), 0, "the folders go");
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;

  testWords();
  testNumbers(seed);
  testAppending();
  testReadNumber();
  testFormat();
  testPlain();
  testSay();
  testCut();
  testDoubles(seed);
  testQuoted();
  testCrc(seed);
  testBT();
  testGrow();
  testLeb();
  testSettings();
  testPage();
  testAver();
  return TapDone();
}
