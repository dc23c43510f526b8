/* pawbatchtest.c -- events in batches are those that a hook gets, one by one, in the same order
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "log/pawlog.h"
#include "tap.h"

static const char *const paths[] = {"test/good/threads.paw", "test/good/foreign.paw", "test/good/named.paw",
                                    "test/good/odd.paw"};

/* A request whose hook holds each event against the next of a batch. */
typedef struct {
  PawRequest request;
  PawBatch batch;
  const PawBatchEvents *events;
  size_t at;            /* in the batch */
  size_t next[64];      /* record of each type */
  unsigned count, batches, wrong;
} Client;

/* advance -- the batch has an event at `at`; 0: there are no more */
static int advance(Client *client)
{
  if (client->events != NULL && client->at < client->events->count)
    return 1;
  client->wrong += PawBatchNext(client->batch, &client->events) != PAW_OK;
  client->at = 0;
  memset(client->next, 0, sizeof client->next);
  client->batches += client->events != NULL;
  return client->events != NULL && client->events->types <= 64;
}

static unsigned fieldDiffers(PawEvent event, unsigned field, uint64_t word, const char *text)
{
  uint32_t place[2];
  double number;
  size_t length;
  const char *string;

  switch (PawTypeLetter(PawEventType(event), field)) {
  case 'S':
    memcpy(place, &word, sizeof place);
    string = PawEventString(event, (int)field, &length);
    return length != place[1] || memcmp(string, text + place[0], length) != 0;
  case 'D':
    memcpy(&number, &word, sizeof number);
    return memcmp(&number, &(double){PawEventDouble(event, (int)field)}, sizeof number) != 0;
  default:
    return word != PawEventWord(event, (int)field);
  }
}

static int hook(PawRequest *request, PawEvent event)
{
  Client *client = request->data;
  const PawRecords *records;
  const uint64_t *word;
  uint32_t who[2];
  unsigned i, place;

  ++client->count;
  if (!advance(client)) {
    ++client->wrong;
    return 0;
  }
  place = client->events->order[client->at++];
  records = &client->events->records[place];
  word = records->words + client->next[place]++ * (PAW_RECORD + PawTypeFields(records->type));
  memcpy(who, word + 1, sizeof who);
  client->wrong += records->type != PawEventType(event) || word[0] != PawEventTime(event) ||
                   who[0] != PawProcessNumber(PawEventProcess(event)) || who[1] != PawEventThread(event);
  for (i = 0; i < PawTypeFields(records->type); ++i)
    client->wrong += fieldDiffers(event, i, word[PAW_RECORD + i], client->events->text);
  return 0;
}

/* compare -- read events both ways, with a batch of so many */
static Client compare(PawLog log, const PawRequest *request, size_t chunk)
{
  Client client;

  memset(&client, 0, sizeof client);
  client.request = *request;
  client.request.data = &client;
  client.request.event = hook;
  if (PawBatchCreate(&client.batch, log, request, chunk) != PAW_OK || PawRead(log, &client.request) != PAW_OK)
    ++client.wrong;
  client.wrong += advance(&client) != 0;
  PawBatchDestroy(client.batch);
  return client;
}

static int chooses(void *data, PawProcess process, PawType type)
{
  (void)process;
  return PawTypeIs(type, data);
}

int main(void)
{
  PawRequest request;
  PawFilter filter;
  PawBatch batch;
  const PawBatchEvents *events;
  PawLog log;
  Client all, some;

  TapIs(PawOpen(&log, paths, 4, NULL, NULL, 0), PAW_OK, "logs of several machines");
  PawRequestInit(&request);
  all = compare(log, &request, 0);
  TapOk(all.wrong == 0 && all.count > 50, "%u events in batches are the same as one by one (%u differ)", all.count,
        all.wrong);
  some = compare(log, &request, 3);
  TapOk(some.wrong == 0 && some.count == all.count && some.batches > all.count / 4, "so they are in %u batches",
        some.batches);
  request.choose = chooses;
  request.chooseData = (void *)(uintptr_t)"PoolAlloc";
  some = compare(log, &request, 0);
  TapOk(some.wrong == 0 && some.count > 0 && some.count < all.count, "a request's choice of types holds: %u",
        some.count);
  PawRequestInit(&request);
  TapIs(PawFilterMake(&filter, log, "addr > 0 && tid > 0", NULL, 0), PAW_OK, "a filter");
  PawRequestFilter(&request, filter);
  some = compare(log, &request, 1);
  TapOk(some.wrong == 0 && some.count > 0 && some.count < all.count, "holds, too: %u", some.count);
  request.count = 2;
  some = compare(log, &request, 0);
  TapIs(some.count, 2, "and a count");
  request.to = 1;
  some = compare(log, &request, 0);
  TapOk(some.count == 0 && some.batches == 0 && some.wrong == 0, "of no events there is no batch");
  TapIs(PawBatchCreate(&batch, log, &request, 0), PAW_OK, "a batch that nobody reads");
  PawBatchDestroy(batch);
  request.size = 1;
  TapIs(PawBatchCreate(&batch, log, &request, 0), PAW_PARAM, "none of a request of another size");
  PawBatchDestroy(NULL);
  TapIs(PawBatchCreate(&batch, log, NULL, all.count + 1), PAW_OK, "without a request");
  TapOk(PawBatchNext(batch, &events) == PAW_OK && events != NULL && events->count == all.count, "it is of all events");
  PawBatchDestroy(batch);
  PawFilterFree(filter);
  PawClose(log);
  return TapDone();
}
