/* optiontest.c -- the command line of a tool, from a table
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/option.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/version.h"
#include "tap.h"

enum { usageSTATUS = 125, failureSTATUS = 1 };

/* What one run of OptionParse came to */
typedef struct RunStruct {
  Bool verbose;
  Bool verify;
  const char *output;
  Count count;
  Size size;
  double from;
  unsigned mode;
  char *argv[16];
  Count operands;
  int status;
  Bool goesOn;
} RunStruct;

static OptionToolStruct toolOf(const OptionStruct *options, Count count, Bool stopAtOperand)
{
  OptionToolStruct tool = {
    .name = "tool", .synopsis = "[options] file...", .summary = "Does something.", .options = options, .count = count,
    .notes = "A note.", .usage = usageSTATUS, .failure = failureSTATUS, .stopAtOperand = stopAtOperand,
  };

  return tool;
}

/* Parses `line`, split at blanks; `run` is what is left of it. */
static void parse(RunStruct *run, const char *line, Bool stopAtOperand)
{
  static char words[256];
  const OptionStruct options[] = {
    OptionFlag('v', "verbose", &run->verbose, "say more"),
    OptionFlag(0, "verify", &run->verify, "look twice"),
    OptionString('o', "output", &run->output, "PATH", "where to write"),
    OptionNumber('n', "count", &run->count, "N", "how many"),
    OptionSize('b', "block-size", &run->size, "SIZE",
               "bytes of a block, which is a long story that does not fit into one line of the help"),
    OptionDouble(0, "from", &run->from, "T", "seconds"),
    OptionChoice('m', "mode", &run->mode, "observe|manage", "whose malloc serves"),
  };
  OptionToolStruct tool = toolOf(options, ARRAY_LENGTH(options), stopAtOperand);
  int argc = 0;
  char *word;

  memset(run, 0, sizeof *run);
  run->output = "default";
  run->mode = 7;
  run->status = -1;
  snprintf(words, sizeof words, "%s", line);
  for (word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
    run->argv[argc++] = word;
  run->goesOn = OptionParse(&tool, argc, run->argv, &run->operands, &run->status);
}

/* A tool with three uses; returns whether the line fits those that are chosen. */
static Bool fits(const char *line, uint64_t chosen, int *status)
{
  static const OptionUseStruct uses[] = {
      {"--as=one", 1}, {"--as=two", 3}, {"--look", 4}, {"--as=three", 1}, {"four", 1}};
  static char words[256];
  Bool thin = FALSE, look = FALSE, any = FALSE;
  Count value = 0;
  uint64_t given = ~(uint64_t)0;
  const OptionStruct options[] = {
    OptionFlag('a', "any", &any, "always means something"),
    OptionFlag('t', "thin", &thin, "of one, two, three and four", 1),
    OptionNumber(0, "value", &value, "N", "of two", 2),
    OptionFlag('l', "look", &look, "asks for look", 4),
  };
  OptionToolStruct tool = toolOf(options, ARRAY_LENGTH(options), FALSE);
  char *argv[16], *word;
  Count operands;
  int argc = 0;

  tool.given = &given;
  snprintf(words, sizeof words, "%s", line);
  for (word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
    argv[argc++] = word;
  return OptionParse(&tool, argc, argv, &operands, status) &&
         OptionFit(&tool, uses, ARRAY_LENGTH(uses), chosen, status);
}

/* The same in a child whose output to `fd` comes back in `output`; returns the child's status.  With something
 * `chosen`, it is asked whether the line fits. */
static int apart(const char *line, uint64_t chosen, int fd, char *output, size_t size)
{
  RunStruct run;
  int ends[2], status, its = 99;
  size_t length = 0;
  ssize_t n;
  pid_t child;

  fflush(NULL);
  if (pipe(ends) != 0 || (child = fork()) < 0)
    return -1;
  if (child == 0) {
    dup2(ends[1], fd);
    if (chosen != 0) {
      (void)fits(line, chosen, &its);
    } else {
      parse(&run, line, FALSE);
      its = run.goesOn ? its : run.status;
    }
    fflush(NULL);
    _exit(its);
  }
  close(ends[1]);
  while (length + 1 < size && (n = read(ends[0], output + length, size - 1 - length)) > 0)
    length += (size_t)n;
  output[length] = '\0';
  close(ends[0]);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int parseApart(const char *line, int fd, char *output, size_t size)
{
  return apart(line, 0, fd, output, size);
}

static void testFit(void)
{
  static const struct {
    const char *line;
    uint64_t chosen;
    const char *message;
  } misfits[] = {
      {"tool --value 0", 1, "tool: --value has no meaning with --as=one; it is for --as=two\n"},
      {"tool --any -at", 4, "tool: --thin has no meaning with --look\n"},
      {"tool -l", 3, "tool: --look has no meaning with --as=one and --as=two\n"},
      {"tool -t --value=1", 13,
       "tool: --value has no meaning with --as=one, --look and --as=three; it is for --as=two\n"},
  };
  char output[1024], expected[1024];
  Index i;
  int status;

  TapOk(fits("tool", 4, &status) && fits("tool -a", 4, &status) && fits("tool -l -a", 4, &status) &&
          fits("tool -t --value 0 x", 2, &status) && fits("tool --value 1 -l", 6, &status),
        "options that mean something in one of the uses fit");
  for (i = 0; i < ARRAY_LENGTH(misfits); ++i) {
    status = apart(misfits[i].line, misfits[i].chosen, 2, output, sizeof output);
    snprintf(expected, sizeof expected, "%stry 'tool --help'\n", misfits[i].message);
    TapOk(status == usageSTATUS && strcmp(output, expected) == 0, "%s does not fit", misfits[i].line);
    if (strcmp(output, expected) != 0)
      printf("# got: %s", output);
  }
}

static void testGood(void)
{
  RunStruct run;

  parse(&run, "tool", FALSE);
  TapOk(run.goesOn && run.operands == 0 && strcmp(run.output, "default") == 0 && run.mode == 7,
        "what is not given keeps its default");
  parse(&run, "tool a -v -o out b --count=5 --block-size 64K c", FALSE);
  TapOk(run.goesOn && run.verbose && strcmp(run.output, "out") == 0 && run.count == 5 && run.size == 65536,
        "short and long options, with = and without");
  TapOk(run.operands == 3 && strcmp(run.argv[1], "a") == 0 && strcmp(run.argv[2], "b") == 0 &&
          strcmp(run.argv[3], "c") == 0 && run.argv[4] == NULL,
        "operands come first afterwards, in order, with NULL behind them");
  parse(&run, "tool -vn5 -oout", FALSE);
  TapOk(run.goesOn && run.verbose && run.count == 5 && strcmp(run.output, "out") == 0, "letters in one word");
  parse(&run, "tool - -- -v --nonsense", FALSE);
  TapOk(run.goesOn && !run.verbose && run.operands == 3 && strcmp(run.argv[1], "-") == 0 &&
          strcmp(run.argv[3], "--nonsense") == 0,
        "- is an operand, and -- ends the options");
  parse(&run, "tool -v program -v --nonsense", TRUE);
  TapOk(run.goesOn && run.operands == 3 && strcmp(run.argv[2], "-v") == 0,
        "stopAtOperand leaves another program's options alone");
  parse(&run, "tool --mo manage --from=-1.5", FALSE);
  TapOk(run.goesOn && run.mode == 1 && run.from < -1.4 && run.from > -1.6, "a unique beginning, a choice, a double");
  parse(&run, "tool --output= -n 1 -n 2", FALSE);
  TapOk(run.goesOn && run.output[0] == '\0' && run.count == 2, "an empty argument; the last of two wins");
}

static void testValues(void)
{
  Size size = 77;
  Count number = 77;
  double real = 77;

  TapOk(OptionParseSize("0", &size) == ResOK && size == 0, "size 0");
  TapOk(OptionParseSize("3k", &size) == ResOK && size == 3072, "size 3k");
  TapOk(OptionParseSize("2M", &size) == ResOK && size == 2u << 20, "size 2M");
  TapOk(OptionParseSize("1G", &size) == ResOK && size == 1u << 30, "size 1G");
  size = 77;
  TapOk(OptionParseSize("", &size) == ResPARAM && OptionParseSize("K", &size) == ResPARAM &&
          OptionParseSize("-1", &size) == ResPARAM && OptionParseSize("4KB", &size) == ResPARAM &&
          OptionParseSize("0x10", &size) == ResPARAM && OptionParseSize(" 1", &size) == ResPARAM,
        "what is no size");
  TapOk(OptionParseSize("99999999999999999999", &size) == ResLIMIT &&
          OptionParseSize("9999999999999999999999999999999G", &size) == ResLIMIT &&
          OptionParseSize("18446744073709551615T", &size) == ResLIMIT,
        "sizes that are too large");
  TapOk(OptionParseNumber("4294967295", &number) == ResOK && number == 4294967295u, "a number");
  number = 77;
  TapOk(OptionParseNumber("99999999999999999999999", &number) == ResLIMIT &&
          OptionParseNumber("1e3", &number) == ResPARAM && OptionParseNumber("", &number) == ResPARAM,
        "what is no number");
  TapOk(OptionParseDouble("1e-3", &real) == ResOK && real < 0.0011 && real > 0.0009, "a double");
  real = 77;
  TapOk(OptionParseDouble("nan", &real) == ResPARAM && OptionParseDouble("inf", &real) == ResLIMIT &&
          OptionParseDouble("1x", &real) == ResPARAM && OptionParseDouble("", &real) == ResPARAM &&
          OptionParseDouble(" 1", &real) == ResPARAM,
        "what is no finite double");
  TapOk(size == 77 && number == 77 && real > 76 && real < 78, "what does not parse writes nothing");
}

static void testBad(void)
{
  static const struct {
    const char *line, *message;
  } bad[] = {
    {"tool --nonsense", "tool: no option is called --nonsense\n"},
    {"tool -x", "tool: no option is called -x\n"},
    {"tool --ver", "tool: option --ver is ambiguous: --verbose or --verify\n"},
    {"tool --verbose=1", "tool: --verbose takes no argument\n"},
    {"tool --help=1", "tool: --help takes no argument\n"},
    {"tool -o", "tool: --output needs an argument: PATH\n"},
    {"tool --count", "tool: --count needs an argument: N\n"},
    {"tool --count=x", "tool: --count: 'x' is not a number\n"},
    {"tool -n99999999999999999999999", "tool: --count: 99999999999999999999999 is too large\n"},
    {"tool -b 5Q", "tool: --block-size: '5Q' is not a size such as 4096, 64K, 16M or 1G\n"},
    {"tool --mode=mange", "tool: --mode: 'mange' is none of observe|manage\n"},
    {"tool --mode=obs", "tool: --mode: 'obs' is none of observe|manage\n"},
  };
  char output[1024], expected[1024];
  Index i;

  for (i = 0; i < ARRAY_LENGTH(bad); ++i) {
    int status = parseApart(bad[i].line, 2, output, sizeof output);

    snprintf(expected, sizeof expected, "%stry 'tool --help'\n", bad[i].message);
    TapOk(status == usageSTATUS && strcmp(output, expected) == 0, "%s", bad[i].line);
    if (strcmp(output, expected) != 0)
      printf("# got: %s", output);
  }
}

static void testHelp(void)
{
  static const char expected[] =
    "Usage: tool [options] file...\n"
    "Does something.\n"
    "\n"
    "  -v, --verbose             say more\n"
    "      --verify              look twice\n"
    "  -o, --output=PATH         where to write\n"
    "  -n, --count=N             how many\n"
    "  -b, --block-size=SIZE     bytes of a block, which is a long story that does\n"
    "                            not fit into one line of the help\n"
    "      --from=T              seconds\n"
    "  -m, --mode=observe|manage\n"
    "                            whose malloc serves\n"
    "      --help                print this and end\n"
    "      --version             print the version and end\n"
    "\n"
    "A note.\n";
  char output[2048];

  TapIs(parseApart("tool --help", 1, output, sizeof output), 0, "--help ends with status 0");
  TapOk(strcmp(output, expected) == 0, "--help prints the table to standard output");
  if (strcmp(output, expected) != 0)
    printf("# got: %s", output);
  TapIs(parseApart("tool --version", 1, output, sizeof output), 0, "--version ends with status 0");
  TapOk(strcmp(output, "tool (Pawprint) " PawprintVERSION "\n") == 0, "--version prints it");
}

/* A full disk is a failure, not success with no help. */
static void testFull(void)
{
  RunStruct run;
  pid_t child;
  int status, full = open("/dev/full", O_WRONLY);

  if (full < 0) {
    TapSkip("no /dev/full");
    return;
  }
  fflush(NULL);
  child = fork();
  if (child == 0) {
    dup2(full, 1);
    close(2);
    parse(&run, "tool --help", FALSE);
    _exit(run.status);
  }
  close(full);
  waitpid(child, &status, 0);
  TapOk(WIFEXITED(status) && WEXITSTATUS(status) == failureSTATUS, "--help to a full disk fails");
}

int main(void)
{
  testGood();
  testValues();
  testBad();
  testFit();
  testHelp();
  testFull();
  return TapDone();
}
