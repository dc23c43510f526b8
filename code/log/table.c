/* table.c -- who recorded: the processes and streams of a traceset
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "log/table.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/aver.h"
#include "base/crc.h"
#include "base/grow.h"
#include "log/scatter.h"

/* ---- What should be there of a process's streams, as its closing header blocks say ---- */

static int endsCompare(const void *a, const void *b)
{
  const HeaderStreamStruct *x = a, *y = b;

  return x->stream != y->stream ? (x->stream < y->stream ? -1 : 1) : 0;
}

void EndsSettle(Ends ends)
{
  Index i;
  Count kept = 0;

  if (ends->count > 0)
    qsort(ends->stream, ends->count, sizeof *ends->stream, endsCompare);
  for (i = 0; i < ends->count; ++i) {
    if (kept > 0 && ends->stream[kept - 1].stream == ends->stream[i].stream)
      HeaderStreamJoin(&ends->stream[kept - 1], &ends->stream[i]);
    else
      ends->stream[kept++] = ends->stream[i];
  }
  ends->count = kept;
}

Res EndsAdd(Ends ends, const HeaderStreamStruct *stream)
{
  if (ends->count == ends->capacity) {
    EndsSettle(ends);
    if (ends->count * 2 >= ends->capacity &&
        !Grow(&ends->stream, &ends->capacity, ends->capacity, sizeof *ends->stream))
      return ResMEMORY;
  }
  ends->stream[ends->count++] = *stream;
  return ResOK;
}

void EndsFree(Ends ends)
{
  free(ends->stream);
}

/* ---- Processes and streams ---- */

enum { tableSlotsMIN = 64 };
#define tableNONE UINT64_MAX /* the `id` of a process itself: streams' numbers are less */

static RegistryStruct tableNoTypes; /* of a process without header: knows no code */

static uint64_t tableHash(uint64_t a, uint64_t b)
{
  return ScatterMore(Scatter(b), a);
}

/* tableSlot -- where a process, or a stream of it, is in the hash, or would be */
static TableSlot tableSlot(Table table, uint64_t identity, uint64_t id)
{
  Index i = (Index)tableHash(identity, id + 1) & (table->slots - 1);

  AVER_CRITICAL(WordIsPowerOf2(table->slots));
  while (table->slot[i].thing != NULL && (table->slot[i].identity != identity || table->slot[i].id != id))
    i = (i + 1) & (table->slots - 1);
  return &table->slot[i];
}

static void *tableFind(Table table, uint64_t identity, uint64_t id)
{
  return table->slots > 0 ? tableSlot(table, identity, id)->thing : NULL;
}

/* tableGrow -- have room in the hash for one thing more; FALSE: no memory */
static Bool tableGrow(Table table)
{
  TableSlot old = table->slot, fresh;
  Count had = table->slots, slots = had == 0 ? tableSlotsMIN : had * 2;
  Index i;

  if ((table->processes + table->streams + 1) * 2 <= had)
    return TRUE;
  fresh = calloc(slots, sizeof *fresh);
  if (fresh == NULL)
    return FALSE;
  table->slot = fresh;
  table->slots = slots;
  for (i = 0; i < had; ++i)
    if (old[i].thing != NULL)
      *tableSlot(table, old[i].identity, old[i].id) = old[i];
  free(old);
  return TRUE;
}

/* tableClock -- one more clock; NULL: no memory */
static Clock tableClock(Table table)
{
  Clock clock = NULL;

  if (Grow(&table->clock, &table->clockRoom, table->clocks, sizeof *table->clock))
    clock = calloc(1, sizeof *clock);
  if (clock == NULL)
    return NULL;
  ClockInit(clock, table->clocks);
  return table->clock[table->clocks++] = clock;
}

/* tableProcessRoom -- room for one more process, zeroed, or NULL.  It is mapped: most of it is for arguments that most
 * do not have, and stays untouched. */
static Process tableProcessRoom(Table table)
{
  Process room;

  if (table->processes % TableSlabPROCESSES != 0)
    return table->process[table->processes - 1] + 1;
  room = mmap(NULL, TableSlabPROCESSES * sizeof *room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED ? room : NULL;
}

static Res tableProcessMake(Process *processReturn, Table table, uint64_t identity)
{
  Process process;
  Clock clock;

  if (!Grow(&table->process, &table->processRoom, table->processes, sizeof *table->process) || !tableGrow(table) ||
      (clock = tableClock(table)) == NULL || (process = tableProcessRoom(table)) == NULL)
    return ResMEMORY;
  process->public.number = table->processes;
  process->public.header.identity = identity;
  process->public.registry = &tableNoTypes;
  process->clock = clock;
  *tableSlot(table, identity, tableNONE) = (TableSlotStruct){identity, tableNONE, process};
  table->process[table->processes++] = process;
  *processReturn = process;
  return ResOK;
}

Bool TablePieceAdd(Table table, uint64_t place)
{
  if (table->pieces == TablePiecesMAX)
    return FALSE;
  table->piece[table->pieces++] = place;
  return TRUE;
}

Bool TablePieceHas(Table table, uint64_t place)
{
  Index i;

  for (i = 0; i < table->pieces && table->piece[i] != place; ++i)
    ;
  return i < table->pieces;
}

Process TableProcessFind(Table table, uint64_t identity)
{
  return tableFind(table, identity, tableNONE);
}

Res TableProcess(Process *processReturn, Table table, uint64_t identity)
{
  *processReturn = TableProcessFind(table, identity);
  return *processReturn != NULL ? ResOK : tableProcessMake(processReturn, table, identity);
}

void TableOrphan(Table table, uint64_t recording)
{
  Index i;

  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->public.header.recording == recording)
      table->process[i]->orphan = TRUE;
}

static Res tableStreamMake(LogStream *streamReturn, Table table, BlockHeader header)
{
  LogStream stream;
  Process process;
  Res res = TableProcess(&process, table, header->process);

  if (res != ResOK || !Grow(&table->stream, &table->streamRoom, table->streams, sizeof *table->stream) ||
      !tableGrow(table) || (stream = malloc(sizeof *stream)) == NULL)
    return ResMEMORY;
  process->pid = header->pid;
  *stream = (LogStreamStruct){.number = table->streams, .process = process, .id = header->stream, .thread = header->thread,
                           .pid = header->pid, .kind = header->kind,
                           .unsent = (header->flags & BlockFlagUNSENT) != 0, .previous = process->last};
  *(process->last != NULL ? &process->last->next : &process->first) = stream;
  process->last = stream;
  *tableSlot(table, header->process, header->stream) = (TableSlotStruct){header->process, header->stream, stream};
  table->stream[table->streams++] = stream;
  *streamReturn = stream;
  return ResOK;
}

LogStream TableStreamFind(Table table, uint64_t identity, uint32_t id)
{
  return tableFind(table, identity, id);
}

Res TableStream(LogStream *streamReturn, Table table, BlockHeader header)
{
  *streamReturn = TableStreamFind(table, header->process, header->stream);
  return *streamReturn != NULL ? ResOK : tableStreamMake(streamReturn, table, header);
}

/* tableHeaderCopy -- a header, but not the room its arguments do not use */
static void tableHeaderCopy(Header to, Header from)
{
  Count i, kept = from->arguments < HeaderArgumentsMAX ? from->arguments : HeaderArgumentsMAX;
  uint64_t forgotten = to->forgotten, forgottenTo = to->forgottenTo;
  char events[HeaderEventsSIZE]; /* a process that goes on without its collector does not know what that chose */
  DroppedStruct dropped = to->dropped; /* the writer of the newest header may not know what was cut away */
  uint32_t outer = to->inner != 0 ? to->pid : 0; /* which it does not know itself */
  Bool whole = to->widths.word != 0 && to->begun == 0; /* one of the logs has it from its beginning */

  memcpy(events, to->events, sizeof events);
  memcpy(to, from, offsetof(HeaderStruct, argument));
  if (to->events[0] == '\0')
    memcpy(to->events, events, sizeof events);
  for (i = 0; i < kept; ++i)
    strcpy(to->argument[i], from->argument[i]);
  HeaderForgotten(to, forgotten, forgottenTo);
  if (dropped.blocks > to->dropped.blocks)
    to->dropped = dropped;
  to->dropped.marked |= dropped.marked;
  if (whole)
    to->begun = 0;
  if (to->inner == 0)
    HeaderOutside(to, outer);
}

/* tableOffset -- ns by which a process's wall times are shifted: as its log's are that had its first header */
static int64_t tableOffset(Table table, Process process, Index file)
{
  if (process->headed)
    return ClockResolve(process->clock)->offset;
  if (table->offset == NULL)
    return 0;
  /* What was taken from memory comes as one more file. */
  return file < table->offsets ? table->offset[file] : table->offsets == 1 ? table->offset[0] : 0;
}

/* tableShift -- wall time, later by `offset`; what would be before 1970 or beyond all bounds stays there */
static uint64_t tableShift(uint64_t real, int64_t offset)
{
  uint64_t by = offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset;

  if (offset < 0)
    return real > by ? real - by : 0;
  return real < UINT64_MAX - by ? real + by : UINT64_MAX;
}

/* tableClockFor -- the clock that a header names, if another process has it already, shifted by as much; else the
 * process's own gets the name */
static void tableClockFor(Table table, Process process, Header header, int64_t offset)
{
  Clock own = ClockResolve(process->clock), clock, *slot;
  Bool named = header->boot[0] != '\0' && header->clock[0] != '\0';

  if (own->name[0] != '\0')
    return;
  slot = &table->clockSlot[Crc32c(0, header->boot, strlen(header->boot)) % TableSlotsCLOCKS];
  for (clock = named ? *slot : NULL; clock != NULL; clock = clock->below)
    if (strcmp(clock->boot, header->boot) == 0 && strcmp(clock->name, header->clock) == 0 && clock->offset == offset) {
      ClockJoin(own, clock);
      return;
    }
  own->offset = offset;
  strcpy(own->boot, header->boot);
  strcpy(own->name, header->clock[0] != '\0' ? header->clock : "?");
  if (named) {
    own->below = *slot;
    *slot = own;
  }
}

/* tableTypes -- a header's lines of the registry: what the process's types are now
 *
 * A name counts only where nothing was said before: so a short header costs no memory, whatever it names. */
static Res tableTypes(Table table, Process process, Header header, const char *text, Size length, Bool *malformed)
{
  Types named = NULL, from = process->types;

  if (from != NULL && from->parent == NULL && from->length == 0)
    from = NULL;
  if (from != NULL || length > 0)
    header->registry.length = 0;
  else if (header->registry.length > 0)
    named = TypesNamed(&table->types, &header->registry);
  if (named != NULL) {
    text = named->text;
    length = named->length;
    header->registry.length = 0;
  }
  table->awaited |= header->registry.length > 0;
  if (from != NULL && length == 0)
    return ResOK;
  return TypesFollow(&process->types, &table->types, from, header->widths, text, length, malformed);
}

Res TableRefer(Table table)
{
  Index i;
  Res res = ResOK;
  Bool malformed;

  if (!table->awaited || table->referred == table->types.count)
    return ResOK;
  table->awaited = FALSE;
  table->referred = table->types.count;
  for (i = 0; i < table->processes && res == ResOK; ++i) {
    Process process = table->process[i];
    if (process->public.header.registry.length == 0)
      continue;
    res = tableTypes(table, process, &process->public.header, "", 0, &malformed);
    process->public.registry = process->types->registry;
  }
  return res;
}

Res TableHeader(Table table, Header header, Index file, const char *body, Size length, Bool *newsReturn)
{
  const char *limit = body + length;
  Process process;
  int64_t offset;
  Bool malformed = FALSE;
  Index i;
  Res res = TableProcess(&process, table, header->identity);

  if (res != ResOK)
    return res;
  AVER(process->public.header.identity == header->identity);
  offset = tableOffset(table, process, file);
  for (i = 0; i < header->syncs; ++i)
    header->sync[i].real = tableShift(header->sync[i].real, offset);
  table->types.read += length;
  body = HeaderTypes(body, limit);
  res = tableTypes(table, process, header, body, (Size)(limit - body), &malformed);
  if (res != ResOK)
    return res;
  process->public.registry = process->types->registry;
  process->moved |= process->headed && (process->public.header.recording != header->recording ||
                                       process->public.header.copy != header->copy);
  tableHeaderCopy(&process->public.header, header);
  process->public.header.widths = process->types->widths;
  if (process->left) {
    process->public.header.sent.now = process->leftKinds;
    HeaderOutside(&process->public.header, process->leftPid);
  }
  process->headed = TRUE;
  process->file = file;
  if (offset != 0)
    process->public.header.boot[0] = '\0'; /* written again, it must not share a clock with those that are not
                                              shifted */
  tableClockFor(table, process, header, offset);
  process->ahead = ClockSync(ClockResolve(process->clock), header);
  *newsReturn = malformed && !process->ambiguous;
  process->ambiguous |= malformed;
  return ResOK;
}

/* tableBase -- where a fitted clock's line begins, as fine time */
static void tableBase(Clock clock, uint64_t origin)
{
  uint64_t ahead = clock->real > origin ? clock->real - origin : 0;

  clock->beyond = ahead > TableSpanMAX;
  clock->base = ((clock->beyond ? TableSpanMAX : ahead) << ClockFineSHIFT) + clock->fine;
}

uint64_t TableFit(Table table)
{
  uint64_t origin = UINT64_MAX, unseen = UINT64_MAX; /* unseen: of clocks without a block */
  Index i;

  for (i = 0; i < table->clocks; ++i) {
    Clock clock = table->clock[i];
    Bool seen = clock->min != UINT64_MAX;
    if (clock->alias != NULL)
      continue;
    ClockFit(clock);
    /* A clock whose wall time is not known begins with the others. */
    if (seen && clock->sync.known && clock->real < origin)
      origin = clock->real;
    if (!seen && clock->sync.known && clock->real < unseen)
      unseen = clock->real;
  }
  if (origin == UINT64_MAX)
    origin = unseen != UINT64_MAX ? unseen : 0;
  for (i = 0; i < table->clocks; ++i)
    if (table->clock[i]->alias == NULL)
      tableBase(table->clock[i], origin);
  return origin;
}

void TableFitNew(Table table, uint64_t origin)
{
  Index i;

  for (i = 0; i < table->clocks; ++i) {
    Clock clock = table->clock[i];
    if (clock->alias == NULL && !clock->fitted && clock->name[0] != '\0') {
      ClockFit(clock);
      tableBase(clock, origin);
    }
  }
}

/* tableProcessSound, tableStreamSound -- does what is known of one fit together? */
static Bool tableProcessSound(Table table, Index i)
{
  Process process = table->process[i];

  return process->public.number == i && process->headed == (process->types != NULL) &&
         TableProcessFind(table, process->public.header.identity) == process &&
         (!process->headed || (process->public.registry == process->types->registry &&
                               process->public.header.widths.word == process->types->widths.word));
}

static Bool tableStreamSound(Table table, Index i)
{
  LogStream stream = table->stream[i];

  return stream->number == i &&
         (stream->next != NULL ? stream->next->previous == stream && stream->next->number > i
                               : stream->process->last == stream) &&
         TableStreamFind(table, stream->process->public.header.identity, stream->id) == stream &&
         BlockRunsCheck(&stream->runs);
}

Bool TableCheck(Table table)
{
  Bool sound = (table->processes + table->streams) * 2 <= table->slots || table->processes == 0;
  Index i;

  for (i = 0; sound && i < table->processes; ++i)
    sound = tableProcessSound(table, i);
  for (i = 0; sound && i < table->streams; ++i)
    sound = tableStreamSound(table, i);
  for (i = 0; sound && i < table->clocks; ++i)
    sound = table->clock[i]->number == i && ClockCheck(table->clock[i]);
  return sound && TypesCheck(&table->types);
}

void TableFree(Table table)
{
  ProcessContrary contrary;
  Index i;

  for (i = 0; i < table->processes; ++i) {
    EndsFree(&table->process[i]->ends);
    while ((contrary = table->process[i]->contrary) != NULL) {
      table->process[i]->contrary = contrary->next;
      free(contrary);
    }
  }
  for (i = 0; i < table->processes; i += TableSlabPROCESSES)
    (void)munmap(table->process[i], TableSlabPROCESSES * sizeof *table->process[i]);
  for (i = 0; i < table->streams; ++i) {
    BlockRunsFree(&table->stream[i]->runs);
    free(table->stream[i]);
  }
  for (i = 0; i < table->clocks; ++i)
    free(table->clock[i]);
  free(table->process);
  free(table->stream);
  free(table->clock);
  free(table->slot);
  TypesFree(&table->types);
}
