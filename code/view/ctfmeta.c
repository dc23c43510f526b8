/* ctfmeta.c -- a CTF trace's metadata
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/ctfmeta.h"

#include "base/aver.h"
#include "view/form.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
static const char ctfOurs[] = "be", ctfTheirs[] = "le";
#else
static const char ctfOurs[] = "le", ctfTheirs[] = "be";
#endif

/* ctfName -- a name out of a log, as a string between quotes that are there already */
static void ctfName(Output output, const char *name, Size length)
{
  char safe[256];
  Index i;

  if (length > sizeof safe)
    length = sizeof safe;
  for (i = 0; i < length; ++i)
    safe[i] = FormNameChar(name[i]);
  OutputBytes(output, safe, length);
}

static char ctfWordChar(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

/* ctfField -- a parameter's name as an identifier that no other parameter of the type has
 *
 * Readers take the `_` in front away; it keeps names off the language's own words. */
static void ctfField(Output output, EventType type, Index param)
{
  char word[256];
  Bool twice = FALSE;
  Index i, j;

  for (i = 0; i < type->paramLength[param]; ++i)
    word[i] = ctfWordChar(type->param[param][i]);
  for (j = 0; j < type->params; ++j) {
    if (j == param || type->paramLength[j] != type->paramLength[param])
      continue;
    for (i = 0; i < type->paramLength[j] && ctfWordChar(type->param[j][i]) == word[i]; ++i)
      ;
    twice |= i == type->paramLength[j];
  }
  OutputString(output, "_");
  OutputBytes(output, word, type->paramLength[param]);
  if (twice) {
    OutputNumber(output, "__", param);
  }
}

/* ctfInteger -- an unsigned integer's type */
static void ctfInteger(Output output, Size bytes, const char *order, unsigned base)
{
  OutputNumber(output, "integer { size = ", 8 * bytes);
  OutputNumber(output, "; align = 8; signed = false; base = ", base);
  OutputString(output, "; byte_order = ");
  OutputString(output, order);
  OutputString(output, "; } ");
}

static void ctfParam(Output output, EventType type, Index param, const char *order)
{
  OutputString(output, "    ");
  switch (type->letter[param]) {
  case 'S':
    OutputString(output, "string { encoding = UTF8; } ");
    break;
  case 'D':
    OutputString(output, "floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = ");
    OutputString(output, order);
    OutputString(output, "; } ");
    break;
  default:
    ctfInteger(output, type->width[param], order, type->letter[param] == 'P' || type->letter[param] == 'A' ? 16 : 10);
  }
  ctfField(output, type, param);
  OutputString(output, ";\n");
}

static void ctfEvent(Output output, Registry registry, EventType type, uint64_t id)
{
  const char *order = registry->widths.swapped ? ctfTheirs : ctfOurs;
  Index i;

  OutputString(output, "event {\n  name = \"");
  ctfName(output, type->name, type->nameLength);
  OutputNumber(output, "\"; id = ", id);
  OutputString(output, "; stream_id = 0;\n  fields := struct {\n");
  for (i = 0; i < type->params; ++i)
    ctfParam(output, type, i, order);
  OutputString(output, "  };\n};\n");
}

static void ctfUuid(Output output, const uint8_t uuid[CtfUuidSIZE])
{
  static const char hex[] = "0123456789abcdef";
  Index i;

  for (i = 0; i < CtfUuidSIZE; ++i) {
    char digits[2] = {hex[uuid[i] >> 4], hex[uuid[i] & 15]};
    if (i == 4 || i == 6 || i == 8 || i == 10)
      OutputString(output, "-");
    OutputBytes(output, digits, 2);
  }
}

static void ctfTrace(Output output, const uint8_t uuid[CtfUuidSIZE], uint64_t start)
{
  OutputString(output, "/* CTF 1.8 */\n\n"
            "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
            "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
            "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"
            "trace {\n  major = 1;\n  minor = 8;\n  uuid = \"");
  ctfUuid(output, uuid);
  OutputString(output, "\";\n  byte_order = ");
  OutputString(output, ctfOurs);
  OutputString(output, ";\n  packet.header := struct {\n    uint32_t magic;\n    uint8_t uuid[16];\n"
            "    uint32_t stream_id;\n"
            "  };\n};\n\nenv {\n  domain = \"memory\";\n  tracer_name = \"pawprint\";\n};\n\n"
            "clock {\n  name = \"wall\";\n  description = \"wall time; 0 is the earliest event\";\n"
            "  freq = 1000000000;\n");
  /* Not parted into offset_s and this: there is a Trace Compass that knows offset only. */
  OutputNumber(output, "  offset = ", start);
  OutputString(output, ";\n};\n\n");
}

static void ctfStream(Output output, Size width)
{
  static const char time[] = "map = clock.wall.value; } ";

  OutputString(output, "stream {\n  id = 0;\n  packet.context := struct {\n"
            "    integer { size = 64; align = 8; signed = false; ");
  OutputString(output, time);
  OutputString(output, "timestamp_begin;\n    integer { size = 64; align = 8; signed = false; ");
  OutputString(output, time);
  OutputString(output, "timestamp_end;\n    uint64_t content_size;\n    uint64_t packet_size;\n"
            "    uint64_t packet_seq_num;\n    uint64_t events_discarded;\n  };\n  event.header := struct {\n    ");
  ctfInteger(output, width, ctfOurs, 10);
  OutputString(output, "id;\n    integer { size = 32; align = 8; signed = false; ");
  OutputString(output, time);
  OutputString(output, "timestamp;\n  };\n  event.context := struct {\n    uint32_t _vpid;\n    uint32_t _vtid;\n"
            "    string { encoding = UTF8; } _procname;\n  };\n};\n\n");
}

void CtfMetaWrite(Output output, TypeIds ids, Log log, const uint8_t uuid[CtfUuidSIZE], uint64_t start)
{
  uint64_t next = 0;
  Index i, t;

  ctfTrace(output, uuid, start);
  ctfStream(output, CtfIdWidth(ids));
  for (i = 0; i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    if (ids->first[i] != next)
      continue; /* an earlier process's */
    for (t = 0; t < registry->count; ++t)
      ctfEvent(output, registry, &registry->types[t], next + t);
    next += registry->count;
  }
  AVER(next == ids->count);
}
