/* typecache.h -- a cache of what a client works out once for each event type
 *
 * A plan is the client's own struct, zeroed when its type is first met, and found again in a few instructions.
 *
 * Design: design/view.md .drawn      Tests: test/export/drawn.t
 */
#ifndef REQUEST_TYPECACHE_H
#define REQUEST_TYPECACHE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct cacheTableStruct {
  struct cacheTableStruct *next;
  Registry registry;
  _Alignas(16) unsigned char plans[];
} cacheTableStruct;

typedef struct TypeCacheStruct {
  Size size;               /* bytes of a plan */
  cacheTableStruct *front; /* of the registry met last, then the others */
} TypeCacheStruct, *TypeCache;

extern void TypeCacheInit(TypeCache plans, Size size);
extern void TypeCacheFinish(TypeCache plans);

/* TypeCacheTurn -- bring the plans for another registry to the front; FALSE: no memory.  For TypeCacheOf. */
extern Bool TypeCacheTurn(TypeCache plans, Registry registry);

/* TypeCacheOf -- the plan for the event's type; NULL: no memory */
static inline void *TypeCacheOf(TypeCache plans, LogEvent event)
{
  Registry registry = event->process->registry;

  if (UNLIKELY(plans->front == NULL || plans->front->registry != registry) && !TypeCacheTurn(plans, registry))
    return NULL;
  return plans->front->plans + event->type->number * plans->size;
}

/* TypeCacheParam -- the number of the parameter of this name (up to a space) and one of these letters; -1: none */
extern int TypeCacheParam(EventType type, const char *name, const char *letters);

/* A type as a client knows it, by its name and parameters. */
enum {
  TypeCachePARAMS = 4,
  TypeCacheUNMADE = 0,
  TypeCacheNOTHING,
  TypeCacheCLIENT
}; /* what a client knows begins there */

typedef struct TypeCacheTellStruct {
  int tells; /* TypeCacheUNMADE: the type has not been met */
  int param[TypeCachePARAMS]; /* their places, or -1 */
} TypeCacheTellStruct, *TypeCacheTell;

typedef struct TypeCacheKnownStruct {
  const char *type;
  int tells;
  const char *param[TypeCachePARAMS]; /* "letters name"; with ? before it one that the type may lack; NULL: none */
} TypeCacheKnownStruct;

/* TypeCacheMatch -- what a type tells: the last of the `count` known that has its name, and all of whose parameters it
 * has
 * TypeCacheKnows -- does it tell anything?
 * TypeCacheTells -- the same of an event's type, worked out once, for Plans of TypeCacheTellStructs; NULL: no memory */
extern void TypeCacheMatch(TypeCacheTell tell, EventType type, const TypeCacheKnownStruct *known, Count count);
extern Bool TypeCacheKnows(EventType type, const TypeCacheKnownStruct *known, Count count);

static inline TypeCacheTell TypeCacheTells(TypeCache plans, LogEvent event, const TypeCacheKnownStruct *known,
                                           Count count)
{
  TypeCacheTell tell = (TypeCacheTell)TypeCacheOf(plans, event);

  if (LIKELY(tell != NULL) && UNLIKELY(tell->tells == TypeCacheUNMADE))
    TypeCacheMatch(tell, event->type, known, count);
  return tell;
}

/* TypeCacheNamed -- has the type this name? */
extern Bool TypeCacheNamed(EventType type, const char *name);

/* TypeCacheBase -- the last part of a path of *length bytes, which becomes that part's */
extern const char *TypeCacheBase(const char *path, Size *length);

#endif /* REQUEST_TYPECACHE_H */
