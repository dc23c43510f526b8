/* address.c -- where a socket leads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/address.h"

#include <arpa/inet.h>
#include <string.h>

enum { addressHostMAX = INET6_ADDRSTRLEN + 2 };

static Res addressHost(Address address, char *host, in_port_t port, const char **reasonReturn)
{
  Size length = strlen(host);

  memset(&address->name, 0, sizeof address->name);
  if (length == 0 || strcmp(host, "localhost") == 0)
    host = strcpy(host, "127.0.0.1");
  if (host[0] == '[' && host[length - 1] == ']') {
    host[length - 1] = '\0';
    ++host;
  }
  if (inet_pton(AF_INET, host, &address->name.v4.sin_addr) == 1) {
    address->name.v4.sin_family = AF_INET;
    address->name.v4.sin_port = port;
    address->length = sizeof address->name.v4;
  } else if (inet_pton(AF_INET6, host, &address->name.v6.sin6_addr) == 1) {
    address->name.v6.sin6_family = AF_INET6;
    address->name.v6.sin6_port = port;
    address->length = sizeof address->name.v6;
  } else {
    *reasonReturn = "the host must be a numeric address, or localhost";
    return ResUNIMPL;
  }
  return ResOK;
}

static Res addressTcp(Address address, const char *place, const char **reasonReturn)
{
  const char *colon = strrchr(place, ':'), *digits = colon != NULL ? colon + 1 : place, *end = digits;
  char host[addressHostMAX] = "";
  Size length = colon != NULL ? (Size)(colon - place) : 0;
  uint64_t port = TextNumber(&end, 10);

  if (end == digits || *end != '\0' || port > UINT16_MAX) {
    *reasonReturn = "it does not end in a port, a number up to 65535";
    return ResPARAM;
  }
  if (length >= sizeof host) {
    *reasonReturn = "the host must be a numeric address, or localhost";
    return ResUNIMPL;
  }
  memcpy(host, place, length);
  host[length] = '\0';
  return addressHost(address, host, htons((uint16_t)port), reasonReturn);
}

static Res addressUnix(Address address, const char *path, const char **reasonReturn)
{
  Size length = strlen(path);

  if (length == 0 || length >= sizeof address->name.local.sun_path) {
    *reasonReturn = length == 0 ? "it names no path" : "the path of a socket may have 107 bytes at most";
    return length == 0 ? ResPARAM : ResLIMIT;
  }
  memset(&address->name, 0, sizeof address->name);
  address->name.local.sun_family = AF_UNIX;
  memcpy(address->name.local.sun_path, path, length);
  address->length = sizeof address->name.local;
  return ResOK;
}

Res AddressRead(Address address, const char *where, const char **reasonReturn)
{
  if (strncmp(where, "tcp:", 4) == 0)
    return addressTcp(address, where + 4, reasonReturn);
  if (strncmp(where, "unix:", 5) == 0)
    return addressUnix(address, where + 5, reasonReturn);
  *reasonReturn = "it is neither tcp:HOST:PORT nor unix:PATH";
  return ResPARAM;
}

void AddressWrite(Text text, Address address)
{
  char room[INET6_ADDRSTRLEN];

  switch (address->name.any.sa_family) {
  case AF_INET:
    TextFormat(text, "tcp:%s:%u", inet_ntop(AF_INET, &address->name.v4.sin_addr, room, sizeof room),
               ntohs(address->name.v4.sin_port));
    break;
  case AF_INET6:
    TextFormat(text, "tcp:[%s]:%u", inet_ntop(AF_INET6, &address->name.v6.sin6_addr, room, sizeof room),
               ntohs(address->name.v6.sin6_port));
    break;
  default:
    TextFormat(text, "unix:%s", address->name.local.sun_path);
    break;
  }
}

Bool AddressSameHost(Address a, Address b)
{
  if (a->name.any.sa_family != b->name.any.sa_family)
    return FALSE;
  if (a->name.any.sa_family == AF_INET)
    return a->name.v4.sin_addr.s_addr == b->name.v4.sin_addr.s_addr;
  return a->name.any.sa_family == AF_UNIX ||
         memcmp(&a->name.v6.sin6_addr, &b->name.v6.sin6_addr, sizeof a->name.v6.sin6_addr) == 0;
}
