/* describe.h -- the parameters of an event in the way of each format, and one event in words
 *
 * For one event, where eventlines.h is for a whole pass over a log: an interned string stays a number.
 *
 * Design: design/log.md .line, design/view.md .unknown .plain      Tests: test/library/pawlogtest.c,
 * test/export/widetest.c
 */
#ifndef EXPORT_DESCRIBE_H
#define EXPORT_DESCRIBE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "log/log.h"

typedef enum DescribeStyle { DescribeTEXT, DescribeCSV, DescribeJSON, DescribeSQL } DescribeStyle;

/* DescribeValue -- append a parameter's value
 *
 * Addresses are hexadecimal.  A string stands between quotes, and ends in ... if the event says that it was cut; what a
 * terminal would obey is escaped.  A number that is unknown is `unknown`, nothing, null or NULL.
 */
extern void DescribeValue(Text text, DescribeStyle style, LogEvent event, Index param);

/* DescribeString, DescribeDouble -- the same for a string, which was `cut` or not, and for a double; JSON and SQL have
 * no literals for infinities and NaN */
extern void DescribeString(Text text, DescribeStyle style, const char *bytes, Size length, Bool cut);
extern void DescribeDouble(Text text, DescribeStyle style, double d);

/* DescribeEvent -- append the event in words; one whose type has no description has its name and all its parameters */
extern void DescribeEvent(Text text, LogEvent event);

/* DescribeParam -- the parameter with this name; type->params if the type has none */
extern Index DescribeParam(EventType type, const char *name, Size length);

/* DescribeMayLack -- is the parameter a number that the system may not know, and that then has all bits set?  The
 * collector's samples of threads have such (design/collector.md). */
extern Bool DescribeMayLack(EventType type, Index param);

/* DescribePlace -- the parameter that a type's description names at `next`, or type->params if it names none there; and
 * where the description goes on behind it.  %*name is the interned string that has the parameter as its number. */
extern Index DescribePlace(const char **behindReturn, Bool *internedReturn, EventType type, const char *next);

#endif /* EXPORT_DESCRIBE_H */
