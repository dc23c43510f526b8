/* filtertest.c -- filters: which events pass, what may be skipped, and what is told of mistakes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random expressions over random events are held against an evaluator that knows nothing of plans and ranges: it walks
 * the tree from which the expression was printed, for each event anew.
 */
#include <float.h>
#include <math.h>

#include "log/filter.h"
#include "logmake.h"

enum { filterLogs = 14, filterExpressions = 800, filterEvents = 4096, filterBYTES = 128, filterDEPTH = 5 };

static const char registryOne[] =
  "kind: 0 Arena\nkind: 5 Object\nkind: 6 User\n"
  "event: 0x0101 ArenaCreate Arena 1 PW arena size\n"
  "event: 0x0601 PoolAlloc Object 0 PAW pool addr size\n"
  "event: 0x0602 PoolFree Object 0 PA pool addr\n"
  "event: 0x0701 All User 1 PAWUDS p a w u d s\n"
  "event: 0x0702 None User 1 0\n"
  "event: 0x0703 Mixed User 1 DWS size value name\n"
  "event: 0x0704 Other User 1 US u value\n"
  "event: 0x0705 Twice User 1 WWS value value value\n";

/* The same names, other numbers. */
static const char registryTwo[] =
  "kind: 1 Object\nkind: 2 User\n"
  "event: 0x0201 PoolFree Object 0 AP addr pool\n"
  "event: 0x0202 PoolAlloc Object 0 WPA size pool addr\n"
  "event: 0x0301 All User 1 DUWPAS d u w p a s\n"
  "event: 0x0302 Mixed User 1 UDS value size name\n";

static const char *const strings[] = {"", "a", "ab", "b", "malloc", "PoolAlloc", "Object", "a\"b\n\\", "\xc3\xa4 z",
                                      "~"};
static char path[64] = "/tmp/filtertestXXXXXX";
static MakeBlockStruct block;
static uint64_t seed;

static uint64_t randomUpTo(uint64_t n)
{
  return TapRandom(&seed) % n;
}

/* Random logs */

static uint64_t randomWord(void)
{
  static const uint64_t words[] = {0, 1, 2, 3, 17, 100, 4096, 65536, 0x7fffffff, 0xffffffff, 0x100000000,
                                   0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
  uint64_t r = randomUpTo(2 * ARRAY_LENGTH(words));

  if (r < ARRAY_LENGTH(words) && LDBL_MANT_DIG >= 64)
    return words[r];
  return randomUpTo(r % 2 == 0 ? 6 : 5000);
}

static double randomReal(void)
{
  static const double reals[] = {0.0, -0.0, 1.5, -2.5, 1e300, -1e300, 4096.0, 2.0, NAN, INFINITY, -INFINITY, DBL_MAX};

  return reals[randomUpTo(ARRAY_LENGTH(reals))];
}

static void makeRandomEvent(MakeProcess process, unsigned kind, uint64_t time)
{
  Registry registry = process->registry;
  EventType type;
  uint64_t params[EventParamMAX];
  Index i;

  do
    type = &registry->types[randomUpTo(registry->count)];
  while (type->kind != kind);
  for (i = 0; i < type->params; ++i) {
    double real = randomReal();
    params[i] = randomWord();
    if (type->letter[i] == 'D')
      memcpy(&params[i], &real, sizeof real);
  }
  (void)MakeEvent(&block, type->code, time, params,
                  type->strings ? strings[randomUpTo(ARRAY_LENGTH(strings))] : NULL);
}

static void makeStream(Make make, MakeProcess process, uint32_t thread, unsigned kind)
{
  uint64_t time = 1000 + randomUpTo(300);
  unsigned b, e;

  MakeBlockBegin(&block, process, thread, kind, 0, time);
  for (b = 0; b < 3; ++b) {
    for (e = 0; e < 12; ++e)
      makeRandomEvent(process, kind, time += randomUpTo(40));
    MakeBlockEnd(make, &block, BlockFlagSEALED);
    MakeBlockNext(&block, time += randomUpTo(500));
  }
}

static void makeLog(void)
{
  MakeStruct make = {0};
  MakeProcess process[] = {MakeProcessForeign(7, 1, 8, FALSE, registryOne),
                           MakeProcessForeign(1, 2, 4, TRUE, registryTwo),
                           MakeProcessForeign(100, 3, 8, TRUE, registryOne),
                           MakeProcessForeign(100, 4, 4, FALSE, registryOne),
                           MakeProcessForeign(8, 5, 8, FALSE, registryOne)}; /* with the first's types */
  Index i, k;

  strcpy(process[1]->header.program, "/usr/lib/cc1");
  strcpy(process[2]->header.program, "made");
  for (i = 0; i < ARRAY_LENGTH(process); ++i) {
    MakeHeader(&make, process[i]);
    for (k = 0; k < EventKindMAX; ++k)
      if (process[i]->registry->kind[k][0] != '\0') {
        makeStream(&make, process[i], process[i]->header.pid, (unsigned)k);
        makeStream(&make, process[i], (uint32_t)(20 + randomUpTo(3)), (unsigned)k);
      }
    MakeProcessFree(process[i]);
  }
  MakeWrite(&make, path);
  MakeFree(&make);
}

static Log openLog(void)
{
  LogHooksStruct hooks = {.data = NULL};
  const char *paths[1] = {path};
  char error[256] = "";
  Log log = NULL;

  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    printf("# %s\n", error);
  return log;
}

/* Events, kept */

typedef struct KeptStruct {
  Count count;
  LogEventStruct event[filterEvents];
  unsigned char bytes[filterEvents][filterBYTES];
} KeptStruct, *Kept;

static KeptStruct all, wanted, had;

static void keep(Kept kept, LogEvent event)
{
  if (kept->count == filterEvents || event->length > filterBYTES)
    makeFail("too many events to keep");
  kept->event[kept->count] = *event;
  memcpy(kept->bytes[kept->count], event->bytes, event->length);
  kept->event[kept->count].bytes = kept->bytes[kept->count];
  ++kept->count;
}

/* keptSame -- are two kept events the same one? */
static Bool keptSame(LogEvent a, LogEvent b)
{
  LogPositionStruct one, other;

  LogEventPosition(&one, a);
  LogEventPosition(&other, b);
  return LogPositionCompare(&one, &other) == 0;
}

static Bool keepHook(LogRequest request, LogEvent event)
{
  keep(request->data, event);
  return FALSE;
}

static void keepAll(Log log)
{
  LogRequestStruct request = LogRequestALL;

  all.count = 0;
  request.data = &all;
  request.event = keepHook;
  (void)LogRead(log, &request);
}

/* Random expressions, and what they mean */

enum { asNUMBER = 1, asSTRING = 2, asTIME = 4 };

static const struct {
  const char *name;
  unsigned as; /* in these logs */
} fields[] = {
  {"time", asTIME}, {"pid", asNUMBER}, {"tid", asNUMBER}, {"kind", asNUMBER | asSTRING}, {"name", asSTRING},
  {"process", asSTRING}, {"code", asNUMBER}, {"pool", asNUMBER}, {"addr", asNUMBER}, {"size", asNUMBER},
  {"p", asNUMBER}, {"a", asNUMBER}, {"w", asNUMBER}, {"u", asNUMBER}, {"d", asNUMBER}, {"s", asSTRING},
  {"value", asNUMBER | asSTRING}, {".name", asSTRING}, {".pool", asNUMBER},
};

typedef enum Relation { EQ, NE, LT, LE, GT, GE, IN, CONTAINS, BEGINS, ENDS } Relation;

typedef struct ConstantStruct {
  char text[64];
  long double number; /* or ns since the log's start */
  const char *string;
} ConstantStruct;

typedef struct ExprStruct *Expr;
typedef struct ExprStruct {
  char op; /* & | ! or 0 for a comparison */
  Expr left, right;
  Index field, other; /* other: of two fields */
  Bool two, turned;
  unsigned as;
  Relation relation;
  ConstantStruct constant, last;
} ExprStruct;

static ExprStruct exprs[256];
static Count exprCount;
static uint64_t first; /* time of the log's first event */

static void constantNumber(ConstantStruct *constant)
{
  uint64_t word = randomWord();

  constant->number = (long double)word;
  switch (randomUpTo(7)) {
  case 0:
    (void)snprintf(constant->text, sizeof constant->text, "0x%llx", (unsigned long long)word);
    break;
  case 1:
    word %= 5000;
    constant->number = (long double)(word * 1024);
    (void)snprintf(constant->text, sizeof constant->text, "%lluK", (unsigned long long)word);
    break;
  case 2:
    constant->number = (long double)(word % 100) + 0.5L;
    (void)snprintf(constant->text, sizeof constant->text, "%llu.5", (unsigned long long)word % 100);
    break;
  case 3:
    constant->number = -(long double)(word % 100);
    (void)snprintf(constant->text, sizeof constant->text, "-%llu", (unsigned long long)word % 100);
    break;
  case 4:
    constant->number = (long double)1e300;
    strcpy(constant->text, "1e300");
    break;
  default:
    (void)snprintf(constant->text, sizeof constant->text, "%llu", (unsigned long long)word);
  }
}

static void constantTime(ConstantStruct *constant)
{
  uint64_t ns = all.event[randomUpTo(all.count)].time - first + randomUpTo(3) - (randomUpTo(2) == 0);

  ns = ns > UINT64_MAX / 2 ? 0 : ns;
  constant->number = (long double)ns;
  if (randomUpTo(4) == 0)
    (void)snprintf(constant->text, sizeof constant->text, "%llue-9", (unsigned long long)ns);
  else if (randomUpTo(4) == 0)
    (void)snprintf(constant->text, sizeof constant->text, "\"00:00:00.%09llu\"",
                   (unsigned long long)((ns + first) % 1000000000));
  else
    (void)snprintf(constant->text, sizeof constant->text, "0.%09llu", (unsigned long long)ns);
}

static void constantString(ConstantStruct *constant, const char *string)
{
  TextStruct text;

  constant->string = string;
  TextInit(&text, constant->text, sizeof constant->text);
  TextQuoted(&text, string, strlen(string));
  (void)TextTerminate(&text);
}

/* randomString -- for a field: one that the log has, where another would be a mistake */
static const char *randomString(const char *field, Relation relation)
{
  static const char *const names[] = {"PoolAlloc", "PoolFree", "All", "None", "Mixed", "Twice"};
  static const char *const kinds[] = {"Arena", "Object", "User"};
  static const char *const programs[] = {"made", "cc1", "/usr/lib/cc1", "/bin/made"};

  if (relation <= NE && strcmp(field, "name") == 0)
    return names[randomUpTo(ARRAY_LENGTH(names))];
  if (relation <= NE && strcmp(field, "kind") == 0)
    return kinds[randomUpTo(ARRAY_LENGTH(kinds))];
  if (relation <= NE && strcmp(field, "process") == 0)
    return programs[randomUpTo(ARRAY_LENGTH(programs))];
  return strings[randomUpTo(ARRAY_LENGTH(strings))];
}

static void constantsSwap(Expr expr)
{
  ConstantStruct constant = expr->constant;

  expr->constant = expr->last;
  expr->last = constant;
}

/* randomPattern -- one that needs no escapes, in one of three forms */
static void randomPattern(Expr expr)
{
  static const char *const plain[] = {"a", "l", "Pool", "c1", "made", "O"};
  const char *part = plain[randomUpTo(ARRAY_LENGTH(plain))];

  expr->as = asSTRING;
  expr->relation = (Relation)(CONTAINS + randomUpTo(3));
  expr->constant.string = part;
  (void)snprintf(expr->constant.text, sizeof expr->constant.text, "\"%s%s%s\"", expr->relation == BEGINS ? "^" : "",
                 part, expr->relation == ENDS ? "$" : "");
}

static void randomConstants(Expr expr)
{
  const char *field = fields[expr->field].name;
  ConstantStruct *const both[] = {&expr->constant, &expr->last};
  Index i;

  for (i = 0; i < 2; ++i) {
    if (expr->as == asTIME)
      constantTime(both[i]);
    else if (expr->as == asNUMBER)
      constantNumber(both[i]);
    else
      constantString(both[i], randomString(field, expr->relation));
  }
  if (expr->relation == IN && (expr->as == asSTRING ? strcmp(expr->constant.string, expr->last.string) > 0
                                                    : expr->constant.number > expr->last.number))
    constantsSwap(expr);
  expr->turned = expr->relation < IN && randomUpTo(5) == 0;
}

static Expr randomComparison(Expr expr)
{
  unsigned as;

  expr->field = randomUpTo(ARRAY_LENGTH(fields));
  expr->relation = (Relation)randomUpTo(IN + 1);
  as = fields[expr->field].as;
  if (expr->relation < IN && as != asTIME && randomUpTo(6) == 0) {
    do
      expr->other = randomUpTo(ARRAY_LENGTH(fields));
    while ((fields[expr->other].as & as) == 0);
    as &= fields[expr->other].as;
    expr->two = TRUE;
    expr->as = (as & asNUMBER) != 0 ? asNUMBER : asSTRING;
    return expr;
  }
  expr->as = as != (asNUMBER | asSTRING) ? as : randomUpTo(2) == 0 ? asNUMBER : asSTRING;
  if (expr->as == asSTRING && randomUpTo(4) == 0)
    randomPattern(expr);
  else
    randomConstants(expr);
  return expr;
}

static Expr randomExpr(unsigned depth)
{
  Expr expr = &exprs[exprCount++];

  memset(expr, 0, sizeof *expr);
  if (depth == 0 || randomUpTo(3) == 0)
    return randomComparison(expr);
  expr->op = "&|&|!"[randomUpTo(5)];
  expr->left = randomExpr(depth - 1);
  if (expr->op != '!')
    expr->right = randomExpr(depth - 1);
  return expr;
}

static void space(Text text)
{
  if (randomUpTo(2) == 0)
    TextChar(text, ' ');
}

static void printComparison(Text text, Expr expr)
{
  static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">=", " in ", "=~", "=~", "=~"};
  static const char *const turned[] = {"==", "!=", ">", ">=", "<", "<="};

  TextString(text, expr->turned ? expr->constant.text : fields[expr->field].name);
  space(text);
  TextString(text, expr->turned ? turned[expr->relation] : relations[expr->relation]);
  space(text);
  if (expr->relation == IN) {
    TextChar(text, '[');
    TextString(text, expr->constant.text);
    TextString(text, " ,");
    TextString(text, expr->last.text);
    TextChar(text, ']');
  } else {
    TextString(text, expr->turned || expr->two ? fields[expr->two ? expr->other : expr->field].name
                                               : expr->constant.text);
  }
}

static void printExpr(Text text, Expr expr, char around)
{
  Bool parentheses = expr->op == '|' ? around != 0 && around != '|' : expr->op == '&' ? around == '!' : FALSE;

  parentheses = parentheses || randomUpTo(8) == 0;
  if (parentheses)
    TextChar(text, '(');
  space(text);
  if (expr->op == 0) {
    printComparison(text, expr);
  } else if (expr->op == '!') {
    TextChar(text, '!');
    printExpr(text, expr->left, '!');
  } else {
    printExpr(text, expr->left, expr->op);
    TextString(text, expr->op == '&' ? "&&" : "||");
    printExpr(text, expr->right, expr->op);
  }
  space(text);
  if (parentheses)
    TextChar(text, ')');
}

/* What a field of an event is; as: 0 if it has none that can be compared so. */
typedef struct ValueStruct {
  unsigned as;
  Bool real;
  long double number;
  const char *string;
  Size length;
} ValueStruct;

static ValueStruct valueString(const char *string, Size length)
{
  return (ValueStruct){.as = asSTRING, .string = string, .length = length};
}

static ValueStruct valueNumber(uint64_t number)
{
  return (ValueStruct){.as = asNUMBER, .number = (long double)number};
}

static ValueStruct valueParam(LogEvent event, const char *name, unsigned as)
{
  EventType type = event->type;
  ValueStruct value = {0};
  Index i;

  name += *name == '.';
  for (i = 0; i < type->params && value.as == 0; ++i) {
    if (type->paramLength[i] != strlen(name) || memcmp(type->param[i], name, strlen(name)) != 0)
      continue;
    if (type->letter[i] == 'S' && as == asSTRING) {
      value = valueString(NULL, 0);
      value.string = LogEventString(event, i, &value.length);
    } else if (type->letter[i] == 'D' && as == asNUMBER) {
      value.as = asNUMBER;
      value.real = TRUE;
      value.number = (long double)LogEventDouble(event, i);
    } else if (type->letter[i] != 'S' && as == asNUMBER) {
      value = valueNumber(LogEventWord(event, i));
    }
  }
  return value;
}

/* valueProgram -- the program of an event's process, as it is compared with a string */
static ValueStruct valueProgram(LogEvent event, Expr expr)
{
  const char *program = event->process->header.program;

  if (!expr->two && expr->relation < CONTAINS && strchr(expr->constant.string, '/') == NULL &&
      strrchr(program, '/') != NULL)
    program = strrchr(program, '/') + 1;
  return valueString(program, strlen(program));
}

static ValueStruct value(LogEvent event, Expr expr, Index field)
{
  const char *name = fields[field].name, *kind = event->process->registry->kind[event->type->kind];

  if (strcmp(name, "time") == 0)
    return (ValueStruct){.as = asTIME, .number = (long double)(event->time - first)};
  if (strcmp(name, "pid") == 0)
    return valueNumber(event->process->header.pid);
  if (strcmp(name, "tid") == 0)
    return valueNumber(event->thread);
  if (strcmp(name, "code") == 0)
    return valueNumber(event->type->code);
  if (strcmp(name, "name") == 0)
    return valueString(event->type->name, event->type->nameLength);
  if (strcmp(name, "process") == 0)
    return valueProgram(event, expr);
  if (strcmp(name, "kind") == 0)
    return expr->as == asSTRING ? valueString(kind, strlen(kind)) : valueNumber(event->type->kind);
  return valueParam(event, name, expr->as);
}

/* order -- -1, 0, 1; 2 where there is none */
static int order(ValueStruct a, ValueStruct b)
{
  Size least = a.length < b.length ? a.length : b.length;
  int c;

  if (a.as != asSTRING)
    return a.number < b.number ? -1 : a.number > b.number ? 1 : a.number == b.number ? 0 : 2;
  c = memcmp(a.string, b.string, least);
  if (c == 0 && a.length != b.length)
    c = a.length < b.length ? -1 : 1;
  return c < 0 ? -1 : c > 0;
}

static ValueStruct valueConstant(ValueStruct against, const ConstantStruct *constant)
{
  if (against.as == asSTRING)
    return valueString(constant->string, strlen(constant->string));
  return (ValueStruct){.as = against.as,
                       .number = against.real ? (long double)(double)constant->number : constant->number};
}

static Bool contains(ValueStruct value, const char *part, Relation relation)
{
  Size n = strlen(part), i;

  for (i = 0; i + n <= value.length; ++i)
    if (memcmp(value.string + i, part, n) == 0 && (relation != BEGINS || i == 0) &&
        (relation != ENDS || i + n == value.length))
      return TRUE;
  return FALSE;
}

static Bool holds(Expr expr, LogEvent event)
{
  ValueStruct left, right;
  int c;

  if (expr->op == '&')
    return holds(expr->left, event) && holds(expr->right, event);
  if (expr->op == '|')
    return holds(expr->left, event) || holds(expr->right, event);
  if (expr->op == '!')
    return !holds(expr->left, event);
  left = value(event, expr, expr->field);
  if (left.as == 0)
    return FALSE;
  if (expr->relation >= CONTAINS)
    return contains(left, expr->constant.string, expr->relation);
  right = expr->two ? value(event, expr, expr->other) : valueConstant(left, &expr->constant);
  if (right.as == 0)
    return FALSE;
  c = order(left, right);
  switch (expr->relation) {
  case EQ: return c == 0;
  case NE: return c != 0;
  case LT: return c == -1;
  case LE: return c == -1 || c == 0;
  case GT: return c == 1;
  case GE: return c == 1 || c == 0;
  default: break;
  }
  right = valueConstant(left, &expr->last);
  return (c == 1 || c == 0) && (order(left, right) == -1 || order(left, right) == 0);
}

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

static Bool requestChoose(void *data, LogProcess process, EventType type)
{
  return FilterChooses(data, process, type);
}

static Bool requestAccept(void *data, LogEvent event)
{
  return FilterMatches(data, event);
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
  request.kinds = FilterKinds(filter);
  request.choose = requestChoose;
  request.chooseData = request.acceptData = filter;
  if (!FilterExhausted(filter))
    request.accept = requestAccept;
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
    TapIs(FilterKinds(filter), cases[i].kinds, "its kinds");
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
