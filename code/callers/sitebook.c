/* sitebook.c -- what each site has allocated, has now, had at the peak, and left: what is rare
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/sitebook.h"

#include <stdlib.h>
#include <string.h>

enum { bookRowsMIN = 256 };

/* bookTake -- so many fewer */
static void bookTake(SiteSum sum, const SiteSumStruct *other)
{
  AVER(sum->bytes >= other->bytes && sum->objects >= other->objects);
  sum->bytes -= other->bytes;
  sum->objects -= other->objects;
}

Res SiteBookInit(SiteBook book)
{
  memset(book, 0, sizeof *book);
  book->stamp = 1;
  return SiteBookRoom(book, 1);
}

void SiteBookFinish(SiteBook book)
{
  free(book->row);
  free(book->more);
  memset(book, 0, sizeof *book);
}

Res SiteBookRoom(SiteBook book, Count count)
{
  Count capacity = book->capacity == 0 ? bookRowsMIN : book->capacity;
  SiteRow row;
  SiteMore more;

  if (count > book->capacity) { /* not by Grow: a row is aligned, and each has a SiteMore */
    while (capacity < count)
      capacity *= 2;
    if (posix_memalign((void **)&row, sizeof *row, capacity * sizeof *row) != 0)
      return ResMEMORY;
    if ((more = reallocarray(book->more, capacity, sizeof *more)) == NULL) {
      free(row);
      return ResMEMORY;
    }
    if (book->count > 0)
      memcpy(row, book->row, book->count * sizeof *row);
    memset(row + book->count, 0, (capacity - book->count) * sizeof *row);
    memset(more + book->count, 0, (capacity - book->count) * sizeof *more);
    free(book->row);
    book->row = row;
    book->more = more;
    book->capacity = capacity;
  }
  if (count > book->count)
    book->count = count;
  return ResOK;
}

void SiteBookTold(SiteBook book, uint32_t number, uint64_t size, uint64_t time)
{
  SiteSumStruct one = {.bytes = size, .objects = 1};

  SiteBookMany(book, number, &one);
  SiteBookPeak(book, time);
}

void SiteBookUntold(SiteBook book, uint32_t number, uint64_t size)
{
  SiteSumStruct one = {.bytes = size, .objects = 1};

  bookTake(&book->more[number].told, &one);
  SiteBookFree(book, number, size, FALSE);
}

void SiteBookResize(SiteBook book, uint32_t from, uint32_t to, uint64_t old, uint64_t size, uint64_t time)
{
  SiteRow before = siteBookChange(book, from), after = siteBookChange(book, to);

  AVER_CRITICAL(before->live.objects > 0 && before->live.bytes >= old);
  before->live.bytes -= old;
  --before->live.objects;
  after->live.bytes += size;
  ++after->live.objects;
  after->allocated.bytes += size > old ? size - old : 0;
  ++book->more[to].resizes;
  ++book->more[from].away;
  book->live.bytes += size - old;
  siteBookPeak(book, time);
}

void SiteBookMany(SiteBook book, uint32_t number, const SiteSumStruct *sum)
{
  SiteSumAdd(&siteBookChange(book, number)->live, sum);
  SiteSumAdd(&book->more[number].told, sum);
  SiteSumAdd(&book->live, sum);
}

void SiteBookLeave(SiteBook book, uint32_t number)
{
  SiteRow row = siteBookChange(book, number);

  SiteSumAdd(&book->more[number].left, &row->live);
  bookTake(&book->live, &row->live);
  row->live = (SiteSumStruct){0};
}

void SiteBookReturn(SiteBook book, uint32_t number)
{
  SiteRow row = siteBookChange(book, number);
  SiteSum left = &book->more[number].left;

  SiteSumAdd(&row->live, left);
  SiteSumAdd(&book->live, left);
  *left = (SiteSumStruct){0};
}

void SiteBookPeak(SiteBook book, uint64_t time)
{
  siteBookPeak(book, time);
}

SiteSumStruct SiteBookAtPeak(SiteBook book, uint32_t number)
{
  SiteRow row = &book->row[number];

  return row->stamp == book->stamp ? row->peak : row->live;
}

SiteSumStruct SiteBookLeft(SiteBook book, uint32_t number)
{
  SiteSumStruct sum = book->row[number].live;

  SiteSumAdd(&sum, &book->more[number].left);
  return sum;
}

Bool SiteBookCheck(SiteBook book)
{
  uint64_t bytes = 0, objects = 0, peakBytes = 0, peakObjects = 0;
  uint32_t i;

  for (i = 0; i < book->count; ++i) {
    SiteSumStruct peak = SiteBookAtPeak(book, i);
    if (book->row[i].stamp > book->stamp || book->row[i].temporary > book->row[i].allocated.objects)
      return FALSE;
    bytes += book->row[i].live.bytes;
    objects += book->row[i].live.objects;
    peakBytes += peak.bytes;
    peakObjects += peak.objects;
  }
  return bytes == book->live.bytes && objects == book->live.objects && peakBytes == book->peak.bytes &&
         peakObjects == book->peak.objects && book->count <= book->capacity;
}
