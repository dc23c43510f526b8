/* viewlabels.h -- the labels that a program gave to addresses, for views that show these addresses
 *
 * They are read behind the pass, from the few blocks that have labels at all.
 *
 * Design: design/view.md .labels      Tests: test/heap/labels.t
 */
#ifndef ANALYSE_VIEWLABELS_H
#define ANALYSE_VIEWLABELS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/labels.h"
#include "request/stringtable.h"

typedef struct ViewLabelsStruct {
  StringsStruct strings;
  LabelsStruct labels;
} ViewLabelsStruct, *ViewLabels;

/* ViewLabelsInit -- none yet.  ViewLabelsFinish frees the memory. */
extern void ViewLabelsInit(ViewLabels labels);
extern void ViewLabelsFinish(ViewLabels labels);

/* ViewLabelsRead -- learn all labels of the log that were given before `end`.  Results as for LogRead; ResMEMORY.
 * ViewLabelsPart -- the same of the labels that were given before the end of what a request chooses */
extern Res ViewLabelsRead(ViewLabels labels, Log log, const LogPositionStruct *end);
extern Res ViewLabelsPart(ViewLabels labels, Log log, const LogRequestStruct *only);

/* ViewLabelsText -- print `, "label"` if the address was given one at `since` (ns) or later
 * ViewLabelsJson -- print the member `label` of an object, with a comma before it, if it was */
extern void ViewLabelsText(FILE *out, ViewLabels labels, LogProcess process, uint64_t addr, uint64_t since);
extern void ViewLabelsJson(FILE *out, ViewLabels labels, LogProcess process, uint64_t addr, uint64_t since);

#endif /* ANALYSE_VIEWLABELS_H */
