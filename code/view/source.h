/* source.h -- the logs that a tool reads: opened, filtered, and what is wrong with them told
 *
 * What tools that give events a meaning have in common: the options that choose events, the refusal of a registry that
 * is newer than this build, and one line on standard error for each gap.  A tool's own state begins with a
 * SourceStruct, and is the `data` of the request's hooks.
 *
 * Design: design/view.md .source      Tests: test/eventview.t
 */
#ifndef VIEW_SOURCE_H
#define VIEW_SOURCE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/option.h"
#include "log/filter.h"
#include "log/follow.h"
#include "log/names.h"
#include "log/request.h"

typedef struct SourceStruct {
  const OptionToolStruct *tool;
  const char *kinds, *events, *from, *to; /* as the options give them, or NULL */
  const char *expression;                 /* of --filter, or NULL */
  const char *offset;                     /* of --offset, or NULL */
  Count count;
  Bool force;                             /* a newer median is no reason to refuse */
  void (*aside)(void *source);            /* called before a line is told, while the tool writes something else; or
                                             NULL */
  void (*progress)(void *source, uint64_t done, uint64_t total); /* as LogHooksStruct has it; or NULL */
  void (*scanning)(void *source, uint64_t done, uint64_t total); /* the same */
  LogIdleStruct follow;                   /* follow the log, which is one, and call this meanwhile; idle NULL: do not */
  int64_t *offsets;                       /* what that means, for each log */
  Log log;
  LogNames names;                         /* the types chosen, or NULL */
  Filter filter;                          /* what the expression means, or NULL */
  LogRequestStruct request;               /* what was asked for; `event` is the tool's to set */
} SourceStruct, *Source;

/* The rows for a tool's table of options; source.count must be SIZE_MAX at first. */
#define SourceOPTIONS(source) \
  OptionString('k', "kinds", &(source)->kinds, "LIST", "only these kinds: names, all, none, or +Name and -Name"), \
  OptionString('E', "events", &(source)->events, "LIST", "only events of these types"), \
  OptionString('e', "filter", &(source)->expression, "EXPR", \
               "only events for which it holds: size >= 4K && tid != 17"), \
  OptionString(0, "from", &(source)->from, "T", "only from there on: seconds since the start, or HH:MM:SS.frac"), \
  OptionString(0, "to", &(source)->to, "T", "only what is earlier than this"), \
  OptionNumber('n', "count", &(source)->count, "N", "at most N events"), \
  OptionString(0, "offset", &(source)->offset, "LIST", "shift the times of logs: FILE=SECONDS,... or one for each log")

#define SourceFORCE(source) \
  OptionFlag(0, "force", &(source)->force, "read logs whose events are newer than this program, too")

/* SourceHooks -- the hooks with which a tool's logs are opened */
extern void SourceHooks(Source source, LogHooks hooksReturn);

/* SourceOpen -- open `n` logs and make the request; FALSE: reported, with the status
 * SourceClose -- may follow in either case */
extern Bool SourceOpen(Source source, const char *const *paths, Count n, int *statusReturn);
extern void SourceClose(Source source);

/* SourceRead -- one pass with the request; FALSE: reported, with the status
 * SourceServe -- one pass for `n` requests, which were made from it */
extern Bool SourceRead(Source source, int *statusReturn);
extern Bool SourceServe(Source source, const LogRequest *requests, Count n, int *statusReturn);

#endif /* VIEW_SOURCE_H */
