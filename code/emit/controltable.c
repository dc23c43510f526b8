/* controltable.c -- the table of what is sent and buffered, and where it lies
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/names.h"
#include "base/text.h"
#include "emit/control.h"
#include "handover/store.h"
#include "plinth/clock.h"
#include "plinth/rawsyscall.h"

_Static_assert((unsigned)RegionControlBUFFER == EventKindBUFFER &&
                   (unsigned)RegionControlATTENTION == EventControlCLOCK &&
                   (unsigned)RegionControlATTEND == EventControlATTEND,
               "the table is what others take it for");

#define controlKINDS (((Word)1 << EventKindLIMIT) - 1)

/* At first every kind that is on goes to the flight recorder, and none is sent. */
Word EventKindControl[EventControlSIZE / sizeof(Word)] __attribute__((aligned(EventControlSIZE), section(".data.~control"))) = {
  (Word)EventKindsDEFAULT << EventKindBUFFER,
  [EventControlOWNER] = (Word)EVENT_CONTROL,
};

#if defined(PAWPRINT_LIBRARY)
extern Word EventKindControlHere[EventControlSIZE / sizeof(Word)] __attribute__((alias("EventKindControl")));
#endif

static Word *controlTheirs; /* the table that the program sees: ours, or its copy of it */

static Bool controlShared; /* the table is in memory that a child of fork shares with us */

/* The page of a parent's table, or of another process's, in the region of which events are counted that cannot be sent; NULL: there is
 * none. */
static char *controlLedger;
static Bool controlLent; /* the table is in a region whose lock no child would keep: ours is for its children */

/* controlFill -- let a page say what the table says */
static void controlFill(Word *page)
{
  __atomic_store_n(&page[0], __atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&page[EventControlCLOCK], __atomic_load_n(&EVENT_CONTROL[EventControlCLOCK], __ATOMIC_RELAXED),
                   __ATOMIC_RELAXED);
}

/* controlMap -- map `fd`, whose page says what the table says, or memory of our own, over the table: in both places,
 * where the program has a copy of it */
static void controlMap(int fd, long offset)
{
  int flags = MAP_FIXED | MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
  Word *here = EVENT_CONTROL, *theirs = controlTheirs;
  Word first = __atomic_load_n(&here[0], __ATOMIC_RELAXED),
       clock = __atomic_load_n(&here[EventControlCLOCK], __ATOMIC_RELAXED);

  if (RawMapFrom(here, EventControlSIZE, PROT_READ | PROT_WRITE, flags, fd, offset) == NULL)
    return;
  if (fd < 0) {
    __atomic_store_n(&here[0], first, __ATOMIC_RELAXED);
    __atomic_store_n(&here[EventControlCLOCK], clock, __ATOMIC_RELAXED);
  }
  /* No more of the same pages by mremap: that fails where the file's lock is to stay with one mapping alone. */
  if (theirs == here)
    return;
  if (fd >= 0)
    (void)RawMapFrom(theirs, EventControlSIZE, PROT_READ | PROT_WRITE, flags, fd, offset);
  else
    (void)RawCall(SYS_mremap, here, 0, EventControlSIZE, MREMAP_MAYMOVE | MREMAP_FIXED, theirs);
}

/* controlFind -- where the program sees the table.  A copy of ours still says whose it is; a table of that name which
 * says something else is another emitter's, which the program has made visible. */
static Word *controlFind(void)
{
  Word *volatile visible = EventKindControl;

  return visible[EventControlOWNER] == (Word)EVENT_CONTROL ? visible : EVENT_CONTROL;
}

/* controlKeep -- in the child of a fork: its parent's page, in another place */
static void controlKeep(void)
{
  long page;

  ControlLedgerDrop();
  page = RawCall(SYS_mremap, EVENT_CONTROL, 0, EventControlSIZE, MREMAP_MAYMOVE);
  if (page > 0 || page < -4095)
    controlLedger = (char *)page;
  controlLent = FALSE;
}

void ControlLedgerDrop(void)
{
  if (controlLedger != NULL)
    (void)RawCall(SYS_munmap, controlLedger, EventControlSIZE);
  controlLedger = NULL;
}

Bool ControlLedgerCount(uint64_t events)
{
  uint64_t *ledger = controlLedger != NULL ? (uint64_t *)(void *)(controlLedger + RegionLEDGER - RegionCONTROL) : NULL;
  uint64_t lost = ledger != NULL ? __atomic_load_n(ledger, __ATOMIC_RELAXED) : RegionLedgerCLOSED;

  while ((lost & RegionLedgerCLOSED) == 0)
    if (__atomic_compare_exchange_n(ledger, &lost, lost + events, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return TRUE;
  return FALSE;
}

/* controlLedgerTake -- the page of a region's file; FALSE: it is closed, or cannot be had.  The page is there: on a full disk it
 * could not be made. */
static Bool controlLedgerTake(int fd)
{
  void *page;

  if (RawCall(SYS_fallocate, fd, 0, RegionCONTROL, EventControlSIZE) != 0)
    return FALSE;
  page = RawMapFrom(NULL, EventControlSIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RegionCONTROL);
  if (page == NULL)
    return FALSE;
  ControlLedgerDrop();
  controlLedger = page;
  return ControlLedgerCount(0);
}

Bool ControlLedgerFind(const char *log)
{
  Bool taken = FALSE;
  unsigned beside;

  /* Where our parent's cannot be seen, readers do not see what is here. */
  for (beside = 0; StoreFamilySeen() && !taken && beside < 2; ++beside)
    taken = StoreEach(log, ControlSettings.recording, beside != 0, controlLedgerTake);
  return taken;
}

void ControlJoin(void)
{
  if (controlTheirs == NULL)
    controlTheirs = controlFind();
  if (controlLent)
    controlKeep();
  /* In the child of a fork the table is its parent's, if that was shared. */
  if (controlShared || controlTheirs != EVENT_CONTROL)
    controlMap(-1, 0);
  controlShared = controlTheirs != EVENT_CONTROL;
}

void ControlShare(int fd, RegionHeader region, Bool lent)
{
  /* First: other threads read the table all the time. */
  controlFill((Word *)(void *)((char *)region + RegionCONTROL));
  controlMap(fd, RegionCONTROL);
  controlShared = TRUE;
  controlLent = lent;
}

Res ControlMask(uint32_t *maskReturn, const char *list, uint32_t standard, const char *place)
{
  static const char *const names[EventKindLIMIT] = EventKindNAMES;
  char room[256];
  TextStruct error;
  Res res;

  TextInit(&error, room, sizeof room);
  res = NamesMask(maskReturn, list, names, EventKindLIMIT, standard, "kind", &error);
  if (res != ResOK)
    RawSay("kinds", place, TextTerminate(&error));
  return res;
}

void ControlSet(uint32_t mask, unsigned first)
{
  Word old = __atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED);
  uint64_t now = first == 0 && (old & controlKINDS & ~(Word)mask) != 0 ? EventClockMonotonic() : 0;

  while (!__atomic_compare_exchange_n(&EVENT_CONTROL[0], &old,
                                      (old & ~(controlKINDS << first)) | (mask & controlKINDS) << first, FALSE,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  if (now != 0)
    RegionOffSay(EVENT_CONTROL, (uint32_t)(old & controlKINDS) & ~mask, now);
}

void ControlStart(void)
{
  ControlSet(ControlSettings.chosen, 0);
}

void ControlStop(void)
{
  ControlSet(0, 0);
}
