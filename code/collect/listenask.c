/* listenask.c -- the other side of a listener: asking it something, and finding its address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "collect/listen.h"
#include "plinth/address.h"
#include "plinth/clock.h"
#include "plinth/link.h"
#include "plinth/plinth.h"

enum { askPatience = 2 }; /* s */

/* askPatient -- who does not take or answer anything is waited for so long, and no longer */
static void askPatient(int fd)
{
  struct timeval patience = {.tv_sec = askPatience};

  (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* connect, too */
}

/* askAnswer -- the number that the listener answers with, all of it within that time */
static Bool askAnswer(Count *sendersReturn, int fd)
{
  uint64_t end = EventClockMonotonic() + askPatience * (uint64_t)1000000000, now;
  struct pollfd wait = {fd, POLLIN, 0};
  char room[32];
  Size length = 0;
  ssize_t n;

  while (length < sizeof room - 1 && (now = EventClockMonotonic()) < end &&
         poll(&wait, 1, (int)((end - now) / 1000000) + 1) == 1 &&
         (n = recv(fd, room + length, sizeof room - 1 - length, 0)) > 0)
    length += (Size)n;
  if (length == 0 || room[length - 1] != '\n')
    return FALSE;
  room[length - 1] = '\0';
  return OptionParseNumber(room, sendersReturn) == ResOK;
}

Res ListenAsk(const char *where, const char *request, Count *sendersReturn, const char **reasonReturn)
{
  char line[LinkMagicSIZE + LinkLineMAX + 1];
  AddressStruct address;
  int fd, length = snprintf(line, sizeof line, "%s%s\n", LinkAskMAGIC, request);
  Res res = AddressRead(&address, where, reasonReturn);

  if (res != ResOK)
    return res;
  if (!AddressIsLocal(&address) || length >= (int)sizeof line) {
    *reasonReturn = AddressIsLocal(&address) ? "the request is too long"
                                             : "only a listener on a UNIX socket can be asked";
    return ResPARAM;
  }
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0)
    askPatient(fd);
  if (fd < 0 || connect(fd, &address.name.any, address.length) != 0) {
    *reasonReturn = errno == EAGAIN ? "it does not answer" : strerrordesc_np(errno);
    res = ResIO;
  } else if (send(fd, line, (Size)length, MSG_NOSIGNAL) != length || !askAnswer(sendersReturn, fd)) {
    *reasonReturn = "it does not answer; perhaps it belongs to another user";
    res = ResIO;
  }
  if (fd >= 0)
    (void)close(fd);
  return res;
}

/* askLookUp -- the address of tcp:HOST:PORT where HOST is a name */
static Res askLookUp(Address address, char *where, const char **reasonReturn)
{
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
  char *host = where + strlen("tcp:"), *colon = strrchr(host, ':');
  int error;

  *colon = '\0';
  error = getaddrinfo(host, colon + 1, &hints, &found);
  if (error != 0) {
    *reasonReturn = gai_strerror(error);
    return ResIO;
  }
  address->length = found->ai_addrlen;
  memcpy(&address->name, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return ResOK;
}

Res ListenResolve(char *room, Size size, const char *where, const char **reasonReturn)
{
  const char *option = strstr(where, ",keep=");
  char name[PlinthPlaceMAX];
  AddressStruct address;
  TextStruct text;
  Res res;

  if (option == NULL)
    option = where + strlen(where);
  if (snprintf(name, sizeof name, "%.*s", (int)(option - where), where) >= (int)sizeof name) {
    *reasonReturn = "its name is too long";
    return ResLIMIT;
  }
  res = AddressRead(&address, name, reasonReturn);
  if (res == ResUNIMPL)
    res = askLookUp(&address, name, reasonReturn);
  if (res != ResOK)
    return res;
  TextInit(&text, room, size);
  AddressWrite(&text, &address);
  TextString(&text, option);
  (void)TextTerminate(&text);
  *reasonReturn = "its name is too long";
  return text.overflow ? ResLIMIT : ResOK;
}
