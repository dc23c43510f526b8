/* big.c -- print every allocation above 1 MiB that is in a log
 *
 *     cc -o big big.c $(pkg-config --cflags --libs pawlog) && ./big run.paw
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>
#include <pawlog.h>
#include <stdio.h>

static int big(PawRequest *request, PawEvent event)
{
  uint64_t size = 0, addr = 0, start = *(const uint64_t *)request->data;
  char name[32];

  if (PawEventGet(&size, event, "size") && size > 1 << 20 && PawEventGet(&addr, event, "addr") && addr != 0)
    printf("%.9f %" PRIu32 " %s %" PRIu64 " bytes at %#" PRIx64 "\n", (double)(PawEventTime(event) - start) / 1e9,
           PawProcessPid(PawEventProcess(event)), PawTypeName(PawEventType(event), name, sizeof name), size, addr);
  return 0;
}

int main(int argc, char **argv)
{
  char message[256];
  PawRequest request;
  PawLog log;
  uint64_t start;

  if (PawOpen(&log, (const char *const *)argv + 1, (size_t)argc - 1, NULL, message, sizeof message) != PAW_OK) {
    fprintf(stderr, "big: %s\n", message);
    return 1;
  }
  start = PawFirst(log);
  PawRequestInit(&request);
  request.data = &start;
  request.event = big;
  if (PawRead(log, &request) != PAW_OK || PawGaps(log) > 0)
    fprintf(stderr, "big: not all could be read; %" PRIu64 " events are lost\n", PawLost(log));
  PawClose(log);
  return 0;
}
