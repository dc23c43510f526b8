/* headtest.c -- header blocks that name a registry instead of having its lines, read and written
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/rewrite.h"
#include "log/registryset.h"
#include "loglist.h"

enum { headPROCESSES = 40, headLINES = 5000 /* bytes of a registry's lines, at least */ };

/* headEvent -- append a block with one event */
static void headEvent(Make make, MakeProcess process, uint64_t time)
{
  MakeBlockBegin(&blocks[0], process, 20, EventKindObject, 0, time);
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, time, (uint64_t[]){7, time}, NULL);
  MakeBlockEnd(make, &blocks[0], BlockFlagSEALED);
}

/* headReadTwice -- read what was made; whether the only things told are `gaps` gaps, ends that are missing, and in
 * `twice` lines processes that are there twice; and how many processes share the first one's registry */
static Count headReadTwice(Make make, uint64_t gaps, uint64_t twice)
{
  LogRequestStruct request = LogRequestALL;
  LogSummaryStruct summary;
  Count sharing = 0;
  Index i;
  Log log;

  MakeWrite(make, path);
  log = testOpen(&got);
  if (log == NULL)
    return 0;
  LogSummarize(&summary, log);
  for (i = 0; i < summary.processes; ++i)
    sharing += LogProcessAt(log, i)->registry == LogProcessAt(log, 0)->registry;
  (void)testRead(log, &got, &request);
  LogSummarize(&summary, log);
  LogClose(log);
  return got.gaps == gaps && got.notes == summary.lacks + twice ? sharing : 0;
}

static Count headRead(Make make, uint64_t gaps)
{
  return headReadTwice(make, gaps, 0);
}

/* testNames -- one process has the lines, another the name */
static void testNames(void)
{
  MakeStruct make = {0};
  MakeProcess a = MakeProcessNew(10, 1), b = MakeProcessNew(11, 2);
  MakeProcess c = MakeProcessForeign(12, 3, 4, TRUE, EventRegistryTEXT);

  MakeHeader(&make, a);
  MakeHeaderNamed(&make, b);
  MakeHeaderNamed(&make, c);
  headEvent(&make, a, 10);
  headEvent(&make, b, 20);
  headEvent(&make, c, 30);
  TapIs(headRead(&make, 0), 2, "a header that names a registry which came before has it");
  TapOk(got.count == 3 && got.event[1].id == 20, "and the process's events are read");
  TapOk(got.count == 3 && got.event[2].id == 30, "also on a machine of other words and the other byte order");
  MakeFree(&make);

  MakeHeaderNamed(&make, a);
  headEvent(&make, a, 10);
  MakeHeaderNamed(&make, a);
  MakeHeader(&make, b);
  headEvent(&make, b, 20);
  TapIs(headRead(&make, 0), 2, "a registry that comes later serves those that named it before");
  TapIs(got.count, 2, "all events are read");
  MakeFree(&make);

  MakeHeaderNamed(&make, a);
  headEvent(&make, a, 10);
  b->registryText = "kind: 5 Object\n";
  MakeHeader(&make, b);
  TapOk(headRead(&make, 1) == 1 && got.lost == 1 && got.count == 0, "one that nobody has is told, with what is lost");
  TapOk(strstr(got.gap, "no header block has the registry of process 10") != NULL, "as what it is");
  MakeProcessFree(a);
  MakeProcessFree(b);
  MakeProcessFree(c);
  MakeFree(&make);
}

/* testOwn -- what a process said itself is not changed by a name */
static void testOwn(void)
{
  static const char other[] = "kind: 5 Object\nevent: 0x8000 Mine Object 1 PW a b\n";
  MakeStruct make = {0};
  MakeProcess a = MakeProcessNew(10, 1), b = MakeProcessForeign(11, 2, sizeof(Word), FALSE, other);

  MakeHeader(&make, a);
  MakeHeader(&make, b);
  b->registryText = EventRegistryTEXT;
  MakeHeaderNamed(&make, b);
  MakeBlockBegin(&blocks[0], b, 20, EventKindObject, 0, 10);
  (void)MakeEvent(&blocks[0], 0x8000, 10, (uint64_t[]){7, 77}, NULL);
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  TapIs(headRead(&make, 0), 1, "a name counts only where no lines came before");
  TapOk(got.count == 1 && got.event[0].id == 77, "the process's own are what it has");
  MakeProcessFree(a);
  MakeProcessFree(b);
  MakeFree(&make);
}

/* headRewrite -- write the log at `path` again, into `make` */
static Bool headRewrite(Make make)
{
  LogRequestStruct request = LogRequestALL;
  Log log = testOpen(&got);
  char again[] = "/tmp/headtestXXXXXX";
  int fd = mkstemp(again);
  static OutputStruct output;
  WriterOptionsStruct options;
  LogRewrite rewrite;
  unsigned char bytes[4096];
  ssize_t n;
  Bool done;

  OutputInit(&output, fd);
  options = (WriterOptionsStruct){.log = log, .output = &output};
  if (log == NULL || fd < 0 || LogRewriteCreate(&rewrite, &options) != ResOK)
    return FALSE;
  (void)unlink(again);
  request.event = LogRewriteEvent;
  request.data = rewrite;
  LogRewriteBegin(rewrite, UINT32_MAX);
  done = LogRead(log, &request) == ResOK && (LogRewriteEnd(rewrite), OutputFlush(&output));
  LogRewriteDestroy(rewrite);
  LogClose(log);
  (void)lseek(fd, 0, SEEK_SET);
  while ((n = read(fd, bytes, sizeof bytes)) > 0)
    MakeBytes(make, bytes, (Size)n);
  (void)close(fd);
  return done;
}

/* headNext -- where the next header block is, from `at` on; make->size if there is none */
static Size headNext(Make make, Size at)
{
  unsigned char *found = memmem(make->bytes + at, make->size - at, HeaderMAGIC, BlockMagicSIZE);

  return found == NULL ? make->size : (Size)(found - make->bytes);
}

/* testDamage -- of a log that was written again any header may be damaged */
static void testDamage(Make make)
{
  Count headers = 0, wrong = 0;
  Size at;

  for (at = headNext(make, 0); at < make->size; at = headNext(make, at + 1)) {
    make->bytes[at + 80] ^= 1;
    wrong += headRead(make, 1) != headPROCESSES || got.lost != 0 || listSame(&got, &made) != -1;
    make->bytes[at + 80] ^= 1;
    ++headers;
  }
  TapIs(headers, 2 * headPROCESSES + 1, "each process has two headers, and the registry two places");
  TapIs(wrong, 0, "whichever is damaged, no event is lost");
}

/* testRewrite -- processes of one program, written again */
static void testRewrite(void)
{
  MakeStruct make = {0}, again = {0};
  MakeProcess process[headPROCESSES];
  Index i;
  Size before;

  for (i = 0; i < headPROCESSES; ++i) {
    process[i] = MakeProcessNew((uint32_t)(10 + i), 1 + i);
    MakeHeader(&make, process[i]);
    headEvent(&make, process[i], 10 + i);
  }
  TapOk(headRead(&make, 0) == headPROCESSES && got.count == headPROCESSES,
        "processes of one program share its registry");
  made = got;
  before = make.size;
  TapOk(headRewrite(&again), "their log is written again");
  TapOk(headRead(&again, 0) == headPROCESSES && listSame(&got, &made) == -1, "and has the same events");
  TapOk(again.size < before - (headPROCESSES - 2) * (Size)headLINES,
        "most of its headers only name the registry: %zu bytes of %zu", again.size, before);
  testDamage(&again);
  before = headNext(&again, 1);
  again.size = headNext(&again, before + 1);
  TapIs(headRead(&again, 0), 2, "a piece from its beginning has what it needs");
  MakeBytes(&make, again.bytes, again.size);
  TapOk(headReadTwice(&make, 0, 1) == headPROCESSES + 2 && got.count == headPROCESSES,
        "so have two logs, one behind the other");
  TapOk(strstr(got.first, ": 2 processes (10 ...) are in it twice") != NULL, "which is told: %s", got.first);
  for (i = 0; i < headPROCESSES; ++i)
    MakeProcessFree(process[i]);
  MakeFree(&make);
  MakeFree(&again);
}

/* headFollow -- one more header with `text` for a process that has `from`; whether its lines were taken */
static Bool headFollow(TypesTree tree, Types *types, Types from, const char *text)
{
  WidthsStruct widths = {8, FALSE};
  Bool malformed;

  tree->read += 250 + strlen(text);
  return TypesFollow(types, tree, from, widths, text, strlen(text), &malformed) == ResOK && !malformed;
}

/* testMany -- short headers cannot take much memory, whatever they say; long ones have what they need */
static void testMany(void)
{
  enum { headMANY = 8000 };
  static TypesTreeStruct tree;
  static char text[sizeof EventRegistryTEXT + 80];
  Types first = NULL, types = NULL;
  Count taken = 0;
  Index i;

  for (i = 0; i < headMANY; ++i) {
    (void)snprintf(text, sizeof text, "%sevent: 0x8000 Mine%zu Object 1 P a\n", EventRegistryTEXT, i);
    taken += headFollow(&tree, i == 0 ? &first : &types, NULL, text);
  }
  TapIs(taken, headMANY, "thousands of programs with types of their own are read");
  TapOk(headFollow(&tree, &types, NULL, EventRegistryTEXT), "and one more");
  TypesFree(&tree);

  tree = (TypesTreeStruct){.newest = NULL};
  (void)headFollow(&tree, &first, NULL, EventRegistryTEXT);
  types = first;
  for (i = taken = 0; i < headMANY; ++i) { /* half of them one behind the other, half beside each other */
    (void)snprintf(text, sizeof text, "event: %zu Mine%zu Object 1 P a\n", 0x8000 + i % 2000, i);
    taken += headFollow(&tree, &types, i % 2 == 0 ? first : types, text);
  }
  TapOk(taken > 500 && taken < headMANY && tree.count == taken + 1, "of many short additions %zu are taken", taken);
  TapOk(tree.taken < tree.read * TypesFACTOR + TypesFREE + (2 << 20), "and %zu bytes by them", (Size)tree.taken);
  TapOk(headFollow(&tree, &types, NULL, EventRegistryTEXT) && types == first, "what is known is known all the same");
  for (i = 0; i < headMANY && !TypesFull(&tree); ++i) { /* some may find room beside the long one */
    (void)snprintf(text, sizeof text, "kind: 1 New%zu\n", i);
    (void)headFollow(&tree, &types, NULL, text);
  }
  TapOk(!headFollow(&tree, &types, NULL, "kind: 1 Newer\n") && types->registry->count == 0,
        "who has no types has none then");
  TypesFree(&tree);
}

/* testWidths -- a header that says other widths than the ones before */
static void testWidths(void)
{
  static TypesTreeStruct tree;
  WidthsStruct widths = {4, FALSE};
  Types eight, four;
  Bool malformed;

  (void)headFollow(&tree, &eight, NULL, "kind: 5 Object\nevent: 0x8000 Mine Object 1 PW a b\n");
  TapOk(TypesFollow(&four, &tree, eight, widths, "kind: 6 More\n", 13, &malformed) == ResOK && !malformed &&
        four->registry->kinds == 7 && RegistryCheck(four->registry) &&
        RegistryFind(four->registry, 0x8000)->offset[1] == 12 && RegistryFind(eight->registry, 0x8000)->offset[1] == 16,
        "types that were said with other widths are laid out anew");
  TypesFree(&tree);
}

int main(void)
{
  int fd = mkstemp(path);

  (void)close(fd);
  testNames();
  testOwn();
  testRewrite();
  testMany();
  testWidths();
  (void)unlink(path);
  return TapDone();
}
