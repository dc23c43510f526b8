/* moreviews.h -- the views of this room (analyse/views.h)
 *
 * Design: design/view.md .views      Tests: test/view/events.t
 */
#ifndef VIEW_MOREVIEWS_H
#define VIEW_MOREVIEWS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/views.h"

extern const ViewClassStruct ViewClassEvents;    /* eventcounts.c */
extern const ViewClassStruct ViewClassSizes;     /* sizes.c */
extern const ViewClassStruct ViewClassLifetimes; /* lifetimes.c */
extern const ViewClassStruct ViewClassPools;     /* pools.c */
extern const ViewClassStruct ViewClassCollections; /* collections.c */
extern const ViewClassStruct ViewClassTimeline;  /* timeline.c */
extern const ViewClassStruct ViewClassThreads;   /* threadtimes.c */

#endif /* VIEW_MOREVIEWS_H */
