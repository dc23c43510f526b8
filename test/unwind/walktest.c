/* walktest.c -- the stack that a walk finds is the one that libgcc finds, whatever came before; and a walk never faults
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/walk.h"

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "tap.h"
#include "unwind/rowcache.h"

#define framesMAX 512
#define threadsCOUNT 4
#define roomSIZE (1 << 18) /* of a stack: twenty frames of `large`, and what a sanitizer adds to each */

/* ---- What was told of the tree ----------------------------------------------------------------------------------- */

static struct {
  StackNumber parent;
  Word at;
} nodes[StackTreeMAX];

static void told(StackNumber node, StackNumber parent, Word at)
{
  nodes[node].parent = parent;
  nodes[node].at = at;
}

/* ---- One stack, found twice ---- */

static __thread StackWalkStruct theWalk;
static __thread uint64_t state;
static __thread Count steps, wrong, compared, deepest;

/* Functions of a section of their own, which the linker knows the bounds of. */
#define APART __attribute__((noinline, section("apart")))
extern const char __start_apart[], __stop_apart[];

static Bool omitting; /* are they omitted? */

static Count withoutOmitted(void **frames, Count count)
{
  Count left = 0;
  Index i;

  for (i = 0; i < count; ++i)
    if ((Word)frames[i] - (Word)__start_apart >= (Word)(__stop_apart - __start_apart))
      frames[left++] = frames[i];
  return left;
}

/* differs -- is the stack other than the one that backtrace() found? */
static Bool differs(StackNumber number, void **frames, Count count)
{
  Index i = 0;
  Count left = theWalk.depth;

  if (omitting) {
    Count with = count;

    count = withoutOmitted(frames, count);
    left -= left > with - count ? with - count : left;
  }

  for (; number >= StackFIRST && left > 0; --left, ++i, number = nodes[number].parent) {
    Word address = nodes[number].at;

    if (i >= count || (address + 1 != (Word)frames[i] && address != (Word)frames[i]))
      return TRUE;
  }
  /* A coroutine begins with the address of a function that nobody called: libgcc ends there, too, for lack of a row. */
  return left > 0 && (i != count || number != StackWHOLE);
}

static void show(StackNumber number, void **frames, Count count)
{
  Index i;

  for (i = 0; i < count || number >= StackFIRST; ++i) {
    printf("# %2zu %12p %12zx\n", i, i < count ? frames[i] : NULL,
           number >= StackFIRST ? nodes[number].at + 1 : number);
    number = number >= StackFIRST ? nodes[number].parent : number;
  }
}

__attribute__((noinline)) static void compare(void)
{
  void *frames[framesMAX];
  Count count = (Count)backtrace(frames, framesMAX);
  StackNumber number = StackWalkCaller(&theWalk, 0);
  Index first = 0;

  /* Frames of this function, and of a sanitizer, come before. */
  while (first < count && frames[first] != __builtin_return_address(0))
    ++first;
  ++compared;
  if (count > deepest)
    deepest = count;
  if (differs(number, frames + first, count - first) && wrong++ < 3)
    show(number, frames + first, count - first);
}

/* ---- Programs that call at random
 * ------------------------------------------------------------------------------------ */

static void act(unsigned depth);

/* Functions of different frames: few and many registers, arrays, an array of a length that is not known,
 * an alignment. */
#define NEAR __attribute__((noinline))
#define CALLER(name, where, before, use) \
  where static void name(unsigned depth) \
  { \
    before; \
    act(depth); \
    __asm__ volatile("" ::"r"(use) : "memory"); \
    if (TapRandom(&state) % 3 == 0) \
      act(depth); \
    __asm__ volatile("" ::"r"(use) : "memory"); \
  }

CALLER(small, APART, unsigned x = depth, x)
CALLER(array, NEAR, char x[200], x)
CALLER(large, NEAR, char x[9000], x)
CALLER(aligned, NEAR, char x[64] __attribute__((aligned(64))), x)
CALLER(unknown, APART, char *x = alloca(16 + TapRandom(&state) % 300), x)

__attribute__((noinline)) static void registers(unsigned depth)
{
  uint64_t a = TapRandom(&state), b = TapRandom(&state), c = TapRandom(&state), d = TapRandom(&state), e = a ^ b;

  act(depth);
  __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
  compare();
  __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
}

static void (*const callers[])(unsigned) = {small, array, large, aligned, unknown, registers};

__attribute__((noinline)) static void act(unsigned depth)
{
  if (steps == 0)
    return;
  --steps;
  if (TapRandom(&state) % 2 == 0)
    compare();
  if (depth > 0)
    callers[TapRandom(&state) % ARRAY_LENGTH(callers)](depth - 1);
  if (TapRandom(&state) % 4 == 0)
    compare();
}

static void program(Count recorded, unsigned depth, Count length)
{
  StackWalkInit(&theWalk, recorded);
  while (length > 0) {
    steps = length > 500 ? 500 : length;
    length -= steps;
    while (steps > 0)
      act(1 + (unsigned)(TapRandom(&state) % depth));
  }
}

static void testRandom(void)
{
  static const struct {
    Count recorded;
    unsigned depth;
  } cases[] = {{64, 20}, {16, 20}, {2, 5}, {4, 40}, {16, 150}, {64, 150}};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    wrong = compared = deepest = 0;
    program(cases[i].recorded, cases[i].depth, 20000);
    TapIs(wrong, 0, "%zu frames of up to %zu: %zu stacks are libgcc's", cases[i].recorded, deepest, compared);
    TapOk(compared > 5000 && deepest > cases[i].depth / 2, "they are many");
    TapOk(StackWalkCheck(&theWalk), "the walk is as its header says");
  }
  TapOk(theWalk.walked < 6 * theWalk.walks, "few frames are found anew: %.1f a walk",
        (double)theWalk.walked / (double)theWalk.walks);
}

/* testOmitted -- functions without a part in a stack */
static void testOmitted(void)
{
  static const Count recorded[] = {64, 16, 4};
  Index i;

  StackWalkOmit((Word)__start_apart, (Word)__stop_apart);
  omitting = TRUE;
  for (i = 0; i < ARRAY_LENGTH(recorded); ++i) {
    wrong = compared = 0;
    program(recorded[i], 25, 20000);
    TapIs(wrong, 0, "%zu frames, two functions of six omitted: %zu stacks are libgcc's others", recorded[i], compared);
    TapOk(StackWalkCheck(&theWalk), "the walk is as its header says");
  }
  StackWalkOmit(0, 0);
  StackWalkForget();
  omitting = FALSE;
}

/* ---- Threads
 * ---------------------------------------------------------------------------------------------------------- */

static void *thread(void *argument)
{
  state = (uint64_t)(Word)argument;
  program(32, 30, 20000);
  return (void *)wrong;
}

static void testThreads(uint64_t seed)
{
  pthread_t threads[threadsCOUNT];
  Count bad = 0;
  Index i;

  for (i = 0; i < threadsCOUNT; ++i)
    (void)pthread_create(&threads[i], NULL, thread, (void *)(Word)(seed * 2 + 2 * i + 1));
  for (i = 0; i < threadsCOUNT; ++i) {
    void *result;
    (void)pthread_join(threads[i], &result);
    bad += (Count)result;
  }
  TapIs(bad, 0, "stacks of threads that walk at the same time are libgcc's");
  TapOk(StackTreeCheck(), "and their tree is sound");
}

/* ---- Other stacks ---- */

static void handle(int signal)
{
  UNUSED(signal);
  compare();
  steps = 40;
  act(10);
}

__attribute__((noinline)) static void raiseFrom(unsigned depth)
{
  if (depth > 0)
    raiseFrom(depth - 1);
  else
    (void)raise(SIGUSR1);
  compare();
}

static void testSignals(int flags, const char *what)
{
  static char room[roomSIZE];
  stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
  struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
  unsigned i;

  (void)sigaltstack(&stack, NULL);
  (void)sigaction(SIGUSR1, &action, NULL);
  StackWalkInit(&theWalk, 64);
  wrong = compared = 0;
  for (i = 0; i < 300; ++i)
    raiseFrom(i % 7);
  TapIs(wrong, 0, "%s: %zu stacks are libgcc's", what, compared);
}

static ucontext_t mainContext, routineContext;

__attribute__((noinline)) static void yield(unsigned depth)
{
  if (depth > 0)
    yield(depth - 1);
  else
    (void)swapcontext(&routineContext, &mainContext);
  compare();
}

static void routine(void)
{
  for (;;) {
    steps = 20;
    act(8);
    yield((unsigned)(TapRandom(&state) % 5));
  }
}

static void testCoroutine(void)
{
  static char room[roomSIZE] __attribute__((aligned(16)));
  unsigned i;

  (void)getcontext(&routineContext);
  routineContext.uc_stack.ss_sp = room;
  routineContext.uc_stack.ss_size = sizeof room;
  routineContext.uc_link = NULL;
  makecontext(&routineContext, routine, 0);
  StackWalkInit(&theWalk, 64);
  wrong = compared = 0;
  for (i = 0; i < 500; ++i) {
    (void)swapcontext(&mainContext, &routineContext);
    steps = 20;
    act(8);
  }
  TapIs(wrong, 0, "a coroutine and its caller take turns: %zu stacks are libgcc's", compared);
}

/* ---- Descriptions that are not understood ---- */

/* Each calls its argument, and says by a rule that a walk does not follow where its caller is: its CFA is by rbx, by an
 * expression of r12, its return address is in r12, or the caller's rbp is. */
__asm__(".text\n"
        "byRbx: .cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset rbx, -16\nmov %rsp, %rbx\n"
        ".cfi_def_cfa_register rbx\nand $-64, %rsp\nsub $64, %rsp\ncall *%rdi\nmov %rbx, %rsp\n"
        ".cfi_def_cfa_register rsp\npop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
        "byExpression: .cfi_startproc\npush %r12\n.cfi_def_cfa_offset 16\n.cfi_offset r12, -16\nmov %rsp, %r12\n"
        ".cfi_escape 0x0f, 2, 0x7c, 16\nsub $128, %rsp\ncall *%rdi\nmov %r12, %rsp\n.cfi_def_cfa rsp, 16\n"
        "pop %r12\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
        "inRegister: .cfi_startproc\npush %r12\n.cfi_def_cfa_offset 16\n.cfi_offset r12, -16\nmov 8(%rsp), %r12\n"
        ".cfi_register rip, r12\nmovq $0, 8(%rsp)\ncall *%rdi\nmov %r12, 8(%rsp)\n.cfi_restore rip\n"
        "pop %r12\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
        "rbpElsewhere: .cfi_startproc\npush %r12\n.cfi_def_cfa_offset 16\n.cfi_offset r12, -16\nmov %rbp, %r12\n"
        ".cfi_register rbp, r12\ncall *%rdi\nmov %r12, %rbp\n.cfi_restore rbp\n"
        "pop %r12\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n");

extern void byRbx(void (*)(void)) __attribute__((visibility("hidden")));
extern void byExpression(void (*)(void)) __attribute__((visibility("hidden")));
extern void inRegister(void (*)(void)) __attribute__((visibility("hidden")));
extern void rbpElsewhere(void (*)(void)) __attribute__((visibility("hidden")));

static Bool leftOut, endsBroken; /* of the last stack: is a caller missing in it, and does it end as broken? */

__attribute__((noinline)) static void look(void)
{
  void *frames[framesMAX];
  Count count = (Count)backtrace(frames, framesMAX), i = 0;
  StackNumber number = StackWalkCaller(&theWalk, 0);

  while (i < count && frames[i] != __builtin_return_address(0))
    ++i;
  leftOut = FALSE;
  for (; number >= StackFIRST; number = nodes[number].parent, ++i)
    leftOut |= i >= count || (Word)frames[i] - 1 != nodes[number].at;
  endsBroken = number == StackBROKEN;
}

/* pointing -- the caller has a frame pointer, by which a guess would leave it out */
__attribute__((noinline)) static void pointing(void (*function)(void (*)(void)))
{
  __asm__ volatile("" ::"r"(__builtin_frame_address(0)));
  function(look);
  __asm__ volatile("");
}

static void testDescribed(void)
{
  static void (*const functions[])(void (*)(void)) = {byRbx, byExpression, inRegister, rbpElsewhere};
  static const char *const whats[] = {"whose CFA is by rbx", "whose CFA is an expression", "whose return address is in a register",
                                      "whose caller's rbp is in a register"};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(functions); ++i) {
    StackWalkInit(&theWalk, 64);
    pointing(functions[i]);
    TapOk(!leftOut && endsBroken, "at a function %s the stack ends, and leaves no caller out", whats[i]);
  }
}

/* ---- What must not fault
 * ---------------------------------------------------------------------------------------------- */

__attribute__((noinline, no_sanitize("address"))) static void smash(Word *low, Count words)
{
  Word kept[64];
  Index i, at = TapRandom(&state) % (words - 64);

  for (i = 0; i < 64; ++i) {
    kept[i] = low[at + i];
    if (TapRandom(&state) % 2 == 0)
      low[at + i] =
          TapRandom(&state) % 3 == 0 ? TapRandom(&state) : kept[TapRandom(&state) % (i + 1)] + TapRandom(&state) % 64;
  }
  (void)StackWalkFrom(&theWalk, 0, (Word)&smash + 20, (Word)low, (Word)(low + at));
  (void)StackWalkFrom(&theWalk, 0, kept[0], (Word)(low + at), (Word)low);
  for (i = 0; i < 64; ++i)
    low[at + i] = kept[i];
}

static void testSmashed(void)
{
  unsigned i;

  StackWalkInit(&theWalk, 64);
  for (i = 0; i < 20000; ++i) {
    Word low[256];
    __asm__ volatile("" ::"r"(low) : "memory");
    smash(low, ARRAY_LENGTH(low));
    (void)StackWalkFrom(&theWalk, 0, TapRandom(&state), (Word)low + TapRandom(&state) % 4096, TapRandom(&state));
    (void)StackWalkFrom(&theWalk, 0, (Word)&testSmashed + TapRandom(&state) % 200, TapRandom(&state), (Word)low);
  }
  TapOk(StackWalkCheck(&theWalk), "a stack that was written over is walked without a fault");
  wrong = compared = 0;
  compare();
  TapIs(wrong, 0, "and the next stack is libgcc's");
}

static jmp_buf away;

static void jump(int signal)
{
  UNUSED(signal);
  compare();
  longjmp(away, 1);
}

/* smallStack -- so much of the stack is known to be the thread's */
__attribute__((noinline)) static void smallStack(Size size)
{
  char *room = alloca(size);

  __asm__ volatile("" ::"r"(room) : "memory");
  compare();
}

static void testJump(void)
{
  struct sigaction action = {.sa_handler = jump, .sa_flags = SA_NODEFER};

  (void)sigaction(SIGUSR1, &action, NULL);
  StackWalkInit(&theWalk, 64);
  smallStack(1 << 17);
  wrong = compared = 0;
  compare();
  theWalk.walking = (Word)__builtin_frame_address(0) - (1 << 16);
  theWalk.numbers[theWalk.count] = theWalk.numbers[theWalk.count - 1] = StackFIRST; /* as it may leave them */
  if (setjmp(away) == 0)
    raiseFrom(3);
  TapIs(theWalk.nested, 0, "a walk that a handler jumped out of does not hinder further ones");
  compare();
  TapIs(wrong, 0, "which are right");
  theWalk.walking = (Word)__builtin_frame_address(0) + 64;
  compare();
  TapIs(theWalk.nested, 1, "a walk within a walk is refused, and counted");
}

/* ---- What the check sees
 * ----------------------------------------------------------------------------------------------- */

static void testCheck(void)
{
  StackWalkStruct kept;

  StackWalkInit(&theWalk, 16);
  compare();
  kept = theWalk;
#define planted(change) (theWalk = kept, change, !StackWalkCheck(&theWalk))
  TapOk(StackWalkCheck(&theWalk), "a walk is sound");
  TapOk(planted(theWalk.depth = 1), "a depth that is too small is seen");
  TapOk(planted(theWalk.count = 33), "too many frames are seen");
  TapOk(planted(theWalk.frames[2].sp = theWalk.frames[1].sp), "frames in a wrong order are seen");
  TapOk(planted(theWalk.numbers[2] = StackFIRST), "a wrong number is seen");
  TapOk(planted(theWalk.range.limit = theWalk.range.low - 4096), "a range that ends before it begins is seen");
  TapOk(planted(theWalk.numbers[0] = StackNESTED), "a root that is none is seen");
#undef planted
  theWalk = kept;
}

/* ---- What of a stack can be read ---- */

static void testRange(void)
{
  StackRangeStruct range = {0};
  char here;

  StackRangeEnter(&range, (Word)&here);
  TapOk(range.low <= (Word)&here && (Word)&here < range.limit, "of one's own stack what is above can be read");
  TapSees(range.low, range.limit + getpagesize(), StackRangeCheck(&range), "a range that ends before it begins is seen");
  TapSees(range.limit, range.limit + 8, StackRangeCheck(&range), "one that ends inside of a page is seen");
  TapSees(range.ownLimit, range.ownLow - getpagesize(), StackRangeCheck(&range), "a stack that ends before it begins is seen");
  TapSees(range.barrier, range.ownLow + getpagesize(), StackRangeCheck(&range), "one that reaches below its end is seen");
}

int main(void)
{
  uint64_t seed = TapSeed();
  void *frame;

  state = seed * 2 + 1;
  (void)backtrace(&frame, 1); /* it allocates, once */
  TapIs(StackTreeInit(told), ResOK, "there is memory for a tree");
  testRandom();
  testOmitted();
  testThreads(seed);
  testSignals(0, "a signal's handler");
  testSignals(SA_ONSTACK, "a handler on a stack of its own");
  testCoroutine();
  testDescribed();
  testSmashed();
  testJump();
  testCheck();
  testRange();
  StackTreeForget();
  StackWalkForget();
  wrong = 0;
  compare();
  TapIs(wrong, 0, "when all numbers are forgotten the next stack gets new ones");
  TapOk(StackTreeCount() < 50, "from the first");
  return TapDone();
}
