/* lineform.h -- what the line of an event type looks like in text, CSV or JSON, worked out once for each type
 *
 * A form is a row of pieces: a literal, and the value of a parameter behind it.
 *
 * Always true (FormCheck): a piece has a parameter of the type, or no value; the literals lie behind the pieces, one
 * after the other, FormLiteralMAX bytes in all at most.  From the end of each FormChunkSIZE bytes may be read, so that
 * literals are copied in chunks.
 *
 * Tests: test/export/linetest.c, test/export/exportchecktest.c
 */
#ifndef EXPORT_LINEFORM_H
#define EXPORT_LINEFORM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/eventlines.h"
#include "request/stringtable.h"

enum {
  FormChunkSIZE = 32,
  FormPiecesMAX = 2 * EventParamMAX + 1,
  FormLiteralMAX = 12288 /* bytes of all literals of a form; more is cut */
};

typedef enum FormValue {
  FormNONE,     /* the literal alone */
  FormHEX, FormDECIMAL,
  FormVALUE,    /* whatever DescribeValue makes of it */
  FormCODE,     /* a code address or a stack: the number, then the functions in brackets */
  FormSYMBOL,   /* that alone, as a string; nothing or null if nothing is known */
  FormINTERNED, /* the string that has this number */
  FormINTERNS   /* nothing: the event gives a string a number, or an address a label */
} FormValue;

typedef struct FormPieceStruct {
  const char *literal; /* comes before the value */
  uint16_t length;
  uint8_t value;       /* FormValue */
  uint8_t param;
} FormPieceStruct, *FormPiece;

typedef struct FormStruct {
  Count pieces;
  FormPiece piece; /* malloc's, the literals behind them included; NULL: not made yet */
} FormStruct, *Form;

/* FormMake -- the form of `type` in `style`; ResMEMORY.  `columns` is for CSV.  With `symbols` code addresses come with
 * what is there, and stacks with their functions. */
extern Res FormMake(Form form, LineStyle style, Registry registry, EventType type, Strings columns, Bool symbols);
extern Bool FormCheck(Form form, EventType type);

/* FormColumns -- the columns of CSV: every parameter name of a log's registries, once; with `symbols` those of code
 * addresses again, with FormSYMBOLS behind; ResMEMORY */
#define FormSYMBOLS "_symbol"
extern Res FormColumns(Strings columns, Log log, Bool symbols);

#endif /* EXPORT_LINEFORM_H */
