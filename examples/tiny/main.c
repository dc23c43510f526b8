/* main.c -- a program that uses tinyalloc: gets and puts cells of many sizes until the heap is full
 *
 *     PAWPRINT_LOG=tiny.paw tiny
 *
 * Prints how many cells it got, so that whoever reads the log can compare.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdio.h>

#include "emit/pawprint.h"
#include "tinyalloc.h"

enum { cellsMAX = 1000 };

int main(void)
{
  static _Alignas(16) char memory[200000];
  static void *cell[cellsMAX];
  static size_t size[cellsMAX];
  TinyStruct tiny;
  EventCode round;
  uint32_t random = 1;
  unsigned got = 0, put = 0, i;
  EventWord full;

  TinyOpen(&tiny, "demo", memory, sizeof memory);
  if (EventTypeDefine(&round, "Round", "U", "n", "begins round %n") != 0)
    return 1;
  for (i = 0; ; ++i) {
    unsigned which = (random = random * 1664525u + 1013904223u) / 4294968u;
    if (i % 1000 == 0)
      EventEmit(round, i / 1000);
    if (cell[which] != NULL) {
      TinyPut(&tiny, cell[which], size[which]);
      cell[which] = NULL;
      ++put;
    }
    size[which] = random / 256 % (TinyGRAIN * TinySIZES);
    cell[which] = TinyGet(&tiny, size[which]);
    if (cell[which] == NULL)
      break;
    ++got;
  }
  full = EventIntern("cells until it was full");
  EventLabel(memory, full);
  EventUserWord(full, got);
  EventUserDouble(full, (double)put);
  EventUserString(full, "no more");
  printf("%u cells got, %u put\n", got, put);
  return 0;
}
