/* sentcounts.c -- counts what this process has sent of each stream, for its last header block
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/send.h"

#include "base/aver.h"

enum {
  sentMAX = 1 << 15,    /* streams, as many as a collector knows of one process */
  sentLines = 1024,     /* of one header block */
  sentNear = 4          /* places for the streams of one thread, so that those of few threads share few pages */
};

void SentPrepare(Emitter emitter)
{
  Sent none = NULL, table;
  Size size = WordAlignUp(sentMAX * sizeof(SentStruct), RawPAGE);

  if (__atomic_load_n(&emitter->sent, __ATOMIC_ACQUIRE) != NULL)
    return;
  table = RawMap(size, RawPAGE);
  if (table != NULL && !__atomic_compare_exchange_n(&emitter->sent, &none, table, FALSE, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_RELAXED))
    RawUnmap(table, size);
}

/* sentAt -- where the search for a stream begins */
static Index sentAt(uint32_t stream)
{
  return ((Index)(stream / StreamNumbers) * sentNear + stream % StreamNumbers) % sentMAX;
}

/* sentLimit -- the entries from here on were never used */
static Index sentLimit(Emitter emitter)
{
  return __atomic_load_n(&emitter->sentLimit, __ATOMIC_ACQUIRE);
}

/* sentReach -- the entry `at` may be used from now on */
static void sentReach(Emitter emitter, Index at)
{
  Index limit = sentLimit(emitter);

  while (limit <= at && !__atomic_compare_exchange_n(&emitter->sentLimit, &limit, at + 1, FALSE, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_ACQUIRE))
    ;
}

Bool SentCheck(Emitter emitter)
{
  Sent table = __atomic_load_n(&emitter->sent, __ATOMIC_ACQUIRE);
  Index i, at, limit = sentLimit(emitter);

  if (limit > sentMAX)
    return FALSE;
  for (i = 0; table != NULL && i < limit; ++i) {
    uint32_t key = __atomic_load_n(&table[i].key, __ATOMIC_ACQUIRE);
    if (key == 0)
      continue;
    if (__atomic_load_n(&table[i].ways, __ATOMIC_RELAXED) >> EmitterPlinthsMAX != 0)
      return FALSE;
    for (at = sentAt(key - 1); at != i; at = (at + 1) % sentMAX) {
      uint32_t other = __atomic_load_n(&table[at].key, __ATOMIC_ACQUIRE);
      if (other == 0 || other == key)
        return FALSE;
    }
  }
  return TRUE;
}

/* sentFind -- the stream's entry, made if it has none; NULL: there is no room */
static Sent sentFind(Emitter emitter, uint32_t stream)
{
  Sent table = __atomic_load_n(&emitter->sent, __ATOMIC_ACQUIRE);
  uint32_t key = stream + 1, had;
  Index i, at = sentAt(stream);

  for (i = 0; table != NULL && i < sentMAX; ++i) {
    Sent sent = &table[(at + i) % sentMAX];
    had = __atomic_load_n(&sent->key, __ATOMIC_ACQUIRE);
    if (had == 0)
      sentReach(emitter, (at + i) % sentMAX);
    if (had == key || (had == 0 && (__atomic_compare_exchange_n(&sent->key, &had, key, FALSE, __ATOMIC_ACQ_REL,
                                                                __ATOMIC_ACQUIRE) || had == key)))
      return sent;
  }
  return NULL;
}

/* sentRaise -- make a number at least so large; another thread may send another block of the stream */
static void sentRaise(uint64_t *number, uint64_t least)
{
  uint64_t had = __atomic_load_n(number, __ATOMIC_RELAXED);

  while (had < least &&
         !__atomic_compare_exchange_n(number, &had, least, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    ;
}

void SentNote(Emitter emitter, BlockHeader block, unsigned ways)
{
  Sent sent = sentFind(emitter, block->stream);

  AVER(ways < 1u << EmitterPlinthsMAX);
  if (sent == NULL)
    return;
  (void)__atomic_fetch_or(&sent->ways, ways, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&sent->blocks, 1, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&sent->events, block->count, __ATOMIC_RELEASE);
  sentRaise(&sent->discarded, block->discarded);
  sentRaise(&sent->next, block->sequence + 1);
}

Bool SentIs(Emitter emitter, uint32_t stream, uint64_t sequence)
{
  Sent sent = sentFind(emitter, stream);

  return sent != NULL && __atomic_load_n(&sent->next, __ATOMIC_ACQUIRE) == sequence + 1;
}

uint64_t SentLost(Emitter emitter, uint32_t stream, uint64_t discarded)
{
  Sent sent = sentFind(emitter, stream);
  uint64_t known;

  if (sent == NULL)
    return 0;
  known = sent->discarded > sent->lost ? sent->discarded : sent->lost;
  sentRaise(&sent->lost, discarded);
  return discarded > known ? discarded - known : 0;
}

/* sentListed -- does a last header block for this way out report an entry? */
static Bool sentListed(Emitter emitter, const SentStruct *sent, Index way)
{
  return __atomic_load_n(&sent->next, __ATOMIC_ACQUIRE) > 0 &&
         (way == EmitterPlinthsMAX || emitter->begun[way] == 0 ||
          (__atomic_load_n(&sent->ways, __ATOMIC_RELAXED) >> way & 1) != 0);
}

/* sentLine -- the line of an entry, to which another thread may be adding.  Blocks that another process has sent, a
 * collector before it died for instance, were not counted. */
static HeaderStreamStruct sentLine(const SentStruct *sent)
{
  uint64_t next = __atomic_load_n(&sent->next, __ATOMIC_ACQUIRE);
  uint64_t events = __atomic_load_n(&sent->events, __ATOMIC_ACQUIRE);
  uint64_t blocks = __atomic_load_n(&sent->blocks, __ATOMIC_RELAXED); /* which are counted first, and read last */

  return (HeaderStreamStruct){__atomic_load_n(&sent->key, __ATOMIC_RELAXED) - 1, next,
                              blocks == next ? events : HeaderEventsUNKNOWN,
                              __atomic_load_n(&sent->discarded, __ATOMIC_RELAXED)};
}

Count SentStreams(Emitter emitter, Index way)
{
  Sent table = __atomic_load_n(&emitter->sent, __ATOMIC_ACQUIRE);
  Count count = 0;
  Index i, limit = sentLimit(emitter);

  AVER(way <= EmitterPlinthsMAX);
  for (i = 0; table != NULL && i < limit; ++i)
    count += sentListed(emitter, &table[i], way);
  return count;
}

Index SentWrite(Text text, Emitter emitter, Index way, Index from)
{
  Sent table = __atomic_load_n(&emitter->sent, __ATOMIC_ACQUIRE);
  Index limit = sentLimit(emitter);
  Count lines = 0;

  AVER(from < sentMAX);
  AVER(from > 0 || SentCheck(emitter));
  for (; table != NULL && from < limit; ++from) {
    Sent sent = &table[from];
    HeaderStreamStruct its = sentLine(sent);
    if (!sentListed(emitter, sent, way))
      continue;
    if (lines++ == sentLines)
      return from;
    HeaderStreamWrite(text, &its);
  }
  return 0;
}
