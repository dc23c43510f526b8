/* writer.c -- feeds events to the writer of the format that was chosen
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/aver.h"
#include "base/option.h"

Res WriterThin(uint64_t *thinReturn, const char *string)
{
  static const struct {
    const char *unit;
    double ns;
  } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
  char digits[64];
  double number;
  Size length;
  Index i;

  *thinReturn = WriterThinAUTO;
  if (string == NULL)
    return ResOK;
  length = strcspn(string, "smun");
  if (length >= sizeof digits)
    return ResPARAM;
  memcpy(digits, string, length);
  digits[length] = '\0';
  for (i = 0; i < ARRAY_LENGTH(units) && strcmp(string + length, units[i].unit) != 0; ++i)
    ;
  if (i == ARRAY_LENGTH(units) || OptionParseDouble(digits, &number) != ResOK ||
      !(number >= 0 && number * units[i].ns < 1e18))
    return ResPARAM;
  *thinReturn = (uint64_t)(number * units[i].ns + 0.5);
  return ResOK;
}

Res WriterCalls(Calls calls, const WriterOptionsStruct *options)
{
  Res res = CallsInit(calls, options->log, options->symbols);

  if (res == ResIO)
    (void)snprintf(options->error, WriterErrorMAX, "reading stopped: %s", strerror(errno));
  return res;
}

Res WriterWrite(const WriterClassStruct *class, const WriterOptionsStruct *options, LogRequest request)
{
  Writer writer;
  int reason;
  Res res;

  AVER(options->log != NULL && options->error != NULL && OutputCheck(options->output));
  options->error[0] = '\0';
  res = class->create(&writer, class, options);
  if (res == ResMEMORY)
    (void)snprintf(options->error, WriterErrorMAX, "no memory");
  if (res != ResOK)
    return res;
  request->event = class->event;
  request->data = writer;
  res = class->read != NULL ? class->read(writer, request) : LogRead(options->log, request);
  reason = errno;
  if (class->finish != NULL)
    class->finish(writer);
  class->destroy(writer);
  errno = reason;
  return res;
}
