/* public.h -- pawprint.h, as the emitter itself sees it
 *
 * pawprint.h gives the control table and the bit functions plain types of its own; here they have the house's.
 *
 * Design: design/telemetry.md .sol.client
 */
#ifndef EMIT_PUBLIC_H
#define EMIT_PUBLIC_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/event.h"

#include "emit/pawprint.h"

#endif /* EMIT_PUBLIC_H */
