/* ehframe.c -- unwind rows: how the caller of a frame is found, from a module's .eh_frame
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * .eh_frame_hdr has a sorted table of functions, each with its frame description (FDE); that names a common part (CIE).
 * Both have a program whose instructions change the rules from one address of the function to the next.  It is run up
 * to the wanted address.
 */
#include "unwind/ehframe.h"

#include <string.h>

#include "base/bytesreader.h"

/* DWARF's numbers of registers. */
enum { RegisterRBP = 6, RegisterRSP = 7, RegisterRIP = 16 };

/* How an address is encoded: the low bits are its width, the high bits what it is relative to. */
enum { EncodingABSPTR = 0x00, EncodingUDATA4 = 0x03, EncodingSDATA4 = 0x0b, EncodingSDATA8 = 0x0c, EncodingPCREL = 0x10,
       EncodingDATAREL = 0x30, EncodingOMIT = 0xff };

/* Instructions of the description's program. */
enum { CfaADVANCE = 0x40, CfaOFFSET = 0x80, CfaRESTORE = 0xc0, CfaNOP = 0, CfaADVANCE1 = 2, CfaADVANCE2, CfaADVANCE4,
       CfaOFFSET_EXTENDED, CfaRESTORE_EXTENDED, CfaUNDEFINED, CfaSAME_VALUE, CfaREGISTER, CfaREMEMBER_STATE,
       CfaRESTORE_STATE, CfaDEF_CFA, CfaDEF_CFA_REGISTER, CfaDEF_CFA_OFFSET, CfaDEF_CFA_EXPRESSION, CfaEXPRESSION,
       CfaOFFSET_EXTENDED_SF, CfaDEF_CFA_SF, CfaDEF_CFA_OFFSET_SF, CfaVAL_OFFSET, CfaVAL_OFFSET_SF, CfaVAL_EXPRESSION,
       CfaGNU_ARGS_SIZE = 0x2e };

/* Operations of expressions. */
enum { OpDEREF = 0x06, OpAND = 0x1a, OpPLUS = 0x22, OpSHL = 0x24, OpGE = 0x2a, OpLIT3 = 0x33, OpLIT10 = 0x3a,
       OpLIT11 = 0x3b, OpLIT15 = 0x3f, OpBREG_RBP = 0x76, OpBREG_RSP = 0x77, OpBREG_RIP = 0x80 };

#define rememberedMAX 8 /* compilers nest at most two */

/* ---- Reading -------------------------------------------------------------------------------------------------- */

/* Bytes that are read in order.  A read behind the limit, or of what has been unloaded, gives zero and makes the cursor
 * bad for good. */
typedef struct CursorStruct {
  ModuleBytes bytes;
  const uint8_t *at, *limit;
  Bool bad;
} CursorStruct, *Cursor;

static uint64_t readBytes(Cursor cursor, Size size)
{
  uint64_t value = 0;

  if ((Size)(cursor->limit - cursor->at) < size || !ModuleBytesRead(&value, cursor->bytes, cursor->at, size)) {
    cursor->bad = TRUE;
    cursor->at = cursor->limit;
    return 0;
  }
  cursor->at += size;
  return value;
}

/* readLEB -- a number of DWARF's variable length; `sign`: with its sign.  LebGet would read memory that may be gone. */
static int64_t readLEB(Cursor cursor, Bool sign)
{
  uint64_t byte, value = 0;
  unsigned bits = 0;

  do {
    byte = readBytes(cursor, 1);
    if (bits < 64)
      value |= (byte & 0x7f) << bits;
    bits += 7;
  } while (byte >= 0x80);
  return sign ? LebSigned(value, bits) : (int64_t)value;
}

/* readAddress -- an address that is absolute or relative to where it stands */
static Word readAddress(Cursor cursor, unsigned encoding)
{
  Word here = (Word)cursor->at;
  Word value;

  switch (encoding & 0x0f) {
  case EncodingABSPTR:
  case EncodingSDATA8:
    value = readBytes(cursor, 8);
    break;
  case EncodingUDATA4:
    value = readBytes(cursor, 4);
    break;
  case EncodingSDATA4:
    value = (Word)(int64_t)(int32_t)readBytes(cursor, 4);
    break;
  default:
    cursor->bad = TRUE;
    return 0;
  }
  if ((encoding & 0x70) == EncodingPCREL)
    value += here;
  else if ((encoding & 0x70) != 0)
    cursor->bad = TRUE;
  return value;
}

static void skip(Cursor cursor, uint64_t size)
{
  if ((uint64_t)(cursor->limit - cursor->at) < size) {
    cursor->bad = TRUE;
    size = (uint64_t)(cursor->limit - cursor->at);
  }
  cursor->at += size;
}

/* ---- Rules ---------------------------------------------------------------------------------------------------- */

typedef enum RuleKind {
  RuleSAME,       /* the register still has the caller's value */
  RuleOFFSET,     /* it is at CFA + offset */
  RuleAT_RBP,     /* it is at rbp + offset */
  RuleUNDEFINED,  /* the caller's value is lost; of the return address: there is no caller */
  RuleOTHER       /* not understood */
} RuleKind;

typedef struct RuleStruct {
  RuleKind kind;
  int64_t offset;
} RuleStruct;

/* The rules at one address.  The CFA is register + offset, or the word there; cfaRegister is RegisterNONE where it is
 * something else. */
typedef struct RulesStruct {
  int64_t cfaOffset;
  uint64_t cfaRegister;
  Bool cfaDeref;
  RuleStruct rbp, rip;
} RulesStruct, *Rules;

#define RegisterNONE UINT64_MAX

/* What a common part says. */
typedef struct CommonStruct {
  CursorStruct program;
  uint64_t codeAlign;
  int64_t dataAlign;
  unsigned encoding;  /* of addresses in the descriptions */
  Bool signal;        /* of a signal's frame */
  Bool augmented;     /* descriptions have augmentation data */
  RulesStruct rules;  /* behind its program */
} CommonStruct, *Common;

static RuleStruct *ruleOf(Rules rules, uint64_t reg)
{
  return reg == RegisterRBP ? &rules->rbp : reg == RegisterRIP ? &rules->rip : NULL;
}

static void ruleSet(Rules rules, uint64_t reg, RuleKind kind, int64_t offset)
{
  RuleStruct *rule = ruleOf(rules, reg);

  if (rule != NULL) {
    rule->kind = kind;
    rule->offset = offset;
  }
}

/* expressionBased -- is the expression `register + offset` of rbp or rsp, and then these bytes? */
static Bool expressionBased(uint64_t *regReturn, int64_t *offsetReturn, CursorStruct expression, const uint8_t *rest,
                            Size size)
{
  uint64_t op = readBytes(&expression, 1);

  *regReturn = op == OpBREG_RBP ? RegisterRBP : RegisterRSP;
  *offsetReturn = readLEB(&expression, TRUE);
  if ((op != OpBREG_RBP && op != OpBREG_RSP) || (Size)(expression.limit - expression.at) != size)
    return FALSE;
  for (; size > 0 && !expression.bad; --size)
    if (readBytes(&expression, 1) != *rest++)
      return FALSE;
  return !expression.bad;
}

/* cfaExpression -- the forms that compilers and linkers write: the word at register + offset, and the CFA of the stubs
 * in .plt, which push once and then twice, in sixteen bytes each. */
static void cfaExpression(Rules rules, CursorStruct expression, Word at)
{
  static const uint8_t deref[] = {OpDEREF};
  uint8_t plt[] = {OpBREG_RIP, 0, OpLIT15, OpAND, OpLIT11, OpGE, OpLIT3, OpSHL, OpPLUS};
  uint64_t reg;
  int64_t offset;
  unsigned second;

  rules->cfaRegister = RegisterNONE;
  rules->cfaDeref = FALSE;
  if (expressionBased(&reg, &offset, expression, deref, sizeof deref)) {
    rules->cfaRegister = reg;
    rules->cfaOffset = offset;
    rules->cfaDeref = TRUE;
    return;
  }
  for (second = 10; second <= 11; ++second) {
    plt[4] = (uint8_t)(OpLIT10 + (second - 10));
    if (expressionBased(&reg, &offset, expression, plt, sizeof plt) && reg == RegisterRSP) {
      rules->cfaRegister = reg;
      rules->cfaOffset = (int64_t)((uint64_t)offset + ((at & 15) >= second ? 8 : 0));
    }
  }
}

/* ---- Programs ------------------------------------------------------------------------------------------------- */

/* One run of a description's program. */
typedef struct RunStruct {
  Common common;
  Word at;                                /* the wanted address */
  Word location;                          /* the address that the rules are for */
  RulesStruct rules;
  RulesStruct remembered[rememberedMAX];
  Count rememberedCount;
} RunStruct, *Run;

/* scaled -- an offset that is told in units of the common part's; any that a damaged description may have */
static int64_t scaled(int64_t units, Run run)
{
  return (int64_t)((uint64_t)units * (uint64_t)run->common->dataAlign);
}

/* ruleExpression -- a register that is saved where an expression says */
static void ruleExpression(Run run, Cursor cursor, Bool value)
{
  uint64_t reg = (uint64_t)readLEB(cursor, FALSE);
  uint64_t size = (uint64_t)readLEB(cursor, FALSE);
  CursorStruct expression = *cursor;
  uint64_t based;
  int64_t offset;

  skip(cursor, size);
  if (cursor->bad)
    return;
  expression.limit = cursor->at;
  if (!value && expressionBased(&based, &offset, expression, NULL, 0) && based == RegisterRBP)
    ruleSet(&run->rules, reg, RuleAT_RBP, offset);
  else
    ruleSet(&run->rules, reg, RuleOTHER, 0);
}

static void defineExpression(Run run, Cursor cursor)
{
  uint64_t size = (uint64_t)readLEB(cursor, FALSE);
  CursorStruct expression = *cursor;

  skip(cursor, size);
  expression.limit = cursor->at;
  cfaExpression(&run->rules, expression, run->at);
}

static void defineCfa(Rules rules, uint64_t reg, int64_t offset)
{
  rules->cfaRegister = reg;
  rules->cfaOffset = offset;
  rules->cfaDeref = FALSE;
}

static void restoreRule(Run run, uint64_t reg)
{
  RuleStruct *rule = ruleOf(&run->rules, reg);

  if (rule != NULL)
    *rule = *ruleOf(&run->common->rules, reg);
}

static void advance(Run run, uint64_t delta)
{
  run->location += delta * run->common->codeAlign;
}

/* runRare -- an instruction that has its number in a byte of its own and is not one of the frequent */
static void runRare(Run run, Cursor cursor, unsigned op)
{
  Rules rules = &run->rules;
  uint64_t reg;

  switch (op) {
  case CfaOFFSET_EXTENDED:
  case CfaOFFSET_EXTENDED_SF:
    reg = (uint64_t)readLEB(cursor, FALSE);
    ruleSet(rules, reg, RuleOFFSET, scaled(readLEB(cursor, op == CfaOFFSET_EXTENDED_SF), run));
    break;
  case CfaRESTORE_EXTENDED:
    restoreRule(run, (uint64_t)readLEB(cursor, FALSE));
    break;
  case CfaUNDEFINED:
    ruleSet(rules, (uint64_t)readLEB(cursor, FALSE), RuleUNDEFINED, 0);
    break;
  case CfaSAME_VALUE:
    ruleSet(rules, (uint64_t)readLEB(cursor, FALSE), RuleSAME, 0);
    break;
  case CfaREGISTER:
  case CfaVAL_OFFSET:
  case CfaVAL_OFFSET_SF:
    reg = (uint64_t)readLEB(cursor, FALSE);
    (void)readLEB(cursor, FALSE);
    ruleSet(rules, reg, RuleOTHER, 0);
    break;
  case CfaEXPRESSION:
  case CfaVAL_EXPRESSION:
    ruleExpression(run, cursor, op == CfaVAL_EXPRESSION);
    break;
  case CfaGNU_ARGS_SIZE:
    (void)readLEB(cursor, FALSE);
    break;
  default:
    cursor->bad = TRUE;
  }
}

/* runOne -- an instruction that has its number in a byte of its own */
static void runOne(Run run, Cursor cursor, unsigned op)
{
  Rules rules = &run->rules;
  uint64_t reg;

  switch (op) {
  case CfaNOP:
    break;
  case CfaADVANCE1:
  case CfaADVANCE2:
  case CfaADVANCE4:
    advance(run, readBytes(cursor, (Size)1 << (op - CfaADVANCE1)));
    break;
  case CfaREMEMBER_STATE:
    if (run->rememberedCount == rememberedMAX)
      cursor->bad = TRUE;
    else
      run->remembered[run->rememberedCount++] = *rules;
    break;
  case CfaRESTORE_STATE:
    if (run->rememberedCount == 0)
      cursor->bad = TRUE;
    else
      *rules = run->remembered[--run->rememberedCount];
    break;
  case CfaDEF_CFA:
  case CfaDEF_CFA_SF:
    reg = (uint64_t)readLEB(cursor, FALSE);
    defineCfa(rules, reg, op == CfaDEF_CFA ? readLEB(cursor, FALSE) : scaled(readLEB(cursor, TRUE), run));
    break;
  case CfaDEF_CFA_REGISTER:
    defineCfa(rules, (uint64_t)readLEB(cursor, FALSE), rules->cfaOffset);
    break;
  case CfaDEF_CFA_OFFSET:
    rules->cfaOffset = readLEB(cursor, FALSE);
    break;
  case CfaDEF_CFA_OFFSET_SF:
    rules->cfaOffset = scaled(readLEB(cursor, TRUE), run);
    break;
  case CfaDEF_CFA_EXPRESSION:
    defineExpression(run, cursor);
    break;
  default:
    runRare(run, cursor, op);
  }
}

/* runProgram -- up to the wanted address; FALSE: there is something in it that is not understood */
static Bool runProgram(Run run, CursorStruct program)
{
  while (program.at < program.limit && !program.bad && run->location <= run->at) {
    unsigned op = (unsigned)readBytes(&program, 1);
    unsigned low = op & 0x3f;

    switch (op & 0xc0) {
    case CfaADVANCE:
      advance(run, low);
      break;
    case CfaOFFSET:
      ruleSet(&run->rules, low, RuleOFFSET, scaled(readLEB(&program, FALSE), run));
      break;
    case CfaRESTORE:
      restoreRule(run, low);
      break;
    default:
      runOne(run, &program, op);
    }
  }
  return !program.bad;
}

/* ---- Descriptions --------------------------------------------------------------------------------------------- */

/* entryOpen -- the entry of .eh_frame at an address: what is in it behind its length.  Longer ones than 4 GiB are not
 * written by anybody. */
static Bool entryOpen(Cursor entry, Word address, ModuleBytes bytes)
{
  const uint8_t *base = bytes->base, *limit = bytes->limit;
  uint64_t size;

  if (address < (Word)base || address >= (Word)limit)
    return FALSE;
  entry->bytes = bytes;
  entry->at = base + (address - (Word)base);
  entry->limit = limit;
  entry->bad = FALSE;
  size = readBytes(entry, 4);
  if (entry->bad || size < 4 || size > (uint64_t)(limit - entry->at))
    return FALSE;
  entry->limit = entry->at + size;
  return TRUE;
}

/* commonAugmentation -- what the letters behind the `z' say, as far as the first zero */
static void commonAugmentation(Common common, Cursor cursor, CursorStruct letters)
{
  uint64_t size = (uint64_t)readLEB(cursor, FALSE), letter;
  CursorStruct data = *cursor;

  skip(cursor, size);
  data.limit = cursor->at;
  common->augmented = TRUE;
  while (!data.bad && (letter = readBytes(&letters, 1)) != '\0') {
    if (letter == 'R')
      common->encoding = (unsigned)readBytes(&data, 1);
    else if (letter == 'S')
      common->signal = TRUE;
    else if (letter == 'L')
      (void)readBytes(&data, 1);
    else if (letter == 'P')
      (void)readAddress(&data, (unsigned)readBytes(&data, 1) & 0x0f);
    else if (letter != 'B')
      data.bad = TRUE;
  }
  cursor->bad |= data.bad | letters.bad;
}

static Bool commonRead(Common common, Word address, ModuleBytes bytes)
{
  CursorStruct cursor, letters;
  RunStruct run;
  uint64_t version, first;

  memset(common, 0, sizeof *common);
  if (!entryOpen(&cursor, address, bytes) || readBytes(&cursor, 4) != 0)
    return FALSE;
  version = readBytes(&cursor, 1);
  letters = cursor;
  first = readBytes(&letters, 1);
  while (readBytes(&cursor, 1) != 0)
    ;
  common->codeAlign = (uint64_t)readLEB(&cursor, FALSE);
  common->dataAlign = readLEB(&cursor, TRUE);
  /* The number of the register that has the return address. */
  if ((version == 1 ? readBytes(&cursor, 1) : (uint64_t)readLEB(&cursor, FALSE)) != RegisterRIP || cursor.bad
      || (version != 1 && version != 3))
    return FALSE;
  if (first == 'z')
    commonAugmentation(common, &cursor, letters);
  else if (first != '\0')
    return FALSE;
  common->program = cursor;
  memset(&run, 0, sizeof run);
  run.common = common;
  run.rules.cfaRegister = RegisterNONE;
  if (cursor.bad || !runProgram(&run, cursor))
    return FALSE;
  common->rules = run.rules;
  return TRUE;
}

/* rowMake -- what a walk needs of the rules */
static void rowMake(UnwindRow row, const RulesStruct *rules)
{
  Bool fits = rules->cfaOffset == (int32_t)rules->cfaOffset && rules->rbp.offset == (int32_t)rules->rbp.offset;

  if (rules->rip.kind == RuleUNDEFINED) {
    row->kind = RowOUTERMOST;
    return;
  }
  row->kind = RowBROKEN;
  if (!fits || rules->rip.kind != RuleOFFSET || rules->rip.offset != -8)
    return;
  row->cfaOffset = (int32_t)rules->cfaOffset;
  row->rbpOffset = (int32_t)rules->rbp.offset;
  row->rbpSaved = rules->rbp.kind != RuleSAME;
  if (rules->cfaDeref) {
    if (rules->cfaRegister == RegisterRBP && rules->rbp.kind == RuleAT_RBP)
      row->kind = RowREALIGNED;
  } else if (rules->rbp.kind == RuleSAME || rules->rbp.kind == RuleOFFSET) {
    if (rules->cfaRegister == RegisterRSP)
      row->kind = RowRSP;
    else if (rules->cfaRegister == RegisterRBP)
      row->kind = RowRBP;
  }
}

void EhFrameDescribed(UnwindRow row, Word at, Word address, ModuleBytes bytes)
{
  CursorStruct cursor;
  CommonStruct common;
  RunStruct run;
  Word here, size;

  memset(row, 0, sizeof *row);
  row->kind = RowBROKEN;
  if (!entryOpen(&cursor, address, bytes))
    return;
  here = (Word)cursor.at;
  if (!commonRead(&common, here - readBytes(&cursor, 4), bytes))
    return;
  memset(&run, 0, sizeof run);
  run.common = &common;
  run.at = at;
  run.location = readAddress(&cursor, common.encoding);
  size = readAddress(&cursor, common.encoding & 0x0f);
  if (common.augmented)
    skip(&cursor, (uint64_t)readLEB(&cursor, FALSE));
  if (cursor.bad)
    return;
  if (at - run.location >= size) {
    row->kind = RowUNKNOWN;
    return;
  }
  if (common.signal) {
    row->kind = RowSIGNAL;
    return;
  }
  run.rules = common.rules;
  if (runProgram(&run, cursor))
    rowMake(row, &run.rules);
}

Bool EhFrameNext(Word *locationReturn, Word *addressReturn, Word *at, ModuleBytes bytes)
{
  CursorStruct cursor;
  CommonStruct common;
  Word here, back;

  /* A length of zero ends .eh_frame, and is no entry. */
  while (entryOpen(&cursor, *at, bytes)) {
    *addressReturn = *at;
    *at = (Word)cursor.limit;
    here = (Word)cursor.at;
    back = readBytes(&cursor, 4);
    if (back == 0 || !commonRead(&common, here - back, bytes))
      continue; /* a common part, or a description that cannot be understood */
    *locationReturn = readAddress(&cursor, common.encoding);
    if (!cursor.bad)
      return TRUE;
  }
  return FALSE;
}

/* searchTable -- the description of the last function that does not begin behind `at`; 0: none */
static Word searchTable(Word at, const uint8_t *hdr, ModuleBytes bytes, const uint8_t *table, Count count)
{
  int64_t wanted = (int64_t)(at - (Word)hdr);
  Index low = 0, high = count;
  int32_t entry[2];

  while (low < high) {
    Index middle = low + (high - low) / 2;

    if (!ModuleBytesRead(entry, bytes, table + middle * sizeof entry, sizeof entry))
      return 0;
    if (entry[0] <= wanted)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || !ModuleBytesRead(entry, bytes, table + (low - 1) * sizeof entry, sizeof entry))
    return 0;
  return (Word)hdr + (Word)(int64_t)entry[1];
}

void EhFrameRow(UnwindRow row, Word at, const uint8_t *hdr, ModuleBytes bytes)
{
  CursorStruct cursor = {bytes, hdr, bytes->limit, FALSE};
  unsigned version, frameEncoding, countEncoding, tableEncoding;
  uint64_t count;
  Word address;

  memset(row, 0, sizeof *row);
  if (hdr < bytes->base || hdr >= bytes->limit)
    return;
  version = (unsigned)readBytes(&cursor, 1);
  frameEncoding = (unsigned)readBytes(&cursor, 1);
  countEncoding = (unsigned)readBytes(&cursor, 1);
  tableEncoding = (unsigned)readBytes(&cursor, 1);
  if (version != 1 || countEncoding != EncodingUDATA4 || tableEncoding != (EncodingDATAREL | EncodingSDATA4))
    return;
  if (frameEncoding != EncodingOMIT)
    (void)readAddress(&cursor, frameEncoding);
  count = readBytes(&cursor, 4);
  if (cursor.bad || count > (uint64_t)(bytes->limit - cursor.at) / 8)
    return;
  address = searchTable(at, hdr, bytes, cursor.at, count);
  if (address != 0)
    EhFrameDescribed(row, at, address, bytes);
}
