/* treetest.c -- the tree of processes, over a folder that looks like /proc, and over the real one
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include "fakeproc.h"
#include "selfeventssee.h"
#include "tap.h"

static SelfEvents self;
static ProcStruct proc;
static Tree tree;

#define MARK "PAWPRINT_RECORDING=collector=name:token"

/* process -- a process of the fake system that sleeps */
static void process(unsigned pid, unsigned parent, const char *name, unsigned long long stack)
{
  FakeStruct fake = {.name = name, .state = 'S', .parent = parent, .threads = 1, .start = pid, .stack = stack,
                     .resident = 3};
  char program[100];

  FakeStat(pid, 0, &fake);
  (void)snprintf(program, sizeof program, "/bin/%s", name);
  FakeLink(pid, program);
  FakeNewest(pid);
}

static const char *poll(void)
{
  while (TreePoll(tree) < TreePOLL)
    ;
  return See(self);
}

#define TapLines(got, expected, ...) \
  do { \
    const char *got_ = (got); \
    if (!TapOk(strcmp(got_, (expected)) == 0, __VA_ARGS__)) \
      printf("# got:\n%s# expected:\n%s", got_, (expected)); \
  } while (0)

static void begin(Count keep, Bool follow)
{
  FakeBegin();
  TapIs(ProcInit(&proc, fakeRoot, keep), ResOK, "a folder is /proc");
  TapIs(TreeCreate(&tree, self, &proc, MARK, follow), ResOK, "an empty family");
}

static void end(void)
{
  TreeDestroy(tree);
  TapIs(proc.kept, 0, "no descriptor is left open");
  ProcFinish(&proc);
  FakeEnd();
  (void)strcpy(fakeRoot + sizeof fakeRoot - 7, "XXXXXX");
  (void)See(self);
}

static void testInitial(void)
{
  begin(10, TRUE);
  process(1, 0, "init", 1);
  process(7, 1, "a (b) c\n) R 1 1", 2);
  TapLines(poll(), "ProcessSeen pid=1 parent=0 name=init\n"
                   "ProcessSeen pid=7 parent=1 name=a (b) c\n) R 1 1\n",
           "first all processes are told, whatever their names");
  TapLines(poll(), "", "and only once");
  process(8, 7, "later", 3);
  TapLines(poll(), "", "strangers that come later are nobody's business");
  TapIs(TreeMembers(tree), 0, "nor do they belong to the family");
  FakeFolder("007");
  FakeNewest(9);
  TapLines(poll(), "", "a number that is listed twice is one process");
  TapOk(TreeCheck(tree), "and the tree is sound");
  end();
}

static void testFamily(void)
{
  FakeStruct dead = {.name = "c", .state = 'Z', .parent = 1, .threads = 1, .start = 102, .exit = 3 << 8};

  begin(2, TRUE);
  process(1, 0, "init", 1);
  process(100, 1, "prog", 50);
  TreeAdd(tree, 100, TRUE);
  TapLines(poll(), "ProcessStart pid=100 parent=1 name=prog\nProcessExec pid=100 program=/bin/prog\n"
                   "ProcessSeen pid=1 parent=0 name=init\n", "the program that was started is no stranger");
  process(101, 100, "prog", 50);
  process(102, 101, "c", 60);
  process(99, 102, "d", 60);
  TapLines(poll(), "ProcessStart pid=101 parent=100 name=prog\n"
                   "ProcessStart pid=102 parent=101 name=c\nProcessExec pid=102 program=/bin/c\n"
                   "ProcessStart pid=99 parent=102 name=d\n",
           "its descendants are found, in whatever order; a copy of its parent has executed nothing");
  TapIs(TreeMembers(tree), 4, "all belong to the family");
  process(101, 100, "cc1", 70);
  TapLines(poll(), "ProcessExec pid=101 program=/bin/cc1\n", "one that executes another program is noticed");
  TapIs(TreeResident(tree), 4 * 3 * proc.page, "and how much memory all have is known");
  FakeStat(102, 0, &dead);
  TapLines(poll(), "ProcessExit pid=102 status=3 how=exit\n", "one that has ended, but not for its parent, says how");
  FakeRemove("101");
  TapLines(poll(), "ProcessExit pid=101 status=0 how=unknown\n", "of one that is gone nobody knows");
  FakeRemove("100");
  TapLines(poll(), "", "our own child's end is left to whoever waits for it");
  TreeEnded(tree, 100, SIGKILL);
  TapLines(See(self), "ProcessExit pid=100 status=9 how=signal\n", "who says of what it died");
  TreeEnded(tree, 100, 0);
  TapLines(poll(), "", "once");
  TapIs(TreeMembers(tree), 1, "the others live on");
  end();
}

static void testMark(void)
{
  static char environ[20000];

  begin(0, TRUE);
  process(1, 0, "init", 1);
  (void)poll();
  process(20, 1, "daemon", 2);
  memset(environ, 'x', sizeof environ - 1);
  memcpy(environ + 4090, MARK, sizeof MARK - 1);
  FakeFile("20/environ", "%s", environ);
  process(21, 1, "other", 2);
  memcpy(environ + 4090, "Q", 1);
  FakeFile("21/environ", "%s", environ);
  process(22, 20, "child", 2);
  TapLines(poll(), "ProcessStart pid=20 parent=1 name=daemon\nProcessExec pid=20 program=/bin/daemon\n"
                   "ProcessStart pid=22 parent=20 name=child\n",
           "a daemon, whose parent has gone, is known by its environment, wherever in it the mark stands");
  end();
  begin(0, TRUE);
  process(7, 1, "before", 1);
  FakeFile("7/environ", "%s", MARK);
  process(20, 1, "prog", 1);
  TreeAdd(tree, 20, TRUE);
  FakeRemove("20");
  TreeEnded(tree, 20, 0);
  (void)See(self);
  process(21, 1, "daemon", 1);
  FakeFile("21/environ", "%s", MARK);
  TapLines(poll(), "ProcessSeen pid=7 parent=1 name=before\nProcessStart pid=21 parent=1 name=daemon\n"
                   "ProcessExec pid=21 program=/bin/daemon\n",
           "also where the program has ended before anything was looked at, if it started later");
  end();
}

static void testMeet(void)
{
  begin(10, TRUE);
  process(1, 0, "init", 1);
  (void)poll();
  process(31, 30, "child", 2);
  TapLines(poll(), "", "a stranger");
  process(30, 1, "escaped", 2);
  TreeMeet(tree, 30, &(RegionMeetStruct){.program = "/bin/escaped"});
  TapLines(See(self), "ProcessStart pid=30 parent=1 name=escaped\nProcessExec pid=30 program=/bin/escaped\n",
           "a process that offers itself is of the family at once,");
  TapLines(poll(), "ProcessStart pid=31 parent=30 name=child\n", "and so are its children, strangers so far");
  process(30, 1, "next", 3);
  TreeMeet(tree, 30, &(RegionMeetStruct){.program = "/bin/next"});
  TapLines(See(self), "ProcessExec pid=30 program=/bin/next\n", "who offers itself again has executed something");
  TreeMeet(tree, 44, &(RegionMeetStruct){.program = "/usr/bin/true"});
  TapLines(See(self), "ProcessStart pid=44 parent=0 name=true\nProcessExit pid=44 status=0 how=unknown\n",
           "one that is gone already was there all the same");
  TreeMeet(tree, 44, &(RegionMeetStruct){.program = "/usr/bin/true"});
  TapLines(See(self), "", "once");
  FakeRemove("31");
  process(31, 1, "reused", 9);
  FakeFile("31/stat", "31 (reused) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9999 0 0 0 0 0 9\n");
  TapLines(poll(), "ProcessExit pid=31 status=0 how=unknown\n", "another process under a member's number is not it");
  end();
}

static void testAlone(void)
{
  begin(10, FALSE);
  process(1, 0, "init", 1);
  process(100, 1, "prog", 5);
  TreeAdd(tree, 100, FALSE);
  (void)poll();
  process(101, 100, "child", 5);
  TapLines(poll(), "", "without following, children are strangers");
  TapIs(TreeMembers(tree), 1, "and the family is one");
  end();
}

static void testHostile(void)
{
  static const char *const texts[] = {"", "50", "50 (", "50 (a", "50 (a)", "50 (a) S", "50 (a) S 1", "50 a) S 1 1 1 1",
                                      "x (a) S 1 1 1 1",
                                      "999 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 9"};
  Index i;

  begin(10, TRUE);
  process(50, 1, "prog", 5);
  for (i = 0; i < ARRAY_LENGTH(texts); ++i) {
    ProcStatStruct stat;
    TapOk(i == ARRAY_LENGTH(texts) - 1 || !ProcStatParse(&stat, &proc, texts[i], strlen(texts[i])), "no stat: '%s'",
          texts[i]);
  }
  TreeAdd(tree, 50, FALSE);
  (void)poll();
  FakeFile("50/stat", "%s", texts[ARRAY_LENGTH(texts) - 1]);
  TapLines(poll(), "ProcessExit pid=50 status=0 how=unknown\n", "who is somebody else is not the member");
  FakeFolder("99999999999");
  FakeFolder("4194304");
  FakeFolder("12x");
  FakeNewest(5);
  TapLines(poll(), "", "names that are no numbers of processes are left alone");
  end();
}

static void testReal(void)
{
  pid_t pid;
  int ends[2], status;
  char c;

  TapIs(ProcInit(&proc, "/proc", 100), ResOK, "the real /proc");
  (void)TreeCreate(&tree, self, &proc, MARK, TRUE);
  if (pipe(ends) != 0 || (pid = fork()) < 0)
    exit(1);
  if (pid == 0) {
    (void)close(ends[1]);
    _exit(read(ends[0], &c, 1) == 0 ? 5 : 6);
  }
  (void)close(ends[0]);
  TreeAdd(tree, (uint32_t)pid, TRUE);
  TapOk(strstr(poll(), "ProcessSeen pid=1 ") != NULL, "tells of everybody's ancestor");
  TapIs(TreeMembers(tree), 1, "and our child is the family");
  (void)close(ends[1]);
  (void)waitpid(pid, &status, 0);
  TreeEnded(tree, (uint32_t)pid, status);
  TapOk(strstr(See(self), " status=5 how=exit\n") != NULL, "until it ends");
  TreeDestroy(tree);
  ProcFinish(&proc);
}

int main(void)
{
#if defined(VARIETY_RASH)
  TapSkip("no telemetry in this variety");
  return TapDone();
#endif
  self = SeeTeller();
  testInitial();
  testFamily();
  testMark();
  testMeet();
  testAlone();
  testHostile();
  testReal();
  SeeFinish(self);
  return TapDone();
}
