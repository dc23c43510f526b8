/* filterhold.h -- does an expression hold for an event?  The oracle for filters
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It knows nothing of plans and ranges: it walks the tree from which the expression was printed, for each event anew.
 */
#ifndef TEST_FILTERHOLD_H
#define TEST_FILTERHOLD_H

#include "filterexpr.h"

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
  if (strcmp(name, "cpu") == 0)
    return event->cpu == LogCpuUNKNOWN ? (ValueStruct){0} : valueNumber(event->cpu);
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

#endif /* TEST_FILTERHOLD_H */
