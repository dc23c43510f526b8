/* controlenv.c -- the settings from the environment, and those that programs started by this one find in theirs
 *
 * The environment is read before the first event, perhaps before libc is ready: nothing here allocates, except
 * ControlFamily.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/control.h"

#include <string.h>
#include <unistd.h>

#include "base/settings.h"

enum { controlLimit = 1024, controlBlock = 32768, controlBlocksMAX = 3072 };

ControlStruct ControlSettings = {
  .policy = RegionPolicyDISCARD,
  .limit = controlLimit,
  .blockSize = controlBlock,
  .chosen = EventKindsDEFAULT,
};

Bool ControlCheck(void)
{
  Control settings = &ControlSettings;

  return settings->policy <= RegionPolicyOVERWRITE && settings->limit > 0 && settings->limit <= controlBlocksMAX &&
         WordIsPowerOf2(settings->blockSize) && settings->blockSize >= BlockMIN && settings->blockSize <= BlockMAX &&
         settings->chosen >> EventKindLIMIT == 0 && settings->log[sizeof settings->log - 1] == '\0' &&
         settings->token[sizeof settings->token - 1] == '\0';
}

/* The settings that a recorder may make, in RegionVARIABLE.  All but the first four mean what the variable of that name
 * means (pawprint(7)), and stand for it.
 *   collector  NAME:TOKEN, its socket and what it knows the family by (format/region.h)
 *   family     DEVICE:INODE:BIRTH, the log that all processes of the family append to; several, separated by +
 *   recording  its identity, hexadecimal
 *   clock      what is known of the machine's clock (EventClockTell): each process need not find it out again */
static const char *const controlNames[] = {
  "collector", "family", "recording", "clock", "log", "kinds", "mode", "debug",
  "stack", "raw", "paused", "only", "policy", "block", "blocks",
};

/* controlSound -- are the recorder's settings, if there are any, such that we understand them all? */
static Bool controlSound(void)
{
  const char *settings = RawEnvironment(RegionVARIABLE);

  if (settings == NULL || SettingsSound(settings, controlNames, ARRAY_LENGTH(controlNames)))
    return TRUE;
  RawSay(RegionVARIABLE, settings, "these are no settings of a recorder of this version; nothing is recorded");
  return FALSE;
}

/* controlSetting -- the recorder's setting of this name, or NULL */
static const char *controlSetting(const char *name, char *room, Size size)
{
  const char *settings = RawEnvironment(RegionVARIABLE);

  return settings != NULL ? SettingsGet(settings, name, room, size) : NULL;
}

const char *ControlVariable(const char *name, char *room, Size size)
{
  const char *value = name + sizeof "PAWPRINT_" - 1;
  char setting[16];
  Index i;

  for (i = 0; value[i] != '\0' && i < sizeof setting - 1; ++i)
    setting[i] = (char)(value[i] - 'A' + 'a');
  setting[i] = '\0';
  value = controlSetting(setting, room, size);
  if (value != NULL)
    return value;
  value = RawEnvironment(name);
  return value != NULL && strlen(value) < size ? strcpy(room, value) : NULL;
}

/* controlNumber -- the value of a variable that is a number from `min` to `max`; `standard` if there is none */
static Word controlNumber(const char *name, Word min, Word max, Word standard)
{
  char room[32];
  const char *value = ControlVariable(name, room, sizeof room), *at = value;
  uint64_t number;

  if (value == NULL)
    return standard;
  number = TextNumber(&at, 10);
  if (at != value && *at == '\0' && number >= min && number <= max)
    return (Word)number;
  RawSay(name, value, "it is no number, or too small, or too large, and is left aside");
  return standard;
}

/* controlPolicy -- RegionPolicyX as PAWPRINT_POLICY has it */
static uint32_t controlPolicy(void)
{
  static const char *const names[] = {"discard", "block", "stop", "overwrite"};
  char room[32];
  const char *value = ControlVariable("PAWPRINT_POLICY", room, sizeof room);
  uint32_t i;

  for (i = 0; value != NULL && i < ARRAY_LENGTH(names); ++i)
    if (strcmp(value, names[i]) == 0)
      return i;
  if (value != NULL)
    RawSay("PAWPRINT_POLICY", value, "it is none of discard, block, stop and overwrite");
  return RegionPolicyDISCARD;
}

/* controlCollector -- where the collector is.  FALSE: there is none. */
static Bool controlCollector(void)
{
  Control settings = &ControlSettings;
  char both[sizeof settings->collector + sizeof settings->token], *colon;

  if (controlSetting("collector", both, sizeof both) == NULL)
    return FALSE;
  colon = strchr(both, ':');
  if (colon == NULL || (Size)(colon - both) >= sizeof settings->collector ||
      strlen(colon + 1) >= sizeof settings->token)
    return FALSE;
  *colon = '\0';
  (void)strcpy(settings->collector, both);
  (void)strcpy(settings->token, colon + 1);
  return TRUE;
}

/* controlFlag -- is a variable 1? */
static Bool controlFlag(const char *name)
{
  return controlNumber(name, 0, 1, 0) != 0;
}

/* controlRecording -- the identity that the recorder has chosen; 0: none */
static uint64_t controlRecording(void)
{
  char room[24];
  const char *at = controlSetting("recording", room, sizeof room);
  uint64_t number;

  if (at == NULL || at[0] != '0' || at[1] != 'x')
    return 0;
  at += 2;
  number = TextNumber(&at, 16);
  return *at == '\0' ? number : 0;
}

/* controlBuffers -- read the variables about blocks */
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
}

/* controlKinds -- the kinds that are sent, and kept.  FALSE: a name is unknown; the message was written, and none is.
 */
static Bool controlKinds(void)
{
  char room[2][1024];
  const char *kinds = ControlVariable("PAWPRINT_KINDS", room[0], sizeof room[0]);
  const char *buffer = ControlVariable("PAWPRINT_BUFFER", room[1], sizeof room[1]);
  uint32_t buffered;

  if (kinds != NULL && ControlMask(&ControlSettings.chosen, kinds, EventKindsDEFAULT, "PAWPRINT_KINDS") != ResOK)
    return FALSE;
  /* A user who chooses kinds wants the others to cost nothing: they are not kept either, unless PAWPRINT_BUFFER asks
   * for it. */
  buffered = ControlSettings.chosen;
  if (buffer == NULL || ControlMask(&buffered, buffer, EventKindsDEFAULT, "PAWPRINT_BUFFER") == ResOK)
    ControlSet(buffered, EventKindBUFFER);
  return TRUE;
}

void ControlClock(void)
{
  char room[EventClockTellSIZE];

  if (controlSetting("clock", room, sizeof room) != NULL)
    (void)EventClockTold(room);
}

void ControlFromEnvironment(void)
{
  Control settings = &ControlSettings;

  if (!controlSound() || !controlKinds())
    return;
  controlBuffers();
  (void)controlSetting("family", settings->family, sizeof settings->family);
  settings->recording = controlRecording();
  if (ControlVariable("PAWPRINT_LOG", settings->log, sizeof settings->log) == NULL || settings->log[0] == '\0')
    return;
  if (settings->only != 0 && settings->only != RawPid()) {
    settings->log[0] = '\0';
    return;
  }
  if (!controlCollector()) {
    ControlOpenLog(EmitterMap());
    if (!EmitterOpen())
      return;
  }
  if (!settings->paused)
    ControlSet(settings->chosen, 0);
}

void ControlRecording(void)
{
  if (ControlSettings.recording == 0)
    ControlSettings.recording = RawRandom();
}

/* controlPlace -- append a way out as programs that this one starts can have it, and its file's number; FALSE: they
 * cannot */
static Bool controlPlace(Text places, Text numbers, Plinth plinth)
{
  const PlinthClassStruct *class = PlinthClassOf(plinth);

  if (class != &PlinthClassFile && class != &PlinthClassUnix)
    return FALSE;
  TextFormat(places, "%s%s", TextLength(places) > 0 ? "," : "", plinth->place);
  if (class == &PlinthClassUnix)
    return TRUE;
  if (TextLength(numbers) > 0)
    TextChar(numbers, '+');
  PlinthFileTell(numbers, plinth->device, plinth->inode, plinth->birth);
  return TRUE;
}

/* controlPut -- set a variable for the programs that this one starts.  setenv would take memory from the program's
 * malloc, which is recorded: the program has not allocated that.  What is put there stays for ever, as the program may
 * copy the pointer. */
static void controlPut(const char *name, const char *value)
{
  Size length = strlen(name), count = 0, size = length + strlen(value) + 2;
  char *entry = RawMap(WordAlignUp(size, BlockMIN), BlockMIN), **all = environ, **more;

  if (entry == NULL)
    return;
  (void)TextMake(entry, size, "%s=%s", name, value);
  for (; all != NULL && all[count] != NULL; ++count)
    if (strncmp(all[count], entry, length + 1) == 0) {
      all[count] = entry;
      return;
    }
  more = RawMap(WordAlignUp((count + 2) * sizeof *more, BlockMIN), BlockMIN);
  if (more == NULL)
    return;
  if (count > 0)
    memcpy(more, all, count * sizeof *more);
  more[count] = entry;
  environ = more;
}

void ControlFamily(void)
{
  char number[sizeof ControlSettings.family], clock[EventClockTellSIZE], room[EmitterPlinthsMAX * PlinthPlaceMAX];
  TextStruct places, numbers, text;
  Index i;

  if (controlSetting("log", room, sizeof room) != NULL)
    return;
  /* Absolute: programs that start in another folder use the same place. */
  TextInit(&places, room, sizeof room);
  TextInit(&numbers, number, sizeof number);
  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) != NULL && !controlPlace(&places, &numbers, &EmitterPlinths[i]))
      return;
  if (TextLength(&places) == 0)
    return;
  controlPut("PAWPRINT_LOG", TextTerminate(&places));
  if (TextLength(&numbers) == 0)
    return;
  TextInit(&text, room, sizeof room);
  SettingsAdd(&text, "family", TextTerminate(&numbers));
  (void)strcpy(ControlSettings.family, number);
  SettingsAdd(&text, "recording", TextMake(number, sizeof number, "%#jx", ControlSettings.recording));
  SettingsAdd(&text, "clock", EventClockTell(clock, EVENT_SLOW));
  controlPut(RegionVARIABLE, TextTerminate(&text));
}
