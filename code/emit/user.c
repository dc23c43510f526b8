/* user.c -- what programs tell themselves: strings, labels, values
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/aver.h"
#include "base/crc.h"
#include "base/text.h"
#include "emit/process.h"
#include "emit/public.h"
#include "emit/send.h"
#include "emit/user.h"
#include "plinth/quiet.h"

enum { userBuckets = 1024, userChunk = 65536, userProbes = 64 };

/* What these functions tell has rows in our registry.  Somebody else's may lack some of them: then the same is told by
 * types that are defined at run time (UserRow). */

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
    place = QuietMap(whole, 4096);
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

/* userTell -- what the string's number is, in the stream that no policy overwrites */
static void userTell(UserString entry)
{
#if defined(EventInternCODE)
  Size length = EventStringLength(entry->string);
  void *room;

  if (!EVENT_PRESENT(Intern) || !EVENT_WANTED(EventInternKIND))
    return;
  room = EventReserveSlow(EventStreamDEFINITION, offsetof(EventWSStruct, f1) + length + 1, 0);
  if (room != NULL)
    EVENT_FILL_WS(Intern, room, entry->id, entry->string, length);
#else
  static UserRowStruct row = {"Intern", "WS", "id string", "string %id is %string", TRUE, 0};

  UserRowTell(&row, entry->id, entry->string);
#endif
}

EVENT_API EventWord EventIntern(const char *string)
{
  QuietMaskStruct mask;
  Process process;
  UserString entry = NULL;
  Bool new = FALSE;

  QuietBegin(&mask);
  process = ProcessGet();
  if (process != NULL && ProcessLock(process)) {
    entry = userFind(string, &new);
    ProcessUnlock(process);
  }
  QuietEnd(&mask);
  if (new)
    userTell(entry);
  return entry != NULL ? entry->id : 0;
}

/* What is labelled, for those who come later.  An address has its place by its own number, or one of the next; a label
 * that finds none is told now, and not kept. */
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

/* userLabelTell -- what the address is, as an event */
static void userLabelTell(const void *addr, Word id)
{
#if defined(EventLabelCODE)
  EVENT_AW(Label, addr, id);
#else
  static UserRowStruct row = {"Label", "AW", "addr id", "labels %addr with string %*id", FALSE, 0};

  UserRowTell(&row, addr, id);
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
  static UserRowStruct row = {"UserWord", "WW", "id value", "%*id: %value", FALSE, 0};

  UserRowTell(&row, id, value);
#endif
}

EVENT_API void EventUserDouble(EventWord id, double value)
{
#if defined(EventUserDoubleCODE)
  EVENT_WD(UserDouble, id, value);
#else
  static UserRowStruct row = {"UserDouble", "WD", "id value", "%*id: %value", FALSE, 0};

  UserRowTell(&row, id, value);
#endif
}

EVENT_API void EventUserString(EventWord id, const char *text)
{
#if defined(EventUserStringCODE)
  EVENT_WS(UserString, id, text != NULL ? text : "");
#else
  static UserRowStruct row = {"UserString", "WS", "id text", "%*id: %text", FALSE, 0};

  UserRowTell(&row, id, text != NULL ? text : "");
#endif
}
