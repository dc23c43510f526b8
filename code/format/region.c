/* region.c -- finding the blocks in a region
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/region.h"

#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(RegionHeaderStruct, text) == 1280 && offsetof(RegionHeaderStruct, state) == 1344,
               "tool/pawprint-gdb.py knows where these are");

Bool RegionHeaderSound(RegionHeader header, Size size)
{
  return size >= RegionFIRST && memcmp(header->magic, RegionMAGIC, BlockMagicSIZE) == 0 &&
         header->order == BlockORDER && header->major == BlockMAJOR && header->slots <= RegionSlotsMAX &&
         size >= RegionSize(header->slots) && memchr(header->log, '\0', sizeof header->log) != NULL;
}

Bool RegionBlockAt(Size *offsetReturn, Size *sizeReturn, RegionHeader header, Index i)
{
  unsigned log2 = i < header->slots && i < RegionSlotsMAX
                    ? __atomic_load_n(&header->state[i], __ATOMIC_ACQUIRE) & RegionLog2MASK : 0;

  if (log2 == 0 || (1u << log2) < BlockMIN || (1u << log2) > BlockMAX)
    return FALSE;
  *sizeReturn = (Size)1 << log2;
  *offsetReturn = RegionFIRST + (i + 1) * RegionSlotSIZE - *sizeReturn;
  return TRUE;
}

Bool RegionNamed(const char *path)
{
  const char *name = strrchr(path, '/');

  return name != NULL && (strncmp(name, "/pawprint-", 10) == 0 || strstr(name, ".region-") != NULL ||
                          strncmp(path, "/memfd:pawprint-", 16) == 0);
}
