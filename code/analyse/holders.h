/* holders.h -- the five callers that hold most at the peak, for the summary
 *
 * Design: design/view.md .sites.peak      Tests: test/analyse/sites.t
 */
#ifndef ANALYSE_HOLDERS_H
#define ANALYSE_HOLDERS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewheap.h"

/* HoldersText -- print a line for each, if callers were recorded and there is memory for them
 * HoldersJson -- print a member of an object, an array, with a comma behind */
extern void HoldersText(FILE *out, ViewHeap shared);
extern void HoldersJson(FILE *out, ViewHeap shared);

#endif /* ANALYSE_HOLDERS_H */
