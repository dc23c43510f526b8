/* headertext.h -- header blocks, written again from what the reader knows, and the headers of event blocks as lines
 *
 * Design: design/log.md .rewrite .blocks      Tests: test/end/eventcnv.t, test/emit/cpu.t
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

typedef Bool (*LogBlockVisit)(void *data, Text line); /* TRUE: no more are wanted */

/* LogBlocks -- call `visit` with a line of text, its newline included, for each block, in order of the times at which
 * they were opened; copies of a block are blocks, too.  ResMEMORY, ResIO. */
extern Res LogBlocks(Log log, LogBlockVisit visit, void *data);

#endif /* EXPORT_HEADERTEXT_H */
