/* formats.h -- the formats that eventcnv writes, one table
 *
 * Nearly all are made in export.  A profile is made of what views of callers know, and so in this room: the table
 * stands above both.
 *
 * Design: design/view.md .drawn      Tests: test/export/formats.t, test/view/pprof.t
 */
#ifndef VIEW_FORMATS_H
#define VIEW_FORMATS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/writer.h"

/* In the order of --help. */
extern const WriterClassStruct *const FormatClasses[];
extern const Count FormatCount;

extern const WriterClassStruct WriterClassPprof; /* pprof.c */

/* FormatChoices -- their names with bars between, as OptionChoice takes them; of `size` bytes, NUL-terminated */
extern const char *FormatChoices(char *names, Size size);

#endif /* VIEW_FORMATS_H */
