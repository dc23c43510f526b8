/* put.c -- numbers as digits; characters
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/put.h"

const char PutPairs[201] =
  "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
  "8081828384858687888990919293949596979899";

Size PutUtf8(const unsigned char *bytes, Size left)
{
  Size length = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xc2 && bytes[0] < 0xe0 ? 2 : (bytes[0] & 0xf0) == 0xe0 ? 3
              : bytes[0] >= 0xf0 && bytes[0] < 0xf5 ? 4 : 0;
  Index i;

  if (length == 0 || length > left)
    return 0;
  for (i = 1; i < length; ++i)
    if ((bytes[i] & 0xc0) != 0x80)
      return 0;
  if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
      (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
    return 0; /* too long, a surrogate, or beyond Unicode */
  return length;
}
