/* version.h -- the version of the programs and the library
 *
 * Not that of the format and the registry, which is in eventdef.h and in each log.  The Makefile reads it from here.
 *
 * Design: design/house.md .version      Tests: test/base/optiontest.c, test/house/build.t
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#define PawprintVERSION "1.1.1"

#endif /* BASE_VERSION_H */
