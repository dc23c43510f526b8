/* programfiletest.c -- which files of programs are looked at, and for whom
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
  } else {
    TapOk(made && seenStatic(path, geteuid()), "who is not root looks at what it may read");
  }
  (void)unlink(path);
  (void)rmdir(folder);
  return TapDone();
}
