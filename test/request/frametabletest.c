/* frametabletest.c -- frames are found under the numbers that processes gave them; what cannot be a frame is not
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/frametable.h"

#include <stdlib.h>
#include <string.h>

#include "source/builtinregistry.h"
#include "tap.h"

enum { processesCOUNT = 5, numbersMAX = 20000, toldCOUNT = 60000 };

static EventTypeStruct types[RegistryTypesMAX];
static RegistryStruct registry;
static EventType frameType, otherType;
static LogProcessStruct process[processesCOUNT];

/* tell -- an event of StackFrame, as a reader hands it over */
static void tell(FrameTable table, EventType type, Index from, uint64_t stack, uint64_t parent, uint64_t address)
{
  unsigned char bytes[64] = {0};
  LogEventStruct event = {.process = &process[from], .type = type, .length = 32, .bytes = bytes};

  memcpy(bytes + type->offset[0], &stack, sizeof stack);
  memcpy(bytes + type->offset[1], &parent, sizeof parent);
  memcpy(bytes + type->offset[2], &address, sizeof address);
  FrameTableEvent(table, &event);
}

static Bool make(void)
{
  Index i;

  RegistryInit(&registry, types, ARRAY_LENGTH(types), (WidthsStruct){8, FALSE});
  if (RegistryText(&registry, BuiltinRegistry, strlen(BuiltinRegistry)) != ResOK)
    return FALSE;
  for (i = 0; i < registry.count; ++i) {
    if (FrameTableWants(&types[i]))
      frameType = &types[i];
    else if (types[i].params == 3 && types[i].letter[2] == 'W')
      otherType = &types[i];
  }
  for (i = 0; i < processesCOUNT; ++i)
    process[i] = (LogProcessStruct){.number = i * 70000, .registry = &registry};
  return frameType != NULL && otherType != NULL;
}

/* What was told last of each number is what is found. */
static void testRandom(uint64_t state)
{
  static struct {
    uint64_t address;
    uint32_t parent;
  } known[processesCOUNT][numbersMAX];
  Count wrong = 0;
  FrameTable table;
  Index i, j;

  TapIs(FrameTableCreate(&table), ResOK, "a table is made");
  for (i = 0; i < toldCOUNT; ++i) {
    Index from = TapRandom(&state) % processesCOUNT;
    uint32_t stack = (uint32_t)(FrameFIRST + TapRandom(&state) % (numbersMAX - FrameFIRST));
    uint32_t parent = (uint32_t)(TapRandom(&state) % stack);
    uint64_t address = TapRandom(&state) | 1;
    known[from][stack].address = address;
    known[from][stack].parent = parent;
    tell(table, frameType, from, stack, parent, address);
  }
  for (i = 0; i < processesCOUNT; ++i)
    for (j = 0; j < numbersMAX; ++j) {
      Frame frame = FrameTableFind(table, process[i].number, (uint32_t)j | (j % 2 == 0 ? FrameSHORT : 0));
      wrong += frame == NULL ? known[i][j].address != 0
                             : frame->address != known[i][j].address || frame->parent != known[i][j].parent;
    }
  TapIs(wrong, 0, "each number of each process has the frame that was told last");
  TapOk(FrameTableCheck(table) && FrameTableStatus(table) == ResOK, "the table is sound");
  FrameTableDestroy(table);
}

static void testBad(void)
{
  FrameTable table;
  Frame frame;

  if (FrameTableCreate(&table) != ResOK)
    abort();
  TapOk(FrameTableFind(table, 0, FrameFIRST) == NULL, "an empty table has no frame");
  tell(table, frameType, 0, FrameFIRST - 1, FrameWHOLE, 1);
  tell(table, frameType, 0, FrameFIRST, FrameFIRST, 1);
  tell(table, frameType, 0, FrameFIRST, (uint64_t)1 << 40, 1);
  tell(table, frameType, 0, FrameSHORT, FrameWHOLE, 1);
  tell(table, frameType, 0, UINT64_MAX, FrameWHOLE, 1);
  tell(table, otherType, 0, FrameFIRST, FrameWHOLE, 1);
  TapOk(FrameTableFind(table, 0, FrameFIRST) == NULL && FrameTableFind(table, 0, (uint32_t)UINT64_MAX) == NULL,
        "numbers that no process can have given are not entered, nor are other events");
  tell(table, frameType, 0, FrameFIRST, FrameCUT, 77);
  frame = FrameTableFind(table, 0, FrameFIRST);
  TapOk(frame != NULL && frame->parent == FrameCUT, "the first number is");
  TapOk(FrameTableFind(table, 0, FrameNESTED) == NULL && FrameTableFind(table, 0, FrameSHORT) == NULL &&
          FrameTableFind(table, 1, FrameFIRST) == NULL, "neither a root nor another process's number is a frame");
  PLANT(frame->parent, FrameFIRST, FrameTableCheck(table), "a frame that is its own caller");
  PLANT(frame->key, frame->key + 1, FrameTableCheck(table), "a frame in another's place");
  FrameTableDestroy(table);
}

int main(void)
{
  uint64_t seed = TapSeed();

  if (!make())
    abort();
  testRandom(seed * 2 + 1);
  testBad();
  return TapDone();
}
