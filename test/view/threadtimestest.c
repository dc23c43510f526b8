/* threadtimestest.c -- rows of threads that do not add up are seen
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/threadtimes.h"

#include "tap.h"

int main(void)
{
  ThreadProcessorStruct processor[2] = {{.number = 1, .events = 20}, {.number = 3, .events = 10}};
  ThreadRowStruct row = {.events = 35, .lost = 5, .processors = 2, .capacity = 2, .processor = processor};
  ThreadRow rows[1] = {&row};
  ThreadTimesStruct times = {.rows = 1, .capacity = 1, .row = rows};

  TapIs(StringsAdd(&times.keys, "key", 3), 1, "a thread has a row by its key");
  TapSees(times.rows, 0, ThreadTimesCheck(&times), "a key without a row is seen");
  TapSees(row.events, 36, ThreadTimesCheck(&times), "an event that no processor had is seen");
  TapSees(row.processors, 1, ThreadTimesCheck(&times), "a processor that is not counted is seen");
  TapSees(processor[0].number, 3, ThreadTimesCheck(&times), "processors out of order are seen");
  StringsFinish(&times.keys);
  return TapDone();
}
