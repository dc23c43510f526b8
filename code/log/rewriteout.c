/* rewriteout.c -- where a log that is written again goes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/rewriteout.h"

#include <errno.h>
#include <string.h>

#include "log/file.h"

void RewriteOutFail(RewriteOut out, Res res)
{
  if (out->failed == ResOK) {
    out->failed = res;
    out->reason = errno;
  }
}

void RewriteOutFlush(RewriteOut out)
{
  if (out->failed == ResOK && FileWriteAll(out->fd, out->bytes, out->pending) != ResOK)
    RewriteOutFail(out, ResIO);
  out->pending = 0;
}

void RewriteOutBytes(RewriteOut out, const void *bytes, Size size)
{
  const unsigned char *from = bytes;

  out->written += size;
  while (size > 0) {
    Size n = RewriteOutSIZE - out->pending < size ? RewriteOutSIZE - out->pending : size;
    memcpy(out->bytes + out->pending, from, n);
    out->pending += n;
    from += n;
    size -= n;
    if (out->pending == RewriteOutSIZE)
      RewriteOutFlush(out);
  }
}
