/* unseen.c -- which programs were not seen, or not all that they do
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/unseen.h"

#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "view/document.h"

enum { unseenPROCESSES, unseenPROGRAM };

static const PlansKnownStruct unseenKnown[] = {{"ProgramUnseen", PlansCLIENT, {"UW processes", "S program"}}};

void UnseenInit(Unseen unseen)
{
  memset(unseen, 0, sizeof *unseen);
  PlansInit(&unseen->plans, sizeof(PlansTellStruct));
}

void UnseenFinish(Unseen unseen)
{
  PlansFinish(&unseen->plans);
  StringsFinish(&unseen->strings);
}

static void unseenAdd(Unseen unseen, LogEvent event, PlansTell plan)
{
  Size length;
  const char *string = LogEventString(event, (Index)plan->param[unseenPROGRAM], &length);
  uint32_t program = length > 0 ? StringsAdd(&unseen->strings, string, length) : 0;
  uint64_t processes = LogEventWord(event, (Index)plan->param[unseenPROCESSES]);
  Index i;

  unseen->failed |= program == 0 && length > 0;
  for (i = 0; i < unseen->count && i < UnseenMAX; ++i)
    if (unseen->program[i].program == program) {
      unseen->program[i].processes = CountAdd(unseen->program[i].processes, processes);
      return;
    }
  if (program == 0)
    return;
  if (i < UnseenMAX)
    unseen->program[i] = (UnseenProgramStruct){program, processes};
  ++unseen->count;
}

void UnseenEvent(Unseen unseen, LogEvent event)
{
  PlansTell plan = PlansTells(&unseen->plans, event, unseenKnown, ARRAY_LENGTH(unseenKnown));

  if (UNLIKELY(plan == NULL)) {
    unseen->failed = TRUE;
    return;
  }
  if (UNLIKELY(plan->tells == PlansCLIENT))
    unseenAdd(unseen, event, plan);
}

void UnseenText(FILE *out, Unseen unseen)
{
  Index i;

  for (i = 0; i < unseen->count && i < UnseenMAX; ++i) {
    Size length;
    const char *program = StringsAt(&unseen->strings, unseen->program[i].program, &length);
    fprintf(out, "%-14s ", i == 0 ? "not seen" : "");
    SayPlain(out, program, length);
    if (unseen->program[i].processes > 1)
      fprintf(out, " (%llu processes)", (unsigned long long)unseen->program[i].processes);
    putc('\n', out);
  }
  if (unseen->count > UnseenMAX)
    fprintf(out, "               and %zu more\n", unseen->count - UnseenMAX);
}

void UnseenJson(FILE *out, Unseen unseen)
{
  Index i;

  fputs("\"not_seen\": [", out);
  for (i = 0; i < unseen->count && i < UnseenMAX; ++i) {
    Size length;
    fprintf(out, "%s{\"program\": ", i == 0 ? "" : ", ");
    JsonString(out, StringsAt(&unseen->strings, unseen->program[i].program, &length));
    fprintf(out, ", \"processes\": %llu}", (unsigned long long)unseen->program[i].processes);
  }
  fprintf(out, "], \"not_seen_count\": %zu,\n ", unseen->count);
}
