/* link.c -- what sender and receiver of a log say to each other
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/link.h"

#include <string.h>

enum { linkVersionAT = LinkMagicSIZE, linkLinkAT = linkVersionAT + 2, linkFirstAT = linkLinkAT + 17, linkDigits = 16 };

static const char linkHex[] = "0123456789abcdef";

static void linkPut(char *place, uint64_t n)
{
  Index i;

  for (i = linkDigits; i-- > 0; n >>= 4)
    place[i] = linkHex[n & 15];
}

static Bool linkGet(uint64_t *nReturn, const char *place)
{
  uint64_t n = 0;
  Index i;

  for (i = 0; i < linkDigits; ++i) {
    const char *at = memchr(linkHex, place[i], linkDigits);
    if (at == NULL)
      return FALSE;
    n = n << 4 | (uint64_t)(at - linkHex);
  }
  *nReturn = n;
  return TRUE;
}

void LinkHelloWrite(char *room, uint64_t link, uint64_t first)
{
  memcpy(room, LinkMAGIC, LinkMagicSIZE);
  memcpy(room + linkVersionAT, "1 ", 2);
  linkPut(room + linkLinkAT, link);
  room[linkFirstAT - 1] = ' ';
  linkPut(room + linkFirstAT, first);
  room[LinkHelloSIZE - 1] = '\n';
}

Res LinkHelloRead(uint64_t *linkReturn, uint64_t *firstReturn, const char *bytes)
{
  if (memcmp(bytes, LinkMAGIC, LinkMagicSIZE) != 0)
    return ResFORMAT;
  if (bytes[linkVersionAT] != '1' || bytes[linkVersionAT + 1] != ' ')
    return ResVERSION;
  if (!linkGet(linkReturn, bytes + linkLinkAT) || !linkGet(firstReturn, bytes + linkFirstAT) ||
      bytes[linkFirstAT - 1] != ' ' || bytes[LinkHelloSIZE - 1] != '\n' || *linkReturn == 0)
    return ResFORMAT;
  return ResOK;
}
