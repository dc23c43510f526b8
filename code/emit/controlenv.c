/* controlenv.c -- what the environment asks for, and what programs that this one starts find in theirs
 *
 * Read before libc is ready, perhaps, and before the first event: nothing here allocates, but for ControlFamily.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/control.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "emit/send.h"
#include "plinth/quiet.h"

enum { controlLimit = 1024, controlBlock = 32768, controlBlocksMAX = 3072 };

ControlStruct ControlSettings = {
  .policy = RegionPolicyDISCARD,
  .limit = controlLimit,
  .blockSize = controlBlock,
  .chosen = EventKindsDEFAULT,
};

void ControlComplain(const char *name, const char *value, const char *reason)
{
  QuietSay(name, value, reason);
}

const char *ControlVariable(const char *name, char *room, Size size)
{
  return QuietEnvironment(name, room, size);
}

/* controlNumber -- the value of a variable that is a number from `min` to `max`; `standard` if there is none */
static Word controlNumber(const char *name, Word min, Word max, Word standard)
{
  char room[32];
  const char *value = QuietEnvironment(name, room, sizeof room), *at;
  Word number = 0;

  if (value == NULL)
    return standard;
  for (at = value; *at >= '0' && *at <= '9' && number <= max; ++at)
    number = number * 10 + (Word)(*at - '0');
  if (at != value && *at == '\0' && number >= min && number <= max)
    return number;
  QuietSay(name, value, "it is no number, or too small, or too large, and is left aside");
  return standard;
}

/* controlPolicy -- RegionPolicyX as PAWPRINT_POLICY has it */
static uint32_t controlPolicy(void)
{
  static const char *const names[] = {"discard", "block", "stop", "overwrite"};
  char room[32];
  const char *value = QuietEnvironment("PAWPRINT_POLICY", room, sizeof room);
  uint32_t i;

  for (i = 0; value != NULL && i < ARRAY_LENGTH(names); ++i)
    if (strcmp(value, names[i]) == 0)
      return i;
  if (value != NULL)
    QuietSay("PAWPRINT_POLICY", value, "it is none of discard, block, stop and overwrite");
  return RegionPolicyDISCARD;
}

/* controlCopy -- a variable that fits, or "" */
static void controlCopy(char *to, Size size, const char *name)
{
  char room[PlinthPlaceMAX];
  const char *value = QuietEnvironment(name, room, sizeof room);

  to[0] = '\0';
  if (value != NULL && strlen(value) < size)
    (void)strcpy(to, value);
}

/* controlCollector -- PAWPRINT_COLLECTOR: "NAME TOKEN".  FALSE: there is none. */
static Bool controlCollector(void)
{
  Control settings = &ControlSettings;
  char both[sizeof settings->collector + sizeof settings->token], *space;

  controlCopy(both, sizeof both, "PAWPRINT_COLLECTOR");
  space = strchr(both, ' ');
  if (space == NULL || (Size)(space - both) >= sizeof settings->collector ||
      strlen(space + 1) >= sizeof settings->token)
    return FALSE;
  *space = '\0';
  (void)strcpy(settings->collector, both);
  (void)strcpy(settings->token, space + 1);
  return TRUE;
}

/* controlFlag -- is a variable 1? */
static Bool controlFlag(const char *name)
{
  return controlNumber(name, 0, 1, 0) != 0;
}

/* controlBuffers -- what the environment says of blocks */
static void controlBuffers(void)
{
  Control settings = &ControlSettings;
  Word size = controlNumber("PAWPRINT_BLOCK", BlockMIN, BlockMAX, controlBlock);

  settings->policy = controlPolicy();
  settings->blockSize = (uint32_t)1 << (63 - __builtin_clzl(size));
  settings->limit = (uint32_t)controlNumber("PAWPRINT_BLOCKS", 1, controlBlocksMAX, controlLimit);
  settings->raw = controlFlag("PAWPRINT_RAW");
  settings->paused = controlFlag("PAWPRINT_PAUSED");
  settings->allowed = controlFlag("PAWPRINT_CONTROL");
  settings->only = (uint32_t)controlNumber("PAWPRINT_ONLY", 0, UINT32_MAX, 0);
  SendSetRaw(settings->raw);
}

/* controlKinds -- which kinds are sent, and kept.  FALSE: told, and nothing is. */
static Bool controlKinds(void)
{
  char room[2][1024];
  const char *kinds = QuietEnvironment("PAWPRINT_KINDS", room[0], sizeof room[0]);
  const char *buffer = QuietEnvironment("PAWPRINT_BUFFER", room[1], sizeof room[1]);
  uint32_t buffered;

  if (kinds != NULL && ControlMask(&ControlSettings.chosen, kinds, EventKindsDEFAULT, "PAWPRINT_KINDS") != ResOK)
    return FALSE;
  /* Who chooses kinds wants the others to cost nothing: they are not kept either, unless that is asked for. */
  buffered = ControlSettings.chosen;
  if (buffer == NULL || ControlMask(&buffered, buffer, EventKindsDEFAULT, "PAWPRINT_BUFFER") == ResOK)
    ControlSet(buffered, EventKindBUFFER);
  return TRUE;
}

void ControlFromEnvironment(void)
{
  Control settings = &ControlSettings;

  if (!controlKinds())
    return;
  controlBuffers();
  controlCopy(settings->log, sizeof settings->log, "PAWPRINT_LOG");
  controlCopy(settings->family, sizeof settings->family, "PAWPRINT_FAMILY");
  if (settings->log[0] == '\0')
    return;
  if (settings->only != 0 && settings->only != (uint32_t)getpid()) {
    settings->log[0] = '\0';
    return;
  }
  if (!controlCollector()) {
    ControlOpenLog();
    if (!ProcessOpen())
      return;
  }
  if (!settings->paused)
    ControlStart();
}

void ControlLogFile(uint64_t *deviceReturn, uint64_t *inodeReturn)
{
  const char *at = ControlSettings.family;
  uint64_t number[2] = {0, 0};
  Index i;

  for (i = 0; i < 2; ++i) {
    for (; *at >= '0' && *at <= '9'; ++at)
      number[i] = number[i] * 10 + (uint64_t)(*at - '0');
    at += *at == ':';
  }
  *deviceReturn = number[0];
  *inodeReturn = number[1];
}

void ControlFamily(void)
{
  char room[48];
  TextStruct text;

  /* Absolute: the same place, also for those who start in another folder. */
  if (PlinthClassOf(&ProcessPlinths[0]) == &PlinthClassUnix)
    (void)setenv("PAWPRINT_LOG", ProcessPlinths[0].place, 1);
  if (PlinthClassOf(&ProcessPlinths[0]) != &PlinthClassFile)
    return;
  TextInit(&text, room, sizeof room);
  TextDecimal(&text, ProcessPlinths[0].device);
  TextChar(&text, ':');
  TextDecimal(&text, ProcessPlinths[0].inode);
  (void)setenv("PAWPRINT_FAMILY", TextTerminate(&text), 1);
  (void)setenv("PAWPRINT_LOG", ProcessPlinths[0].place, 1);
}
