/* describe.h -- one event in words, as the registry of its log describes it
 *
 * For who has one event, and not the whole pass that textcsvjson.h makes lines of: an interned string stays a number.
 *
 * Design: design/log.md .line      Tests: test/library/pawlogtest.c
 */
#ifndef EXPORT_DESCRIBE_H
#define EXPORT_DESCRIBE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "log/log.h"

/* DescribeEvent -- append it to `text`; a type without a description has its name and all its parameters */
extern void DescribeEvent(Text text, LogEvent event);

/* DescribeParam -- the parameter that is called so; type->params if none is */
extern Index DescribeParam(EventType type, const char *name, Size length);

/* DescribeMayLack -- is it a number that the system may not give, and which is then all bits?  The collector's samples
 * of threads have such (design/collector.md). */
extern Bool DescribeMayLack(EventType type, Index param);

/* DescribeUnknown -- is parameter `i` of the event such a number, and not known? */
extern Bool DescribeUnknown(LogEvent event, Index i);

/* DescribePlace -- what a type's description has at `next`: a parameter, type->params if it is none, and where it goes
 * on behind it; of %*name it is the interned string that has this number */
extern Index DescribePlace(const char **behindReturn, Bool *internedReturn, EventType type, const char *next);

#endif /* EXPORT_DESCRIBE_H */
