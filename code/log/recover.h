/* recover.h -- what dead processes left in memory, put into their log
 *
 * Design: design/log.md .recover      Tests: test/death.t
 */
#ifndef LOG_RECOVER_H
#define LOG_RECOVER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* LogRecover -- append to `log` header block and blocks of its processes that have ended, and remove their memory
 *
 * log            an absolute path, as the processes had it
 * blocksReturn   how many blocks were appended
 * runningReturn  how many processes still write to it
 * returns        ResIO, ResMEMORY: not all could be written (errno says why); nothing is removed that was not
 */
extern Res LogRecover(const char *log, Count *blocksReturn, Count *runningReturn);

#endif /* LOG_RECOVER_H */
