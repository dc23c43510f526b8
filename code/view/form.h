/* form.h -- what the line of an event type looks like in a style, worked out once
 *
 * Always true: pieces[i].param < params or FormNONE; literals are padded to FormChunkSIZE, so that they may
 * be copied in chunks.
 *
 * Design: design/log.md .line      Tests: test/linetest.c
 */
#ifndef VIEW_FORM_H
#define VIEW_FORM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/log.h"
#include "view/line.h"

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
  uint16_t offset;     /* of the value in the event */
  uint8_t width;
} FormPieceStruct, *FormPiece;

typedef struct FormStruct {
  Count pieces;
  FormPiece piece;
  char *literals;
} FormStruct, *Form;

/* FormColumns -- the columns of CSV: every parameter name of every registry, once */
typedef struct FormColumnStruct {
  const char *name; /* not terminated */
  uint8_t length;
} FormColumnStruct;

typedef struct FormColumnsStruct {
  Count count, capacity;
  FormColumnStruct *column;
} FormColumnsStruct, *FormColumns;

extern Res FormColumnsMake(FormColumns columns, Log log);
extern void FormColumnsFree(FormColumns columns);

/* FormMake -- the form of `type` in `style`; ResMEMORY.  FormFree gives its memory back. */
extern Res FormMake(Form form, LineStyle style, Registry registry, EventType type, FormColumns columns);
extern void FormFree(Form form);

#endif /* VIEW_FORM_H */
