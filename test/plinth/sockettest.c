/* sockettest.c -- plinths over sockets: kept, resent, refused, and never in the way
 *
 * The test is the receiver, in the same thread: nothing here may wait for it.  Messages of the test begin with their
 * size, as blocks tell theirs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plinth/address.h"
#include "plinth/link.h"
#include "tap.h"

static char folder[64];
static uint64_t seed;

/* The receiver. */

typedef struct ReceiverStruct {
  int listener, fd;
  uint64_t link, first; /* of the hello */
  uint64_t next;        /* number of the message that comes next */
  Count messages;       /* whole ones on this connection */
  Count wrong;
  Bool headed;          /* the header block came first */
  char buffer[1 << 20];
  Size used;
  char where[160];
} ReceiverStruct, *Receiver;

static const char header[] = "the header block\n";

/* receiverOpen -- listen; for TCP at `port`, or any */
static void receiverOpen(Receiver receiver, Bool local, unsigned port)
{
  AddressStruct address;
  const char *reason;
  TextStruct text;
  int one = 1;

  memset(receiver, 0, sizeof *receiver);
  receiver->fd = -1;
  if (local)
    (void)snprintf(receiver->where, sizeof receiver->where, "unix:%s/socket", folder);
  else
    (void)snprintf(receiver->where, sizeof receiver->where, "tcp:127.0.0.1:%u", port);
  (void)AddressRead(&address, receiver->where, &reason);
  if (local)
    (void)unlink(address.name.local.sun_path);
  receiver->listener = socket(address.name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)setsockopt(receiver->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(receiver->listener, &address.name.any, address.length) != 0 || listen(receiver->listener, 8) != 0) {
    printf("Bail out! %s: %s\n", receiver->where, strerror(errno));
    exit(1);
  }
  if (!local) {
    (void)getsockname(receiver->listener, &address.name.any, &address.length);
    TextInit(&text, receiver->where, sizeof receiver->where);
    AddressWrite(&text, &address);
    (void)TextTerminate(&text);
  }
}

static Bool receiverWait(int fd)
{
  struct pollfd wait = {fd, POLLIN, 0};

  return poll(&wait, 1, 2000) == 1;
}

/* receiverAccept -- the next connection; FALSE: there is none */
static Bool receiverAccept(Receiver receiver)
{
  if (!receiverWait(receiver->listener))
    return FALSE;
  receiver->fd = accept(receiver->listener, NULL, NULL);
  receiver->used = receiver->messages = 0;
  receiver->headed = FALSE;
  receiver->link = 0;
  return TRUE;
}

/* receiverParse -- hello, header, then messages: a number, a size, and bytes that follow from the number */
static void receiverParse(Receiver receiver)
{
  Size at = 0;

  if (receiver->link == 0) {
    if (receiver->used < LinkHelloSIZE + sizeof header)
      return;
    receiver->wrong += LinkHelloRead(&receiver->link, &receiver->first, receiver->buffer) != ResOK;
    receiver->headed = memcmp(receiver->buffer + LinkHelloSIZE, header, sizeof header) == 0;
    receiver->next = receiver->first;
    at = LinkHelloSIZE + sizeof header;
  }
  while (receiver->used - at >= 8) {
    uint32_t size, n;
    memcpy(&size, receiver->buffer + at, 4);
    memcpy(&n, receiver->buffer + at + 4, 4);
    if (size > 200000 || size < 9) {
      ++receiver->wrong;
      break;
    }
    if (receiver->used - at < size)
      break;
    receiver->wrong += n != receiver->next || receiver->buffer[at + size - 1] != (char)n;
    ++receiver->next;
    ++receiver->messages;
    at += size;
  }
  receiver->used -= at;
  memmove(receiver->buffer, receiver->buffer + at, receiver->used);
}

/* receiverRead -- all that is there; FALSE: the connection has ended */
static Bool receiverRead(Receiver receiver)
{
  for (;;) {
    ssize_t n = recv(receiver->fd, receiver->buffer + receiver->used, sizeof receiver->buffer - receiver->used,
                     MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
      return FALSE;
    if (n < 0)
      return TRUE;
    receiver->used += (Size)n;
    receiverParse(receiver);
  }
}

static void receiverSay(Receiver receiver, const char *format, unsigned long long n)
{
  char room[LinkLineMAX + 64];
  int length = snprintf(room, sizeof room, format, n);

  (void)!send(receiver->fd, room, (Size)length, MSG_NOSIGNAL);
}

/* receiverUntil -- read until all before message `n` are there; pumps the plinth meanwhile */
static Bool receiverUntil(Receiver receiver, Plinth plinth, uint64_t n)
{
  char room[LinkLineMAX];
  unsigned tries;
  Size size;

  if (receiver->fd < 0 && !receiverAccept(receiver))
    return FALSE;
  for (tries = 0; receiver->next < n && tries < 1000; ++tries) {
    struct pollfd wait = {receiver->fd, POLLIN, 0};
    (void)PlinthReceive(plinth, room, sizeof room, &size);
    (void)poll(&wait, 1, 10);
    if (!receiverRead(receiver))
      return FALSE;
  }
  return receiver->next == n;
}

static void receiverDrop(Receiver receiver)
{
  (void)close(receiver->fd);
  receiver->fd = -1;
}

static void receiverClose(Receiver receiver)
{
  if (receiver->fd >= 0)
    receiverDrop(receiver);
  (void)close(receiver->listener);
}

/* The sender. */

static uint32_t sendNumber; /* of the next message */

/* sendEvents -- each message has two */
static uint64_t sendEvents(const void *message, Size size)
{
  UNUSED(message);
  return size > 0 ? 2 : 0;
}

/* sendOne -- a message of `size` bytes; its number counts only if it was taken */
static Res sendOne(Plinth plinth, uint32_t size)
{
  static char room[200000];
  Res res;

  memcpy(room, &size, 4);
  memcpy(room + 4, &sendNumber, 4);
  memset(room + 8, (int)(char)sendNumber, size - 8);
  res = PlinthSend(plinth, room, size);
  if (res == ResOK)
    ++sendNumber;
  return res;
}

static void sendOpen(Plinth plinth, const char *where, const char *option)
{
  const char *reason = "";
  char room[200];

  (void)snprintf(room, sizeof room, "%s%s", where, option);
  if (PlinthOpen(plinth, room, NULL, &reason) != ResOK) {
    printf("Bail out! %s: %s\n", room, reason);
    exit(1);
  }
  plinth->class->header(plinth, header, sizeof header);
  sendNumber = 0;
}

/* sendWait -- longer than a plinth waits between its first attempts to connect */
static void sendWait(void)
{
  (void)poll(NULL, 0, 60);
}

static ReceiverStruct receiver;

static void testRefusals(void)
{
  static const char *const places[] = {"tcp:host.example.org:1", "tcp:127.0.0.1:x", "unix:", "tcp:1,keep=1",
                                       "tcp:1,keep=2G", "tcp:1,keep=", "tcp:1,keep=99999999999999999999",
                                       "tcp:1,kept=1M"};
  PlinthStruct plinth = {0};
  const char *reason = "";
  Index i;

  for (i = 0; i < ARRAY_LENGTH(places); ++i)
    TapOk(PlinthOpen(&plinth, places[i], NULL, &reason) != ResOK && plinth.class == NULL, "%s: %s", places[i], reason);
}

static void testOrder(Bool local)
{
  const char *way = local ? "UNIX" : "TCP";
  PlinthStruct plinth = {0};
  uint64_t link;
  Index i;

  receiverOpen(&receiver, local, 0);
  sendOpen(&plinth, receiver.where, "");
  errno = 77;
  for (i = 0; i < 100; ++i)
    (void)sendOne(&plinth, (uint32_t)(9 + TapRandom(&seed) % 5000));
  TapIs(errno, 77, "%s: errno is kept", way);
  TapOk(receiverUntil(&receiver, &plinth, 100) && receiver.headed && receiver.wrong == 0,
        "%s: the header block comes first, then all messages in order", way);
  link = receiver.link;
  receiverSay(&receiver, "ack %llu\n", 60);
  sendWait();
  (void)sendOne(&plinth, 1000);
  receiverDrop(&receiver);
  for (i = 0; i < 5; ++i) {
    (void)sendOne(&plinth, 1000);
    sendWait();
  }
  (void)receiverAccept(&receiver);
  TapOk(receiverUntil(&receiver, &plinth, 106) && receiver.headed && receiver.wrong == 0 && receiver.link == link &&
        receiver.first == 60, "%s: after a break it goes on with what was not acknowledged, header block first", way);
  receiverSay(&receiver, "ack %llu\n", 106);
  TapIs(PlinthFinish(&plinth, sendEvents), ResOK, "%s: all is acknowledged", way);
  TapIs(plinth.failed, 0, "%s: nothing was refused", way);
  PlinthClose(&plinth);
  TapOk(!receiverRead(&receiver), "%s: closed", way);
  receiverClose(&receiver);
}

static void testLate(void)
{
  PlinthStruct plinth = {0};
  unsigned port, i;

  receiverOpen(&receiver, FALSE, 0);
  port = (unsigned)atoi(strrchr(receiver.where, ':') + 1);
  receiverClose(&receiver);
  sendOpen(&plinth, receiver.where, "");
  for (i = 0; i < 50; ++i)
    (void)sendOne(&plinth, 3000);
  TapIs(sendNumber, 50, "messages are kept while nobody listens");
  receiverOpen(&receiver, FALSE, port);
  /* An attempt is due after a while, and made with the next message. */
  for (i = 0; i < 20; ++i) {
    sendWait();
    (void)sendOne(&plinth, 3000);
  }
  TapOk(receiverUntil(&receiver, &plinth, 70) && receiver.wrong == 0, "all arrive when somebody does");
  PlinthClose(&plinth);
  receiverClose(&receiver);
}

static void testFull(void)
{
  PlinthStruct plinth = {0};
  Count refused = 0, i;

  receiverOpen(&receiver, TRUE, 0);
  sendOpen(&plinth, receiver.where, ",keep=256K");
  for (i = 0; i < 2000; ++i)
    refused += sendOne(&plinth, 4096) == ResLIMIT;
  TapOk(refused > 1500, "a receiver that reads nothing stops nobody: %zu of 2000 were refused", refused);
  TapIs(plinth.failed, refused, "and counted");
  TapOk(PlinthFinish(&plinth, sendEvents) == ResLIMIT, "the end waits for it, but not forever");
  TapIs(PlinthLeft(&plinth, sendEvents), sendNumber * 2, "and what is left is known");
  TapOk(receiverUntil(&receiver, &plinth, sendNumber), "at last it reads");
  TapIs(sendOne(&plinth, 4096), ResLIMIT, "handed over is not enough to make room: it must be acknowledged");
  receiverSay(&receiver, "ack %llu\n", receiver.next);
  sendWait();
  TapIs(sendOne(&plinth, 4096), ResOK, "then there is room again");
  TapOk(receiverUntil(&receiver, &plinth, sendNumber) && receiver.wrong == 0,
        "and what was taken has arrived, in order, without a gap");
  PlinthClose(&plinth);
  receiverClose(&receiver);
}

/* testWaiting -- who waits for a receiver that is not there sleeps */
static void testWaiting(void)
{
  PlinthStruct plinth = {0};
  struct rusage before, after;

  receiverOpen(&receiver, TRUE, 0);
  receiverClose(&receiver);
  sendOpen(&plinth, receiver.where, "");
  (void)sendOne(&plinth, 3000);
  (void)getrusage(RUSAGE_THREAD, &before);
  TapIs(PlinthWait(&plinth, 1000), sendNumber, "nothing has arrived where nobody is");
  (void)getrusage(RUSAGE_THREAD, &after);
  TapOk(after.ru_nvcsw - before.ru_nvcsw > 3, "the wait for it does not keep a processor busy: it sleeps %ld times",
        after.ru_nvcsw - before.ru_nvcsw);
  PlinthClose(&plinth);
}

/* hostile -- the receiver says something that cannot be: the connection is given up, and the next one goes on */
static void hostile(const char *what, const char *line, Size size)
{
  PlinthStruct plinth = {0};
  Index i;

  receiverOpen(&receiver, TRUE, 0);
  sendOpen(&plinth, receiver.where, "");
  (void)sendOne(&plinth, 100);
  (void)receiverUntil(&receiver, &plinth, 1);
  (void)!send(receiver.fd, line, size, MSG_NOSIGNAL);
  sendWait();
  (void)sendOne(&plinth, 100);
  TapOk(!receiverRead(&receiver), "%s: the connection is given up", what);
  receiverDrop(&receiver);
  for (i = 0; i < 5; ++i) {
    sendWait();
    (void)sendOne(&plinth, 100);
  }
  TapOk(receiverUntil(&receiver, &plinth, 7) && receiver.wrong == 0, "%s: and nothing lost", what);
  PlinthClose(&plinth);
  receiverClose(&receiver);
}

static void testHostile(void)
{
  char noise[4096];
  Index i;

  hostile("an acknowledgement of what was never sent", "ack 4711\n", 9);
  hostile("one that is no number", "ack 0x1\n", 8);
  hostile("one that is too large for a number", "ack 99999999999999999999999999999\n", 34);
  hostile("a refusal", "no\n", 3);
  for (i = 0; i < sizeof noise; ++i)
    noise[i] = 'x';
  hostile("a line without an end", noise, sizeof noise);
}

/* requested -- how many requests the plinth brings, up to the last, which is to be this one */
static Count requested(Plinth plinth, const char *last)
{
  char room[LinkLineMAX] = "";
  Count count = 0;
  Size size;

  sendWait();
  while (PlinthReceive(plinth, room, sizeof room, &size) == ResOK)
    ++count;
  if (count > 0 && memcmp(room, last, strlen(last)) != 0)
    count = 4711;
  return count;
}

static void testRequests(void)
{
  PlinthStruct plinth = {0};
  Index i;

  for (i = 0; i < 3; ++i) {
    Index j;
    if (i == 2)
      (void)setenv("PAWPRINT_OBEY", "tcp", 1);
    receiverOpen(&receiver, i == 0, 0);
    sendOpen(&plinth, receiver.where, "");
    (void)sendOne(&plinth, 100);
    (void)receiverUntil(&receiver, &plinth, 1);
    receiverSay(&receiver, "ack 1\nflush\nkinds Arena,Pool\n%.0llu", 0);
    TapIs(requested(&plinth, "kinds Arena,Pool"), i == 1 ? 0 : 2, "requests over %s are %s",
          i == 0 ? "a UNIX socket" : "TCP",
          i == 0 ? "the same user's" : i == 1 ? "not taken" : "taken if PAWPRINT_OBEY says so");
    for (j = 0; j < 100; ++j)
      receiverSay(&receiver, "flush\n%.0llu", 0);
    TapIs(requested(&plinth, "flush"), i == 1 ? 0 : SocketRequestsMAX, "and only so many wait");
    (void)unsetenv("PAWPRINT_OBEY");
    PlinthClose(&plinth);
    receiverClose(&receiver);
  }
}

/* closeAll -- what daemons do */
static void closeAll(int keep, int other)
{
  int fd;

  for (fd = 3; fd < 1024; ++fd)
    if (fd != keep && fd != other)
      (void)close(fd);
}

static void testClosed(void)
{
  PlinthStruct plinth = {0};
  char path[128], byte;
  int file, i;

  receiverOpen(&receiver, TRUE, 0);
  sendOpen(&plinth, receiver.where, "");
  (void)sendOne(&plinth, 5000);
  (void)receiverUntil(&receiver, &plinth, 1);
  TapOk(plinth.fd >= 200, "the descriptor is out of the program's way");
  closeAll(receiver.listener, receiver.fd);
  (void)snprintf(path, sizeof path, "%s/own", folder);
  file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  (void)dup2(file, plinth.fd);
  TapOk(!receiverRead(&receiver), "the program closes everything");
  receiverDrop(&receiver);
  for (i = 0; i < 5; ++i) {
    (void)sendOne(&plinth, 5000);
    sendWait();
  }
  TapOk(receiverUntil(&receiver, &plinth, 6) && receiver.wrong == 0, "the plinth connects again, and nothing is lost");
  TapIs(pread(file, &byte, 1, 0), 0, "the program's own file in its place is left alone");
  PlinthClose(&plinth);
  TapOk(fcntl(file, F_GETFD) >= 0, "and open");
  (void)close(file);
  receiverClose(&receiver);
}

/* forkChild -- in the child: the same plinth, a link of its own */
static void forkChild(Plinth plinth)
{
  int i;

  sendNumber = 0;
  plinth->class->header(plinth, header, sizeof header);
  for (i = 0; i < 20; ++i)
    (void)sendOne(plinth, 700);
  _exit(PlinthFinish(plinth, sendEvents) == ResOK ? 0 : 1);
}

static void testFork(void)
{
  static ReceiverStruct child;
  PlinthStruct plinth = {0};
  uint64_t link;
  int status = -1;
  pid_t pid;

  receiverOpen(&receiver, TRUE, 0);
  sendOpen(&plinth, receiver.where, "");
  (void)sendOne(&plinth, 5000);
  (void)receiverUntil(&receiver, &plinth, 1);
  link = receiver.link;
  pid = fork();
  if (pid == 0)
    forkChild(&plinth);
  memset(&child, 0, sizeof child);
  child.listener = receiver.listener;
  child.fd = -1;
  TapOk(receiverAccept(&child), "a child of fork connects by itself");
  while (child.next < 20 && receiverWait(child.fd) && receiverRead(&child))
    ;
  TapOk(child.next == 20 && child.headed && child.wrong == 0 && child.first == 0,
        "header block first, its messages from 0 on");
  TapOk(child.link != link && child.link != 0, "as a link of its own");
  receiverSay(&child, "ack %llu\n", 20);
  (void)waitpid(pid, &status, 0);
  TapIs(status, 0, "its end waits until all has arrived");
  (void)close(child.fd);
  (void)sendOne(&plinth, 5000);
  TapOk(receiverUntil(&receiver, &plinth, 2) && receiver.link == link && receiver.wrong == 0,
        "its parent goes on as before");
  PlinthClose(&plinth);
  receiverClose(&receiver);
}

enum { manyTHREADS = 4, manyMESSAGES = 500 };

static PlinthStruct shared;

static void *manyRun(void *unused)
{
  char room[LinkLineMAX];
  Size size;
  int i;

  UNUSED(unused);
  for (i = 0; i < manyMESSAGES; ++i) {
    uint32_t message[100] = {sizeof message, 0};
    (void)PlinthSend(&shared, message, sizeof message);
    (void)PlinthReceive(&shared, room, sizeof room, &size);
  }
  return NULL;
}

static void testMany(void)
{
  pthread_t thread[manyTHREADS];
  Index i;

  receiverOpen(&receiver, TRUE, 0);
  sendOpen(&shared, receiver.where, "");
  for (i = 0; i < manyTHREADS; ++i)
    (void)pthread_create(&thread[i], NULL, manyRun, NULL);
  for (i = 0; i < manyTHREADS; ++i)
    (void)pthread_join(thread[i], NULL);
  (void)receiverAccept(&receiver);
  while (receiver.messages < manyTHREADS * manyMESSAGES) {
    /* They have no numbers. */
    Size size;
    receiver.wrong = 0;
    if (!receiverWait(receiver.fd) || !receiverRead(&receiver))
      break;
    (void)PlinthReceive(&shared, &size, sizeof size, &size);
  }
  TapIs(receiver.messages, manyTHREADS * manyMESSAGES, "several threads send, and all arrives whole");
  PlinthClose(&shared);
  receiverClose(&receiver);
}

/* strangerRun -- another user listens */
static void strangerRun(int ready)
{
  ReceiverStruct *its = &receiver;

  (void)!chdir("/");
  if (setgid(65534) != 0 || setuid(65534) != 0)
    _exit(2);
  receiverOpen(its, TRUE, 0);
  (void)!write(ready, "r", 1);
  _exit(receiverAccept(its) && receiverWait(its->fd) && recv(its->fd, its->buffer, 1, 0) != 1 ? 0 : 1);
}

static void testStranger(void)
{
  PlinthStruct plinth = {0};
  char room[160];
  int ends[2], status = -1, i;
  pid_t pid;

  if (geteuid() != 0) {
    TapSkip("another user's socket: only root can be another user");
    return;
  }
  (void)chmod(folder, 0777);
  (void)snprintf(room, sizeof room, "%s/socket", folder);
  (void)unlink(room);
  (void)!pipe(ends);
  pid = fork();
  if (pid == 0)
    strangerRun(ends[1]);
  (void)!read(ends[0], room, 1);
  (void)snprintf(room, sizeof room, "unix:%s/socket", folder);
  sendOpen(&plinth, room, "");
  for (i = 0; i < 5; ++i) {
    (void)sendOne(&plinth, 100);
    sendWait();
  }
  TapIs(PlinthFinish(&plinth, sendEvents), ResLIMIT, "nothing is sent to another user's socket");
  PlinthClose(&plinth);
  (void)waitpid(pid, &status, 0);
  TapIs(status, 0, "not a byte");
  (void)chmod(folder, 0700);
}

/* testTold -- what is said on standard error, and how often */
static void testTold(void)
{
  char path[128], room[2048] = "";
  int saved = dup(2), i;
  PlinthStruct plinth = {0};
  FILE *file;

  (void)snprintf(path, sizeof path, "%s/err", folder);
  (void)freopen(path, "w", stderr);
  (void)snprintf(room, sizeof room, "unix:%s/nobody", folder);
  sendOpen(&plinth, room, ",keep=256K");
  for (i = 0; i < 200; ++i) {
    (void)sendOne(&plinth, 4000);
    if (i % 50 == 0)
      sendWait();
  }
  (void)PlinthFinish(&plinth, sendEvents);
  PlinthClose(&plinth);
  (void)fflush(stderr);
  (void)dup2(saved, 2);
  memset(room, 0, sizeof room);
  file = fopen(path, "r");
  (void)!fread(room, 1, sizeof room - 1, file);
  (void)fclose(file);
  TapOk(strstr(room, "kept in memory, as far as it fits") != NULL && strstr(room, "No such file or directory") != NULL,
        "that nobody is there is told");
  TapOk(strstr(room, "it cannot be reached, and no more can be kept") != NULL, "and when no more fits");
  TapOk(strstr(room, "65 blocks with 130 events were not acknowledged in time") != NULL,
        "and how much was lost at the end");
  TapIs(strchr(strchr(strchr(room, '\n') + 1, '\n') + 1, '\n')[1], '\0', "each once");
  printf("# %s\n", room);
}

/* SOCKET_SEES -- one field with a wrong value is seen, and the state is sound again without it */
#define SOCKET_SEES(place, wrong) \
  do { \
    __typeof__(place) before_ = (place); \
    Bool sound_; \
    (place) = (wrong); \
    sound_ = SocketCheck(&plinth); \
    (place) = before_; \
    TapOk(!sound_ && SocketCheck(&plinth), "%s = %s is seen", #place, #wrong); \
  } while (0)

static void testCheck(void)
{
  static PlinthStruct plinth;
  const char *reason;
  char place[128];
  Socket socket;

  (void)snprintf(place, sizeof place, "unix:%s/nobody", folder);
  TapOk(PlinthOpen(&plinth, place, NULL, &reason) == ResOK && PlinthSend(&plinth, "x", 1) == ResOK,
        "a socket without a receiver");
  socket = plinth.state;
  TapOk(SocketCheck(&plinth), "is sound");
  SOCKET_SEES(socket->phase, SocketUP + 1);
  SOCKET_SEES(socket->newest, 2);
  SOCKET_SEES(socket->greeting, 2);
  SOCKET_SEES(socket->headerLength[0], SocketGreetingMAX);
  SOCKET_SEES(socket->headerLength[1], SocketGreetingMAX);
  SOCKET_SEES(socket->greeted, socket->greetingLength + 1);
  SOCKET_SEES(socket->lineLength, LinkLineMAX + 1);
  SOCKET_SEES(socket->requests, socket->received + SocketRequestsMAX + 1);
  SOCKET_SEES(socket->keep.tail.at, socket->keep.head.at + 1);
  SOCKET_SEES(plinth.fd, 100);
  PlinthClose(&plinth);
}

int main(void)
{
#if defined(VARIETY_RASH)
  TapSkip("no telemetry in this variety");
  return TapDone();
#endif
  char command[128];

  seed = TapSeed();
  (void)snprintf(folder, sizeof folder, "/tmp/pawprint-socket-XXXXXX");
  if (mkdtemp(folder) == NULL)
    return 1;
  testTold();
  (void)freopen("/dev/null", "w", stderr);
  testRefusals();
  testOrder(TRUE);
  testOrder(FALSE);
  testLate();
  testFull();
  testWaiting();
  testHostile();
  testRequests();
  testClosed();
  testFork();
  testMany();
  testStranger();
  testCheck();
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  (void)!system(command);
  return TapDone();
}
