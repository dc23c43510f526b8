/* rewritehead.h -- a log that is written again: its header blocks
 *
 * A process's header comes before its first block, again every few MiB, and at the end.  The lines of a registry, most
 * of a header's bytes, stand in the first one that needs them, again every few MiB, and in one at the end; the other
 * headers name it.  The one at the end says how many blocks there should be.  So each thing stands there twice at
 * least, and whichever is damaged another serves.
 *
 * Always true (RewriteHeadsCheck): the salt is not 0; headers and lines of registries stand within what was written; a
 * process without a header has no place for one.
 *
 * Design: design/log.md .rewrite.head      Tests: test/log/headtest.c, test/log/logwhotest.c,
 * test/export/exportchecktest.c
 */
#ifndef EXPORT_REWRITEHEAD_H
#define EXPORT_REWRITEHEAD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/output.h"
#include "log/table.h"

enum { RewriteHeadEACH = 4 << 20 }; /* bytes between two headers of a process, and two copies of a registry */

/* A process. */
typedef struct RewriteHeadStruct {
  Bool headed;             /* it has a header in the log, */
  uint64_t since;          /* so far from its beginning */
  uint64_t lost;           /* events that were discarded, and that no block of it counts */
  uint64_t older, kept;    /* events that its streams lack on purpose, and the ticks from which on they do not */
} RewriteHeadStruct, *RewriteHead;

/* A registry. */
typedef struct RewriteTypesStruct {
  RegistryNameStruct name; /* of no length: its lines must come */
  uint64_t since;          /* where they came last */
} RewriteTypesStruct, *RewriteTypes;

typedef struct RewriteHeadsStruct {
  Table table;
  Output out;              /* not owned; nothing but this log is written to it */
  uint64_t salt;           /* makes identities new, and is the copy's */
  uint64_t processes;      /* that have a header in the log, besides collectors: known at the end */
  Bool later, earlier;     /* the new log begins later, or ends earlier: which kinds were off before, or then, is
                              nothing to it */
  uint64_t lacks;          /* for closing header blocks: what is written from lacked so many events, or more */
  RewriteHead head;        /* by process's number */
  RewriteTypes types;      /* by number in the tree */
  Header header;           /* the one that is written, */
  char *room;              /* and its text */
} RewriteHeadsStruct, *RewriteHeads;

/* RewriteHeadsInit -- ResMEMORY, and finish it all the same */
extern Res RewriteHeadsInit(RewriteHeads heads, Table table, Output out);
extern void RewriteHeadsFinish(RewriteHeads heads);

extern Bool RewriteHeadsCheck(RewriteHeads heads);

/* RewriteHeadsIdentity -- which identity a process has in the new log */
extern uint64_t RewriteHeadsIdentity(RewriteHeads heads, LogProcess process);

/* RewriteHeadsWrite -- a process's header block
 * RewriteHeadsBefore -- the same, if there is none yet near enough before what is written next
 * RewriteHeadsEnd -- the lines of each registry again; if there were no header blocks, those of all processes
 * RewriteHeadsClose -- behind that: a process's closing header block, with `n` streams */
extern void RewriteHeadsWrite(RewriteHeads heads, Process process);
extern void RewriteHeadsBefore(RewriteHeads heads, Process process);
extern void RewriteHeadsEnd(RewriteHeads heads);
extern void RewriteHeadsClose(RewriteHeads heads, Process process, HeaderStream stream, Count n);

#endif /* EXPORT_REWRITEHEAD_H */
