/* sitebooktest.c -- what each site has and had at the peak, against a count that copies all of it at each peak
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "callers/sitebook.h"
#include "callers/sitenumbers.h"
#include "tap.h"

enum { SITES = 24, OBJECTS = 200, STEPS = 4000, ROUNDS = 20 };

/* The oracle: objects, and all sums as they are counted anew after each step. */
static struct {
  struct {
    uint32_t site; /* 0: no object */
    uint64_t size;
  } object[OBJECTS];
  SiteSumStruct left[SITES], live[SITES], peak[SITES], most;
  uint64_t allocated[SITES], allocs[SITES], freed[SITES], temporary[SITES], mostTime;
  SiteSumStruct wasted[SITES];
} oracle;

static uint64_t seedNow;

static uint64_t below(uint64_t n)
{
  return TapRandom(&seedNow) % n;
}

/* count -- what lives, by site; is it more than ever? */
static void count(uint64_t time)
{
  SiteSumStruct all = {0};
  Index i;

  memset(oracle.live, 0, sizeof oracle.live);
  for (i = 0; i < OBJECTS; ++i) {
    if (oracle.object[i].site == 0)
      continue;
    oracle.live[oracle.object[i].site].bytes += oracle.object[i].size;
    ++oracle.live[oracle.object[i].site].objects;
    all.bytes += oracle.object[i].size;
    ++all.objects;
  }
  if (all.bytes <= oracle.most.bytes)
    return;
  oracle.most = all;
  oracle.mostTime = time;
  memcpy(oracle.peak, oracle.live, sizeof oracle.peak);
}

/* given -- the allocator gives more than was asked for; some give less, which is nothing wasted */
static void given(SiteBook book, uint32_t site, uint64_t size)
{
  uint64_t usable = below(10) == 0 ? size / 2 : size + below(64);

  oracle.wasted[site].bytes += usable > size ? usable - size : 0;
  ++oracle.wasted[site].objects;
  SiteBookUsable(book, site, size, usable);
}

static void come(SiteBook book, Index i, uint64_t time)
{
  uint32_t site = 1 + (uint32_t)below(SITES - 1);
  uint64_t size = below(4) == 0 ? 0 : below(1000);

  oracle.object[i].site = site;
  oracle.object[i].size = size;
  if (below(8) == 0) {
    SiteBookTold(book, site, size, time);
    return;
  }
  oracle.allocated[site] += size;
  ++oracle.allocs[site];
  SiteBookAlloc(book, site, size, time);
  given(book, site, size);
}

static void resize(SiteBook book, Index i, uint64_t time)
{
  uint32_t site = below(2) == 0 ? oracle.object[i].site : 1 + (uint32_t)below(SITES - 1);
  uint64_t size = below(1000), old = oracle.object[i].size;

  oracle.allocated[site] += size > old ? size - old : 0;
  SiteBookResize(book, oracle.object[i].site, site, old, size, time);
  oracle.object[i].site = site;
  oracle.object[i].size = size;
  given(book, site, size);
}

static void go(SiteBook book, Index i)
{
  Bool temporary = below(5) == 0 && oracle.temporary[oracle.object[i].site] < oracle.allocs[oracle.object[i].site];

  oracle.temporary[oracle.object[i].site] += temporary;
  ++oracle.freed[oracle.object[i].site];
  SiteBookFree(book, oracle.object[i].site, oracle.object[i].size, temporary);
  oracle.object[i].site = 0;
}

/* end -- a process ends that has half of the sites; mostly it really has */
static void end(SiteBook book, uint64_t time)
{
  Bool returns = below(3) == 0;
  uint32_t site;
  Index i;

  for (site = 1; site < SITES; site += 2) {
    SiteBookLeave(book, site);
    oracle.left[site].bytes += oracle.live[site].bytes;
    oracle.left[site].objects += oracle.live[site].objects;
  }
  if (returns) {
    for (site = 1; site < SITES; site += 2) {
      SiteBookReturn(book, site);
      oracle.left[site] = (SiteSumStruct){0};
    }
    SiteBookPeak(book, time);
    return;
  }
  for (i = 0; i < OBJECTS; ++i)
    if (oracle.object[i].site % 2 == 1)
      oracle.object[i].site = 0;
}

static Count wrongSums(SiteBook book)
{
  Count wrong = 0;
  uint32_t site;

  for (site = 1; site < SITES; ++site) {
    SiteSumStruct peak = SiteBookAtPeak(book, site), left = SiteBookLeft(book, site);
    SiteRow row = &book->row[site];
    SiteMore more = &book->more[site];
    wrong += peak.bytes != oracle.peak[site].bytes || peak.objects != oracle.peak[site].objects;
    wrong += left.bytes != oracle.left[site].bytes + oracle.live[site].bytes ||
             left.objects != oracle.left[site].objects + oracle.live[site].objects;
    wrong += row->live.bytes != oracle.live[site].bytes || row->allocated.bytes != oracle.allocated[site] ||
             row->allocated.objects != oracle.allocs[site] || row->temporary != oracle.temporary[site];
    wrong += more->wasted.bytes != oracle.wasted[site].bytes || more->wasted.objects != oracle.wasted[site].objects;
    wrong += row->allocated.objects + more->told.objects + more->resizes - more->away != left.objects + oracle.freed[site];
  }
  return wrong + (book->peak.bytes != oracle.most.bytes || book->peak.objects != oracle.most.objects ||
                  book->peakTime != oracle.mostTime);
}

/* playRound -- random steps, with growth and shrinking in turn; how often was something wrong? */
static Count playRound(void)
{
  SiteBookStruct book;
  Bool ended = FALSE;
  Count wrong = 0;
  Index step, i;

  memset(&oracle, 0, sizeof oracle);
  if (SiteBookInit(&book) != ResOK || SiteBookRoom(&book, SITES) != ResOK)
    return 1;
  for (step = 1; step <= STEPS; ++step) {
    Bool grows = step / 500 % 2 == 0;
    i = below(OBJECTS);
    if (oracle.object[i].site == 0 && (grows || below(3) == 0))
      come(&book, i, step);
    else if (oracle.object[i].site != 0 && below(4) == 0)
      resize(&book, i, step);
    else if (oracle.object[i].site != 0 && (!grows || below(3) == 0))
      go(&book, i);
    else if (!ended && below(1500) == 0)
      end(&book, step), ended = TRUE;
    count(step);
    if (step % 97 == 0)
      wrong += wrongSums(&book) + !SiteBookCheck(&book);
  }
  wrong += wrongSums(&book);
  SiteBookFinish(&book);
  return wrong;
}

static void testBook(void)
{
  Count wrong = 0;
  unsigned i;

  for (i = 0; i < ROUNDS; ++i)
    wrong += playRound();
  TapIs(wrong, 0, "each site has what its objects come to, now, at the peak, and when its process ended");
}

static void testRoom(void)
{
  SiteBookStruct book;
  SiteSumStruct peak;
  uint32_t i;

  TapOk(SiteBookInit(&book) == ResOK, "a book without sites");
  TapOk(SiteBookCheck(&book) && book.peak.bytes == 0, "has nothing");
  for (i = 1; i < 5000; ++i) {
    if (SiteBookRoom(&book, i + 1) != ResOK)
      break;
    SiteBookAlloc(&book, i, i, i);
  }
  TapOk(SiteBookCheck(&book) && book.live.objects == 4999, "it grows with the sites,");
  SiteBookFree(&book, 4000, 4000, TRUE);
  peak = SiteBookAtPeak(&book, 4000);
  TapOk(peak.bytes == 4000 && SiteBookLeft(&book, 4000).bytes == 0, "and a peak stays what it was");
  SiteBookFinish(&book);
}

static void testNumbers(void)
{
  static SiteNumbersStruct numbers;
  static uint32_t number[4000];
  Count wrong = 0;
  unsigned i;

  SiteNumbersInit(&numbers);
  TapIs(SiteNumbersFirst(&numbers, 7), 0, "a process without sites has no number");
  for (i = 0; i < 4000; ++i)
    number[i] = SiteNumbersOf(&numbers, i % 5, 0x1000 + i / 5 * 16, FALSE, i);
  TapOk(SiteNumbersCheck(&numbers) && numbers.count == 4000, "each site of each process gets a number,");
  TapSees(numbers.count, numbers.capacity + 1, SiteNumbersCheck(&numbers), "more sites than there is room for are seen");
  TapSees(numbers.places, numbers.count, SiteNumbersCheck(&numbers), "a table too small for them is seen");
  TapSees(numbers.site[100].code, 1, SiteNumbersCheck(&numbers), "a site that is not where it is looked for is seen");
  TapSees(numbers.first[2], numbers.first[3], SiteNumbersCheck(&numbers), "a process with another one's sites is seen");
  TapSees(numbers.site[number[3999] - 1].next, 0, SiteNumbersCheck(&numbers), "sites that no list has are seen");
  for (i = 0; i < 4000; ++i) {
    SiteStruct again = {.code = 0x1000 + i / 5 * 16, .process = i % 5, .asker = i % 5};
    wrong += number[i] != SiteNumbersAdd(&numbers, &again) || SiteNumbersAt(&numbers, number[i])->time != i;
  }
  TapIs(wrong, 0, "has the same one when it is met again, and keeps what was known when it was met first");
  {
    SiteStruct stack = {.code = 0x1000, .process = 0, .asker = 0, .stack = 1}, child = {.code = 0x1000, .process = 9};
    TapOk(SiteNumbersAdd(&numbers, &stack) == 4001 && SiteNumbersAdd(&numbers, &child) == 4002 &&
          SiteNumbersFirst(&numbers, 9) == 4002 && SiteNumbersAt(&numbers, 4002)->next == 0,
          "a stack is no site, nor what a child has from its parent");
  }
  SiteNumbersFinish(&numbers);
}

/* testTurns -- an address that is in one module, and then in another one */
static void testTurns(void)
{
  static const char text[] = "kind: 8 System\nevent: 0x0904 ModuleLoad System 1 AWS base size path\n"
                             "event: 0x0908 ModuleUnload System 1 AW base size\n";
  static SiteNumbersStruct numbers;
  RegistryStruct registry;
  EventTypeStruct types[4];
  struct LogProcessStruct process = {.registry = &registry};
  ModuleMap map = NULL;
  uint32_t first, second;
  Index i;

  RegistryInit(&registry, types, ARRAY_LENGTH(types), (WidthsStruct){sizeof(uint64_t), FALSE});
  TapOk(RegistryText(&registry, text, sizeof text - 1) == ResOK && ModuleMapMake(&map, 1) == ResOK, "a map of modules");
  process.header.widths = registry.widths;
  for (i = 0; i < 4; ++i) {
    EventType type = RegistryFind(&registry, i % 2 == 0 ? 0x0904 : 0x0908);
    uint64_t word[] = {0x1000, 0x1000};
    unsigned char bytes[64] = {0};
    struct LogEventStruct event = {.time = 100 + 100 * i, .process = &process, .type = type, .bytes = bytes};
    memcpy(bytes + type->offset[0], word, sizeof *word);
    memcpy(bytes + type->offset[1], word, sizeof *word);
    event.length = (uint16_t)type->length;
    if (i % 2 == 0) {
      bytes[type->offset[2]] = (unsigned char)('a' + i);
      event.length = (uint16_t)(type->length + 2);
    }
    (void)ModuleMapTake(map, &event);
  }
  TapOk(ModuleMapSettle(map) == ResOK, "with two that took turns at an address");
  SiteNumbersInit(&numbers);
  numbers.modules = map;
  first = SiteNumbersOf(&numbers, 0, 0x1800, FALSE, 50);
  second = SiteNumbersOf(&numbers, 0, 0x1800, FALSE, 250);
  TapOk(first != second && SiteNumbersOf(&numbers, 0, 0x1800, FALSE, 199) == first &&
          SiteNumbersOf(&numbers, 0, 0x1800, FALSE, 300) == second &&
          SiteNumbersOf(&numbers, 0, 0x1800, FALSE, 1000) == second &&
          SiteNumbersOf(&numbers, 0, 0x1800, FALSE, 100) == first,
        "an address in them has a number for each, also before the first and behind the last");
  TapOk(SiteNumbersOf(&numbers, 0, 0x1900, TRUE, 120) == 3 && SiteNumbersOf(&numbers, 0, 0x1900, TRUE, 320) == 3 &&
          SiteNumbersOf(&numbers, 0, 0x9000, FALSE, 120) == SiteNumbersOf(&numbers, 0, 0x9000, FALSE, 320),
        "a stack has one, and so has what is in no module");
  TapOk(SiteNumbersCheck(&numbers), "all of which are in order");
  SiteNumbersFinish(&numbers);
  ModuleMapDestroy(map);
}

int main(void)
{
  uint64_t seed = TapSeed();

  seedNow = seed * 0x9e3779b97f4a7c15ull | 1;
  testRoom();
  testNumbers();
  testTurns();
  testBook();
  return TapDone();
}
