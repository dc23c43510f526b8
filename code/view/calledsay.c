/* calledsay.c -- which process it is, for people
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/calledsay.h"

#include <string.h>

#include "base/say.h"

void CalledSay(FILE *out, const HeaderStruct *header)
{
  const char *called = HeaderCalled(header);

  if (strcmp(called, HeaderProgram(header)) == 0) {
    SayPlain(out, header->program, strlen(header->program));
    return;
  }
  SayPlain(out, called, strlen(called));
  fputs(" (", out);
  SayPlain(out, header->program, strlen(header->program));
  putc(')', out);
}
