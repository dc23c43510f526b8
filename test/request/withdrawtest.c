/* withdrawtest.c -- hooks that end requests: their own and others', where the service does not expect it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In hooks for gaps, in hooks that are called outside of a run, and with the memory gone at once.
 */
#include <stdlib.h>
#include <string.h>

#include "request/request.h"
#include "tap.h"

static const char *const path = "test/bad/payload.paw"; /* some blocks in its middle are damaged */

static void hookGap(void *data, LogGap gap) { UNUSED(data); UNUSED(gap); }
static void hookNote(void *data, const char *line) { UNUSED(data); UNUSED(line); }

typedef struct ClientStruct {
  LogRequestStruct request; /* first */
  PawService service;
  struct ClientStruct *end[2]; /* withdrawn by a hook */
  unsigned events, gaps, late, after;
  Bool stops, leaves, frees;
} ClientStruct, *Client;

static Bool event(LogRequest request, LogEvent e)
{
  Client client = request->data;

  UNUSED(e);
  ++client->events;
  client->late += client->gaps > 0;
  if (client->frees) {
    (void)PawServiceWithdraw(client->service, request);
    free(client);
  }
  return FALSE;
}

/* endOthers -- withdraw those that are to be withdrawn */
static void endOthers(LogRequest request)
{
  Client client = request->data;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(client->end); ++i)
    if (client->end[i] != NULL)
      (void)PawServiceWithdraw(client->service, &client->end[i]->request);
}

static void after(LogRequest request)
{
  ++((Client)request->data)->after;
}

static void gap(LogRequest request, LogGap the)
{
  Client client = request->data;

  UNUSED(the);
  ++client->gaps;
  request->stop = client->stops;
  if (client->leaves)
    (void)PawServiceWithdraw(client->service, request);
  endOthers(request);
}

static void clientInit(Client client, PawService service)
{
  memset(client, 0, sizeof *client);
  client->request = (LogRequestStruct)LogRequestALL;
  client->request.data = client;
  client->request.event = event;
  client->request.gap = gap;
  client->request.after = after;
  client->service = service;
}

/* clientsMake -- a service and so many clients, all filed */
static PawService clientsMake(Client clients, Count count, Log log)
{
  PawService service;
  Index i;

  if (PawServiceCreate(&service, log, 1) != ResOK)
    abort();
  for (i = 0; i < count; ++i) {
    clientInit(&clients[i], service);
    (void)PawServiceFile(service, &clients[i].request);
  }
  return service;
}

static void testGap(Log log, Count count, Bool stops)
{
  ClientStruct client[2];
  PawService service = clientsMake(client, count, log);

  client[0].stops = stops;
  client[0].leaves = !stops;
  TapIs(PawServiceRun(service, NULL, NULL), ResOK, "%u served", (unsigned)count);
  TapOk(client[0].gaps == 1 && client[0].after == 1, "one is told of a gap, and %s",
        stops ? "stops" : "withdraws itself");
  TapIs(client[0].late, 0, "no event is handed to it after that");
  PawServiceDestroy(service);
}

static void testOthers(Log log)
{
  ClientStruct client[5];
  PawService service = clientsMake(client, 5, log);

  client[2].end[0] = &client[0];
  client[2].end[1] = &client[1];
  TapIs(PawServiceRun(service, NULL, NULL), ResOK, "five served");
  TapOk(client[2].gaps > 0 && client[3].gaps == client[2].gaps && client[4].gaps == client[2].gaps,
        "where one withdraws two others when there is a gap, the rest is told of it, too");
  PawServiceDestroy(service);
}

static void endStream(LogRequest request, const PawStream *stream)
{
  UNUSED(stream);
  endOthers(request);
}

static Bool always(void *data)
{
  UNUSED(data);
  return TRUE;
}

static void testOutside(Log log)
{
  ClientStruct client[3];
  PawService service = clientsMake(client, 3, log);

  client[0].end[0] = &client[1];
  client[1].end[0] = &client[2];
  client[0].request.afterStream = client[1].request.afterStream = endStream;
  TapIs(PawServiceRun(service, always, NULL), ResLIMIT, "three are interrupted");
  TapOk(PawServiceWithdraw(service, &client[0].request), "one is withdrawn, and withdraws the next, and that the last");
  TapIs(client[2].after, 1, "which is told");
  TapIs(PawServiceRun(service, NULL, NULL), ResOK, "nothing is left");
  PawServiceDestroy(service);
}

static void testFreed(Log log, Count others)
{
  ClientStruct other;
  PawService service = clientsMake(&other, others, log);
  Client client = malloc(sizeof *client);

  clientInit(client, service);
  client->frees = TRUE;
  (void)PawServiceFile(service, &client->request);
  TapIs(PawServiceRun(service, NULL, NULL), ResOK, "one that withdraws itself may be freed at once, with %u others",
        (unsigned)others);
  PawServiceDestroy(service);
}

int main(void)
{
  LogHooksStruct hooks = {.gap = hookGap, .note = hookNote};
  char error[256];
  Log log;

  TapIs(LogOpen(&log, &path, 1, &hooks, error, sizeof error), ResOK, "a damaged log");
  testGap(log, 1, TRUE);
  testGap(log, 1, FALSE);
  testGap(log, 2, TRUE);
  testGap(log, 2, FALSE);
  testOthers(log);
  testOutside(log);
  testFreed(log, 0);
  testFreed(log, 1);
  LogClose(log);
  return TapDone();
}
