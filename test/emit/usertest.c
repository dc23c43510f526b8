/* usertest.c -- what programs tell themselves: strings, labels, events, and types that they define while they run
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>

#include "emitting.h"

#if defined(VARIETY_RASH)

int main(void)
{
  TapSkip("no telemetry in this variety");
  return TapDone();
}

#else

static void testStrings(void)
{
  EventWord red, blue;
  char name[32];
  DecodeStruct d;
  Bool good = TRUE;
  Index i;

  EmitFresh();
  red = EventIntern("red");
  blue = EventIntern("blue");
  TapOk(red != 0 && blue != 0 && red != blue, "strings have numbers");
  TapOk(EventIntern("red") == red && EventIntern("blue") == blue, "always the same");
  EventLabel(&d, red);
  EventUserWord(blue, (EventWord)-1);
  EventUserDouble(blue, 1e300);
  EventUserString(red, "text");
  EventUserString(red, NULL);
  EmitGet(&d);
  DecodeSound(&d, "strings");
  TapIs(d.events, 7, "a string is told once, and used often");
  if (d.events == 7) {
    /* What defines has a stream of its own, behind the kinds'. */
    TapOk(d.event[5].code == EventInternCODE && DecodeWord(&d.event[5], 0) == red &&
          strcmp(d.event[5].bytes + 8 + sizeof(Word), "red") == 0, "what it stands for");
    TapOk(d.event[0].code == EventLabelCODE && DecodeWord(&d.event[0], 0) == (Word)&d &&
              DecodeWord(&d.event[0], 1) == red,
          "a label");
    TapOk(d.event[1].code == EventUserWordCODE && DecodeWord(&d.event[1], 1) == (Word)-1, "a word");
    TapOk(strcmp(d.event[3].bytes + 8 + sizeof(Word), "text") == 0, "a text");
    TapOk(d.event[4].bytes[8 + sizeof(Word)] == '\0', "and none");
  }
  DecodeFree(&d);
  for (i = 0; i < 5000; ++i) {
    (void)snprintf(name, sizeof name, "string %d", (int)i);
    good &= EventIntern(name) == blue + 1 + i;
  }
  for (i = 0; i < 5000; ++i) {
    (void)snprintf(name, sizeof name, "string %d", (int)i);
    good &= EventIntern(name) == blue + 1 + i;
  }
  TapOk(good, "thousands of strings");
}

static void *internRun(void *unused)
{
  char name[32];
  Word sum = 0;
  Index i;

  UNUSED(unused);
  for (i = 0; i < 2000; ++i) {
    (void)snprintf(name, sizeof name, "shared %d", (int)i);
    sum += EventIntern(name) * (i + 1);
  }
  return (void *)sum;
}

static void testThreads(void)
{
  pthread_t thread[4];
  void *sum[4];
  Index i;

  for (i = 0; i < 4; ++i)
    pthread_create(&thread[i], NULL, internRun, NULL);
  for (i = 0; i < 4; ++i)
    pthread_join(thread[i], &sum[i]);
  TapOk(sum[0] == sum[1] && sum[0] == sum[2] && sum[0] == sum[3], "threads get the same numbers for the same strings");
}

static void refused(const char *name, const char *format, const char *params, const char *words)
{
  EventCode code = 1;
  char *text;
  int res;

  EmitCatch();
  res = EventTypeDefine(&code, name, format, params, "");
  text = EmitCaught();
  TapOk(res == -1 && code == 0 && EmitLines(text) == 1 && strstr(text, words) != NULL, "refused: %s", text);
  free(text);
}

static void testTypes(void)
{
  EventCode miss = 0, none = 0, all = 0, same = 0;
  DecodeStruct d;
  EventType type;
  double value;
  unsigned u;

  EmitFresh();
  TapIs(EventTypeDefine(&miss, "CacheMiss", "AWS", "line size reason", "missed %line"), 0,
        "a type of the program's own");
  TapIs(EventTypeDefine(&none, "Tick", "0", "", ""), 0, "one without parameters");
  TapIs(EventTypeDefine(&all, "Everything", "PAWUD", "p a w u d", ""), 0, "one with all letters");
  TapOk(miss >= EventCodeDYNAMIC && none == miss + 1 && all == none + 1, "they have codes of their own");
  DecodeMemory(&d, emitMemory);
  TapIs(d.headers, 3, "each is told before its first use");
  DecodeFree(&d);
  TapOk(EventTypeDefine(&same, "CacheMiss", "AWS", "line size reason", "") == 0 && same == miss,
        "the same once more is the same");
  TapOk(EventTypeDefine(&same, "PoolAlloc", "PAW", "pool addr size", "") == 0 && same == EventPoolAllocCODE,
        "so is one that the library has");
  refused("PoolAlloc", "PAW", "pool addr length", "with other parameters");
  refused("PoolAlloc", "PA", "pool addr", "with other parameters");
  refused("PoolAlloc", "PAU", "pool addr size", "with other parameters");
  type = RegistryFind(SendRegistry(), miss);
  TapOk(type != NULL && type->nameLength == 9 && memcmp(type->name, "CacheMiss", 9) == 0 && type->describeLength > 0 &&
        memcmp(type->describe, "missed %line", 12) == 0, "with name and sentence");
  errno = 88;
  EventEmit(miss, &d, (EventWord)64, "cold");
  EventEmit(none);
  EventEmit(all, &d, &u, (EventWord)3, 4u, 5.5);
  EventEmit(miss, &d, (EventWord)65, (const char *)NULL);
  EventEmit(0xfff0, 1, 2, 3);
  TapIs(errno, 88, "errno is kept");
  EmitGet(&d);
  DecodeSound(&d, "types");
  if (TapIs(d.events, 4, "events of these types come out, of no others")) {
    TapOk(d.event[0].code == miss && DecodeWord(&d.event[0], 0) == (Word)&d && DecodeWord(&d.event[0], 1) == 64 &&
          strcmp(d.event[0].bytes + 8 + 2 * sizeof(Word), "cold") == 0, "A, W and S");
    TapIs(d.event[1].length, 8, "nothing");
    memcpy(&u, d.event[2].bytes + 8 + 3 * sizeof(Word), sizeof u);
    memcpy(&value, d.event[2].bytes + 8 + 3 * sizeof(Word) + sizeof u, sizeof value);
    TapOk(DecodeWord(&d.event[2], 2) == 3 && u == 4 && value == 5.5, "P, A, W, U and D");
  }
  DecodeFree(&d);
  refused("CacheMiss", "W", "x", "there is an event of this name");
  refused("PoolAlloc", "W", "x", "there is an event of this name");
  refused("Cache Miss", "W", "x", "identifier");
  refused("", "W", "x", "identifier");
  refused("X\nevent: 0x9000 Y User 1 0", "W", "x", "identifier");
  refused("Other", "Q", "x", "letters");
  refused("Other", "W x\nevent:", "x", "letters");
  refused("Other", "SW", "x y", "format");
  refused("Other", "WW", "x", "for each of its parameters");
  refused("Other", "W", "x\ny", "identifiers");
}

int main(void)
{
  EmitOpen();
  testStrings();
  testThreads();
  testTypes();
  return TapDone();
}

#endif
