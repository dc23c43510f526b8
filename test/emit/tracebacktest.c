/* tracebacktest.c -- the newest events as text
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/aver.h"
#include "emit/emitter.h"
#include "emitting.h"

#if defined(VARIETY_RASH)

int main(void)
{
  TapSkip("no telemetry in this variety");
  return TapDone();
}

#else

static char *traceback(unsigned n)
{
  EmitCatch();
  EventTraceback(n);
  return EmitCaught();
}

static void testLines(void)
{
  char long_[EventMaxStringLength + 10], *text, *line;
  EventCode code;
  Index i;

  text = traceback(5);
  TapOk(strcmp(text, "pawprint: traceback: no events\n") == 0, "before the first event: %s", text);
  free(text);
  for (i = 0; i < 10; ++i)
    EVENT_WW(UserWord, 7, i);
  text = traceback(3);
  TapIs(EmitLines(text), 3, "as many lines as were asked for");
  line = strstr(text, "\n");
  TapOk(strncmp(text, "pawprint: -", 11) == 0 && line != NULL, "each with the time before the newest");
  TapOk(strstr(text, " UserWord id=7 value=7\n") < strstr(text, " UserWord id=7 value=9\n") &&
        strstr(text, " UserWord id=7 value=6\n") == NULL, "the newest last: %s", text);
  TapOk(strstr(text, "pawprint: -0.000000000 ") != NULL, "which was now");
  free(text);
  EVENT_PPS(PoolCreate, (void *)0x10, (void *)0, "a \"class\"\n");
  text = traceback(1);
  TapOk(strstr(text, " PoolCreate pool=0x10 arena=0x0 class=\"a \\\"class\\\"\\n\"\n") != NULL,
        "as eventcnv writes it: %s", text);
  free(text);
  memset(long_, 'y', sizeof long_);
  long_[sizeof long_ - 1] = '\0';
  EVENT_WS(UserString, 1, long_);
  text = traceback(1);
  TapOk(EmitLines(text) == 1 && strstr(text, "yyyy") != NULL, "a long string is one line");
  free(text);
  (void)EventTypeDefine(&code, "Mine", "WU", "w u", "");
  EventEmit(code, (EventWord)5, 6u);
  text = traceback(1);
  TapOk(strstr(text, " Mine w=5 u=6\n") != NULL, "types that were defined at run time, too");
  free(text);
  text = traceback(100000);
  TapOk(EmitLines(text) >= 13 && EmitLines(text) <= 256, "at most all there are");
  free(text);
  text = traceback(0);
  TapIs(EmitLines(text), 1, "none");
  free(text);
}

static char *tracebackAddr(Word addr, unsigned n)
{
  EmitCatch();
  EventTracebackAddr((void *)addr, n);
  return EmitCaught();
}

static void testAddr(void)
{
  EventCode takes, gives;
  char *text;
  Index i;

  (void)EventTypeDefine(&takes, "Takes", "PAW", "pool addr size", "");
  (void)EventTypeDefine(&gives, "Gives", "PA", "pool addr", "");
  for (i = 0; i < 20; ++i) {
    EventEmit(takes, (void *)0x10, (void *)(0x1000 + i % 4 * 16), (EventWord)i);
    EventEmit(gives, (void *)0x10, (void *)(0x1000 + i % 4 * 16));
  }
  text = tracebackAddr(0x1010, 100);
  TapIs(EmitLines(text), 10, "the events of one address");
  TapOk(strstr(text, "addr=0x1000") == NULL && strstr(text, " Takes pool=0x10 addr=0x1010 size=1\n") != NULL,
        "and of no other: %s", text);
  free(text);
  text = tracebackAddr(0x1010, 3);
  TapOk(EmitLines(text) == 3 && strstr(text, " size=13\n") == NULL && strstr(text, " size=17\n") != NULL,
        "the newest of them: %s", text);
  free(text);
  text = tracebackAddr(7, 3);
  TapOk(strcmp(text, "pawprint: traceback: no event of this address, or none any more\n") == 0,
        "a number that is no address: %s", text);
  free(text);
}

#if !defined(__SANITIZE_THREAD__)

static Bool going = TRUE;

static void *emitRun(void *id)
{
  char room[300];
  Index i;

  memset(room, 'z', sizeof room);
  for (i = 0; __atomic_load_n(&going, __ATOMIC_RELAXED); ++i) {
    room[i % 299] = '\0';
    EVENT_WS(UserString, (Word)id, room);
    EVENT_WW(UserWord, (Word)id, i);
    room[i % 299] = 'z';
  }
  return NULL;
}

/* Threads go on while their blocks are read. */
static void testRunning(void)
{
  pthread_t thread[2];
  Bool good = TRUE;
  Index i;

  for (i = 0; i < 2; ++i)
    pthread_create(&thread[i], NULL, emitRun, (void *)(100 + i));
  for (i = 0; i < 50; ++i) {
    char *text = traceback(200), *line = text;
    for (; *line != '\0'; line = strchr(line, '\n') + 1)
      good &= strncmp(line, "pawprint: -", 11) == 0 && strchr(line, '\n') != NULL;
    free(text);
  }
  __atomic_store_n(&going, FALSE, __ATOMIC_RELAXED);
  for (i = 0; i < 2; ++i)
    pthread_join(thread[i], NULL);
  TapOk(good, "of threads that run, nothing but whole lines");
}

#endif

static void testAver(void)
{
  char *text;
  int status;
  pid_t child;

  EmitCatch();
  child = fork();
  if (child == 0) {
    EVENT_WW(UserWord, 8, 9);
    AVER(child != 0);
    _exit(0);
  }
  (void)waitpid(child, &status, 0);
  text = EmitCaught();
  TapOk(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "a failed AVER ends the program");
  TapOk(strstr(text, "tracebacktest.c") != NULL && strstr(text, "assertion failed: child != 0\n") != NULL &&
        strstr(text, " UserWord id=8 value=9\n") != NULL, "and prints what came before: %s", text);
  free(text);
}

int main(void)
{
  testLines();
  testAddr();
  testAver();
#if !defined(__SANITIZE_THREAD__)
  testRunning(); /* which reads what others write, on purpose */
#endif
  return TapDone();
}

#endif
