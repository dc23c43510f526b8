/* monitorchecktest.c -- what the collector keeps of processes notices what is wrong with it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It includes the files that it tests, to spoil what they keep to themselves.
 */
#include "monitor/liveregion.c"
#include "monitor/processwatch.c"
#include "monitor/procfs.c"
#include "monitor/sample.c"
#include "monitor/selfevents.c"
#include "monitor/statusline.c"
#include "monitor/tree.c"
#include "monitor/unrecorded.c"

#include "fakeproc.h"
#include "tap.h"

static Res drop(void *data, const void *message, Size size)
{
  UNUSED(data), UNUSED(message), UNUSED(size);
  return ResOK;
}

/* process -- a process of the fake system, with a thread */
static void process(unsigned pid, unsigned parent)
{
  FakeStruct fake = {.name = "p", .state = 'S', .parent = parent, .threads = 1, .start = pid, .stack = pid};

  FakeStat(pid, 0, &fake);
  FakeStat(pid, pid, &fake);
  FakeNewest(pid);
}

static void testTree(SelfEvents self)
{
  ProcStruct proc;
  Tree tree;
  Sample sample;
  SampleProcess threads;

  FakeBegin();
  process(1, 0);
  process(10, 1);
  process(11, 10);
  process(12, 1);
  if (ProcInit(&proc, fakeRoot, 10) != ResOK || TreeCreate(&tree, self, &proc, NULL, TRUE) != ResOK ||
      SampleCreate(&sample, self, &proc, tree, 100) != ResOK)
    exit(1);
  TreeAdd(tree, 10, TRUE);
  (void)SamplePoll(sample, EventClockMonotonic());
  TapOk(TreeMembers(tree) == 2 && tree->others == 4, "a family of two, and who else is there");

  TapOk(ProcCheck(&proc), "what /proc says passes its check");
  PLANT(proc.root, -1, ProcCheck(&proc), "that it has no folder");
  PLANT(proc.kept, 11, ProcCheck(&proc), "that it has more descriptors than may be kept");
  PLANT(proc.held, proc.heldMAX + 1, ProcCheck(&proc), "that it has more processes than may be held");
  PLANT(proc.tick, 0, ProcCheck(&proc), "that it has no clock");
  PLANT(proc.page, 4095, ProcCheck(&proc), "that it has odd pages");

  TapOk(TreeCheck(tree), "a tree passes its check");
  PLANT(tree->member[0]->stat.pid, 12, TreeCheck(tree), "that members are out of order");
  PLANT(tree->capacity, 1, TreeCheck(tree), "that there are more than there is room for");
  PLANT(tree->other[0].pid, 10, TreeCheck(tree), "that others are out of order");
  PLANT(tree->other[3].state, treeFRESH, TreeCheck(tree), "that one has been passed over");
  PLANT(tree->next, 5, TreeCheck(tree), "that one is looked at that is not there");
  TapOk(TreeCheck(tree), "mended, it passes again");

  threads = TreeMemberAt(tree, 0)->client;
  TapOk(SampleCheck(sample), "samples pass their check");
  PLANT(sample->threads, 1, SampleCheck(sample), "that threads are not those of all processes");
  PLANT(threads->capacity, 0, SampleCheck(sample), "that a process has more than room for them");
  PLANT(proc.root, -1, SampleCheck(sample), "that /proc is lost");
  FakeStat(10, 13, &(FakeStruct){.name = "t", .state = 'S', .threads = 2, .start = 13});
  threads->stale = TRUE;
  TreeMemberAt(tree, 0)->stat.threads = 2;
  sampleAll(sample, EventClockMonotonic());
  TapOk(threads->threads == 2 && SampleCheck(sample), "with two threads, too");
  PLANT(threads->thread[0].tid, 13, SampleCheck(sample), "that they are out of order");
  SampleDestroy(sample);
  TreeDestroy(tree);
  ProcFinish(&proc);
  FakeEnd();
}

static void testSelf(SelfEvents self)
{
#if defined(VARIETY_RASH)
  UNUSED(self);
  TapSkip("no event is emitted in this variety");
#else
  EVENT_UUS(ProcessSeen, 1, 0, "init");
  TapOk(SelfEventsCheck(self), "the collector's own events pass their check");
  PLANT(self->write, NULL, SelfEventsCheck(self), "that it has nowhere to write");
  PLANT(self->used, 0, SelfEventsCheck(self), "that the block is empty, and has a first event");
  PLANT(self->used, sizeof self->events + EventALIGN, SelfEventsCheck(self), "that there is more than a block");
  PLANT(self->used, self->used + 1, SelfEventsCheck(self), "that an event is cut");
  PLANT(self->first, 0, SelfEventsCheck(self), "that no event is the first");
  PLANT(self->count, 1000, SelfEventsCheck(self), "that it has more events than bytes");
  PLANT(self->first, (uint64_t)1 << 62, SelfEventsCheck(self), "that it is in an epoch before that of the first");
  TapOk(SelfEventsCheck(self), "mended, they pass again");
#endif
}

static void testWatch(SelfEvents self)
{
  ProcessWatchSettingsStruct settings = {.self = self, .terminal = -1};
  struct StatusLineStruct line = {.fd = 1};
  ProcessWatch watch;

  if (ProcessWatchCreate(&watch, &settings) != ResOK)
    exit(1);
  TapOk(ProcessWatchCheck(watch), "who watches processes passes the check");
  PLANT(watch->tree, NULL, ProcessWatchCheck(watch), "that it has samples of no tree");
  PLANT(watch->self, NULL, ProcessWatchCheck(watch), "that it has nothing to say it by");
  ProcessWatchDestroy(watch);
  TapOk(StatusLineCheck(&line), "a status line passes its check");
  PLANT(line.fd, -1, StatusLineCheck(&line), "that it has no terminal");
  PLANT(line.next, statusRATES, StatusLineCheck(&line), "that its oldest rate is none");
}

static void testUnrecorded(void)
{
  Unrecorded absent;
  UnrecordedName name;

  if (UnrecordedCreate(&absent, NULL) != ResOK)
    exit(1);
  UnrecordedExec(absent, 1000001, "/bin/a", RegionLackLIBRARY, FALSE, 1);
  UnrecordedExec(absent, 1000002, "/bin/b", RegionLackLIBRARY, FALSE, 1);
  UnrecordedHidden(absent, "/nowhere/a", RegionLackLIBRARY, FALSE);
  UnrecordedHidden(absent, "/nowhere/b", RegionLackLIBRARY, FALSE);
  name = &absent->name[1];
  TapOk(UnrecordedCheck(absent) && absent->waits == 2 && absent->names == 2, "who is not recorded passes the check");
  PLANT(absent->wait[1].pid, 1000001, UnrecordedCheck(absent), "that a process waits twice");
  PLANT(absent->waitCapacity, 1, UnrecordedCheck(absent), "that more wait than there is room for");
  PLANT(name->path, absent->name[0].path, UnrecordedCheck(absent), "that a program is named twice");
  PLANT(name->seen, 1, UnrecordedCheck(absent), "that more were seen than counted");
  PLANT(absent->nameCapacity, 1, UnrecordedCheck(absent), "that more are named than there is room for");
  TapOk(UnrecordedCheck(absent), "mended, they pass again");
  UnrecordedDestroy(absent);
}

static void testLiveRegion(void)
{
  static LiveRegionStruct live;
  static RegionHeaderStruct region;
  char text[1];

  live = (LiveRegionStruct){.region = &region, .size = RegionSize(3), .slots = 3, .text = text,
                            .header.widths.word = sizeof(Word)};
  TapOk(LiveRegionCheck(&live), "the region of a running process passes its check");
  PLANT(live.region, NULL, LiveRegionCheck(&live), "that it is not mapped");
  PLANT(live.text, NULL, LiveRegionCheck(&live), "that it has no header block");
  PLANT(live.slots, RegionSlotsMAX + 1, LiveRegionCheck(&live), "that it has more slots than any has");
  PLANT(live.slots, 4000, LiveRegionCheck(&live), "that it has more than is mapped");
  PLANT(live.length, RegionTextSIZE + 1, LiveRegionCheck(&live), "that the header block is longer than its place");
  PLANT(live.header.widths.word, 4, LiveRegionCheck(&live), "that it is another machine's");
}

int main(void)
{
  SelfEvents self;

  if (SelfEventsCreate(&self, drop, NULL, 0, FALSE, NULL) != ResOK)
    return 1;
  testTree(self);
  testSelf(self);
  testWatch(self);
  testUnrecorded();
  testLiveRegion();
  SelfEventsDestroy(self);
  return TapDone();
}
