/* drawn.c -- a program with much that can be drawn: odd names, events of its own, pairs, threads, large objects
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Its own events are those of whatever library is preloaded; without one there are none.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/pawprint.h"

enum { drawnTHREADS = 3, drawnROUNDS = 200 };

static EventWord (*intern)(const char *string);
static void (*userWord)(EventWord id, EventWord value);
static void (*userDouble)(EventWord id, double value);
static void (*userString)(EventWord id, const char *text);
static int (*define)(EventCode *code, const char *name, const char *format, const char *params, const char *describe);
static void (*emit)(unsigned code, ...);

/* find -- a function of the library; ISO C has no cast for it */
static void find(const char *name, void *pointer)
{
  void *function = dlsym(RTLD_DEFAULT, name);

  memcpy(pointer, &function, sizeof function);
}

static void *volatile kept;
static EventCode sweepBegin, sweepEnd;

static void *run(void *data)
{
  size_t i;

  /* The second thread ends what another has begun; the others something else. */
  if (emit != NULL)
    emit(sweepEnd, (EventWord)(((char *)data)[0] == 'l' ? 99 : 7));
  (void)pthread_setname_np(pthread_self(), data);
  for (i = 1; i <= drawnROUNDS; ++i) {
    kept = malloc(i * 16);
    kept = realloc(kept, i * 32);
    free(kept);
  }
  kept = malloc(3 << 20);
  free(kept);
  return malloc(100); /* which nobody frees */
}

/* own -- events that the program defines itself: a round within a collection, and what nobody ends */
static void own(void)
{
  static char text[2000];
  EventCode begin, end, roundBegin, roundEnd, lost, lostEnd;
  EventWord queue = intern("queue;length \"x\"\\\n\x80%");
  EventWord load = intern("load");
  unsigned i;

  memset(text, 'x', sizeof text - 1);
  if (define(&begin, "SpanStart", "W", "trace", "") != 0 || define(&end, "SpanEnd", "W", "trace", "") != 0 ||
      define(&roundBegin, "RoundBegin", "0", "", "") != 0 || define(&roundEnd, "RoundEnd", "0", "", "") != 0 ||
      define(&sweepBegin, "SweepBegin", "W", "sweep", "") != 0 ||
      define(&sweepEnd, "SweepEnd", "W", "sweep", "") != 0 ||
      define(&lost, "LostBegin", "0", "", "") != 0 || define(&lostEnd, "LostEnd", "0", "", "") != 0)
    abort();
  for (i = 0; i < 10; ++i) {
    emit(begin, (EventWord)i);
    userWord(queue, i * i);
    emit(roundBegin);
    userDouble(load, i == 5 ? 1.0 / 0.0 : i / 4.0);
    emit(roundEnd);
    emit(roundEnd); /* of which there was no beginning */
    if (i % 3 == 0)
      emit(lost); /* ends with what is around it */
    emit(end, (EventWord)i);
  }
  emit(sweepBegin, (EventWord)99);
  emit(lost);
  userString(load, text);
  userString(queue, "a \"quote\", a \\, a\nline and \xff\xfe");
}

int main(void)
{
  static char names[drawnTHREADS][16] = {"a\"b\\c;d", "line\n\xff", "plain name"};
  pthread_t thread[drawnTHREADS];
  unsigned i;

  find("EventIntern", &intern);
  find("EventUserWord", &userWord);
  find("EventUserDouble", &userDouble);
  find("EventUserString", &userString);
  find("EventTypeDefine", &define);
  find("EventEmit", &emit);
  if (define != NULL)
    own();
  for (i = 0; i < drawnTHREADS; ++i) {
    if (pthread_create(&thread[i], NULL, run, names[i]) != 0)
      return 1;
  }
  for (i = 0; i < drawnTHREADS; ++i)
    (void)pthread_join(thread[i], NULL);
  return 0;
}
