/* settings.c -- several named settings in one string
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/settings.h"

#include <string.h>

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

/* settingsByte -- the next byte of a value, and go behind it.  FALSE: the value is malformed here. */
static Bool settingsByte(char *byteReturn, const char **at)
{
  const char *p = *at;
  unsigned byte;

  if (settingsPlain(*p)) {
    *byteReturn = *p;
    *at = p + 1;
    return TRUE;
  }
  if (*p != '%' || settingsDigit(p[1]) > 15 || settingsDigit(p[2]) > 15)
    return FALSE;
  byte = settingsDigit(p[1]) << 4 | settingsDigit(p[2]);
  *byteReturn = (char)byte;
  *at = p + 3;
  return byte != 0;
}

/* settingsValue -- copy a value up to the comma or the end; NULL: malformed, or too long.  room NULL: only look.
 * Returns where the value ends. */
static const char *settingsValue(const char *at, char *room, Size size)
{
  Size length = 0;
  char byte;

  while (*at != ',' && *at != '\0') {
    if (!settingsByte(&byte, &at))
      return NULL;
    if (room != NULL) {
      if (length + 1 >= size)
        return NULL;
      room[length++] = byte;
    }
  }
  if (room != NULL)
    room[length] = '\0';
  return at;
}

const char *SettingsGet(const char *settings, const char *name, char *room, Size size)
{
  Size length = strlen(name);
  const char *at;

  for (at = settings; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && at[length] == '=')
      return size > 0 && settingsValue(at + length + 1, room, size) != NULL ? room : NULL;
  return NULL;
}

Bool SettingsSound(const char *settings, const char *const *names, Count count)
{
  const char *at = settings;
  uint64_t seen = 0;
  Index i;

  if (count > 64)
    return FALSE;
  for (;;) {
    for (i = 0; i < count; ++i) {
      Size length = strlen(names[i]);
      if (strncmp(at, names[i], length) == 0 && at[length] == '=')
        break;
    }
    if (i == count || (seen >> i & 1) != 0)
      return FALSE;
    seen |= (uint64_t)1 << i;
    at = settingsValue(strchr(at, '=') + 1, NULL, 0);
    if (at == NULL)
      return FALSE;
    if (*at == '\0')
      return TRUE;
    ++at;
  }
}
