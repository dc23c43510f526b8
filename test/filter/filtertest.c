/* filtertest.c -- filters: which events pass, what may be skipped, and what is told of mistakes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random expressions (filterexpr.h) over random events (filterlog.h) are held against an evaluator that knows nothing
 * of plans and ranges (filterhold.h).
 */
#include "filter/filterdata.h"
#include "filterhold.h"

/* The property */

static char expression[8192];
static uint64_t matched, exhausted, pushed;

static Filter makeFilter(Log log)
{
  char error[1024];
  Filter filter = NULL;

  if (FilterMake(&filter, log, expression, error, sizeof error) != ResOK)
    printf("# %s\n", error);
  return filter;
}

/* matchesAll -- for each event, the filter says what the evaluator says */
static Bool matchesAll(Log log, Expr expr)
{
  Filter filter = makeFilter(log);
  Index i;

  if (filter == NULL)
    return FALSE;
  for (i = 0; i < all.count; ++i) {
    Bool expected = holds(expr, &all.event[i]);
    if (FilterMatches(filter, &all.event[i]) != expected) {
      printf("# event %zu, %.*s: %u expected\n", i, all.event[i].type->nameLength, all.event[i].type->name, expected);
      return FALSE;
    }
    if (expected && !FilterChooses(filter, all.event[i].process, all.event[i].type)) {
      printf("# event %zu, %.*s, can pass\n", i, all.event[i].type->nameLength, all.event[i].type->name);
      return FALSE;
    }
    matched += expected;
  }
  i = FilterCheck(filter) && FilterRes(filter) == ResOK;
  FilterFree(filter);
  return (Bool)i;
}

/* wantedOf -- what a request must be given, according to the evaluator */
static void wantedOf(Expr expr, LogRequest request)
{
  Index i;

  wanted.count = 0;
  for (i = 0; i < all.count && wanted.count < request->count; ++i)
    if (all.event[i].time >= request->from && all.event[i].time < request->to && holds(expr, &all.event[i]))
      keep(&wanted, &all.event[i]);
}

/* pushesDown -- with all that the filter says of it pushed down, the request sees what it must, and nothing else */
static Bool pushesDown(Log log, Expr expr)
{
  LogRequestStruct request = LogRequestALL;
  Filter filter = makeFilter(log);
  Bool same;
  Index i;

  if (filter == NULL)
    return FALSE;
  if (randomUpTo(4) == 0)
    request.from = all.event[randomUpTo(all.count)].time;
  if (randomUpTo(4) == 0)
    request.to = all.event[randomUpTo(all.count)].time;
  if (request.to < request.from)
    request.to = request.from;
  if (randomUpTo(4) == 0)
    request.count = randomUpTo(50);
  wantedOf(expr, &request);
  FilterTimes(filter, &request.from, &request.to);
  PawRequestFilter(&request, filter);
  exhausted += request.accept == NULL;
  pushed += (request.kinds & 0x61) != 0x61 || request.from > first;
  had.count = 0;
  request.data = &had;
  request.event = keepHook;
  same = LogRead(log, &request) == ResOK && had.count == wanted.count;
  for (i = 0; i < had.count && same; ++i)
    same = keptSame(&had.event[i], &wanted.event[i]);
  if (!same)
    printf("# from %lld to %lld, at most %llu: %zu events wanted, %zu had\n", (long long)(request.from - first),
           (long long)(request.to - first), (unsigned long long)request.count, wanted.count, had.count);
  FilterFree(filter);
  return same;
}

static Bool tryExpression(Log log)
{
  TextStruct text;
  Expr expr;

  exprCount = 0;
  expr = randomExpr((unsigned)randomUpTo(filterDEPTH + 1));
  TextInit(&text, expression, sizeof expression);
  printExpr(&text, expr, 0);
  (void)TextTerminate(&text);
  if (matchesAll(log, expr) && pushesDown(log, expr))
    return TRUE;
  printf("# expression: %s\n", expression);
  return FALSE;
}

static void testProperty(void)
{
  Count logs, n, failed = 0;

  for (logs = 0; logs < filterLogs && failed == 0; ++logs) {
    Log log;
    makeLog();
    log = openLog();
    keepAll(log);
    first = all.event[0].time;
    for (n = 0; n < filterExpressions && failed == 0; ++n)
      failed += !tryExpression(log);
    LogClose(log);
  }
  TapOk(failed == 0, "a filter lets pass what its expression says, pushed down or not");
  printf("# %llu events matched; %llu expressions were pushed down, %llu wholly\n", (unsigned long long)matched,
         (unsigned long long)pushed, (unsigned long long)exhausted);
  TapOk(matched > 100000 && exhausted > 100 && pushed > exhausted, "and that was put to the test");
}

/* Mistakes */

static const struct {
  const char *expression;
  unsigned column; /* 0: nothing is wrong */
  const char *what;
} mistakes[] = {
  {"size > 3", 0, NULL},
  {"  size  ==\t4K || d<1.5e3&&s==\"\\x41\\n\\101\" ", 0, NULL},
  {".name =~ \"^a\\\\.b\" && kind == 5", 0, NULL},
  {"time in [\"00:00:00\", 1]", 0, NULL},
  {"time > -1 && time < 1e40 && time < 99999999999999999999.5", 0, NULL},
  {"", 1, "the expression is empty"},
  {"  ", 1, "the expression is empty"},
  {"sise > 3", 1, "no field of any event is called 'sise'; near it are size"},
  {"pool == 1 && nme == \"x\"", 14, "no field of any event is called 'nme'; near it are name"},
  {"size > poool", 8, "no field of any event is called 'poool'; near it are pool"},
  {".tid == 3", 1, "no field of any event is called 'tid'"},
  {"size =~ \"x\"", 9, "'size' is a number, and \"x\" is a string"},
  {"size == \"x\"", 9, "'size' is a number, and \"x\" is a string"},
  {"name > 3", 8, "'name' is a string, and 3 is a number"},
  {"3 > name", 1, "'name' is a string, and 3 is a number"},
  {"name > size", 8, "'name' is a string, and size is no string"},
  {"size > s", 8, "'size' is a number, and s is no number"},
  {"time > size", 8, "'time' is a time, and size is no constant"},
  {"size < time", 8, "'size' is a number, and time is no number"},
  {"time =~ \"1\"", 9, "'time' is a time"},
  {"time > \"noon\"", 8, "this is no time"},
  {"tid in [1, \"x\"]", 12, "an interval has two numbers, or two strings"},
  {"tid in [3, 2]", 9, "the interval ends before it begins"},
  {"s in [\"b\", \"a\"]", 7, "the interval ends before it begins"},
  {"time in [1, 0.5]", 10, "the interval ends before it begins"},
  {"name == \"PolAlloc\"", 9, "no event is called 'PolAlloc'; near it are PoolAlloc"},
  {"kind != \"Objects\"", 9, "no kind is called 'Objects'; near it are Object"},
  {"process == \"cc2\"", 12, "no process is called 'cc2'; near it are cc1"},
  {"process == \"/bin/cc1\"", 12, "no process is called '/bin/cc1'; near it are "},
  {"1 < 2", 1, "a constant here says nothing of an event"},
  {"1 in [1, 2]", 1, "a constant here says nothing of an event"},
  {"size", 1, "this is compared with nothing"},
  {"size && pool", 6, "a comparison is missing before '&&'"},
  {"size >", 7, "a field, a number or a string is missing"},
  {"size > )", 8, "a field, a number or a string is missing before ')'"},
  {"size > 3 pool", 10, "&& or || is missing before 'pool'"},
  {"(size > 3", 10, "&&, || or ) is missing"},
  {"size > 3)", 9, "&& or || is missing before ')'"},
  {"1 < size < 3", 10, "comparisons do not chain"},
  {"size in 3", 9, "the [ of an interval"},
  {"size in [3", 11, "a comma is missing"},
  {"size in [3, 4", 14, "] is missing"},
  {"size in [pool, 4]", 10, "a number or a string is missing before 'pool'"},
  {"s =~ name", 6, "a regular expression, as a string, is missing before 'name'"},
  {"s =~ \"(x\"", 6, "no regular expression: "},
  {"s =~ \"a\\0b\"", 6, "a regular expression has no zero byte"},
  {"s =~ \"((a{1,200}){1,200}){1,200}\"", 6, "the regular expression repeats too often"},
  {"s =~ \"a++++++++++++++++++++++++\"", 6, "the regular expression repeats too often"},
  {"s =~ \"^1*+$\"", 6, "the regular expression repeats too often"},
  {"s =~ \"((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+\"", 6, "the regular expression repeats too often"},
  {"s =~ \"(a[])[:alpha:]]{1,200}[)]{1,200})+{1,200}\"", 6, "the regular expression repeats too often"},
  {"s =~ \"a{99999999999999999999}\"", 6, "the regular expression repeats too often"},
  {"s =~ \"^(a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+[)+]+|x{1,200}y{1,200}z{1,400}\\\\))$\"", 0, NULL},
  {"s =~ \"((a*)*){1000}\"", 6, "the regular expression repeats too often"},
  {"s =~ \"(a)\\\\1\"", 6, "a regular expression here has no back references"},
  {"size = 3", 6, "= is written twice: =="},
  {"size > 3 & pool > 3", 10, "& is written twice: &&"},
  {"name == 'x'", 9, "strings stand in double quotes"},
  {"size > 3 # x", 10, "nothing begins with '#'"},
  {"size > \x01", 8, "nothing begins with the byte 0x01"},
  {"name == \"x", 9, "the string has no end"},
  {"name == \"a\\.b\"", 11, "no escape in C begins like that"},
  {"s == \"\\xyz\"", 7, "no escape in C begins like that"},
  {"s == \"\\777\"", 7, "no escape in C begins like that"},
  {"size > 12abc", 8, "'12abc' is no number"},
  {"size > 0x", 8, "'0x' is no number"},
  {"size > 1.5.3", 8, "'1.5.3' is no number"},
  {"size > 1e", 8, "'1e' is no number"},
  {"size > 4Kx", 8, "'4Kx' is no number"},
  {"size > 99999999999999999999", 8, "99999999999999999999 is too large"},
  {"size > 0xfffffffffffffffK", 8, "0xfffffffffffffffK is too large"},
  {"d > 1e999", 5, "1e999 is too large"},
  {"s == \"\xc3\xa4\xc3\xb6\" && sise > 3", 14, "no field of any event is called 'sise'"}, /* letters, not bytes */
};

/* pointsAt -- where the last line of a message points, from 1 */
static unsigned pointsAt(const char *error)
{
  const char *last = strrchr(error, '\n');

  return last != NULL && last[strspn(last + 1, " ") + 1] == '^' ? (unsigned)(strspn(last + 1, " ") - 1) : 0;
}

static void testMistakes(Log log)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(mistakes); ++i) {
    char error[1024] = "", begin[32];
    Filter filter = NULL;
    Res res = FilterMake(&filter, log, mistakes[i].expression, error, sizeof error);
    (void)snprintf(begin, sizeof begin, "column %u: ", mistakes[i].column);
    if (mistakes[i].column == 0)
      TapOk(res == ResOK && error[0] == '\0', "%s", mistakes[i].expression);
    else if (!TapOk(res == ResPARAM && strncmp(error, begin, strlen(begin)) == 0 &&
                    strncmp(error + strlen(begin), mistakes[i].what, strlen(mistakes[i].what)) == 0 &&
                    pointsAt(error) == mistakes[i].column,
                    "expression %zu: column %u: %s", i, mistakes[i].column, mistakes[i].what))
      printf("# %s\n", error);
    FilterFree(filter);
  }
}

/* repeated -- `n` times a piece, and something behind; static */
static const char *repeated(Count n, const char *piece, const char *behind)
{
  static char text[FilterLengthMAX * 2];
  char *next = text;

  while (n-- > 0)
    next = stpcpy(next, piece);
  (void)stpcpy(next, behind);
  return text;
}

static void testLimits(Log log)
{
  char error[1024];
  Filter filter = NULL;

  TapOk(FilterMake(&filter, log, repeated(FilterTestsMAX - 1, "tid==1||", "tid==2"), error, sizeof error) == ResOK,
        "an expression has as many comparisons as it may");
  FilterFree(filter);
  TapOk(FilterMake(&filter, log, repeated(FilterTestsMAX, "tid==1||", "tid==2"), error, sizeof error) == ResPARAM &&
        strstr(error, "more than 1000 comparisons") != NULL, "and no more");
  TapOk(FilterMake(&filter, log, repeated(FilterDepthMAX, "!", "tid==2"), error, sizeof error) == ResOK, "as deep");
  FilterFree(filter);
  TapOk(FilterMake(&filter, log, repeated(FilterDepthMAX + 1, "(", "tid==2"), error, sizeof error) == ResPARAM &&
        strstr(error, "more than 100 parentheses") != NULL, "and no deeper");
  TapOk(FilterMake(&filter, log, repeated(FilterLengthMAX, " ", "tid==2"), error, sizeof error) == ResPARAM,
        "and no longer");
  TapOk(FilterMake(&filter, log, repeated(90, "size==1||", "nosuch==2"), error, sizeof error) == ResPARAM &&
        strstr(error, "column 811: ") != NULL && strlen(strrchr(error, '\n')) < 80,
        "of a long one the part around the mistake is shown");
  TapOk(FilterMake(&filter, log, "sise > 3", error, 24) == ResPARAM && strlen(error) < 24,
        "a message is cut where its room ends");
}

/* testSpoilt -- the check sees each thing that can be wrong with a filter, of which this process has a plan */
static void testSpoilt(Filter filter, LogProcess process)
{
  FilterPlans plans = filter->plans;
  FilterPlan plan;
  FilterNode root = filter->root;
  uint64_t to = filter->to;
  uint16_t begin, yes, no;
  Index i = 0;

  while (plans->plan[i] == NULL || plans->plan[i]->count == 0)
    if (++i == plans->registry->count) {
      plans = plans->next;
      i = 0;
    }
  plan = plans->plan[i];
  begin = plan->first;
  yes = plan->step[0].yes;
  no = plan->step[0].no;
  plan->first = plan->count;
  TapOk(!FilterCheck(filter), "but not one that begins behind its steps");
  plan->first = begin;
  plan->step[0].yes = 0;
  TapOk(!FilterCheck(filter), "or in which a step leads to itself");
  plan->step[0].yes = yes;
  plan->step[0].no = 0;
  TapOk(!FilterCheck(filter), "one way or the other");
  plan->step[0].no = no;
  filter->root = NULL;
  TapOk(!FilterCheck(filter), "nor a filter without an expression");
  filter->root = root;
  filter->from = 1;
  filter->to = 0;
  TapOk(!FilterCheck(filter), "or for times that end before they begin");
  filter->from = 0;
  filter->to = to;
  filter->own = TRUE;
  TapOk(FilterCheck(filter), "plans may be a process's own");
  ++process->number;
  TapOk(!FilterCheck(filter), "if they are that process's");
  --process->number;
  filter->own = FALSE;
  TapOk(FilterCheck(filter), "and put right, all is sound");
}

/* What comes while a log is read */
static void testLate(Log log)
{
  LogProcessStruct process = *LogProcessAt(log, 0);
  MakeProcess late = MakeProcessForeign(9, 99, sizeof(Word), FALSE,
                                        "kind: 4 Object\nkind: 6 User\nevent: 0x0701 Late Object 0 W size\n");
  MakeProcess later = MakeProcessForeign(9, 99, sizeof(Word), FALSE,
                                         "kind: 6 User\nevent: 0x0701 Late User 0 W size\n"
                                         "event: 0x0702 Later User 0 S s\n");
  struct {
    EventHeaderStruct header;
    Word size;
  } bytes = {.size = 5000};
  LogEventStruct event = {.process = &process, .bytes = (const unsigned char *)&bytes, .length = sizeof bytes};
  char error[256];
  Filter filter = NULL;

  TapOk(FilterMake(&filter, log, "kind == \"Object\" && size >= 4K", error, sizeof error) == ResOK, "a filter");
  process.number = 77;
  process.registry = late->registry;
  event.type = &late->registry->types[0];
  TapOk(FilterMatches(filter, &event), "knows what a process has that came later");
  bytes.size = 4095;
  TapOk(!FilterMatches(filter, &event), "its parameters, too");
  bytes.size = 5000;
  process.registry = later->registry;
  event.type = &later->registry->types[0];
  TapOk(!FilterMatches(filter, &event), "and that a process may say otherwise later");
  event.type = &later->registry->types[1];
  TapOk(!FilterMatches(filter, &event), "or have one more type");
  TapOk(FilterCheck(filter), "all its plans are sound");
  testSpoilt(filter, &process);
  FilterFree(filter);
  MakeProcessFree(late);
  MakeProcessFree(later);
}

static void testPush(Log log)
{
  static const struct {
    const char *expression;
    uint32_t kinds;
    uint64_t from, to; /* ns since the beginning; 0, 0: not narrowed */
    Bool exhausted;
  } cases[] = {
    {"kind == \"Arena\"", 0x01, 0, 0, TRUE},
    {"kind == \"Object\"", 0x22, 0, 0, TRUE},
    {"name == \"PoolFree\" || name == \"None\"", 0x62, 0, 0, TRUE},
    {"name == \"PoolFree\" && time in [0.000000500, 0.000000700]", 0x22, 500, 701, TRUE},
    {"name =~ \"^Pool\" && size >= 0 && time >= 0.0000005", 0x22, 500, UINT64_MAX, TRUE},
    {"name =~ \"^Pool\" && size > 0", 0x22, 0, 0, FALSE},
    {"!(time < 0.0000005 || time > 0.000001)", 0x67, 500, 1001, TRUE},
    {"time < 0.0000005 && time > 0.000001", 0, 0, 0, TRUE},
    {"time < 0.0000005 || time > 0.000001", 0x67, 0, 0, FALSE},
    {"process == \"cc1\"", 0x06, 0, 0, TRUE},
    {"size > 1 && size < 1", 0x67, 0, 0, FALSE},
    {"size > -1 || !(size >= 0)", 0x67, 0, 0, FALSE}, /* a double may be no number */
    {"addr > -1 || !(addr >= 0)", 0x67, 0, 0, TRUE},
    {"addr == 2.5 || addr in [0.2, 0.7]", 0, 0, 0, TRUE},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    LogRequestStruct request = LogRequestALL;
    uint64_t from = 0, to = UINT64_MAX;
    char error[256];
    Filter filter = NULL;
    Bool narrowed = cases[i].to != 0;
    if (!TapOk(FilterMake(&filter, log, cases[i].expression, error, sizeof error) == ResOK, "%s",
               cases[i].expression))
      continue;
    FilterTimes(filter, &from, &to);
    if (from < to && narrowed)
      TapOk(from == first + cases[i].from && (to == cases[i].to || to == first + cases[i].to), "its times");
    else
      TapOk(from == to ? cases[i].kinds == 0 : from == 0 && to == UINT64_MAX, "all times, or none");
    PawRequestFilter(&request, filter);
    TapIs(request.kinds, cases[i].kinds, "its kinds");
    TapOk(FilterExhausted(filter) == cases[i].exhausted, "and %s is left to be asked",
          cases[i].exhausted ? "nothing" : "something");
    FilterFree(filter);
  }
}

/* testEnds -- a comparison that holds for all times that are read is not asked; one that holds for all but one is */
static void testEnds(Log log)
{
  unsigned beyond;

  for (beyond = 1; beyond <= 2; ++beyond) {
    uint64_t from = 0, to = first + 500 + beyond;
    char error[256];
    Filter filter = NULL;
    TapOk(FilterMake(&filter, log, "time <= 0.0000005 || name == \"None\"", error, sizeof error) == ResOK, "a filter");
    FilterTimes(filter, &from, &to);
    TapOk(FilterExhausted(filter) == (beyond == 1), "%s", beyond == 1 ? "nothing left to ask" : "one nanosecond left");
    FilterFree(filter);
  }
}

int main(void)
{
  Log log;
  int fd;

  (void)setenv("TZ", "UTC", 1);
  seed = TapSeed() | 1;
  fd = mkstemp(path);
  testProperty();
  makeLog();
  log = openLog();
  keepAll(log);
  first = all.event[0].time;
  testMistakes(log);
  testLimits(log);
  testLate(log);
  testPush(log);
  testEnds(log);
  LogClose(log);
  (void)close(fd);
  (void)unlink(path);
  return TapDone();
}
