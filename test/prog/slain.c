/* slain.c -- a program, or a family of them, that is killed at any moment; what it has emitted it says in a file, too
 *
 *     slain COUNTS MODE THREADS FOLDER
 *
 * COUNTS  a file of slainSIZE bytes, or `:` and the number of a descriptor of it: how many rows there are, a word that
 *         is not 0 when all are to end, and rows of four words (slainRow).  A thread takes a row, r, and emits UserWord
 *         (r, 0), (r, 1) ..., and behind each PoolAlloc of slainOBJECT + r * slainTURN + i % slainTURN bytes.
 * MODE    threads; family: forks, and programs that follow each other; nobody: the same as another user; chroot, mount:
 *         forks in another root folder, which is FOLDER, or with other file systems in the place of /dev/shm and FOLDER
 *
 * Tests: test/collect/kills.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/types.h"

enum {
  slainSIZE = 4096,
  slainROWS = 120, /* the first row is no thread's */
  slainOBJECT = 2048,
  slainTURN = 512,
  slainTHREADS = 64,
  slainNOBODY = 65534,
  slainDESCRIPTOR = 100
};

typedef struct SlainRowStruct {
  uint64_t pid, words, objects, unused;
} SlainRowStruct, *SlainRow;

extern char **environ;

static void (*slainWord)(uintptr_t id, uintptr_t value); /* EventUserWord, where the library is */
static SlainRow slainRow;                                /* [0]: rows in use, end */
static char *slainArgument[6];

/* slainEnds -- is the program to end? */
static Bool slainEnds(void)
{
  return __atomic_load_n(&slainRow[0].words, __ATOMIC_RELAXED) != 0;
}

/* slainEmit -- the next event of each kind */
static void slainEmit(SlainRow row, uint64_t i)
{
  uintptr_t r = (uintptr_t)(row - slainRow);
  void *volatile object;

  slainWord(r, i);
  __atomic_store_n(&row->words, i + 1, __ATOMIC_RELEASE);
  object = malloc(slainOBJECT + r * slainTURN + i % slainTURN);
  __atomic_store_n(&row->objects, i + 1, __ATOMIC_RELEASE);
  free(object);
}

/* slainRun -- a thread: bursts, and naps between them */
static void *slainRun(void *most)
{
  uint64_t i, row = __atomic_add_fetch(&slainRow[0].pid, 1, __ATOMIC_RELAXED), random = row * 0x9e3779b97f4a7c15u + 1;
  struct timespec time = {0, 100000};

  if (row >= slainROWS)
    return NULL;
  slainRow[row].pid = (uint64_t)getpid();
  for (i = 0; i < (uintptr_t)most && !slainEnds(); ++i) {
    slainEmit(&slainRow[row], i);
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (random >> 57 == 0)
      nanosleep(&time, NULL);
  }
  return NULL;
}

/* slainThreads -- so many, until all are to end or each has emitted so much */
static void slainThreads(unsigned threads, uintptr_t most)
{
  pthread_t thread[slainTHREADS];
  unsigned i, begun;

  for (begun = 0; begun < threads && begun < slainTHREADS; ++begun)
    if (pthread_create(&thread[begun], NULL, slainRun, (void *)most) != 0)
      break;
  for (i = 0; i < begun; ++i)
    pthread_join(thread[i], NULL);
}

/* slainAgain -- be this program once more, while a thread is at work */
static void slainAgain(void)
{
  pthread_t thread;

  if (__atomic_load_n(&slainRow[0].pid, __ATOMIC_RELAXED) > slainROWS / 2 || slainEnds())
    return;
  if (pthread_create(&thread, NULL, slainRun, (void *)UINTPTR_MAX) == 0)
    usleep(3000);
  execv("/proc/self/exe", slainArgument);
}

/* slainChildren -- some that fork, some that become another program, some that end soon */
static void slainChildren(Bool programs)
{
  static char path[] = "/proc/self/exe";
  pid_t child;
  unsigned i;

  for (i = 0; i < 3; ++i) {
    child = fork();
    if (child == 0) {
      slainThreads(1, 200 * (i + 1));
      if (programs && i == 1)
        slainAgain();
      if (fork() == 0)
        slainThreads(1, UINTPTR_MAX);
      slainThreads(1, i == 0 ? 300 : UINTPTR_MAX);
      _exit(0);
    }
  }
  if (programs)
    (void)posix_spawn(&child, path, NULL, NULL, slainArgument, environ);
}

/* slainElsewhere -- what the mode asks for, after the first events */
static void slainElsewhere(const char *mode, const char *folder)
{
  if (strcmp(mode, "nobody") == 0 && (setgid(slainNOBODY) != 0 || setuid(slainNOBODY) != 0))
    _exit(3);
  if (strcmp(mode, "chroot") == 0 && (chroot(folder) != 0 || chdir("/") != 0))
    _exit(3);
  if (strcmp(mode, "mount") == 0 &&
      (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
       mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0 || mount("none", folder, "tmpfs", 0, NULL) != 0))
    _exit(3);
}

int main(int argc, char **argv)
{
  static char where[] = ":100", family[] = "threads";
  const char *mode = argc > 4 ? argv[2] : "";
  int fd;

  if (argc < 5)
    return 2;
  fd = argv[1][0] == ':' ? atoi(argv[1] + 1) : dup2(open(argv[1], O_RDWR), slainDESCRIPTOR);
  slainRow = mmap(NULL, slainSIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *(void **)&slainWord = dlsym(RTLD_DEFAULT, "EventUserWord");
  if (slainRow == MAP_FAILED || slainWord == NULL)
    return 2;
  slainArgument[0] = argv[0];
  slainArgument[1] = where;
  slainArgument[2] = family;
  slainArgument[3] = argv[3];
  slainArgument[4] = argv[4];
  slainThreads(1, 100);
  slainElsewhere(mode, argv[4]);
  if (strcmp(mode, "threads") != 0)
    slainChildren(strcmp(mode, "family") == 0 || strcmp(mode, "nobody") == 0);
  slainThreads((unsigned)atoi(argv[3]), UINTPTR_MAX);
  while (wait(NULL) > 0)
    ;
  return 0;
}
