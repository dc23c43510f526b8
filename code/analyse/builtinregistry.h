/* builtinregistry.h -- the event types of this build, as the text of a registry
 *
 * Used for logs that have none: core files whose header block was not dumped.
 *
 * Tests: test/recover/core.t
 */
#ifndef ANALYSE_BUILTINREGISTRY_H
#define ANALYSE_BUILTINREGISTRY_H

/* SPDX-License-Identifier: BSD-2-Clause */

/* Lines as design/format.md .registry has them */
extern const char *const BuiltinRegistry;

#endif /* ANALYSE_BUILTINREGISTRY_H */
