/* programfiletest.c -- which files of programs are looked at, and for whom
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collect/programfile.h"
#include "tap.h"

enum { someUSER = 65533 };

/* makeStatic -- a program for which no dynamic loader is asked, which everybody may read */
static Bool makeStatic(const char *path)
{
  struct {
    ElfW(Ehdr) elf;
    ElfW(Phdr) segment;
  } file = {
    .elf = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
                  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
      .e_type = ET_EXEC, .e_version = EV_CURRENT, .e_phoff = sizeof file.elf, .e_ehsize = sizeof file.elf,
      .e_phentsize = sizeof file.segment, .e_phnum = 1, .e_shentsize = sizeof(ElfW(Shdr)),
    },
    .segment = {.p_type = PT_LOAD},
  };
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  Bool made = fd >= 0 && write(fd, &file, sizeof file) == (ssize_t)sizeof file;

  if (fd >= 0)
    (void)close(fd);
  return made;
}

static Bool seenStatic(const char *path, uid_t user)
{
  Size left = ProgramBytesMAX;
  const char *reason = ProgramUnseen(path, user, &left);

  return reason != NULL && ProgramStatic(reason);
}

/* makeCapable -- a copy of ourselves with one capability, that it may have or may inherit; FALSE: not here */
static Bool makeCapable(const char *path, unsigned flags, Bool permitted)
{
  struct vfs_cap_data caps = {.magic_etc = htole32(VFS_CAP_REVISION_2 | flags)};
  int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  Bool made;

  if (permitted)
    caps.data[0].permitted = htole32(1u << CAP_NET_RAW);
  else
    caps.data[0].inheritable = htole32(1u << CAP_NET_RAW);
  while (sendfile(to, from, NULL, 1 << 20) > 0)
    ;
  made = fchmod(to, 0755) == 0 && fsetxattr(to, "security.capability", &caps, sizeof caps, 0) == 0;
  (void)close(from);
  (void)close(to);
  return made;
}

static Bool seenCapable(const char *path, uid_t user)
{
  Size left = ProgramBytesMAX;
  const char *reason = ProgramUnseen(path, user, &left);

  return reason != NULL && strstr(reason, "file capabilities") != NULL;
}

/* testCapable -- who is root has nothing to gain by a file's capabilities, and is given the library */
static void testCapable(const char *path)
{
  if (!makeCapable(path, VFS_CAP_FLAGS_EFFECTIVE, TRUE)) {
    TapSkip("no capabilities for files here");
    return;
  }
  TapOk(seenCapable(path, someUSER), "a program with file capabilities takes no library from another user");
  TapOk(!seenCapable(path, 0), "but from root");
  TapOk(makeCapable(path, 0, TRUE) && seenCapable(path, someUSER), "also if they are not in effect at once");
  TapOk(makeCapable(path, 0, FALSE) && !seenCapable(path, someUSER), "and those that it would only inherit are none");
}

int main(void)
{
  char folder[] = "/tmp/pawprint-program-XXXXXX", path[64];
  Bool made = mkdtemp(folder) != NULL;

  (void)snprintf(path, sizeof path, "%s/program", folder);
  made = made && makeStatic(path);
  if (made && geteuid() == 0) {
    (void)chmod(folder, 0755);
    TapOk(seenStatic(path, 0), "root looks at a program that root has named");
    TapOk(seenStatic(path, someUSER) && seenStatic(path, ProgramANYBODY),
          "and at one that another user has named, who may read it");
    (void)chmod(folder, 0700);
    TapOk(seenStatic(path, 0), "where only root may search the folder root's own is looked at");
    TapOk(!seenStatic(path, someUSER) && !seenStatic(path, ProgramANYBODY),
          "and not another user's, though its mode lets everybody read it");
    (void)chmod(folder, 0755);
    (void)chmod(path, 0711);
    TapOk(!seenStatic(path, someUSER) && seenStatic(path, 0), "nor what another user may only run");
    TapOk(geteuid() == 0 && access("/root", W_OK) == 0, "and root is root again");
    testCapable(path);
  } else {
    TapOk(made && seenStatic(path, geteuid()), "who is not root looks at what it may read");
  }
  (void)unlink(path);
  (void)rmdir(folder);
  return TapDone();
}
