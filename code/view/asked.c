/* asked.c -- what of a recording is not in its log because somebody asked for that
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/asked.h"

#include "base/text.h"

/* askedSince -- seconds from the beginning of the log */
static double askedSince(const LogSummaryStruct *log, uint64_t time)
{
  return time <= log->first ? 0 : (double)(time - log->first) / 1e9;
}

void AskedText(FILE *out, const LogSummaryStruct *log)
{
  if (log->overwritten > 0)
    fprintf(out, "newest only    from %.9f s on; %llu event%s before that%s overwritten, as was asked for\n",
            askedSince(log, log->kept), (unsigned long long)log->overwritten, TextPlural(log->overwritten),
            log->overwrittenMore ? ", or more, were" : log->overwritten == 1 ? " was" : " were");
  if (log->unsent > 0)
    fprintf(out, "while off      the flight recorder's newest %llu event%s, from %.9f s on",
            (unsigned long long)log->unsent, TextPlural(log->unsent), askedSince(log, log->unsentFrom));
  if (log->unsent > 0 && log->unsentOlder > 0)
    fprintf(out, "; %llu before that, or more, are not in the log", (unsigned long long)log->unsentOlder);
  if (log->unsent > 0)
    fputc('\n', out);
  if (log->dropped > 0)
    fprintf(out, "oldest dropped %llu event%s, so that the log stays as small as was asked for\n",
            (unsigned long long)log->dropped, TextPlural(log->dropped));
  if (log->stopped != 0)
    fprintf(out, "ended          at %.9f s, as was asked for; what the program did then is not in the log\n",
            askedSince(log, log->stopped));
}

void AskedJson(FILE *out, const LogSummaryStruct *log)
{
  fprintf(out, "\"overwritten\": %llu, \"overwritten_at_least\": %s, \"newest_from\": %.9f, "
          "\"while_off\": %llu, \"while_off_from\": %.9f, \"while_off_missing\": %llu, \"dropped\": %llu, "
          "\"recording_ended_at\": %.9f",
          (unsigned long long)log->overwritten, log->overwrittenMore ? "true" : "false", askedSince(log, log->kept),
          (unsigned long long)log->unsent,
          askedSince(log, log->unsentFrom), (unsigned long long)log->unsentOlder, (unsigned long long)log->dropped,
          askedSince(log, log->stopped));
}
