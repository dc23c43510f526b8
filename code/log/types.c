/* types.c -- the registries of a traceset, each kept once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/types.h"

#include <stdlib.h>
#include <string.h>

static Bool typesAre(Types types, WidthsStruct widths, const char *text, Size length)
{
  return types->length == length && types->widths.word == widths.word && types->widths.swapped == widths.swapped &&
         memcmp(types->text, text, length) == 0;
}

static Count typesLines(const char *text, Size length)
{
  const char *limit = text + length;
  Count lines = 1;

  while ((text = memchr(text, '\n', (Size)(limit - text))) != NULL) {
    ++text;
    ++lines;
  }
  return lines;
}

/* typesTake -- each line that can be taken */
static void typesTake(Registry registry, const char *text, Size length, Bool *malformed)
{
  const char *limit = text + length;

  while (text < limit) {
    const char *end = memchr(text, '\n', (Size)(limit - text));
    if (end == NULL)
      end = limit;
    if (RegistryLine(registry, text, (Size)(end - text)) != ResOK)
      *malformed = TRUE;
    text = end + 1;
  }
}

/* typesParse -- the texts from the root to `types`, in this order */
static void typesParse(Registry registry, Types types, Bool *malformed)
{
  Bool ignored;

  if (types->parent != NULL)
    typesParse(registry, types->parent, &ignored);
  typesTake(registry, types->text, types->length, malformed);
}

static Res typesMake(Types *typesReturn, TypesTree tree, Types parent, WidthsStruct widths, const char *text,
                     Size length, Bool *malformed)
{
  Count capacity = typesLines(text, length) + (parent != NULL ? parent->registry->count : 0);
  Types types = calloc(1, sizeof *types);
  char *copy = malloc(length + 1);
  Registry registry = calloc(1, sizeof *registry);
  EventType types_ = calloc(capacity, sizeof *types_);

  if (types == NULL || copy == NULL || registry == NULL || types_ == NULL) {
    free(types);
    free(copy);
    free(registry);
    free(types_);
    return ResMEMORY;
  }
  memcpy(copy, text, length);
  types->parent = parent;
  types->text = copy;
  types->length = length;
  types->name = RegistryNameOf(text, length);
  types->widths = widths;
  types->registry = registry;
  RegistryInit(registry, types_, capacity, widths);
  typesParse(registry, types, malformed);
  types->before = tree->newest;
  types->number = tree->count++;
  tree->newest = types;
  *typesReturn = types;
  return ResOK;
}

Res TypesFollow(Types *typesReturn, TypesTree tree, Types from, WidthsStruct widths, const char *text, Size length,
                Bool *malformed)
{
  Types *list = from != NULL ? &from->child : &tree->roots;
  Types types;
  Res res;

  *malformed = FALSE;
  for (types = from; types != NULL; types = types->parent)
    if (typesAre(types, widths, text, length)) {
      *typesReturn = from;
      return ResOK;
    }
  for (types = *list; types != NULL; types = types->sibling)
    if (typesAre(types, widths, text, length)) {
      *typesReturn = types;
      return ResOK;
    }
  res = typesMake(&types, tree, from, widths, text, length, malformed);
  if (res != ResOK)
    return res;
  types->sibling = *list;
  *list = types;
  *typesReturn = types;
  return ResOK;
}

Types TypesNamed(TypesTree tree, const RegistryNameStruct *name)
{
  Types types = tree->newest;

  while (types != NULL && !RegistryNameIs(&types->name, name))
    types = types->before;
  return types;
}

void TypesFree(TypesTree tree)
{
  Types types = tree->newest;

  while (types != NULL) {
    Types next = types->before;
    free(types->registry->types);
    free(types->registry);
    free(types->text);
    free(types);
    types = next;
  }
}
