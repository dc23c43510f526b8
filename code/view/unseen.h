/* unseen.h -- which programs were not seen, or not all that they do
 *
 * As the collector says at the end (ProgramUnseen).  The first are kept, the others counted.
 *
 * Design: design/view.md .summary      Tests: test/unseen.t
 */
#ifndef VIEW_UNSEEN_H
#define VIEW_UNSEEN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "view/plans.h"
#include "view/strings.h"

enum { UnseenMAX = 64 };

typedef struct UnseenProgramStruct {
  uint32_t program;   /* with the reason, in `strings` */
  uint64_t processes; /* that ran it; 0: they were not counted */
} UnseenProgramStruct, *UnseenProgram;

typedef struct UnseenStruct {
  StringsStruct strings;
  PlansStruct plans;
  Bool failed;
  Count count;        /* of all */
  UnseenProgramStruct program[UnseenMAX];
} UnseenStruct, *Unseen;

/* UnseenInit -- all was seen; UnseenFinish gives memory back */
extern void UnseenInit(Unseen unseen);
extern void UnseenFinish(Unseen unseen);

/* UnseenEvent -- one event, in the order of LogRead */
extern void UnseenEvent(Unseen unseen, LogEvent event);

/* Each prints them: lines for people; a member of a JSON object, with a comma behind. */
extern void UnseenText(FILE *out, Unseen unseen);
extern void UnseenJson(FILE *out, Unseen unseen);

#endif /* VIEW_UNSEEN_H */
