/* typecache.c -- a cache of what a client works out once for each event type
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/typecache.h"

#include <stdlib.h>
#include <string.h>

void TypeCacheInit(TypeCache plans, Size size)
{
  plans->size = size;
  plans->front = NULL;
}

void TypeCacheFinish(TypeCache plans)
{
  while (plans->front != NULL) {
    cacheTableStruct *next = plans->front->next;
    free(plans->front);
    plans->front = next;
  }
}

Bool TypeCacheTurn(TypeCache plans, Registry registry)
{
  cacheTableStruct **link, *table;

  for (link = &plans->front; *link != NULL && (*link)->registry != registry; link = &(*link)->next)
    ;
  table = *link;
  if (table != NULL) {
    *link = table->next;
  } else {
    table = calloc(1, sizeof *table + registry->count * plans->size);
    if (table == NULL)
      return FALSE;
    table->registry = registry;
  }
  table->next = plans->front;
  plans->front = table;
  return TRUE;
}

int TypeCacheParam(EventType type, const char *name, const char *letters)
{
  Size count = strcspn(letters, " ");
  Index i;

  for (i = 0; i < type->params; ++i)
    if (type->paramLength[i] == strlen(name) && memcmp(type->param[i], name, type->paramLength[i]) == 0 &&
        memchr(letters, type->letter[i], count) != NULL)
      return (int)i;
  return -1;
}

Bool TypeCacheNamed(EventType type, const char *name)
{
  return type->nameLength == strlen(name) && memcmp(type->name, name, type->nameLength) == 0;
}

void TypeCacheMatch(TypeCacheTell tell, EventType type, const TypeCacheKnownStruct *known, Count count)
{
  TypeCacheTellStruct match;
  Index i, p;

  tell->tells = TypeCacheNOTHING;
  for (i = 0; i < count; ++i) {
    Bool all = TypeCacheNamed(type, known[i].type);
    match.tells = known[i].tells;
    for (p = 0; all && p < TypeCachePARAMS; ++p) {
      const char *wanted = known[i].param[p];
      Bool may = wanted == NULL || *wanted == '?';
      match.param[p] = -1;
      if (wanted != NULL)
        match.param[p] = TypeCacheParam(type, strchr(wanted, ' ') + 1, wanted + may);
      all = may || match.param[p] >= 0;
    }
    if (all)
      *tell = match;
  }
}

Bool TypeCacheKnows(EventType type, const TypeCacheKnownStruct *known, Count count)
{
  TypeCacheTellStruct tell;

  TypeCacheMatch(&tell, type, known, count);
  return tell.tells != TypeCacheNOTHING;
}

const char *TypeCacheBase(const char *path, Size *length)
{
  const char *slash = memrchr(path, '/', *length), *base = slash == NULL ? path : slash + 1;

  *length -= (Size)(base - path);
  return base;
}
