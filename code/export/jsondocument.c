/* jsondocument.c -- what views and other documents have in common
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/jsondocument.h"

#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "export/output.h"

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

/* askedUnsent -- describe which events the log has of the time in which their kinds were off */
static void askedUnsent(char line[AskedLineMAX], const LogSummaryStruct *log)
{
  char older[96] = "";

  if (log->unsentOlder > 0)
    (void)snprintf(older, sizeof older, "; %llu before that, or more, are not in the log",
                   (unsigned long long)log->unsentOlder);
  (void)snprintf(line, AskedLineMAX, "the flight recorder's newest %llu event%s, from %.9f s on%s",
                 (unsigned long long)log->unsent, TextPlural(log->unsent),
                 DocumentSince(log->first, log->unsentFrom), older);
}

const char *AskedLine(char line[AskedLineMAX], const LogSummaryStruct *log, Index i)
{
  if (log->chosen[0] != '\0' && i-- == 0) {
    (void)snprintf(line, AskedLineMAX, "%s, as was asked for%s; what other events would have told is not known",
                   log->chosen, log->chosenSome ? " of some processes" : "");
    return "only events";
  }
  if (log->overwritten > 0 && i-- == 0) {
    (void)snprintf(line, AskedLineMAX, "from %.9f s on; %llu event%s before that%s overwritten, as was asked for",
                   DocumentSince(log->first, log->kept), (unsigned long long)log->overwritten,
                   TextPlural(log->overwritten),
                   log->overwrittenMore ? ", or more, were" : log->overwritten == 1 ? " was" : " were");
    return "newest only";
  }
  if (log->unsent > 0 && i-- == 0) {
    askedUnsent(line, log);
    return "while off";
  }
  if (log->dropped > 0 && i-- == 0) {
    (void)snprintf(line, AskedLineMAX, "%llu event%s, so that the log stays as small as was asked for",
                   (unsigned long long)log->dropped, TextPlural(log->dropped));
    return "oldest dropped";
  }
  if (log->stopped != 0 && i-- == 0) {
    (void)snprintf(line, AskedLineMAX, "at %.9f s, as was asked for; what the program did then is not in the log",
                   DocumentSince(log->first, log->stopped));
    return "ended";
  }
  return NULL;
}

void AskedText(FILE *out, const LogSummaryStruct *log)
{
  char line[AskedLineMAX];
  const char *name;
  Index i;

  for (i = 0; (name = AskedLine(line, log, i)) != NULL; ++i) {
    fprintf(out, "%-14s ", name);
    SayPlain(out, line, strlen(line));
    putc('\n', out);
  }
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
  fputs(", \"only_events\": ", out);
  JsonString(out, log->chosen);
}
