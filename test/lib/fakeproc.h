/* fakeproc.h -- a folder that looks like /proc, as far as the collector reads it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_FAKEPROC_H
#define TEST_FAKEPROC_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fakeRoot[] = "/tmp/pawprint-fakeproc-XXXXXX";

/* FakeFile -- write a file below the root, printf-style, in place */
__attribute__((format(printf, 2, 3), unused)) static void FakeFile(const char *path, const char *format, ...)
{
  char whole[256];
  va_list args;
  FILE *out;

  (void)snprintf(whole, sizeof whole, "%s/%s", fakeRoot, path);
  out = fopen(whole, "w");
  if (out == NULL) {
    perror(whole);
    exit(1);
  }
  va_start(args, format);
  (void)vfprintf(out, format, args);
  va_end(args);
  (void)fclose(out);
}

__attribute__((unused)) static void FakeFolder(const char *path)
{
  char whole[256];

  (void)snprintf(whole, sizeof whole, "%s/%s", fakeRoot, path);
  (void)mkdir(whole, 0755);
}

__attribute__((unused)) static void FakeRemove(const char *path)
{
  char command[300];

  (void)snprintf(command, sizeof command, "rm -rf %s/%s", fakeRoot, path);
  if (system(command) != 0)
    exit(1);
}

/* What a stat file says that matters to us. */
typedef struct FakeStruct {
  const char *name;
  char state;
  unsigned parent, threads;
  unsigned long long minor, major, user, system, start, virtual, resident, stack, disk, exit;
} FakeStruct;

/* FakeStat -- a stat file: of the process, or of one thread of it */
__attribute__((unused)) static void FakeStat(unsigned pid, unsigned tid, const FakeStruct *fake)
{
  char path[64];

  (void)snprintf(path, sizeof path, "%u", pid);
  FakeFolder(path);
  if (tid != 0) {
    (void)snprintf(path, sizeof path, "%u/task", pid);
    FakeFolder(path);
    (void)snprintf(path, sizeof path, "%u/task/%u", pid, tid);
    FakeFolder(path);
    (void)snprintf(path, sizeof path, "%u/task/%u/stat", pid, tid);
  } else {
    (void)snprintf(path, sizeof path, "%u/stat", pid);
  }
  FakeFile(path, "%u (%s) %c %u 1 1 0 -1 4194560 %llu 9 %llu 9 %llu %llu 0 0 20 0 %u 0 %llu %llu %llu "
                 "18446744073709551615 1 1 %llu 0 0 0 0 4096 81920 0 0 0 17 3 0 0 %llu 0 0 0 0 0 0 0 0 0 %llu\n",
           tid != 0 ? tid : pid, fake->name, fake->state, fake->parent, fake->minor, fake->major, fake->user,
           fake->system, fake->threads, fake->start, fake->virtual, fake->resident, fake->stack, fake->disk,
           fake->exit);
}

/* FakeLink -- /proc/PID/exe */
__attribute__((unused)) static void FakeLink(unsigned pid, const char *program)
{
  char path[300];

  (void)snprintf(path, sizeof path, "%s/%u/exe", fakeRoot, pid);
  (void)unlink(path);
  if (symlink(program, path) != 0)
    exit(1);
}

/* FakeNewest -- the newest process or thread of the system */
__attribute__((unused)) static void FakeNewest(unsigned pid)
{
  FakeFile("loadavg", "0.00 0.01 0.05 1/82 %u\n", pid);
}

__attribute__((unused)) static void FakeBegin(void)
{
  if (mkdtemp(fakeRoot) == NULL)
    exit(1);
}

__attribute__((unused)) static void FakeEnd(void)
{
  FakeRemove("");
}

#endif /* TEST_FAKEPROC_H */
