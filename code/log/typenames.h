/* typenames.h -- event types by name, and suggestions for names that are misspelt
 *
 * Design: design/log.md .names      Tests: test/log/logwhotest.c, test/filter/filtertest.c
 */
#ifndef LOG_TYPENAMES_H
#define LOG_TYPENAMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"
#include "log/log.h"

/* LogTypesEach -- call `visit` for the types of each registry once, until it returns TRUE; was there one? */
typedef Bool (*LogTypesVisit)(void *data, Registry registry, EventType type);
extern Bool LogTypesEach(Log log, LogTypesVisit visit, void *data);

/* LogKindsOf -- a bit for each kind that has a type which `wants` wants, in any process */
extern uint32_t LogKindsOf(Log log, Bool (*wants)(void *data, LogProcess process, EventType type), void *data);

/* LogNamesKnown -- are the names in `list`, separated by commas or spaces, those of types?
 * ResPARAM: a name that no process's registry has; `error` says which, and lists those that are like it; or no name at
 * all. */
extern Res LogNamesKnown(Log log, const char *list, char *error, Size size);

/* LogNamesHas -- does such a list name the type?  For a request's `choose`. */
extern Bool LogNamesHas(const char *list, EventType type);

/* ---- Suggestions for a misspelt name ----
 *
 * A Near is a word and those names, of all that it was offered, that are most like it, the best first; of equally good
 * ones those that were offered first.  It owns nothing: word and names must stay as long.
 */

enum { SuggestLengthMAX = 64, SuggestMAX = 6 }; /* bytes of a name that is compared; names that are suggested */

typedef struct SuggestNameStruct {
  const char *name; /* not terminated */
  Size length;
  unsigned distance;
} SuggestNameStruct;

typedef struct SuggestStruct {
  const char *word; /* not terminated */
  Size length;
  Count count;      /* of names; they are in order of distance, and no two are equal */
  SuggestNameStruct name[SuggestMAX];
} SuggestStruct, *Suggest;

extern void SuggestInit(Suggest near, const char *word, Size length);

/* SuggestOffer -- a name; one that is too long to be compared is left out */
extern void SuggestOffer(Suggest near, const char *name, Size length);

/* SuggestFail -- "no WHAT is called 'WORD'ALSO", and what is near; returns ResPARAM
 * SuggestTell -- append "; near it are A, B", if there is any; what a terminal might not show becomes ? */
extern Res SuggestFail(Suggest near, const char *what, const char *also, char *error, Size size);
extern void SuggestTell(Suggest near, Text text);

#endif /* LOG_TYPENAMES_H */
