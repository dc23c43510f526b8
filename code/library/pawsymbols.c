/* pawsymbols.c -- libpawlog: functions at addresses of code
 *
 * Design: design/log.md .pawlog.heap      Tests: test/library/pawsymbols.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/text.h"
#include "log/log.h"
#include "log/pawlog.h"
#include "symbols/codesymbols.h"

int PawSymbolsCreate(PawSymbols *symbolsReturn, PawLog log, void (*note)(void *data, const char *line), void *data)
{
  return (int)CodeSymbolsCreate(symbolsReturn, log, note, data);
}

void PawSymbolsDestroy(PawSymbols symbols)
{
  CodeSymbolsDestroy(symbols);
}

/* symbolsAt -- what is at an address inside of a call */
static CodeSymbol symbolsAt(PawSymbols symbols, PawProcess process, uint64_t time, uint64_t address)
{
  return CodeSymbolOf(symbols, process, time, address, CodeINSIDE);
}

size_t PawSymbolsFind(PawSymbols symbols, PawProcess process, uint64_t time, uint64_t address,
                      const PawFrame **framesReturn)
{
  CodeSymbol symbol = symbolsAt(symbols, process, time, address);

  if (symbol == NULL || symbol->frames == 0)
    return 0;
  *framesReturn = symbol->frame;
  return symbol->frames;
}

const char *PawSymbolsText(PawSymbols symbols, PawProcess process, uint64_t time, uint64_t address, char *text,
                           size_t size)
{
  CodeSymbol symbol = symbolsAt(symbols, process, time, address);
  char room[4096];
  TextStruct words, plain;

  if (size == 0)
    return "";
  TextInit(&plain, text, size);
  TextInit(&words, room, sizeof room);
  if (symbol != NULL)
    CodeSymbolText(&words, symbols, symbol);
  if (TextLength(&words) == 0)
    TextHex(&words, address);
  TextPlain(&plain, room, TextLength(&words));
  return TextTerminate(&plain);
}
