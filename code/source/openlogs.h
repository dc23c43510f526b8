/* openlogs.h -- opens the logs of a tool, sets up its filter, and reports what is wrong with them
 *
 * What tools that give events a meaning have in common: the options that choose events, the refusal of a registry that
 * is newer than this build, one line on standard error for each gap, and how far the work has come.  A tool's own state
 * begins with a SourceStruct, and is the `data` of the request's hooks.
 *
 * Design: design/view.md .source, design/log.md .offset      Tests: test/end/eventview.t, test/source/progress.t,
 * test/log/offset.t
 */
#ifndef SOURCE_OPENLOGS_H
#define SOURCE_OPENLOGS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/option.h"
#include "base/repeat.h"
#include "filter/filter.h"
#include "heap/processevents.h"
#include "log/typenames.h"
#include "request/follow.h"
#include "request/request.h"
#include "source/progress.h"

typedef struct SourceStruct {
  const OptionToolStruct *tool;
  const char *kinds, *events, *from, *to; /* as the options give them, or NULL */
  const char *expression;                 /* of --filter, or NULL */
  const char *process;                    /* of --process, or NULL */
  const char *offset;                     /* of --offset, or NULL */
  Count count;
  Bool force;                             /* a newer median is no reason to refuse */
  Bool heirs;                             /* read the chosen processes' ancestors, too, uncounted */
  void (*aside)(void *source);            /* called before a line is told, while the tool writes something else; or
                                             NULL */
  LogIdleStruct follow;                   /* follow the log, which is one, and call this meanwhile; idle NULL: do not */
  int64_t *offsets;                       /* what that means, for each log */
  ProgressStruct progress;                /* how far opening and reading have come */
  RepeatStruct repeat;                    /* what was told of the logs */
  Log log;
  Filter filter;                          /* what the expression means, or NULL */
  OfProcess of;                           /* the processes that --process means, or NULL */
  Bool programs;                          /* no collector's events */
  LogPositionStruct end;                  /* where so many events end, if others come with them */
  LogRequestStruct request;               /* what was asked for; `event` is the tool's to set */
} SourceStruct, *Source;

/* Groups of the options here (OptionFit): those that choose events, and those that say how logs are opened. */
enum {
  SourceGroupCHOOSE = 1 << 16,
  SourceGroupOPEN = 1 << 17
};

/* The rows for a tool's table of options; source.count must be SIZE_MAX at first. */
#define SourceOPTIONS(source) \
  OptionString('k', "kinds", &(source)->kinds, "LIST", "only these kinds: names, all, none, or +Name and -Name", \
               SourceGroupCHOOSE), \
  OptionString('E', "events", &(source)->events, "LIST", "only events of these types", SourceGroupCHOOSE), \
  OptionString('e', "filter", &(source)->expression, "EXPR", \
               "only events for which it holds: size >= 4K && tid != 17", SourceGroupCHOOSE), \
  OptionString(0, "process", &(source)->process, "NAME|PID", "only what is of this process", \
               SourceGroupCHOOSE), \
  OptionString(0, "from", &(source)->from, "T", \
               "only from there on: seconds, HH:MM:SS.frac, end-SECONDS, or mark:NAME", \
               SourceGroupCHOOSE), \
  OptionString(0, "to", &(source)->to, "T", "only what is earlier than this", SourceGroupCHOOSE), \
  OptionNumber('n', "count", &(source)->count, "N", \
               "at most N events of programs; of the collector, too, if -k, -E or -e says so", \
               SourceGroupCHOOSE), \
  OptionString(0, "offset", &(source)->offset, "LIST", \
               "shift the times of logs: FILE=SECONDS,... or one for each log", SourceGroupOPEN)

#define SourceFORCE(source) \
  OptionFlag(0, "force", &(source)->force, "read logs whose events are newer than this program, too")

/* SourceHooks -- the hooks with which a tool's logs are opened; work begins */
extern void SourceHooks(Source source, LogHooks hooksReturn);

/* SourceNote -- tell a line on standard error, with the tool's name before it; a hook of logs and writers */
extern void SourceNote(void *source, const char *line);

/* SourceSaid -- how many findings more there were than have been told; SourceClose says so, too */
extern void SourceSaid(Source source);

/* SourceOpen -- open `n` logs and make the request; FALSE: reported, with the status
 * SourceClose -- may follow in either case */
extern Bool SourceOpen(Source source, const char *const *paths, Count n, int *statusReturn);
extern void SourceClose(Source source);

/* SourceMoment -- the time that an option gives as a string (moment.h), which may be NULL: then *timeReturn stays as it
 * is.  FALSE: reported as a usage error */
extern Bool SourceMoment(Source source, const char *option, const char *string, uint64_t *timeReturn);

/* SourceRead -- one pass with the request; FALSE: reported, with the status
 * SourceServe -- one pass for `n` requests, which were made from it */
extern Bool SourceRead(Source source, int *statusReturn);
extern Bool SourceServe(Source source, const LogRequest *requests, Count n, int *statusReturn);

#endif /* SOURCE_OPENLOGS_H */
