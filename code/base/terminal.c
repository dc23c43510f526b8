/* terminal.c -- may a line on a terminal be written over?
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Bool TerminalMoves(int fd)
{
  const char *term = getenv("TERM");

  return isatty(fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}
