/* graphtest.c -- random graphs in several threads, collected all the time: what survives is what an oracle says
 *
 * Each thread has a graph of its own, and one is shared under a mutex.  Beside each graph is a mirror, in which objects
 * are numbers.  Threads walk, allocate, write, hide references on their stacks, resurrect through weak references, and
 * collect, whole or in steps.  Wherever they walk, objects must be what the mirror says.  From time to time all wait,
 * and do not count as roots; then after one collection exactly what the mirror can reach must be left.
 *
 * COLLECTIONS=N in the environment: so many at least.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sched.h>

#include "ams/ams.h"
#include "mm/arena.h"
#include "tap.h"

/* Stacks are searched for references: they must be where the processor's stack pointer is. */
extern const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_stack_use_after_return=0"; }

enum {
  NODES = 300,   /* of a graph at a time */
  REFS = 6,      /* of an object, at most */
  ROOTS = 8,     /* exact */
  AMBIGS = 4,
  THREADS = 3,
  GRAPHS = THREADS + 1,
  OPS = 150      /* of a thread between two checks */
};

/* An object: header, then what references point to. */
typedef struct ObjectStruct {
  Word size; /* bytes of it all */
  Word id;
  uint32_t count;
  uint32_t first; /* of its references, as an index: of a large object they are at the end */
  Addr ref[];
} ObjectStruct, *Object;

enum { HEADER = sizeof(Word) };

#define objectOf(ref)   ((Object)(void *)((char *)(ref) - HEADER))
#define objectSlot(o, i) (&(o)->ref[(o)->first + (i)])
#define objectLoad(o, i) __atomic_load_n(objectSlot(o, i), __ATOMIC_RELAXED)

static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  Object object = objectOf(ref);
  Word i;

  for (i = 0; i < object->count; ++i)
    if ((Word)objectSlot(object, i) >= (Word)base && (Word)objectSlot(object, i) < (Word)limit)
      AMSFix(scan, objectLoad(object, i));
}

static Addr formatSkip(Addr ref) { return (Addr)((Word)ref + objectOf(ref)->size); }

static const AMSFormatStruct format = { 16, HEADER, formatScan, formatSkip };

/* ---- Graphs and mirrors ---- */

typedef struct NodeStruct {
  Bool used;       /* there is an object, as far as is known */
  Bool final;      /* registered for finalization */
  Bool again;      /* was taken from a weak table: may be reachable though a message was posted */
  unsigned count;
  int ref[REFS];   /* numbers; -1: NULL */
} NodeStruct;

typedef struct GraphStruct {
  NodeStruct node[NODES];
  int root[ROOTS], ambig[AMBIGS];
  Addr rootRef[ROOTS];
  Addr ambigRef[AMBIGS];
  Addr weakRef[NODES];
  Bool reached[NODES];
  unsigned used;
} GraphStruct, *Graph;

static Arena arena;
static Pool pool;
static GraphStruct graphs[GRAPHS];
static pthread_mutex_t sharedMutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrierBefore, barrierAfter;
static int stopping;
static unsigned long wrong;
static char wrongWhat[200];

#define idOf(graph, n) ((Word)((graph)-graphs) * NODES + (Word)(n))

static void fault(const char *what, Word id)
{
  if (__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) == 0)
    snprintf(wrongWhat, sizeof wrongWhat, "%s (object %lu)", what, (unsigned long)id);
}

/* look -- is the object behind a reference the one that the mirror has there? */
static Bool look(Graph graph, Addr ref, int n)
{
  Object object = objectOf(ref);

  if (__atomic_load_n(&graph->weakRef[n], __ATOMIC_RELAXED) == ref && object->id == idOf(graph, n) &&
      object->count == graph->node[n].count)
    return TRUE;
  fault("an object that can be reached is another", idOf(graph, n));
  return FALSE;
}

static void mirrorReach(Graph graph, int n)
{
  static __thread int stack[NODES];
  unsigned top = 0, i;

  if (n < 0 || graph->reached[n])
    return;
  graph->reached[n] = TRUE;
  stack[top++] = n;
  while (top > 0) {
    NodeStruct *node = &graph->node[stack[--top]];
    for (i = 0; i < node->count; ++i)
      if (node->ref[i] >= 0 && !graph->reached[node->ref[i]]) {
        graph->reached[node->ref[i]] = TRUE;
        stack[top++] = node->ref[i];
      }
  }
}

static void mirrorReachAll(Graph graph)
{
  unsigned i;

  memset(graph->reached, 0, sizeof graph->reached);
  for (i = 0; i < ROOTS; ++i)
    mirrorReach(graph, graph->root[i]);
  for (i = 0; i < AMBIGS; ++i)
    mirrorReach(graph, graph->ambig[i]);
}

/* ---- Mutators ---- */

typedef struct MutatorStruct {
  pthread_t thread;
  uint64_t random;
  AMSAP ap;
  Graph own;
} MutatorStruct, *Mutator;

static MutatorStruct mutators[THREADS];

static unsigned draw(Mutator m, unsigned n) { return (unsigned)(TapRandom(&m->random) >> 11) % n; }

/* walk -- a reference to some object that can be reached, found by following references; -1: none */
static int walk(Mutator m, Graph graph, Addr *refReturn)
{
  unsigned r = draw(m, ROOTS), steps = draw(m, 8);
  int n = graph->root[r];
  Addr ref = graph->rootRef[r];

  if (n < 0 || !look(graph, ref, n))
    return -1;
  while (steps-- > 0 && graph->node[n].count > 0) {
    unsigned i = draw(m, graph->node[n].count);
    Addr next = objectLoad(objectOf(ref), i);
    int to = graph->node[n].ref[i];
    if ((to < 0) != (next == NULL)) {
      fault("a reference is not what was written", idOf(graph, n));
      return -1;
    }
    if (to < 0)
      break;
    n = to;
    ref = next;
    if (!look(graph, ref, n))
      return -1;
  }
  *refReturn = ref;
  return n;
}

static int nodeFree(Mutator m, Graph graph)
{
  unsigned i, n = draw(m, NODES);

  for (i = 0; i < NODES; ++i, n = (n + 1) % NODES)
    if (!graph->node[n].used)
      return (int)n;
  return -1;
}

/* allocate -- an object with references to others, in a root */
static void allocate(Mutator m, Graph graph)
{
  int n = nodeFree(m, graph), to[REFS];
  Addr ref[REFS] = { NULL }, addr;
  unsigned count = draw(m, REFS + 1), i, r = draw(m, ROOTS);
  Size size = WordAlignUp(sizeof(ObjectStruct) + count * sizeof(Addr) + draw(m, 4) * 16, 16);
  Object object;
  Size more = draw(m, 200) == 0 ? 40000 : 0; /* a segment of its own */

  if (n < 0)
    return;
  for (i = 0; i < count; ++i)
    to[i] = draw(m, 4) == 0 ? -1 : walk(m, graph, &ref[i]);
  do {
    if (AMSReserve(&addr, m->ap, size + more) != ResOK) {
      fault("no memory", idOf(graph, n));
      return;
    }
    object = (Object)(void *)addr;
    object->size = size + more;
    object->first = (uint32_t)(more / sizeof(Addr));
    object->id = idOf(graph, n);
    object->count = count;
    for (i = 0; i < count; ++i)
      *objectSlot(object, i) = to[i] >= 0 ? ref[i] : NULL;
    if (draw(m, 30) == 0)
      (void)AMSStart(pool);
  } while (!AMSCommit(m->ap, addr, size + more));
  graph->node[n].used = TRUE;
  graph->node[n].final = graph->node[n].again = FALSE;
  graph->node[n].count = count;
  for (i = 0; i < count; ++i)
    graph->node[n].ref[i] = to[i];
  ++graph->used;
  addr = (Addr)((Word)addr + HEADER);
  graph->rootRef[r] = addr;
  graph->root[r] = n;
  __atomic_store_n(&graph->weakRef[n], addr, __ATOMIC_RELAXED);
  if (draw(m, 20) == 0 && AMSFinalize(pool, addr) == ResOK)
    graph->node[n].final = TRUE;
}

static void writeRef(Mutator m, Graph graph)
{
  Addr from, ref = NULL;
  int n = walk(m, graph, &from), to = draw(m, 3) == 0 ? -1 : walk(m, graph, &ref);
  unsigned i;

  if (n < 0 || graph->node[n].count == 0)
    return;
  i = draw(m, graph->node[n].count);
  AMSWrite(pool, from, objectSlot(objectOf(from), i), to >= 0 ? ref : NULL);
  graph->node[n].ref[i] = to;
}

/* hide -- move a reference from one object to another; meanwhile it is on the stack only */
static void hide(Mutator m, Graph graph)
{
  Addr from, to, ref;
  int n = walk(m, graph, &from), k = walk(m, graph, &to), moved;
  unsigned i, j;

  if (n < 0 || k < 0 || graph->node[n].count == 0 || graph->node[k].count == 0)
    return;
  i = draw(m, graph->node[n].count);
  j = draw(m, graph->node[k].count);
  moved = graph->node[n].ref[i];
  if (moved < 0)
    return;
  ref = objectLoad(objectOf(from), i);
  AMSWrite(pool, from, objectSlot(objectOf(from), i), NULL);
  graph->node[n].ref[i] = -1;
  switch (draw(m, 4)) { /* a collection, or much of one, while nothing but the stack has it */
  case 0:
    (void)AMSCollect(pool);
    break;
  case 1:
    (void)AMSStart(pool);
    break;
  case 2:
    while (AMSStep(pool, 50))
      ;
    break;
  case 3:
    for (i = 0; i < 20; ++i)
      (void)sched_yield();
    break;
  }
  if (!look(graph, ref, moved))
    return;
  AMSWrite(pool, to, objectSlot(objectOf(to), j), ref);
  graph->node[k].ref[j] = moved;
}

/* resurrect -- what a weak table still has is an object, with all that it refers to */
static void resurrect(Mutator m, Graph graph)
{
  unsigned n = draw(m, NODES), r = draw(m, ROOTS);
  Addr ref;

  if (!graph->node[n].used)
    return;
  ref = AMSWeakGet(pool, &graph->weakRef[n]);
  if (ref == NULL || !look(graph, ref, (int)n))
    return;
  graph->node[n].again = TRUE;
  graph->rootRef[r] = ref;
  graph->root[r] = (int)n;
  /* What it refers to is resurrected with it. */
  mirrorReachAll(graph);
  for (r = 0; r < NODES; ++r)
    if (graph->reached[r])
      graph->node[r].again = TRUE;
}

static void changeRoot(Mutator m, Graph graph)
{
  unsigned r = draw(m, ROOTS), a = draw(m, AMBIGS);
  Addr ref = NULL;
  int n = draw(m, 2) == 0 ? -1 : walk(m, graph, &ref);

  if (draw(m, 3) > 0) {
    graph->rootRef[r] = n >= 0 ? ref : NULL;
    graph->root[r] = n;
  } else { /* into the middle of the object */
    graph->ambigRef[a] = (Addr)(Word)draw(m, 1000);
    if (n >= 0)
      graph->ambigRef[a] = (Addr)((Word)ref + draw(m, (unsigned)(objectOf(ref)->size - HEADER)));
    graph->ambig[a] = n;
  }
}

static void mutate(Mutator m, Graph graph)
{
  unsigned what = draw(m, 100);

  if (what < 40)
    allocate(m, graph);
  else if (what < 70)
    writeRef(m, graph);
  else if (what < 76)
    hide(m, graph);
  else if (what < 80)
    resurrect(m, graph);
  else if (what < 94)
    changeRoot(m, graph);
  else if (what < 95)
    (void)AMSCollect(pool);
  else
    (void)(AMSStart(pool) == ResOK && AMSStep(pool, draw(m, 3) == 0 ? draw(m, 100) : 0));
}

static void *mutator(void *closure)
{
  Mutator m = closure;
  unsigned i;

  for (;;) {
    pthread_barrier_wait(&barrierBefore);
    if (stopping)
      break;
    if (AMSThreadRegister() != ResOK)
      abort();
    for (i = 0; i < OPS && __atomic_load_n(&wrong, __ATOMIC_RELAXED) == 0; ++i)
      if (draw(m, 8) == 0) {
        pthread_mutex_lock(&sharedMutex);
        mutate(m, &graphs[THREADS]);
        pthread_mutex_unlock(&sharedMutex);
      } else {
        mutate(m, m->own);
      }
    AMSThreadDeregister();
    pthread_barrier_wait(&barrierAfter);
  }
  return NULL;
}

/* ---- The check ---- */

static void checkGraph(Graph graph)
{
  unsigned n, i;

  for (n = 0; n < NODES; ++n) {
    NodeStruct *node = &graph->node[n];
    if (!node->used)
      continue;
    if (graph->reached[n] != (graph->weakRef[n] != NULL)) {
      fault(graph->reached[n] ? "what can be reached is gone" : "what cannot be reached is not gone", idOf(graph, n));
    } else if (!graph->reached[n]) {
      node->used = FALSE;
      --graph->used;
    } else if (look(graph, graph->weakRef[n], (int)n)) {
      for (i = 0; i < node->count; ++i)
        if (objectLoad(objectOf(graph->weakRef[n]), i) != (node->ref[i] >= 0 ? graph->weakRef[node->ref[i]] : NULL))
          fault("a reference is not what was written", idOf(graph, n));
    }
  }
}

/* checkMessages -- all that is registered and out of reach has been posted, and nothing else; but for what is referred
 * to by objects that were posted before, and are kept by their messages */
static void checkMessages(void)
{
  static Word posted[GRAPHS * NODES];
  unsigned g, n, count = 0;
  Addr ref;

  for (g = 0; g < GRAPHS; ++g)
    mirrorReachAll(&graphs[g]);
  while (AMSMessageGet(&ref, pool)) {
    Word id = objectOf(ref)->id;
    Graph graph = &graphs[id / NODES];
    NodeStruct *node = &graph->node[id % NODES];
    if (!node->used || !node->final)
      fault("a message of an object that is not registered", id);
    else if (graph->reached[id % NODES] && !node->again)
      fault("a message of an object that can be reached", id);
    node->final = FALSE;
    posted[count++] = id;
  }
  while (count-- > 0)
    mirrorReach(&graphs[posted[count] / NODES], (int)(posted[count] % NODES));
  for (g = 0; g < GRAPHS; ++g)
    for (n = 0; n < NODES; ++n)
      if (graphs[g].node[n].used && graphs[g].node[n].final && !graphs[g].reached[n])
        fault("no message of an object out of reach", idOf(&graphs[g], n));
}

static void check(void)
{
  AMSStatsStruct stats;
  unsigned g, n;
  Size size = 0;

  if (AMSCollect(pool) != ResOK)
    fault("no collection", 0);
  for (g = 0; g < GRAPHS; ++g) {
    Graph graph = &graphs[g];
    mirrorReachAll(graph);
    for (n = 0; n < NODES; ++n) /* a message keeps its object, and what that refers to */
      if (graph->node[n].used && graph->node[n].final)
        mirrorReach(graph, (int)n);
    checkGraph(graph);
    for (n = 0; n < NODES; ++n)
      if (graph->node[n].used)
        size += objectOf(graph->weakRef[n])->size;
  }
  AMSStatsGet(&stats, pool);
  if (wrong == 0 && stats.allocated != size)
    fault("the pool has other objects, too", stats.allocated - size);
  checkMessages();
  if (!PoolCheck(pool))
    fault("the pool does not pass its check", 0);
}

static void rootsMake(Graph graph)
{
  AMSRoot root;
  unsigned i;

  for (i = 0; i < ROOTS; ++i)
    graph->root[i] = -1;
  for (i = 0; i < AMBIGS; ++i)
    graph->ambig[i] = -1;
  if (AMSRootCreateTable(&root, pool, AMSRankEXACT, graph->rootRef, ROOTS) != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankAMBIG, graph->ambigRef, AMBIGS) != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankWEAK, graph->weakRef, NODES) != ResOK)
    abort();
}

int main(void)
{
  static const PoolParamStruct params[] = { { "queue", 16 } };
  const char *given = getenv("COLLECTIONS");
#if defined(__SANITIZE_THREAD__)
  unsigned long least = 100;
#elif defined(__SANITIZE_ADDRESS__)
  unsigned long least = 3000;
#else
  unsigned long least = 10000;
#endif
  uint64_t seed = TapSeed();
  AMSStatsStruct stats;
  unsigned i;

  if (given != NULL)
    least = strtoul(given, NULL, 0);
  if (ArenaCreate(&arena, ChunkSIZE) != ResOK || AMSCreate(&pool, arena, &format, params, 1) != ResOK)
    abort();
  for (i = 0; i < GRAPHS; ++i)
    rootsMake(&graphs[i]);
  pthread_barrier_init(&barrierBefore, NULL, THREADS + 1);
  pthread_barrier_init(&barrierAfter, NULL, THREADS + 1);
  for (i = 0; i < THREADS; ++i) {
    mutators[i].random = seed * 2654435761u + i * 977 + 1;
    mutators[i].own = &graphs[i];
    if (AMSAPCreate(&mutators[i].ap, pool) != ResOK ||
        pthread_create(&mutators[i].thread, NULL, mutator, &mutators[i]) != 0)
      abort();
  }
  do {
    pthread_barrier_wait(&barrierBefore);
    pthread_barrier_wait(&barrierAfter);
    check();
    AMSStatsGet(&stats, pool);
  } while (wrong == 0 && stats.collections < least);
  stopping = TRUE;
  pthread_barrier_wait(&barrierBefore);
  for (i = 0; i < THREADS; ++i)
    pthread_join(mutators[i].thread, NULL);
  TapOk(wrong == 0, "all that can be reached, and nothing else, survives %lu collections",
        (unsigned long)stats.collections);
  if (wrong != 0)
    printf("# %s\n", wrongWhat);
  TapOk(stats.overflows > 0, "the queue was too short %lu times", (unsigned long)stats.overflows);
#if defined(__SANITIZE_THREAD__)
  TapSkip("ThreadSanitizer holds signals back, so that threads may not stop in time");
#else
  TapIs(stats.abandoned, 0, "each thread could be stopped");
#endif
  TapOk(stats.messages > 0, "%lu objects were finalized", (unsigned long)stats.messages);
  printf("# longest stop %lu us, longest increment %lu us\n", (unsigned long)(stats.stopMaxNs / 1000),
         (unsigned long)(stats.stepMaxNs / 1000));
  PoolDestroy(pool);
  ArenaDestroy(arena);
  return TapDone();
}
