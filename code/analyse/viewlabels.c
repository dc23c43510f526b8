/* viewlabels.c -- the labels that a program gave to addresses, for views that show these addresses
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/viewlabels.h"

#include <string.h>

#include "base/say.h"
#include "export/jsondocument.h"

void ViewLabelsInit(ViewLabels labels)
{
  *labels = (ViewLabelsStruct){.strings = {0}};
  LabelsInit(&labels->labels, &labels->strings);
}

void ViewLabelsFinish(ViewLabels labels)
{
  LabelsFinish(&labels->labels);
  StringsFinish(&labels->strings);
}

Res ViewLabelsRead(ViewLabels labels, Log log, const LogPositionStruct *end)
{
  return LabelsMay(log) ? LabelsBefore(&labels->labels, log, end) : ResOK;
}

Res ViewLabelsPart(ViewLabels labels, Log log, const LogRequestStruct *only)
{
  LogPositionStruct end = LogPositionLAST;

  if (only->to != UINT64_MAX)
    PawPositionOfTime(&end, log, only->to);
  if (only->end != NULL && LogPositionCompare(only->end, &end) < 0)
    end = *only->end;
  return ViewLabelsRead(labels, log, &end);
}

/* labelsAt -- the label of an address; "": it has none */
static const char *labelsAt(ViewLabels labels, LogProcess process, uint64_t addr, uint64_t since)
{
  Size length;

  return StringsAt(&labels->strings, LabelsOf(&labels->labels, process, addr, since), &length);
}

void ViewLabelsText(FILE *out, ViewLabels labels, LogProcess process, uint64_t addr, uint64_t since)
{
  const char *label = labelsAt(labels, process, addr, since);

  if (label[0] == '\0')
    return;
  fputs(", \"", out);
  SayPlain(out, label, strlen(label));
  putc('"', out);
}

void ViewLabelsJson(FILE *out, ViewLabels labels, LogProcess process, uint64_t addr, uint64_t since)
{
  const char *label = labelsAt(labels, process, addr, since);

  if (label[0] == '\0')
    return;
  fputs(", \"label\": ", out);
  JsonString(out, label);
}
