/* region.c -- finding the blocks in a region
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/region.h"

#include "format/header.h"

_Static_assert(offsetof(RegionHeaderStruct, text) == 1280 && offsetof(RegionHeaderStruct, state) == 1344,
               "tool/pawprint-gdb.py knows where these are");

void RegionBegin(RegionHeader header, uint32_t pid, Count slots, uint64_t identity, uint64_t recording, const char *log)
{
  memcpy(header->magic, RegionMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = BlockMAJOR;
  header->pid = pid;
  header->slots = (uint32_t)slots;
  header->identity = identity;
  header->recording = recording;
  if (strlen(log) < sizeof header->log)
    (void)strcpy(header->log, log);
}

Size RegionTextCopy(void *room, RegionHeader header, uint32_t generation)
{
  const char *text = (const char *)header + RegionTEXT + (generation & 1) * (Size)RegionTextSIZE;
  unsigned version[3];
  Size length;

  memcpy(room, text, BlockMagicSIZE + HeaderLineSIZE);
  if (HeaderLength(&length, version, room, BlockMagicSIZE + HeaderLineSIZE) != ResOK || length > RegionTextSIZE)
    return 0;
  memcpy(room, text, length);
  return length;
}

Bool RegionHeaderSound(RegionHeader header, Size size)
{
  return size >= RegionFIRST && memcmp(header->magic, RegionMAGIC, BlockMagicSIZE) == 0 &&
         header->order == BlockORDER && header->major == BlockMAJOR && header->slots <= RegionSlotsMAX &&
         size >= RegionSize(header->slots) && memchr(header->log, '\0', sizeof header->log) != NULL;
}

Bool RegionBlockAt(Size *offsetReturn, Size *sizeReturn, RegionHeader header, Index i)
{
  unsigned log2 = i < RegionSlotsOf(header)
                    ? __atomic_load_n(&header->state[i], __ATOMIC_ACQUIRE) & RegionLog2MASK : 0;

  if (log2 == 0 || (1u << log2) < BlockMIN || (1u << log2) > BlockMAX)
    return FALSE;
  *sizeReturn = (Size)1 << log2;
  *offsetReturn = RegionFIRST + (i + 1) * RegionSlotSIZE - *sizeReturn;
  return TRUE;
}

uint8_t RegionStateTold(const void *end, Size most, uint64_t identity)
{
  BlockHeaderStruct header;
  Size size;

  for (size = BlockMIN; size <= most && size <= BlockMAX; size *= 2) {
    const char *place = (const char *)end - size;
    if (memcmp(place, BlockMAGIC, BlockMagicSIZE) == 0 &&
        BlockUnsealedIs(&header, place, size, identity) && (header.flags & BlockFlagSUMMED) != 0)
      return (uint8_t)((header.used > 0 && (header.flags & BlockFlagUNSENT) == 0 ? RegionFULL : RegionOPEN) |
                       __builtin_ctzl(size));
  }
  return RegionFREE;
}

BlockHeader RegionForgetBegun(RegionHeader header, Index slot, void *end)
{
  uint8_t told = RegionFREE;

  if (header->policy == RegionPolicyOVERWRITE && header->state[slot] == RegionOVERWRITTEN)
    told = RegionStateTold(end, BlockMAX, header->identity);
  return told != RegionFREE ? (BlockHeader)(void *)((char *)end - ((Size)1 << (told & RegionLog2MASK))) : NULL;
}

uint64_t RegionForgotten(RegionHeader header)
{
  uint64_t events = __atomic_load_n(&header->pool.forgotten, __ATOMIC_RELAXED);
  Index i;

  for (i = 0; header->policy == RegionPolicyOVERWRITE && i < RegionSlotsOf(header); ++i)
    events = CountAdd(events, __atomic_load_n(RegionForgot(header, i), __ATOMIC_RELAXED));
  return RegionForgotCan(header, events);
}

/* Without TextFormat: its stack may be a handler's. */
void RegionNameWrite(Text text, RegionName name, const char *log)
{
  int shift;

  TextString(text, log != NULL ? log : "");
  TextString(text, log != NULL ? RegionBESIDE : RegionPREFIX);
  for (shift = 60; shift >= 0; shift -= 4)
    TextChar(text, "0123456789abcdef"[name->recording >> shift & 15]);
  TextChar(text, '-');
  TextDecimal(text, name->pid);
  TextChar(text, '-');
  TextDecimal(text, name->number);
}

void RegionLeftWrite(Text text, uint64_t recording, unsigned number)
{
  RegionNameStruct name = {.recording = recording, .number = number};

  RegionNameWrite(text, &name, NULL);
  TextString(text, RegionLINK);
}

Bool RegionNotePut(RegionMeet note)
{
  char numbers[64];
  Size length = strlen(note->program), before;
  TextStruct text;

  TextInit(&text, numbers, sizeof numbers);
  TextFormat(&text, "%u %u %u %ju ", note->note, note->lack, note->self, (uintmax_t)note->identity);
  before = TextLength(&text);
  if (before + length >= sizeof note->program)
    return FALSE;
  memmove(note->program + before, note->program, length + 1);
  memcpy(note->program, numbers, before);
  return TRUE;
}

Bool RegionNoteTake(RegionMeet note, const char *text)
{
  uint64_t number[4];
  const char *begin;
  Index i;

  memset(note, 0, sizeof *note);
  for (i = 0; i < ARRAY_LENGTH(number); ++i) {
    begin = text;
    number[i] = TextNumber(&text, 10);
    if (text == begin || *text++ != ' ')
      return FALSE;
  }
  if (number[0] > UINT32_MAX || number[1] > UINT32_MAX || number[2] > UINT32_MAX ||
      strlen(text) >= sizeof note->program)
    return FALSE;
  note->note = (uint32_t)number[0];
  note->lack = (uint32_t)number[1];
  note->self = (uint32_t)number[2];
  note->identity = number[3];
  (void)strcpy(note->program, text);
  return TRUE;
}

/* regionDecimal -- as we write it: no sign, no zero in front */
static Bool regionDecimal(uint32_t *numberReturn, const char **at)
{
  const char *begin = *at;
  uint64_t number = TextNumber(at, 10);

  *numberReturn = (uint32_t)number;
  return *at > begin && number <= UINT32_MAX && (*begin != '0' || *at == begin + 1);
}

/* regionNumbers -- "R-PID-N", and nothing behind it */
static Bool regionNumbers(RegionName name, const char *at)
{
  const char *begin = at;

  name->recording = TextNumber(&at, 16);
  return at == begin + 16 && *at++ == '-' && regionDecimal(&name->pid, &at) && *at++ == '-' &&
         regionDecimal(&name->number, &at) && *at == '\0';
}

Bool RegionNameParse(RegionName nameReturn, const char *name)
{
  const char *at, *beside = NULL;

  if (strchr(name, '/') != NULL)
    return FALSE;
  for (at = name; (at = strstr(at, RegionBESIDE)) != NULL; ++at)
    beside = at; /* the log may be called so, too */
  nameReturn->log = 0;
  if (strncmp(name, RegionPREFIX, sizeof RegionPREFIX - 1) == 0 &&
      regionNumbers(nameReturn, name + sizeof RegionPREFIX - 1))
    return TRUE;
  if (beside == NULL || beside == name)
    return FALSE;
  nameReturn->log = (Size)(beside - name);
  return regionNumbers(nameReturn, beside + sizeof RegionBESIDE - 1);
}

Bool RegionPathNamed(const char *path, const char *log)
{
  const char *slash = strrchr(log, '/');
  Size folder = sizeof RegionFOLDER, length = strlen(log);
  RegionNameStruct name;

  if (strncmp(path, RegionFOLDER "/", folder) == 0)
    return RegionNameParse(&name, path + folder) && name.log == 0;
  return slash != NULL && strncmp(path, log, length) == 0 && RegionNameParse(&name, path + (slash + 1 - log)) &&
         name.log == length - (Size)(slash + 1 - log);
}

Bool RegionNamed(const char *path)
{
  const char *slash = strrchr(path, '/');
  RegionNameStruct name;

  return slash != NULL &&
         (RegionNameParse(&name, slash + 1) || strncmp(path, RegionMEMFD, sizeof RegionMEMFD - 1) == 0 ||
          strncmp(slash, "/" RegionPREFIX, sizeof RegionPREFIX) == 0 || strstr(slash, RegionBESIDE) != NULL);
}
