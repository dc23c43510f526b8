/* indextest.c -- a pass over the index from a time on has exactly the blocks that a walk over all of them finds
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/index.h"

#include "format/block.h"
#include "tap.h"

enum { clocks = 3, froms = 40 };

static uint64_t state;

static uint64_t below(uint64_t n)
{
  return TapRandom(&state) % n;
}

/* aTable -- processes with clocks of different rates that begin at different moments */
static void aTable(Table table)
{
  Index i;

  memset(table, 0, sizeof *table);
  for (i = 0; i < clocks; ++i) {
    BlockHeaderStruct header = {.process = 100 + i, .stream = (uint32_t)i};
    LogStream stream;
    Clock clock;
    (void)TableStream(&stream, table, &header);
    clock = stream->process->clock;
    clock->frequency = (uint64_t[]){1000000000, 2900000000, 16000000}[i];
    clock->sync.known = TRUE;
    clock->sync.early = (SyncStruct){.ticks = 1000 + 77 * i, .mono = 5, .real = 1000000 + below(1000000)};
    ClockSee(clock, 1000, 1000);
  }
}

/* anEntry -- most blocks are short, some reach far, some were never sealed */
static IndexEntryStruct anEntry(uint64_t number, uint64_t span)
{
  IndexEntryStruct entry = {.first = 1000 + below(span), .sequence = number, .stream = (uint32_t)below(clocks),
                            .place = IndexPlace(0, number * 128), .flags = BlockFlagSEALED};

  entry.last = entry.first + below(below(100) == 0 ? span : span / 1000 + 1);
  if (below(1000) == 0) {
    entry.last = entry.first;
    entry.flags = 0;
  }
  return entry;
}

static TheIndex sortedIndex;

static uint64_t fineOf(const IndexEntryStruct *entry, uint64_t ticks)
{
  return ClockFine(ClockResolve(sortedIndex->table->stream[entry->stream]->process->clock), ticks);
}

static int sorted(const void *a, const void *b)
{
  uint64_t x = fineOf(a, ((const IndexEntryStruct *)a)->first), y = fineOf(b, ((const IndexEntryStruct *)b)->first);

  return x != y ? (x < y ? -1 : 1) : IndexCompare(a, b);
}

/* passIs -- does the pass from `from` on have what a linear walk has, if it leaps to `leap` before entry `at`? */
static Bool passIs(TheIndex index, const IndexEntryStruct *entries, Count count, uint64_t from, Index at, uint64_t leap)
{
  IndexPassStruct pass;
  const IndexEntryStruct *entry;
  uint64_t fine;
  Index i;
  Bool same = IndexPassBegin(&pass, index, from) == ResOK;

  for (i = 0; i < count && same; ++i) {
    if (i == at && leap > from) {
      same = IndexPassLeap(&pass, leap) == ResOK;
      from = leap;
    }
    if ((entries[i].flags & BlockFlagSEALED) != 0 && fineOf(&entries[i], entries[i].last) < from)
      continue;
    entry = IndexNow(&pass, &fine);
    same = entry != NULL && memcmp(entry, &entries[i], sizeof *entry) == 0 && fine == fineOf(entry, entry->first) &&
           IndexAdvance(&pass) == ResOK;
  }
  same = same && IndexNow(&pass, &fine) == NULL;
  IndexPassEnd(&pass);
  return same;
}

static Bool indexIs(Count count, uint64_t span)
{
  TableStruct table;
  IndexStruct index;
  IndexEntryStruct *entries = calloc(count + 1, sizeof *entries);
  Bool same = TRUE;
  uint64_t i;

  aTable(&table);
  IndexInit(&index, &table);
  sortedIndex = &index;
  for (i = 0; i < count; ++i) {
    entries[i] = anEntry(i, span);
    same = same && IndexAdd(&index, &entries[i]) == ResOK;
    ClockSee(table.stream[entries[i].stream]->process->clock, entries[i].first, entries[i].last);
  }
  (void)TableFit(&table);
  same = same && IndexEnd(&index) == ResOK && IndexCheck(&index);
  qsort(entries, count, sizeof *entries, sorted);
  same = same && passIs(&index, entries, count, 0, count, 0);
  for (i = 0; i < froms && same; ++i) {
    const IndexEntryStruct *some = &entries[count > 0 ? below(count) : 0];
    uint64_t time = fineOf(some, below(2) ? some->first : some->last), from = time + below(3) - (time > 0);
    same = passIs(&index, entries, count, from, count, 0) &&
           passIs(&index, entries, count, below(from + 1), below(count + 1), from);
  }
  same = same && passIs(&index, entries, count, UINT64_MAX, count, 0);
  IndexFree(&index);
  TableFree(&table);
  free(entries);
  return same;
}

int main(void)
{
  static const Count counts[] = {0, 1, 63, 64, 65, 129, 4096, 4097, 20000};
  Bool same = TRUE;
  Index i;

  state = TapSeed() | 1;
  for (i = 0; i < ARRAY_LENGTH(counts); ++i)
    TapOk(indexIs(counts[i], 1000000),
          "%zu blocks: from any time on, and behind a leap, a pass has those that a walk finds", counts[i]);
  for (i = 0; i < 300 && same; ++i)
    same = indexIs(below(400), 1 + below(10000));
  TapOk(same, "so it is in 300 indexes of up to 400 blocks, many of them of the same time");
  TapOk(indexIs(3 * IndexRunMAX + 1000 + below(IndexRunMAX), 100000000),
        "so it is where runs were spilled to a file");
  return TapDone();
}
