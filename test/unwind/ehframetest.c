/* ehframetest.c -- the rows of descriptions that are written here, and of damaged ones
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/ehframe.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "unwind/ehindex.h"
#include "unwind/rowcache.h"

/* Functions that nobody calls: only their descriptions matter.  Each place is `NAME_N'. */
__asm__(".text\n"
        ".macro at name\n.globl \\name\n.hidden \\name\n\\name:\nnop\n.endm\n"
        "plain: .cfi_startproc\n"
        "at plain_1\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
        "at plain_2\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register 6\n"
        "at plain_3\n"
        ".cfi_remember_state\npop %rbp\n.cfi_def_cfa 7, 8\n.cfi_restore 6\n"
        "at plain_4\n"
        ".cfi_restore_state\n"
        "at plain_5\n"
        ".cfi_endproc\n"
        "wide: .cfi_startproc\n.cfi_def_cfa_offset 1000000\n.cfi_offset 6, -200000\n"
        "at wide_1\n"
        ".cfi_def_cfa_offset 536870912\n"
        "at wide_2\n"
        ".cfi_endproc\n"
        "odd: .cfi_startproc\n.cfi_def_cfa 3, 16\n"
        "at odd_1\n"
        ".cfi_def_cfa 7, 16\n.cfi_register 6, 3\n"
        "at odd_2\n"
        ".cfi_same_value 6\n.cfi_offset 16, -24\n"
        "at odd_3\n"
        ".cfi_undefined 16\n"
        "at odd_4\n"
        ".cfi_endproc\n"
        "signal: .cfi_startproc\n.cfi_signal_frame\n"
        "at signal_1\n"
        ".cfi_endproc\n"
        "realigned: .cfi_startproc\n"
        ".cfi_escape 0x10, 6, 2, 0x76, 0\n"        /* rbp is at rbp + 0 */
        ".cfi_escape 0x0f, 3, 0x76, 0x78, 6\n"     /* CFA is the word at rbp - 8 */
        "at realigned_1\n"
        ".cfi_endproc\n"
        ".p2align 4\n"
        "plt: .cfi_startproc\n"
        ".cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
        "at plt_1\n"
        ".p2align 4, 0x90\n.skip 11, 0x90\n"
        "at plt_2\n"
        ".cfi_endproc\n"
        "unnamed:\n"
        "at none_1\n"
        ".purgem at\n");

extern const char plain_1[], plain_2[], plain_3[], plain_4[], plain_5[], wide_1[], wide_2[], odd_1[], odd_2[], odd_3[],
  odd_4[], signal_1[], realigned_1[], plt_1[], plt_2[], none_1[];

static void testRows(void)
{
  static const struct {
    const char *at;
    const char *what;
    UnwindRowStruct row;
    Bool wide; /* it does not fit into the cache */
  } cases[] = {
    {plain_1, "at a function's beginning", {RowRSP, FALSE, 8, 0}, FALSE},
    {plain_2, "when rbp is saved", {RowRSP, TRUE, 16, -16}, FALSE},
    {plain_3, "when it is the frame pointer", {RowRBP, TRUE, 16, -16}, FALSE},
    {plain_4, "in an early end", {RowRSP, FALSE, 8, 0}, FALSE},
    {plain_5, "and behind it", {RowRBP, TRUE, 16, -16}, FALSE},
    {wide_1, "of a large frame", {RowRSP, TRUE, 1000000, -200000}, TRUE},
    {wide_2, "of one that is larger than any stack", {RowRSP, TRUE, 536870912, -200000}, TRUE},
    {odd_1, "with a CFA from another register", {RowBROKEN, FALSE, 0, 0}, FALSE},
    {odd_2, "with rbp in another register", {RowBROKEN, FALSE, 0, 0}, FALSE},
    {odd_3, "with the return address elsewhere", {RowBROKEN, FALSE, 0, 0}, FALSE},
    {odd_4, "of a function without a caller", {RowOUTERMOST, FALSE, 0, 0}, FALSE},
    {signal_1, "of a signal's frame", {RowSIGNAL, FALSE, 0, 0}, FALSE},
    {realigned_1, "of a function that aligns its stack", {RowREALIGNED, TRUE, -8, 0}, FALSE},
    {plt_1, "of a stub that has pushed once", {RowRSP, FALSE, 8, 0}, FALSE},
    {plt_2, "and twice", {RowRSP, FALSE, 16, 0}, FALSE},
    {none_1, "of code that nothing describes", {RowUNKNOWN, FALSE, 0, 0}, FALSE},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    const UnwindRowStruct *wanted = &cases[i].row;
    UnwindRowStruct row;
    PackedRow packed;
    Bool offsets;

    RowCacheFind(&row, (Word)cases[i].at);
    offsets = row.kind == RowRSP || row.kind == RowRBP || row.kind == RowREALIGNED;
    TapOk(row.kind == wanted->kind
              && (!offsets || (row.cfaOffset == wanted->cfaOffset && row.rbpSaved == wanted->rbpSaved
                               && (!row.rbpSaved || row.rbpOffset == wanted->rbpOffset))),
          "the row %s: %d %d %d", cases[i].what, (int)row.kind, row.cfaOffset, row.rbpOffset);
    packed = RowCacheRow((Word)cases[i].at);
    TapOk(packed == 0 ? cases[i].wide
                      : PackedRowKind(packed) == row.kind && PackedRowSaved(packed) == row.rbpSaved
                            && PackedRowCfa(packed) == row.cfaOffset && PackedRowRbp(packed) == row.rbpOffset,
          "and once more from the cache");
  }
}

/* Rows of many addresses push each other out, and each is found for its own address only. */
static void testMany(void)
{
  static const char *const ats[] = {plain_1, plain_2, plain_3, wide_1, realigned_1, none_1};
  UnwindRowStruct row, again;
  Index i, wrong = 0, kept = 0;

  for (i = 0; i < 4 * RowCacheSIZE; ++i) {
    RowCacheFind(&row, 4096 * i);
    wrong += row.kind != RowUNKNOWN || (RowCacheRow(4096 * i) != 0 && PackedRowKind(RowCacheRow(4096 * i)) != RowUNKNOWN);
    kept += RowCacheRow(4096 * i) != 0;
  }
  TapOk(wrong == 0 && kept > RowCacheSIZE / 4, "rows of more addresses than fit: %zu in their first place", kept);
  for (i = 0; i < ARRAY_LENGTH(ats); ++i) {
    RowCacheFind(&row, (Word)ats[i]);
    RowCacheForget();
    TapIs(RowCacheRow((Word)ats[i]), 0, "what was forgotten is not known");
    RowCacheFind(&again, (Word)ats[i]);
    TapOk(row.kind == again.kind && row.cfaOffset == again.cfaOffset, "and is found again");
  }
  RowCacheFind(&row, (Word)1 << 47 | (Word)plain_2);
  TapOk(row.kind == RowUNKNOWN && RowCacheRow((Word)1 << 47 | (Word)plain_2) == 0, "a high address is not taken for a low one");
}

/* ----
 * Damage -------------------------------------------------------------------------------------------------------- */

typedef struct SegmentStruct {
  const uint8_t *hdr, *base, *limit;
} SegmentStruct;

static int segmentFind(struct dl_phdr_info *info, size_t size, void *data)
{
  SegmentStruct *segment = data;
  const uint8_t *hdr = NULL;
  Index i;

  UNUSED(size);
  for (i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
      hdr = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const uint8_t *base = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (info->dlpi_phdr[i].p_type == PT_LOAD && hdr >= base && hdr < base + info->dlpi_phdr[i].p_filesz) {
      segment->hdr = hdr;
      segment->base = base;
      segment->limit = base + info->dlpi_phdr[i].p_filesz;
    }
  }
  return 1; /* the program itself is the first */
}

/* segmentCopy -- byte by byte: a sanitizer watches what is between the constants in it */
__attribute__((no_sanitize("address"))) static void segmentCopy(uint8_t *to, const uint8_t *from, Size size)
{
  Index i;

  for (i = 0; i < size; ++i)
    ((volatile uint8_t *)to)[i] = from[i];
}

/* A copy of the segment is of functions that are as far away as the copy is; a byte here and there is changed in it. */
static void testDamage(uint64_t seed)
{
  SegmentStruct segment = {NULL, NULL, NULL};
  uint64_t state = seed * 2 + 1;
  Count same = 0, other = 0, differ = 0, rounds = 5000, i;
  uint8_t *copy;
  Size size;

  (void)dl_iterate_phdr(segmentFind, &segment);
  size = (Size)(segment.limit - segment.base);
  for (i = 0; i < rounds; ++i) {
    Size cut = TapRandom(&state) % 8 == 0 ? TapRandom(&state) % size : size, changes = TapRandom(&state) % 6;
    Word at = (Word)plain_3 + (TapRandom(&state) % 2 == 0 ? 0 : TapRandom(&state) % 4000);
    UnwindRowStruct right, row, peeked;
    ModuleBytesStruct bytes;

    copy = malloc(cut + 1);
    segmentCopy(copy, segment.base, cut);
    for (; changes > 0 && cut > 0; --changes)
      copy[TapRandom(&state) % cut] = (uint8_t)TapRandom(&state);
    ModuleBytesInit(&bytes, segment.base, segment.limit, FALSE);
    EhFrameRow(&right, at, segment.hdr, &bytes);
    ModuleBytesInit(&bytes, copy, copy + cut, FALSE);
    EhFrameRow(&row, at - (Word)segment.base + (Word)copy, copy + (segment.hdr - segment.base), &bytes);
    ModuleBytesInit(&bytes, copy, copy + cut, TRUE);
    EhFrameRow(&peeked, at - (Word)segment.base + (Word)copy, copy + (segment.hdr - segment.base), &bytes);
    differ += memcmp(&peeked, &row, sizeof row) != 0 || bytes.gone;
    if (memcmp(&right, &row, sizeof row) == 0)
      ++same;
    else
      ++other;
    free(copy);
  }
  TapOk(same > rounds / 4 && other > 50,
        "of descriptions that are damaged nothing is read that is not there: %zu as before, %zu not", same, other);
  TapIs(differ, 0, "and where the kernel copies it the rows are the same");
}

/* A module that another thread unloads: its last page is gone first. */
static void testGone(void)
{
  SegmentStruct segment = {NULL, NULL, NULL};
  Size page = (Size)sysconf(_SC_PAGESIZE), size;
  ModuleBytesStruct bytes;
  UnwindRowStruct row;
  Count left, known = 0, gone = 0;
  uint8_t *copy;

  (void)dl_iterate_phdr(segmentFind, &segment);
  size = (Size)(segment.limit - segment.base);
  copy = mmap(NULL, (size / page + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  segmentCopy(copy, segment.base, size);
  for (left = size / page + 1;; --left) {
    ModuleBytesInit(&bytes, copy, copy + size, TRUE);
    EhFrameRow(&row, (Word)plain_3 - (Word)segment.base + (Word)copy, copy + (segment.hdr - segment.base), &bytes);
    known += row.kind == RowRBP;
    gone += bytes.gone && row.kind != RowRBP;
    if (left == 0)
      break;
    (void)munmap(copy + (left - 1) * page, page);
  }
  TapOk(known > 0 && gone > 0, "a module that is being unloaded has its row (%zu), or it is known to be gone (%zu)", known, gone);
}

/* ---- A table of our own --------------------------------------------------------------------------------------- */

static struct {
  uint64_t state;
  Count modules, compared, wrong, known;
} tables;

/* indexCompare -- rows at random places of a module's code are the same by its own table and by ours */
static int indexCompare(struct dl_phdr_info *info, size_t size, void *data)
{
  LoadedModuleStruct module = {NULL, NULL, info->dlpi_name, info->dlpi_name[0] != '\0'};
  const uint8_t *base, *limit, *hdr = NULL;
  Word from = 0, to = 0, i;

  UNUSED(size);
  UNUSED(data);
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uint8_t *at = (uint8_t *)info->dlpi_addr + segment->p_vaddr;

    if (segment->p_type == PT_GNU_EH_FRAME)
      hdr = at;
    if (segment->p_type != PT_LOAD)
      continue;
    if (module.start == NULL)
      module.start = at;
    module.limit = at + segment->p_memsz;
    if ((segment->p_flags & PF_X) != 0) {
      from = (Word)at;
      to = from + segment->p_filesz;
    }
  }
  if (hdr == NULL || from == to || strstr(module.path, "vdso") != NULL || tables.modules >= EhIndexMAX
      || !LoadedModuleSegment(&base, &limit, &module, hdr))
    return 0;
  ++tables.modules;
  for (i = 0; i < 3000; ++i) {
    Word at = from + TapRandom(&tables.state) % (to - from);
    UnwindRowStruct right, row;
    ModuleBytesStruct bytes;

    ModuleBytesInit(&bytes, base, limit, module.fleeting);
    EhFrameRow(&right, at, hdr, &bytes);
    if (!EhIndexRow(&row, at, &module, i < 1500 ? 1 : 2)) /* made twice: the module may be another one the second time */
      ++tables.wrong;
    ++tables.compared;
    tables.known += right.kind != RowUNKNOWN;
    tables.wrong += memcmp(&row, &right, sizeof row) != 0;
  }
  return 0;
}

static void testIndex(uint64_t seed)
{
  static uint8_t none[8192];
  LoadedModuleStruct module = {none, none + sizeof none, "/", TRUE};
  UnwindRowStruct row;

  tables.state = seed * 2 + 1;
  (void)dl_iterate_phdr(indexCompare, NULL);
  TapIs(tables.wrong, 0, "of %zu modules %zu rows (%zu known) are the same without their own tables", tables.modules,
        tables.compared, tables.known);
  TapOk(tables.modules >= 2 && tables.known > tables.compared / 2, "they are many");
  TapOk(EhIndexCheck(), "the tables are sound");
  TapOk(EhIndexRow(&row, (Word)none + 100, &module, 1) && row.kind == RowUNKNOWN, "what is no module has no rows");
}

int main(void)
{
  uint64_t seed = TapSeed();

  testRows();
  testMany();
  testDamage(seed);
  testGone();
  testIndex(seed);
  return TapDone();
}
