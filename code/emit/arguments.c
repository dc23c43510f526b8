/* arguments.c -- which program runs, and how it was called
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/arguments.h"

#include <string.h>
#include <sys/auxv.h>

#include "emit/control.h"

enum { argumentsPlainMAX = 64 }; /* bytes of a path that no reader takes for a title */

/* The program's arguments, and the process in which they were read. */
static struct {
  uint32_t pid;
  Bool asked;           /* the system, what program this is */
  Bool named;           /* the first one is no title: the program was executed by this name */
  Count arguments;
  char program[HeaderTextMAX], argument[HeaderArgumentsMAX][HeaderTextMAX];
  char name[HeaderTextMAX]; /* by which it was executed, without its folders; "": one that looks like no title */
} known LARGE;

/* argumentsAdd -- add one of the program's arguments */
static void argumentsAdd(Index i, const char *argument, Size length)
{
  if (i < HeaderArgumentsMAX)
    (void)TextMake(known.argument[i], HeaderTextMAX, "%.*s", (int)length, argument);
}

/* argumentsPlain -- does a reader take the path for one, whoever has set it (HeaderCalled)?  It need not be told that
 * it is one. */
static Bool argumentsPlain(const char *path)
{
  Index i;

  for (i = 0; path[i] > ' ' && path[i] <= '~' && path[i] != ':'; ++i)
    ;
  return path[i] == '\0' && i <= argumentsPlainMAX;
}

/* argumentsNamed -- by which name the program was executed is read once, when it begins; its children may have
 * titles */
static void argumentsNamed(void)
{
  const char *executed = known.pid == 0 ? (const char *)getauxval(AT_EXECFN) : NULL;

  if (executed != NULL && !argumentsPlain(executed))
    (void)TextMake(known.name, HeaderTextMAX, "%s", basename(executed));
  known.named = known.arguments > 0 && known.name[0] != '\0' && !argumentsPlain(known.argument[0]) &&
                strcmp(basename(known.argument[0]), known.name) == 0;
}

/* argumentsProgram -- what runs: as the system knows it; but where only a core will have that, as it was called, for to
 * ask costs as much as all else that a short process pays for being looked up */
static void argumentsProgram(Bool ask)
{
  const char *called = ask || EmitterArguments == NULL ? NULL : RawProgramCalled();

  (void)TextMake(known.program, HeaderTextMAX, "%s", called != NULL ? called : RawProgram());
  known.asked = called == NULL;
}

/* argumentsLookUp -- all of them: as libc knows them, or else from the system, with `room` to read them into */
static void argumentsLookUp(char *room, Size size)
{
  char *const *argument = EmitterArguments;
  Size length, at, its;
  Count count = 0;

  if (argument != NULL) {
    for (; argument[count] != NULL; ++count)
      argumentsAdd(count, argument[count], strlen(argument[count]));
  } else {
    length = RawReadFile("/proc/self/cmdline", room, size);
    for (at = 0; at < length; at += its + 1) {
      its = strnlen(room + at, length - at);
      argumentsAdd(count++, room + at, its);
    }
  }
  known.arguments = count;
  argumentsNamed();
}

void ArgumentsTake(Header header, Emitter emitter, char *room, Size size)
{
  Bool ask = EmitterRegion(emitter) != NULL || EmitterSends(), again = known.pid != emitter->pid || header->ended;
  Index i;

  if (again)
    argumentsLookUp(room, size);
  if (again || (ask && !known.asked))
    argumentsProgram(ask);
  known.pid = emitter->pid;
  header->named = known.named;
  header->arguments = known.arguments;
  (void)strcpy(header->program, known.program);
  for (i = 0; i < header->arguments && i < HeaderArgumentsMAX; ++i)
    (void)strcpy(header->argument[i], known.argument[i]);
}
