/* userevents.c -- strings, labels and event types that the program has defined
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/aver.h"
#include "base/crc.h"
#include "emit/emitter.h"
#include "emit/send.h"
#include "emit/statedump.h"
#include "emit/pawprint.h" /* behind event.h, which has the kinds */

/* ---- Types of events that are defined while the program runs ---- */

enum { userLineMAX = 1024 };

/* A row of our registry that another registry lacks, as a type that is defined at run time: readers go by names. */
typedef struct userRowStruct {
  const char *name, *format, *params, *describe;
  Bool definition; /* its events go to the stream that no policy overwrites */
  EventCode code;  /* 0: not defined yet */
} userRowStruct, *UserRow;

static unsigned userTypes; /* defined at run time, so far */

static int userComplain(const char *name, const char *reason)
{
  RawSay("cannot define event type", name, reason);
  return -1;
}

/* userTypeNamed -- the type of this name, or NULL */
static EventType userTypeNamed(const char *name)
{
  Registry registry = SendRegistry();
  Index i;

  for (i = 0; i < registry->count; ++i)
    if (registry->types[i].nameLength == strlen(name) && memcmp(registry->types[i].name, name, strlen(name)) == 0)
      return &registry->types[i];
  return NULL;
}

/* userWord -- nothing but letters, digits and underscores, and spaces if `spaces` */
static Bool userWord(const char *string, Bool spaces)
{
  static const char letters[] = " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

  return (spaces || *string != '\0') && (*string < '0' || *string > '9') &&
         string[strspn(string, letters + !spaces)] == '\0';
}

/* userDefine -- enter the type in the registry.  The process is locked. */
static Res userDefine(EventCode *codeReturn, const char *name, const char *format, const char *params,
                      const char *describe)
{
  char room[userLineMAX];
  TextStruct text;
  Res res;

  if (userTypes > UINT16_MAX - EventCodeDYNAMIC)
    return ResLIMIT;
  TextInit(&text, room, sizeof room);
  TextFormat(&text, "event: %#jx %s " EventKindDYNAMIC " 1 %s %s", (uint64_t)(EventCodeDYNAMIC + userTypes), name,
             format, params);
  if (text.overflow)
    return ResLIMIT;
  res = SendDefine(room, TextLength(&text));
  if (res != ResOK)
    return res;
  *codeReturn = (EventCode)(EventCodeDYNAMIC + userTypes++);
  TextInit(&text, room, sizeof room);
  TextFormat(&text, "describe: %#jx %s", (uint64_t)*codeReturn, describe);
  if (describe[0] != '\0' && strchr(describe, '\n') == NULL)
    (void)SendDefine(room, TextLength(&text));
  return ResOK;
}

/* userEnter -- the same, unless there is an event of this name; and before its first use every reader finds it in the
 * header in front.  ResPARAM: there is one, *typeReturn. */
static Res userEnter(EventCode *codeReturn, EventType *typeReturn, const char *name, const char *format,
                     const char *params, const char *describe)
{
  RawMaskStruct mask;
  Emitter emitter;
  Res res = ResMEMORY;

  RawBegin(&mask);
  emitter = EmitterGet();
  if (emitter != NULL && EmitterLock(emitter)) {
    *typeReturn = userTypeNamed(name);
    res = *typeReturn != NULL ? ResPARAM : userDefine(codeReturn, name, format, params, describe);
    EmitterUnlock(emitter);
    if (res == ResOK && EmitterSends())
      (void)SendHeader(emitter);
  }
  RawEnd(&mask);
  return res;
}

/* userSame -- has a type this format, and parameters of these names? */
static Bool userSame(EventType type, const char *format, const char *params)
{
  Count letters = strcmp(format, "0") == 0 ? 0 : strlen(format);
  Index i;

  if (type->params != letters || memcmp(type->letter, format, letters) != 0)
    return FALSE;
  for (i = 0; i < letters; ++i) {
    Size length;
    params += strspn(params, " ");
    length = strcspn(params, " ");
    if (length != type->paramLength[i] || memcmp(params, type->param[i], length) != 0)
      return FALSE;
    params += length;
  }
  return params[strspn(params, " ")] == '\0';
}

EVENT_API int EventTypeDefine(EventCode *codeReturn, const char *name, const char *format, const char *params,
                              const char *describe)
{
  EventType other;
  Res res;

  *codeReturn = 0;
  if (!userWord(name, FALSE))
    return userComplain(name, "its name is no identifier");
  if (!userWord(params, TRUE))
    return userComplain(name, "the parameters' names are no identifiers separated by spaces");
  if (strspn(format, "PAWUDS0") != strlen(format))
    return userComplain(name, "the format has letters that are none of P A W U D S");
  res = userEnter(codeReturn, &other, name, format, params, describe);
  if (res == ResPARAM && userSame(other, format, params)) {
    *codeReturn = other->code;
    return 0;
  }
  if (res == ResPARAM)
    return userComplain(name, "there is an event of this name, with other parameters");
  if (res == ResFORMAT)
    return userComplain(name, "the format is none, or there is not a name for each of its parameters");
  return res == ResOK ? 0 : userComplain(name, "there is no room for more");
}

/* userParam -- the next argument, as parameter `i` */
static void userParam(EventType type, Index i, char *event, va_list *args)
{
  char *place = event + type->offset[i];
  double d;
  unsigned u;
  Word w;

  switch (type->letter[i]) {
  case 'U':
    u = va_arg(*args, unsigned);
    memcpy(place, &u, sizeof u);
    break;
  case 'D':
    d = va_arg(*args, double);
    memcpy(place, &d, sizeof d);
    break;
  default: /* a pointer is passed as a word is */
    w = va_arg(*args, EventWord);
    memcpy(place, &w, sizeof w);
    break;
  }
}

/* userString -- the string that stands last among the arguments; "" if the type has none */
static const char *userString(EventType type, va_list *args)
{
  char skipped[EventSizeMAX];
  const char *string;
  Index i;

  if (!type->strings)
    return "";
  for (i = 0; i + 1u < type->params; ++i)
    userParam(type, i, skipped, args);
  string = va_arg(*args, const char *);
  return string != NULL ? string : "";
}

/* userEmit -- an event of a type whose parameters are `args` */
static void userEmit(unsigned stream, EventType type, va_list *args)
{
  const char *string;
  va_list again;
  Size length, size;
  char *event;
  Index i;

  va_copy(again, *args);
  string = userString(type, &again);
  va_end(again);
  length = EventStringLength(string);
  size = type->length + (type->strings ? length + 1 : 0);
  event = stream == type->kind ? EventReserve(stream, size) : EventReserveSlow(stream, size, 0);
  if (event == NULL)
    return;
  for (i = 0; i < type->params - (Index)type->strings; ++i)
    userParam(type, i, event, args);
  if (type->strings)
    EventStringCopy(event + type->length, string, length, (EventHeader)(void *)event);
  EventCommit((EventHeader)(void *)event, type->code);
}

EVENT_API void EventEmit(unsigned code, ...)
{
  EventType type = code > UINT16_MAX ? NULL : RegistryFind(SendRegistry(), (EventCode)code);
  va_list args;

  if (type == NULL || !EVENT_WANTED(type->kind))
    return;
  va_start(args, code);
  userEmit(type->kind, type, &args);
  va_end(args);
}

/* userRowType -- the type of a row that the registry lacks, defined when it is first used; NULL: it cannot be, or the
 * program has defined one of this name that is another */
static EventType userRowType(UserRow row)
{
  EventCode code = __atomic_load_n(&row->code, __ATOMIC_ACQUIRE);
  EventType other = NULL;
  Res res;

  if (LIKELY(code != 0))
    return RegistryFind(SendRegistry(), code);
  res = userEnter(&code, &other, row->name, row->format, row->params, row->describe);
  if (res == ResPARAM && other->params == strlen(row->format) &&
      memcmp(other->letter, row->format, other->params) == 0) { /* also where another thread has just done it */
    code = other->code;
    res = ResOK;
  }
  if (res != ResOK)
    return NULL;
  __atomic_store_n(&row->code, code, __ATOMIC_RELEASE);
  return RegistryFind(SendRegistry(), code);
}

/* userRowTell -- an event of such a row, with its parameters; the first use takes a lock.  Where the registry has all
 * rows nobody calls it. */
static __attribute__((unused)) void userRowTell(UserRow row, ...)
{
  EventType type = userRowType(row);
  va_list args;

  if (type == NULL || !EVENT_WANTED(type->kind))
    return;
  va_start(args, row);
  userEmit(row->definition ? (unsigned)EventStreamDEFINITION : type->kind, type, &args);
  va_end(args);
}

/* ---- Strings, labels, values ---- */

enum { userBuckets = 1024, userChunk = 65536, userProbes = 64 };

/* The events of these functions have rows in our registry.  Another registry may lack some of them: then types that are
 * defined at run time take their place (UserRow). */

/* An interned string; they stay as long as the process, and its children by fork have them too. */
typedef struct UserStringStruct {
  struct UserStringStruct *next; /* in its bucket */
  Word id;
  char string[];
} UserStringStruct, *UserString;

static UserString userBucket[userBuckets] LARGE;
static Word userStrings;         /* how many; also the newest one's id */
static char *userNext;           /* free memory for strings, */
static Size userLeft;            /* and how much of it; never more than there is, whenever somebody forks */

/* userTake -- `size` bytes that are never given back; NULL if there is no memory */
static void *userTake(Size size)
{
  Size whole = size < userChunk ? userChunk : WordAlignUp(size, userChunk);
  char *place;

  size = WordAlignUp(size, sizeof(Word));
  if (userLeft < size) {
    place = RawMap(whole, 4096);
    if (place == NULL)
      return NULL;
    __atomic_store_n(&userLeft, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&userNext, place, __ATOMIC_RELEASE);
    __atomic_store_n(&userLeft, whole, __ATOMIC_RELEASE);
  }
  place = userNext;
  __atomic_store_n(&userLeft, userLeft - size, __ATOMIC_RELEASE);
  userNext += size;
  return place;
}

/* userFind -- the string's entry, made if it is new; *newReturn says which.  The process is locked. */
static UserString userFind(const char *string, Bool *newReturn)
{
  Size length = strlen(string);
  UserString *bucket = &userBucket[Crc32c(0, string, length) % userBuckets];
  UserString entry;

  *newReturn = FALSE;
  for (entry = *bucket; entry != NULL; entry = entry->next)
    if (strcmp(entry->string, string) == 0)
      return entry;
  entry = userTake(sizeof *entry + length + 1);
  if (entry == NULL)
    return NULL;
  memcpy(entry->string, string, length + 1);
  entry->id = ++userStrings;
  entry->next = *bucket;
  /* UserTell reads it without a lock. */
  __atomic_store_n(bucket, entry, __ATOMIC_RELEASE);
  *newReturn = TRUE;
  return entry;
}

/* userTell -- emit the string and its number, in the stream that no policy overwrites */
static void userTell(UserString entry)
{
#if defined(EventInternCODE)
  Size length = EventStringLength(entry->string);
  void *room;

  if (!EVENT_PRESENT(Intern) || (!EVENT_WANTED(EventInternKIND) && !EmitterTells((Word)1 << EventInternKIND)))
    return;
  room = EventReserveSlow(EventStreamDEFINITION, offsetof(EventWSStruct, f1) + length + 1, 0);
  if (room != NULL)
    EVENT_FILL_WS(Intern, room, entry->id, entry->string, length);
#else
  static userRowStruct row = {"Intern", "WS", "id string", "string %id is %string", TRUE, 0};

  userRowTell(&row, entry->id, entry->string);
#endif
}

EVENT_API EventWord EventIntern(const char *string)
{
  RawMaskStruct mask;
  Emitter emitter;
  UserString entry = NULL;
  Bool new = FALSE;

  RawBegin(&mask);
  emitter = EmitterGet();
  if (emitter != NULL && EmitterLock(emitter)) {
    entry = userFind(string, &new);
    EmitterUnlock(emitter);
  }
  RawEnd(&mask);
  if (new)
    userTell(entry);
  return entry != NULL ? entry->id : 0;
}

/* The labels that are kept for a state dump.  An address hashes to a place, or one of the next; a label that finds
 * none has its event, and is not kept. */
static struct {
  Word addr; /* 0: free */
  Word id;
} userLabel[UserLabelsMAX] LARGE;

static void userLabelKeep(Word addr, Word id)
{
  Index i, place = (Index)(((uint64_t)addr * 0x9e3779b97f4a7c15ull) >> 40);

  for (i = 0; i < userProbes; ++i, ++place) {
    Word none = 0;
    if (__atomic_compare_exchange_n(&userLabel[place % UserLabelsMAX].addr, &none, addr, FALSE, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) || none == addr) {
      __atomic_store_n(&userLabel[place % UserLabelsMAX].id, id, __ATOMIC_RELEASE);
      return;
    }
  }
}

/* userLabelTell -- emit the label of an address */
static void userLabelTell(const void *addr, Word id)
{
#if defined(EventLabelCODE)
  EVENT_AW(Label, addr, id);
#else
  static userRowStruct row = {"Label", "AW", "addr id", "labels %addr with string %*id", FALSE, 0};

  userRowTell(&row, addr, id);
#endif
}

EVENT_API void EventLabel(const void *addr, EventWord id)
{
  if (addr != NULL)
    userLabelKeep((Word)addr, id);
  userLabelTell(addr, id);
}

void UserTell(void)
{
  UserString entry;
  Index i;

  for (i = 0; i < userBuckets; ++i)
    for (entry = __atomic_load_n(&userBucket[i], __ATOMIC_ACQUIRE); entry != NULL; entry = entry->next)
      userTell(entry);
  for (i = 0; i < UserLabelsMAX; ++i) {
    Word addr = __atomic_load_n(&userLabel[i].addr, __ATOMIC_ACQUIRE);
    Word id = __atomic_load_n(&userLabel[i].id, __ATOMIC_ACQUIRE);
    if (addr != 0 && id != 0)
      userLabelTell((const void *)addr, id);
  }
}

EVENT_API void EventUserWord(EventWord id, EventWord value)
{
#if defined(EventUserWordCODE)
  EVENT_WW(UserWord, id, value);
#else
  static userRowStruct row = {"UserWord", "WW", "id value", "%*id: %value", FALSE, 0};

  userRowTell(&row, id, value);
#endif
}

EVENT_API void EventUserDouble(EventWord id, double value)
{
#if defined(EventUserDoubleCODE)
  EVENT_WD(UserDouble, id, value);
#else
  static userRowStruct row = {"UserDouble", "WD", "id value", "%*id: %value", FALSE, 0};

  userRowTell(&row, id, value);
#endif
}

EVENT_API void EventUserString(EventWord id, const char *text)
{
#if defined(EventUserStringCODE)
  EVENT_WS(UserString, id, text != NULL ? text : "");
#else
  static userRowStruct row = {"UserString", "WS", "id text", "%*id: %text", FALSE, 0};

  userRowTell(&row, id, text != NULL ? text : "");
#endif
}
