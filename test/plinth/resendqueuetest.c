/* resendqueuetest.c -- what sockets are made of: addresses, hellos, and the ring of messages that are kept
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/resendqueue.h"

#include "plinth/address.h"
#include "plinth/link.h"
#include "tap.h"

static uint64_t seed;

static void testAddress(void)
{
  static const struct {
    const char *where, *written;
    Res res;
  } cases[] = {
    {"tcp:127.0.0.1:4711", "tcp:127.0.0.1:4711", ResOK},
    {"tcp:4711", "tcp:127.0.0.1:4711", ResOK},
    {"tcp::0", "tcp:127.0.0.1:0", ResOK},
    {"tcp:localhost:65535", "tcp:127.0.0.1:65535", ResOK},
    {"tcp:0.0.0.0:1", "tcp:0.0.0.0:1", ResOK},
    {"tcp:[::1]:1", "tcp:[::1]:1", ResOK},
    {"unix:/tmp/x", "unix:/tmp/x", ResOK},
    {"tcp:localhost:65536", NULL, ResPARAM},
    {"tcp:localhost:", NULL, ResPARAM},
    {"tcp:localhost:12x", NULL, ResPARAM},
    {"tcp:999999999999999999999", NULL, ResPARAM},
    {"tcp:example.org:1", NULL, ResUNIMPL},
    {"tcp:1.2.3.4.5:1", NULL, ResUNIMPL},
    {"tcp:[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc]:1", NULL, ResUNIMPL},
    {"unix:", NULL, ResPARAM},
    {"pigeon:coop", NULL, ResPARAM},
  };
  char room[256], path[200];
  const char *reason;
  AddressStruct address;
  TextStruct text;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    Res res = AddressRead(&address, cases[i].where, &reason);
    TextInit(&text, room, sizeof room);
    if (res == ResOK)
      AddressWrite(&text, &address);
    TapOk(res == cases[i].res && (res != ResOK || strcmp(TextTerminate(&text), cases[i].written) == 0), "%s is %s",
          cases[i].where, res == ResOK ? room : reason);
  }
  memset(path, 'x', sizeof path);
  (void)memcpy(path, "unix:/", 6);
  path[5 + 107] = '\0';
  TapIs(AddressRead(&address, path, &reason), ResOK, "the path of a socket may have 107 bytes");
  path[5 + 107] = 'x';
  path[5 + 108] = '\0';
  TapIs(AddressRead(&address, path, &reason), ResLIMIT, "and no more");
}

static void testHello(void)
{
  char hello[LinkHelloSIZE];
  uint64_t link, first;
  Index i, sound = 0;

  LinkHelloWrite(hello, 0x123456789abcdef0, 77);
  TapOk(LinkHelloRead(&link, &first, hello) == ResOK && link == 0x123456789abcdef0 && first == 77,
        "a hello comes back");
  for (i = 0; i < sizeof hello; ++i) {
    hello[i] ^= (char)0x80;
    sound += LinkHelloRead(&link, &first, hello) == ResOK;
    hello[i] ^= (char)0x80;
  }
  TapIs(sound, 0, "no byte of it may be another");
  hello[LinkMagicSIZE] = '2';
  TapIs(LinkHelloRead(&link, &first, hello), ResVERSION, "another version is told as such");
}

/* The model of testKeep: message n has modelSize(n) bytes, each modelByte(n). */
static Size modelSize(uint64_t n)
{
  return 1 + (Size)(n * 2654435761u % 97);
}

static char modelByte(uint64_t n)
{
  return (char)(n * 31 + 7);
}

/* keepTake -- hand over at most `most` bytes; they are those of message `*at` from `*done` on, or FALSE */
static Bool keepTake(ResendQueue keep, Size most, uint64_t *at, Size *done)
{
  struct iovec pieces[2];
  Count count = ResendQueueNext(pieces, keep), i;
  Size given = 0, j;

  for (i = 0; i < count; ++i)
    for (j = 0; j < pieces[i].iov_len && given < most; ++j, ++given)
      if (((char *)pieces[i].iov_base)[j] != modelByte(*at))
        return FALSE;
  if (given == 0)
    return count == 0;
  ResendQueueGiven(keep, given);
  *done += given;
  if (*done == modelSize(*at)) {
    *done = 0;
    ++*at;
  }
  return *done == 0 || *done < modelSize(*at);
}

/* keepSize -- of a message; what is seen of it is its own */
static uint64_t keepSize(const void *message, Size size)
{
  const char *bytes = message;

  return bytes[0] == bytes[(size < ResendQueueSightMAX ? size : ResendQueueSightMAX) - 1] ? size : 0;
}

static void testKeep(void)
{
  char ring[1000], large[1000] = "", message[100];
  uint64_t put = 0, at = 0, given = 0, acknowledged = 0, left, n;
  Count refused = 0, wrong = 0;
  ResendQueueStruct keep;
  Size done = 0;
  unsigned i;

  ResendQueueInit(&keep, ring, sizeof ring);
  for (i = 0; i < 200000; ++i) {
    uint64_t dice = TapRandom(&seed) % 100;
    if (dice < 45) {
      memset(message, modelByte(put), sizeof message);
      if (ResendQueuePut(&keep, message, modelSize(put)) == ResOK)
        ++put;
      else
        ++refused;
    } else if (dice < 85) {
      wrong += !keepTake(&keep, 1 + TapRandom(&seed) % 120, &at, &done);
      given = at > given ? at : given;
    } else if (dice < 99) {
      acknowledged += (given - acknowledged) * (TapRandom(&seed) % 5) / 4;
      wrong += ResendQueueAcknowledged(&keep, acknowledged) != ResOK;
    } else {
      ResendQueueRewind(&keep);
      at = keep.next.number;
      done = 0;
      wrong += at != acknowledged;
    }
    wrong += !ResendQueueCheck(&keep);
    for (left = 0, n = acknowledged; n < put; ++n)
      left += modelSize(n);
    wrong += ResendQueueSum(&keep, keepSize) != left;
  }
  TapIs(wrong, 0, "what was kept goes out in order, byte for byte, and from the first that is not acknowledged again");
  TapOk(put > 10000 && refused > 1000, "of %llu messages; %zu found no room", (unsigned long long)put, refused);
  TapIs(ResendQueueAcknowledged(&keep, keep.given + 1), ResFORMAT, "what was never handed over cannot be acknowledged");
  ResendQueueInit(&keep, ring, sizeof ring);
  TapIs(ResendQueuePut(&keep, large, sizeof ring), ResLIMIT, "a message as large as the ring does not fit");
  TapIs(ResendQueuePut(&keep, large, sizeof ring - 4), ResOK, "one that just does");
  TapIs(ResendQueuePut(&keep, large, 1), ResLIMIT, "leaves no room for another");
}

/* keepSees -- is a ring in which one field has a wrong value not sound? */
#define KEEP_SEES(field, value) \
  do { \
    ResendQueueStruct bad = keep; \
    bad.field = (value); \
    TapOk(!ResendQueueCheck(&bad), "%s = %s is seen", #field, #value); \
  } while (0)

static void testCheck(void)
{
  char ring[64];
  ResendQueueStruct keep;
  struct iovec pieces[2];

  ResendQueueInit(&keep, ring, sizeof ring);
  (void)ResendQueuePut(&keep, "first", 5);
  (void)ResendQueuePut(&keep, "second", 6);
  (void)ResendQueueNext(pieces, &keep);
  ResendQueueGiven(&keep, 5);
  ResendQueueGiven(&keep, 2);
  TapOk(ResendQueueCheck(&keep), "a ring with a message handed over, and a half");
  KEEP_SEES(base, NULL);
  KEEP_SEES(tail.at, keep.next.at + 1);
  KEEP_SEES(next.at, keep.head.at + 1);
  KEEP_SEES(head.at, keep.tail.at + sizeof ring + 1);
  KEEP_SEES(tail.number, keep.next.number + 1);
  KEEP_SEES(next.number, keep.head.number + 1);
  KEEP_SEES(given, keep.next.number - 1);
  KEEP_SEES(acknowledged, keep.given + 1);
  KEEP_SEES(next.number, keep.head.number); /* nothing is on its way, and some of it is handed over */
}

int main(void)
{
  seed = TapSeed();
  testCheck();
  testAddress();
  testHello();
  testKeep();
  return TapDone();
}
