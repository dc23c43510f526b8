/* eventrec-loaded.c -- recorded programs and the libraries that they have loaded: do they go to an allocator without us?
 *
 * A process has its libraries when it comes; which these are is looked up once for each program.  What is in them, and in
 * the program, is looked up at the end, when nobody waits.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "eventrec-recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/program.h"

/* loadedAdd -- one more string in a list of so many at most; FALSE: it is there, or there is no room */
static Bool loadedAdd(char *list[recordingKnownMAX], Count *count, const char *string)
{
  Index i;

  for (i = 0; i < *count; ++i)
    if (strcmp(list[i], string) == 0)
      return FALSE;
  if (*count == recordingKnownMAX || (list[*count] = strdup(string)) == NULL)
    return FALSE;
  ++*count;
  return TRUE;
}

void RecordingLoaded(void *data, pid_t pid, uid_t user, const char *program)
{
  Recording recording = data;
  char path[32], *line = NULL;
  size_t room = 0;
  FILE *maps;

  if (program[0] == '\0' || !loadedAdd(recording->met, &recording->mets, program))
    return;
  (void)snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
  maps = fopen(path, "re");
  while (maps != NULL && getline(&line, &room, maps) >= 0) {
    char permissions[8];
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%*x-%*x %7s %*x %*x:%*x %*u %n", permissions, &at) == 1 && at > 0 &&
        strchr(permissions, 'x') != NULL && line[at] == '/' &&
        loadedAdd(recording->loaded, &recording->libraries, line + at))
      recording->loader[recording->libraries - 1] = user;
  }
  free(line);
  if (maps != NULL)
    (void)fclose(maps);
}

void RecordingLibraries(Recording recording)
{
  ProgramDoorsStruct *doors = calloc(recording->libraries + 1, sizeof *doors);
  unsigned there = 0;
  Index i;

  for (i = 0; doors != NULL && i < recording->libraries; ++i) {
    if (RecordingLooks(recording, recording->loaded[i], i))
      ProgramDoorsRead(&doors[i], recording->loaded[i], recording->loader[i], &recording->looked);
    there |= doors[i].has;
  }
  for (i = 0; doors != NULL && i < recording->libraries; ++i) {
    const char *reason = ProgramDoor(&doors[i], there);
    if (reason == NULL)
      continue;
    RecordingUnseen(recording, recording->loaded[i], reason, 0);
  }
  free(doors);
}
