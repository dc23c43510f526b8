/* lineform.c -- what the line of an event type looks like in text, CSV or JSON, worked out once for each type
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/lineform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "export/describe.h"
#include "export/output.h"
#include "heap/interns.h"

/* A form being made: literals run up in `text`, and a piece is closed by a value. */
typedef struct formMakingStruct {
  Form form;
  EventType type;
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

/* formValue -- parameter `param` in the way of its letter; `string` and `real` are how the style has S and D */
static void formValue(FormMaking making, Index param, FormValue string, FormValue real)
{
  switch (making->type->letter[param]) {
  case 'P':
  case 'A':
    TextString(&making->text, "0x");
    formClose(making, FormHEX, param);
    break;
  case 'D':
    formClose(making, real, param);
    break;
  case 'S':
    formClose(making, string, param);
    break;
  default:
    if (!DescribeMayLack(making->type, param))
      formClose(making, FormDECIMAL, param);
    else
      formClose(making, string == FormCSV ? FormKNOWNCSV : string == FormJSON ? FormKNOWNJSON : FormKNOWN, param);
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
  int one, other;

  if (InternsTells(&one, &other, making->type))
    formClose(making, FormINTERNS, (Index)one);
  else if (InternsLabels(&one, &other, making->type))
    formClose(making, FormLABELS, (Index)one);
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
    formValue(making, i, FormQUOTED, FormDOUBLE);
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
        formValue(making, param, FormQUOTED, FormDOUBLE);
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
    formValue(making, i, FormJSON, FormREAL);
  }
  TextString(&making->text, quote ? "\"}}" : "}}");
}

static void formCsv(FormMaking making, Registry registry, FormColumns columns)
{
  EventType type = making->type;
  Index c, i;

  formKind(making, registry);
  TextChar(&making->text, ',');
  CleanText(&making->text, type->name, type->nameLength);
  for (c = 0; c < columns->count; ++c) {
    TextChar(&making->text, ',');
    i = DescribeParam(type, columns->column[c].name, columns->column[c].length);
    if (i < type->params)
      formValue(making, i, FormCSV, FormDOUBLE);
  }
}

void FormFree(Form form)
{
  free(form->piece);
  free(form->literals);
  form->piece = NULL;
  form->literals = NULL;
}

Res FormMake(Form form, LineStyle style, Registry registry, EventType type, FormColumns columns)
{
  char literals[FormLiteralMAX];
  formMakingStruct making = {.form = form, .type = type};
  Size length;
  Index i;

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
  form->piece = malloc(form->pieces * sizeof *form->piece);
  form->literals = calloc(1, length + FormChunkSIZE);
  if (form->piece == NULL || form->literals == NULL) {
    FormFree(form);
    return ResMEMORY;
  }
  memcpy(form->literals, literals, length);
  memcpy(form->piece, making.piece, form->pieces * sizeof *form->piece);
  for (i = 0; i < form->pieces; ++i)
    form->piece[i].literal = form->literals + (making.piece[i].literal - literals);
  return ResOK;
}

static Res formColumn(FormColumns columns, const char *name, uint8_t length)
{
  Index i;

  for (i = 0; i < columns->count; ++i)
    if (columns->column[i].length == length && memcmp(columns->column[i].name, name, length) == 0)
      return ResOK;
  if (!Grow(&columns->column, &columns->capacity, columns->count, sizeof *columns->column))
    return ResMEMORY;
  columns->column[columns->count] = (FormColumnStruct){name, length};
  ++columns->count;
  return ResOK;
}

Res FormColumnsMake(FormColumns columns, Log log)
{
  Index i, t, p;

  memset(columns, 0, sizeof *columns);
  for (i = 0; i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    if (i > 0 && registry == LogProcessAt(log, i - 1)->registry)
      continue;
    for (t = 0; t < registry->count; ++t)
      for (p = 0; p < registry->types[t].params; ++p)
        if (formColumn(columns, registry->types[t].param[p], registry->types[t].paramLength[p]) != ResOK)
          return ResMEMORY;
  }
  return ResOK;
}

void FormColumnsFree(FormColumns columns)
{
  free(columns->column);
}
