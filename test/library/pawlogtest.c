/* pawlogtest.c -- libpawlog's requests, from a program's side
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "log/pawlog.h"
#include "tap.h"

static const char *const paths[] = {"test/good/threads.paw", "test/good/foreign.paw"};

/* What a request has met. */
typedef struct {
  PawRequest request;
  unsigned events, before, after, processes, streams, chunks, inChunk, wrong, limit;
  uint64_t last;
  PawPosition position;
  PawService service;
  PawRequest *other;
} Client;

static int event(PawRequest *request, PawEvent e)
{
  Client *client = request->data;

  client->wrong += !client->inChunk || PawEventTime(e) < client->last;
  client->last = PawEventTime(e);
  if (client->events++ == client->limit / 2)
    PawEventPosition(&client->position, e);
  if (client->limit != 0 && client->events == client->limit)
    request->stop = 1;
  return 0;
}

static void before(PawRequest *request) { ++((Client *)request->data)->before; }
static void after(PawRequest *request) { ++((Client *)request->data)->after; }
static void inChunk(PawRequest *request)
{
  ++((Client *)request->data)->chunks;
  ((Client *)request->data)->inChunk = 1;
}
static void outChunk(PawRequest *request) { ((Client *)request->data)->inChunk = 0; }
static void process(PawRequest *request, PawProcess p) { (void)p; ++((Client *)request->data)->processes; }
static void stream(PawRequest *request, const PawStream *s) { (void)s; ++((Client *)request->data)->streams; }

static void clientInit(Client *client)
{
  memset(client, 0, sizeof *client);
  PawRequestInit(&client->request);
  client->request.data = client;
  client->request.event = event;
  client->request.before = before;
  client->request.after = after;
  client->request.beforeChunk = inChunk;
  client->request.afterChunk = outChunk;
  client->request.beforeProcess = process;
  client->request.beforeStream = stream;
}

static char order[64];

#define HOOK(name, letter)                                          \
  static int name(PawRequest *request, PawEvent e)                  \
  {                                                                 \
    Size length = strlen(order);                                    \
    (void)request, (void)e;                                         \
    order[length] = letter;                                         \
    return 0;                                                       \
  }
typedef size_t Size;
HOOK(hookA, 'a')
HOOK(hookB, 'b')
HOOK(hookC, 'c')

static void hooks(PawLog log)
{
  PawHook hook[3] = {{hookC, 5, 0}, {hookA, -1, 0}, {hookB, 5, 0x0601}};
  PawRequest request;

  PawRequestInit(&request);
  request.hooks = hook;
  request.hookCount = 3;
  request.count = 1;
  TapIs(PawRead(log, &request), PAW_OK, "a request with hooks");
  TapOk(strcmp(order, "ac") == 0 || strcmp(order, "acb") == 0, "hooks are called by priority: %s", order);
  hook[1].code = 0x10000;
  TapIs(PawRead(log, &request), PAW_PARAM, "a hook for a code that cannot be is refused");
  hook[1] = (PawHook){NULL, 0, 0};
  TapIs(PawRead(log, &request), PAW_PARAM, "and one that is none");
  request.hooks = NULL; /* and hookCount is 3 */
  TapIs(PawRead(log, &request), PAW_PARAM, "and hooks that are nowhere");
  request.hookCount = 0;
  request.size = 8;
  TapIs(PawRead(log, &request), PAW_PARAM, "so is a request of another size");
}

static int always(void *data) { ++*(unsigned *)data; return 1; }

static void services(PawLog log, unsigned all)
{
  Client one, two;
  PawService service;
  unsigned asked = 0;
  int error;

  clientInit(&one);
  clientInit(&two);
  TapIs(PawServiceCreate(&service, log, 4), PAW_OK, "a service");
  TapIs(PawServiceFile(service, &one.request), PAW_OK, "a request is filed");
  TapIs(PawServiceFile(service, &one.request), PAW_PARAM, "but not twice");
  two.limit = 7;
  TapIs(PawServiceFile(service, &two.request), PAW_OK, "so is another");
  while ((error = PawServiceRun(service, always, &asked)) == PAW_PENDING)
    ;
  TapIs(error, PAW_OK, "in the end all have ended");
  TapOk(asked >= all / 4, "in many pieces (%u)", asked);
  TapIs(one.events, all, "each event comes once");
  TapIs(two.events, 7, "a request stops where it wants");
  TapIs(one.before + two.before + one.after + two.after, 4, "around each is called once");
  TapIs(one.wrong + two.wrong + one.inChunk + two.inChunk, 0, "in order, within chunks");
  TapIs(PawServiceWithdraw(service, &one.request), 0, "what has ended cannot be withdrawn");
  TapIs(PawServiceFile(service, &one.request), PAW_OK, "but filed again");
  TapIs(PawServiceWithdraw(service, &one.request), 1, "and then withdrawn");
  TapIs(PawServiceFile(service, &one.request), PAW_OK, "one that is filed");
  PawServiceDestroy(service);
  PawServiceDestroy(NULL);
}

/* Whoever ends files another, and withdraws a third. */
static void afterOther(PawRequest *request)
{
  Client *client = request->data;

  after(request);
  client->wrong += PawServiceWithdraw(client->service, client->other) != 1;
  client->wrong += PawServiceFile(client->service, client->other) != PAW_OK;
}

static int gone(PawRequest *request, PawEvent e)
{
  Client *client = request->data;
  PawService service = client->service;

  (void)e;
  if (PawServiceWithdraw(service, request) != 1)
    abort();
  free(client);
  return 0;
}

static void withdrawals(PawLog log)
{
  Client one, two, *three = malloc(sizeof *three);
  PawService service;
  unsigned asked = 0;

  clientInit(&one);
  clientInit(&two);
  clientInit(three);
  (void)PawServiceCreate(&service, log, 1);
  one.service = three->service = service;
  one.other = &two.request;
  one.request.after = afterOther;
  (void)PawServiceFile(service, &one.request);
  (void)PawServiceFile(service, &two.request);
  TapIs(PawServiceRun(service, always, &asked), PAW_PENDING, "two requests are interrupted");
  TapIs(PawServiceWithdraw(service, &one.request), 1, "one is withdrawn, whose hook withdraws and files the other");
  TapIs(one.wrong, 0, "which it can");
  TapIs(PawServiceRun(service, NULL, NULL), PAW_OK, "and goes on");
  TapOk(two.before == 2 && two.after == 2, "so that it has been served twice");
  three->request.event = gone;
  three->request.before = three->request.after = NULL;
  three->request.beforeChunk = three->request.afterChunk = NULL;
  (void)PawServiceFile(service, &three->request);
  TapIs(PawServiceRun(service, NULL, NULL), PAW_OK, "a request that withdraws and frees itself is gone");
  PawServiceDestroy(service);
}

static void positions(PawLog log, unsigned all)
{
  char text[PAW_POSITION_TEXT];
  PawPosition position, back;
  Client client;
  uint64_t n;

  clientInit(&client);
  client.limit = all;
  (void)PawRead(log, &client.request);
  position = client.position;
  PawPositionText(text, log, &position);
  TapIs(PawPositionRead(&back, log, text), PAW_OK, "a position as text: %s", text);
  TapIs(PawPositionCompare(&position, &back), 0, "and back");
  TapIs(PawPositionRead(&back, log, "nonsense"), PAW_FORMAT, "not everything is one");
  clientInit(&client);
  client.request.start = &position;
  (void)PawRead(log, &client.request);
  TapIs(client.events, all - all / 2, "reading from there on");
  clientInit(&client);
  client.request.end = &position;
  (void)PawRead(log, &client.request);
  TapIs(client.events, all / 2, "and up to there");
  back = position;
  TapIs(PawPositionStep(&back, &n, log, &client.request, 3), PAW_OK, "three events on");
  TapIs(PawPositionStep(&back, &n, log, &client.request, -3), PAW_OK, "and back");
  TapIs(n, 3, "is three events");
}

static void types(PawLog log)
{
  PawProcess p = PawProcessAt(log, 0);
  PawType type = PawTypeFind(p, "PoolAlloc");
  char name[32], small[3];

  TapOk(type != NULL && PawTypeIs(type, "PoolAlloc") && !PawTypeIs(type, "PoolAl"), "a type by its name");
  TapOk(strcmp(PawTypeName(type, name, sizeof name), "PoolAlloc") == 0, "and its name");
  TapOk(strcmp(PawTypeName(type, small, sizeof small), "Po") == 0, "cut to the room there is");
  TapOk(strcmp(PawTypeName(type, name, sizeof "PoolAlloc"), "PoolAlloc") == 0, "and whole in just the room it takes");
  TapIs(PawTypeField(type, "size"), 2, "a field by its name");
  TapIs(PawTypeField(type, "sizes"), (uint64_t)-1, "or none");
  TapIs(PawTypeLetter(type, 1), 'A', "its letter");
  TapIs(PawTypeLetter(type, 99), 0, "none behind the last");
  TapOk(strcmp(PawTypeKindName(p, type), "Object") == 0, "its kind");
  TapOk(PawProcessAt(log, PawProcesses(log)) == NULL && PawTypeAt(p, PawTypes(p)) == NULL, "nothing behind the last");
}

static int chooses(void *data, PawProcess p, PawType type)
{
  (void)data, (void)p;
  return PawTypeIs(type, "PoolAlloc");
}

static void filters(PawLog log)
{
  PawFilter filter;
  Client client;
  unsigned seen;
  char message[200];

  TapIs(PawFilterMake(&filter, log, "size >", message, sizeof message), PAW_PARAM, "a filter that cannot be meant");
  TapOk(strstr(message, "column") != NULL, "is told: %s", message);
  TapIs(PawFilterMake(&filter, log, "name == \"PoolFree\" && addr > 0", NULL, 0), PAW_OK, "one that can");
  clientInit(&client);
  PawRequestFilter(&client.request, filter);
  TapIs(PawRead(log, &client.request), PAW_OK, "a request with it");
  TapOk(client.events > 0 && client.events < 40, "sees some events (%u)", client.events);
  clientInit(&client);
  client.request.count = 1;
  PawRequestFilter(&client.request, filter);
  TapIs(PawRead(log, &client.request), PAW_OK, "another with the same filter");
  TapIs(client.events, 1, "sees fewer if it wants fewer");
  clientInit(&client);
  client.request.choose = chooses;
  PawRequestFilter(&client.request, filter);
  TapIs(PawRead(log, &client.request), PAW_OK, "one that chooses other types besides");
  TapOk(client.events == 0 && PawFilterError(filter) == PAW_OK, "sees what both let pass: nothing");
  PawFilterFree(filter);
  TapIs(PawFilterMake(&filter, log, "time >= 0", NULL, 0), PAW_OK, "a filter that says when");
  clientInit(&client);
  client.request.to = PawFirst(log) + 1;
  PawRequestFilter(&client.request, filter);
  TapIs(PawRead(log, &client.request), PAW_OK, "a request for the first moment");
  TapOk(client.events >= 1, "sees what is there");
  seen = client.events;
  clientInit(&client);
  PawRequestFilter(&client.request, filter);
  TapIs(PawRead(log, &client.request), PAW_OK, "one for all times");
  TapOk(client.events > seen, "sees more, though the filter is the same");
  PawFilterFree(filter);
  PawFilterFree(NULL);
}

/* What eventcnv --describe prints of the log, a line for each event; `wrong` counts those that are told otherwise. */
typedef struct {
  PawRequest request;
  FILE *expected;
  unsigned events, wrong;
} Words;

static int wordsEvent(PawRequest *request, PawEvent e)
{
  Words *words = (Words *)request->data;
  char line[4096], text[4096], cut[8];
  const char *behind = fgets(line, sizeof line, words->expected) != NULL ? strchr(line, '/') : NULL;

  behind = behind != NULL ? strchr(behind, ' ') : NULL;
  ++words->events;
  line[strcspn(line, "\n")] = '\0';
  words->wrong += behind == NULL || strcmp(PawEventDescribe(e, text, sizeof text), behind + 1) != 0;
  words->wrong += strlen(PawEventDescribe(e, cut, sizeof cut)) != sizeof cut - 1 || strncmp(cut, text, 3) != 0;
  words->wrong += PawEventDescribe(e, NULL, 0)[0] != '\0';
  return 0;
}

static void typesKnown(PawLog log)
{
  char message[200];

  TapIs(PawTypesKnown(log, "PoolAlloc, PoolFree", NULL, 0), PAW_OK, "types that there are are known");
  TapIs(PawTypesKnown(log, "PoolFree,PoolAloc", message, sizeof message), PAW_PARAM, "but not this one");
  TapOk(strstr(message, "PoolAloc") != NULL && strstr(message, "PoolAlloc") != NULL, "which is near: %s", message);
}

static void inWords(void)
{
  Words words = {.expected = fopen("test/good/foreign.describe", "r")};
  PawHandlers handlers;
  char message[200];
  PawLog log;

  PawHandlersInit(&handlers);
  if (words.expected == NULL || PawOpen(&log, paths + 1, 1, &handlers, message, sizeof message) != PAW_OK) {
    TapOk(0, "a log opens");
    return;
  }
  PawRequestInit(&words.request);
  words.request.data = &words;
  words.request.event = wordsEvent;
  TapIs(PawRead(log, &words.request), PAW_OK, "events in words");
  TapOk(words.events > 5 && words.wrong == 0, "are those of eventcnv --describe (%u of %u are not)", words.wrong,
        words.events);
  (void)fclose(words.expected);
  PawClose(log);
}

int main(void)
{
  PawLog log;
  PawHandlers handlers;
  Client client;
  char message[200];

  PawHandlersInit(&handlers);
  TapIs(PawOpen(&log, paths, 2, &handlers, message, sizeof message), PAW_OK, "two logs");
  clientInit(&client);
  TapIs(PawRead(log, &client.request), PAW_OK, "are read");
  TapIs(client.wrong, 0, "in order of time");
  TapIs(client.processes, PawProcesses(log), "process by process");
  TapOk(client.events > 20, "%u events", client.events);
  types(log);
  hooks(log);
  filters(log);
  services(log, client.events);
  withdrawals(log);
  positions(log, client.events);
  typesKnown(log);
  inWords();
  PawClose(log);
  handlers.size = 1;
  TapIs(PawOpen(&log, paths, 1, &handlers, message, sizeof message), PAW_PARAM, "handlers of another size are refused");
  TapOk(strcmp(PawError(PAW_PENDING), "something is pending") == 0 && strcmp(PawError(99), "unknown error") == 0,
        "errors have words");
  return TapDone();
}
