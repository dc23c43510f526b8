/* say.c -- for people: strings and sizes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "say.h"

void SayPlain(FILE *out, const char *string, Size length)
{
  Size i;

  for (i = 0; i < length; ++i)
    putc((unsigned char)string[i] < 0x20 || string[i] == 0x7f ? '?' : string[i], out);
}

void SayBytes(FILE *out, uint64_t bytes)
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double scaled = (double)bytes / 1024;
  unsigned i = 0;

  fprintf(out, "%llu bytes", (unsigned long long)bytes);
  if (bytes < 1024)
    return;
  for (; scaled >= 1024 && i + 1 < ARRAY_LENGTH(units); ++i)
    scaled /= 1024;
  fprintf(out, " (%.1f %s)", scaled, units[i]);
}
