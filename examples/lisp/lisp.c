/* lisp.c -- a small Lisp, whose objects live in a pool that is collected
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It shows all that a program does to have its memory collected by Pawprint: a format says what objects look like, an
 * allocation point makes them, the stack is searched for references, a table of roots has the global ones, symbols are
 * found by a weak table, references are written by AMSWrite, and objects may be finalized.
 *
 *     make && build/lisp demo.lisp
 *     eventrec -o lisp.paw -- build/lisp demo.lisp && eventview collections lisp.paw
 *
 * The language: numbers, symbols, lists; quote, if, define, set!, lambda, let, begin, while; and the functions in the
 * table at the end.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ams/ams.h"
#include "mm/arena.h"

/* ---- Objects ---- */

typedef enum Type { PAIR, NUMBER, SYMBOL, FUNCTION, BUILTIN } Type;

/* All begin with their type and size; so much of the rest as the type has. */
typedef struct ObjectStruct {
  uint32_t type;
  uint32_t size;                    /* bytes, a multiple of ALIGN */
  union {
    struct { Addr head, tail; } pair;
    long number;
    struct { Addr value; char name[]; } symbol;  /* value: of the global variable; NULL: there is none */
    struct { Addr params, body, env; } function;
    const struct BuiltinStruct *builtin;
  } as;
} ObjectStruct, *Object;

enum { ALIGN = 8 };

#define objectOf(ref)       ((Object)(void *)(ref))
#define sizeWith(member)    (offsetof(ObjectStruct, as) + sizeof(((Object)0)->as.member))
#define isType(ref, what)   ((ref) != NULL && objectOf(ref)->type == (uint32_t)(what))
#define head(ref)           (objectOf(ref)->as.pair.head)
#define tail(ref)           (objectOf(ref)->as.pair.tail)

/* The empty list is NULL.  What is true is anything else. */
#define nil NULL

static void fix(AMSScan scan, Addr *slot)
{
  AMSFix(scan, __atomic_load_n(slot, __ATOMIC_RELAXED));
}

/* formatScan -- no object is large, so all of it is scanned */
static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  Object object = objectOf(ref);

  (void)base;
  (void)limit;
  switch ((Type)object->type) {
  case PAIR:
    fix(scan, &object->as.pair.head);
    fix(scan, &object->as.pair.tail);
    break;
  case SYMBOL:
    fix(scan, &object->as.symbol.value);
    break;
  case FUNCTION:
    fix(scan, &object->as.function.params);
    fix(scan, &object->as.function.body);
    fix(scan, &object->as.function.env);
    break;
  case NUMBER:
  case BUILTIN:
    break;
  }
}

static Addr formatSkip(Addr ref) { return (Addr)((Word)ref + objectOf(ref)->size); }

static const AMSFormatStruct format = { ALIGN, 0, formatScan, formatSkip };

static Pool pool;
static AMSAP ap;

enum { SYMBOLS = 4096 };
static Addr symbols[SYMBOLS];  /* weak: a symbol that nothing refers to is forgotten */
static Addr defined[1];        /* a root: the list of symbols with global values, which are kept */
static unsigned long finalized;

static _Noreturn void __attribute__((format(printf, 1, 2))) fail(const char *text, ...)
{
  va_list args;

  va_start(args, text);
  fputs("lisp: ", stderr);
  vfprintf(stderr, text, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

/* make -- a copy of `proto`, which has `size` bytes, and `length` bytes behind it.  What it refers to is on our stack
 * until it is committed, and so is kept. */
static Addr make(Object proto, Size size, const char *bytes, Size length)
{
  Size whole = WordAlignUp(size + length, ALIGN);
  Addr addr;

  do {
    if (AMSReserve(&addr, ap, whole) != ResOK)
      fail("there is no memory");
    proto->size = (uint32_t)whole;
    memcpy(addr, proto, size);
    if (length > 0)
      memcpy((char *)addr + size, bytes, length);
  } while (!AMSCommit(ap, addr, whole));
  return addr;
}

static Addr cons(Addr first, Addr rest)
{
  ObjectStruct proto = { .type = PAIR, .as.pair = { first, rest } };

  return make(&proto, sizeWith(pair), NULL, 0);
}

static Addr number(long n)
{
  ObjectStruct proto = { .type = NUMBER, .as.number = n };

  return make(&proto, sizeWith(number), NULL, 0);
}

static Addr function(Addr params, Addr body, Addr env)
{
  ObjectStruct proto = { .type = FUNCTION, .as.function = { params, body, env } };

  return make(&proto, sizeWith(function), NULL, 0);
}

/* symbol -- the symbol with this name: the one that there is, or a new one */
static Addr symbol(const char *name, Size length)
{
  ObjectStruct proto = { .type = SYMBOL };
  Size i, start = 5381, offset = offsetof(ObjectStruct, as.symbol.name);
  Addr ref, *place = NULL;
  char text[64];

  if (length >= sizeof text)
    fail("a name is too long: %.*s", (int)length, name);
  memcpy(text, name, length);
  text[length] = '\0';
  for (i = 0; i < length; ++i)
    start = start * 33 + (unsigned char)name[i];
  for (i = 0; i < SYMBOLS; ++i) {
    Addr *slot = &symbols[(start + i) % SYMBOLS];
    ref = AMSWeakGet(pool, slot);
    if (ref == NULL && place == NULL)
      place = slot; /* it may have been one that is forgotten: others may be behind it */
    if (ref != NULL && strcmp(objectOf(ref)->as.symbol.name, text) == 0)
      return ref;
    if (ref == NULL && i > 64)
      break;
  }
  if (place == NULL)
    fail("there are too many symbols");
  ref = make(&proto, offset, text, length + 1);
  __atomic_store_n(place, ref, __ATOMIC_RELAXED);
  return ref;
}

/* ---- Reading ---- */

static const char *source; /* what is left to be read */

static void readSpace(void)
{
  for (;; ++source)
    if (*source == ';')
      source += strcspn(source, "\n") - 1;
    else if (!isspace((unsigned char)*source))
      return;
}

static Addr readOne(void);

static Addr readList(void)
{
  Addr first;

  readSpace();
  if (*source == '\0')
    fail("a list does not end");
  if (*source == ')') {
    ++source;
    return nil;
  }
  first = readOne();
  return cons(first, readList());
}

static Addr readOne(void)
{
  const char *begin;
  char *end;
  long n;

  readSpace();
  if (*source == '(') {
    ++source;
    return readList();
  }
  if (*source == '\'') {
    ++source;
    return cons(symbol("quote", 5), cons(readOne(), nil));
  }
  begin = source;
  source += strcspn(source, " \t\r\n();'");
  if (source == begin)
    fail("what is this: %.20s", begin);
  n = strtol(begin, &end, 10);
  return end == source ? number(n) : symbol(begin, (Size)(source - begin));
}

/* ---- Printing ---- */

static void print(Addr ref)
{
  if (ref == nil) {
    fputs("()", stdout);
    return;
  }
  switch ((Type)objectOf(ref)->type) {
  case NUMBER:
    printf("%ld", objectOf(ref)->as.number);
    break;
  case SYMBOL:
    fputs(objectOf(ref)->as.symbol.name, stdout);
    break;
  case FUNCTION:
  case BUILTIN:
    fputs("#function", stdout);
    break;
  case PAIR:
    putchar('(');
    for (; isType(ref, PAIR); ref = tail(ref)) {
      print(head(ref));
      if (tail(ref) != nil)
        putchar(' ');
    }
    if (ref != nil) {
      fputs(". ", stdout);
      print(ref);
    }
    putchar(')');
    break;
  }
}

/* ---- Evaluating ---- */

static Addr eval(Addr form, Addr env);

static Addr checked(Addr ref, Type type, const char *what)
{
  if (!isType(ref, type))
    fail("%s expected", what);
  return ref;
}

static long numberOf(Addr ref) { return objectOf(checked(ref, NUMBER, "a number"))->as.number; }
static Addr first(Addr list) { return head(checked(list, PAIR, "a list")); }
static Addr rest(Addr list) { return tail(checked(list, PAIR, "a list")); }

/* binding -- the pair (symbol . value) of a local variable; nil: there is none */
static Addr binding(Addr name, Addr env)
{
  for (; env != nil; env = tail(env))
    if (head(head(env)) == name)
      return head(env);
  return nil;
}

static Addr lookup(Addr name, Addr env)
{
  Addr bound = binding(name, env);

  if (bound != nil)
    return tail(bound);
  if (objectOf(name)->as.symbol.value == NULL)
    fail("%s has no value", objectOf(name)->as.symbol.name);
  return head(objectOf(name)->as.symbol.value); /* in a list of one, so that it may be the empty list */
}

static void setGlobal(Addr name, Addr value)
{
  if (objectOf(name)->as.symbol.value == NULL)
    defined[0] = cons(name, defined[0]);
  AMSWrite(pool, name, &objectOf(name)->as.symbol.value, cons(value, nil));
}

static void setVariable(Addr name, Addr value, Addr env)
{
  Addr bound = binding(name, env);

  if (bound != nil)
    AMSWrite(pool, bound, &tail(bound), value);
  else
    setGlobal(name, value);
}

static Addr evalAll(Addr forms, Addr env)
{
  Addr value = nil;

  for (; forms != nil; forms = rest(forms))
    value = eval(first(forms), env);
  return value;
}

static Addr evalList(Addr forms, Addr env)
{
  Addr value;

  if (forms == nil)
    return nil;
  value = eval(first(forms), env);
  return cons(value, evalList(rest(forms), env));
}

typedef struct BuiltinStruct {
  const char *name;
  Addr (*call)(Addr args);
} BuiltinStruct;

static Addr apply(Addr what, Addr args)
{
  Addr env, params;

  if (isType(what, BUILTIN))
    return objectOf(what)->as.builtin->call(args);
  checked(what, FUNCTION, "a function");
  env = objectOf(what)->as.function.env;
  for (params = objectOf(what)->as.function.params; params != nil; params = rest(params), args = rest(args))
    env = cons(cons(first(params), first(args)), env);
  return evalAll(objectOf(what)->as.function.body, env);
}

static Addr evalLet(Addr form, Addr env)
{
  Addr inner = env, each;

  for (each = first(rest(form)); each != nil; each = rest(each)) {
    Addr value = eval(first(rest(first(each))), env);
    inner = cons(cons(first(first(each)), value), inner);
  }
  return evalAll(rest(rest(form)), inner);
}

static Addr evalSpecial(const char *name, Addr form, Addr env, int *isReturn)
{
  Addr args = rest(form);

  *isReturn = 1;
  if (strcmp(name, "quote") == 0)
    return first(args);
  if (strcmp(name, "if") == 0)
    return eval(first(args), env) != nil ? eval(first(rest(args)), env) : evalAll(rest(rest(args)), env);
  if (strcmp(name, "define") == 0) {
    setGlobal(checked(first(args), SYMBOL, "a name"), eval(first(rest(args)), env));
    return first(args);
  }
  if (strcmp(name, "set!") == 0) {
    Addr value = eval(first(rest(args)), env);
    setVariable(checked(first(args), SYMBOL, "a name"), value, env);
    return value;
  }
  if (strcmp(name, "lambda") == 0)
    return function(first(args), rest(args), env);
  if (strcmp(name, "begin") == 0)
    return evalAll(args, env);
  if (strcmp(name, "let") == 0)
    return evalLet(form, env);
  if (strcmp(name, "while") == 0) {
    while (eval(first(args), env) != nil)
      (void)evalAll(rest(args), env);
    return nil;
  }
  *isReturn = 0;
  return nil;
}

static Addr eval(Addr form, Addr env)
{
  Addr what, value;
  int is = 0;

  if (isType(form, SYMBOL))
    return lookup(form, env);
  if (!isType(form, PAIR))
    return form;
  if (isType(head(form), SYMBOL)) {
    value = evalSpecial(objectOf(head(form))->as.symbol.name, form, env, &is);
    if (is)
      return value;
  }
  what = eval(head(form), env);
  return apply(what, evalList(tail(form), env));
}

/* ---- Functions ---- */

static Addr truth(int is) { return is ? symbol("t", 1) : nil; }

static Addr callAdd(Addr args)
{
  long sum = 0;

  for (; args != nil; args = rest(args))
    sum += numberOf(first(args));
  return number(sum);
}

static Addr callMultiply(Addr args)
{
  long product = 1;

  for (; args != nil; args = rest(args))
    product *= numberOf(first(args));
  return number(product);
}

static Addr callSubtract(Addr args) { return number(numberOf(first(args)) - numberOf(first(rest(args)))); }
static Addr callLess(Addr args) { return truth(numberOf(first(args)) < numberOf(first(rest(args)))); }
static Addr callCons(Addr args) { return cons(first(args), first(rest(args))); }
static Addr callHead(Addr args) { return first(first(args)); }
static Addr callTail(Addr args) { return rest(first(args)); }
static Addr callList(Addr args) { return args; }
static Addr callIsNull(Addr args) { return truth(first(args) == nil); }
static Addr callIsPair(Addr args) { return truth(isType(first(args), PAIR)); }

static Addr callEqual(Addr args)
{
  Addr a = first(args), b = first(rest(args));

  return truth(a == b || (isType(a, NUMBER) && isType(b, NUMBER) && numberOf(a) == numberOf(b)));
}

static Addr callSetHead(Addr args)
{
  Addr list = checked(first(args), PAIR, "a list");

  AMSWrite(pool, list, &head(list), first(rest(args)));
  return list;
}

static Addr callSetTail(Addr args)
{
  Addr list = checked(first(args), PAIR, "a list");

  AMSWrite(pool, list, &tail(list), first(rest(args)));
  return list;
}

static Addr callPrint(Addr args)
{
  for (; args != nil; args = rest(args)) {
    print(first(args));
    putchar(rest(args) != nil ? ' ' : '\n');
  }
  return nil;
}

/* callWatch -- when nothing refers to it any more, that will be counted */
static Addr callWatch(Addr args)
{
  if (first(args) != nil && AMSFinalize(pool, first(args)) != ResOK)
    fail("there is no memory");
  return first(args);
}

static Addr callCollect(Addr args)
{
  AMSStatsStruct stats;

  (void)args;
  if (AMSCollect(pool) != ResOK)
    fail("a thread did not stop");
  AMSStatsGet(&stats, pool);
  return number((long)stats.reclaimed);
}

static const BuiltinStruct builtins[] = {
  { "+", callAdd }, { "-", callSubtract }, { "*", callMultiply }, { "<", callLess }, { "=", callEqual },
  { "cons", callCons }, { "car", callHead }, { "cdr", callTail }, { "list", callList }, { "null?", callIsNull },
  { "pair?", callIsPair }, { "set-car!", callSetHead }, { "set-cdr!", callSetTail }, { "print", callPrint },
  { "watch", callWatch }, { "collect", callCollect },
};

/* ---- The program ---- */

static char *readFile(const char *path)
{
  FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
  Size size = 0, room = 65536, got;
  char *text = malloc(room);

  if (in == NULL || text == NULL)
    fail("%s cannot be read", path);
  while ((got = fread(text + size, 1, room - size - 1, in)) > 0) {
    size += got;
    if (size == room - 1 && (text = realloc(text, room *= 2)) == NULL)
      fail("there is no memory");
  }
  if (in != stdin)
    fclose(in);
  text[size] = '\0';
  return text;
}

static void start(void)
{
  /* A collection for each 1 MiB of new objects, in steps of half a millisecond. */
  static const PoolParamStruct params[] = { { "threshold", 1 << 20 }, { "pause", 500 } };
  Arena arena;
  AMSRoot root;
  Size i;

  if (ArenaCreate(&arena, 0) != ResOK || AMSCreate(&pool, arena, &format, params, 2) != ResOK ||
      AMSAPCreate(&ap, pool) != ResOK || AMSThreadRegister() != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankEXACT, defined, 1) != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankWEAK, symbols, SYMBOLS) != ResOK)
    fail("there is no memory");
  for (i = 0; i < sizeof builtins / sizeof *builtins; ++i) {
    ObjectStruct proto = { .type = BUILTIN, .as.builtin = &builtins[i] };
    setGlobal(symbol(builtins[i].name, strlen(builtins[i].name)), make(&proto, sizeWith(builtin), NULL, 0));
  }
  setGlobal(symbol("t", 1), symbol("t", 1));
}

int main(int argc, char **argv)
{
  char *text;
  Addr gone;

  if (argc != 2)
    fail("Usage: lisp FILE");
  start();
  source = text = readFile(argv[1]);
  for (readSpace(); *source != '\0'; readSpace()) {
    (void)eval(readOne(), nil);
    while (AMSMessageGet(&gone, pool))
      ++finalized;
  }
  free(text);
  printf("%lu watched objects are gone\n", finalized);
  return 0;
}
