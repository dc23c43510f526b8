/* document.c -- what views and other documents have in common
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/document.h"

#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "view/output.h"

void JsonBytes(FILE *out, const char *bytes, Size length)
{
  char piece[CleanJsonMAX];
  Size n;

  putc('"', out);
  for (; length > 0; bytes += n, length -= n)
    (void)fwrite(piece, 1, (Size)(CleanJsonChar(piece, bytes, length, &n) - piece), out);
  putc('"', out);
}

void JsonString(FILE *out, const char *string)
{
  JsonBytes(out, string, strlen(string));
}

void CalledSay(FILE *out, const HeaderStruct *header)
{
  const char *called = HeaderCalled(header);

  if (strcmp(called, HeaderProgram(header)) == 0) {
    SayPlain(out, header->program, strlen(header->program));
    return;
  }
  SayPlain(out, called, strlen(called));
  fputs(" (", out);
  SayPlain(out, header->program, strlen(header->program));
  putc(')', out);
}

void AskedText(FILE *out, const LogSummaryStruct *log)
{
  if (log->overwritten > 0)
    fprintf(out, "newest only    from %.9f s on; %llu event%s before that%s overwritten, as was asked for\n",
            DocumentSince(log->first, log->kept), (unsigned long long)log->overwritten, TextPlural(log->overwritten),
            log->overwrittenMore ? ", or more, were" : log->overwritten == 1 ? " was" : " were");
  if (log->unsent > 0)
    fprintf(out, "while off      the flight recorder's newest %llu event%s, from %.9f s on",
            (unsigned long long)log->unsent, TextPlural(log->unsent), DocumentSince(log->first, log->unsentFrom));
  if (log->unsent > 0 && log->unsentOlder > 0)
    fprintf(out, "; %llu before that, or more, are not in the log", (unsigned long long)log->unsentOlder);
  if (log->unsent > 0)
    fputc('\n', out);
  if (log->dropped > 0)
    fprintf(out, "oldest dropped %llu event%s, so that the log stays as small as was asked for\n",
            (unsigned long long)log->dropped, TextPlural(log->dropped));
  if (log->stopped != 0)
    fprintf(out, "ended          at %.9f s, as was asked for; what the program did then is not in the log\n",
            DocumentSince(log->first, log->stopped));
}

void AskedJson(FILE *out, const LogSummaryStruct *log)
{
  fprintf(out, "\"overwritten\": %llu, \"overwritten_at_least\": %s, \"newest_from\": %.9f, "
          "\"while_off\": %llu, \"while_off_from\": %.9f, \"while_off_missing\": %llu, \"dropped\": %llu, "
          "\"recording_ended_at\": %.9f",
          (unsigned long long)log->overwritten, log->overwrittenMore ? "true" : "false",
          DocumentSince(log->first, log->kept), (unsigned long long)log->unsent,
          DocumentSince(log->first, log->unsentFrom), (unsigned long long)log->unsentOlder,
          (unsigned long long)log->dropped, DocumentSince(log->first, log->stopped));
}
