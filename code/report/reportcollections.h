/* reportcollections.h -- the collections that a report shows, with their pauses
 *
 * They are found as for the view `collections` (view/collecting.h), in the second pass.  Those with the longest pauses
 * are shown, ReportCollectionsMAX of them, and of their pauses ReportPausesMAX.
 *
 * Design: design/report.md .collections      Tests: test/report/collections.t
 */
#ifndef REPORT_REPORTCOLLECTIONS_H
#define REPORT_REPORTCOLLECTIONS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewlabels.h"
#include "report/reportspan.h"
#include "view/collecting.h"

enum { ReportCollectionsMAX = 500, ReportPausesMAX = 5000 };

typedef struct ReportCollectionsStruct {
  ReportSpan span;
  CollectingStruct found;    /* its request is to be served */
  Bool *shown;               /* owned; by row */
} ReportCollectionsStruct, *ReportCollections;

/* ReportCollectionsInit -- of the events that `only` chooses; ReportCollectionsFinish frees the memory
 * ReportCollectionsEnd -- the request has been served; ResMEMORY */
extern void ReportCollectionsInit(ReportCollections collections, ReportSpan span, const LogRequestStruct *only,
                                  OfProcess of);
extern void ReportCollectionsFinish(ReportCollections collections);
extern Res ReportCollectionsEnd(ReportCollections collections);

/* ReportCollectionsJson -- print the members `collections_all`, how many there were, and `collections`, those shown */
extern void ReportCollectionsJson(FILE *out, ReportCollections collections, ViewLabels labels);

#endif /* REPORT_REPORTCOLLECTIONS_H */
