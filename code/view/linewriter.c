/* linewriter.c -- lines as formats: text, csv, json
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/line.h"
#include "view/writer.h"

/* A Writer of these classes is a Line and nothing else. */
static Res lineWriterCreate(Writer *writerReturn, LineStyle style, Log log, Output output)
{
  Line line;
  Res res = LineCreate(&line, style, log, output);

  if (res == ResOK)
    *writerReturn = (Writer)line;
  return res;
}

static Res lineWriterText(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                          Size size)
{
  UNUSED(error);
  UNUSED(size);
  return lineWriterCreate(writerReturn,
                          options->describe ? LineDESCRIBE : options->verbose ? LineVERBOSE : LineTEXT, log,
                          output);
}

static Res lineWriterCsv(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                         Size size)
{
  UNUSED(options);
  UNUSED(error);
  UNUSED(size);
  return lineWriterCreate(writerReturn, LineCSV, log, output);
}

static Res lineWriterJson(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                          Size size)
{
  UNUSED(options);
  UNUSED(error);
  UNUSED(size);
  return lineWriterCreate(writerReturn, LineJSON, log, output);
}

static Res lineWriterRead(Writer writer, LogRequest request)
{
  return LineRead((Line)writer, request);
}

static Res lineWriterFinish(Writer writer)
{
  return LineEnd((Line)writer);
}

static void lineWriterDestroy(Writer writer)
{
  LineDestroy((Line)writer);
}

#define lineWriterCLASS(theName, theCreate, theTakes)                                                                  \
  {                                                                                                                    \
    .name = theName, .follow = TRUE, .takes = theTakes, .create = theCreate, .event = LineEvent,                       \
    .read = lineWriterRead, .finish = lineWriterFinish, .destroy = lineWriterDestroy                                   \
  }
const WriterClassStruct WriterClassText = lineWriterCLASS("text", lineWriterText, WriterTakesWORDS);
const WriterClassStruct WriterClassCsv = lineWriterCLASS("csv", lineWriterCsv, 0);
const WriterClassStruct WriterClassJson = lineWriterCLASS("json", lineWriterJson, 0);
