/* output.c -- bytes on their way to a file, in large pieces
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/output.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "log/file.h"

void OutputInit(Output output, int fd)
{
  output->fd = fd;
  output->failed = 0;
  output->before = NULL;
  output->next = output->base;
}

Bool OutputFlush(Output output)
{
  if (output->before != NULL && output->base < output->next)
    output->before(output->data);
  if (output->failed == 0 && FileWriteAll(output->fd, output->base, (Size)(output->next - output->base)) != ResOK)
    output->failed = errno;
  output->next = output->base;
  return output->failed == 0;
}

void OutputBytes(Output output, const char *bytes, Size size)
{
  while (size > 0) {
    char *room = OutputRoom(output);
    Size here = size < OutputRoomMAX ? size : OutputRoomMAX;
    memcpy(room, bytes, here);
    output->next = room + here;
    bytes += here;
    size -= here;
  }
}

void OutputString(Output output, const char *string)
{
  OutputBytes(output, string, strlen(string));
}

void OutputNumber(Output output, const char *before, uint64_t number)
{
  OutputString(output, before);
  output->next = TextPutDecimal(OutputRoom(output), number);
}

Res OutputEnd(Output output)
{
  if (OutputFlush(output))
    return ResOK;
  errno = output->failed;
  return ResIO;
}
