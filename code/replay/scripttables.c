/* scripttables.c -- the file of a script while it is compiled, and the tables that stand at its end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/scripttables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/logfile.h"

/* scriptTablesTemporary -- a file without a name.  Not in memory if that can be helped: it may be larger. */
static int scriptTablesTemporary(void)
{
  const char *folder = getenv("TMPDIR");
  int fd;

  if (folder == NULL || *folder == '\0')
    folder = "/tmp";
  fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    char path[4096];
    snprintf(path, sizeof path, "%s/replay-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
      unlink(path);
  }
  return fd >= 0 ? fd : memfd_create("replay", MFD_CLOEXEC);
}

Res ScriptTablesBegin(ScriptTables tables, const Size *size, Count count)
{
  AVER(count <= ScriptTablesMAX);
  *tables = (ScriptTablesStruct){.fd = scriptTablesTemporary(), .size = size, .count = count};
  return tables->fd >= 0 ? ResOK : ResIO;
}

void ScriptTablesEnd(ScriptTables tables)
{
  Index i;

  for (i = 0; i < tables->count; ++i)
    free(tables->table[i].base);
  close(tables->fd);
}

void *ScriptTablesAdd(ScriptTables tables, unsigned table)
{
  Size size;
  void *new;

  AVER(table < tables->count);
  size = tables->size[table];
  if (!Grow(&tables->table[table].base, &tables->table[table].capacity, tables->table[table].count, size)) {
    tables->res = ResMEMORY;
    return NULL;
  }
  new = (char *)tables->table[table].base + tables->table[table].count++ * size;
  return memset(new, 0, size);
}

void ScriptTablesWrite(ScriptTables tables, const void *data, Size size)
{
  if (tables->res != ResOK)
    return;
  tables->res = FileWriteAt(tables->fd, tables->offset, data, size);
  if (tables->res == ResOK)
    tables->offset += size;
  else
    tables->error = errno;
}
