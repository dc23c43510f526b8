/* search.c -- tries the settings of allocators that matter, and keeps the best
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/search.h"

#include <stdlib.h>
#include <string.h>

/* What is tried, a name each as the user could give it.  A setting that a version of its allocator does not know is
 * ignored by it: then it is as good as none. */
static const char *const searchTried[] = {
  "libc:M_ARENA_MAX=1",
  "libc:M_ARENA_MAX=2",
  "libc:M_MMAP_THRESHOLD=65536",
  "libc:M_MMAP_THRESHOLD=33554432:M_TRIM_THRESHOLD=536870912",
  "libc:M_TRIM_THRESHOLD=65536",
  "libc:tcache_count=0",
  "libc:tcache_count=127",
  "libc:hugetlb=1",
  "jemalloc:narenas:1",
  "jemalloc:narenas:2",
  "jemalloc:dirty_decay_ms:0:muzzy_decay_ms:0",
  "jemalloc:dirty_decay_ms:1000",
  "jemalloc:dirty_decay_ms:-1",
  "jemalloc:tcache:false",
  "jemalloc:thp:always",
  "jemalloc:background_thread:true",
  "mimalloc:purge_delay=0:reset_delay=0",
  "mimalloc:purge_delay=1000:reset_delay=1000",
  "mimalloc:allow_large_os_pages=1:large_os_pages=1",
  "mimalloc:eager_commit_delay=4",
  "tcmalloc:aggressive_decommit=t",
  "tcmalloc:max_total_thread_cache_bytes=1048576",
  "tcmalloc:max_total_thread_cache_bytes=268435456",
  "tcmalloc:release_rate=10",
  "pawprint:Arena.spare=0",
  "pawprint:Arena.spare=8388608",
  "pawprint:Arena.spare=268435456",
  "pawprint:SGF.emptySlabs=0",
  "pawprint:SGF.emptySlabs=16",
  "pawprint:SGF.emptySlabs=64",
  "pawprint:MVFF.spare=0",
  "pawprint:MVFF.spare=1048576",
  "pawprint:MVFF.extendBy=16384",
  "pawprint:MVFF.extendBy=1048576",
  "pawprint:MFS.extendBy=4096",
  "pawprint:MFS.extendBy=1048576",
};

#define searchMARGIN 1.01 /* what differs by less is not told apart before the last round */

/* searchIs -- is the name that of the allocator, with settings? */
static Bool searchIs(const char *tried, const char *allocator)
{
  Size length = strlen(allocator);

  return strncmp(tried, allocator, length) == 0 && tried[length] == ':';
}

/* searchApplies -- does the setting change anything in a replay of this script? */
static Bool searchApplies(const char *tried, Script script)
{
  static const char *const of[][2] = {{"pawprint:SGF.", "SGF"}, {"pawprint:MVFF.", "MVFF"}, {"pawprint:MFS.", "MFS"}};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(of); ++i)
    if (strncmp(tried, of[i][0], strlen(of[i][0])) == 0)
      return ScriptHasPools(script, of[i][1]);
  return TRUE;
}

Res SearchAdd(Measure measure, Script script)
{
  char error[AllocatorErrorSIZE];
  Count asked = measure->count;
  Index i, j;

  for (i = 0; i < asked; ++i)
    for (j = 0; j < ARRAY_LENGTH(searchTried); ++j) {
      if (!searchIs(searchTried[j], measure->measured[i].allocator.name) || !searchApplies(searchTried[j], script))
        continue;
      if (measure->count == MeasureAllocatorsMAX - 1) /* one is left for what the program had */
        return ResLIMIT;
      if (AllocatorParse(&measure->measured[measure->count].allocator, searchTried[j], error) == ResOK)
        ++measure->count;
    }
  return ResOK;
}

/* ---- Who is better ---- */

/* searchSound -- has it run, and had all objects, as far as the reference had them? */
static Bool searchSound(const MeasureStruct *measure, Index i)
{
  return measure->measured[i].ran &&
         measure->measured[i].median.failures <= measure->measured[measure->reference].median.failures;
}

/* searchBeats -- does one take less of one, and no more of the other? */
static Bool searchBeats(const MeasuredStruct *this, const MeasuredStruct *that)
{
  double cpu = (double)this->median.cpu, peak = (double)this->median.peak;
  double thatCpu = (double)that->median.cpu, thatPeak = (double)that->median.peak;

  return cpu <= thatCpu && peak <= thatPeak && (cpu * searchMARGIN < thatCpu || peak * searchMARGIN < thatPeak);
}

/* A candidate, and how it stands among the others. */
typedef struct searchPlaceStruct {
  Index measured;
  Count beaten;  /* by so many */
  double sum;    /* of its time and its memory, each as a part of the reference's */
} searchPlaceStruct, *searchPlace;

static int searchCompare(const void *a, const void *b)
{
  const searchPlaceStruct *this = a, *that = b;

  if (this->beaten != that->beaten)
    return this->beaten < that->beaten ? -1 : 1;
  return this->sum != that->sum ? this->sum < that->sum ? -1 : 1 : this->measured < that->measured ? -1 : 1;
}

static double searchPart(uint64_t n, uint64_t of)
{
  return of == 0 ? 1 : (double)n / (double)of;
}

/* searchPlaces -- those that are sound but the reference, the best first; how many */
static Count searchPlaces(searchPlace place, const MeasureStruct *measure)
{
  const PlayResultStruct *reference = &measure->measured[measure->reference].median;
  Count count = 0;
  Index i, j;

  for (i = 0; i < measure->count; ++i) {
    const MeasuredStruct *measured = &measure->measured[i];
    if (!searchSound(measure, i) || i == measure->reference)
      continue;
    place[count] = (searchPlaceStruct){.measured = i, .sum = searchPart(measured->median.cpu, reference->cpu) +
                                                            searchPart(measured->median.peak, reference->peak)};
    for (j = 0; j < measure->count; ++j)
      place[count].beaten += searchSound(measure, j) && searchBeats(&measure->measured[j], measured);
    ++count;
  }
  qsort(place, count, sizeof *place, searchCompare);
  return count;
}

/* searchPlain -- the same allocator without settings, if it has run; else itself */
static Index searchPlain(const MeasureStruct *measure, Index this)
{
  Index i;

  for (i = 0; i < measure->count; ++i)
    if (measure->measured[i].ran && searchIs(measure->measured[this].allocator.name, measure->measured[i].allocator.name))
      return i;
  return this;
}

/* searchGains -- is it known to take less of something than the other? */
static Bool searchGains(const PredictStruct *predict, const MeasureStruct *measure, Bool ranges, Index this, Index that)
{
  const PlayResultStruct *its = &measure->measured[this].median, *others = &measure->measured[that].median;

  if (ranges)
    return PredictFaster(predict, measure, this, that) || PredictSmaller(predict, measure, this, that);
  return (double)its->cpu * searchMARGIN < (double)others->cpu || (double)its->peak * searchMARGIN < (double)others->peak;
}

Bool SearchBest(const PredictStruct *predict, const MeasureStruct *measure, Index this)
{
  Bool ranges = PredictPossible(predict, measure) == NULL, beaten = FALSE;
  Index that, plain = searchPlain(measure, this);

  if (!searchSound(measure, this) || (plain != this && !searchGains(predict, measure, ranges, this, plain)))
    return FALSE;
  for (that = 0; that < measure->count && !beaten; ++that) {
    if (that == this || !searchSound(measure, that))
      continue;
    if (!ranges)
      beaten = searchBeats(&measure->measured[that], &measure->measured[this]);
    else
      beaten = (PredictFaster(predict, measure, that, this) && !PredictSmaller(predict, measure, this, that)) ||
               (PredictSmaller(predict, measure, that, this) && !PredictFaster(predict, measure, this, that));
  }
  return !beaten;
}

/* ---- Halving ---- */

/* searchTake -- from here on only these are there: they are parsed again, because what was parsed cannot move */
static void searchTake(Measure measure, const char *const *name, Count count)
{
  char error[AllocatorErrorSIZE];
  Index i;

  measure->count = 0;
  for (i = 0; i < count; ++i)
    if (AllocatorParse(&measure->measured[measure->count].allocator, name[i], error) == ResOK)
      ++measure->count;
}

void SearchKeep(Measure measure, Count keep)
{
  searchPlaceStruct place[MeasureAllocatorsMAX];
  const char *name[MeasureAllocatorsMAX];
  Count left = searchPlaces(place, measure), kept = 0;
  Index i, j;

  for (i = 0; i < measure->count; ++i) { /* in the order in which they were */
    Bool stays = i == measure->reference;
    for (j = 0; j < left && j < keep; ++j)
      stays |= place[j].measured == i || searchPlain(measure, place[j].measured) == i;
    if (stays)
      name[kept++] = measure->measured[i].allocator.name;
  }
  searchTake(measure, name, kept);
}

/* searchStay -- how many stay for the next rounds, twice as many, if there is time for these and the last ones; else
 * for the last ones
 * took, left  seconds: that the newest rounds took, and that are left */
static Count searchStay(Count count, Count rounds, double took, double left)
{
  double last = took / (double)(count * rounds) * (SearchLAST + 1) * MeasureRunsMIN;

  return count / 2 > SearchLAST && took + last < left ? count / 2 : SearchLAST;
}

void SearchRun(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params,
               void (*say)(void *data, const char *name), void *data)
{
  static MeasureStruct known; /* before the newest dropped some */
  double begin = MeasureNow(), all = measure->seconds, stage;
  Bool fresh = FALSE; /* those that are left have run since */
  Count rounds, keep = 0;

  known.rounds = 0;
  measure->deadline = begin + all;
  for (rounds = 1; measure->count > SearchLAST + 1 && keep != SearchLAST; rounds *= 2) {
    if (rounds > 1 && MeasureOver(measure))
      break;
    stage = MeasureNow();
    measure->repeat = rounds;
    MeasureRun(measure, run, file, params, say, data);
    if (measure->partial)
      break;
    known = *measure;
    keep = searchStay(measure->count, rounds, MeasureNow() - stage, begin + all - MeasureNow());
    SearchKeep(measure, keep);
  }
  measure->repeat = 0;
  measure->seconds = begin + all - MeasureNow();
  if (known.rounds == 0 ? !measure->partial : !MeasureOver(measure)) {
    MeasureRun(measure, run, file, params, say, data);
    fresh = TRUE;
  }
  if (known.rounds > 0 && (measure->partial || !fresh || measure->rounds < known.rounds))
    *measure = known; /* rather all of what was known before */
  measure->seconds = all;
  measure->deadline = 0;
}
