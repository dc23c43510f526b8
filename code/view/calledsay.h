/* calledsay.h -- which process it is, for people
 *
 * Design: design/view.md .called      Tests: test/process.t
 */
#ifndef VIEW_CALLEDSAY_H
#define VIEW_CALLEDSAY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/called.h"

/* CalledSay -- print the path of the file that runs; before it the name for people, if that is another */
extern void CalledSay(FILE *out, const HeaderStruct *header);

#endif /* VIEW_CALLEDSAY_H */
