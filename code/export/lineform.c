/* lineform.c -- what the line of an event type looks like in text, CSV or JSON, worked out once for each type
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/lineform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "export/describe.h"
#include "export/output.h"
#include "heap/labels.h"
#include "log/typenames.h"
#include "symbols/calls.h"

/* A form being made: literals run up in `text`, and a piece is closed by a value. */
typedef struct formMakingStruct {
  Form form;
  EventType type;
  Bool symbols;           /* code addresses come with what is there */
  TextStruct text;
  FormPieceStruct piece[FormPiecesMAX];
  char *begin;            /* of the literal that is open */
} formMakingStruct, *FormMaking;

/* formClose -- the open literal ends here, and `value` of parameter `param` follows */
static void formClose(FormMaking making, FormValue value, Index param)
{
  Form form = making->form;
  FormPiece piece = &making->piece[form->pieces];

  if (form->pieces == FormPiecesMAX)
    return;
  piece->literal = making->begin;
  piece->length = (uint16_t)(making->text.next - making->begin);
  piece->value = (uint8_t)value;
  piece->param = (uint8_t)param;
  ++form->pieces;
  making->begin = making->text.next;
}

/* formHasSymbol -- does a parameter lead into code? */
static Bool formHasSymbol(EventType type, Index param)
{
  return CodeParam(type, param) != CodeNONE || CallsParam(type, param);
}

/* formValue -- parameter `param`, in `words` or as a bare value; the frequent conversions have values of their own */
static void formValue(FormMaking making, Index param, Bool words)
{
  char letter = making->type->letter[param];
  Bool code = words && making->symbols && formHasSymbol(making->type, param);

  if (letter == 'P' || letter == 'A') {
    TextString(&making->text, "0x");
    formClose(making, code ? FormCODE : FormHEX, param);
  } else if (code) {
    formClose(making, FormCODE, param);
  } else if (letter == 'D' || letter == 'S' || DescribeMayLack(making->type, param)) {
    formClose(making, FormVALUE, param);
  } else {
    formClose(making, FormDECIMAL, param);
  }
}

static void formKind(FormMaking making, Registry registry)
{
  const char *kind = registry->kind[making->type->kind];

  CleanText(&making->text, kind, strlen(kind));
}

/* formLearns -- what the event itself says is known from its own line on */
static void formLearns(FormMaking making)
{
  if (LabelsTells(making->type) != LabelsNOTHING)
    formClose(making, FormINTERNS, 0);
}

static void formText(FormMaking making)
{
  EventType type = making->type;
  Index i;

  CleanText(&making->text, type->name, type->nameLength);
  for (i = 0; i < type->params; ++i) {
    TextChar(&making->text, ' ');
    CleanText(&making->text, type->param[i], type->paramLength[i]);
    TextChar(&making->text, '=');
    formValue(making, i, TRUE);
  }
}

static void formVerbose(FormMaking making, Registry registry)
{
  EventType type = making->type;
  char code[16];

  formKind(making, registry);
  (void)snprintf(code, sizeof code, " 0x%04x ", type->code);
  TextString(&making->text, code);
  formText(making);
}

static void formDescribe(FormMaking making)
{
  EventType type = making->type;
  const char *next = type->describe, *limit = next + type->describeLength, *behind;
  Bool interned;

  if (next == limit) {
    formText(making);
    return;
  }
  while (next < limit) {
    Index param = DescribePlace(&behind, &interned, type, next);
    if (param < type->params && making->form->pieces + 1 < FormPiecesMAX) {
      if (interned)
        formClose(making, FormINTERNED, param);
      else
        formValue(making, param, TRUE);
      next = behind;
    } else {
      TextChar(&making->text, *next >= ' ' && *next < 0x7f ? *next : '?');
      ++next;
    }
  }
}

static void formJson(FormMaking making, Registry registry)
{
  EventType type = making->type;
  Bool quote = FALSE;
  Index i;

  TextString(&making->text, ",\"kind\":\"");
  formKind(making, registry);
  TextString(&making->text, "\",\"name\":\"");
  CleanText(&making->text, type->name, type->nameLength);
  TextString(&making->text, "\",\"params\":{");
  for (i = 0; i < type->params; ++i) {
    TextString(&making->text, quote ? "\",\"" : i > 0 ? ",\"" : "\"");
    CleanText(&making->text, type->param[i], type->paramLength[i]);
    TextString(&making->text, "\":");
    quote = type->letter[i] == 'P' || type->letter[i] == 'A';
    if (quote)
      TextChar(&making->text, '"');
    formValue(making, i, FALSE);
    if (making->symbols && formHasSymbol(type, i)) {
      TextString(&making->text, quote ? "\",\"" : ",\"");
      CleanText(&making->text, type->param[i], type->paramLength[i]);
      TextString(&making->text, FormSYMBOLS "\":");
      formClose(making, FormSYMBOL, i);
      quote = FALSE;
    }
  }
  TextString(&making->text, quote ? "\"}}" : "}}");
}

/* formSymbolOf -- the parameter whose symbol has this column; type->params: none has */
static Index formSymbolOf(FormMaking making, const char *name, Size length)
{
  EventType type = making->type;
  Size behind = sizeof FormSYMBOLS - 1;
  Index param = type->params;

  if (making->symbols && length > behind && memcmp(name + length - behind, FormSYMBOLS, behind) == 0)
    param = DescribeParam(type, name, length - behind);
  return param < type->params && formHasSymbol(type, param) ? param : type->params;
}

static void formCsv(FormMaking making, Registry registry, Strings columns)
{
  EventType type = making->type;
  uint32_t c;
  Index i;

  formKind(making, registry);
  TextChar(&making->text, ',');
  CleanText(&making->text, type->name, type->nameLength);
  for (c = 1; c <= columns->count; ++c) {
    Size length;
    const char *name = StringsAt(columns, c, &length);
    TextChar(&making->text, ',');
    i = DescribeParam(type, name, length);
    if (i < type->params)
      formValue(making, i, FALSE);
    else if ((i = formSymbolOf(making, name, length)) < type->params)
      formClose(making, FormSYMBOL, i);
  }
}

Res FormMake(Form form, LineStyle style, Registry registry, EventType type, Strings columns, Bool symbols)
{
  char literals[FormLiteralMAX];
  formMakingStruct making = {.form = form, .type = type, .symbols = symbols};
  char *copy;
  Size length;
  Index i;

  AVER(form->piece == NULL);
  form->pieces = 0;
  TextInit(&making.text, literals, sizeof literals);
  making.begin = making.text.next;
  if (style == LineTEXT || style == LineVERBOSE || style == LineDESCRIBE)
    formLearns(&making);
  switch (style) {
  case LineTEXT: formText(&making); break;
  case LineVERBOSE: formVerbose(&making, registry); break;
  case LineDESCRIBE: formDescribe(&making); break;
  case LineCSV: formCsv(&making, registry, columns); break;
  case LineJSON: formJson(&making, registry); break;
  }
  TextChar(&making.text, '\n');
  formClose(&making, FormNONE, 0);
  length = TextLength(&making.text);
  form->piece = calloc(1, form->pieces * sizeof *form->piece + length + FormChunkSIZE);
  if (form->piece == NULL)
    return ResMEMORY;
  memcpy(form->piece, making.piece, form->pieces * sizeof *form->piece);
  copy = memcpy(form->piece + form->pieces, literals, length);
  for (i = 0; i < form->pieces; ++i)
    form->piece[i].literal = copy + (making.piece[i].literal - literals);
  AVER(FormCheck(form, type));
  return ResOK;
}

Bool FormCheck(Form form, EventType type)
{
  const char *literal = (const char *)(form->piece + form->pieces), *limit = literal + FormLiteralMAX;
  Index i;

  for (i = 0; i < form->pieces; ++i) {
    FormPiece piece = &form->piece[i];
    if (piece->literal != literal || (Size)(limit - literal) < piece->length ||
        (piece->value != FormNONE && piece->param >= type->params))
      return FALSE;
    literal += piece->length;
  }
  return form->pieces > 0 && form->pieces <= FormPiecesMAX;
}

static Bool formColumn(void *data, Registry registry, EventType type)
{
  Index i;

  UNUSED(registry);
  for (i = 0; i < type->params; ++i)
    if (StringsAdd(data, type->param[i], type->paramLength[i]) == 0)
      return TRUE;
  return FALSE;
}

/* formSymbolColumn -- the columns for what is at code addresses, and for stacks */
static Bool formSymbolColumn(void *data, Registry registry, EventType type)
{
  char name[512]; /* of which a name of a log takes 255 at most */
  Index i;

  UNUSED(registry);
  for (i = 0; i < type->params; ++i)
    if (formHasSymbol(type, i)) {
      int n = snprintf(name, sizeof name, "%.*s" FormSYMBOLS, (int)type->paramLength[i], type->param[i]);
      if (StringsAdd(data, name, (Size)n) == 0)
        return TRUE;
    }
  return FALSE;
}

Res FormColumns(Strings columns, Log log, Bool symbols)
{
  return LogTypesEach(log, formColumn, columns) || (symbols && LogTypesEach(log, formSymbolColumn, columns)) ?
         ResMEMORY : ResOK;
}
