/* table.c -- who recorded: the processes and streams of a traceset
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "log/table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/aver.h"
#include "base/crc.h"
#include "base/grow.h"

/* ---- What should be there of a process's streams, as its closing header blocks say ---- */

static int endsCompare(const void *a, const void *b)
{
  const HeaderStreamStruct *x = a, *y = b;

  return x->stream != y->stream ? (x->stream < y->stream ? -1 : 1) : 0;
}

/* endsJoin -- two lines of one stream.  A number of events that somebody counted belongs to its number of blocks. */
static void endsJoin(HeaderStream to, const HeaderStreamStruct *from)
{
  if (from->blocks > to->blocks || (from->blocks == to->blocks && to->events == HeaderEventsUNKNOWN)) {
    to->blocks = from->blocks;
    to->events = from->events;
  } else if (from->blocks == to->blocks && from->events != HeaderEventsUNKNOWN && from->events > to->events) {
    to->events = from->events;
  }
  if (from->discarded > to->discarded)
    to->discarded = from->discarded;
}

void EndsSettle(Ends ends)
{
  Index i;
  Count kept = 0;

  if (ends->count > 0)
    qsort(ends->stream, ends->count, sizeof *ends->stream, endsCompare);
  for (i = 0; i < ends->count; ++i) {
    if (kept > 0 && ends->stream[kept - 1].stream == ends->stream[i].stream)
      endsJoin(&ends->stream[kept - 1], &ends->stream[i]);
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

static RegistryStruct tableNoTypes; /* of a process without header: knows no code */

static uint64_t tableHash(uint64_t a, uint64_t b)
{
  uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;

  return h ^ h >> 31;
}

/* tableSlotsGrow -- empty slots for `count` things and one more; the caller puts them in again if TRUE was returned */
static Res tableSlotsGrow(Bool *movedReturn, uint32_t **slots, Count *slotsCount, Count count)
{
  Count wanted = *slotsCount == 0 ? tableSlotsMIN : *slotsCount * 2;
  uint32_t *fresh;

  *movedReturn = FALSE;
  if ((count + 1) * 2 <= *slotsCount)
    return ResOK;
  fresh = calloc(wanted, sizeof *fresh);
  if (fresh == NULL)
    return ResMEMORY;
  free(*slots);
  *slots = fresh;
  *slotsCount = wanted;
  *movedReturn = TRUE;
  return ResOK;
}

static uint32_t *tableProcessSlot(Table table, uint64_t identity)
{
  Index i = (Index)tableHash(identity, 0) & (table->processSlots - 1);

  while (table->processSlot[i] != 0 &&
         table->process[table->processSlot[i] - 1]->public.header.identity != identity)
    i = (i + 1) & (table->processSlots - 1);
  return &table->processSlot[i];
}

static uint32_t *tableStreamSlot(Table table, uint64_t identity, uint32_t id)
{
  Index i = (Index)tableHash(identity, id + 1) & (table->streamSlots - 1);

  while (table->streamSlot[i] != 0) {
    Stream stream = table->stream[table->streamSlot[i] - 1];
    if (stream->id == id && stream->process->public.header.identity == identity)
      break;
    i = (i + 1) & (table->streamSlots - 1);
  }
  return &table->streamSlot[i];
}

static Res tableClock(Clock *clockReturn, Table table)
{
  Clock clock;

  if (!Grow(&table->clock, &table->clockRoom, table->clocks, sizeof *table->clock))
    return ResMEMORY;
  clock = calloc(1, sizeof *clock);
  if (clock == NULL)
    return ResMEMORY;
  ClockInit(clock, table->clocks);
  table->clock[table->clocks++] = clock;
  *clockReturn = clock;
  return ResOK;
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
  Process process = NULL;
  Clock clock;
  Bool moved;
  Index i;

  if (!Grow(&table->process, &table->processRoom, table->processes, sizeof *table->process) ||
      tableSlotsGrow(&moved, &table->processSlot, &table->processSlots, table->processes) != ResOK)
    return ResMEMORY;
  for (i = 0; moved && i < table->processes; ++i)
    *tableProcessSlot(table, table->process[i]->public.header.identity) = (uint32_t)i + 1;
  if (tableClock(&clock, table) != ResOK || (process = tableProcessRoom(table)) == NULL)
    return ResMEMORY;
  process->public.number = table->processes;
  process->public.header.identity = identity;
  process->public.registry = &tableNoTypes;
  process->clock = clock;
  *tableProcessSlot(table, identity) = (uint32_t)table->processes + 1;
  table->process[table->processes++] = process;
  *processReturn = process;
  return ResOK;
}

Process TableProcessFind(Table table, uint64_t identity)
{
  uint32_t number = table->processSlots != 0 ? *tableProcessSlot(table, identity) : 0;

  return number != 0 ? table->process[number - 1] : NULL;
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

static Res tableStreamMake(Stream *streamReturn, Table table, BlockHeader header)
{
  Stream stream;
  Process process;
  Bool moved;
  Index i;
  Res res = TableProcess(&process, table, header->process);

  if (res != ResOK || !Grow(&table->stream, &table->streamRoom, table->streams, sizeof *table->stream) ||
      tableSlotsGrow(&moved, &table->streamSlot, &table->streamSlots, table->streams) != ResOK)
    return ResMEMORY;
  for (i = 0; moved && i < table->streams; ++i)
    *tableStreamSlot(table, table->stream[i]->process->public.header.identity, table->stream[i]->id) = (uint32_t)i + 1;
  stream = calloc(1, sizeof *stream);
  if (stream == NULL)
    return ResMEMORY;
  stream->number = table->streams;
  stream->process = process;
  stream->id = header->stream;
  stream->thread = header->thread;
  stream->pid = process->pid = header->pid;
  stream->kind = header->kind;
  stream->unsent = (header->flags & BlockFlagUNSENT) != 0;
  *tableStreamSlot(table, header->process, header->stream) = (uint32_t)table->streams + 1;
  table->stream[table->streams++] = stream;
  *streamReturn = stream;
  return ResOK;
}

Stream TableStreamFind(Table table, uint64_t identity, uint32_t id)
{
  uint32_t number = table->streamSlots != 0 ? *tableStreamSlot(table, identity, id) : 0;

  return number != 0 ? table->stream[number - 1] : NULL;
}

Res TableStream(Stream *streamReturn, Table table, BlockHeader header)
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
  DroppedStruct dropped = to->dropped; /* whoever wrote the newest header may not know what was cut away */
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
  ClockSync(ClockResolve(process->clock), header);
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
    /* A clock of which nobody knows the wall time begins with the others. */
    if (seen && clock->synced && clock->real < origin)
      origin = clock->real;
    if (!seen && clock->synced && clock->real < unseen)
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

Bool TableCheck(Table table)
{
  Index i;

  AVER(table->processes * 2 <= table->processSlots || table->processes == 0);
  AVER(table->streams * 2 <= table->streamSlots || table->streams == 0);
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    AVER(process->public.number == i);
    AVER(process->headed == (process->types != NULL));
    AVER(!process->headed || process->public.registry == process->types->registry);
    AVER(!process->headed || process->public.header.widths.word == process->types->widths.word);
  }
  for (i = 0; i < table->streams; ++i) {
    AVER(table->stream[i]->number == i);
    AVER(TallyCheck(&table->stream[i]->tally));
  }
  return TRUE;
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
    TallyFree(&table->stream[i]->tally);
    free(table->stream[i]);
  }
  for (i = 0; i < table->clocks; ++i)
    free(table->clock[i]);
  free(table->process);
  free(table->stream);
  free(table->clock);
  free(table->streamSlot);
  free(table->processSlot);
  TypesFree(&table->types);
}

/* ---- How many processes of each recording there are in a log ---- */

static int censusCompare(const void *a, const void *b)
{
  const CensusOfStruct *x = a, *y = b;

  return x->recording != y->recording ? (x->recording < y->recording ? -1 : 1) : 0;
}

/* censusJoin -- those of one recording become one */
static void censusJoin(Census census)
{
  Count kept = 0;
  Index i;

  for (i = 0; i < census->count; ++i) {
    CensusOf of = &census->of[i], to = kept > 0 ? &census->of[kept - 1] : NULL;
    if (to == NULL || to->recording != of->recording) {
      census->of[kept++] = *of;
      continue;
    }
    to->there += of->there;
    if (of->said > to->said) {
      to->said = of->said;
      to->reporter = of->reporter;
    }
  }
  census->count = kept;
}

Res CensusTake(Census census, Table table)
{
  Index i;

  *census = (CensusStruct){0};
  census->of = malloc((table->processes + 1) * sizeof *census->of);
  if (census->of == NULL)
    return ResMEMORY;
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    Header header = &process->public.header;
    Bool one = process->headed && strcmp(header->role, HeaderRoleCOLLECTOR) != 0;
    census->moved += one && process->moved;
    census->of[census->count++] = (CensusOfStruct){header->recording != 0 ? header->recording : header->copy,
                                                   one && !process->moved,
                                                   header->ended ? header->processes : 0, process};
  }
  if (census->count > 0)
    qsort(census->of, census->count, sizeof *census->of, censusCompare);
  censusJoin(census);
  return ResOK;
}

void CensusFree(Census census)
{
  free(census->of);
}
