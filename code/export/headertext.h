/* headertext.h -- writes a process's header block again, from what the reader knows
 *
 * Design: design/log.md .rewrite      Tests: test/end/eventcnv.t
 */
#ifndef EXPORT_HEADERTEXT_H
#define EXPORT_HEADERTEXT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "log/log.h"

/* LogHeaderText -- a whole header block: magic, first line, `header`, and the registry; ResLIMIT if it does not fit */
extern Res LogHeaderText(Text text, Header header, Registry registry);

/* LogHeaderLines -- of a block that LogHeaderText wrote, the lines that say something: all behind the magic and
 * the first line */
extern const char *LogHeaderLines(Text text, Size *lengthReturn);

#endif /* EXPORT_HEADERTEXT_H */
