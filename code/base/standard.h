/* standard.h -- descriptors 0, 1 and 2 are not given to files of ours
 *
 * Design: design/house.md .standard      Tests: test/standard.t
 */
#ifndef BASE_STANDARD_H
#define BASE_STANDARD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* StandardHold -- hold those of 0, 1 and 2 that are closed, so that nothing that is opened later becomes standard output, and
 * no message goes into a log
 *
 * What is read there or written fails as before, and a program that we become by exec finds them closed, as we did.
 * returns  ResIO: one cannot be held, with errno */
extern Res StandardHold(void);

#endif /* BASE_STANDARD_H */
