/* viewclasses.h -- the classes of the views in this room; those of analyse are in analyse/views.h
 *
 * Design: design/view.md .views      Tests: test/view/events.t
 */
#ifndef VIEW_VIEWCLASSES_H
#define VIEW_VIEWCLASSES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/views.h"

extern const ViewClassStruct ViewClassEvents;    /* eventcounts.c */
extern const ViewClassStruct ViewClassSizes;     /* sizes.c */
extern const ViewClassStruct ViewClassLifetimes; /* lifetimes.c */
extern const ViewClassStruct ViewClassPools;     /* pools.c */
extern const ViewClassStruct ViewClassCollections; /* collections.c */
extern const ViewClassStruct ViewClassTimeline;  /* timeline.c */
extern const ViewClassStruct ViewClassThreads;   /* threadtimes.c */

#endif /* VIEW_VIEWCLASSES_H */
