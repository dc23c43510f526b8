/* switched.c -- emits without pause, and prints when it sees that kind Ref is switched: seconds of CLOCK_MONOTONIC
 *
 * It ends with its standard input.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "emit/pawprint.h"

int main(void)
{
  struct pollfd input = {0, POLLIN, 0};
  EventWord name = EventIntern("switched"), i;
  unsigned was = BTGet(EventKindControl, EventKindRef);

  printf("%u\n", was);
  (void)fflush(stdout);
  for (i = 0; i % 1024 != 0 || poll(&input, 1, 0) == 0; ++i) {
    unsigned is = BTGet(EventKindControl, EventKindRef);
    EventUserWord(name, i);
    if (is != was) {
      struct timespec now;
      (void)clock_gettime(CLOCK_MONOTONIC, &now);
      printf("%.9f\n", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
      (void)fflush(stdout);
      was = is;
    }
  }
  return 0;
}
