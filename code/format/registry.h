/* registry.h -- one registry: the event types of a process, parsed from their text in a header block
 *
 * (All registries of a log: log/registryset.h.  The one of this build as text: source/builtinregistry.h.)
 *
 * A Registry is parsed from text, the lines `kind:`, `event:` and `describe:` that eventgen.pl makes from the
 * registry file and that every header block carries.  The writer parses its own, the reader each process's; so there is
 * one meaning of the text, and types that a program defines while it runs go the same way.
 *
 * Always true (RegistryCheck):
 *   types[index[code] - 1].code == code wherever index[code] != 0; index[0] is 0
 *   the offsets of a type's parameters rise, and a string is the last
 *
 * Design: design/format.md .registry      Tests: test/format/formattest.c
 */
#ifndef FORMAT_REGISTRY_H
#define FORMAT_REGISTRY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum {
  EventParamMAX = 32,    /* parameters of one event; eventgen.pl reads it from here */
  EventKindMAX = 16,     /* kinds that a log may name */
  RegistryTypesMAX = 4096 /* types that one process may have */
};

/* How wide the letters are on the writer's machine. */
typedef struct WidthsStruct {
  uint8_t word; /* P, A and W: 4 or 8 bytes */
  Bool swapped; /* the writer's byte order is not ours */
} WidthsStruct, *Widths;

typedef struct EventTypeStruct {
  uint16_t code;
  uint8_t kind;   /* index into the kinds */
  uint8_t always; /* there in every variety */
  uint8_t params; /* how many parameters */
  uint8_t strings; /* 1 if the last is an S */
  uint16_t length; /* bytes of an event, header included; where the string begins if there is one */
  char letter[EventParamMAX];        /* P A W U D S */
  uint16_t offset[EventParamMAX];    /* from the event's first byte */
  uint8_t width[EventParamMAX];      /* bytes; 0 for S */
  const char *name;                  /* these point into the text that was parsed, or are "" */
  const char *param[EventParamMAX];
  const char *describe;
  uint16_t nameLength;
  uint8_t paramLength[EventParamMAX];
  uint16_t describeLength;
  uint16_t number;                   /* its place in the registry's types */
} EventTypeStruct, *EventType;

typedef struct RegistryStruct {
  WidthsStruct widths;
  Count count;                            /* types */
  Count capacity;                         /* places in `types`, which the caller gave */
  EventType types;
  Count kinds;                            /* one behind the highest kind named */
  char kind[EventKindMAX][16];            /* their names, NUL-terminated */
  uint16_t index[65536];                  /* by code: 1 + place in types, 0 for unknown; pages untouched cost nothing */
} RegistryStruct, *Registry;

/* RegistryInit -- an empty registry
 *
 * types, capacity  memory for the types, which the caller owns and keeps; at most RegistryTypesMAX are used
 * registry must be zeroed memory (fresh from mmap, calloc or static), because `index` is not cleared here.
 */
extern void RegistryInit(Registry registry, EventType types, Count capacity, WidthsStruct widths);

/* RegistryLine -- take one line (without newline) of a header: kind:, event: or describe:
 *
 * Other lines are left alone (ResOK).  `line` must stay as long as the registry: names point into it.  An event line
 * for a code that is there already must say the same (the first stands), which is how repeated headers are taken.
 * ResFORMAT: the line is malformed; ResLIMIT: no room for one more type.  Nothing is taken then. No allocation;
 * async-signal safe.
 */
extern Res RegistryLine(Registry registry, const char *line, Size length);

/* RegistryText -- RegistryLine for each line of `text`.  Returns the first failure; the lines after it are taken all
 * the same. */
extern Res RegistryText(Registry registry, const char *text, Size length);

/* RegistryFind -- the type of a code, or NULL */
static inline EventType RegistryFind(Registry registry, uint16_t code)
{
  uint16_t i = registry->index[code];

  return i == 0 ? NULL : &registry->types[i - 1];
}

/* RegistryNumber -- a number as header blocks have it, decimal or hex with 0x, from *next on up to a space or `limit`;
 * *next is then behind that space.  FALSE: it is none, or too large. */
extern Bool RegistryNumber(uint64_t *numberReturn, const char **next, const char *limit);

/* EventTypeLayout -- fill letter, offset, width, params, strings, length from a format's letters ("PAW", "0")
 * ResFORMAT if it is no format.  Used by RegistryLine, and for types defined at run time. */
extern Res EventTypeLayout(EventType type, const char *format, Size length, Widths widths);

/* RegistryCheck -- does all hold that must always be true, whatever was parsed? */
extern Bool RegistryCheck(Registry registry);

#endif /* FORMAT_REGISTRY_H */
