/* page.c -- a page of HTML that a tool makes: text made fit for it, and a file that is whole or not there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/page.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/newfile.h"
#include "base/text.h"

/* pageWrite -- write the page where it may be written; NULL, or what failed */
static const char *pageWrite(NewFile file, void (*write)(FILE *file, void *data), void *data)
{
  mode_t mask = umask(0);

  (void)umask(mask);
  if (NewFileBegin(file) != ResOK)
    return strerror(errno);
  (void)fchmod(fileno(file->out), 0666 & ~mask);
  write(file->out, data);
  return NewFileEnd(file) == ResOK ? NULL : strerror(errno);
}

const char *PageSave(const char *path, const char *begins, Size length, void (*write)(FILE *file, void *data),
                     void *data)
{
  NewFileStruct file;
  const char *wrong;

  if (NewFileAt(&file, path) != ResOK)
    return strerror(errno);
  wrong = NewFileReplaces(&file, begins, length) ? pageWrite(&file, write, data) : "it is there, and is no report";
  NewFileClose(&file);
  return wrong;
}

void PageText(FILE *file, const char *bytes, Size length)
{
  char escape[TextEscapeMAX];
  Index i;

  for (i = 0; i < length;) {
    Size one = TextPrintable(bytes + i, length - i);
    if (one == 0) {
      (void)TextPutEscape(escape, bytes[i]);
      (void)fwrite(escape, 1, sizeof escape, file);
      one = 1;
    } else if (bytes[i] == '<' || bytes[i] == '>' || bytes[i] == '&' || bytes[i] == '"') {
      fprintf(file, "&#%u;", (unsigned)bytes[i]);
    } else {
      (void)fwrite(bytes + i, 1, one, file);
    }
    i += one;
  }
}
