/* amiss.c -- calls with pointers, sizes and times that are none: prints what each gives
 *
 * Every function that the library wraps and that looks at what it is given is here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SAY(call) \
  do { \
    long result_; \
    errno = 0; \
    result_ = (long)(call); \
    printf("%s: %ld, errno %d\n", #call, result_, errno); \
  } while (0)

static char *volatile nowhere = (char *)16;
static char *volatile end; /* of the last page that may be read: 20 letters in front of it, and no end of a string */

static void programs(void)
{
  char word[] = "true", *arguments[] = {word, NULL}, *environment[] = {NULL}, *strays[] = {nowhere, end - 20, NULL};
  int file = open("/bin/true", O_RDONLY | O_CLOEXEC);
  pid_t pid;

  SAY(execve(nowhere, arguments, environment));
  SAY(execv(nowhere, arguments));
  SAY(execve(end - 20, arguments, environment));
  SAY(execve(end, arguments, environment));
  SAY(execve("/nowhere/at/all", (char **)nowhere, environment));
  SAY(execve("/bin/true", (char **)nowhere, environment));
  SAY(execve("/bin/true", arguments, (char **)nowhere));
  SAY(execve("/bin/true", arguments, (char **)(end - sizeof(char *))));
  SAY(execve("/bin/true", arguments, strays));
  SAY(execvpe("true", arguments, (char **)nowhere));
  SAY(execveat(AT_FDCWD, nowhere, arguments, environment, 0));
  SAY(execveat(AT_FDCWD, end - 20, arguments, environment, 0));
  SAY(execveat(file, "", arguments, (char **)nowhere, AT_EMPTY_PATH));
  SAY(execveat(file, nowhere, arguments, environment, AT_EMPTY_PATH));
  SAY(execveat(987, "x", arguments, environment, 0));
  SAY(fexecve(987, arguments, environment));
  SAY(fexecve(file, arguments, (char **)nowhere));
  SAY(fexecve(file, (char **)nowhere, environment));
  (void)close(file);
  SAY(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, (char **)nowhere));
  SAY(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, strays));
  SAY(posix_spawnp(&pid, "true", NULL, NULL, arguments, (char **)nowhere));
  SAY(posix_spawn(&pid, nowhere, NULL, NULL, arguments, environment));
  SAY(posix_spawn(&pid, end - 20, NULL, NULL, arguments, environment));
  SAY(posix_spawnp(&pid, "no-such-program-at-all", NULL, NULL, arguments, environment));
}

static void names(void)
{
  char name[17] = "";

  SAY(prctl(PR_SET_NAME, nowhere));
  SAY(prctl(PR_SET_NAME, end - 20));
  SAY(prctl(PR_GET_NAME, name));
  puts(name);
  SAY(prctl(PR_SET_NAME, end - 15));
  SAY(prctl(PR_SET_NAME, end - 3));
  SAY(prctl(PR_GET_NAME, nowhere));
  SAY(prctl(123456, 1, 2, 3, 4));
  SAY(pthread_setname_np(pthread_self(), "longer than a name may be"));
  SAY(pthread_setname_np(pthread_self(), "fits"));
}

static void maps(void)
{
  SAY(munmap(nowhere, 4096));
  SAY(munmap(end, 0));
  SAY(munmap((char *)(UINTPTR_MAX & ~(uintptr_t)65535), 65536));
  SAY(munmap((char *)65536, SIZE_MAX & ~(size_t)65535));
  SAY(mremap(nowhere, 4096, 8192, 0));
  SAY(mremap((char *)65536, 4096, 8192, MREMAP_MAYMOVE));
  SAY(mremap(end - 4096, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, nowhere));
  SAY(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 987654, 0));
  SAY(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 7));
  SAY(mmap(nowhere, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  SAY(brk((void *)1));
#if defined(MREMAP_DONTUNMAP) /* the place is a hint, as in mmap */
  {
    char *hint = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *old = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)syscall(SYS_munmap, hint, 65536); /* which is not told */
    SAY(mremap(old, 4096, 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, hint + 4096) == hint + 4096);
  }
#endif
}

/* Threads give up the place of their own handle before pthread_create has returned. */
static void *gives(void *place)
{
  (void)syscall(SYS_munmap, place, 4096);
  return NULL;
}

static void threads(void)
{
  pthread_attr_t detached;
  struct stat tasks;
  int i, begun = 0;

  (void)pthread_attr_init(&detached);
  (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (i = 0; i < 300; ++i) {
    pthread_t *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *volatile same = place;
    begun += place != MAP_FAILED && pthread_create(place, &detached, gives, same) == 0;
  }
  SAY(begun);
  /* What a thread has in hand when the process ends stays in shared memory, and would be left there. */
  for (i = 0; i < 1000 && stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3; ++i)
    (void)usleep(10000);
}

/* A filter answers that there is no faccessat, whatever the pointer is. */
static void filtered(void)
{
  struct sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  char word[] = "true", *arguments[] = {word, NULL}, *environment[] = {NULL};

  SAY(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  SAY(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
  SAY(execve(nowhere, arguments, environment));
  SAY(execve(end - 20, arguments, environment));
  SAY(execve("/nowhere/at/all", arguments, environment));
  SAY(execvp("no-such-program-at-all", arguments));
}

static void times(void)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  const struct timespec *volatile none = NULL;
  struct timespec odd = {1, 2000000000}, below = {1, -1}, past = {1, 0};
  sem_t sem;

  SAY(sem_init(&sem, 0, UINT32_MAX));
  SAY(sem_init(&sem, 0, 5));
  SAY(sem_timedwait(&sem, &odd));
  SAY(sem_timedwait(&sem, &past));
  SAY(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &past));
  SAY(sem_clockwait(&sem, CLOCK_MONOTONIC, &below));
  SAY(sem_clockwait(&sem, CLOCK_MONOTONIC, &past));
  SAY(pthread_rwlock_timedrdlock(&lock, &odd));
  SAY(pthread_rwlock_timedwrlock(&lock, &below));
  SAY(pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past));
  SAY(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past));
  SAY(pthread_rwlock_timedrdlock(&lock, &past));
  SAY(pthread_rwlock_timedwrlock(&lock, none)); /* which are no limits: this thread has the lock */
  SAY(pthread_rwlock_timedrdlock(&lock, none));
  SAY(pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, none));
  SAY(pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, none));
  SAY(pthread_rwlock_unlock(&lock));
  SAY(pthread_mutex_timedlock(&mutex, (struct timespec *)nowhere));
  SAY(pthread_mutex_timedlock(&mutex, &odd));
  SAY(pthread_mutex_timedlock(&mutex, &past));
  SAY(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
  SAY(pthread_cond_timedwait(&cond, &mutex, &odd));
  SAY(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
  SAY(pthread_cond_timedwait(&cond, &mutex, &past));
  SAY(pthread_mutex_unlock(&mutex));
  SAY(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
  SAY(pthread_barrier_init((pthread_barrier_t *)&cond, NULL, 0));
}

int main(void)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
    return 1;
  end = pages + page;
  memset(end - 20, 'x', 20);
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
  programs();
  names();
  maps();
  times();
  threads();
  filtered();
  return 0;
}
