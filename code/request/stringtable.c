/* stringtable.c -- strings out of logs, each kept once and known by a number
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/stringtable.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/scatter.h"

typedef struct stringsEntryStruct {
  uint64_t hash;
  Size length;
  char bytes[];
} stringsEntryStruct, *stringsEntry;

void StringsFinish(Strings strings)
{
  Index i;

  AVER(StringsCheck(strings));
  for (i = 0; i < strings->count; ++i)
    free(strings->string[i]);
  free(strings->string);
  free(strings->place);
  *strings = (StringsStruct){.count = 0};
}

static uint64_t stringsHash(const char *bytes, Size length)
{
  uint64_t hash = Scatter(length + 1), word = 0;

  for (; length >= sizeof word; length -= sizeof word, bytes += sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = ScatterMore(hash, word);
  }
  word = 0;
  memcpy(&word, bytes, length);
  return Scatter(ScatterMore(hash, word));
}

/* stringsPlace -- where the string's number is, or where it should be */
static uint32_t *stringsPlace(Strings strings, uint64_t hash, const char *bytes, Size length)
{
  Index mask = 2 * strings->capacity - 1, i;

  for (i = (Index)(hash >> 32) & mask;; i = (i + 1) & mask) {
    uint32_t number = strings->place[i];
    stringsEntry entry = number == 0 ? NULL : strings->string[number - 1];
    if (entry == NULL ||
        (entry->hash == hash && entry->length == length && memcmp(entry->bytes, bytes, length) == 0))
      return &strings->place[i];
  }
}

Bool StringsCheck(Strings strings)
{
  Bool sound = strings->count <= strings->capacity && (strings->capacity == 0 || WordIsPowerOf2(strings->capacity));
  Index i;

  for (i = 0; sound && i < strings->count; ++i) {
    stringsEntry entry = strings->string[i];
    sound = entry->length > 0 && *stringsPlace(strings, entry->hash, entry->bytes, entry->length) == i + 1;
  }
  return sound;
}

static Bool stringsGrow(Strings strings)
{
  Count capacity = strings->capacity;
  stringsEntry *string;
  uint32_t *place;
  Index i;

  if (!Grow(&strings->string, &capacity, strings->count, sizeof *string))
    return FALSE;
  string = strings->string;
  place = calloc(2 * capacity, sizeof *place);
  if (place == NULL)
    return FALSE;
  free(strings->place);
  strings->place = place;
  strings->capacity = capacity;
  for (i = 0; i < strings->count; ++i)
    *stringsPlace(strings, string[i]->hash, string[i]->bytes, string[i]->length) = (uint32_t)(i + 1);
  return TRUE;
}

uint32_t StringsAdd(Strings strings, const char *bytes, Size length)
{
  uint64_t hash = stringsHash(bytes, length);
  stringsEntry entry;
  uint32_t *place;

  if (length == 0)
    return 0;
  if (strings->count == strings->capacity && !stringsGrow(strings)) {
    strings->failed = TRUE;
    return 0;
  }
  place = stringsPlace(strings, hash, bytes, length);
  if (*place != 0)
    return *place;
  entry = strings->count < UINT32_MAX ? malloc(sizeof *entry + length + 1) : NULL;
  if (entry == NULL) {
    strings->failed = TRUE;
    return 0;
  }
  entry->hash = hash;
  entry->length = length;
  memcpy(entry->bytes, bytes, length);
  entry->bytes[length] = '\0';
  strings->string[strings->count] = entry;
  *place = (uint32_t)++strings->count;
  return *place;
}

const char *StringsAt(Strings strings, uint32_t number, Size *lengthReturn)
{
  AVER(number <= strings->count);
  *lengthReturn = number == 0 ? 0 : strings->string[number - 1]->length;
  return number == 0 ? "" : strings->string[number - 1]->bytes;
}
