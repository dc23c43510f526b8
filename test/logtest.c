/* logtest.c -- reading logs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "logmake.h"

#include "log/log.h"

static MakeBlockStruct block;

int main(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(4711, 0x1234);
  Index i;

  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 4712, EventKindObject, 0, 1000);
  for (i = 0; i < 10; ++i)
    MakeEvent(&block, EventPoolAllocCODE, 1010 + 10 * i, (uint64_t[]){0xabcdef0123, 0x7f0c1fa01040 + 32 * i, 32 + i}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockBegin(&block, process, 4711, EventKindPool, 0, 1005);
  MakeEvent(&block, EventPoolCreateCODE, 1005, (uint64_t[]){0xabcdef0123, 0}, "malloc");
  MakeEvent(&block, EventPoolParamCODE, 1055, (uint64_t[]){0xabcdef0123, 0}, "a\"b\nc");
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockBegin(&block, process, 4711, EventKindUser, 0, 2005);
  double d = -0.1; uint64_t w; memcpy(&w, &d, 8);
  MakeEvent(&block, EventUserDoubleCODE, 5000001055, (uint64_t[]){3, w}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED );
  MakeWrite(&make, "/tmp/x.paw");
  return TapDone();
}
