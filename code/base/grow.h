/* grow.h -- makes room in arrays to which elements are appended
 *
 * For the reader's wing and the collector: the memory is malloc's.
 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/types.h"

enum { GrowMIN = 8 };

/* Grow -- make room for one element more; capacity doubles
 *
 * array     where the pointer to `*capacity` elements of `size` bytes is, `count` of which are in use; the owner
 *           frees it.  Of an array without memory yet the first few elements may be taken as used.
 * returns   FALSE: no memory; all is as it was
 */
static inline Bool Grow(void *array, Count *capacity, Count count, Size size)
{
  Count more = *capacity == 0 ? GrowMIN : *capacity * 2;
  void *base;

  AVER((count <= *capacity || (*capacity == 0 && count < GrowMIN)) && size > 0);
  if (count < *capacity)
    return TRUE;
  memcpy(&base, array, sizeof base);
  base = reallocarray(base, more, size);
  if (base == NULL)
    return FALSE;
  memcpy(array, &base, sizeof base);
  *capacity = more;
  return TRUE;
}

/* GrowTo -- let an array of `*count` elements have one of this index; what is new is zero
 *
 * array     where the pointer to the elements of `size` bytes is; the owner frees it
 * returns   FALSE: no memory; all is as it was
 */
static inline Bool GrowTo(void *array, Count *count, Index index, Size size)
{
  Count more = *count == 0 ? GrowMIN : *count;
  char *base;

  if (LIKELY(index < *count))
    return TRUE;
  while (more <= index)
    more *= 2;
  memcpy(&base, array, sizeof base);
  base = reallocarray(base, more, size);
  if (base == NULL)
    return FALSE;
  memset(base + *count * size, 0, (more - *count) * size);
  memcpy(array, &base, sizeof base);
  *count = more;
  return TRUE;
}

#endif /* BASE_GROW_H */
