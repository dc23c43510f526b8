/* poolsettings.h -- PAWPRINT_POOLS: parameters of arenas and pools that the environment gives
 *
 *   PAWPRINT_POOLS=Arena.spare=0,SGF.emptySlabs=16
 *
 * They stand above those that the program asks for, so that whoever runs it, or replays its recording (replay
 * --search), can try others.  Each is CLASS.PARAMETER=NUMBER; Arena.spare is the limit of spare memory.  The variable
 * is read once, when the first arena or pool is made; programs that are set-user-id do not have it.
 *
 * Design: design/mm.md .settings      Tests: test/mm/settings.t, test/replay/allocatorstest.c
 */
#ifndef MM_POOLSETTINGS_H
#define MM_POOLSETTINGS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* One setting, in the text that it was read from. */
typedef struct PoolSettingStruct {
  const char *class, *param; /* names, without NUL; NULL: it is no CLASS.PARAMETER=NUMBER */
  Size classLength, paramLength;
  Word value;
} PoolSettingStruct, *PoolSetting;

/* PoolSettingNext -- the setting at *at, which goes to the next one; FALSE: there are no more
 * PoolSettingIs -- is it this parameter of this class? */
extern Bool PoolSettingNext(PoolSetting settingReturn, const char **at);
extern Bool PoolSettingIs(const PoolSettingStruct *setting, const char *class, const char *param);

/* PoolSettings -- all that the environment gives; "": nothing.  Any thread. */
extern const char *PoolSettings(void);

/* PoolSettingOf -- the value in force of a parameter: the environment's, the last one if there are several, or `value`
 */
extern Word PoolSettingOf(const char *class, const char *param, Word value);

#endif /* MM_POOLSETTINGS_H */
