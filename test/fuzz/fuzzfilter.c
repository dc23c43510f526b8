/* fuzzfilter.c -- filters, given any bytes as an expression
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An expression is an error that points into it, or a filter that says the same of an event whether it is asked, or the
 * request knows beforehand.  The events are those of logs in test/good, so it runs from the repository's root.
 */
#include "filter/filter.h"
#include "fuzz.h"
#include "request/request.h"

static Log logs[2];

static Log logOf(const char *path)
{
  LogHooksStruct hooks = {.data = NULL};
  char error[256];
  Log log;

  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK)
    FuzzFail(error);
  return log;
}

/* What passes, as a sum over the events. */
typedef struct FuzzPassStruct {
  Filter filter; /* asked, if not NULL */
  uint64_t events, sum;
} FuzzPassStruct, *FuzzPass;

static Bool fuzzEvent(LogRequest request, LogEvent event)
{
  FuzzPass pass = request->data;

  if (pass->filter == NULL || FilterMatches(pass->filter, event)) {
    ++pass->events;
    pass->sum = pass->sum * 31 + event->fine + event->sequence * 7 + event->at + event->stream;
  }
  return FALSE;
}

/* fuzzPushed -- what passes where all that can be is pushed down */
static FuzzPassStruct fuzzPushed(Log log, const char *expression)
{
  LogRequestStruct request = LogRequestALL;
  FuzzPassStruct pass = {0};
  char error[1024];
  Filter filter;

  if (FilterMake(&filter, log, expression, error, sizeof error) != ResOK)
    FuzzFail("an expression is right once, and wrong then");
  FilterTimes(filter, &request.from, &request.to);
  PawRequestFilter(&request, filter);
  request.event = fuzzEvent;
  request.data = &pass;
  (void)LogRead(log, &request);
  (void)FilterCheck(filter);
  FilterFree(filter);
  return pass;
}

/* fuzzError -- an error has its column, the expression, and what points */
static void fuzzError(const char *error, Size length)
{
  unsigned column;

  if (strlen(error) >= 1023)
    return;
  if (sscanf(error, "column %u: ", &column) != 1 || column < 1 || column > length + 1 || strchr(error, '^') == NULL)
    FuzzFail(error);
}

static void fuzzOn(Log log, const char *expression, Size length)
{
  LogRequestStruct request = LogRequestALL;
  FuzzPassStruct asked = {0}, pushed;
  char error[1024];

  if (FilterMake(&asked.filter, log, expression, error, sizeof error) != ResOK) {
    fuzzError(error, length);
    return;
  }
  request.event = fuzzEvent;
  request.data = &asked;
  (void)LogRead(log, &request);
  FilterFree(asked.filter);
  pushed = fuzzPushed(log, expression);
  if (pushed.events != asked.events || pushed.sum != asked.sum)
    FuzzFail("what is pushed down is not what is asked");
}

static void fuzzEnd(void)
{
  LogClose(logs[0]);
  LogClose(logs[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *expression;

  if (size > 2048)
    return 0;
  if (logs[0] == NULL) {
    logs[0] = logOf("test/good/foreign.paw");
    logs[1] = logOf("test/good/threads.paw");
    (void)atexit(fuzzEnd);
  }
  expression = malloc(size + 1);
  if (expression == NULL)
    FuzzFail("no memory");
  memcpy(expression, data, size);
  expression[size] = '\0';
  fuzzOn(logs[0], expression, strlen(expression));
  fuzzOn(logs[1], expression, strlen(expression));
  free(expression);
  return 0;
}
