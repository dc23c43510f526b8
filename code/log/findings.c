/* findings.c -- what scanning a log finds, in few bytes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"

void FindingsFree(Findings findings)
{
  free(findings->stream);
}

/* Numbers: seven bits a byte, the lowest first; differences with their sign in the lowest bit. */
static void findingsPutNumber(unsigned char **next, uint64_t n)
{
  for (; n >= 0x80; n >>= 7)
    *(*next)++ = (unsigned char)(n | 0x80);
  *(*next)++ = (unsigned char)n;
}

static void findingsPutDifference(unsigned char **next, uint64_t from, uint64_t to)
{
  uint64_t d = to - from;

  findingsPutNumber(next, d << 1 ^ (0 - (d >> 63)));
}

/* What is left to be read; an error sticks. */
typedef struct findingsTextStruct {
  const unsigned char *next, *limit;
  Bool wrong;
} findingsTextStruct, *FindingsText;

static unsigned findingsByte(FindingsText text)
{
  if (text->next < text->limit)
    return *text->next++;
  text->wrong = TRUE;
  return 0;
}

static uint64_t findingsNumber(FindingsText text, uint64_t max)
{
  uint64_t n = 0;
  unsigned shift, byte = 0x80;

  for (shift = 0; shift < 64 && (byte & 0x80) != 0; shift += 7) {
    byte = findingsByte(text);
    n |= (uint64_t)(byte & 0x7f) << shift;
  }
  if ((byte & 0x80) != 0 || n > max)
    text->wrong = TRUE;
  return text->wrong ? 0 : n;
}

static uint64_t findingsDifference(FindingsText text, uint64_t from)
{
  uint64_t n = findingsNumber(text, UINT64_MAX);

  return from + (n >> 1 ^ (0 - (n & 1)));
}

/* findingsStream -- the stream with a number, made if it is the next one; NULL: no memory */
static FindingsStream findingsStream(Findings findings, uint32_t number)
{
  AVER(number <= findings->streams);
  if (!Grow(&findings->stream, &findings->capacity, number, sizeof *findings->stream))
    return NULL;
  if (number == findings->streams)
    memset(&findings->stream[findings->streams++], 0, sizeof *findings->stream);
  return &findings->stream[number];
}

static Bool findingsIsOf(const FindingsStreamStruct *stream, const BlockHeaderStruct *header)
{
  return stream->process == header->process && stream->id == header->stream && stream->thread == header->thread &&
         stream->pid == header->pid && stream->kind == header->kind;
}

static void findingsPutStream(unsigned char **next, const BlockHeaderStruct *header)
{
  findingsPutNumber(next, header->process);
  findingsPutNumber(next, header->stream);
  findingsPutNumber(next, header->thread);
  findingsPutNumber(next, header->pid);
  *(*next)++ = header->kind;
}

/* findingsGo -- both sides: a finding is behind us */
static void findingsGo(Findings findings, const FindingStruct *finding, FindingsStream stream)
{
  const BlockHeaderStruct *header = &finding->header;

  findings->offset = finding->what == FindingDAMAGE ? finding->next : finding->offset + finding->size;
  findings->size = stream != NULL ? finding->size : 0;
  if (stream == NULL)
    return;
  findings->first = header->first;
  findings->mono = header->mono;
  *stream = (FindingsStreamStruct){header->process, header->stream, header->thread, header->pid, header->kind,
                                   header->sequence + 1, header->before + header->count, header->discarded};
}

static Res findingsPutBlock(Findings findings, unsigned char **next, const FindingStruct *finding)
{
  const BlockHeaderStruct *header = &finding->header;
  Bool met = finding->stream < findings->streams, fresh;
  FindingsStream stream = findingsStream(findings, finding->stream);

  if (stream == NULL)
    return ResMEMORY;
  fresh = !met || !findingsIsOf(stream, header);
  *(*next)++ = fresh ? FindingSTREAM : FindingBLOCK;
  findingsPutNumber(next, finding->stream);
  if (fresh)
    findingsPutStream(next, header);
  *(*next)++ = header->flags;
  findingsPutNumber(next, finding->size);
  findingsPutNumber(next, header->count);
  findingsPutDifference(next, stream->sequence, header->sequence);
  findingsPutDifference(next, stream->before, header->before);
  findingsPutDifference(next, stream->discarded, header->discarded);
  findingsPutDifference(next, findings->first, header->first);
  findingsPutDifference(next, header->first, header->last);
  findingsPutDifference(next, findings->mono, header->mono);
  findingsGo(findings, finding, stream);
  return ResOK;
}

Res FindingsPut(Findings findings, unsigned char **next, const FindingStruct *finding)
{
  AVER(finding->offset == findings->offset);
  if (finding->what == FindingBLOCK)
    return findingsPutBlock(findings, next, finding);
  *(*next)++ = (unsigned char)finding->what;
  if (finding->what == FindingDAMAGE)
    findingsPutDifference(next, finding->offset, finding->next);
  else
    findingsPutNumber(next, finding->size);
  findingsGo(findings, finding, NULL);
  return ResOK;
}

static Res findingsGetBlock(Findings findings, FindingsText text, Finding finding, Bool fresh)
{
  BlockHeader header = &finding->header;
  FindingsStream stream;

  finding->stream = (uint32_t)findingsNumber(text, fresh ? findings->streams : findings->streams - 1);
  if (text->wrong || (!fresh && findings->streams == 0))
    return ResFORMAT;
  stream = findingsStream(findings, finding->stream);
  if (stream == NULL)
    return ResMEMORY;
  header->process = fresh ? findingsNumber(text, UINT64_MAX) : stream->process;
  header->stream = fresh ? (uint32_t)findingsNumber(text, UINT32_MAX) : stream->id;
  header->thread = fresh ? (uint32_t)findingsNumber(text, UINT32_MAX) : stream->thread;
  header->pid = fresh ? (uint32_t)findingsNumber(text, UINT32_MAX) : stream->pid;
  header->kind = fresh ? (uint8_t)findingsByte(text) : stream->kind;
  header->flags = (uint8_t)findingsByte(text);
  finding->size = findingsNumber(text, UINT32_MAX);
  header->count = (uint32_t)findingsNumber(text, BlockMAX / EventALIGN);
  header->sequence = findingsDifference(text, stream->sequence);
  header->before = findingsDifference(text, stream->before);
  header->discarded = findingsDifference(text, stream->discarded);
  header->first = findingsDifference(text, findings->first);
  header->last = findingsDifference(text, header->first);
  header->mono = findingsDifference(text, findings->mono);
  if (text->wrong || finding->size < BlockHeaderSIZE || header->last < header->first ||
      !BlockCountsSound(header))
    return ResFORMAT;
  finding->what = FindingBLOCK;
  findingsGo(findings, finding, stream);
  return ResOK;
}

/* findingsGetDamage -- it leads on, or back to within the block before */
static Bool findingsGetDamage(Findings findings, FindingsText text, Finding finding)
{
  finding->next = findingsDifference(text, finding->offset);
  return finding->next > finding->offset ||
         (finding->next < finding->offset && finding->offset - finding->next < findings->size);
}

static Res findingsGetOther(Findings findings, FindingsText text, Finding finding)
{
  Bool can;

  if (finding->what == FindingDAMAGE) {
    can = findingsGetDamage(findings, text, finding);
  } else {
    finding->size = findingsNumber(text, HeaderMAX);
    can = finding->what == FindingHEADER && finding->size > 0;
  }
  if (!can || text->wrong)
    return ResFORMAT;
  findingsGo(findings, finding, NULL);
  return ResOK;
}

Res FindingsGet(Findings findings, const unsigned char **next, const unsigned char *limit, Finding finding)
{
  findingsTextStruct text = {*next, limit, FALSE};
  Res res = ResFORMAT;

  memset(finding, 0, sizeof *finding);
  finding->what = findingsByte(&text);
  finding->offset = findings->offset;
  if (finding->what == FindingBLOCK || finding->what == FindingSTREAM)
    res = findingsGetBlock(findings, &text, finding, finding->what == FindingSTREAM);
  else
    res = findingsGetOther(findings, &text, finding);
  *next = text.next;
  return res;
}
