/* inflate.c -- unpacks standard input, which is in zlib's format, into a number of bytes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     inflate SIZE < packed > unpacked
 *
 * The status is 1 if it is damaged.
 */
#include <stdio.h>
#include <stdlib.h>

#include "symbols/inflate.h"

enum { inputMAX = 16 << 20 };

int main(int argc, char **argv)
{
  Size room = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, size;
  unsigned char *in = malloc(inputMAX), *packed, *out = malloc(room + 1);
  Res res;

  if (in == NULL || out == NULL)
    return 2;
  size = fread(in, 1, inputMAX, stdin);
  packed = malloc(size + 1); /* of its own size, so that a sanitizer sees where it ends */
  if (packed == NULL)
    return 2;
  for (Index i = 0; i < size; ++i)
    packed[i] = in[i];
  res = Inflate(out, room, packed, size);
  if (res == ResOK)
    (void)fwrite(out, 1, room, stdout);
  free(in);
  free(packed);
  free(out);
  return res != ResOK;
}
