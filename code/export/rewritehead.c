/* rewritehead.c -- a log that is written again: its header blocks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "export/rewritehead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/aver.h"
#include "export/headertext.h"
#include "log/copies.h"

/* More than a header block may have, so that HeaderEnd finds one that is too long: 64 arguments, quoted, and a
 * registry. */
enum {
  headROOM = 256 * 1024 + 2 * HeaderMAX,
  headSTREAMS = 8192 /* of a closing header block: whatever the numbers are, they fit */
};

Res RewriteHeadsInit(RewriteHeads heads, Table table, Output out)
{
  heads->table = table;
  heads->out = out;
  if (getrandom(&heads->salt, sizeof heads->salt, GRND_NONBLOCK) != sizeof heads->salt)
    heads->salt = (uintptr_t)heads * 0x9e3779b97f4a7c15u;
  heads->salt |= heads->salt == 0;
  heads->head = calloc(table->processes + 1, sizeof *heads->head);
  heads->types = calloc(table->types.count + 1, sizeof *heads->types);
  heads->header = malloc(sizeof *heads->header);
  heads->room = malloc(headROOM);
  if (heads->head == NULL || heads->types == NULL || heads->header == NULL || heads->room == NULL)
    return ResMEMORY;
  AVER(RewriteHeadsCheck(heads));
  return ResOK;
}

Bool RewriteHeadsCheck(RewriteHeads heads)
{
  uint64_t written = OutputWritten(heads->out);
  Index i;

  for (i = 0; i < heads->table->processes; ++i)
    if (heads->head[i].since > (heads->head[i].headed ? written : 0))
      return FALSE;
  for (i = 0; i < heads->table->types.count; ++i)
    if (heads->types[i].since > written)
      return FALSE;
  return heads->salt != 0;
}

void RewriteHeadsFinish(RewriteHeads heads)
{
  free(heads->head);
  free(heads->types);
  free(heads->header);
  free(heads->room);
}

/* headOriginal -- the identity that a process had when it was recorded, so that a copy of a copy knows it, too; but
 * where another process of the traceset has that, the one that it has now.  So those of two processes differ. */
static uint64_t headOriginal(RewriteHeads heads, Process process)
{
  Header header = &process->public.header;
  uint64_t original = CopiesOriginal(header);

  return process->twice || TableProcessFind(heads->table, original) != NULL ? header->identity : original;
}

/* headIdentity -- what an identity is in the new log; 0, which is none, stays */
static uint64_t headIdentity(RewriteHeads heads, uint64_t identity)
{
  Process process = TableProcessFind(heads->table, identity);

  if (process != NULL)
    identity = headOriginal(heads, process);
  return identity == 0 ? 0 : identity != heads->salt ? identity ^ heads->salt : 1;
}

uint64_t RewriteHeadsIdentity(RewriteHeads heads, LogProcess process)
{
  return headIdentity(heads, process->header.identity);
}

/* headClock -- the relations that the reader fitted its line through, so that times come out the same */
static void headClock(Header header, const ClockStruct *clock)
{
  header->frequency = clock->frequency; /* which may be another process's */
  if (!clock->sync.known)
    return;
  header->syncs = 1;
  header->sync[0] = clock->sync.early;
  if (clock->fitTo.ticks > clock->sync.early.ticks) {
    header->syncs = 2;
    header->sync[1] = clock->fitTo;
  }
}

/* headText -- the text of a header block; *nameReturn is the name of its registry's lines, if it has them */
static Res headText(RegistryName nameReturn, Text text, Header header, Registry registry)
{
  const char *lines, *types;
  Size length;
  Res res;

  if (header->registry.length > 0) {
    HeaderBegin(text, header);
    return HeaderEnd(text);
  }
  res = LogHeaderText(text, header, registry);
  if (res != ResOK)
    return res;
  lines = LogHeaderLines(text, &length);
  types = HeaderTypes(lines, lines + length);
  *nameReturn = RegistryNameOf(types, (Size)(lines + length - types));
  return ResOK;
}

/* headHeader -- what a header block of a process says in the new log, in heads->header */
static Header headHeader(RewriteHeads heads, Process process, RegistryNameStruct registry)
{
  Header header = heads->header;

  *header = process->public.header;
  header->identity = RewriteHeadsIdentity(heads, &process->public);
  header->forked.identity = headIdentity(heads, header->forked.identity);
  header->widths.swapped = FALSE; /* the events are brought into our order */
  header->region[0] = '\0'; /* its blocks are in this log, as far as they are wanted */
  header->recording = 0; /* no block of it is in another log */
  header->begun = 0;     /* streams are numbered anew */
  header->alone = 0;
  header->lacks = 0;
  header->copy = heads->salt;
  header->processes = 0;
  header->lost = ProcessLost(process);
  header->open = 1;
  header->ended = FALSE;
  header->gone = 0;
  if (heads->later) {
    header->sent.first = UINT32_MAX;
    header->older = header->kept = header->forgotten = header->forgottenTo = 0;
  }
  if (header->forgotten > 0 && !ProcessOver(process)) { /* there may have been more */
    header->older = header->forgotten;
    header->kept = header->forgottenTo;
    header->forgotten = header->forgottenTo = 0;
  }
  if (heads->earlier) {
    header->sent.now = UINT32_MAX;
    header->stopped = 0;
  }
  header->registry = registry;
  headClock(header, ClockResolve(process->clock));
  return header;
}

/* headPut -- write the header block in heads->room, which may have turned out too long */
static void headPut(RewriteHeads heads, Text text, Res res)
{
  if (res == ResOK)
    OutputBytes(heads->out, text->base, TextLength(text));
  else
    OutputFail(heads->out, EFBIG);
}

void RewriteHeadsWrite(RewriteHeads heads, Process process)
{
  RewriteHead head = &heads->head[process->public.number];
  RewriteTypes types = &heads->types[process->types->number];
  Bool whole = types->name.length == 0 || OutputWritten(heads->out) - types->since > RewriteHeadEACH;
  Header header = headHeader(heads, process, whole ? (RegistryNameStruct){0} : types->name);
  TextStruct text;

  TextInit(&text, heads->room, headROOM);
  headPut(heads, &text, headText(&types->name, &text, header, process->public.registry));
  head->headed = TRUE;
  head->since = OutputWritten(heads->out);
  if (whole)
    types->since = head->since;
}

void RewriteHeadsBefore(RewriteHeads heads, Process process)
{
  RewriteHead head = &heads->head[process->public.number];

  if (!head->headed || OutputWritten(heads->out) - head->since > RewriteHeadEACH)
    RewriteHeadsWrite(heads, process);
}

void RewriteHeadsEnd(RewriteHeads heads)
{
  Table table = heads->table;
  Bool none = TRUE;
  Index i;

  AVER(RewriteHeadsCheck(heads));
  for (i = 0; i < table->types.count; ++i)
    heads->types[i].name.length = 0;
  for (i = 0; i < table->processes; ++i)
    none = none && !heads->head[i].headed;
  for (i = 0; i < table->processes; ++i)
    if (heads->head[i].headed || (none && table->process[i]->headed)) {
      heads->head[i].headed = TRUE;
      heads->processes += strcmp(table->process[i]->public.header.role, HeaderRoleCOLLECTOR) != 0;
      if (heads->types[table->process[i]->types->number].name.length == 0)
        RewriteHeadsWrite(heads, table->process[i]);
    }
}

void RewriteHeadsClose(RewriteHeads heads, Process process, HeaderStream stream, Count n)
{
  RegistryNameStruct registry = heads->types[process->types->number].name;
  RewriteHead its = &heads->head[process->public.number];
  Index i = 0;

  AVER(its->headed);
  do {
    Header header = headHeader(heads, process, registry);
    Index end = n - i < headSTREAMS ? n : i + headSTREAMS;
    TextStruct text;
    header->open = 0;
    header->ended = TRUE;
    header->lacks = heads->lacks;
    header->processes = heads->processes;
    header->lost = CountAdd(header->lost, its->lost);
    header->older += its->older;
    if (header->kept < its->kept)
      header->kept = its->kept;
    header->gone = process->public.header.gone;
    header->streams = n;
    TextInit(&text, heads->room, headROOM);
    HeaderBegin(&text, header);
    for (; i < end; ++i)
      HeaderStreamWrite(&text, &stream[i]);
    headPut(heads, &text, HeaderEnd(&text));
  } while (i < n && heads->out->failed == 0);
}
