/* option.h -- the command line of a tool, from a table
 *
 * A tool describes its options in one table; this parses them the GNU way (-o FILE, -oFILE, --output FILE,
 * --output=FILE, -vn5, unique beginnings of long names, `--`, options behind operands) and prints the table as
 * --help.  --help and --version are there without being named.
 *
 *   static Bool run(...)
 *     const char *output = "-";
 *     Count count = 0;
 *     const OptionStruct options[] = {
 *       OptionString('o', "output", &output, "PATH", "write there; standard output if not given"),
 *       OptionNumber('n', "count", &count, "N", "at most N events"),
 *     };
 *     const OptionToolStruct tool = {
 *       .name = "eventcnv", .synopsis = "[options] log...", .summary = "Dumps and converts logs.",
 *       .options = options, .count = ARRAY_LENGTH(options), .usage = 2, .failure = 1,
 *     };
 *     if (!OptionParse(&tool, argc, argv, &operands, &status))
 *       return status;
 *     for (i = 1; i <= operands; ++i) ... argv[i] ...
 *
 * Always true: nothing is kept between calls; a value is written only by an option that was given and parses, so
 * that what stood there before is the default.
 *
 * Design: design/house.md .option .standard      Tests: test/base/optiontest.c, test/base/standard.t
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "types.h"

typedef enum OptionType {
  OptionFLAG,   /* no argument; sets TRUE */
  OptionSTRING, /* the argument itself, a piece of argv */
  OptionNUMBER, /* decimal, no sign */
  OptionSIZE,   /* bytes: decimal, or with K, M, G or T behind it (powers of 1024) */
  OptionDOUBLE, /* a finite number */
  OptionCHOICE  /* one of the words of `argument`, which are separated by bars; its index */
} OptionType;

/* OptionStruct -- one option; made by the macros below, which let the compiler check the value's type */
typedef struct OptionStruct {
  const char *name;     /* the long name, without dashes */
  char letter;          /* the short one, or 0 */
  OptionType type;
  union {
    Bool *flag;
    const char **string;
    Count *number;
    Size *size;
    double *real;
    unsigned *choice;
  } value;              /* where it goes; owned by the caller */
  const char *argument; /* what --help calls the argument; the choices for OptionCHOICE; NULL for a flag */
  const char *help;     /* a sentence without capital and full stop */
  unsigned group;       /* a bit, if there are uses of the tool in which it means nothing (OptionFit); or 0 */
} OptionStruct;

/* The last argument of each may be the option's group. */

#define OptionFlag(letter, name, where, help, ...) \
  {name, letter, OptionFLAG, {.flag = (where)}, NULL, help, __VA_ARGS__ + 0}
#define OptionString(letter, name, where, argument, help, ...) \
  {name, letter, OptionSTRING, {.string = (where)}, argument, help, __VA_ARGS__ + 0}
#define OptionNumber(letter, name, where, argument, help, ...) \
  {name, letter, OptionNUMBER, {.number = (where)}, argument, help, __VA_ARGS__ + 0}
#define OptionSize(letter, name, where, argument, help, ...) \
  {name, letter, OptionSIZE, {.size = (where)}, argument, help, __VA_ARGS__ + 0}
#define OptionDouble(letter, name, where, argument, help, ...) \
  {name, letter, OptionDOUBLE, {.real = (where)}, argument, help, __VA_ARGS__ + 0}
#define OptionChoice(letter, name, where, choices, help, ...) \
  {name, letter, OptionCHOICE, {.choice = (where)}, choices, help, __VA_ARGS__ + 0}

/* OptionToolStruct -- a tool as its user sees it */
typedef struct OptionToolStruct {
  const char *name;            /* as in messages */
  const char *synopsis;        /* behind the name in the first line of --help */
  const char *summary;         /* what it does, in a sentence or two; may have several lines */
  const OptionStruct *options; /* `count` of them */
  Count count;
  const char *notes;           /* printed as it is at the end of --help; may be NULL */
  int usage;                   /* status for a command line that cannot be meant */
  int failure;                 /* status for what else fails */
  uint64_t *given;             /* gets a bit for each row that was given, of at most 64; or NULL */
  Bool stopAtOperand;          /* the first operand ends the options: what follows belongs to another program */
} OptionToolStruct;

/* OptionParse -- hold the standard descriptors, and read the command line
 *
 * argv            is reordered: argv[1] to argv[*operandsReturn] are the operands, then NULL
 * returns         TRUE to go on; FALSE when all is said (--help, --version, an error, which has been
 *                 reported on standard error): exit with *statusReturn
 */
extern Bool OptionParse(const OptionToolStruct *tool, int argc, char **argv, Count *operandsReturn,
                        int *statusReturn);

/* OptionUseStruct -- a way to use a tool, in which the options of some groups mean something */
typedef struct OptionUseStruct {
  const char *name; /* as messages have it: "--format=csv", "--check" */
  unsigned takes;   /* groups */
} OptionUseStruct;

/* OptionFit -- does every option that was given mean something in one of the uses that are chosen?  What would be
 * ignored is a mistake.  FALSE: reported, with the status.
 *
 * uses     `count` of them, at most 64
 * chosen   a bit for each that the command line asks for
 */
extern Bool OptionFit(const OptionToolStruct *tool, const OptionUseStruct *uses, Count count, uint64_t chosen,
                      int *statusReturn);

/* OptionUsage -- report what is wrong with the command line, and how to ask for help; returns tool->usage
 * OptionFail  -- report a failure, `name: message`; returns tool->failure
 * Both take printf's arguments; no full stop or newline is needed. */
extern int OptionUsage(const OptionToolStruct *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern int OptionFail(const OptionToolStruct *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* OptionStop -- what a function that returns whether to go on returns when it does not: FALSE, with the status */
static inline Bool OptionStop(int *statusReturn, int status)
{
  *statusReturn = status;
  return FALSE;
}

/* The values alone, for operands and for parts of arguments.  ResPARAM: not such a thing at all; ResLIMIT: one
 * that is too large.  *Return is written only with ResOK. */
extern Res OptionParseNumber(const char *string, Count *numberReturn);
extern Res OptionParseSize(const char *string, Size *sizeReturn);
extern Res OptionParseDouble(const char *string, double *realReturn);

#endif /* BASE_OPTION_H */
