/* settings.h -- several named settings in one string, by which a recorder tells a process what to record
 *
 *     collector=pawprint-4f:9a,log=/home/me/a%2C.paw,kinds=all%2C-Ref
 *
 * Settings are separated by commas.  A name is of lower-case letters and stands once.  In a value each byte that is no
 * letter, no digit and none of `-._/:+` is written as % and two upper-case hexadecimal digits.
 *
 * Design: design/telemetry.md .recording      Tests: test/base/basetest.c
 */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

/* SettingsAdd -- append a setting to `text`, and a comma before it where it is not the first */
extern void SettingsAdd(Text text, const char *name, const char *value);

/* SettingsGet -- the value of a setting, in `room`; NULL: there is none, it is malformed, or it does not fit.
 * No allocation; async-signal safe. */
extern const char *SettingsGet(const char *settings, const char *name, char *room, Size size);

/* SettingsSound -- is the string well-formed, each name one of `names`, and none there twice? */
extern Bool SettingsSound(const char *settings, const char *const *names, Count count);

#endif /* BASE_SETTINGS_H */
