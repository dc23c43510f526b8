/* terminal.h -- may a line on a terminal be written over?
 *
 * Design: design/view.md .progress      Tests: test/analyse/progress.t, test/monitor/witness.t
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* TerminalMoves -- is `fd` a terminal, and one whose cursor can be moved? */
extern Bool TerminalMoves(int fd);

#endif /* BASE_TERMINAL_H */
