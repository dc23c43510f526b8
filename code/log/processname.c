/* processname.c -- the name of a process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/processname.h"

#include <string.h>

#include "base/text.h"
#include "log/typenames.h"

enum { calledMAX = 64 }; /* bytes of a name that is believed */

static const char *calledBase(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash != NULL ? slash + 1 : path;
}

/* calledIsPath -- a title that a program gave itself is no name: "sshd: user [priv]", "worker of /etc/site.conf" */
static Bool calledIsPath(const char *path)
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
  return calledBase(header->program);
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
  path = header->argument[0][0] == '-' ? header->argument[0] + 1 : header->argument[0];
  name = calledBase(path);
  return calledIsPath(path) && name[0] != '\0' && strlen(name) <= calledMAX ? name : HeaderProgram(header);
}

/* calledIsPid -- is the word the number of this process? */
static Bool calledIsPid(const char *word, uint32_t pid)
{
  char digits[16];
  TextStruct text;

  TextInit(&text, digits, sizeof digits);
  TextDecimal(&text, pid);
  return strcmp(word, TextTerminate(&text)) == 0;
}

/* calledIsInner -- is it the number that the process has for itself, and nobody has for others? */
static Bool calledIsInner(Log log, const HeaderStruct *header, const char *word)
{
  Index i;

  if (header->inner == 0 || !calledIsPid(word, header->inner))
    return FALSE;
  for (i = 0; i < LogProcesses(log) && LogProcessAt(log, i)->header.pid != header->inner; ++i)
    ;
  return i == LogProcesses(log);
}

Bool LogProcessIs(Log log, LogProcess process, const char *word)
{
  const HeaderStruct *header = &process->header;

  return calledIsPid(word, header->pid) || calledIsInner(log, header, word) || strcmp(word, HeaderCalled(header)) == 0 ||
         strcmp(word, HeaderProgram(header)) == 0 || strcmp(word, header->program) == 0;
}

void LogProcessNone(Log log, const char *word, char *error, Size size)
{
  SuggestStruct near;
  TextStruct text;
  Index i;

  SuggestInit(&near, word, strlen(word));
  for (i = 0; i < LogProcesses(log); ++i) {
    const HeaderStruct *header = &LogProcessAt(log, i)->header;
    if (header->role[0] == '\0')
      SuggestOffer(&near, HeaderCalled(header), strlen(HeaderCalled(header)));
  }
  TextInit(&text, error, size);
  TextString(&text, "no process is called '");
  TextString(&text, word);
  TextString(&text, "', or has that number");
  SuggestTell(&near, &text);
  (void)TextTerminate(&text);
}
