/* page.c -- a page of HTML that a tool makes: text made fit for it, and a file that is whole or not there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"

enum { pageBeginsMAX = 512 };

/* pageReplaces -- may the file be replaced: is it not there, empty, or a page of this kind? */
static Bool pageReplaces(const char *path, const char *begins, Size length)
{
  char begin[pageBeginsMAX];
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  Bool replaces = fd < 0 && errno == ENOENT;
  ssize_t got;

  if (fd >= 0) {
    got = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, begin, sizeof begin) : -1;
    replaces = got == 0 || (got >= (ssize_t)length && memcmp(begin, begins, length) == 0);
    (void)close(fd);
  }
  return replaces;
}

const char *PageSave(const char *path, const char *begins, Size length, void (*write)(FILE *file, void *data),
                     void *data)
{
  mode_t mask = umask(0);
  char beside[4096];
  int fd;
  FILE *file = NULL;
  Bool whole;

  (void)umask(mask);
  AVER(length > 0 && length <= pageBeginsMAX);
  if (!pageReplaces(path, begins, length))
    return "it is there, and is no report";
  if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside)
    return strerror(ENAMETOOLONG);
  fd = mkstemp(beside);
  if (fd >= 0)
    file = fdopen(fd, "w");
  if (file == NULL)
    return strerror(errno);
  (void)fchmod(fd, 0666 & ~mask);
  write(file, data);
  whole = ferror(file) == 0 && fflush(file) == 0;
  if (fclose(file) == 0 && whole && rename(beside, path) == 0)
    return NULL;
  (void)unlink(beside);
  return strerror(errno);
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
