/* modulebytes.c -- bytes of a loaded module, which another thread may unload while they are read
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/modulebytes.h"

#include <string.h>

#include "base/aver.h"
#include "plinth/rawsyscall.h"

void ModuleBytesInit(ModuleBytes bytes, const uint8_t *base, const uint8_t *limit, Bool fleeting)
{
  bytes->base = base;
  bytes->limit = limit;
  bytes->fleeting = fleeting;
  bytes->gone = FALSE;
  bytes->from = 0;
  bytes->count = 0;
}

/* bytesCopy -- put what stands at an address and behind it into the window.  FALSE: so much cannot be read. */
static Bool bytesCopy(ModuleBytes bytes, const uint8_t *at, Size size)
{
  Size most = (Size)(bytes->limit - at);
  uint8_t here = 0;

  bytes->from = (Word)at;
  bytes->count = RawPeek(bytes->window, at, most < sizeof bytes->window ? most : sizeof bytes->window);
  if (bytes->count >= size)
    return TRUE;
  /* Where the call is forbidden it does not read our own stack either.  Then only few programs, those that unload
   * what another thread runs, are in danger, and all others would be without stacks. */
  if (bytes->count == 0 && RawPeek(&here, &bytes->window[0], sizeof here) == 0)
    bytes->fleeting = FALSE;
  else
    bytes->gone = TRUE;
  return !bytes->fleeting;
}

Bool ModuleBytesRead(void *room, ModuleBytes bytes, const uint8_t *at, Size size)
{
  AVER_CRITICAL(size <= ModuleWindowSIZE);
  if (bytes->fleeting && ((Word)at - bytes->from > bytes->count || size > bytes->count - ((Word)at - bytes->from))
      && !bytesCopy(bytes, at, size))
    return FALSE;
  memcpy(room, bytes->fleeting ? bytes->window + ((Word)at - bytes->from) : at, size);
  return TRUE;
}
