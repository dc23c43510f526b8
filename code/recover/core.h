/* core.h -- finds the events in a core file
 *
 * A core has the memory of a process, and in it the blocks that its threads were filling.  Such a block is recognised
 * by its magic, by a header that can be one, and by a place where the writer puts blocks.  The process's header block,
 * which describes its events, is in that memory, too, as text.
 *
 * Design: design/log.md .core      Tests: test/recover/core.t
 */
#ifndef RECOVER_CORE_H
#define RECOVER_CORE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/damage.h"
#include "log/logfile.h"

/* CoreMay -- does the file begin as cores, and other ELF files, do? */
extern Bool CoreMay(File file);

/* CoreTake -- copy the header blocks and the sound blocks of a core into a temporary file, which `file` is from then
 * on; the core itself is not changed
 *
 * If the core lacks the memory that the process shared with others, and the file of its region still exists, the blocks
 * are taken from there.  Notes tell what was found, and what may be missing.
 *
 * reporter hooks.registry describes the events of a process whose header block is not in the core
 * error    room of `size` bytes for a message
 * returns  ResFORMAT: it is no core, or has no block of ours; ResVERSION: its byte order is not ours; ResIO, ResMEMORY
 * cost     reads the core once, without its holes
 */
extern Res CoreTake(File file, Reporter reporter, char *error, Size size);

#endif /* RECOVER_CORE_H */
