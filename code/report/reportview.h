/* reportview.h -- the view `report`: one page of HTML that holds what it shows
 *
 * The first pass is that of all views; the second is read when that is over.
 *
 * Design: design/report.md      Tests: test/report/report.t, test/report/page.t
 */
#ifndef REPORT_REPORTVIEW_H
#define REPORT_REPORTVIEW_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/views.h"

extern const ViewClassStruct ViewClassReport;

#endif /* REPORT_REPORTVIEW_H */
