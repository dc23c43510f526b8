/* controltable.c -- the table of what is sent and buffered, and where it lies
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "base/names.h"
#include "emit/control.h"
#include "handover/regionadopt.h"
#include "plinth/lent.h"

_Static_assert((unsigned)RegionControlBUFFER == EventKindBUFFER &&
                   (unsigned)RegionControlATTENTION == EventControlCLOCK &&
                   (unsigned)RegionControlATTEND == EventControlATTEND,
               "the table is what others take it for");

/* At first every kind that is on goes to the flight recorder, and none is sent. */
Word EventKindControl[EventControlSIZE / sizeof(Word)]
  __attribute__((aligned(EventControlSIZE), section(".data.~control"))) = {
  (Word)EventKindsDEFAULT << EventKindBUFFER,
  [EventControlOWNER] = (Word)EVENT_CONTROL,
};

#if defined(PAWPRINT_LIBRARY)
extern Word EventKindControlHere[EventControlSIZE / sizeof(Word)] __attribute__((alias("EventKindControl")));
#endif

static Word *controlTheirs; /* the table that the program uses: ours, or its copy of it */

static Bool controlShared; /* the table is in memory that a child of fork shares with us */

/* The page of a parent's table, or of another process's, in the region of which events are counted that cannot be
 * sent; NULL: there is none. */
static char *controlLedger;
static Bool controlLent; /* the table is in a region whose lock no child would keep: ours is for its children */

/* controlSay -- copy the table into a page */
static void controlSay(Word *page, Word bits, Word clock)
{
  __atomic_store_n(&page[0], bits, __ATOMIC_RELAXED);
  __atomic_store_n(&page[EventControlCLOCK], clock, __ATOMIC_RELAXED);
}

/* controlMap -- map the page of the file `fd`, or memory of our own, over the table: in both places, where the program
 * has a copy of it
 * page  that of the file, where it is mapped already; NULL: it is memory of our own */
static void controlMap(int fd, long offset, Word *page)
{
  int flags = MAP_FIXED | MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
  Word *here = EVENT_CONTROL, *theirs = controlTheirs;
  Word bits = __atomic_load_n(&here[0], __ATOMIC_RELAXED),
       clock = __atomic_load_n(&here[EventControlCLOCK], __ATOMIC_RELAXED);

  if (page != NULL)
    controlSay(page, bits, clock); /* first: other threads read the table all the time */
  if (RawMapFrom(here, EventControlSIZE, PROT_READ | PROT_WRITE, flags, fd, offset) == NULL)
    return;
  if (page == NULL)
    controlSay(here, bits, clock);
  /* No more of the same pages by mremap: that fails where the file's lock is to stay with one mapping alone. */
  if (theirs == here)
    return;
  if (fd >= 0)
    (void)RawMapFrom(theirs, EventControlSIZE, PROT_READ | PROT_WRITE, flags, fd, offset);
  else
    (void)RawCall(SYS_mremap, here, 0, EventControlSIZE, MREMAP_MAYMOVE | MREMAP_FIXED, theirs);
}

/* controlLedgerDrop -- it will not be needed */
static void controlLedgerDrop(void)
{
  if (controlLedger != NULL)
    (void)RawCall(SYS_munmap, controlLedger, EventControlSIZE);
  controlLedger = NULL;
}

/* controlKeep -- in the child of a fork: its parent's page, in another place */
static void controlKeep(void)
{
  long page;

  controlLedgerDrop();
  page = RawCall(SYS_mremap, EVENT_CONTROL, 0, EventControlSIZE, MREMAP_MAYMOVE);
  if (page > 0 || page < -4095)
    controlLedger = (char *)page;
  controlLent = FALSE;
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

/* controlLedgerTake -- the page of a region's file; FALSE: it is closed, or cannot be had.  The page is there: on a
 * full disk it could not be made. */
static Bool controlLedgerTake(void *data, int fd, const char *path)
{
  void *page = NULL;

  UNUSED(data), UNUSED(path);
  if (RawCall(SYS_fallocate, fd, 0, RegionCONTROL, EventControlSIZE) == 0)
    page = RawMapFrom(NULL, EventControlSIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RegionCONTROL);
  LentClose(fd);
  if (page == NULL)
    return FALSE;
  controlLedgerDrop();
  controlLedger = page;
  return ControlLedgerCount(0);
}

Bool ControlLedgerFind(const char *log)
{
  Bool taken = FALSE;
  unsigned beside;

  /* Where our parent's cannot be seen, readers do not see what is here. */
  for (beside = 0; StoreFamilySeen() && !taken && beside < 2; ++beside)
    taken = RegionAdoptEach(log, ControlSettings.recording, 0, beside != 0, controlLedgerTake, NULL);
  return taken;
}

void ControlJoin(void)
{
  Word *volatile visible = EventKindControl;

  /* A copy of ours that the program has still says that it is ours.  A table of this name which says something else is
   * another emitter's, which the program has made visible. */
  if (controlTheirs == NULL)
    controlTheirs = visible[EventControlOWNER] == (Word)EVENT_CONTROL ? visible : EVENT_CONTROL;
  if (controlLent)
    controlKeep();
  /* In the child of a fork the table is its parent's, if that was shared. */
  if (controlShared || controlTheirs != EVENT_CONTROL)
    controlMap(-1, 0, NULL);
  controlShared = controlTheirs != EVENT_CONTROL;
}

void ControlShare(int fd, RegionHeader region, Bool lent)
{
  AVER(fd >= 0 && controlTheirs != NULL);
  controlMap(fd, RegionCONTROL, (Word *)(void *)((char *)region + RegionCONTROL));
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
  res = NamesMask(maskReturn, list, names, EventKindLIMIT, standard, &error);
  if (res != ResOK)
    RawSay("kinds", place, TextTerminate(&error));
  return res;
}

void ControlSet(uint32_t mask, unsigned first)
{
  Word old = __atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED);
  uint64_t now = first == 0 && (old & EVENT_KINDS & ~(Word)mask) != 0 ? EventClockMonotonic() : 0;

  AVER(first == 0 || first == EventKindBUFFER);
  while (!__atomic_compare_exchange_n(&EVENT_CONTROL[0], &old,
                                      (old & ~(EVENT_KINDS << first)) | (mask & EVENT_KINDS) << first, FALSE,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  if (now != 0)
    RegionOffSay(EVENT_CONTROL, (uint32_t)(old & EVENT_KINDS) & ~mask, now);
}
