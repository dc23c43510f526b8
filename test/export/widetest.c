/* widetest.c -- events with as many parameters as there may be, and numbers that are not known, as lines
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "export/eventlines.h"
#include "filter/filter.h"
#include "logmake.h"
#include "request/request.h"

static MakeBlockStruct block;
static OutputStruct output;
static char path[] = "/tmp/widetestXXXXXX", lines[] = "/tmp/widelinesXXXXXX";

/* wideLines -- the log as lines of a style, of events for which the filter holds; static */
static const char *wideLines(Make make, LineStyle style, const char *expression)
{
  static const LogRequestStruct all = LogRequestALL;
  static char text[1 << 16];
  LogHooksStruct hooks = {0};
  const char *paths[] = {path};
  LogRequestStruct request = all;
  Filter filter;
  char error[512] = "";
  int fd = open(lines, O_RDWR | O_TRUNC);
  ssize_t size;
  Line line;
  Log log;

  MakeWrite(make, path);
  OutputInit(&output, fd);
  if (fd < 0 || LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK ||
      FilterMake(&filter, log, expression, error, sizeof error) != ResOK ||
      LineCreate(&line, style, log, &output, NULL) != ResOK)
    makeFail(error);
  request.data = line;
  request.event = LineEvent;
  FilterTimes(filter, &request.from, &request.to);
  PawRequestFilter(&request, filter);
  TapOk(LineRead(line, &request) == ResOK && OutputFlush(&output), "read");
  LineDestroy(line);
  FilterFree(filter);
  LogClose(log);
  size = pread(fd, text, sizeof text - 1, 0);
  text[size < 0 ? 0 : size] = '\0';
  (void)close(fd);
  return text;
}

/* testWide -- packed and unpacked, by our machine and one of the other kind */
static void testWide(Bool swapped, uint8_t word, uint8_t flags)
{
  char last[32], registry[2048] = "kind: 6 User\nevent: 0x0701 Wide User 1 ", expected[4096] = "Wide", words[2048] = "";
  uint64_t value[EventParamMAX];
  MakeStruct make = {0};
  MakeProcess process;
  Index i;

  for (i = 0; i < EventParamMAX; ++i)
    strcat(registry, i + 1 == EventParamMAX ? "S" :
                     (EventParamMAX - i) % 3 == 0 ? "A" : (EventParamMAX - i) % 3 == 1 ? "U" : "W");
  for (i = 0; i < EventParamMAX; ++i) {
    value[i] = 1000 + i;
    sprintf(registry + strlen(registry), " p%zu", i);
    sprintf(expected + strlen(expected),
            i + 1 == EventParamMAX ? " p%zu=\"end\"" :
            (EventParamMAX - i) % 3 == 0 ? " p%zu=0x%zx" : " p%zu=%zu", i, 1000 + i);
    sprintf(words + strlen(words), i == 0 ? "%%p%zu" : " %%p%zu", i);
  }
  sprintf(registry + strlen(registry), "\ndescribe: 0x0701 %s\n", words);
  process = MakeProcessForeign(17, 1, word, swapped, registry);
  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 17, 6, 0, 5);
  for (i = 0; i < 20; ++i) {
    value[EventParamMAX - 2] = 1000 + EventParamMAX - 2 + (i != 7);
    (void)MakeEvent(&block, 0x0701, 5 + i, value, "end");
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED | flags);
  sprintf(words, "p%d == %d", EventParamMAX - 2, 1000 + EventParamMAX - 2);
  TapOk(strstr(wideLines(&make, LineTEXT, words), expected) != NULL, "an event of %d parameters is read whole",
        EventParamMAX);
  TapOk(strchr(wideLines(&make, LineTEXT, words), '\n')[1] == '\0', "and chosen by the last but one");
  sprintf(last, " %d \"end\"\n", 1000 + EventParamMAX - 2);
  TapOk(strstr(wideLines(&make, LineDESCRIBE, words), last) != NULL, "and told in words");
  MakeFree(&make);
  MakeProcessFree(process);
}

/* testUnknown -- what the kernel does not give is no number */
static void testUnknown(void)
{
  MakeProcess process = MakeProcessNew(17, 1);
  uint64_t value[] = {17, 17, 1, 1, 1, 1, 1, UINT64_MAX, 1, 1};
  MakeStruct make = {0};

  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 17, EventKindSystem, 0, 5);
  (void)MakeEvent(&block, EventTaskSampleCODE, 5, value, "R");
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  TapOk(strstr(wideLines(&make, LineTEXT, "tid == 17"), " disk=unknown minor=1") != NULL, "text: unknown");
  TapOk(strstr(wideLines(&make, LineJSON, "tid == 17"), "\"disk\":null,\"minor\":1") != NULL, "JSON: null");
  TapOk(strstr(wideLines(&make, LineCSV, "tid == 17"), "18446744073709551615") == NULL, "CSV: nothing");
  MakeFree(&make);
  MakeProcessFree(process);
}

int main(void)
{
  int fd = mkstemp(path), other = mkstemp(lines);

  if (fd < 0 || other < 0 || close(fd) != 0 || close(other) != 0)
    makeFail(path);
  testWide(FALSE, 8, 0);
  testWide(FALSE, sizeof(Word), BlockFlagPACKED);
  testWide(TRUE, 4, 0);
  testUnknown();
  (void)unlink(path);
  (void)unlink(lines);
  return TapDone();
}
