/* sentcounts.c -- counts what this process has sent of each stream, for its last header block
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/sentcounts.h"

#include "emit/buffer.h"
#include "format/header.h"
#include "plinth/rawsyscall.h"

enum {
  sentMAX = 1 << 15,    /* streams, as many as a collector knows of one process */
  sentLines = 1024,     /* of one header block */
  sentNear = 4,         /* places for the streams of one thread, so that those of few threads share few pages */
  sentPage = 4096
};

typedef struct SentStruct {
  uint32_t key;         /* the stream's number + 1; 0: no entry */
  uint32_t ways;        /* bits: to which ways out blocks of it were offered */
  uint64_t next;        /* number of the block that comes next */
  uint64_t blocks;      /* that were sent, and the events in them */
  uint64_t events;
  uint64_t discarded;
  uint64_t lost;        /* of those that were discarded, how many are counted as lost, or told elsewhere */
} SentStruct, *Sent;

void SentPrepare(Process process)
{
  Sent none = NULL, table;
  Size size = WordAlignUp(sentMAX * sizeof(SentStruct), sentPage);

  if (__atomic_load_n(&process->sent, __ATOMIC_ACQUIRE) != NULL)
    return;
  table = RawMap(size, sentPage);
  if (table != NULL && !__atomic_compare_exchange_n(&process->sent, &none, table, FALSE, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_RELAXED))
    RawUnmap(table, size);
}

/* sentFind -- the stream's entry, made if it has none; NULL: there is no room */
static Sent sentFind(Process process, uint32_t stream)
{
  Sent table = __atomic_load_n(&process->sent, __ATOMIC_ACQUIRE);
  uint32_t key = stream + 1, had;
  Index i, at = (Index)(stream / StreamNumbers) * sentNear + stream % StreamNumbers;

  for (i = 0; table != NULL && i < sentMAX; ++i) {
    Sent sent = &table[(at + i) % sentMAX];
    had = __atomic_load_n(&sent->key, __ATOMIC_ACQUIRE);
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

void SentNote(Process process, BlockHeader block, unsigned ways)
{
  Sent sent = sentFind(process, block->stream);

  if (sent == NULL)
    return;
  (void)__atomic_fetch_or(&sent->ways, ways, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&sent->blocks, 1, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&sent->events, block->count, __ATOMIC_RELEASE);
  sentRaise(&sent->discarded, block->discarded);
  sentRaise(&sent->next, block->sequence + 1);
}

Bool SentIs(Process process, uint32_t stream, uint64_t sequence)
{
  Sent sent = sentFind(process, stream);

  return sent != NULL && __atomic_load_n(&sent->next, __ATOMIC_ACQUIRE) == sequence + 1;
}

uint64_t SentLost(Process process, uint32_t stream, uint64_t discarded)
{
  Sent sent = sentFind(process, stream);
  uint64_t known;

  if (sent == NULL)
    return 0;
  known = sent->discarded > sent->lost ? sent->discarded : sent->lost;
  sentRaise(&sent->lost, discarded);
  return discarded > known ? discarded - known : 0;
}

/* sentListed -- is a last header block for this way out to tell of an entry? */
static Bool sentListed(Process process, const SentStruct *sent, Index way)
{
  return __atomic_load_n(&sent->next, __ATOMIC_ACQUIRE) > 0 &&
         (way == ProcessPlinthsMAX || process->begun[way] == 0 ||
          (__atomic_load_n(&sent->ways, __ATOMIC_RELAXED) >> way & 1) != 0);
}

/* sentLine -- what is said of an entry, to which another thread may be adding.  What somebody else has sent, a collector
 * before it died for instance, was not counted. */
static HeaderStreamStruct sentLine(const SentStruct *sent)
{
  uint64_t next = __atomic_load_n(&sent->next, __ATOMIC_ACQUIRE);
  uint64_t events = __atomic_load_n(&sent->events, __ATOMIC_ACQUIRE);
  uint64_t blocks = __atomic_load_n(&sent->blocks, __ATOMIC_RELAXED); /* which are counted first, and read last */

  return (HeaderStreamStruct){__atomic_load_n(&sent->key, __ATOMIC_RELAXED) - 1, next,
                              blocks == next ? events : HeaderEventsUNKNOWN,
                              __atomic_load_n(&sent->discarded, __ATOMIC_RELAXED)};
}

Count SentStreams(Process process, Index way)
{
  Sent table = __atomic_load_n(&process->sent, __ATOMIC_ACQUIRE);
  Count count = 0;
  Index i;

  for (i = 0; table != NULL && i < sentMAX; ++i)
    count += sentListed(process, &table[i], way);
  return count;
}

Index SentWrite(Text text, Process process, Index way, Index from)
{
  Sent table = __atomic_load_n(&process->sent, __ATOMIC_ACQUIRE);
  Count lines = 0;

  for (; table != NULL && from < sentMAX; ++from) {
    Sent sent = &table[from];
    HeaderStreamStruct its = sentLine(sent);
    if (!sentListed(process, sent, way))
      continue;
    if (lines++ == sentLines)
      return from;
    HeaderStreamWrite(text, &its);
  }
  return 0;
}
