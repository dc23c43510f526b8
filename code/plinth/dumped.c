/* dumped.c -- what cores have of shared memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/dumped.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "plinth/quiet.h"

void DumpedAsk(Bool named)
{
  enum { dumpedNAMELESS = 2, dumpedNAMED = 8, hex = 16 };
  static const char path[] = "/proc/self/coredump_filter";
  char room[32];
  Word filter = 0, wanted = named ? dumpedNAMED : dumpedNAMELESS;
  Size length = QuietReadFile(path, room, sizeof room - 1);
  TextStruct text;
  const char *at;
  long fd;

  room[length] = '\0';
  for (at = room; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); ++at)
    filter = filter * hex + (Word)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  if (at == room || (filter & wanted) != 0)
    return;
  TextInit(&text, room, sizeof room);
  TextHex(&text, filter | wanted);
  fd = QuietCall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)QuietCall(SYS_write, fd, room, TextLength(&text));
  (void)QuietCall(SYS_close, fd);
}
