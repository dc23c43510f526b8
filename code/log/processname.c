/* processname.c -- the name of a process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/processname.h"

#include <stdio.h>

#include "log/typenames.h"

enum { processNameMAX = 64 }; /* bytes of a name that is believed */

/* processNameIsPath -- a title that a program gave itself is no name: "sshd: user [priv]", "worker of
 * /etc/site.conf" */
static Bool processNameIsPath(const char *path)
{
  Size length = strlen(path), i, n;

  for (i = 0; i < length; i += n) {
    n = TextPrintable(path + i, length - i);
    if (n == 0 || path[i] == ' ' || path[i] == ':')
      return FALSE;
  }
  return TRUE;
}

const char *HeaderProgram(const HeaderStruct *header)
{
  return basename(header->program);
}

Bool HeaderRuns(const HeaderStruct *header, const char *program, Size length)
{
  const char *slash = memrchr(program, '/', length), *base = slash != NULL ? slash + 1 : program;
  const char *its = HeaderProgram(header);

  length -= (Size)(base - program);
  return strlen(its) == length && memcmp(its, base, length) == 0;
}

const char *HeaderCalled(const HeaderStruct *header)
{
  const char *name, *path;

  if (header->arguments == 0)
    return HeaderProgram(header);
  name = basename(header->argument[0]);
  if (header->named != 0 && name[0] != '\0')
    return name;
  path = header->argument[0][0] == '-' ? header->argument[0] + 1 : header->argument[0];
  name = basename(path);
  return processNameIsPath(path) && name[0] != '\0' && strlen(name) <= processNameMAX ? name : HeaderProgram(header);
}

/* processNameIsPid -- is the word the number of this process? */
static Bool processNameIsPid(const char *word, uint32_t pid)
{
  char digits[16];

  (void)snprintf(digits, sizeof digits, "%u", pid);
  return strcmp(word, digits) == 0;
}

/* processNameIsInner -- is it the number that the process has for itself, and nobody has for others? */
static Bool processNameIsInner(Log log, const HeaderStruct *header, const char *word)
{
  Index i;

  if (header->inner == 0 || !processNameIsPid(word, header->inner))
    return FALSE;
  for (i = 0; i < LogProcesses(log) && LogProcessAt(log, i)->header.pid != header->inner; ++i)
    ;
  return i == LogProcesses(log);
}

Bool LogProcessIs(Log log, LogProcess process, const char *word)
{
  const HeaderStruct *header = &process->header;

  return processNameIsPid(word, header->pid) || processNameIsInner(log, header, word) ||
         strcmp(word, HeaderCalled(header)) == 0 || strcmp(word, HeaderProgram(header)) == 0 ||
         strcmp(word, header->program) == 0;
}

void LogProcessNone(Log log, const char *word, char *error, Size size)
{
  SuggestStruct near;
  Index i;

  SuggestInit(&near, word, strlen(word));
  for (i = 0; i < LogProcesses(log); ++i) {
    const HeaderStruct *header = &LogProcessAt(log, i)->header;
    if (header->role[0] == '\0')
      SuggestOffer(&near, HeaderCalled(header), strlen(HeaderCalled(header)));
  }
  (void)SuggestFail(&near, "process", ", or has that number", error, size);
}
