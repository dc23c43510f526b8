/* address.h -- where a socket leads: "tcp:HOST:PORT" and "unix:PATH"
 *
 * HOST is a numeric address, an IPv6 one in brackets; "localhost", nothing, or only a PORT, is 127.0.0.1.  Other names
 * are for those who may ask the network (listen/listen.h): nothing here allocates, waits or reads files.
 *
 * Design: design/collector.md .out      Tests: test/plinth/resendqueuetest.c
 */
#ifndef PLINTH_ADDRESS_H
#define PLINTH_ADDRESS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"
#include "base/types.h"

typedef struct AddressStruct {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
  } name;
  socklen_t length;
} AddressStruct, *Address;

#define AddressIsLocal(address) ((address)->name.any.sa_family == AF_UNIX)

/* AddressRead -- from text
 *
 * where         "tcp:..." or "unix:..."
 * reasonReturn  what is wrong with it, in words that live forever
 * returns       ResPARAM: no address; ResLIMIT: a path that is too long; ResUNIMPL: a name that only the network knows
 */
extern Res AddressRead(Address addressReturn, const char *where, const char **reasonReturn);

/* AddressWrite -- as text that AddressRead reads */
extern void AddressWrite(Text text, Address address);

/* AddressSameHost -- do both lead to one machine, whatever the port? */
extern Bool AddressSameHost(Address a, Address b);

#endif /* PLINTH_ADDRESS_H */
