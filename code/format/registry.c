/* registry.c -- event types from text
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/registry.h"

#include <string.h>

#include "base/aver.h"
#include "format/block.h"

/* A word of a line: between spaces. */
typedef struct FieldStruct {
  const char *base;
  Size length;
} FieldStruct;

/* registryField -- take the next word from [*next, limit); an empty one at the end */
static FieldStruct registryField(const char **next, const char *limit)
{
  FieldStruct field;

  while (*next < limit && **next == ' ')
    ++*next;
  field.base = *next;
  while (*next < limit && **next != ' ')
    ++*next;
  field.length = (Size)(*next - field.base);
  return field;
}

Bool RegistryNumber(uint64_t *numberReturn, const char **next, const char *limit)
{
  static const char digits[] = "0123456789abcdef";
  unsigned base = 10;
  uint64_t n = 0;
  const char *begin;

  if (limit - *next > 2 && (*next)[0] == '0' && (*next)[1] == 'x') {
    base = 16;
    *next += 2;
  }
  for (begin = *next; *next < limit && **next != ' '; ++*next) {
    const char *at = memchr(digits, **next, base);
    uint64_t digit = at == NULL ? 0 : (uint64_t)(at - digits);
    if (at == NULL || n > (UINT64_MAX - digit) / base)
      return FALSE;
    n = n * base + digit;
  }
  if (*next == begin)
    return FALSE;
  if (*next < limit)
    ++*next;
  *numberReturn = n;
  return TRUE;
}

/* registryNumber -- the next word from *next on is a number, at most `max` */
static Bool registryNumber(unsigned *numberReturn, const char **next, const char *limit, unsigned max)
{
  FieldStruct field = registryField(next, limit);
  const char *at = field.base;
  uint64_t n;

  if (!RegistryNumber(&n, &at, field.base + field.length) || n > max)
    return FALSE;
  *numberReturn = (unsigned)n;
  return TRUE;
}

void RegistryInit(Registry registry, EventType types, Count capacity, WidthsStruct widths)
{
  AVER(widths.word == 4 || widths.word == 8);
  AVER(registry->index[0] == 0);
  registry->widths = widths;
  registry->count = 0;
  registry->capacity = capacity < RegistryTypesMAX ? capacity : RegistryTypesMAX;
  registry->types = types;
  registry->kinds = 0;
}

Res EventTypeLayout(EventType type, const char *format, Size length, Widths widths)
{
  Size i, offset = sizeof(EventHeaderStruct);

  type->params = 0;
  type->strings = 0;
  if (!(length == 1 && format[0] == '0')) {
    if (length == 0 || length > EventParamMAX)
      return ResFORMAT;
    for (i = 0; i < length; ++i) {
      uint8_t width;
      switch (format[i]) {
      case 'P': case 'A': case 'W': width = widths->word; break;
      case 'U': width = 4; break;
      case 'D': width = 8; break;
      case 'S': width = 0; break;
      default: return ResFORMAT;
      }
      if (width == 0 && i + 1 != length)
        return ResFORMAT;
      type->letter[i] = format[i];
      type->offset[i] = (uint16_t)offset;
      type->width[i] = width;
      offset += width;
    }
    type->params = (uint8_t)length;
    type->strings = format[length - 1] == 'S';
  }
  type->length = (uint16_t)offset;
  return ResOK;
}

static Bool fieldIs(FieldStruct field, const char *string, Size length)
{
  return field.length == length && memcmp(field.base, string, length) == 0;
}

/* registryKindFind -- a kind's number by its name; EventKindMAX if there is none */
static unsigned registryKindFind(Registry registry, FieldStruct name)
{
  unsigned k;

  for (k = 0; k < registry->kinds; ++k)
    if (name.length > 0 && fieldIs(name, registry->kind[k], strlen(registry->kind[k])))
      return k;
  return EventKindMAX;
}

static Res registryKind(Registry registry, const char *next, const char *limit)
{
  unsigned value;
  FieldStruct name;

  if (!registryNumber(&value, &next, limit, EventKindMAX - 1))
    return ResFORMAT;
  name = registryField(&next, limit);
  if (name.length == 0 || name.length >= sizeof registry->kind[0])
    return ResFORMAT;
  memset(registry->kind[value], 0, sizeof registry->kind[0]);
  memcpy(registry->kind[value], name.base, name.length);
  if (value >= registry->kinds)
    registry->kinds = value + 1;
  return ResOK;
}

static Bool registrySame(EventType a, EventType b)
{
  return a->kind == b->kind && a->params == b->params && a->nameLength == b->nameLength &&
         memcmp(a->name, b->name, a->nameLength) == 0 && memcmp(a->letter, b->letter, a->params) == 0;
}

/* registryEvent -- code name kind always format parameter... */
static Res registryEvent(Registry registry, const char *next, const char *limit)
{
  EventTypeStruct type;
  EventType old;
  FieldStruct field;
  unsigned number;
  Index i;

  memset(&type, 0, sizeof type);
  if (!registryNumber(&number, &next, limit, 0xffff) || number < EventCodeFIRST)
    return ResFORMAT;
  type.code = (uint16_t)number;
  field = registryField(&next, limit);
  if (field.length == 0 || field.length > 255)
    return ResFORMAT;
  type.name = field.base;
  type.nameLength = (uint16_t)field.length;
  type.kind = (uint8_t)registryKindFind(registry, registryField(&next, limit));
  if (type.kind == EventKindMAX || !registryNumber(&number, &next, limit, 1))
    return ResFORMAT;
  type.always = (uint8_t)number;
  type.describe = "";
  field = registryField(&next, limit);
  if (EventTypeLayout(&type, field.base, field.length, &registry->widths) != ResOK)
    return ResFORMAT;
  for (i = 0; i < type.params; ++i) {
    field = registryField(&next, limit);
    if (field.length == 0 || field.length > 255)
      return ResFORMAT;
    type.param[i] = field.base;
    type.paramLength[i] = (uint8_t)field.length;
  }
  old = RegistryFind(registry, type.code);
  if (old != NULL)
    return registrySame(old, &type) ? ResOK : ResFORMAT;
  if (registry->count == registry->capacity)
    return ResLIMIT;
  type.number = (uint16_t)registry->count;
  registry->types[registry->count] = type;
  registry->index[type.code] = (uint16_t)(++registry->count);
  return ResOK;
}

static Res registryDescribe(Registry registry, const char *next, const char *limit)
{
  unsigned code;
  EventType type;

  if (!registryNumber(&code, &next, limit, 0xffff))
    return ResFORMAT;
  type = RegistryFind(registry, (uint16_t)code);
  if (type == NULL || limit - next > 0xffff)
    return ResFORMAT;
  if (next < limit)
    ++next;
  type->describe = next;
  type->describeLength = (uint16_t)(limit - next);
  return ResOK;
}

Res RegistryLine(Registry registry, const char *line, Size length)
{
  const char *next = line, *limit = line + length;
  FieldStruct key = registryField(&next, limit);

  if (fieldIs(key, "kind:", 5))
    return registryKind(registry, next, limit);
  if (fieldIs(key, "event:", 6))
    return registryEvent(registry, next, limit);
  if (fieldIs(key, "describe:", 9))
    return registryDescribe(registry, next, limit);
  return ResOK;
}

Res RegistryText(Registry registry, const char *text, Size length)
{
  const char *limit = text + length, *end;
  Res res = ResOK, its;

  for (; text < limit; text = end + 1) {
    end = memchr(text, '\n', (Size)(limit - text));
    if (end == NULL)
      end = limit;
    its = RegistryLine(registry, text, (Size)(end - text));
    res = res == ResOK ? its : res;
  }
  AVER(RegistryCheck(registry));
  return res;
}

/* registryTypeCheck -- the `i`th type */
static Bool registryTypeCheck(Registry registry, Index i)
{
  EventType type = &registry->types[i];
  Index p;

  for (p = 0; p + 1 < type->params; ++p)
    if (type->letter[p] == 'S' || type->offset[p] + type->width[p] != type->offset[p + 1])
      return FALSE;
  return registry->index[type->code] == i + 1 && type->number == i && type->kind < registry->kinds && type->params <= EventParamMAX;
}

Bool RegistryCheck(Registry registry)
{
  Index i;

  if (registry->count > registry->capacity || registry->kinds > EventKindMAX || registry->index[0] != 0 ||
      (registry->widths.word != 4 && registry->widths.word != 8))
    return FALSE;
  for (i = 0; i < registry->count; ++i)
    if (!registryTypeCheck(registry, i))
      return FALSE;
  return TRUE;
}
