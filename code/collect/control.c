/* control.c -- changing what a running process records, and asking things of it, through its region
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/control.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "plinth/clock.h"

enum { liveEnvironmentMAX = 1 << 20 };

static Word *liveTable(Live live)
{
  return (Word *)(void *)((char *)live->region + RegionCONTROL);
}

static Word liveWord(Live live)
{
  return __atomic_load_n(&liveTable(live)[0], __ATOMIC_SEQ_CST);
}

uint32_t LiveSent(Live live)
{
  return (uint32_t)liveWord(live) & ((1u << RegionControlBUFFER) - 1);
}

uint32_t LiveBuffered(Live live)
{
  return (uint32_t)liveWord(live) >> RegionControlBUFFER;
}

/* liveChange -- these bits on, those off, in one step */
static void liveChange(Live live, Word on, Word off)
{
  Word *table = liveTable(live), old = liveWord(live);

  while (!__atomic_compare_exchange_n(&table[0], &old, (old | on) & ~off, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
}

void LiveSend(Live live, uint32_t kinds)
{
  uint32_t old = LiveSent(live), on = kinds & ~old, off = old & ~kinds;
  uint64_t now = EventClockMonotonic();

  /* Before, so that the state is what comes first; and behind, because threads to which other kinds matter may have told
   * one meanwhile. */
  if (on != 0)
    LiveAsk(live, RegionAskSTATE);
  liveChange(live, on, off);
  RegionOffSay(liveTable(live), off, now);
  if (on != 0)
    LiveAsk(live, RegionAskSTATE);
}

void LiveBuffer(Live live, uint32_t kinds)
{
  uint32_t old = LiveBuffered(live);

  liveChange(live, (Word)(kinds & ~old) << RegionControlBUFFER, (Word)(old & ~kinds) << RegionControlBUFFER);
}

void LiveAsk(Live live, uint32_t what)
{
  (void)__atomic_fetch_or(&live->region->hand.attention, what, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_or(&liveTable(live)[RegionControlATTENTION], (Word)RegionControlATTEND, __ATOMIC_SEQ_CST);
}

/* liveCollector -- read from the environment of a live process where its collector is: "NAME:TOKEN", in `room`; NULL if
 * it has none.  `bytes`, of `size`, is working memory for the environment. */
static const char *liveCollector(Live live, char *room, Size roomSize, char *bytes, Size size)
{
  static const char name[] = RegionVARIABLE "=";
  const char *at = bytes;
  char path[32];
  ssize_t length;
  int fd;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/environ", live->pid);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return NULL;
  length = read(fd, bytes, size - 1);
  (void)close(fd);
  bytes[length > 0 ? length : 0] = '\0';
  for (; length > 0 && at < bytes + length; at += strlen(at) + 1)
    if (strncmp(at, name, sizeof name - 1) == 0)
      return SettingsGet(at + sizeof name - 1, "collector", room, roomSize);
  return NULL;
}

void LiveWake(Live live)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  RegionMeetStruct call = {.version = RegionMeetVERSION};
  char *room = malloc(liveEnvironmentMAX), words[sizeof address.sun_path + sizeof call.token];
  const char *collector =
    room != NULL ? liveCollector(live, words, sizeof words, room, liveEnvironmentMAX) : NULL;
  const char *colon = collector != NULL ? strchr(collector, ':') : NULL;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd >= 0 && colon != NULL && (Size)(colon - collector) < sizeof address.sun_path - 1 &&
      strlen(colon + 1) < sizeof call.token) {
    memcpy(address.sun_path + 1, collector, (Size)(colon - collector));
    memcpy(call.magic, RegionMAGIC, BlockMagicSIZE);
    (void)strcpy(call.token, colon + 1);
    (void)sendto(fd, &call, sizeof call, MSG_NOSIGNAL, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (Size)(colon - collector)));
  }
  if (fd >= 0)
    (void)close(fd);
  free(room);
}

Bool LiveWait(Live live, uint32_t what, unsigned ms)
{
  uint32_t *attention = &live->region->hand.attention, now;
  struct timespec moment = {0, 1000000};
  unsigned waited;

  for (waited = 0; ((now = __atomic_load_n(attention, __ATOMIC_SEQ_CST)) & what) != 0; ++waited) {
    if (waited == ms)
      return FALSE;
    /* Who answers may wake us; a millisecond is the longest that we would miss it. */
    (void)syscall(SYS_futex, attention, FUTEX_WAIT, now, &moment, NULL, 0);
  }
  return TRUE;
}
