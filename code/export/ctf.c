/* ctf.c -- events as a CTF trace: a folder that babeltrace2 and Trace Compass read
 *
 * Two files: `metadata`, which is complete before the first event, and `events`, a row of packets, each written with
 * one call.  An event is a few copies: number and time, process and thread, and the parameters as they stand in the
 * log.  The metadata says, in CTF 1.8's own language, what packets and events look like: one stream class, with an
 * event class for each type of each registry.
 *
 * Design: design/view.md .ctf      Tests: test/export/formats.t
 *
 * Always true: `events` has whole packets only, also where writing has failed: it is cut back to the last whole one, so
 * that what is there can be read; an event lies less than 2^32 ns behind the one before it, or behind its packet's
 * begin.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/types.h"
#include "export/output.h"
#include "export/writer.h"
#include "log/log.h"
#include "log/logfile.h"
#include "log/processname.h"

#define CtfMAGIC 0xC1FC1FC1u

enum { CtfUuidSIZE = 16 };

/* What each packet begins with; packed, in our byte order. */
typedef struct CtfPacketStruct {
  uint32_t magic;
  uint8_t uuid[CtfUuidSIZE];
  uint32_t stream;
  uint64_t begin, end;   /* ns since the trace's time 0: of its first and its last event */
  uint64_t content, size; /* bits, this header included; equal: there is no padding */
  uint64_t number;
  uint64_t discarded;    /* events, from the beginning to this packet's end */
} __attribute__((packed)) CtfPacketStruct, *CtfPacket;

enum {
  ctfPacketSIZE = 256 * 1024, /* at most */
  ctfNameMAX = 15,            /* bytes of a process's name, as the system has them */
  ctfWhoSIZE = 32, ctfWhosMAX = 64,
  ctfEventMAX = 8 + ctfWhoSIZE + 3 * LogEventMAX + 8 /* bytes that an event may take: each of a string's may become
                                                        three */
};

static const char ctfMETADATA[] = "metadata", ctfEVENTS[] = "events";

/* An event's context: vpid, vtid, procname. */
typedef struct ctfWhoStruct {
  LogProcess process;
  uint32_t thread;
  uint32_t length;
  char bytes[ctfWhoSIZE];
} ctfWhoStruct, *CtfWho;

struct WriterStruct {
  Log log;
  Output output;         /* has the first failure; nothing is written to it */
  uint64_t start;        /* ns of wall time: the clock's 0 */
  uint64_t last;         /* ns: of the newest event, or of the packet's begin */
  uint32_t *first;       /* by process number: the number of its first event type; its other types follow */
  Count types;           /* numbers that are given to types; processes with one registry share theirs */
  Size idWidth;          /* bytes of such a number in an event */
  ctfWhoStruct who[ctfWhosMAX]; /* by thread, modulo; the last event has the place */
  int fd;                /* of `events` */
  uint64_t offset;       /* of the open packet in `events` */
  CtfPacketStruct header;
  char *next;            /* in `packet` */
  char packet[ctfPacketSIZE];
};

/* ---- The metadata ---- */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
static const char ctfOurs[] = "be", ctfTheirs[] = "le";
#else
static const char ctfOurs[] = "le", ctfTheirs[] = "be";
#endif

/* ctfWord -- a parameter's name as an identifier, NUL-terminated */
static void ctfWord(char word[256], EventType type, Index param)
{
  Index i;

  for (i = 0; i < type->paramLength[param]; ++i) {
    unsigned char c = (unsigned char)type->param[param][i];
    word[i] = isalnum(c) ? (char)c : '_';
  }
  word[i] = '\0';
}

/* ctfField -- write a parameter's name as an identifier that no other parameter of the type has
 *
 * Readers take the `_` in front away; it keeps names off the language's own words. */
static void ctfField(Output output, EventType type, Index param)
{
  char word[256], other[256];
  Bool twice = FALSE;
  Index j;

  ctfWord(word, type, param);
  for (j = 0; j < type->params; ++j) {
    ctfWord(other, type, j);
    twice |= j != param && strcmp(word, other) == 0;
  }
  OutputFormat(output, "_%s", word);
  if (twice)
    OutputFormat(output, "__%zu", param);
}

/* ctfInteger -- an unsigned integer's type */
static void ctfInteger(Output output, Size bytes, const char *order, unsigned base)
{
  OutputFormat(output, "integer { size = %zu; align = 8; signed = false; base = %u; byte_order = %s; } ",
               8 * bytes, base, order);
}

static void ctfParam(Output output, EventType type, Index param, const char *order)
{
  OutputString(output, "    ");
  switch (type->letter[param]) {
  case 'S':
    OutputString(output, "string { encoding = UTF8; } ");
    break;
  case 'D':
    OutputFormat(output, "floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = %s; } ", order);
    break;
  default:
    ctfInteger(output, type->width[param], order, type->letter[param] == 'P' || type->letter[param] == 'A' ? 16 : 10);
  }
  ctfField(output, type, param);
  OutputString(output, ";\n");
}

static void ctfEventClass(Output output, Registry registry, EventType type, uint64_t id)
{
  const char *order = registry->widths.swapped ? ctfTheirs : ctfOurs;
  char name[256];
  Index i;

  CleanName(name, type->name, type->nameLength);
  name[type->nameLength] = '\0';
  OutputFormat(output, "event {\n  name = \"%s\"; id = %lu; stream_id = 0;\n  fields := struct {\n", name, id);
  for (i = 0; i < type->params; ++i)
    ctfParam(output, type, i, order);
  OutputString(output, "  };\n};\n");
}

static void ctfUuid(Output output, const uint8_t uuid[CtfUuidSIZE])
{
  char text[3];
  Index i;

  for (i = 0; i < CtfUuidSIZE; ++i) {
    (void)snprintf(text, sizeof text, "%02x", uuid[i]);
    OutputFormat(output, "%s%s", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", text);
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
  /* The offset is not parted into offset_s and this: there is a Trace Compass that knows offset only. */
  OutputFormat(output, "\";\n  byte_order = %s;\n  packet.header := struct {\n"
               "    uint32_t magic;\n    uint8_t uuid[16];\n    uint32_t stream_id;\n"
               "  };\n};\n\nenv {\n  domain = \"memory\";\n  tracer_name = \"pawprint\";\n};\n\n"
               "clock {\n  name = \"wall\";\n  description = \"wall time; 0 is the earliest event\";\n"
               "  freq = 1000000000;\n  offset = %lu;\n};\n\n", ctfOurs, start);
}

static void ctfStream(Output output, Size width)
{
#define CLOCK(bits) "    integer { size = " #bits "; align = 8; signed = false; map = clock.wall.value; } "
  OutputString(output, "stream {\n  id = 0;\n  packet.context := struct {\n"
               CLOCK(64) "timestamp_begin;\n" CLOCK(64) "timestamp_end;\n"
               "    uint64_t content_size;\n    uint64_t packet_size;\n"
               "    uint64_t packet_seq_num;\n    uint64_t events_discarded;\n  };\n  event.header := struct {\n    ");
  ctfInteger(output, width, ctfOurs, 10);
  OutputString(output, "id;\n" CLOCK(32) "timestamp;\n"
               "  };\n  event.context := struct {\n    uint32_t _vpid;\n    uint32_t _vtid;\n"
               "    string { encoding = UTF8; } _procname;\n  };\n};\n\n");
#undef CLOCK
}

/* ctfShared -- an earlier process with the same registry, or `i` itself */
static Index ctfShared(Log log, Index i)
{
  Index j = i;

  /* Families of one program stand together: the neighbour first. */
  while (j > 0 && LogProcessAt(log, j - 1)->registry != LogProcessAt(log, i)->registry)
    --j;
  return j > 0 ? j - 1 : i;
}

/* ctfNumber -- number the types of all processes: 0, 1, ...; processes with one registry share
 * theirs, and equal types of two registries have different ones.  ResMEMORY. */
static Res ctfNumber(Writer ctf)
{
  Index i;

  ctf->first = calloc(LogProcesses(ctf->log) + 1, sizeof *ctf->first);
  if (ctf->first == NULL)
    return ResMEMORY;
  for (i = 0; i < LogProcesses(ctf->log); ++i) {
    Index shared = ctfShared(ctf->log, i);
    ctf->first[i] = shared < i ? ctf->first[shared] : (uint32_t)ctf->types;
    if (shared == i)
      ctf->types += LogProcessAt(ctf->log, i)->registry->count;
  }
  ctf->idWidth = ctf->types <= 0x10000 ? sizeof(uint16_t) : sizeof(uint32_t);
  return ctf->types <= UINT32_MAX ? ResOK : ResMEMORY;
}

static void ctfMetaWrite(Writer ctf, Output output)
{
  Index i, t;

  ctfTrace(output, ctf->header.uuid, ctf->start);
  ctfStream(output, ctf->idWidth);
  for (i = 0; i < LogProcesses(ctf->log); ++i) {
    Registry registry = LogProcessAt(ctf->log, i)->registry;
    for (t = 0; ctfShared(ctf->log, i) == i && t < registry->count; ++t)
      ctfEventClass(output, registry, &registry->types[t], ctf->first[i] + t);
  }
}

/* ---- The folder ---- */

/* ctfIsTrace -- does the folder have metadata that begins as text does? */
static Bool ctfIsTrace(int folder)
{
  char begin[12] = "";
  int fd = openat(folder, ctfMETADATA, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  ssize_t n;

  if (fd < 0)
    return FALSE;
  n = read(fd, begin, sizeof begin);
  (void)close(fd);
  return n == (ssize_t)sizeof begin && memcmp(begin, "/* CTF 1.8 *", sizeof begin) == 0;
}

static Res ctfRefuse(const WriterOptionsStruct *options, const char *why)
{
  (void)snprintf(options->error, WriterErrorMAX, "%s: %s", options->path, why);
  return ResPARAM;
}

/* ctfOverwrite -- may the folder that is there be written over?  It is one of our traces or empty.  ResPARAM: no. */
static Res ctfOverwrite(const WriterOptionsStruct *options)
{
  DIR *directory = opendir(options->path);
  const struct dirent *entry;
  char why[256];
  Bool trace;
  Res res = ResOK;

  if (directory == NULL)
    return ctfRefuse(options, strerror(errno));
  trace = ctfIsTrace(dirfd(directory));
  while ((entry = readdir(directory)) != NULL && res == ResOK) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        (trace && (strcmp(name, ctfMETADATA) == 0 || strcmp(name, ctfEVENTS) == 0)))
      continue;
    (void)snprintf(why, sizeof why, "the folder has %.100s in it, which is no part of a trace; it is left alone", name);
    res = ctfRefuse(options, why);
  }
  (void)closedir(directory);
  return res;
}

/* ctfFolder -- make the folder, or take the one that is there; its descriptor */
static Res ctfFolder(int *folderReturn, const WriterOptionsStruct *options)
{
  Res res;

  if (mkdir(options->path, 0700) != 0) {
    if (errno != EEXIST)
      return ctfRefuse(options, strerror(errno));
    if (!options->force)
      return ctfRefuse(options, "the folder exists; --force overwrites it");
    res = ctfOverwrite(options);
    if (res != ResOK)
      return res;
  }
  *folderReturn = open(options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return *folderReturn >= 0 ? ResOK : ctfRefuse(options, strerror(errno));
}

static int ctfFile(int folder, const char *name)
{
  return openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* ctfMetadata -- errno, or 0 */
static int ctfMetadata(Writer ctf, int folder)
{
  int fd = ctfFile(folder, ctfMETADATA);
  OutputStruct output;

  if (fd < 0)
    return errno;
  OutputInit(&output, fd);
  ctfMetaWrite(ctf, &output);
  (void)OutputFlush(&output);
  if (close(fd) != 0)
    OutputFail(&output, errno);
  return output.failed;
}

/* ctfOpen -- folder and files.  Where it fails, what was made is taken away again. */
static Res ctfOpen(Writer ctf, const WriterOptionsStruct *options)
{
  int folder, failed;
  Res res = ctfFolder(&folder, options);

  if (res != ResOK)
    return res;
  failed = ctfMetadata(ctf, folder);
  if (failed == 0) {
    ctf->fd = ctfFile(folder, ctfEVENTS);
    failed = ctf->fd < 0 ? errno : 0;
  }
  if (failed != 0) {
    (void)unlinkat(folder, ctfMETADATA, 0);
    (void)rmdir(options->path);
    (void)snprintf(options->error, WriterErrorMAX, "%s: %s; nothing is left there", options->path, strerror(failed));
    res = ResIO;
  }
  (void)close(folder);
  return res;
}

/* ---- Packets ---- */

static void ctfBegin(Writer ctf, uint64_t time)
{
  ctf->next = ctf->packet + sizeof ctf->header;
  ctf->header.begin = ctf->last = time;
}

/* ctfEnd -- write the open packet; after a failure, cut off what of it was written */
static void ctfEnd(Writer ctf)
{
  Size size = (Size)(ctf->next - ctf->packet);
  LogSummaryStruct summary;

  if (ctf->output->failed != 0)
    return;
  ctf->header.end = ctf->last;
  ctf->header.content = ctf->header.size = size * 8;
  /* Readers count what is missing from one packet to the next: in the first is nothing, and nothing is missing. */
  LogSummarize(&summary, ctf->log);
  ctf->header.discarded = ctf->header.number == 0 ? 0 : summary.lost + summary.passed;
  memcpy(ctf->packet, &ctf->header, sizeof ctf->header);
  if (FileWriteAll(ctf->fd, ctf->packet, size) != ResOK) {
    OutputFail(ctf->output, errno);
    (void)!ftruncate(ctf->fd, (off_t)ctf->offset); /* if that fails as well there is nothing more to be done */
    return;
  }
  ctf->offset += size;
  ++ctf->header.number;
}

/* ---- Events ---- */

static __attribute__((noinline)) void ctfWho(CtfWho who, LogEvent event)
{
  const char *name = HeaderCalled(&event->process->header);
  uint32_t ids[2] = {event->process->header.pid, event->thread};
  Size length;

  length = strnlen(name, ctfNameMAX);
  memset(who->bytes, 0, sizeof who->bytes);
  memcpy(who->bytes, ids, sizeof ids);
  memcpy(who->bytes + sizeof ids, name, length);
  who->length = (uint32_t)(sizeof ids + length + 1);
  who->process = event->process;
  who->thread = event->thread;
}

/* ctfString -- a NUL would end it: U+FFFD stands for it, as elsewhere for what cannot be shown */
static char *ctfString(char *p, LogEvent event)
{
  Size length, i;
  const char *bytes = LogEventString(event, (Index)event->type->params - 1, &length);

  for (i = 0; i < length; ++i) {
    if (bytes[i] != '\0') {
      *p++ = bytes[i];
    } else {
      memcpy(p, "\xef\xbf\xbd", 3);
      p += 3;
    }
  }
  if (event->cut) {
    memcpy(p, "...", 3);
    p += 3;
  }
  *p++ = '\0';
  return p;
}

/* ctfParams -- all but a string, as they are: the metadata tells their byte order */
static inline char *ctfParams(char *p, LogEvent event)
{
  Size size = event->type->length - LogEventHEADER, done;

  for (done = 0; done < size; done += 8) /* events are whole eights */
    memcpy(p + done, event->bytes + LogEventHEADER + done, 8);
  return p + size;
}

static Bool ctfEvent(LogRequest request, LogEvent event)
{
  Writer ctf = request->data;
  uint64_t time = event->time - ctf->start;
  CtfWho who = &ctf->who[event->thread % ctfWhosMAX];
  uint32_t id = ctf->first[event->process->number] + (uint32_t)(event->type - event->process->registry->types);
  uint16_t shortId = (uint16_t)id;
  uint32_t low = (uint32_t)time;
  char *p = ctf->next;

  if (UNLIKELY(p > ctf->packet + (ctfPacketSIZE - ctfEventMAX)) || UNLIKELY(time - ctf->last > UINT32_MAX)) {
    ctfEnd(ctf);
    if (ctf->output->failed != 0)
      return TRUE;
    ctfBegin(ctf, time);
    p = ctf->next;
  }
  if (UNLIKELY(event->thread != who->thread || event->process != who->process))
    ctfWho(who, event);
  if (ctf->idWidth == sizeof shortId)
    memcpy(p, &shortId, sizeof shortId);
  else
    memcpy(p, &id, sizeof id);
  p += ctf->idWidth;
  memcpy(p, &low, sizeof low);
  memcpy(p + sizeof low, who->bytes, sizeof who->bytes);
  p = ctfParams(p + sizeof low + who->length, event);
  if (event->type->strings != 0)
    p = ctfString(p, event);
  AVER_CRITICAL(id < ctf->types && p <= ctf->packet + ctfPacketSIZE);
  ctf->next = p;
  ctf->last = time;
  return FALSE;
}

static void ctfDestroy(Writer ctf)
{
  if (ctf->fd >= 0)
    (void)close(ctf->fd);
  free(ctf->first);
  free(ctf);
}

static Res ctfCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  Writer ctf = calloc(1, sizeof *ctf);
  Res res;

  UNUSED(class);
  if (ctf == NULL)
    return ResMEMORY;
  ctf->log = options->log;
  ctf->output = options->output;
  ctf->start = options->start;
  ctf->fd = -1;
  ctf->header.magic = CtfMAGIC;
  /* Two traces with one number would be one to readers: it is random, or at least this process's. */
  if (getrandom(ctf->header.uuid, CtfUuidSIZE, 0) != CtfUuidSIZE)
    memcpy(ctf->header.uuid, &ctf->start, sizeof ctf->start);
  ctf->header.uuid[6] = (ctf->header.uuid[6] & 0x0f) | 0x40;
  ctf->header.uuid[8] = (ctf->header.uuid[8] & 0x3f) | 0x80;
  ctfBegin(ctf, 0);
  res = ctfNumber(ctf);
  if (res == ResOK)
    res = ctfOpen(ctf, options);
  if (res != ResOK) {
    ctfDestroy(ctf);
    return res;
  }
  ctfEnd(ctf);
  ctfBegin(ctf, 0);
  *writerReturn = ctf;
  return ResOK;
}

static void ctfFinish(Writer ctf)
{
  ctfEnd(ctf);
  if (close(ctf->fd) != 0)
    OutputFail(ctf->output, errno);
  ctf->fd = -1;
}

const WriterClassStruct WriterClassCtf = {
  .name = "ctf", .folder = TRUE, .create = ctfCreate, .event = ctfEvent, .finish = ctfFinish, .destroy = ctfDestroy,
};
