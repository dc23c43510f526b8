/* builtinregistry.h -- the event types of this build, as the text of a registry
 *
 * Used for logs that have none: core files whose header block was not dumped.
 *
 * Tests: test/recover/core.t
 */
#ifndef SOURCE_BUILTINREGISTRY_H
#define SOURCE_BUILTINREGISTRY_H

/* SPDX-License-Identifier: BSD-2-Clause */

/* Lines as design/format.md .registry has them */
extern const char *const BuiltinRegistry;

#endif /* SOURCE_BUILTINREGISTRY_H */
