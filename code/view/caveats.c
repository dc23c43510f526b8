/* caveats.c -- what a view cannot know, a line for each thing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/caveats.h"

#include "base/text.h"
#include "export/jsondocument.h"

void CaveatsText(FILE *out, Log log)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, log);
  AskedText(out, &summary);
  if (summary.discarded > 0)
    fprintf(out, "discarded      %llu event%s\n", (unsigned long long)summary.discarded, TextPlural(summary.discarded));
  if (summary.gaps > 0)
    fprintf(out, "damage         %llu place%s, %llu event%s lost\n", (unsigned long long)summary.gaps,
            TextPlural(summary.gaps), (unsigned long long)summary.lost, TextPlural(summary.lost));
}

void CaveatsJson(FILE *out, Log log)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, log);
  AskedJson(out, &summary);
  fprintf(out, ",\n \"discarded\": %llu, \"gaps\": %llu, \"lost\": %llu", (unsigned long long)summary.discarded,
          (unsigned long long)summary.gaps, (unsigned long long)summary.lost);
}
