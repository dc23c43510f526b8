/* settings.c -- several named settings in one string
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/settings.h"

#include <string.h>

#include "base/aver.h"

static Bool settingsPlain(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("-._/:+", c) != NULL);
}

/* settingsDigit -- the value of a hexadecimal digit, or 16 */
static unsigned settingsDigit(char c)
{
  return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10) : 16;
}

void SettingsAdd(Text text, const char *name, const char *value)
{
  static const char digits[] = "0123456789ABCDEF";

  if (TextLength(text) > 0)
    TextChar(text, ',');
  TextString(text, name);
  TextChar(text, '=');
  for (; *value != '\0'; ++value) {
    if (settingsPlain(*value)) {
      TextChar(text, *value);
    } else {
      TextChar(text, '%');
      TextChar(text, digits[(unsigned char)*value >> 4]);
      TextChar(text, digits[(unsigned char)*value & 15]);
    }
  }
}

/* settingsValue -- copy a value up to the comma or the end; NULL: malformed, or too long.  room NULL: only look.
 * Returns where the value ends. */
static const char *settingsValue(const char *at, char *room, Size size)
{
  Size length = 0;

  for (; *at != ',' && *at != '\0'; ++at) {
    unsigned byte = settingsPlain(*at) ? (unsigned char)*at : 0;
    if (*at == '%' && settingsDigit(at[1]) < 16 && settingsDigit(at[2]) < 16) {
      byte = settingsDigit(at[1]) << 4 | settingsDigit(at[2]);
      at += 2;
    }
    if (byte == 0 || (room != NULL && length + 1 >= size))
      return NULL;
    if (room != NULL)
      room[length++] = (char)byte;
  }
  if (room != NULL)
    room[length] = '\0';
  return at;
}

/* settingsNamed -- the value of the setting that begins here, if it has this name; else NULL */
static const char *settingsNamed(const char *at, const char *name)
{
  Size length = strlen(name);

  return strncmp(at, name, length) == 0 && at[length] == '=' ? at + length + 1 : NULL;
}

const char *SettingsGet(const char *settings, const char *name, char *room, Size size)
{
  const char *at, *value;

  for (at = settings; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
    if ((value = settingsNamed(at, name)) != NULL)
      return size > 0 && settingsValue(value, room, size) != NULL ? room : NULL;
  return NULL;
}

Bool SettingsSound(const char *settings, const char *const *names, Count count)
{
  const char *at, *value = NULL;
  uint64_t seen = 0;
  Index i;

  AVER(count <= 64);
  for (at = settings;; ++at) {
    for (i = 0; i < count && (value = settingsNamed(at, names[i])) == NULL; ++i)
      ;
    if (i == count || (seen >> i & 1) != 0)
      return FALSE;
    seen |= (uint64_t)1 << i;
    at = settingsValue(value, NULL, 0);
    if (at == NULL || *at == '\0')
      return at != NULL;
  }
}
