/* copies.c -- finds processes that a traceset has twice: as they were recorded, and in a copy
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/copies.h"

#include <stdlib.h>

/* A process, and the first one that was the same when it was recorded. */
typedef struct copiesStruct {
  uint64_t
      key; /* they are sorted by it: the identity that the process had then, or, to tell them, the log of `first` */
  Process process, first;
} copiesStruct, *Copies;

/* copiesCompare -- by key, then log, then number */
static int copiesCompare(const void *a, const void *b)
{
  const copiesStruct *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  if (x->process->file != y->process->file)
    return x->process->file < y->process->file ? -1 : 1;
  return x->process->public.number < y->process->public.number ? -1 : 1;
}

/* copiesTake -- the processes of a table that say who they are.  Of collectors nothing is counted. */
static Count copiesTake(Copies twice, Table table)
{
  Count count = 0;
  Index i;

  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (ProcessRecorded(process))
      twice[count++] = (copiesStruct){CopiesOriginal(&process->public.header), process, process};
  }
  return count;
}

/* copiesKeep -- leave only those that are the same as one before; returns how many they are */
static Count copiesKeep(Copies twice, Count count)
{
  Process first = NULL;
  uint64_t original = 0;
  Count kept = 0;
  Index i;

  for (i = 0; i < count; ++i) {
    if (first != NULL && twice[i].key == original) {
      first->twice = twice[i].process->twice = TRUE;
      twice[kept++] = (copiesStruct){first->file, twice[i].process, first};
    } else {
      first = twice[i].process;
      original = twice[i].key;
    }
  }
  return kept;
}

/* copiesTell -- `count` processes of one log are the same as some of another one, or of itself */
static void copiesTell(Reporter reporter, Copies twice, Count count)
{
  const char *path = reporter->paths[twice->process->file];
  unsigned pid = ProcessNumber(twice->process);

  if (twice->first->file == twice->process->file && count == 1)
    ReporterNote(reporter,
                 "%s: process %u is in it twice, once at least as eventcnv -f paw copied it: it counts as two "
                 "processes, and what both have of it twice",
                 path, pid);
  else if (twice->first->file == twice->process->file)
    ReporterNote(reporter,
                 "%s: %zu processes (%u ...) are in it twice, once at least as eventcnv -f paw copied them: each "
                 "counts as two, and what both have of it twice",
                 path, count, pid);
  else if (count == 1)
    ReporterNote(reporter,
                 "%s: process %u is in %s, too, and at least one is a copy by eventcnv -f paw: it counts as two "
                 "processes, and what both have of it twice",
                 path, pid, reporter->paths[twice->first->file]);
  else
    ReporterNote(reporter,
                 "%s: %zu processes (%u ...) are in %s, too, and at least one is a copy by eventcnv -f paw: each "
                 "counts as two, and what both have of it twice",
                 path, count, pid, reporter->paths[twice->first->file]);
}

Res CopiesTell(Reporter reporter, Table table)
{
  Copies twice = malloc((table->processes + 1) * sizeof *twice);
  Count count, n;
  Index i;

  if (twice == NULL)
    return ResMEMORY;
  count = copiesTake(twice, table);
  qsort(twice, count, sizeof *twice, copiesCompare);
  count = copiesKeep(twice, count);
  qsort(twice, count, sizeof *twice, copiesCompare);
  for (i = 0; i < count; i += n) {
    for (n = 1; i + n < count && twice[i].first->file == twice[i + n].first->file &&
                twice[i].process->file == twice[i + n].process->file;)
      ++n;
    copiesTell(reporter, &twice[i], n);
  }
  free(twice);
  return ResOK;
}
