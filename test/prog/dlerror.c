/* dlerror.c -- a lookup fails, or not, a function is called for the first time, and then dlerror says what it says
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Usage: dlerror NAME SYMBOL -- NAME of calls[], SYMBOL that is looked for.  Without arguments it prints the names.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const struct timespec past;

static void *nothing(void *closure)
{
  return closure;
}

static void callThread(void)
{
  pthread_t thread;

  if (pthread_create(&thread, NULL, nothing, NULL) == 0)
    pthread_join(thread, NULL);
}

static void callCond(void)
{
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&cond, &mutex, &past);
  pthread_mutex_unlock(&mutex);
}

static void callFork(void)
{
  pid_t pid = fork();

  if (pid == 0)
    _exit(0);
  waitpid(pid, NULL, 0);
}

static void callSpawn(void)
{
  char *argv[] = {(char *)"true", NULL};
  pid_t pid;

  if (posix_spawnp(&pid, "true", NULL, NULL, argv, NULL) == 0)
    waitpid(pid, NULL, 0);
}

static void callExec(void)
{
  char *argv[] = {NULL};

  execv("/nothing/is/here", argv);
}

static void callMremap(void)
{
  void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  p = mremap(p, 4096, 8192, MREMAP_MAYMOVE);
  munmap(p, 8192);
}

static void callAligned(void)
{
  void *p;

  if (posix_memalign(&p, 64, 10) == 0)
    free(p);
  free(memalign(64, 10));
  free(aligned_alloc(64, 64));
}

static void callUsable(void)
{
  void *p = malloc(1);

  if (malloc_usable_size(p) > 0)
    free(p);
}

static void callMap(void)
{
  munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}

static void callBreak(void)
{
  (void)!sbrk(64);
}

static void callControl(void)
{
  prctl(PR_GET_DUMPABLE);
}

static void callDescriptors(void)
{
  close(dup2(1, 20));
}

static void callLock(void)
{
  pthread_rwlock_rdlock(&rwlock);
}

static void callArray(void)
{
  free(reallocarray(NULL, 3, 4));
}

static const struct {
  const char *name;
  void (*call)(void);
} calls[] = {
  {"pthread_create", callThread}, {"pthread_cond_timedwait", callCond}, {"pthread_rwlock_rdlock", callLock},
  {"fork", callFork}, {"posix_spawn", callSpawn}, {"execv", callExec}, {"mremap", callMremap}, {"mmap", callMap},
  {"sbrk", callBreak}, {"prctl", callControl}, {"dup2", callDescriptors}, {"aligned_alloc", callAligned},
  {"malloc_usable_size", callUsable}, {"reallocarray", callArray},
};

int main(int argc, char **argv)
{
  const char *message;
  unsigned i;

  if (argc == 3)
    (void)!dlsym(RTLD_DEFAULT, argv[2]);
  for (i = 0; i < sizeof calls / sizeof calls[0]; ++i)
    if (argc != 3)
      puts(calls[i].name);
    else if (strcmp(calls[i].name, argv[1]) == 0)
      calls[i].call();
  if (argc != 3)
    return 0;
  message = dlerror();
  puts(message != NULL ? message : "nothing");
  return 0;
}
