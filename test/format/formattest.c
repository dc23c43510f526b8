/* formattest.c -- the bytes of a log: types as text, blocks and events, header blocks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/region.h"
#include "logmake.h"

static RegistryStruct registry;
static EventTypeStruct types[256];
static MakeBlockStruct block;

static Registry freshRegistry(uint8_t word)
{
  memset(&registry, 0, sizeof registry);
  memset(types, 0, sizeof types);
  RegistryInit(&registry, types, ARRAY_LENGTH(types), (WidthsStruct){word, FALSE});
  return &registry;
}

static Res line(const char *string)
{
  return RegistryLine(&registry, string, strlen(string));
}

/* ---- Types as text ---- */

static void testOwnRegistry(void)
{
  Registry r = freshRegistry(8);
  EventType type;

  TapOk(RegistryText(r, EventRegistryTEXT, strlen(EventRegistryTEXT)) == ResOK, "the registry of this build parses");
  TapOk(RegistryCheck(r), "and is in order");
  TapOk(r->kinds == EventKindLIMIT && strcmp(r->kind[EventKindObject], "Object") == 0, "its kinds have their names");
  type = RegistryFind(r, EventPoolAllocCODE);
  TapOk(type != NULL && type->nameLength == 9 && memcmp(type->name, "PoolAlloc", 9) == 0 &&
        type->kind == EventKindObject &&
          !type->always, "a type has its name and kind");
  TapOk(type != NULL && type->params == 3 && memcmp(type->letter, "PAW", 3) == 0 && type->paramLength[1] == 4 &&
          memcmp(type->param[1], "addr", 4) == 0 && !type->strings, "and its parameters");
  TapOk(type != NULL && type->offset[0] == 8 && type->offset[1] == 16 && type->offset[2] == 24 && type->length == 32,
        "which lie one behind the other");
  TapOk(type != NULL && type->describeLength > 0 && memcmp(type->describe, "pool %pool", 10) == 0,
        "and what it says to people");
  TapOk(RegistryFind(r, 0x7fff) == NULL && RegistryFind(r, 0) == NULL, "other codes are not known");
}

#define SEES(place, value, what) TapSees(place, value, RegistryCheck(r), "a registry is not in order: " what)

static void testRegistryCheck(void)
{
  Registry r = freshRegistry(8);
  EventType type;

  if (RegistryText(r, EventRegistryTEXT, strlen(EventRegistryTEXT)) != ResOK)
    abort();
  type = RegistryFind(r, EventPoolAllocCODE);
  SEES(r->capacity, r->count - 1, "more types than have room");
  SEES(r->kinds, EventKindMAX + 1, "more kinds than there may be");
  SEES(r->index[0], 1, "a type has no code");
  SEES(r->widths.word, 5, "words are neither of four bytes nor of eight");
  SEES(r->index[EventPoolAllocCODE], 1, "a code leads to another type");
  SEES(type->kind, r->kinds, "a type is of a kind that there is not");
  SEES(type->offset[2], type->offset[2] + 1, "there is room between two parameters");
  SEES(type->letter[0], 'S', "a string is not the last");
}

static void testLayout(void)
{
  EventTypeStruct type;
  WidthsStruct narrow = {4, FALSE}, wide = {8, FALSE};

  TapOk(EventTypeLayout(&type, "PAWUDS", 6, &wide) == ResOK && type.length == 8 + 8 + 8 + 8 + 4 + 8 && type.strings,
        "a string begins behind all that is of fixed length");
  TapOk(EventTypeLayout(&type, "PAWUDS", 6, &narrow) == ResOK && type.length == 8 + 4 + 4 + 4 + 4 + 8 &&
        type.width[0] == 4,
        "words are as wide as the writer's");
  TapOk(EventTypeLayout(&type, "0", 1, &wide) == ResOK && type.length == 8 && type.params == 0,
        "an event may have no parameters");
  TapOk(EventTypeLayout(&type, "SW", 2, &wide) == ResFORMAT, "a string is the last");
  TapOk(EventTypeLayout(&type, "PXW", 3, &wide) == ResFORMAT, "other letters are none");
  TapOk(EventTypeLayout(&type, "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", EventParamMAX, &wide) == ResOK &&
        EventTypeLayout(&type, "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", EventParamMAX + 1, &wide) == ResFORMAT,
        "one parameter more than there may be is too many");
  TapOk(EventTypeLayout(&type, "", 0, &wide) == ResFORMAT, "nothing is no format");
}

static void testLines(void)
{
  static const char *const wrong[] = {
    "event: 0x0601 Same User 1 W b",      "event: 0x0700 NoKind Nowhere 1 W a", "event: 0x0700 Few User 1 WW a",
    "event: 0x00ff OfTheFormat User 1 0", "event: 0x10000 TooHigh User 1 0",    "event: 0x0700 Bad User 1 Q a",
    "event: x Bad User 1 0",              "event: 0x0700 Bad User 2 0",         "event:",
    "kind: 16 TooMany",                   "kind: 3",                            "kind: 3 ANameThatIsTooLong",
    "describe: 0x0777 nobody",            "describe:",
  };
  Index i;

  (void)freshRegistry(8);
  TapOk(line("kind: 6 User") == ResOK && line("event: 0x0601 Same User 1 W a") == ResOK, "a kind and a type");
  TapOk(line("event: 0x0601 Same User 1 W a") == ResOK && registry.count == 1, "a type that comes again is not two");
  TapOk(line("program: \"x\"") == ResOK && line("whatever") == ResOK && line("") == ResOK && registry.count == 1,
        "other lines are left alone");
  for (i = 1; i < ARRAY_LENGTH(wrong); ++i)
    TapOk(line(wrong[i]) == ResFORMAT && registry.count == 1, "refused: %s", wrong[i]);
  TapOk(line("event: 0x0601 Other User 1 W a") == ResFORMAT, "one code is not two types");
  TapOk(RegistryCheck(&registry), "and after all that the registry is in order");
}

static void testFull(void)
{
  char text[64];
  Index i;

  (void)freshRegistry(8);
  (void)line("kind: 6 User");
  for (i = 0; i < ARRAY_LENGTH(types); ++i) {
    (void)snprintf(text, sizeof text, "event: %u Type User 1 0", (unsigned)(0x8000 + i));
    if (line(text) != ResOK)
      break;
  }
  TapIs(i, ARRAY_LENGTH(types), "a registry takes as many types as it has room for");
  TapOk(line("event: 0x9000 Type User 1 0") == ResLIMIT && registry.count == ARRAY_LENGTH(types), "and no more");
}

/* ---- Blocks ---- */

static MakeProcess process;

static void testBlockHeader(void)
{
  MakeStruct make = {0};
  BlockHeaderStruct header;
  unsigned char bytes[BlockHeaderSIZE + 1];
  Bool swapped;
  unsigned i, missed = 0;

  MakeBlockBegin(&block, process, 77, EventKindObject, 5, 1000);
  (void)MakeEvent(&block, EventPoolFreeCODE, 1001, (uint64_t[]){1, 2}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  memcpy(bytes + 1, make.bytes, BlockHeaderSIZE);
  TapOk(BlockHeaderRead(&header, &swapped, bytes + 1) == ResOK && !swapped, "a header is read at any alignment");
  TapOk(header.sequence == 5 && header.thread == 77 && header.first == 1000 && header.last == 1001 && header.count == 1,
        "and says what was written");
  for (i = 0; i < BlockHeaderSIZE * 8; ++i) {
    bytes[1 + i / 8] ^= (unsigned char)(1u << i % 8);
    missed += BlockHeaderRead(&header, &swapped, bytes + 1) == ResOK;
    bytes[1 + i / 8] ^= (unsigned char)(1u << i % 8);
  }
  TapIs(missed, 0, "each bit of it that is changed is noticed");
  MakeFree(&make);
}

/* testBlockMemory -- the header of a block in memory: of each bit that is changed it is noticed, or it is
 * not believed */
static void testBlockMemory(void)
{
  BlockHeaderStruct header, read, *memory;
  unsigned char bytes[BlockMIN];
  unsigned i, missed = 0, free = 0;

  MakeBlockBegin(&block, process, 77, EventKindObject, 5, 1000);
  for (i = 0; i < 3; ++i)
    (void)MakeEvent(&block, EventPoolFreeCODE, 1001, (uint64_t[]){1, 2}, NULL);
  header = block.header;
  header.whole = sizeof bytes;
  header.used = 0;
  header.flags = BlockFlagSUMMED | BlockFlagUNSENT;
  header.last = header.mono = BlockHeaderSum(&header);
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, block.events, block.header.used);
  memory = (BlockHeader)(void *)bytes;
  TapOk(BlockUnsealedIs(&read, bytes, sizeof bytes, process->header.identity), "a header in memory is read");
  for (i = 0; i < BlockHeaderSIZE * 8; ++i) {
    bytes[i / 8] ^= (unsigned char)(1u << i % 8);
    if (BlockUnsealedIs(&read, bytes, sizeof bytes, 0)) {
      ++free;
      missed += read.whole != header.whole || read.used != header.used || read.process != header.process ||
                read.stream != header.stream || read.sequence != header.sequence || read.before != header.before ||
                read.discarded != header.discarded || read.first != header.first || read.pid != header.pid ||
                read.thread != header.thread || read.kind != header.kind ||
                ((read.flags ^ header.flags) & BlockFlagsOWNER) != 0;
    }
    bytes[i / 8] ^= (unsigned char)(1u << i % 8);
  }
  TapIs(missed, 0, "each bit of it that is changed is noticed, if it is believed");
  TapOk(free < BlockHeaderSIZE * 8 / 2, "as most of them are (%u are not)", free);
  memory->discarded = 9;
  memory->last += BlockSumPart(0, header.before, 9) - BlockSumPart(0, header.before, header.discarded);
  TapOk(BlockUnsealedIs(&read, bytes, sizeof bytes, process->header.identity), "one of the two sums will do");
  memory->discarded = 8;
  TapOk(!BlockUnsealedIs(&read, bytes, sizeof bytes, 0), "but one of them must");
  TapIs(BlockSpoiled(bytes, sizeof bytes), 3, "whose events are still counted");
  bytes[BlockHeaderSIZE + block.header.used] = 24; /* the length of one that is begun, or something else */
  TapIs(BlockSpoiled(bytes, sizeof bytes), 4, "and what was begun");
  memset(bytes, 0, sizeof bytes);
  TapIs(BlockSpoiled(bytes, sizeof bytes), 0, "none where there is nothing,");
  bytes[BlockHeaderSIZE - 1] = 1;
  TapIs(BlockSpoiled(bytes, sizeof bytes), 1, "and one where nothing can be counted");
  memset(bytes, 0xff, sizeof bytes);
  TapIs(BlockSpoiled(bytes, sizeof bytes), 1, "whatever stands there");
}

/* testBlockState -- what the header of a block in memory says of its slot's state, and which states that mends */
static void testBlockState(void)
{
  static const uint8_t right[] = {RegionFULL | 12, RegionFULL | RegionTAKEN | 12, RegionERASED},
                       wrong[] = {RegionFREE, RegionTAKEN,     RegionOPEN, RegionOPEN | 12,
                                  RegionFULL, RegionFULL | 13, 0xff};
  BlockHeaderStruct header;
  unsigned char bytes[BlockMIN];
  unsigned i, bad = 0;
  uint8_t told;

  MakeBlockBegin(&block, process, 77, EventKindObject, 5, 1000);
  header = block.header;
  header.whole = sizeof bytes;
  header.used = 64;
  header.flags = BlockFlagSUMMED;
  header.last = header.mono = BlockHeaderSum(&header);
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, &header, sizeof header);
  told = RegionStateTold(bytes + sizeof bytes, sizeof bytes, header.process);
  TapIs(told, RegionFULL | 12, "a block that was handed over says that its slot is full");
  TapIs(RegionStateTold(bytes + sizeof bytes, sizeof bytes, header.process + 1), RegionFREE,
        "unless it is another process's");
  for (i = 0; i < ARRAY_LENGTH(right); ++i)
    bad += RegionStateWrong(right[i], told);
  TapIs(bad, 0, "a slot that says so is right, and so is one whose block is about to be erased");
  for (i = 0; i < ARRAY_LENGTH(wrong); ++i)
    bad += !RegionStateWrong(wrong[i], told);
  TapIs(bad, 0, "any other is wrong");
}

/* testBlockSizes -- sound checksums over sizes that cannot be */
static void testBlockSizes(void)
{
  static const struct {
    const char *what;
    Size offset;
    uint32_t value;
  } wrong[] = {
    {"size less than header and rest", offsetof(BlockHeaderStruct, size), 100},
    {"size without end", offsetof(BlockHeaderStruct, size), 0xffffffff},
    {"rest without end", offsetof(BlockHeaderStruct, rest), 0xfffffff0},
    {"whole too small", offsetof(BlockHeaderStruct, whole), 1024},
    {"whole too large", offsetof(BlockHeaderStruct, whole), 1 << 20},
    {"used beyond whole", offsetof(BlockHeaderStruct, used), BlockMAX},
    {"used of no whole words", offsetof(BlockHeaderStruct, used), 25},
    {"more events than fit", offsetof(BlockHeaderStruct, count), 4},
  };
  MakeStruct make = {0};
  BlockHeaderStruct header;
  Bool swapped;
  Index i;

  MakeBlockBegin(&block, process, 77, EventKindObject, 5, 1000);
  (void)MakeEvent(&block, EventPoolFreeCODE, 1001, (uint64_t[]){1, 2}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  for (i = 0; i < ARRAY_LENGTH(wrong); ++i) {
    memcpy(&header, make.bytes, sizeof header);
    memcpy((char *)&header + wrong[i].offset, &wrong[i].value, sizeof wrong[i].value);
    BlockHeaderSeal(&header);
    TapOk(BlockHeaderRead(&header, &swapped, &header) == ResFORMAT, "refused, though its checksum is right: %s",
          wrong[i].what);
  }
  memcpy(&header, make.bytes, sizeof header);
  header.major = EventVersionMAJOR + 1;
  BlockHeaderSeal(&header);
  TapOk(BlockHeaderRead(&header, &swapped, &header) == ResVERSION, "another major version is said to be one");
  MakeFree(&make);
}

static void testSwapped(void)
{
  MakeProcess foreign = MakeProcessForeign(1, 0x1122334455667788, 4, TRUE, EventRegistryTEXT);
  MakeStruct make = {0};
  BlockHeaderStruct header;
  Bool swapped;

  MakeBlockBegin(&block, foreign, 77, EventKindObject, 5, 0x123456789a);
  (void)MakeEvent(&block, EventPoolFreeCODE, 0x123456789b, (uint64_t[]){1, 2}, NULL);
  block.header.mono = 99;
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  TapOk(BlockHeaderRead(&header, &swapped, make.bytes) == ResOK && swapped, "a header in the other byte order is read");
  TapOk(header.process == 0x1122334455667788 && header.first == 0x123456789a && header.mono == 99 && header.pid == 1 &&
          header.used == 16 && header.stream == 77 * 32 + EventKindObject * 2, "field by field");
  MakeProcessFree(foreign);
  MakeFree(&make);
}

/* ---- Sealing and copying ---- */

static void testSeal(void)
{
  static uint64_t memory[BlockMIN / sizeof(uint64_t)], copy[BlockMIN / sizeof(uint64_t)];
  BlockHeader header = (BlockHeader)(void *)memory, copied = (BlockHeader)(void *)copy;
  unsigned char rest[64], *events = (unsigned char *)(header + 1);
  BlockHeaderStruct sound;
  BlockTallyStruct tally = {.used = 48, .count = 2, .last = 9};
  Bool swapped;

  *header = (BlockHeaderStruct){.magic = BlockMAGIC, .order = BlockORDER, .major = BlockMAJOR, .flags = BlockFlagSEALED,
                                .whole = BlockMIN, .used = 48, .count = 2, .process = 1, .first = 7, .last = 9};
  memset(events, 'e', 48);
  memset(rest, 'p', sizeof rest);
  BlockSeal(header, rest, 20, events);
  TapOk(header->size == BlockHeaderSIZE + 20 && header->rest == 20 && (header->flags & BlockFlagPACKED) != 0 &&
          rest[0] == 'p' && BlockHeaderRead(&sound, &swapped, header) == ResOK,
        "a block whose packed events are less is sealed packed");
  header->flags = BlockFlagSEALED;
  BlockSeal(header, rest, 48, events);
  TapOk(header->rest == 48 && header->flags == BlockFlagSEALED && memcmp(rest, events, 48) == 0 && rest[48] == 'p' &&
          BlockHeaderRead(&sound, &swapped, header) == ResOK,
        "and else as it is");
  BlockSealOpen(header, &tally, BlockFlagSNAPSHOT);
  TapOk(header->flags == BlockFlagSNAPSHOT && header->size == BlockHeaderSIZE + 48 && header->last == 9 &&
            header->mono == 0 && BlockHeaderRead(&sound, &swapped, header) == ResOK,
        "an open one says that it is no more than a copy");
  TapOk(BlockCopyLive(copied, header, BlockMIN) && memcmp(copied, header, BlockMIN) == 0,
        "a block in memory is copied");
  TapOk(BlockSame(header, copied), "and is the same");
  ++header->sequence;
  TapOk(!BlockSame(header, copied), "until its owner fills the next one in its place");
}

/* ---- Walking ---- */

static void testWalk(void)
{
  BlockTallyStruct tally;
  EventHeaderStruct event = {0, 24, 0};
  Index i;

  MakeBlockBegin(&block, process, 77, EventKindObject, 0, (uint64_t)7 << 32);
  for (i = 0; i < 3; ++i)
    (void)MakeEvent(&block, EventPoolFreeCODE, ((uint64_t)7 << 32) + 10 + i, (uint64_t[]){1, 2}, NULL);
  memcpy(block.events + block.header.used, &event, sizeof event); /* reserved, and not committed */
  block.header.used += 24;
  MakeHole(&block, 2); /* not even that */
  (void)MakeEvent(&block, EventPoolFreeCODE, (uint64_t)8 << 32, (uint64_t[]){1, 2}, NULL);
  BlockWalk(&tally, block.events, BlockMAX - BlockHeaderSIZE, (uint64_t)7 << 32, FALSE);
  TapIs(tally.count, 4, "a walk counts what is committed");
  TapIs(tally.pending, 1, "and the pieces of room between, that are not");
  TapIs(tally.used, block.header.used, "it ends behind the last committed event");
  TapIs(tally.last, (uint64_t)8 << 32, "and knows the epochs");
  BlockWalk(&tally, block.events, BlockMAX - BlockHeaderSIZE, (uint64_t)7 << 32, TRUE);
  BlockWalk(&tally, block.events, BlockMAX - BlockHeaderSIZE, (uint64_t)7 << 32, FALSE);
  TapOk(tally.pending == 0 && tally.count == 4 && tally.used == block.header.used, "settling makes pads of that room");
  block.events[26] = block.events[27] = 0x7f; /* the second event's length */
  BlockWalk(&tally, block.events, BlockMAX - BlockHeaderSIZE, (uint64_t)7 << 32, FALSE);
  TapIs(tally.count, 1, "a length that cannot be ends the walk");
}

static void testWalkRandom(uint64_t *seed)
{
  static unsigned char bytes[4096];
  BlockTallyStruct tally;
  Bool within = TRUE;
  Index round, i;

  for (round = 0; round < 2000; ++round) {
    for (i = 0; i < sizeof bytes; i += 8) {
      uint64_t r = TapRandom(seed);
      if (r % 4 != 0)
        r &= 0x00ff00ff0000ffff; /* lengths that could be */
      memcpy(bytes + i, &r, sizeof r);
    }
    BlockWalk(&tally, bytes, sizeof bytes, 0, round % 2 != 0);
    within &= tally.used <= sizeof bytes && tally.count <= sizeof bytes / EventALIGN;
  }
  TapOk(within, "a walk over random bytes stays within them");
}

/* ---- Header blocks ---- */

static char headerRoom[HeaderMAX];

static Size headerWrite(Header header)
{
  TextStruct text;

  TextInit(&text, headerRoom, sizeof headerRoom);
  HeaderBegin(&text, header);
  TextString(&text, EventRegistryTEXT);
  return HeaderEnd(&text) == ResOK ? TextLength(&text) : 0;
}

static void testHeader(void)
{
  static HeaderStruct header, back;
  const char *body;
  unsigned version[3];
  Size length, stated, i;
  unsigned missed = 0;

  header = process->header;
  header.median = 12;
  header.minor = 345;
  header.widths.word = 4;
  header.syncs = 2;
  header.sync[1] = (SyncStruct){(uint64_t)1 << 63, 1, 2};
  header.lost = 3;
  strcpy(header.program, "/bin/with \"quotes\" \\ and\nlines\x01\xff");
  header.arguments = 70;
  for (i = 0; i < HeaderArgumentsMAX; ++i)
    (void)snprintf(header.argument[i], HeaderTextMAX, "%u\n", (unsigned)i);
  strcpy(header.region, "/dev/shm/x y");
  length = headerWrite(&header);
  TapOk(length > 0 && HeaderLength(&stated, version, headerRoom, length) == ResOK && stated == length &&
        version[1] == 12 &&
          version[2] == 345, "a header's first line says its length and version");
  TapOk(HeaderRead(&back, &body, headerRoom, length) == ResOK, "and all of it is read");
  TapOk(back.pid == header.pid && back.identity == header.identity && back.widths.word == 4 && !back.widths.swapped &&
          back.frequency == header.frequency && back.lost == 3, "numbers come back");
  TapOk(strcmp(back.program, header.program) == 0 && strcmp(back.region, header.region) == 0 &&
          strcmp(back.boot, header.boot) == 0, "and strings, whatever is in them");
  TapOk(strcmp(back.argument[63], "63\n") == 0, "arguments, too");
  TapOk(back.syncs == 2 && back.sync[1].ticks == (uint64_t)1 << 63 && back.sync[1].real == 2,
        "and relations of the clocks");
  TapOk(RegistryText(freshRegistry(4), body, length - (Size)(body - headerRoom)) == ResOK &&
          RegistryFind(&registry, EventPoolAllocCODE) != NULL, "its body has the types");
  for (i = BlockMagicSIZE + HeaderLineSIZE; i < length; ++i) {
    headerRoom[i] ^= 0x20;
    missed += HeaderRead(&back, &body, headerRoom, length) == ResOK;
    headerRoom[i] ^= 0x20;
  }
  TapIs(missed, 0, "each byte of its lines that is changed is noticed");
  TapOk(HeaderRead(&back, &body, headerRoom, length - 1) == ResFORMAT, "as is a byte that is missing");
}

static void testHeaderForeign(void)
{
  static HeaderStruct header, back;
  const char *body;
  Size length;

  header = process->header;
  header.widths.swapped = TRUE;
  length = headerWrite(&header);
  TapOk(HeaderRead(&back, &body, headerRoom, length) == ResOK && back.widths.swapped,
        "a header tells the other byte order");
}

/* testRegionName -- what regions are called is what they are found by, and nothing else */
static void testRegionName(void)
{
  static const char *const others[] = {
    "", "pawprint-", "pawprint-1-0", "pawprint-0123456789abcdef", "pawprint-0123456789abcdef-1",
    "pawprint-0123456789abcdef-1-", "pawprint-0123456789abcdef-1-0.log", "pawprint-0123456789abcdef-01-0",
    "pawprint-0123456789abcdef--1-0", "pawprint-0123456789abcdef-1-4294967296", "pawprint-0123456789ABCDEF-1-0",
    "pawprint-0123456789abcde-1-0", "pawprint-00123456789abcdef-1-0", "x/pawprint-0123456789abcdef-1-0",
    ".region-0123456789abcdef-1-0", "x.region-1-0", "x.region-0123456789abcdef-1-0 (deleted)",
    "pawprint-0123456789abcdef-1-99999999999999999999999",
  };
  RegionNameStruct name = {.recording = 0x0123456789abcdef, .pid = UINT32_MAX, .number = UINT32_MAX}, back;
  char room[RegionNameMAX], beside[128];
  TextStruct text;
  Index i;

  TextInit(&text, room, sizeof room);
  RegionNameWrite(&text, &name, NULL);
  (void)TextTerminate(&text);
  TapOk(!text.overflow && strcmp(room, "pawprint-0123456789abcdef-4294967295-4294967295") == 0,
        "the longest name of a region has room");
  TapOk(RegionNameParse(&back, room) && back.recording == name.recording && back.pid == name.pid &&
          back.number == name.number && back.log == 0, "and says what it was made of");
  TextInit(&text, beside, sizeof beside);
  name = (RegionNameStruct){.recording = 1, .pid = 10, .number = 0};
  RegionNameWrite(&text, &name, "a.region-b");
  TapOk(strcmp(TextTerminate(&text), "a.region-b.region-0000000000000001-10-0") == 0, "as beside a log");
  TapOk(RegionNameParse(&back, beside) && back.recording == 1 && back.pid == 10 && back.number == 0 &&
          back.log == strlen("a.region-b"), "whose name it has");
  for (i = 0; i < ARRAY_LENGTH(others); ++i)
    TapOk(!RegionNameParse(&back, others[i]), "no region is called \"%s\"", others[i]);
  TapOk(!RegionNamed("pawprint-0123456789abcdef-1-0") && RegionNamed("/dev/shm/pawprint-0123456789abcdef-1-0") &&
          RegionNamed("/memfd:pawprint-region (deleted)") && !RegionNamed("/dev/shm/pawfile"),
        "a path is looked at by its last part");
}

/* testNote -- a note is read back from its text, and nothing else is one */
static void testNote(void)
{
  static const char *const others[] = {"", "more", "1 2 3 4", "1 2 3 /a", " 1 2 3 4 /a", "-1 2 3 4 /a", "1  2 3 4 /a",
                                       "4294967296 2 3 4 /a", "1 4294967296 3 4 /a", "1 2 4294967296 4 /a"};
  static RegionMeetStruct note, back;
  char text[2 * RegionPathMAX] = "1 2 3 4 ";
  Index i;

  note.note = RegionNoteEXEC;
  note.lack = RegionLackRECORDING;
  note.self = UINT32_MAX;
  note.identity = UINT64_MAX - 1;
  (void)strcpy(note.program, "/a program\nof two lines");
  TapOk(RegionNotePut(&note) && RegionNoteTake(&back, note.program) && back.note == note.note &&
          back.lack == note.lack && back.self == note.self && back.identity == note.identity &&
          strcmp(back.program, "/a program\nof two lines") == 0,
        "a note is what was written");
  for (i = 0; i < ARRAY_LENGTH(others); ++i)
    TapOk(!RegionNoteTake(&back, others[i]), "\"%s\" is no note", others[i]);
  memset(note.program, 'x', sizeof note.program - 1);
  TapOk(!RegionNotePut(&note), "a path that leaves no room for the numbers is refused");
  memset(text + strlen(text), 'x', RegionPathMAX);
  TapOk(!RegionNoteTake(&back, text), "a text that is too long is none");
}

/* headerLines -- a header block with these lines, and as many bytes of its own */
static Res headerLines(Header back, const char **body, Size *length, const char *lines)
{
  TextStruct text;

  TextInit(&text, headerRoom, sizeof headerRoom);
  HeaderBegin(&text, &process->header);
  TextString(&text, lines);
  *length = HeaderEnd(&text) == ResOK ? TextLength(&text) : 0;
  return HeaderRead(back, body, headerRoom, *length);
}

static void testHeaderEnd(void)
{
  static HeaderStruct header, back, other;
  static char otherRoom[4096];
  static HeaderStreamStruct streams[] = {{0, 1, 2, 3}, {UINT32_MAX, CountMAX, HeaderEventsUNKNOWN, CountMAX}};
  HeaderStreamStruct stream;
  const char *body = headerRoom, *next;
  TextStruct text;
  Index i;
  Size length = 0;

  header = process->header;
  header.recording = 0xfedcba9876543210;
  header.forked = (HeaderForkStruct){0x8000000000000001, 4711, 123456789, UINT64_MAX};
  header.begun = UINT64_MAX;
  header.sent = (HeaderSentStruct){UINT64_MAX, 0, UINT32_MAX};
  header.ended = TRUE;
  header.streams = 70000;
  header.gone = 0x7000000000000001;
  TextInit(&text, headerRoom, sizeof headerRoom);
  HeaderBegin(&text, &header);
  for (i = 0; i < ARRAY_LENGTH(streams); ++i)
    HeaderStreamWrite(&text, &streams[i]);
  TextString(&text, EventRegistryTEXT);
  TapOk(HeaderEnd(&text) == ResOK && HeaderRead(&back, &body, headerRoom, length = TextLength(&text)) == ResOK,
        "a closing header block is read");
  TapOk(back.recording == header.recording && back.begun == header.begun && back.ended && back.streams == 70000 &&
          back.gone == header.gone,
        "which recording, since when, how many streams, and when it had ended come back");
  TapOk(back.forked.identity == header.forked.identity && back.forked.thread == 4711 &&
          back.forked.before == 123456789 && back.forked.after == UINT64_MAX,
        "and whose child by fork it is");
  TapOk(back.pid == 4711 && back.inner == 0 && HeaderLeader(&back) == 4711, "a process has one number");
  HeaderOutside(&header, 815);
  HeaderOutside(&header, 0);
  HeaderOutside(&header, 4711);
  TapOk(header.pid == 815 && header.inner == 4711, "or another one outside of its namespace");
  TextInit(&text, otherRoom, sizeof otherRoom);
  HeaderBegin(&text, &header);
  TapOk(HeaderEnd(&text) == ResOK && HeaderRead(&other, &next, otherRoom, TextLength(&text)) == ResOK &&
          other.pid == 815 && HeaderLeader(&other) == 4711,
        "which comes back");
  TapOk(back.sent.ticks == UINT64_MAX && back.sent.first == 0 && back.sent.now == UINT32_MAX,
        "and which kinds it sent, at first and at last");
  for (next = body, i = 0; HeaderStreamNext(&stream, &next, headerRoom + length); ++i)
    if (i >= ARRAY_LENGTH(streams) || stream.stream != streams[i].stream || stream.blocks != streams[i].blocks ||
        stream.events != streams[i].events || stream.discarded != streams[i].discarded)
      break;
  TapIs(i, ARRAY_LENGTH(streams), "and what each stream had");
  TapOk(headerLines(&back, &body, &length, "lost: 9007199254740992\n") == ResOK && back.lost == CountMAX &&
          headerLines(&back, &body, &length, "lost: 9007199254740993\n") == ResFORMAT &&
          headerLines(&back, &body, &length, "stream: 1 2 3 9007199254740993\n") == ResFORMAT,
        "a header block with more than there can be of something is none");
  TapOk(headerLines(&back, &body, &length, EventRegistryTEXT) == ResOK && !back.ended && back.recording == 0 &&
          back.begun == 0 && !HeaderStreamNext(&stream, &body, headerRoom + length),
        "a header block need have none of these lines");
}

static void testHeaderEndWrong(void)
{
  static const char *const wrong[] = {
    "stream: 1 2 3\n", "stream: 4294967296 2 3 4\n", "stream: 1 2 ?\n", "stream: 1 2 ?3 4\n", "stream: 1 ? 3 4\n",
    "stream: 1 2 3 18446744073709551616\n", "stream: 1 2 18446744073709551615 4\n", "stream: \n", "end: \n", "end: x\n",
    "forked: 0x12 3 4\n", "begun: -1\n", "gone: -1\n", "recording: 0xg\n", "recording: 0x10000000000000000\n",
    "sent: 1 2\n", "sent: 1 2 0x100000000\n", "pid: 4294967296\n", "open: 4294967296\n", "word: 5\n", "order: middle\n",
    "sync: 1 2\n", "program: x\n", "program: \"x\n", "registry: 1048577 0x1\n", "registry: 5 0x100000000\n",
    "dropped: 9007199254740993 1 1\n", "forgotten: 9007199254740993\n",
  };
  static HeaderStruct back;
  const char *body;
  Size length;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(wrong); ++i)
    TapOk(headerLines(&back, &body, &length, wrong[i]) == ResFORMAT, "refused: %.*s", (int)strlen(wrong[i]) - 1,
          wrong[i]);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;

  process = MakeProcessNew(4711, 0x77);
  testOwnRegistry();
  testRegistryCheck();
  testLayout();
  testLines();
  testFull();
  testBlockHeader();
  testBlockMemory();
  testBlockState();
  testBlockSizes();
  testSwapped();
  testSeal();
  testWalk();
  testWalkRandom(&seed);
  testHeader();
  testHeaderForeign();
  testRegionName();
  testNote();
  testHeaderEnd();
  testHeaderEndWrong();
  MakeProcessFree(process);
  return TapDone();
}
