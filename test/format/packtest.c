/* packtest.c -- what is packed comes back, and what is not packed is refused
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include "tap.h"

enum { typesMAX = 32, dataMAX = BlockMAX + 4096 };

static RegistryStruct registry8, registry4, registry8s, registry4s; /* word of 8 and 4 bytes; and in the other order */
static EventTypeStruct types[4][typesMAX];
static Pack pack;
static Unpack unpack;
static uint64_t state;

static const char registryText[] =
    "kind: 5 Object\n"
    "event: 0x0601 Alloc Object 0 PAW pool addr size\n"
    "event: 0x0602 Free Object 0 PA pool addr\n"
    "event: 0x0603 Zero Object 0 PAW pool addr size\n"
    "event: 0x0605 Begin Object 0 PAW pool addr size\n"
    "event: 0x0606 End Object 0 PAAW pool old addr size\n"
    "event: 0x0641 Other Object 0 AW addr size\n" /* where PAW would be in a table by the low bits of the code */
    "event: 0x0607 Bare Object 0 A addr\n"
    "event: 0x0608 Word Object 0 W w\n"
    "event: 0x0609 Unsigned Object 0 U u\n"
    "event: 0x060a Double Object 0 D d\n"
    "event: 0x060b String Object 0 S s\n"
    "event: 0x060c Mixed Object 0 UAPDWS u a p d w s\n"
    "event: 0x060d Many Object 0 AAAAWWWWUUDD a b c d e f g h i j k l\n"
    "event: 0x060e Pointers Object 0 PPPP a b c d\n"
    "event: 0x060f Five Object 0 PPPPP a b c d e\n"
    "event: 0x0610 Nothing Object 0 0\n"
    "event: 0x0611 Unsigneds Object 0 UUAU a b c d\n"
    "event: 0x0612 Addresses Object 0 AA a b\n"
    "event: 0x0620 Stack Object 0 PAWW pool addr size stack\n"
    "event: 0x0621 EndStack Object 0 PAAWW pool old addr size stack\n"
    "event: 0x0622 Words Object 0 AWWW a b c d\n" /* not for the fast way: one W too many */
    "event: 0x0613 Most Object 0 UWAUDWUAPUWWDUAUWUDAUWPUWADUWUWU a b c d e f g h i j k l m n o p q r s t u v w x y z "
    "A B C D E F\n"
    "event: 0x8001 Dynamic Object 0 WWA a b c\n";

/* The data lie at the end of their own memory, so that a sanitizer sees a step too far. */
static uint8_t *events, *packed, *back;

static uint64_t random64(void)
{
  return TapRandom(&state);
}

static unsigned below(unsigned n)
{
  return (unsigned)(random64() >> 33) % n;
}

static void put(uint8_t *place, uint64_t value, unsigned width, Bool swapped)
{
  unsigned i;

  for (i = 0; i < width; ++i)
    place[swapped ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

/* parameter -- a value that packing likes, or one that it does not */
static uint64_t parameter(char letter, unsigned wildness)
{
  static uint64_t pools[12], addrs[64];
  uint64_t any = random64(), *addr = &addrs[below(64)];

  if (pools[0] == 0)
    for (unsigned i = 0; i < 12; ++i)
      pools[i] = random64() & 0x7fffffffffff;
  if (below(100) < wildness)
    return any >> below(64);
  switch (letter) {
  case 'P': return pools[wildness == 0 ? 0 : below(12)];
  case 'A': return below(3) == 0 ? *addr : (*addr = 0x555500000000 + 8 * (uint64_t)below(1u << below(20)));
  default: return below(1u << below(14)) * 8;
  }
}

/* makeEvent -- an event of `type` at `place`, in the widths and order of `registry`; its size */
static Size makeEvent(uint8_t *place, Registry registry, EventType type, uint32_t time, unsigned wildness, Size room)
{
  Bool swapped = registry->widths.swapped;
  Size length = type->length, size, i;
  unsigned string = type->strings ? below(wildness + 1) * below(12) + 1 : 0, flags = 0;

  if (EventSizeOfLength(length + string) > room)
    return 0;
  size = EventSizeOfLength(length + string);
  memset(place, 0, size);
  for (i = 0; i < type->params; ++i)
    put(place + type->offset[i], parameter(type->letter[i], wildness), type->width[i], swapped);
  for (i = 0; i + 1 < string; ++i)
    place[length + i] = (uint8_t)random64();
  if (string > 0 && below(4) == 0)
    flags = EventLengthCUT;
  length += string;
  if (length < size && below(100) < wildness)
    place[size - 1] = (uint8_t)random64(); /* where padding should be */
  put(place, type->code, 2, swapped);
  put(place + 2, length | flags, 2, swapped);
  put(place + 4, time, 4, swapped);
  return size;
}

/* makeFormat -- a pad, an epoch or an unknown code */
static Size makeFormat(uint8_t *place, Bool swapped, uint32_t time, Size room)
{
  static const uint16_t codes[] = {EventPadCODE, EventEpochCODE, 0x0699, 0xffff};
  Size length = 8 + below(4) * 8 + below(8), size = EventSizeOfLength(length), i;

  if (size > room)
    return 0;
  for (i = 0; i < size; ++i)
    place[i] = below(2) ? (uint8_t)random64() : 0;
  put(place, codes[below(4)], 2, swapped);
  put(place + 2, length, 2, swapped);
  put(place + 4, time, 4, swapped);
  return size;
}

/* makeBlock -- `size` bytes, or a little less, of events; returns how many */
static Size makeBlock(uint8_t *place, Registry registry, Size size, uint32_t time, unsigned wildness,
                      unsigned typesUsed)
{
  Size used = 0, got;

  do {
    if (below(1000) < wildness)
      time = (uint32_t)random64();
    else
      time += below(1u << below(12));
    if (below(200) < wildness)
      got = makeFormat(place + used, registry->widths.swapped, time, size - used);
    else
      got = makeEvent(place + used, registry, &registry->types[below(typesUsed)], time, wildness, size - used);
    used += got;
  } while (got > 0);
  return used;
}

/* roundTrip -- pack `used` bytes of `events` and unpack them again; FALSE if they are others, or packed too large */
static Bool roundTrip(Registry registry, Size used, uint64_t first, Size *sizeReturn)
{
  uint8_t *in = events + dataMAX - used, *out;
  BlockTallyStruct tally;
  Count count;
  Size size = BlockPack(pack, registry, in, used, first, packed, &count);
  Bool same;

  *sizeReturn = size;
  BlockWalk(&tally, in, used, first, FALSE);
  if (size > used * 2 + 64 || count != tally.count)
    return FALSE;
  out = back + dataMAX - used - PackSlackSIZE;
  memset(out, 0x5a, used + PackSlackSIZE);
  same = BlockUnpack(unpack, registry, packed, size, first, out, used) == ResOK && memcmp(in, out, used) == 0;
  return same;
}

static void testRandom(Registry registry, const char *which, unsigned rounds)
{
  unsigned round, bad = 0;
  Size size;

  for (round = 0; round < rounds; ++round) {
    static const unsigned wild[] = {0, 1, 5, 30, 100};
    Size room = 4096u + below(below(2) ? 4096 : BlockMAX - 4096 - BlockHeaderSIZE), used;
    uint32_t first = (uint32_t)random64();
    used = makeBlock(events, registry, room & ~(Size)7, first, wild[below(5)], 1 + below((unsigned)registry->count));
    memmove(events + dataMAX - used, events, used);
    bad += !roundTrip(registry, used, first, &size);
  }
  TapIs(bad, 0, "random events come back as they were, and packed are never more than twice as large: %s", which);
}

static void testEdges(void)
{
  static const uint64_t odd[] = {0, 1, 7, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x100000000, 0x8000000000000000,
                                 0x7fffffffffffffff, UINT64_MAX, UINT64_MAX - 7, 0xfffffffffffffff8};
  unsigned i, j, bad = 0;
  Size size;

  for (i = 0; i < ARRAY_LENGTH(odd); ++i)
    for (j = 0; j < registry8.count; ++j) {
      EventType type = &registry8.types[j];
      Size used = 0, k, n;
      for (n = 0; n < 300; ++n) {
        uint8_t *event = events + used;
        used += makeEvent(event, &registry8, type, (uint32_t)odd[(n / 3 + i) % ARRAY_LENGTH(odd)], 0, 4096);
        for (k = 0; k < (Size)(type->params - type->strings); ++k)
          put(event + type->offset[k], odd[(i * (n & 1) + n / 2 * k) % ARRAY_LENGTH(odd)], type->width[k], FALSE);
        if (used > BlockMAX - 1024)
          break;
      }
      memmove(events + dataMAX - used, events, used);
      bad += !roundTrip(&registry8, used, odd[i], &size);
    }
  TapIs(bad, 0, "extreme values, addresses and times of every type come back");
  bad = roundTrip(&registry8, 0, 5, &size);
  TapOk(bad && size == 0, "nothing is packed to nothing");
}

static void testManyHeads(void)
{
  Size used = 0, size;
  unsigned i;
  Bool same;

  for (i = 0; i < 1500; ++i) {
    EventType type = &registry8.types[i % 5];
    uint8_t *event = events + used;
    used += makeEvent(event, &registry8, type, i * 30, 0, 4096);
    put(event + 8, 0x7f0000000000 + 64 * below(i < 700 ? 10 : 100), 8, FALSE);
  }
  memmove(events + dataMAX - used, events, used);
  same = roundTrip(&registry8, used, 0, &size);
  TapOk(same && size < 1500 * 20, "more pools than heads: %u bytes for 1500 events", (unsigned)size);
}

static void testSmall(void)
{
  Size used = 0, size;
  uint64_t addr[1024] = {0};
  uint32_t time = 1000, i;
  Bool same;

  for (i = 0; i < 2000; ++i) {
    unsigned k = below(1024);
    uint8_t *event = events + used;
    time += 20 + below(300);
    used += makeEvent(event, &registry8, &registry8.types[addr[k] ? 1 : 0], time, 0, 4096);
    put(event + 8, 0x7f1234560000, 8, FALSE);
    if (addr[k] != 0) {
      put(event + 16, addr[k], 8, FALSE);
      addr[k] = 0;
    } else {
      put(event + 16, addr[k] = 0x55d0a1b20010 + 64 * (uint64_t)k, 8, FALSE);
      put(event + 24, 24 + k % 5 * 8, 8, FALSE);
    }
  }
  memmove(events + dataMAX - used, events, used);
  same = roundTrip(&registry8, used, 1000, &size);
  TapOk(same && size < 2000 * 5, "ordinary events take a few bytes: %u for 2000", (unsigned)size);
}

/* equalValues -- give all W and U of an event one value, because two that hash to one slot are copied whole */
static void equalValues(uint8_t *event, EventType type)
{
  uint64_t value = below(1000);
  Size i;

  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'W' || type->letter[i] == 'U')
      put(event + type->offset[i], value, type->width[i], FALSE);
}

/* swapBlock -- `used` bytes of events into the other order, field by field: what unpacking a foreign block must give */
static void swapBlock(uint8_t *block, Size used, Registry registry)
{
  Size at = 0, i;

  while (at < used) {
    EventHeaderStruct header;
    EventType type;
    memcpy(&header, block + at, sizeof header);
    type = RegistryFind(registry, header.code);
    for (i = 0; i < (Size)(type->params - type->strings); ++i) {
      uint64_t value = 0;
      memcpy(&value, block + at + type->offset[i], type->width[i]);
      put(block + at + type->offset[i], value, type->width[i], TRUE);
    }
    put(block + at, header.code, 2, TRUE);
    put(block + at + 2, header.length, 2, TRUE);
    put(block + at + 4, header.time, 4, TRUE);
    at += EventSizeOfLength(header.length);
  }
}

static void testForeign(Registry ours, Registry foreign, const char *which)
{
  unsigned round, bad = 0;

  for (round = 0; round < 40; ++round) {
    /* Types without strings, and only plain events: what is copied whole has the writer's order, which here is ours. */
    Size used = 0, got, size;
    uint32_t time = 77;
    do {
      EventType type = &ours->types[below((unsigned)ours->count)];
      time += below(1u << below(20));
      got = type->strings || type->code == 0x060f ? 1 : makeEvent(events + used, ours, type, time, 0, 8192 - used);
      if (got > 1) {
        equalValues(events + used, type);
        used += got;
      }
    } while (got > 0);
    size = BlockPack(pack, ours, events, used, 77, packed, &(Count){0});
    bad += BlockUnpack(unpack, foreign, packed, size, 77, back, used) != ResOK;
    swapBlock(events, used, ours);
    bad += memcmp(events, back, used) != 0;
  }
  TapIs(bad, 0, "blocks of a machine of the other order unpack into its order: %s", which);
}

/* hostile -- unpack what was tampered with; it may be refused, but must never touch what is not its own */
static unsigned hostile(Registry registry, const uint8_t *bytes, Size size, Size used)
{
  enum { guardSIZE = 64, guardBYTE = 0xa5 };
  uint8_t *in = malloc(size + PackSlackSIZE), *out = malloc(used + PackSlackSIZE + guardSIZE);
  uint8_t behind = (uint8_t)below(256);
  unsigned harm;
  Size i;

  memcpy(in, bytes, size);
  memset(in + size, behind, PackSlackSIZE);
  memset(out + used + PackSlackSIZE, guardBYTE, guardSIZE);
  BlockUnpack(unpack, registry, in, size, 0, out, used);
  harm = memcmp(in, bytes, size) != 0;
  for (i = 0; i < PackSlackSIZE; ++i)
    harm |= in[size + i] != behind;
  for (i = 0; i < guardSIZE; ++i)
    harm |= out[used + PackSlackSIZE + i] != guardBYTE;
  free(in);
  free(out);
  return harm;
}

static void testHostile(void)
{
  Registry registries[] = {&registry8, &registry4, &registry8s, &registry4s};
  static uint8_t good[BlockRestMAX], bad[BlockRestMAX];
  unsigned round, refused = 0, tried = 0, harmed = 0, i;

  for (round = 0; round < 12; ++round) {
    Registry writer = round & 1 ? &registry4 : &registry8;
    Size used = makeBlock(events, writer, 4096, 0, round % 3 * 20, (unsigned)writer->count), size, at;
    size = BlockPack(pack, writer, events, used, 0, good, &(Count){0});
    for (at = 0; at < size; at += 1 + below(4), ++tried) {
      memcpy(bad, good, size);
      refused += BlockUnpack(unpack, writer, bad, at, 0, back, used) == ResFORMAT;
      harmed += hostile(registries[below(4)], good, at, used);
    }
    for (i = 0; i < 1500; ++i) {
      unsigned n = 1 + below(4);
      memcpy(bad, good, size);
      while (n-- > 0)
        bad[below(4) ? below((unsigned)size) : size - 1 - below((unsigned)size / 2)] =
          (uint8_t)(below(3) ? random64() : 0xf0 + below(16));
      harmed += hostile(registries[below(4)], bad, size, used - below(2) * 8);
    }
  }
  TapIs(refused, tried, "every shortened block is refused (%u tried)", tried);
  for (i = 0; i < 3000; ++i) {
    Size size = below(600), at;
    for (at = 0; at < size; ++at)
      bad[at] = (uint8_t)random64();
    if (size > 3) {
      bad[0] = (uint8_t)below((unsigned)size);
      bad[1] = 0;
      bad[2] = (uint8_t)(1 + below(9));
    }
    harmed += hostile(registries[below(4)], bad, size, 8 * below(200));
  }
  TapIs(harmed, 0, "thousands of damaged and invented blocks change nothing but the room for what they hold");
}

/* addressesBack -- unpack a block that says: an A of no head's, and then the A so many before that one, less one
 *
 * Head 0 is of type Bare; its events have way 5 (NEAR5, zigzag) and 2 (BACK4), and times of one bit. */
static Res addressesBack(unsigned number)
{
  const unsigned controls[] = {241, 5, 2};
  uint8_t block[64 + PackSlackSIZE] = {sizeof controls / sizeof controls[0], 0, 1};
  uint64_t payload = 0x0607 | (uint64_t)2 << 17 | (uint64_t)number << 23; /* code; time, 1 unit; time, so many back */
  unsigned i;

  put(block + 3, payload, 4, FALSE);
  for (i = 0; i < ARRAY_LENGTH(controls); ++i)
    block[7 + i] = (uint8_t)controls[i];
  return BlockUnpack(unpack, &registry8, block, 7 + ARRAY_LENGTH(controls), 0, back, 32);
}

/* testAlone -- what a block unpacks to depends on no other */
static void testAlone(void)
{
  static uint8_t mutant[BlockRestMAX], alone[128 + PackSlackSIZE];
  unsigned i, different = 0;
  uint64_t addr;
  Size size;

  TapIs(addressesBack(0), ResOK, "an address may be the one before");
  TapOk(addressesBack(1) == ResOK && (memcpy(&addr, back + 24, sizeof addr), addr == 0), "or 0, before the first");
  for (i = 0; i < 2000; ++i) {
    Size used = makeBlock(events, &registry8, 128, 0, 0, 3), other;
    Res res;
    size = BlockPack(pack, &registry8, events, used, 0, mutant, &(Count){0});
    mutant[below((unsigned)size)] ^= (uint8_t)(1u << below(8));
    memset(unpack, 0, UnpackSIZE);
    res = BlockUnpack(unpack, &registry8, mutant, size, 0, alone, used);
    other = makeBlock(events + dataMAX - 2048, &registry8, 2048, 0, 0, 3);
    memmove(events + dataMAX - other, events + dataMAX - 2048, other);
    if (!roundTrip(&registry8, other, 0, &size))
      ++different;
    size = BlockPack(pack, &registry8, events, used, 0, packed, &(Count){0}); /* as large as its mutant */
    different += BlockUnpack(unpack, &registry8, mutant, size, 0, back, used) != res ||
                 (res == ResOK && memcmp(back, alone, used) != 0);
  }
  TapIs(different, 0, "a damaged block unpacks to the same, or is refused, whatever was unpacked before it");
  TapIs(addressesBack(2), ResFORMAT, "no address is one before that, which would be another block's");
  TapIs(addressesBack(15), ResFORMAT, "however far");
}

/* testUnfilled -- room that was reserved and not filled, and bytes that are no events: nothing is packed, and nothing
 * else happens */
static void testUnfilled(void)
{
  uint8_t *place = events + dataMAX - BlockMAX;
  unsigned i, refused = 0, bounded = 0;
  Count count;

  for (i = 0; i < 200; ++i) {
    Size used = makeBlock(place, &registry8, 4096, 7, i % 3, (unsigned)registry8.count),
         at = below((unsigned)used / 8) * 8, size;
    EventHeaderStruct header;
    /* The event that begins at or before there. */
    for (size = 0; size <= at; size += EventSizeOfLength(header.length))
      memcpy(&header, place + size, sizeof header);
    size -= EventSizeOfLength(header.length);
    memset(place + size, 0, EventSizeOfLength(header.length));
    refused += BlockPack(pack, &registry8, place, used, 7, packed, &count) == 0;
  }
  TapIs(refused, 200, "a block with a piece that was never filled is refused");
  for (i = 0; i < 2000; ++i) {
    Size used = makeBlock(place, &registry8, 2048, 7, i % 3, (unsigned)registry8.count), n;
    for (n = below(20) + 1; n > 0; --n)
      place[below((unsigned)used)] = (uint8_t)random64();
    bounded += BlockPack(pack, &registry8, place, used, 7, packed, &count) <= used * 2 + 64;
  }
  TapIs(bounded, 2000, "whatever stands there, packing ends");
}

static void registryMake(unsigned which, Registry registry, uint8_t word, Bool swapped)
{
  RegistryInit(registry, types[which], typesMAX, (WidthsStruct){word, swapped});
  TapIs(RegistryText(registry, registryText, sizeof registryText - 1), ResOK,
        "the registry with words of %u bytes", word);
}

int main(void)
{
  state = TapSeed() * 2 + 1;
  events = malloc(dataMAX);
  back = malloc(dataMAX);
  packed = malloc(BlockRestMAX + PackSlackSIZE);
  pack = calloc(1, PackSIZE);
  unpack = calloc(1, UnpackSIZE);
  registryMake(0, &registry8, 8, FALSE);
  registryMake(1, &registry4, 4, FALSE);
  registryMake(2, &registry8s, 8, TRUE);
  registryMake(3, &registry4s, 4, TRUE);
  testRandom(&registry8, "words of 8 bytes", 150);
  testRandom(&registry4, "words of 4 bytes", 150);
  testEdges();
  testManyHeads();
  testSmall();
  testForeign(&registry8, &registry8s, "words of 8 bytes");
  testForeign(&registry4, &registry4s, "words of 4 bytes");
  testHostile();
  testAlone();
  testUnfilled();
  free(events);
  free(back);
  free(packed);
  free(pack);
  free(unpack);
  return TapDone();
}
