/* scripttest.c -- a script and the player of one notice what is wrong with them; the contents of objects are checked
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It includes the files that it tests, to spoil what they keep to themselves.
 */
#include "replay/player.c"
#include "replay/script.c"

#include "replay/child.h"
#include "replay/contents.h"
#include "replay/report.h"

#include "tap.h"

static HeapPoolStruct pool = {.number = 0, .class = "malloc"};

/* add -- an operation of a thread on an object */
static void add(Script script, HeapOperationKind kind, Index by, HeapObject object)
{
  HeapOperationStruct operation = {.kind = kind, .time = 1, .pool = &pool, .object = object};

  ScriptAdd(script, &operation, by);
}

/* begin -- two threads; four objects, of which two live */
static Script begin(void)
{
  HeapObjectStruct object[4];
  Script script;
  Index i;

  if (ScriptCreate(&script, FALSE, 0) != ResOK)
    abort();
  memset(object, 0, sizeof object);
  for (i = 0; i < 4; ++i) {
    object[i].size = 100;
    add(script, HeapALLOC, i % 2, &object[i]);
  }
  add(script, HeapFREE, 0, &object[0]);
  add(script, HeapFREE, 0, &object[1]);
  return script;
}

static void testScript(void)
{
  Script script = begin();
  ScriptList list = scriptListAt(script, 0);

  TapOk(ScriptCheck(script), "a script passes its check");
  TapIs(script->header.crossings, 1, "one object was freed by another thread than allocated it");
  PLANT(script->tables.fd, -1, ScriptCheck(script), "that it has no file");
  PLANT(script->header.allocs, 3, ScriptCheck(script), "that allocations are not frees and live objects");
  PLANT(script->header.resizes, 1000, ScriptCheck(script), "that it has more operations than the lists have");
  PLANT(script->bytes, script->header.peakBytes + 1, ScriptCheck(script), "that more bytes live than at the peak");
  PLANT(script->header.peakObjects, 1, ScriptCheck(script), "that more objects live than at the peak");
  PLANT(script->queueHead, 4, ScriptCheck(script), "that the queue begins with a slot that is not there");
  PLANT(list->number, 1, ScriptCheck(script), "that a list has another's number");
  PLANT(list->count, ScriptChunkOPS + 1, ScriptCheck(script), "that a list has more than its chunk holds");
  PLANT(list->public.count, 1, ScriptCheck(script), "that it has fewer in all than in the chunk");
  PLANT(list->last, 7, ScriptCheck(script), "that its last chunk is not there");
  PLANT(list->public.chunk, 1, ScriptCheck(script), "that it has a first chunk and no last");
  PLANT(list->epoch, 3, ScriptCheck(script), "that it is in an epoch that has not begun");
  PLANT(list->stacked, 1, ScriptCheck(script), "that its chain of free slots is longer than it counts");
  PLANT(list->stacked, 3, ScriptCheck(script), "that its chain of free slots is shorter than it counts");
  PLANT(scriptSlotAt(script, list->stack)->next, list->stack, ScriptCheck(script),
        "that its chain of free slots goes round");
  TapOk(ScriptCheck(script), "mended, it passes again");
  TapIs(ScriptFinish(script), ResOK, "and can be finished");
  ScriptDestroy(script);
}

/* testTouches -- how much of a large object is touched becomes known after its allocation */
static void testTouches(void)
{
  HeapObjectStruct small = {.size = LargeSIZE - 1}, known = {.size = 8 * LargeSIZE}, unknown = known;
  HeapOperationStruct touch = {.kind = HeapTOUCH, .pool = &pool}, resize = {.kind = HeapRESIZE, .time = 1, .pool = &pool};
  const ScriptTouchStruct *touches;
  Script script;

  if (ScriptCreate(&script, FALSE, 0) != ResOK)
    abort();
  add(script, HeapALLOC, 0, &small);
  add(script, HeapALLOC, 0, &known);
  add(script, HeapALLOC, 0, &unknown);
  touch.object = &small, touch.size = 7;
  ScriptAdd(script, &touch, 0);
  touch.object = &known, touch.size = 4096;
  ScriptAdd(script, &touch, 0);
  known.size = 2 * LargeSIZE;
  resize.object = &known, resize.oldSize = 8 * LargeSIZE;
  ScriptAdd(script, &resize, 0);
  touch.size = 9 * LargeSIZE;
  ScriptAdd(script, &touch, 0);
  add(script, HeapFREE, 0, &known);
  known.size = LargeSIZE;
  add(script, HeapALLOC, 0, &known); /* in the slot of the one that went */
  touches = scriptAt(script, ScriptTOUCHES, ScriptTouchStruct, 0);
  TapIs(scriptCount(script, ScriptTOUCHES), 4, "each large object has a place, and a new one when it is resized");
  TapOk(touches[0].size == 8 * LargeSIZE && touches[0].touched == 4096, "what was touched of it is known");
  TapOk(touches[2].size == 2 * LargeSIZE && touches[2].touched == 2 * LargeSIZE,
        "after the resize again, and is not more than all");
  TapOk(touches[1].touched == ScriptTouchUNKNOWN && touches[3].touched == ScriptTouchUNKNOWN, "of the others it is not");
  TapIs(ScriptFinish(script), ResOK, "the script is finished");
  TapIs(script->header.peakUnknown, 9 * LargeSIZE, "and says of how much it is not known");
  TapIs(script->header.allocs + script->header.frees + script->header.resizes, script->header.operations,
        "touching is no operation");
  ScriptDestroy(script);
}

static void testPlay(void)
{
  Script script = begin();
  PlayParamsStruct params = {.fd = ScriptFile(script), .verify = TRUE};
  static PlayResultStruct result;
  Play play;

  TapIs(ScriptFinish(script), ResOK, "a script is finished");
  play = PlayLoad(&result, &params);
  if (!TapOk(play != NULL, "and loaded"))
    return;
  TapIs(PlayTableCount(play, ScriptTHREADS), 2, "with a list for each thread");
  TapIs(PlayTableCount(play, ScriptPOOLS), 1, "and the pool");
  TapOk(strcmp(((const ScriptPoolStruct *)PlayTable(play, ScriptPOOLS))->class, "malloc") == 0, "as it was");
  TapOk(PlayCheck(play), "it passes its check");
  PLANT(play->result, NULL, PlayCheck(play), "that it has no place for the result");
  PLANT(play->from, 1, PlayCheck(play), "that the tables are mapped from the middle of a page");
  PLANT(play->from, (uint64_t)1 << 40, PlayCheck(play), "that they are mapped from behind where they are");
  PLANT(play->completed, 9, PlayCheck(play), "that more epochs are over than there are");
  PLANT(play->verify.kept, NULL, PlayCheck(play), "that it cannot remember what is to be verified");
  PLANT(play->runners[1].play, NULL, PlayCheck(play), "that a thread does not know it");
  PLANT(play->runners[1].epoch, 9, PlayCheck(play), "that a thread is in an epoch that is not there");
  PLANT(play->runners[1].done, 100, PlayCheck(play), "that a thread has done more than it has to do");
  TapOk(PlayCheck(play), "mended, it passes again");
  ScriptDestroy(script);
}

/* testMemory -- a child that has more memory than it may have is ended; this program is its own child */
static void testMemory(void)
{
  HeapObjectStruct object = {.size = 64 << 20}, last = {.size = 1};
  HeapOperationStruct later = {.kind = HeapALLOC, .time = 400000001, .pool = &pool, .object = &last};
  AllocatorStruct libc = {.name = "libc", .kind = ReplayLIBC};
  PlayParamsStruct params = {.speed = 1, .touch = SIZE_MAX};
  Script script;
  ReplayRun run;
  int file;

  if (ScriptCreate(&script, TRUE, 1) != ResOK || (run = ReplayChildShare(&file)) == NULL)
    abort();
  add(script, HeapALLOC, 0, &object);
  ScriptAdd(script, &later, 0);
  TapIs(ScriptFinish(script), ResOK, "a script with a large object that lives for 0.4 s");
  params.fd = ScriptFile(script);
  TapOk(ReplayChildRun(run, file, &libc, &params), "runs, where there is no limit");
  params.memory = (uint64_t)1 << 40;
  TapOk(ReplayChildRun(run, file, &libc, &params), "and where there is enough");
  params.memory = 32 << 20;
  TapOk(!ReplayChildRun(run, file, &libc, &params) && strstr(run->result.message, "where 32 are available") != NULL,
        "and is ended where there is less: %s", run->result.message);
  ScriptDestroy(script);
}

/* spoil -- flip a byte of a filled object; is it found where it is, if at all? */
static Bool spoil(unsigned char *object, Size size, Size at, Bool found)
{
  Size bad = SIZE_MAX;
  Bool well;

  object[at] ^= 1;
  well = ContentsAre(&bad, object, size, size, 77);
  object[at] ^= 1;
  return found ? !well && bad == at : well;
}

static void testContents(void)
{
  const Size large = 3 * ContentsMAX + 5, sizes[] = {1, 7, 8, 9, 4096, ContentsMAX, ContentsMAX + 1, large};
  unsigned char *object = calloc(1, large);
  Size bad;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(sizes); ++i) {
    Size size = sizes[i];
    memset(object, 0, large);
    TapOk(ContentsZero(&bad, object, size), "an object of %zu bytes is zero", size);
    object[size - 1] = 1;
    TapOk(!ContentsZero(&bad, object, size) && bad == size - 1, "until its last byte is not");
    ContentsFill(object, size, 77);
    TapOk(ContentsAre(&bad, object, size, size, 77), "filled, it is as it was filled");
    TapOk(size < 3 || !ContentsAre(&bad, object, size, size, 78), "and not as another is");
    TapOk(spoil(object, size, 0, TRUE) && spoil(object, size, size - 1, TRUE), "a change is found at both ends");
  }
  TapOk(spoil(object, large, ContentsMAX / 2 - 1, TRUE), "the first half of what is checked ends here");
  TapOk(spoil(object, large, ContentsMAX / 2, FALSE), "and here nobody looks");
  TapOk(ContentsAre(&bad, object, ContentsMAX, large, 77), "a part of it can be checked");
  object[10] ^= 1;
  TapOk(ContentsAre(&bad, object, 10, large, 77) && !ContentsAre(&bad, object, 11, large, 77) && bad == 10,
        "to the byte");
  free(object);
}

static void testReport(void)
{
  static ReportStruct report = {
    .shown = 1, .measure = {.count = 1, .measured = {{.allocator = {.name = "libc", .kind = ReplayLIBC}}}}};
  Index i;

  for (i = 0; i < ReportReasonsMAX + 1; ++i)
    ReportReason(&report, "reason %zu", i);
  TapOk(ReportCheck(&report) && report.reasons == ReportReasonsMAX && strcmp(report.reason[1], "reason 1") == 0,
        "of too many reasons a report has the first, and passes its check");
  PLANT(report.shown, 2, ReportCheck(&report), "that it prints more allocators than it has");
  PLANT(report.reasons, ReportReasonsMAX + 1, ReportCheck(&report), "that it has more reasons than places");
  PLANT(report.measure.measured[0].allocator.name, NULL, ReportCheck(&report), "that an allocator has no name");
  PLANT(report.measure.measured[0].allocator.kind, ReplayLIBRARY + 1, ReportCheck(&report),
        "that an allocator is of no kind");
}

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], ReplayChildWORD) == 0)
    return ReplayChildMain(argc, argv);
  testScript();
  testTouches();
  testPlay();
  testMemory();
  testReport();
  testContents();
  return TapDone();
}
