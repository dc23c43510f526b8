/* aver.c -- assertions about our own code
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "aver.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text.h"

static AverHandler averHandler;

AverHandler AverHandlerSet(AverHandler handler)
{
  return __atomic_exchange_n(&averHandler, handler, __ATOMIC_ACQ_REL);
}

void AverFail(const char *condition, const char *file, unsigned line)
{
  char room[512];
  TextStruct text;
  AverHandler handler;

  TextInit(&text, room, sizeof room);
  TextString(&text, file);
  TextChar(&text, ':');
  TextDecimal(&text, line);
  TextString(&text, ": assertion failed: ");
  TextString(&text, condition);
  TextChar(&text, '\n');
  /* A raw system call: this may run inside the program's malloc, where stdio must not be entered. */
  (void)!syscall(SYS_write, 2, room, TextLength(&text));
  /* Taken, not read: a handler whose own code fails is not entered again. */
  handler = AverHandlerSet(NULL);
  if (handler != NULL)
    handler(condition, file, line);
  abort();
}

const char *ResName(Res res)
{
  static const char *const name[ResLIMITED] = {
    "ok", "fail", "resource", "memory", "limit", "unimplemented",
    "io", "format", "version", "param", "end",
  };

  return (unsigned)res < ResLIMITED ? name[res] : "unknown result";
}
