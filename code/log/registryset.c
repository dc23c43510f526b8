/* registryset.c -- the registries of a traceset, each kept once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/registryset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/aver.h"

static Types *typesSlot(TypesTree tree, const RegistryNameStruct *name)
{
  return &tree->slot[(name->crc ^ name->length) % TypesSLOTS];
}

static Bool typesAre(Types types, WidthsStruct widths, const RegistryNameStruct *name, const char *text)
{
  return RegistryNameIs(&types->name, name) && types->widths.word == widths.word &&
         types->widths.swapped == widths.swapped && memcmp(types->text, text, name->length) == 0;
}

/* typesCapacity -- so many types may be in lines: those that begin as `event:` does, which may stand behind spaces */
static Count typesCapacity(const char *text, Size length)
{
  const char *limit = text + length;
  Count types = 1;

  while (text < limit) {
    const char *end = memchr(text, '\n', (Size)(limit - text));
    while (text < limit && *text == ' ')
      ++text;
    types += text < limit && *text == 'e';
    text = end != NULL ? end + 1 : limit;
  }
  return types;
}

/* typesInherit -- begin with the types that were said before, laid out for these widths */
static void typesInherit(Registry registry, Registry parent)
{
  char letter[EventParamMAX];
  Index i;

  for (i = 0; i < parent->count; ++i) {
    EventType type = &registry->types[i];
    *type = parent->types[i];
    memcpy(letter, type->letter, sizeof letter);
    if (type->params > 0)
      (void)EventTypeLayout(type, letter, type->params, &registry->widths);
    registry->index[type->code] = (uint16_t)(i + 1);
  }
  registry->count = parent->count;
  registry->kinds = parent->kinds;
  memcpy(registry->kind, parent->kind, sizeof registry->kind);
}

/* typesMemory -- bytes of memory that a node takes: of its registry the pages that were touched */
static Size typesMemory(Types types)
{
  enum { PAGE = 4096 };
  Registry registry = types->registry;
  uint64_t pages = 0;
  Size size;
  Index i;

  for (i = 0; i < registry->count; ++i)
    pages |= (uint64_t)1 << (offsetof(RegistryStruct, index[0]) + registry->types[i].code * sizeof(uint16_t)) / PAGE;
  size = sizeof *types + types->length + registry->capacity * sizeof registry->types[0] +
         PAGE * (1 + (Size)__builtin_popcountll(pages));
  return size > TypesNODE ? size : TypesNODE;
}

static void typesFree(Types types)
{
  if (types->registry != MAP_FAILED) {
    free(types->registry->types);
    (void)munmap(types->registry, sizeof *types->registry);
  }
  free(types->text);
  free(types);
}

/* typesFit -- no more room than its types take */
static void typesFit(Registry registry)
{
  Count count = registry->count > 0 ? registry->count : 1;
  EventType types = realloc(registry->types, count * sizeof *types);

  if (types == NULL)
    return;
  registry->types = types;
  registry->capacity = count;
}

/* typesNew -- a node with an empty registry, and room in that for `capacity` types; NULL: no memory */
static Types typesNew(const RegistryNameStruct *name, Count capacity, WidthsStruct widths)
{
  Types types = calloc(1, sizeof *types);
  Registry registry = mmap(NULL, sizeof *registry, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (types == NULL)
    return NULL;
  types->registry = registry;
  types->text = malloc(name->length + 1);
  if (registry != MAP_FAILED) {
    RegistryInit(registry, NULL, capacity, widths);
    registry->types = calloc(registry->capacity, sizeof registry->types[0]);
  }
  if (registry != MAP_FAILED && registry->types != NULL && types->text != NULL)
    return types;
  typesFree(types);
  return NULL;
}

static Res typesMake(Types *typesReturn, TypesTree tree, Types parent, WidthsStruct widths,
                     const RegistryNameStruct *name, const char *text, Bool *malformed)
{
  Count capacity = typesCapacity(text, name->length) + (parent != NULL ? parent->registry->count : 0);
  Types types = typesNew(name, capacity, widths), *slot = typesSlot(tree, name);

  if (types == NULL)
    return ResMEMORY;
  memcpy(types->text, text, name->length);
  types->parent = parent;
  types->length = name->length;
  types->name = *name;
  types->widths = widths;
  if (parent != NULL)
    typesInherit(types->registry, parent->registry);
  *malformed |= RegistryText(types->registry, types->text, types->length) != ResOK;
  typesFit(types->registry);
  types->before = tree->newest;
  types->below = *slot;
  types->number = tree->count++;
  tree->newest = *slot = types;
  tree->taken += typesMemory(types);
  *typesReturn = types;
  return ResOK;
}

Bool TypesFull(TypesTree tree)
{
  return tree->taken / TypesFACTOR > tree->read + TypesFREE / TypesFACTOR;
}

Res TypesFollow(Types *typesReturn, TypesTree tree, Types from, WidthsStruct widths, const char *text, Size length,
                Bool *malformed)
{
  RegistryNameStruct name = RegistryNameOf(text, length);
  Types types;

  AVER(from == NULL || from->number < tree->count);
  *malformed = FALSE;
  for (types = from; types != NULL; types = types->parent)
    if (typesAre(types, widths, &name, text)) {
      *typesReturn = from;
      return ResOK;
    }
  for (types = *typesSlot(tree, &name); types != NULL; types = types->below)
    if (types->parent == from && typesAre(types, widths, &name, text)) {
      *typesReturn = types;
      return ResOK;
    }
  if (length == 0 || !TypesFull(tree))
    return typesMake(typesReturn, tree, from, widths, &name, text, malformed);
  *typesReturn = from;
  if (from == NULL) {
    Res res = TypesFollow(typesReturn, tree, NULL, widths, "", 0, malformed);
    if (res != ResOK)
      return res;
  }
  *malformed = TRUE;
  return ResOK;
}

Types TypesNamed(TypesTree tree, const RegistryNameStruct *name)
{
  Types types = *typesSlot(tree, name);

  while (types != NULL && !RegistryNameIs(&types->name, name))
    types = types->below;
  return types;
}

Bool TypesCheck(TypesTree tree)
{
  Types types, same;
  Count left = tree->count;

  for (types = tree->newest; types != NULL && left > 0; types = types->before) {
    for (same = *typesSlot(tree, &types->name); same != NULL && same != types; same = same->below)
      ;
    if (types->number != --left || same == NULL || types->registry->count > types->registry->capacity ||
        (types->parent != NULL && (types->parent->number >= types->number ||
                                   types->parent->registry->count > types->registry->count)))
      return FALSE;
  }
  return types == NULL && left == 0;
}

void TypesFree(TypesTree tree)
{
  Types types = tree->newest;

  while (types != NULL) {
    Types next = types->before;
    typesFree(types);
    types = next;
  }
}
