/* json.h -- a string as JSON has it, for documents that are printed piece by piece
 *
 * Design: design/view.md .json      Tests: test/eventview.t
 */
#ifndef VIEW_JSON_H
#define VIEW_JSON_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

/* JsonString -- print `string` in double quotes; what is no printable ASCII is escaped, bytes that are no UTF-8
 * become U+FFFD */
extern void JsonString(FILE *out, const char *string);

#endif /* VIEW_JSON_H */
