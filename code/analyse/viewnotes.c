/* viewnotes.c -- what a view of the heap cannot know
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/viewnotes.h"

#include <string.h>

#include "base/text.h"
#include "callers/sitelines.h"
#include "export/jsondocument.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

typedef struct notesStruct {
  LogSummaryStruct log;
  HeapTallyStruct tally;
  HeapOffStruct off;
  uint64_t doubt; /* objects that children of fork may have more or fewer */
  Count late;     /* children that were made past the library */
} notesStruct, *Notes;

static void notesMake(Notes notes, Log log, Heap heap)
{
  HeapSeenStruct seen;
  Index i;

  *notes = (notesStruct){.doubt = 0};
  LogSummarize(&notes->log, log);
  HeapTallySum(&notes->tally, heap, NULL);
  notes->off = HeapOff(heap, NULL);
  for (i = 0; i < notes->log.processes; ++i) {
    LogProcess process = LogProcessAt(log, i);
    if (!HeapLook(&seen, heap, i))
      continue;
    notes->doubt += seen.doubt;
    notes->late += HeaderTimesParent(log, process) != NULL && HeapForkLate(process);
  }
}

void ViewNotesCount(FILE *out, const char *name, uint64_t n, const char *one, const char *many)
{
  if (n > 0)
    fprintf(out, "%-14s %llu %s\n", name, (unsigned long long)n, n == 1 ? one : many);
}

/* notesInterprets -- what is not shown of one of the programs, if it is an interpreter by its name; NULL: none is.
 * Those come first that compile code at run time, which is shown if they say in a file what it is. */
static const char *notesInterprets(Log log)
{
  static const char *const names[] = {"node", "java", "python", "perl", "ruby", "php", "lua", "Rscript", "guile"};
  enum { compilers = 2 };
  Index i, j;

  for (j = 0; j < ARRAY_LENGTH(names); ++j)
    for (i = 0; i < LogProcesses(log); ++i) {
      const char *program = LogProcessAt(log, i)->header.program, *slash = strrchr(program, '/');
      if (strncmp(slash != NULL ? slash + 1 : program, names[j], strlen(names[j])) == 0)
        return j < compilers ? "what is interpreted is not shown; what is compiled at run time needs a perf-PID.map"
                             : "the frames of a language that is interpreted are not shown";
    }
  return NULL;
}

/* notesCallers -- what is known of callers */
static void notesCallers(FILE *out, ViewHeap shared)
{
  ViewCallers callers = ViewHeapCallers(shared);
  const char *lacks = notesInterprets(shared->log);

  if (callers != ViewCallersSTACKS && shared->nowhere)
    fprintf(out, "callers        %s\n", callers == ViewCallersNONE
            ? "none lay in the module or the addresses of eventrec -r; eventrec -s 16 records all of them"
            : "are the first in the module or the addresses of eventrec -r; of the others none lay there");
  else if (callers == ViewCallersNONE)
    fputs("callers        were not recorded: eventrec -s 16 records stacks, -s 1 the immediate callers\n", out);
  else if (callers == ViewCallersSITES)
    fputs("callers        are those that called malloc themselves (-s 1); eventrec -s 16 records who called these\n",
          out);
  else if (lacks != NULL)
    fprintf(out, "stacks         are those of machine code: %s\n", lacks);
  ViewNotesCount(out, "too many", shared->numbers.more, "site found no place: it is not known",
                 "times a site found no place: it is not known");
}

void ViewNotesText(FILE *out, ViewHeap shared, Bool callers)
{
  if (callers && HeapObjectTypes(shared->heap) > 0)
    notesCallers(out, shared);
  ViewNotesHeapText(out, shared->log, shared->heap);
}

/* notesStacks -- allocations and resizes by what their stacks lack: inner callers, outer ones, or what is not known */
static void notesStacks(uint64_t counts[CodeNOWHERE], ViewHeap shared)
{
  uint32_t number;

  memset(counts, 0, CodeNOWHERE * sizeof *counts);
  for (number = 1; number < shared->book.count; ++number) {
    uint64_t what = CodeNamesLacks(shared->names, SiteNumbersAt(&shared->numbers, number));
    SiteLineStruct line = SiteLineOf(&shared->book, number);
    if (what < CodeNOWHERE)
      counts[what] += SiteLineCalls(&line);
  }
}

void ViewNotesStacksText(FILE *out, ViewHeap shared)
{
  uint64_t counts[CodeNOWHERE];

  notesStacks(counts, shared);
  ViewNotesCount(out, "broken stacks", counts[CodeBROKEN],
                 "allocation or resize: where its stack ends the code has no usable unwind information",
                 "allocations and resizes: where their stacks end the code has no usable unwind information");
  ViewNotesCount(out, "short stacks", counts[CodeSHORT],
                 "allocation or resize: its inner callers are missing, because the process had a million frames",
                 "allocations and resizes: their inner callers are missing, because the process had a million frames");
  ViewNotesCount(out, "lost stacks", counts[CodeUNKNOWN],
                 "allocation or resize: its stack is not in the log, or a signal came while it was walked",
                 "allocations and resizes: their stacks are not in the log, or a signal came while they were walked");
}

void ViewNotesStacksJson(FILE *out, ViewHeap shared)
{
  uint64_t counts[CodeNOWHERE];

  notesStacks(counts, shared);
  fprintf(out, "\"stacks_broken\": %llu, \"stacks_short\": %llu, \"stacks_lost\": %llu, ",
          (unsigned long long)counts[CodeBROKEN], (unsigned long long)counts[CodeSHORT],
          (unsigned long long)counts[CodeUNKNOWN]);
}

void ViewNotesHeapText(FILE *out, Log log, Heap heap)
{
  notesStruct notes;

  notesMake(&notes, log, heap);
  if (HeapObjectTypes(heap) == 0)
    fputs("no Object events: nothing is known of allocations\n", out);
  AskedText(out, &notes.log);
  HeapOffText(out, &notes.off, notes.log.first);
  ViewNotesCount(out, "unmatched", notes.tally.unmatched + notes.tally.early,
                 "free or resize of what was never seen allocated: not counted",
                 "frees and resizes of what was never seen allocated: not counted");
  ViewNotesCount(out, "overlaps", notes.tally.overlaps,
                 "allocation where an object lived: that one's free is not in the log",
                 "allocations where an object lived: those ones' frees are not in the log");
  ViewNotesCount(out, "in doubt", notes.doubt, "object at most, more or less, that a child of fork had from its parent",
                 "objects at most, more or less, that children of fork had from their parents");
  ViewNotesCount(out, "by clone", notes.late,
                 "child made past the library: it is taken to have had what its parent had at its first event",
                 "children made past the library: they are taken to have had what their parents had at their first "
                 "events");
  ViewNotesCount(out, "forgotten", notes.tally.forgotten, "child of fork whose objects from its parent are not counted",
                 "children of fork whose objects from their parents are not counted");
  ViewNotesCount(out, "discarded", notes.log.discarded, "event", "events");
  if (notes.log.gaps > 0)
    fprintf(out, "damage         %llu place%s, %llu event%s lost\n", (unsigned long long)notes.log.gaps,
            TextPlural(notes.log.gaps), (unsigned long long)notes.log.lost, TextPlural(notes.log.lost));
}

void ViewNotesJson(FILE *out, ViewHeap shared)
{
  static const char *const callers[] = {"none", "sites", "stacks"};

  fprintf(out, "\"callers\": \"%s\", ", callers[ViewHeapCallers(shared)]);
  ViewNotesHeapJson(out, shared->log, shared->heap);
}

void ViewNotesHeapJson(FILE *out, Log log, Heap heap)
{
  notesStruct notes;

  notesMake(&notes, log, heap);
  fprintf(out, "\"objects_known\": %s, ", HeapObjectTypes(heap) > 0 ? "true" : "false");
  AskedJson(out, &notes.log);
  fputs(", ", out);
  HeapOffJson(out, &notes.off);
  fprintf(out, ",\n \"unmatched\": %llu, \"early\": %llu, \"overlaps\": %llu, \"repairs\": %llu, "
          "\"inherited_in_doubt\": %llu, \"inherited_by_clone\": %zu, \"forgotten\": %llu, \"discarded\": %llu, "
          "\"gaps\": %llu, \"lost\": %llu",
          (unsigned long long)notes.tally.unmatched, (unsigned long long)notes.tally.early,
          (unsigned long long)notes.tally.overlaps, (unsigned long long)notes.tally.repairs,
          (unsigned long long)notes.doubt, notes.late, (unsigned long long)notes.tally.forgotten,
          (unsigned long long)notes.log.discarded, (unsigned long long)notes.log.gaps,
          (unsigned long long)notes.log.lost);
}
