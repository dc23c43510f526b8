/* page.h -- a page of HTML that a tool makes: text made fit for it, and a file that is whole or not there
 *
 * Design: design/report.md .page.file      Tests: test/base/basetest.c, test/report/report.t, test/replay/picture.t
 */
#ifndef BASE_PAGE_H
#define BASE_PAGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "base/types.h"

/* PageSave -- write a page beside its place, and put it there when it is whole
 *
 * begins   how every page of this kind begins, to the end of the line that names its generator (newfile.h).  A file
 *          that is there is replaced only if it begins so, or is empty; a link is not followed.
 * write    writes the page
 * returns  NULL, or what failed, in words; then the place is as it was */
extern const char *PageSave(const char *path, const char *begins, Size length, void (*write)(FILE *file, void *data),
                            void *data);

/* PageText -- print bytes that come from outside as text, or as the value of an attribute in double quotes: whatever
 * would be an element or a reference, or is no printable character, is shown and has no effect */
extern void PageText(FILE *file, const char *bytes, Size length);

#endif /* BASE_PAGE_H */
