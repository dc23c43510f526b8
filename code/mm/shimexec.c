/* shimexec.c -- exec and posix_spawn, wrapped: the collector is told which programs the family runs
 *
 * So that one that the library cannot be loaded into, and so says nothing itself, is named all the same.  Nothing else
 * is done, and nothing that a child of vfork may not do.  execl and its kin, system and popen are not seen here: libc
 * calls itself.
 *
 * Design: design/collector.md .family      Tests: test/collect.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>

#include "emit/handoffer.h"

#define SHIM __attribute__((visibility("default")))

/* The functions of libc behind the wrappers.  Looked up at the beginning, because the dynamic loader's lock may be held
 * by nobody who lives, in a child. */
static struct {
  int (*execve)(const char *path, char *const argv[], char *const envp[]);
  int (*execv)(const char *path, char *const argv[]);
  int (*execvp)(const char *name, char *const argv[]);
  int (*execvpe)(const char *name, char *const argv[], char *const envp[]);
  int (*spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
               const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
  int (*spawnp)(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
} shimReal;

__attribute__((constructor(102))) static void shimExecStart(void)
{
  *(void **)&shimReal.execve = dlsym(RTLD_NEXT, "execve");
  *(void **)&shimReal.execv = dlsym(RTLD_NEXT, "execv");
  *(void **)&shimReal.execvp = dlsym(RTLD_NEXT, "execvp");
  *(void **)&shimReal.execvpe = dlsym(RTLD_NEXT, "execvpe");
  *(void **)&shimReal.spawn = dlsym(RTLD_NEXT, "posix_spawn");
  *(void **)&shimReal.spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
}

/* shimNote -- tell of a program, once all is looked up */
static void shimNote(const char *path)
{
  if (shimReal.execve == NULL)
    shimExecStart();
  if (path != NULL)
    HandNote(path);
}

SHIM int execve(const char *path, char *const argv[], char *const envp[])
{
  shimNote(path);
  return shimReal.execve(path, argv, envp);
}

SHIM int execv(const char *path, char *const argv[])
{
  shimNote(path);
  return shimReal.execv(path, argv);
}

SHIM int execvp(const char *name, char *const argv[])
{
  shimNote(name);
  return shimReal.execvp(name, argv);
}

SHIM int execvpe(const char *name, char *const argv[], char *const envp[])
{
  shimNote(name);
  return shimReal.execvpe(name, argv, envp);
}

SHIM int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
  shimNote(path);
  return shimReal.spawn(pid, path, actions, attributes, argv, envp);
}

SHIM int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
  shimNote(name);
  return shimReal.spawnp(pid, name, actions, attributes, argv, envp);
}
