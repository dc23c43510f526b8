/* core.h -- finds the events in a core file
 *
 * A core has the memory of a process as it was, and in it the blocks that its threads were filling, each recognised by
 * its own mark: a magic, a header that can be, and a place where the writer puts blocks.  What describes them, the
 * process's header block, is there too, as text.
 *
 * Design: design/log.md .core      Tests: test/recover/core.t
 */
#ifndef RECOVER_CORE_H
#define RECOVER_CORE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/damage.h"
#include "log/logfile.h"

/* CoreTake -- make `file`, which ElfIs, a file of header blocks and sound blocks: what the core has of them
 *
 * The core itself is not changed; what becomes of `file` is a temporary file.  Where the core leaves out the memory
 * that the process shared with others, and that is a file which still exists, its blocks are taken from there.  What
 * was found, and what may be missing, is told by notes.
 *
 * reporter   hooks.registry describes the events of a process whose header block is not in the core
 * error    room of `size` bytes for a message
 * returns  ResFORMAT: no core, or nothing of ours is in it; ResVERSION: of the other byte order; ResIO, ResMEMORY
 * cost     reads the core once, without its holes
 */
extern Res CoreTake(File file, Reporter reporter, char *error, Size size);

#endif /* RECOVER_CORE_H */
