/* filterdata.h -- a filter, from the inside
 *
 *   filterparse    bytes -> tokens -> a tree of comparisons
 *   filtercheck    what each comparison means: fields, types, constants as ranges, regular expressions
 *   filtercompile  the tree -> steps, for one type of event; steps and an event -> whether it passes
 *   filter         all together, and what can be said without an event
 *
 * Always true: a token's, node's and test's pointers lead into the filter's own memory, which is freed as a whole.
 *
 * Design: design/filter.md      Tests: test/filter/filtertest.c
 */
#ifndef FILTER_FILTERDATA_H
#define FILTER_FILTERDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <regex.h>

#include "base/text.h"
#include "filter/filter.h"

/* Tokens */

typedef enum FilterMark {
  FilterMarkEND, FilterMarkNUMBER, FilterMarkSTRING, FilterMarkNAME,
  FilterMarkEQ, FilterMarkNE, FilterMarkLT, FilterMarkLE, FilterMarkGT, FilterMarkGE, FilterMarkMATCH, FilterMarkIN,
  FilterMarkAND, FilterMarkOR, FilterMarkNOT, FilterMarkOPEN, FilterMarkCLOSE, FilterMarkFROM, FilterMarkTO,
  FilterMarkCOMMA
} FilterMark;

typedef struct FilterNumberStruct {
  Bool whole;       /* integer is exact */
  Bool negative;
  uint64_t integer; /* without the sign */
  double real;      /* with it */
} FilterNumberStruct, *FilterNumber;

typedef struct FilterTokenStruct {
  FilterMark mark;
  Size at, length;           /* in the expression */
  FilterNumberStruct number;
  const char *string;        /* STRING: its value; NAME: the name */
  Size stringLength;
} FilterTokenStruct, *FilterToken;

/* What is compared */

typedef enum FilterField {
  FilterFieldPARAM, FilterFieldTIME, FilterFieldPID, FilterFieldTID, FilterFieldKIND, FilterFieldNAME,
  FilterFieldPROCESS, FilterFieldCODE, FilterFieldCPU
} FilterField;

typedef struct FilterOperandStruct {
  FilterToken token;
  FilterField field;         /* if the token is a NAME */
} FilterOperandStruct, *FilterOperand;

typedef enum FilterClass { FilterClassNUMBER, FilterClassSTRING } FilterClass;

/* Of integers; none: lo > hi */
typedef struct FilterRangeStruct {
  uint64_t lo, hi;           /* inclusive */
} FilterRangeStruct, *FilterRange;

typedef struct FilterTestStruct {
  FilterOperandStruct left;  /* a field */
  FilterOperandStruct right; /* a field or a constant */
  FilterOperandStruct last;  /* of IN */
  FilterMark relation;       /* EQ for !=, too, */
  Bool negated;              /* which is so marked */
  FilterClass class;         /* as what they are compared */
  FilterRangeStruct range;   /* NUMBER and a constant: as integers, ns of wall time for the time; */
  double lo, hi;             /* as doubles, inclusive */
  regex_t regex;             /* of MATCH, */
  Bool compiled;             /* if so */
} FilterTestStruct, *FilterTest;

typedef struct FilterNodeStruct *FilterNode;

struct FilterNodeStruct {
  enum { FilterNodeTEST, FilterNodeAND, FilterNodeOR, FilterNodeNOT } op;
  FilterNode left, right;    /* right of AND and OR only */
  FilterTest test;
};

/* A plan: the steps for one type of event.  A step asks one question and says where to go on. */

enum {
  FilterStepFALSE = 0xfffe, FilterStepTRUE = 0xffff, /* the ends; all less is the number of a step */
  FilterTestSTEPS = 2                                /* of one comparison, at most */
};

typedef enum FilterAsk {
  FilterAskWORD8, FilterAskWORD4, FilterAskWORD, FilterAskREAL, FilterAskTIME, FilterAskTID, FilterAskCPU,
  FilterAskSTRING, FilterAskPAIR
} FilterAsk;

typedef struct FilterStepStruct {
  uint16_t ask;
  uint16_t offset;           /* WORD8 and WORD4: offset in the event; else the parameter's number */
  uint16_t yes, no;
  uint64_t lo, span;         /* WORD*, TIME, TID, CPU: value - lo <= span */
  FilterTest test;
} FilterStepStruct, *FilterStep;

typedef struct FilterPlanStruct {
  uint16_t first;            /* where to begin */
  uint16_t count;
  FilterStepStruct step[];
} FilterPlanStruct, *FilterPlan;

/* The plans for one registry; or for one process, if the expression uses pid or process. */
typedef struct FilterPlansStruct *FilterPlans;

struct FilterPlansStruct {
  FilterPlans next;
  LogProcess process;
  Registry registry;
  FilterPlan plan[];         /* by number of the type; NULL: not made yet */
};

struct FilterStruct {
  Log log;
  LogSummaryStruct summary;  /* of the log when the filter was made */
  const char *text;          /* owned, as are these: */
  char *strings;
  FilterToken token;
  FilterNode node;
  FilterTest test;
  FilterStep scratch;
  Count tokens, nodes, tests;
  FilterNode root;
  Bool own;                  /* the plans of each process are its own */
  uint64_t from, to;         /* the request has only events of these times */
  FilterPlans plans;         /* all there are, */
  FilterPlans *by;           /* and by number of the process, or NULL */
  Count processes;
  Res res;
  Text error;                /* while it is made */
};

/* FilterFail -- write the error for a position in the expression; returns ResPARAM.  Takes printf's arguments. */
extern Res FilterFail(Filter filter, Size at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The stages of FilterMake, in this order; each fails with ResPARAM, having said why, or with ResMEMORY. */
extern Res FilterParse(Filter filter);
extern Res FilterCheckTests(Filter filter);

/* FilterPlanFor -- the plan for a type; NULL: no memory, and FilterRes returns ResMEMORY from then on */
extern FilterPlan FilterPlanFor(Filter filter, LogProcess process, EventType type);

/* FilterParam -- the number of the parameter that a field names, if the type has it in that class; else -1 */
extern int FilterParam(EventType type, FilterOperand operand, FilterClass class);

/* FilterProgram -- the name or path of a process's program with which a test compares (filter.md .program) */
extern const char *FilterProgram(FilterTest test, LogProcess process);

/* FilterStringHolds -- is a string in the test's relation to its constant? */
extern Bool FilterStringHolds(FilterTest test, const char *string, Size length);

/* FilterPatternMatches -- does a string have a part that the test's pattern matches? */
extern Bool FilterPatternMatches(FilterTest test, const char *string, Size length);

#endif /* FILTER_FILTERDATA_H */
