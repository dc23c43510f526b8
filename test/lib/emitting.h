/* emitting.h -- what the tests of the emitter share: a memory plinth, standard error caught, a malloc that must not be
 * called
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_EMITTING_H
#define TEST_EMITTING_H

#include <fcntl.h>
#include <unistd.h>

#include "decode.h"
#include "emit/stream.h"
#include "emit/control.h"
#include "emit/event.h"
#include "emit/emitter.h"
#include "emit/pawprint.h"
#include "plinth/rawsyscall.h"
#include "pretend.h"

static PlinthMemory emitMemory;
static Pretend emitPretend; /* what that plinth pretends */

/* EmitOpen -- send to memory; the first plinth */
__attribute__((unused)) static void EmitOpen(void)
{
  if (EventLogOpen("memory:268435456") != 0) {
    printf("Bail out! no memory plinth\n");
    exit(1);
  }
  emitMemory = EmitterPlinths[0].state;
  emitPretend = PretendTake(&EmitterPlinths[0]);
}

/* EmitFresh -- everything sent so far is forgotten */
__attribute__((unused)) static void EmitFresh(void)
{
  EventFlush();
  emitMemory->used = 0;
}

/* EmitGet -- everything that was emitted since */
__attribute__((unused)) static void EmitGet(Decode decode)
{
  EventFlush();
  DecodeMemory(decode, emitMemory);
}

/* EmitMust -- end the test if what it needs cannot be had */
__attribute__((unused)) static void EmitMust(Bool done)
{
  if (done)
    return;
  printf("Bail out! no memory, or no thread\n");
  exit(1);
}

static int emitStderr = -1;
static char emitStderrPath[64];

/* EmitCatch, EmitCaught -- standard error goes to a file; what was written there, NUL-terminated, to be freed */
__attribute__((unused)) static void EmitCatch(void)
{
  int fd;

  (void)snprintf(emitStderrPath, sizeof emitStderrPath, "/tmp/pawprint-test-%d", (int)getpid());
  fd = open(emitStderrPath, O_RDWR | O_CREAT | O_TRUNC, 0600);
  emitStderr = dup(2);
  (void)dup2(fd, 2);
  RawVoice(); /* as the wrapper of dup2 does */
  (void)close(fd);
}

__attribute__((unused)) static char *EmitCaught(void)
{
  char *text = calloc(1, 65536);
  int fd = open(emitStderrPath, O_RDONLY);

  (void)!read(fd, text, 65535);
  (void)close(fd);
  (void)unlink(emitStderrPath);
  (void)dup2(emitStderr, 2);
  RawVoice();
  (void)close(emitStderr);
  return text;
}

/* EmitLines -- how many lines a text has */
__attribute__((unused)) static Count EmitLines(const char *text)
{
  Count n = 0;

  for (; *text != '\0'; ++text)
    n += *text == '\n';
  return n;
}

/* EmitSeries -- do the UserWord events with this id count from 0 to n - 1, each once? */
__attribute__((unused)) static Bool EmitSeries(Decode decode, Word id, Count n)
{
  unsigned char *seen = calloc(1, n + 1);
  Count found = 0;
  Bool good = TRUE;
  Index i;

  for (i = 0; i < decode->events; ++i) {
    DecodedEvent event = &decode->event[i];
    Word value;
    if (event->code != EventUserWordCODE || DecodeWord(event, 0) != id)
      continue;
    value = DecodeWord(event, 1);
    if (value >= n || seen[value]++)
      good = FALSE;
    ++found;
  }
  if (found != n || !good)
    printf("# series %llu: %llu events of %llu\n", (unsigned long long)id, (unsigned long long)found,
           (unsigned long long)n);
  free(seen);
  return good && found == n;
}

#endif /* TEST_EMITTING_H */
