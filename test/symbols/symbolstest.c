/* symbolstest.c -- files that are damaged: whatever they say, nothing is read that is not there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file is this program, which has debug information of its own functions.
 */
#include "symbols/symbols.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/dwarfdata.h"
#include "symbols/functable.h"
#include "symbols/perfmap.h"
#include "tap.h"

enum { roundsCOUNT = 60, askedCOUNT = 200, spellingsCOUNT = 400 };

static const char *const sections[] = {".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_str",
                                       ".debug_line_str", ".symtab", ".strtab", ".debug_addr", ".shstrtab"};

static unsigned char *whole;
static Size wholeSize;
static uint64_t asked[askedCOUNT];

static void load(void)
{
  int fd = open("/proc/self/exe", O_RDONLY);
  struct stat status;

  if (fd < 0 || fstat(fd, &status) != 0 || (whole = malloc((Size)status.st_size)) == NULL ||
      read(fd, whole, (Size)status.st_size) != status.st_size) {
    printf("Bail out! this program cannot be read\n");
    exit(1);
  }
  wholeSize = (Size)status.st_size;
  (void)close(fd);
}

/* ask -- look all addresses up in a file; returns how many frames there were */
static Count ask(const char *path, Bool *soundReturn)
{
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  SymbolsModuleStruct module = {.path = path};
  Symbols symbols;
  Count n = 0;
  Index i, f;

  *soundReturn = TRUE;
  if (SymbolsCreate(&symbols, NULL, NULL) != ResOK)
    return 0;
  for (i = 0; i < askedCOUNT; ++i) {
    Count count = SymbolsFind(symbols, &module, asked[i], FALSE, frames, SymbolsFramesMAX);
    for (f = 0; f < count; ++f)
      n += 1 + (frames[f].function != NULL && strlen(frames[f].function) > 1 << 20) +
           (frames[f].file != NULL && strlen(frames[f].file) > 1 << 20); /* their ends are met */
    *soundReturn = *soundReturn && count <= SymbolsFramesMAX;
  }
  SymbolsDestroy(symbols);
  return n;
}

static int fileOf(char *path, const unsigned char *bytes, Size size)
{
  int fd = memfd_create("symbols", MFD_CLOEXEC);

  if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
    printf("Bail out! no file in memory\n");
    exit(1);
  }
  (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
  return fd;
}

/* self -- the whole file; the addresses that are asked for are those of its functions */
static void testSelf(uint64_t *state)
{
  FuncTableStruct table = {.func = NULL};
  ObjectFile object;
  Dwarf dwarf = NULL;
  Bool sound;
  Index i;

  TapIs(ObjectOpen(&object, "/proc/self/exe", NULL), ResOK, "this program is an object file");
  TapOk(ObjectCheck(object) && FuncTableAdd(&table, object), "its tables are read");
  FuncTableSort(&table);
  TapOk(FuncCheck(&table) && table.count > 100, "it has %zu functions", table.count);
  for (i = 0; i < askedCOUNT; ++i) {
    Func func = &table.func[TapRandom(state) % table.count];
    asked[i] = func->address + (func->size > 0 ? TapRandom(state) % func->size : 0) - object->begin;
  }
  asked[0] = (uint64_t)(uintptr_t)0;
  TapOk(DwarfOpen(&dwarf, object, object, NULL) == ResOK && dwarf != NULL && DwarfCheck(dwarf), "so is its debug information");
  PLANT(dwarf->spent, dwarf->budget + 1, DwarfCheck(dwarf), "more decoded than may be");
  PLANT(dwarf->range[0].unit, (uint32_t)dwarf->units, DwarfCheck(dwarf), "a unit that is not there");
  PLANT(dwarf->unit[0].limit, dwarf->section[DwarfINFO].size + 1, DwarfCheck(dwarf), "a unit that is too long");
  PLANT(object->section[1].head.size, object->elf.size + 1, ObjectCheck(object), "a section that is not in the file");
  PLANT(table.func[1].address, 0, FuncCheck(&table), "functions out of order");
  DwarfClose(dwarf);
  FuncTableFinish(&table);
  ObjectClose(object);
  TapOk(ask("/proc/self/exe", &sound) >= askedCOUNT - 1 && sound, "every function is found");
}

/* testUnlined -- where lines are not wanted the functions are the same, in the same order, and have no files */
static void testUnlined(void)
{
  SymbolsFrameStruct frames[2][SymbolsFramesMAX];
  SymbolsModuleStruct module = {.path = "/proc/self/exe"};
  Symbols symbols[2];
  Count count[2], differ = 0, files[2] = {0, 0};
  Index i, f, which;

  if (SymbolsCreate(&symbols[0], NULL, NULL) != ResOK || SymbolsCreate(&symbols[1], NULL, NULL) != ResOK)
    return;
  SymbolsUnlined(symbols[1]);
  for (i = 0; i < askedCOUNT; ++i) {
    for (which = 0; which < 2; ++which) {
      count[which] = SymbolsFind(symbols[which], &module, asked[i], FALSE, frames[which], SymbolsFramesMAX);
      for (f = 0; f < count[which]; ++f)
        files[which] += frames[which][f].file != NULL;
    }
    differ += count[0] != count[1];
    for (f = 0; f < count[0] && f < count[1]; ++f)
      differ += (frames[0][f].function == NULL) != (frames[1][f].function == NULL) ||
                frames[0][f].inlined != frames[1][f].inlined ||
                (frames[0][f].function != NULL && strcmp(frames[0][f].function, frames[1][f].function) != 0);
  }
  TapIs(differ, 0, "without lines every function is the same");
  TapOk(files[0] > 0 && files[1] == 0, "and has no file: %zu have one else", files[0]);
  SymbolsDestroy(symbols[0]);
  SymbolsDestroy(symbols[1]);
}

/* testDamaged -- bytes are changed, in sections that are read more often than elsewhere, or the end is missing */
static void testDamaged(uint64_t *state)
{
  unsigned char *damaged = malloc(wholeSize);
  ObjectFile object;
  Count frames = 0, unsound = 0;
  Index round, i;

  if (damaged == NULL || ObjectOpen(&object, "/proc/self/exe", NULL) != ResOK)
    return;
  for (round = 0; round < roundsCOUNT; ++round) {
    ObjectSection section = ObjectNamed(object, sections[round % ARRAY_LENGTH(sections)]);
    Size size = TapRandom(state) % 8 == 0 ? TapRandom(state) % wholeSize : wholeSize;
    Count changes = 1 + TapRandom(state) % 400;
    char path[32];
    Bool sound;
    int fd;
    memcpy(damaged, whole, wholeSize);
    for (i = 0; i < changes; ++i) {
      Size at = section != NULL && section->head.size > 0
                  ? section->head.offset + TapRandom(state) % section->head.size : TapRandom(state) % 4096;
      damaged[at] = TapRandom(state) % 3 == 0 ? 0xff : (unsigned char)TapRandom(state);
    }
    fd = fileOf(path, damaged, size);
    frames += ask(path, &sound);
    unsound += !sound;
    (void)close(fd);
  }
  ObjectClose(object);
  free(damaged);
  TapOk(unsound == 0 && frames > 0, "%d damaged files are read, to no harm: %zu frames", roundsCOUNT, frames);
}

/* longest -- bytes of the longest name that is found in the whole file, where all bytes of a section but its last are
 * the same */
static Size longest(const char *name)
{
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  char path[32];
  SymbolsModuleStruct module = {.path = path};
  unsigned char *filled = malloc(wholeSize);
  ObjectFile object;
  ObjectSection section;
  Symbols symbols;
  Size most = 0;
  Index i, f;
  int fd;

  if (filled == NULL || ObjectOpen(&object, "/proc/self/exe", NULL) != ResOK || SymbolsCreate(&symbols, NULL, NULL) != ResOK)
    return 0;
  memcpy(filled, whole, wholeSize);
  section = ObjectNamed(object, name);
  if (section != NULL && section->head.size > 1)
    memset(filled + section->head.offset, 'x', section->head.size - 1);
  ObjectClose(object);
  fd = fileOf(path, filled, wholeSize);
  for (i = 0; i < askedCOUNT; ++i) {
    Count count = SymbolsFind(symbols, &module, asked[i], FALSE, frames, SymbolsFramesMAX);
    for (f = 0; f < count; ++f) {
      Size length = frames[f].function == NULL ? 0 : strlen(frames[f].function);
      most = length > most ? length : most;
    }
  }
  SymbolsDestroy(symbols);
  (void)close(fd);
  free(filled);
  return most;
}

/* testLong -- names that overlap: a table of n bytes may have n names with n bytes in the mean */
static void testLong(void)
{
  static unsigned char bytes[2 * ObjectStringMAX];
  Size symbols = longest(".strtab"), debug = longest(".debug_str");

  memset(bytes, 'x', sizeof bytes - 1);
  TapOk(symbols > 0 && symbols < DemangleMAX, "a name of the symbol table is cut: it has %zu bytes", symbols);
  TapOk(debug > 0 && debug < DemangleMAX, "so is one of the debug information: %zu bytes", debug);
  TapOk(ObjectString(bytes, sizeof bytes, 0) == NULL && ObjectString(bytes, sizeof bytes, sizeof bytes) == NULL &&
          ObjectString(NULL, 0, 0) == NULL,
        "what has no end in reach is no string");
  TapOk(ObjectString(bytes, sizeof bytes, sizeof bytes - ObjectStringMAX) != NULL, "one that just has is one");
}

static void testReader(void)
{
  static const unsigned char bytes[] = {0x01, 0x02, 0x03, 0xe5, 0x8e, 0x26, 0x7f, 'a', '\0', 'b', 0x80};
  ReaderStruct reader = ReaderOf(bytes, sizeof bytes, 0, FALSE), other = ReaderOf(bytes, sizeof bytes, 0, TRUE);

  TapOk(ReaderUnsigned(&reader, 3) + ReaderUnsigned(&other, 3) == 0x030201 + 0x010203, "three bytes in both orders");
  TapIs(ReaderUleb(&reader), 624485, "an unsigned number of several bytes");
  TapIs(ReaderSleb(&reader), (uint64_t)-1, "a signed one");
  TapOk(strcmp(ReaderString(&reader), "a") == 0 && !reader.failed, "a string");
  TapOk(ReaderString(&reader) == NULL && reader.failed && ReaderLeft(&reader) == 0 && ReaderU8(&reader) == 0 &&
          ReaderUleb(&reader) == 0,
        "one without an end fails, and all that follows");
  reader = ReaderOf(bytes, sizeof bytes, sizeof bytes - 1, FALSE);
  TapOk(ReaderUleb(&reader) == 0 && reader.failed, "so does a number without an end");
  reader = ReaderOf(bytes, sizeof bytes, sizeof bytes + 1, FALSE);
  TapOk(reader.failed && ReaderLeft(&reader) == 0, "and what begins behind the end");
}

static void testPerfMap(void)
{
  char folder[] = "/tmp/symbolstestXXXXXX", path[64], link[64];
  static const char lines[] = "1000 100 one\nnonsense\n1100 10 two three\n1000 80 later\n2000 0 empty\n3000 10 cut";
  PerfMap map;
  int fd;

  if (mkdtemp(folder) == NULL)
    return;
  (void)snprintf(path, sizeof path, "%s/perf-77.map", folder);
  (void)snprintf(link, sizeof link, "%s/perf-78.map", folder);
  fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  TapOk(write(fd, lines, sizeof lines - 1) == sizeof lines - 1 && close(fd) == 0 && symlink(path, link) == 0,
        "a map is written");
  TapOk(PerfMapOpen(&map, folder, 77, 0) == ResOK && map != NULL, "it is read");
  TapOk(strcmp(PerfMapFind(map, 0x1010), "later") == 0, "what was written later stands for what was there before");
  TapOk(strcmp(PerfMapFind(map, 0x1090), "one") == 0 && strcmp(PerfMapFind(map, 0x110f), "two three") == 0,
        "functions have their ranges, and their names may have spaces");
  TapOk(PerfMapFind(map, 0xfff) == NULL && PerfMapFind(map, 0x1110) == NULL && PerfMapFind(map, 0x3000) == NULL &&
          PerfMapFind(map, 0x2000) == NULL,
        "elsewhere is none");
  PerfMapClose(map);
  TapOk(PerfMapOpen(&map, folder, 78, 0) == ResOK && map == NULL, "a link is not followed");
  TapOk(PerfMapOpen(&map, folder, 77, INT64_MAX) == ResOK && map == NULL, "one that is too old is not believed");
  TapOk(PerfMapOpen(&map, folder, 79, 0) == ResOK && map == NULL, "nor is one that is not there");
  (void)unlink(path);
  (void)unlink(link);
  (void)rmdir(folder);
}

/* testLater -- names behind one at which c++filt fails */
static void testLater(const char *folder, const char *saved)
{
  static const char *const later[] = {"read a; head -c 9000 /dev/zero | tr '\\0' x; echo; read a; echo later",
                                      "mkdir \"$0.once\" && exit; read a; echo later"};
  char path[64], once[80], room[DemangleMAX];
  Index i;

  (void)snprintf(path, sizeof path, "%s/c++filt", folder);
  (void)snprintf(once, sizeof once, "%s.once", path);
  for (i = 0; i < ARRAY_LENGTH(later); ++i) {
    DemanglerStruct demangler = {.tried = FALSE};
    FILE *out = fopen(path, "w");
    Bool first;
    if (out == NULL)
      return;
    fprintf(out, "#!/bin/sh\nPATH='%s'\n%s\n", saved, later[i]);
    (void)fclose(out);
    (void)chmod(path, 0700);
    first = strcmp(Demangle(room, &demangler, "_ZN4Pool3getEm"), "_ZN4Pool3getEm") == 0;
    TapOk(first && strcmp(Demangle(room, &demangler, "_Z3putv"), "later") == 0, "'%s': the next name is asked for",
          later[i]);
    DemangleFinish(&demangler);
  }
  (void)rmdir(once);
}

/* testDear -- names that take long, though each is answered: the rest stay as they are */
static void testDear(const char *folder, const char *saved)
{
  char path[64], room[DemangleMAX];
  DemanglerStruct demangler = {.tried = FALSE};
  FILE *out;
  Count answered = 0;
  Index i;

  (void)snprintf(path, sizeof path, "%s/c++filt", folder);
  out = fopen(path, "w");
  if (out == NULL)
    return;
  fprintf(out, "#!/bin/sh\nPATH='%s'\nwhile read a; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo named; done\n",
          saved);
  (void)fclose(out);
  (void)chmod(path, 0700);
  for (i = 0; i < 500; ++i)
    answered += strcmp(Demangle(room, &demangler, "_ZN4Pool3getEm"), "named") == 0;
  TapOk(answered > 1 && answered < 400, "names that take long have a bound in all: %zu of 500", answered);
  DemangleFinish(&demangler);
}

/* testDemangle -- c++filt, and programs of its name that do not behave */
static void testDemangle(void)
{
  static const char *const bad[] = {"exit 0", "exec sleep 0", "read a; echo", "read a; head -c 9000 /dev/zero | tr '\\0' x",
                                    "read a; printf short"};
  char folder[] = "/tmp/symbolstestXXXXXX", path[64], room[DemangleMAX], saved[4096];
  DemanglerStruct demangler = {.tried = FALSE};
  Index i;

  (void)snprintf(saved, sizeof saved, "%s", getenv("PATH") != NULL ? getenv("PATH") : "");
  if (system("command -v c++filt > /dev/null 2>&1") == 0) {
    TapOk(strcmp(Demangle(room, &demangler, "_ZN4Pool3getEm"), "Pool::get") == 0, "a name of C++ is written as in C++");
    TapOk(strcmp(Demangle(room, &demangler, "_ZN"), "_ZN") == 0, "what looks like one stays");
    TapOk(strcmp(Demangle(room, &demangler, "main"), "main") == 0, "so does another");
    TapOk(strcmp(Demangle(room, &demangler, "_ZN1\n2"), "_ZN1\n2") == 0, "and one of two lines");
  } else {
    TapOk(TRUE, "# SKIP c++filt is not installed");
  }
  DemangleFinish(&demangler);
  if (mkdtemp(folder) == NULL)
    return;
  (void)setenv("PATH", folder, 1);
  demangler = (DemanglerStruct){.tried = FALSE};
  TapOk(strcmp(Demangle(room, &demangler, "_ZN4Pool3getEm"), "_ZN4Pool3getEm") == 0, "without c++filt all names stay");
  DemangleFinish(&demangler);
  (void)snprintf(path, sizeof path, "%s/c++filt", folder);
  for (i = 0; i < ARRAY_LENGTH(bad); ++i) {
    FILE *out = fopen(path, "w");
    const char *got;
    if (out == NULL)
      return;
    fprintf(out, "#!/bin/sh\nPATH='%s'\n%s\n", saved, bad[i]);
    (void)fclose(out);
    (void)chmod(path, 0700);
    demangler = (DemanglerStruct){.tried = FALSE};
    got = Demangle(room, &demangler, "_ZN4Pool3getEm");
    TapOk(strcmp(got, "_ZN4Pool3getEm") == 0, "'%s' is no c++filt, and nobody waits for it", bad[i]);
    DemangleFinish(&demangler);
  }
  testLater(folder, saved);
  testDear(folder, saved);
  (void)setenv("PATH", saved, 1);
  (void)unlink(path);
  (void)rmdir(folder);
}

/* testOpened -- what the kernel makes as it is read is not opened */
static void testOpened(void)
{
  int fd = ObjectOpenRegular("/proc/self/exe", 0);

  TapOk(fd >= 0, "a regular file is opened, also by a link in /proc");
  close(fd);
  TapOk(ObjectOpenRegular("/proc/self/status", 0) == -1 && errno == EINVAL, "a file of /proc is not");
}

/* ---- What is open together ---- */

static Count descriptors(void)
{
  DIR *folder = opendir("/proc/self/fd");
  Count n = 0;

  while (folder != NULL && readdir(folder) != NULL)
    ++n;
  if (folder != NULL)
    (void)closedir(folder);
  return n;
}

/* testSame -- a file is opened once, whatever it is called */
static void testSame(void)
{
  SymbolsFrameStruct one[SymbolsFramesMAX], other[SymbolsFramesMAX];
  char path[spellingsCOUNT + 32];
  SymbolsModuleStruct module = {.path = "/proc/self/exe"};
  Count before, n, differ = 0;
  Symbols symbols;
  Index i;

  if (SymbolsCreate(&symbols, NULL, NULL) != ResOK)
    return;
  n = SymbolsFind(symbols, &module, asked[1], FALSE, one, SymbolsFramesMAX);
  before = descriptors();
  module.path = path;
  for (i = 1; i <= spellingsCOUNT; ++i) {
    memset(path, '/', i);
    (void)snprintf(path + i, sizeof path - i, "/proc/self/exe");
    differ += SymbolsFind(symbols, &module, asked[1], FALSE, other, SymbolsFramesMAX) != n || n == 0 ||
              other[n - 1].function != one[n - 1].function;
  }
  TapIs(descriptors() - before, 0, "%d spellings of a path open a file once", spellingsCOUNT);
  TapIs(differ, 0, "and find the same in it");
  SymbolsDestroy(symbols);
}

/* testYoung -- without a build id a file is not believed if it is younger than the module; each load is judged for
 * itself */
static void testYoung(void)
{
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  SymbolsModuleStruct late = {.path = "/proc/self/exe", .loaded = UINT64_MAX}, early = late;
  Symbols symbols;

  early.loaded = 1000000000;
  if (SymbolsCreate(&symbols, NULL, NULL) != ResOK)
    return;
  TapOk(SymbolsFind(symbols, &late, asked[1], FALSE, frames, SymbolsFramesMAX) > 0,
        "a file older than a load is the module");
  TapIs(SymbolsFind(symbols, &early, asked[1], FALSE, frames, SymbolsFramesMAX), 0, "for another load it is too young");
  TapOk(SymbolsFind(symbols, &late, asked[1], FALSE, frames, SymbolsFramesMAX) > 0, "but still not for the first");
  SymbolsDestroy(symbols);
}

/* testRoom -- a section that does not fit is left out, and fits when another file was closed */
static void testRoom(void)
{
  ObjectRoomStruct room = {.files = 2, .bytes = 1 << 20}, full = {.files = 1};
  ObjectFile object, other;
  Size size;

  TapIs(ObjectOpen(&object, "/proc/self/exe", &full), ResLIMIT, "no file is opened without room for its sections");
  TapOk(full.full && full.files == 1, "which is noted");
  if (ObjectOpen(&object, "/proc/self/exe", &room) != ResOK)
    return;
  room.bytes = 0;
  TapOk(ObjectBytes(object, &object->section[1], &size) == NULL && room.full, "nor is a section read");
  room.bytes = 1 << 20;
  TapOk(ObjectOpen(&other, "/proc/self/exe", &room) == ResOK && ObjectBytes(other, other->names, &size) != NULL &&
          room.bytes < (1 << 20) - size, "others are, and counted");
  ObjectClose(other);
  TapIs(room.bytes, 1 << 20, "until their file is closed");
  room.files = 0;
  TapIs(ObjectOpen(&other, "/proc/self/exe", &room), ResLIMIT, "files are counted, too");
  ObjectClose(object);
  TapIs(room.files, 1, "and may be opened when others were closed");
}

/* noteFull -- count the lines that say that something was left out */
static void noteFull(void *data, const char *line)
{
  *(Count *)data += strstr(line, "left out") != NULL;
}

/* testFiles -- of more files than may be open the others are left out, which is told once */
static void testFiles(void)
{
  char folder[] = "/tmp/pawprint-symbols-XXXXXX", path[64];
  unsigned char head[64];
  SymbolsModuleStruct module = {.path = path};
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  struct rlimit limit;
  Symbols symbols;
  Count told = 0, early = 0;
  Index i;
  int fd;

  memcpy(head, whole, sizeof head);
  memset(head + 32, 0, 16);       /* where the tables of segments and sections begin, */
  memset(head + 56, 0, 8);        /* and how many there are: none */
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (limit.rlim_cur = limit.rlim_max) < SymbolsFilesMAX + 100 ||
      setrlimit(RLIMIT_NOFILE, &limit) != 0 || mkdtemp(folder) == NULL ||
      SymbolsCreate(&symbols, noteFull, &told) != ResOK) {
    TapSkip("not so many files may be open here");
    return;
  }
  for (i = 0; i < SymbolsFilesMAX + 10; ++i) {
    (void)snprintf(path, sizeof path, "%s/%zu", folder, i);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, head, sizeof head) != (ssize_t)sizeof head)
      break;
    (void)close(fd);
    (void)SymbolsFind(symbols, &module, 0, FALSE, frames, SymbolsFramesMAX);
    (void)unlink(path);
    early += i < SymbolsFilesMAX ? told : 0;
  }
  (void)rmdir(folder);
  TapOk(i == SymbolsFilesMAX + 10 && early == 0 && told == 1, "beyond %d files it is told once that they are left out",
        SymbolsFilesMAX);
  SymbolsDestroy(symbols);
}

int main(void)
{
  uint64_t state = TapSeed();

  load();
  testReader();
  testOpened();
  testSelf(&state);
  testSame();
  testYoung();
  testRoom();
  testFiles();
  testUnlined();
  testDamaged(&state);
  testLong();
  testPerfMap();
  testDemangle();
  free(whole);
  return TapDone();
}
