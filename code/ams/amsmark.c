/* amsmark.c -- marking: a bounded stack of what is to be scanned, and rescanning where it was full
 *
 * What is on the stack is the first byte of an object, plus amsMarkLARGE where that has a segment of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .mark      Tests: test/ams/amstest.c, test/ams/graphtest.c
 */
#include "ams/amsdata.h"

#include <string.h>

#include "base/aver.h"

enum {
  amsMarkBATCH = 32,    /* objects that are fetched into the cache at a time, and then scanned */
  amsMarkOBJECTS = 512, /* that AMSMarkSome scans, */
  amsMarkREFS = 2048    /* or so many references; the last batch may exceed either */
};

#define amsMarkLARGE 1 /* no object has an odd address */

static __attribute__((noinline, cold)) void amsMarkOverflow(AMS ams, Word base)
{
  AMSSeg seg = (AMSSeg)SegOfAddr((const void *)base);

  ++ams->stats.overflows;
  if (!seg->rescan) {
    seg->rescan = TRUE;
    RingInsertBefore(&ams->rescan, &seg->rescanRing);
  }
}

/* amsMarkTell -- emit that a reference was fixed; later if threads are stopped, as far as there is room */
static __attribute__((noinline, cold)) void amsMarkTell(AMS ams, Word base, Bool marks)
{
  base &= ~(Word)amsMarkLARGE;
  if (!ams->stopped)
    EVENT_PAU(RefFix, AMSPool(ams), (Addr)base, marks);
  else if (ams->fixedCount < AMSFixedMAX)
    ams->fixed[ams->fixedCount++] = base | (Word)marks;
}

void AMSMarkFixedTell(AMS ams)
{
  Index i;

  for (i = 0; i < ams->fixedCount; ++i)
    EVENT_PAU(RefFix, AMSPool(ams), (Addr)(ams->fixed[i] & ~(Word)1), ams->fixed[i] & 1);
  ams->fixedCount = 0;
}

/* amsMark -- mark an object, and queue it
 *
 * base  its first byte, plus amsMarkLARGE where it has a segment of its own
 * word  that its mark is in
 */
static inline void amsMark(AMS ams, Word base, Word *word)
{
  Word bit = (Word)1 << (base >> ams->shift) % WORD_WIDTH, was = *word;

  if (EVENT_WANTED(EventKindRef))
    amsMarkTell(ams, base, (was & bit) == 0);
  if ((was & bit) != 0)
    return;
  __atomic_store_n(word, was | bit, __ATOMIC_RELAXED);
  if (LIKELY(ams->queueCount < ams->queueMax))
    ams->queue[ams->queueCount++] = (Addr)base;
  else
    amsMarkOverflow(ams, base);
}

/* amsMarkAcross -- may a reference and the header before it lie in two grains?  Then it is either that of an object
 * which is a header only and ends its segment, or that of another pool's object, which begins the next one. */
static inline Bool amsMarkAcross(AMS ams, Word base)
{
  Size header = ams->format.headerSize;

  return ((base + header) & (ArenaGrainSIZE - 1)) < header;
}

/* amsMarkWord -- where the mark of an exact reference is; NULL: it does not lead to an object of the pool */
static inline Word *amsMarkWord(AMS ams, Word *baseIO)
{
  Word base = *baseIO;
  AMSSide side = AMSSideOf(ams, base);
  uint8_t kind;

  if (UNLIKELY(amsMarkAcross(ams, base)) && AMSSegFind(ams, base) != (Addr)base)
    return NULL;
  if (UNLIKELY(side == NULL))
    return NULL;
  kind = side->kind[AMSSideGrain(base)];
  if (UNLIKELY(kind != AMSSegSMALL)) {
    if (kind != AMSSegLARGE)
      return NULL;
    *baseIO |= amsMarkLARGE;
  }
  return &side->mark[AMSSideUnit(ams, base) / WORD_WIDTH];
}

/* amsMarkPending -- mark what AMSFixAll has sent for; FALSE: nothing */
static Bool amsMarkPending(AMS ams)
{
  Count n = ams->pendingCount;
  Index i;

  ams->pendingCount = 0;
  for (i = 0; i < n; ++i)
    amsMark(ams, ams->pending[i].base, ams->pending[i].word);
  return n > 0;
}

void AMSFixAll(AMSScan scan)
{
  AMS ams = RING_ELT(AMSStruct, scan, scan);
  AMSPendingStruct fetched[AMSLineMAX];
  Count n = 0;
  Index i;

  for (i = 0; i < scan->count; ++i) {
    Word base = (Word)AMSBase(ams, scan->line[i]), *word = amsMarkWord(ams, &base);
    fetched[n] = (AMSPendingStruct){ base, word };
    if (word != NULL) {
      __builtin_prefetch(word, 1);
      ++n;
    }
  }
  ams->refs += scan->count;
  scan->count = 0;
  (void)amsMarkPending(ams);
  memcpy(ams->pending, fetched, n * sizeof *fetched);
  ams->pendingCount = n;
}

Bool AMSIsMarked(AMS ams, Addr ref)
{
  Word base = (Word)AMSBase(ams, ref), *word = amsMarkWord(ams, &base);

  return word == NULL || (__atomic_load_n(word, __ATOMIC_RELAXED) >> (base >> ams->shift) % WORD_WIDTH & 1) != 0;
}

static void amsMarkAmbig(AMS ams, Word word)
{
  Addr base = AMSSegFind(ams, word);

  if (base != NULL)
    AMSFix(&ams->scan, AMSRef(ams, base));
}

void AMSFixAmbig(AMS ams, Word word)
{
  Size header = ams->format.headerSize;

  if (ChunkSlot((const void *)word) != ChunkSlotNONE)
    amsMarkAmbig(ams, word);
  /* An object that is a header only, perhaps at the end of a chunk. */
  if (header != 0 && ChunkSlot((const void *)(word - header)) != ChunkSlotNONE)
    amsMarkAmbig(ams, word - header);
}

__attribute__((no_sanitize("address", "thread"), noinline))
void AMSFixArea(AMS ams, Word base, Word limit)
{
  Size header = ams->format.headerSize;
  Word at;

  for (at = WordAlignUp(base, sizeof(Word)); at + sizeof(Word) <= limit; at += sizeof(Word)) {
    Word word = *(const volatile Word *)at;
    if (ChunkSlot((const void *)word) != ChunkSlotNONE || ChunkSlot((const void *)(word - header)) != ChunkSlotNONE)
      AMSFixAmbig(ams, word);
  }
}

static void amsMarkScan(AMS ams, Word base, Word from, Word limit)
{
  if (ams->format.scan != NULL)
    ams->format.scan(&ams->scan, AMSRef(ams, base), (Addr)from, (Addr)limit);
}

/* amsMarkPiece -- go on with a large object */
static void amsMarkPiece(AMS ams)
{
  Word limit = (Word)AMSBase(ams, ams->format.skip(AMSRef(ams, ams->piece)));
  Word to = limit - ams->pieceNext > AMSPieceSIZE ? ams->pieceNext + AMSPieceSIZE : limit;

  amsMarkScan(ams, (Word)ams->piece, ams->pieceNext, to);
  ams->pieceNext = to;
  if (to == limit)
    ams->piece = NULL;
}

static void amsMarkPieceBegin(AMS ams, Word base)
{
  AVER(ams->piece == NULL);
  ams->piece = (Addr)base;
  ams->pieceNext = base;
}

/* amsMarkRescan -- the queue was full: scan all that is marked in a segment */
static void amsMarkRescan(AMS ams, AMSSeg seg)
{
  const Word *object = AMSSegObject(ams, seg);
  Word base = (Word)SegBase(&seg->seg), bits;
  Count refs = ams->refs + ams->scan.count;
  Index w;

  RingRemove(&seg->rescanRing);
  seg->rescan = FALSE;
  if (seg->kind == AMSSegLARGE) {
    amsMarkPieceBegin(ams, base);
    return;
  }
  for (w = 0; w < ams->words; ++w)
    for (bits = seg->mark[w] & object[w]; bits != 0; bits &= bits - 1) {
      Word addr = base + ((w * WORD_WIDTH + (Word)__builtin_ctzll(bits)) << ams->shift);
      amsMarkScan(ams, addr, addr, addr + ArenaGrainSIZE);
    }
  EVENT_PWPWW(TraceScan, AMSPool(ams), ams->trace, &seg->seg, AMSScanSEG, ams->refs + ams->scan.count - refs);
  UNUSED(refs);
}

/* amsMarkFetch -- a batch from the queue, up to a large object, with which amsMarkPiece begins
 *
 * They are fetched into the cache in a loop that does nothing else, so that the processor has many of them under way
 * at a time: between two that are fetched one by one there are more instructions than it looks ahead. */
static Count amsMarkFetch(AMS ams, Word batch[])
{
  Count n;

  for (n = 0; n < amsMarkBATCH && ams->queueCount > 0 && ams->piece == NULL; ++n) {
    batch[n] = (Word)ams->queue[--ams->queueCount];
    if (UNLIKELY((batch[n] & amsMarkLARGE) != 0)) {
      amsMarkPieceBegin(ams, batch[n] - amsMarkLARGE);
      break;
    }
    __builtin_prefetch((const void *)batch[n]);
  }
  return n;
}

/* amsMarkFound -- mark all references that were found and still wait; FALSE: the queue stays empty */
static Bool amsMarkFound(AMS ams)
{
  if (ams->scan.count > 0)
    AMSFixAll(&ams->scan);
  (void)amsMarkPending(ams);
  return ams->queueCount > 0;
}

/* amsMarkQueue -- scan some of what is on the queue: a batch while the next one is being fetched
 *
 * Each object of a list leads to the next one only, so the queue is empty after each.  What was found is marked here
 * then: a round of AMSMarkSome for each object, with its looks at the clock, took three times as long as the list. */
static void amsMarkQueue(AMS ams)
{
  Word batch[2][amsMarkBATCH];
  Count before = ams->refs, objects = 0, count, ahead;
  Index i, k = 0;

  count = amsMarkFetch(ams, batch[0]);
  while (count > 0 && objects < amsMarkOBJECTS && ams->refs - before < amsMarkREFS) {
    ahead = amsMarkFetch(ams, batch[k ^ 1]);
    for (i = 0; i < count; ++i)
      amsMarkScan(ams, batch[k][i], batch[k][i], batch[k][i] + ArenaGrainSIZE);
    objects += count;
    if (ahead == 0 && ams->piece == NULL && amsMarkFound(ams))
      ahead = amsMarkFetch(ams, batch[k ^ 1]);
    count = ahead;
    k ^= 1;
  }
  for (i = 0; i < count; ++i) /* there is room (AMSCreate) */
    ams->queue[ams->queueCount++] = (Addr)batch[k][i];
}

Bool AMSMarkSome(AMS ams)
{
  if (ams->piece != NULL)
    amsMarkPiece(ams);
  else if (ams->queueCount > 0 || amsMarkFound(ams))
    amsMarkQueue(ams);
  else if (!RingIsSingle(&ams->rescan))
    amsMarkRescan(ams, RING_ELT(AMSSegStruct, rescanRing, ams->rescan.next));
  else
    return FALSE;
  return TRUE;
}
