/* poolsettings.c -- PAWPRINT_POOLS: parameters of arenas and pools that the environment gives
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/poolsettings.h"

#include <string.h>

#include "base/text.h"
#include "mm/arena.h"
#include "plinth/rawsyscall.h"

enum { settingsSIZE = 512 };

static struct {
  Bool read;
  char text[settingsSIZE];
} settings; /* written under ArenaRegistryLock */

Bool PoolSettingNext(PoolSetting settingReturn, const char **at)
{
  const char *begin = *at, *end = begin + strcspn(begin, ","), *digits, *value;
  const char *dot = memchr(begin, '.', (Size)(end - begin)), *equals = memchr(begin, '=', (Size)(end - begin));

  if (*begin == '\0')
    return FALSE;
  *at = *end == ',' ? end + 1 : end;
  *settingReturn = (PoolSettingStruct){.class = NULL};
  if (dot == NULL || equals == NULL || dot == begin || equals <= dot + 1)
    return TRUE;
  digits = value = equals + 1;
  settingReturn->value = (Word)TextNumber(&value, 10);
  if (value != end || value == digits)
    return TRUE;
  settingReturn->class = begin;
  settingReturn->classLength = (Size)(dot - begin);
  settingReturn->param = dot + 1;
  settingReturn->paramLength = (Size)(equals - dot - 1);
  return TRUE;
}

Bool PoolSettingIs(const PoolSettingStruct *setting, const char *class, const char *param)
{
  return setting->class != NULL && strlen(class) == setting->classLength && strlen(param) == setting->paramLength &&
         memcmp(class, setting->class, setting->classLength) == 0 &&
         memcmp(param, setting->param, setting->paramLength) == 0;
}

/* settingsRead -- copy the variable, because the program may change its environment */
static void settingsRead(void)
{
  const char *value = RawEnvironment("PAWPRINT_POOLS");

  if (value == NULL)
    return;
  if (strlen(value) < sizeof settings.text)
    (void)strcpy(settings.text, value);
  else
    RawSay("PAWPRINT_POOLS", "", "it is too long, and is left aside");
}

const char *PoolSettings(void)
{
  if (__atomic_load_n(&settings.read, __ATOMIC_ACQUIRE))
    return settings.text;
  LockClaim(&ArenaRegistryLock);
  if (!settings.read)
    settingsRead();
  __atomic_store_n(&settings.read, TRUE, __ATOMIC_RELEASE);
  LockRelease(&ArenaRegistryLock);
  return settings.text;
}

Word PoolSettingOf(const char *class, const char *param, Word value)
{
  const char *at = PoolSettings();
  PoolSettingStruct setting;

  while (PoolSettingNext(&setting, &at))
    if (PoolSettingIs(&setting, class, param))
      value = setting.value;
  return value;
}
