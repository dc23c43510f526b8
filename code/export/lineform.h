/* lineform.h -- what the line of an event type looks like in text, CSV or JSON, worked out once for each type
 *
 * A form is a row of pieces: a literal, and the value of a parameter behind it.
 *
 * Always true: pieces[i].param < params or FormNONE; literals are padded to FormChunkSIZE, so that they may be copied in
 * chunks.
 *
 * Tests: test/export/linetest.c
 */
#ifndef EXPORT_LINEFORM_H
#define EXPORT_LINEFORM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/textcsvjson.h"

enum {
  FormChunkSIZE = 32,
  FormPiecesMAX = 2 * EventParamMAX + 1,
  FormLiteralMAX = 12288 /* bytes of all literals of a form; more is cut */
};

typedef enum FormValue {
  FormNONE, /* the literal alone */
  FormHEX, FormDECIMAL, FormDOUBLE, FormQUOTED,
  FormCSV,  /* a string as CSV has it */
  FormJSON, /* and as JSON */
  FormREAL, /* a double as JSON has it */
  FormKNOWN, /* a number, of which all bits say that it is unknown; */
  FormKNOWNCSV, FormKNOWNJSON, /* which is nothing, or null, there */
  FormINTERNED, /* the string that has this number */
  FormINTERNS,  /* nothing: the event gives a string this number */
  FormLABELS    /* nothing: the event gives this address a label */
} FormValue;

typedef struct FormPieceStruct {
  const char *literal; /* comes before the value */
  uint16_t length;
  uint8_t value;       /* FormValue */
  uint8_t param;
} FormPieceStruct, *FormPiece;

typedef struct FormStruct {
  Count pieces;
  FormPiece piece;
  char *literals;
} FormStruct, *Form;

/* The columns of CSV: every parameter name of every registry, once. */
typedef struct FormColumnStruct {
  const char *name; /* not terminated */
  uint8_t length;
} FormColumnStruct;

typedef struct FormColumnsStruct {
  Count count, capacity;
  FormColumnStruct *column;
} FormColumnsStruct, *FormColumns;

/* FormMake -- the form of `type` in `style`; ResMEMORY.  `columns` is for CSV.  FormFree gives its memory back. */
extern Res FormMake(Form form, LineStyle style, Registry registry, EventType type, FormColumns columns);
extern void FormFree(Form form);

/* FormColumnsMake -- the columns of a log's events; ResMEMORY.  Names are the log's own. */
extern Res FormColumnsMake(FormColumns columnsReturn, Log log);
extern void FormColumnsFree(FormColumns columns);

#endif /* EXPORT_LINEFORM_H */
