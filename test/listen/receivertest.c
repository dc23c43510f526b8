/* receivertest.c -- the check of a listener's connections and senders
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <sys/socket.h>
#include <unistd.h>

#include "listen/listenlink.h"
#include "tap.h"

static const OptionToolStruct tool = {.name = "receivertest"};
static ListenStruct listened = {.tool = &tool, .senders = 4, .limit = 1000};
static ReceiverStruct receiver = {.listen = &listened, .number = 1, .places = 8};

int main(void)
{
  static SenderStruct sender = {.path = "log.1.paw", .fd = -1, .size = 100};
  static ConnectionStruct known = {.sender = &sender, .greeted = TRUE}, stranger;
  Sender senders[4] = {&sender};
  Connection connections[8] = {&known, &stranger};
  int ends[2];

  receiver.sender = senders;
  receiver.connection = connections;
  receiver.senders = 1;
  receiver.connections = 2;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
    return 1;
  stranger.fd = ends[0];
  known.fd = dup(ends[0]);
  TapOk(ReceiverCheck(&receiver), "a receiver with a sender and a stranger is sound");
  TapIs(write(ends[1], "\x8fPAWlnk", 7), 7, "the beginning of a hello comes in");
  ConnectionRead(&receiver, &stranger);
  TapOk(stranger.fd >= 0 && stranger.used == 7 && ReceiverCheck(&receiver),
        "and waits for the rest; still it is sound");
  PLANT(stranger.used, stranger.room + 1, ReceiverCheck(&receiver), "more bytes than there is room for");
  PLANT(stranger.room, HeaderMAX + 1, ReceiverCheck(&receiver), "more room than a message needs");
  PLANT(stranger.buffer, NULL, ReceiverCheck(&receiver), "room without a buffer");
  PLANT(stranger.outUsed, sizeof stranger.out + 1, ReceiverCheck(&receiver), "more to say than there is room for");
  PLANT(stranger.acknowledge, TRUE, ReceiverCheck(&receiver), "an acknowledgement to a stranger");
  PLANT(known.greeted, FALSE, ReceiverCheck(&receiver), "a sender before its hello");
  PLANT(sender.size, listened.limit + 1, ReceiverCheck(&receiver), "a file that is too large");
  PLANT(sender.path[0], '\0', ReceiverCheck(&receiver), "a sender without a file");
  PLANT(receiver.senders, listened.senders + 1, ReceiverCheck(&receiver), "too many senders");
  PLANT(receiver.connections, receiver.places + 1, ReceiverCheck(&receiver), "too many connections");
  TapIs(write(ends[1], "no hello", 8), 8, "something that is no hello comes in");
  ConnectionRead(&receiver, &stranger);
  TapOk(stranger.fd < 0, "and ends the connection");
  (void)close(ends[1]);
  ConnectionClose(&known);
  return TapDone();
}
