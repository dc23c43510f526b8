/* option.c -- the command line of a tool, from a table
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Not getopt_long: its place in argv is global state, its messages are its own, and its table says neither what an
 * option means nor where its value goes, so that each tool would have the same facts three times.
 */
#include "option.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aver.h"
#include "say.h"
#include "text.h"
#include "version.h"

enum {
  optionHelpCOLUMN = 28, /* where the help of an option begins */
  optionLineWIDTH = 79
};

/* parserStruct -- one run over the command line
 *
 * Always true: 1 <= kept <= next <= argc; argv[1] to argv[kept - 1] are the operands so far. */
typedef struct parserStruct {
  const OptionToolStruct *tool;
  int argc;
  char **argv;
  int next;   /* the first word that has not been looked at */
  int kept;   /* where the next operand goes */
  int status; /* the tool's, once parsing is over */
} parserStruct, *Parser;

/* What every tool has.  Their flags are never written: OptionParse acts on them where it sees them. */
static const OptionStruct optionCommon[] = {
  {"help", 0, OptionFLAG, {.flag = NULL}, NULL, "print this and end", 0},
  {"version", 0, OptionFLAG, {.flag = NULL}, NULL, "print the version and end", 0},
};

/* optionCount -- decimal digits, and perhaps one of `suffixes` behind them; each stands for 1024 times the one before
 */
static Res optionCount(const char *string, const char *suffixes, Count *countReturn)
{
  const char *suffix;
  unsigned long long count;
  unsigned shift = 0;
  char *end;

  if (!isdigit((unsigned char)*string)) /* strtoull would take blanks and a sign */
    return ResPARAM;
  errno = 0;
  count = strtoull(string, &end, 10);
  suffix = *end != '\0' ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
  if (suffix != NULL) {
    shift = 10 * (unsigned)(suffix - suffixes + 1);
    ++end;
  }
  if (*end != '\0')
    return ResPARAM;
  if (errno == ERANGE || count > (SIZE_MAX >> shift))
    return ResLIMIT;
  *countReturn = (Count)count << shift;
  return ResOK;
}

Res OptionParseNumber(const char *string, Count *numberReturn)
{
  return optionCount(string, "", numberReturn);
}

Res OptionParseSize(const char *string, Size *sizeReturn)
{
  return optionCount(string, "KMGT", sizeReturn);
}

Res OptionParseDouble(const char *string, double *realReturn)
{
  char *end;
  double real;

  if (isspace((unsigned char)*string) || *string == '\0')
    return ResPARAM;
  real = strtod(string, &end);
  if (*end != '\0' || isnan(real))
    return ResPARAM;
  if (isinf(real))
    return ResLIMIT;
  *realReturn = real;
  return ResOK;
}

/* ---- Messages ---- */

int OptionUsage(const OptionToolStruct *tool, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  SayLines(stderr, tool->name, format, args);
  va_end(args);
  fprintf(stderr, "try '%s --help'\n", tool->name);
  return tool->usage;
}

int OptionFail(const OptionToolStruct *tool, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  SayLines(stderr, tool->name, format, args);
  va_end(args);
  return tool->failure;
}

/* ---- Help ---- */

/* Words from column optionHelpCOLUMN on, in as many lines as they need. */
static void optionPrintWrapped(const char *words)
{
  int column = optionHelpCOLUMN;

  while (*words != '\0') {
    int length = (int)strcspn(words, " ");

    if (column > optionHelpCOLUMN && column + 1 + length > optionLineWIDTH) {
      printf("\n%*s", optionHelpCOLUMN, "");
      column = optionHelpCOLUMN;
    }
    column += printf("%s%.*s", column > optionHelpCOLUMN ? " " : "", length, words);
    words += length;
    words += strspn(words, " ");
  }
  putchar('\n');
}

static void optionPrintOption(const OptionStruct *option)
{
  int column;

  if (option->letter != 0)
    column = printf("  -%c, --%s", option->letter, option->name);
  else
    column = printf("      --%s", option->name);
  if (option->argument != NULL)
    column += printf("=%s", option->argument);
  if (column + 2 > optionHelpCOLUMN) {
    putchar('\n');
    column = 0;
  }
  printf("%*s", optionHelpCOLUMN - column, "");
  optionPrintWrapped(option->help);
}

/* What went to standard output got there, or the failure is reported. */
static int optionFlush(const OptionToolStruct *tool)
{
  if (fflush(stdout) != 0 || ferror(stdout))
    return OptionFail(tool, "standard output: %s", strerror(errno));
  return 0;
}

/* The row with this number, of the tool's and then of those that every tool has. */
static const OptionStruct *optionAt(const OptionToolStruct *tool, Index i)
{
  AVER(i < tool->count + ARRAY_LENGTH(optionCommon));
  return i < tool->count ? &tool->options[i] : &optionCommon[i - tool->count];
}

static int optionPrintHelp(const OptionToolStruct *tool)
{
  Index i;

  printf("Usage: %s %s\n%s\n\n", tool->name, tool->synopsis, tool->summary);
  for (i = 0; i < tool->count + ARRAY_LENGTH(optionCommon); ++i)
    optionPrintOption(optionAt(tool, i));
  if (tool->notes != NULL)
    printf("\n%s\n", tool->notes);
  return optionFlush(tool);
}

/* ---- Parsing ---- */

/* The index of `word` among `choices`, words separated by bars; FALSE if it is none of them. */
static Bool optionFindChoice(const char *choices, const char *word, unsigned *indexReturn)
{
  Size length = strlen(word), size;
  unsigned i;

  for (i = 0;; ++i, choices += size + 1) {
    size = strcspn(choices, "|");
    if (size == length && memcmp(choices, word, size) == 0) {
      *indexReturn = i;
      return TRUE;
    }
    if (choices[size] == '\0')
      return FALSE;
  }
}

static Res optionStore(const OptionStruct *option, const char *argument)
{
  switch (option->type) {
  case OptionFLAG:
    *option->value.flag = TRUE;
    return ResOK;
  case OptionSTRING:
    *option->value.string = argument;
    return ResOK;
  case OptionNUMBER:
    return OptionParseNumber(argument, option->value.number);
  case OptionSIZE:
    return OptionParseSize(argument, option->value.size);
  case OptionDOUBLE:
    return OptionParseDouble(argument, option->value.real);
  case OptionCHOICE:
    return optionFindChoice(option->argument, argument, option->value.choice) ? ResOK : ResPARAM;
  }
  return ResPARAM;
}

/* Stores an option's value, and reports one that does not parse.  Returns whether to go on. */
static Bool parserSet(Parser parser, const OptionStruct *option, const char *argument)
{
  static const char *const due[] = {
    [OptionNUMBER] = "a number",
    [OptionSIZE] = "a size such as 4096, 64K, 16M or 1G",
    [OptionDOUBLE] = "a number",
  };
  Res res = optionStore(option, argument);

  if (parser->tool->given != NULL)
    *parser->tool->given |= (uint64_t)1 << (option - parser->tool->options);
  if (res == ResOK)
    return TRUE;
  if (option->type == OptionCHOICE)
    parser->status = OptionUsage(parser->tool, "--%s: '%s' is none of %s", option->name, argument, option->argument);
  else if (res == ResLIMIT)
    parser->status = OptionUsage(parser->tool, "--%s: %s is too large", option->name, argument);
  else
    parser->status = OptionUsage(parser->tool, "--%s: '%s' is not %s", option->name, argument, due[option->type]);
  return FALSE;
}

/* The next word, as the argument of `option`; NULL, reported, if there is none. */
static const char *parserArgument(Parser parser, const OptionStruct *option)
{
  if (parser->next < parser->argc)
    return parser->argv[parser->next++];
  parser->status = OptionUsage(parser->tool, "--%s needs an argument: %s", option->name, option->argument);
  return NULL;
}

/* The option with this long name, or the only one that begins so; NULL, reported, if there is none. */
static const OptionStruct *parserFindLong(Parser parser, const char *name, Size length)
{
  Count count = parser->tool->count + ARRAY_LENGTH(optionCommon);
  const OptionStruct *found = NULL;
  Index i;

  for (i = 0; i < count; ++i) {
    const OptionStruct *option = optionAt(parser->tool, i);

    if (strncmp(option->name, name, length) != 0)
      continue;
    if (option->name[length] == '\0')
      return option;
    if (found != NULL) {
      parser->status = OptionUsage(parser->tool, "option --%.*s is ambiguous: --%s or --%s", (int)length, name,
                                   found->name, option->name);
      return NULL;
    }
    found = option;
  }
  if (found == NULL)
    parser->status = OptionUsage(parser->tool, "no option is called --%.*s", (int)length, name);
  return found;
}

/* A word that begins with two dashes.  Each of these returns whether to go on. */
static Bool parserLong(Parser parser, const char *word)
{
  Size length = strcspn(word, "=");
  const char *argument = word[length] == '=' ? word + length + 1 : NULL;
  const OptionStruct *option = parserFindLong(parser, word, length);

  if (option == NULL)
    return FALSE;
  if (option->type == OptionFLAG && argument != NULL)
    return OptionStop(&parser->status, OptionUsage(parser->tool, "--%s takes no argument", option->name));
  if (option == &optionCommon[0])
    return OptionStop(&parser->status, optionPrintHelp(parser->tool));
  if (option == &optionCommon[1]) {
    printf("%s (Pawprint) %s\n", parser->tool->name, PawprintVERSION);
    return OptionStop(&parser->status, optionFlush(parser->tool));
  }
  if (option->type != OptionFLAG && argument == NULL && (argument = parserArgument(parser, option)) == NULL)
    return FALSE;
  return parserSet(parser, option, argument);
}

/* A word that begins with one dash: letters, of which the first that takes an argument takes the rest. */
static Bool parserShort(Parser parser, const char *letters)
{
  for (; *letters != '\0'; ++letters) {
    const OptionStruct *option = parser->tool->options, *limit = option + parser->tool->count;
    const char *argument;

    while (option < limit && option->letter != *letters)
      ++option;
    if (option == limit)
      return OptionStop(&parser->status, OptionUsage(parser->tool, "no option is called -%c", *letters));
    if (option->type == OptionFLAG) {
      (void)parserSet(parser, option, NULL);
      continue;
    }
    argument = letters[1] != '\0' ? letters + 1 : parserArgument(parser, option);
    return argument != NULL && parserSet(parser, option, argument);
  }
  return TRUE;
}

/* optionHold -- hold those of descriptors 0, 1 and 2 that are closed, so that nothing that is opened later becomes
 * standard output, and no message goes into a log
 *
 * What is read there or written fails as before, and a program that we become by exec finds them closed, as we did.
 * returns  ResIO: one cannot be held, with errno */
static Res optionHold(void)
{
  int fd, held;

  for (fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
      continue;
    /* Standard input can only be written and the others can only be read, so that using them fails (EBADF), as if they
     * were closed.  open returns the lowest free number, which is this one. */
    held = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (held < 0)
      return ResIO;
  }
  return ResOK;
}

Bool OptionParse(const OptionToolStruct *tool, int argc, char **argv, Count *operandsReturn, int *statusReturn)
{
  parserStruct parser = {.tool = tool, .argc = argc, .argv = argv, .next = argc > 0, .kept = argc > 0};
  Bool options = TRUE;

  AVER(tool->given == NULL || tool->count <= 64);
  if (optionHold() != ResOK)
    return OptionStop(statusReturn, OptionFail(tool, "/dev/null, in the place of a standard descriptor that is "
                                               "closed: %s", strerror(errno)));
  if (tool->given != NULL)
    *tool->given = 0;
  while (parser.next < argc) {
    char *word = argv[parser.next++];
    Bool goesOn = TRUE;

    if (!options || word[0] != '-' || word[1] == '\0') {
      argv[parser.kept++] = word;
      options = options && !tool->stopAtOperand;
    } else if (strcmp(word, "--") == 0) {
      options = FALSE;
    } else {
      goesOn = word[1] == '-' ? parserLong(&parser, word + 2) : parserShort(&parser, word + 1);
    }
    if (!goesOn) {
      *statusReturn = parser.status;
      return FALSE;
    }
  }
  if (parser.kept < argc)
    argv[parser.kept] = NULL;
  *operandsReturn = (Count)(parser.kept > 0 ? parser.kept - 1 : 0);
  return TRUE;
}

/* ---- Options that would mean nothing ---- */

enum { optionFitNamesMAX = 3, optionFitTextSIZE = 1024 };

/* optionFitNames -- the names of some uses, as one would say them */
static void optionFitNames(Text text, const OptionUseStruct *uses, Count count, uint64_t which)
{
  Count left = (Count)__builtin_popcountll(which);
  Index i;

  for (i = 0; i < count; ++i)
    if (which >> i & 1) {
      TextString(text, uses[i].name);
      --left;
      TextString(text, left > 1 ? ", " : left == 1 ? " and " : "");
    }
}

/* optionFitIsUse -- is the option what asks for one of these uses? */
static Bool optionFitIsUse(const OptionStruct *option, const OptionUseStruct *uses, Count count, uint64_t which)
{
  Index i;

  for (i = 0; i < count; ++i)
    if (which >> i & 1 && strncmp(uses[i].name, "--", 2) == 0 && strcmp(uses[i].name + 2, option->name) == 0)
      return TRUE;
  return FALSE;
}

Bool OptionFit(const OptionToolStruct *tool, const OptionUseStruct *uses, Count count, uint64_t chosen,
               int *statusReturn)
{
  char room[optionFitTextSIZE];
  TextStruct text;
  Index i, u;

  AVER(tool->given != NULL && tool->count <= 64 && count <= 64);
  for (i = 0; i < tool->count; ++i) {
    const OptionStruct *option = &tool->options[i];
    uint64_t takers = 0;
    if ((*tool->given >> i & 1) == 0 || option->group == 0)
      continue;
    for (u = 0; u < count; ++u)
      if ((uses[u].takes & option->group) != 0)
        takers |= (uint64_t)1 << u;
    if ((takers & chosen) != 0)
      continue;
    TextInit(&text, room, sizeof room);
    TextString(&text, "has no meaning with ");
    optionFitNames(&text, uses, count, chosen);
    if (__builtin_popcountll(takers) <= optionFitNamesMAX && !optionFitIsUse(option, uses, count, takers)) {
      TextString(&text, "; it is for ");
      optionFitNames(&text, uses, count, takers);
    }
    return OptionStop(statusReturn, OptionUsage(tool, "--%s %s", option->name, TextTerminate(&text)));
  }
  return TRUE;
}
