/* codenames.h -- who the callers of a site or stack are: functions of modules, or offsets in them where no symbols are
 *
 * The frames of stacks are learned by a request of their own, from the log's beginning on, so that a choice of events
 * has them, too; it is served in the pass of those who ask.  Modules are read before it where sites are to be told
 * apart by them (sitenumbers.h), and their symbols when the first name is asked for, behind the pass.
 *
 * Wrappers of malloc (wrappers.h) are left out of stacks, and what the user says: who called them is what a person
 * wants to know.
 *
 * Always true: names are numbers in `strings`
 *
 * Design: design/view.md .sites.names, .sites.skip      Tests: test/analyse/sites.t
 */
#ifndef CALLERS_CODENAMES_H
#define CALLERS_CODENAMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <regex.h>
#include <stdio.h>

#include "callers/sitenumbers.h"
#include "request/frametable.h"
#include "request/stringtable.h"
#include "symbols/codesymbols.h"

/* A place in code, without padding: two are the same if their bytes are. */
typedef struct CodePlaceStruct {
  uint64_t offset;   /* in the module, of where the call returns to, as Calls and profiles have it; an address where the
                        module is not known; 0 where the function is known */
  uint32_t module;   /* its path, a number in `strings`; 0: not known */
  uint32_t function; /* its name, a number in `strings`; 0: not known */
  uint32_t program;  /* the module is what the process executes */
  uint32_t file;     /* the path of the source, a number in `strings`; 0: not known, or not wanted */
  uint32_t line;     /* in that file; 0: the same */
  uint32_t unused;   /* 0 */
} CodePlaceStruct, *CodePlace;

/* Places that are none: offsets, where the module and the function are 0. */
enum { CodeUNKNOWN, CodeCUT, CodeBROKEN, CodeSHORT, CodeNOWHERE };

enum { CodeFramesMAX = 256 }; /* of a stack; what is farther out is cut */

typedef void (*CodeNote)(void *data, const char *line);

typedef struct CodeNamesStruct {
  Log log;
  FrameTable frames;
  StringsStruct strings;
  CodeSymbols symbols; /* NULL until a name was asked for */
  const regex_t *skip; /* names of functions and modules that are left out, too; or NULL */
  CodeNote note;       /* called with `data` and a line on what a module lacks; or NULL */
  void *data;
  Bool lines;          /* places have files and lines; two lines of a function are two places */
  Bool wanted;
  Res res;
} CodeNamesStruct, *CodeNames;

/* CodeNamesCreate -- `skip` and `note` may be NULL; without lines.  ResMEMORY
 * CodeNamesLine -- places are to have files and lines; before CodeNamesRead */
extern Res CodeNamesCreate(CodeNames *namesReturn, Log log, const regex_t *skip, CodeNote note, void *data);
extern void CodeNamesLine(CodeNames names);
extern void CodeNamesDestroy(CodeNames names);

/* CodeNamesWant -- a view will print names: the pass serves CodeNamesRequests
 * CodeNamesRequests -- the requests to be served in the pass, before all others; returns how many, 0 if nobody does */
enum { CodeRequestsMAX = 1 };

extern void CodeNamesWant(CodeNames names);
extern Count CodeNamesRequests(LogRequest requests[CodeRequestsMAX], CodeNames names);

/* CodeNamesModules -- the modules of the log, which are read now, with the symbols that it has, once; as LogRead;
 *   ResMEMORY.  Not within a pass.
 * CodeNamesRead -- the pass is over: the same, and frames are known */
extern Res CodeNamesModules(ModuleMap *modulesReturn, CodeNames names);
extern Res CodeNamesRead(CodeNames names);

/* CodeNamesFrames -- where the callers of a site are, the innermost first; one at least.  What lies beyond the
 * outermost is no place (CodeCUT ...), unless that is nothing.  A function that was inlined is a caller of its own.
 * CodeNamesCaller -- the innermost of `count` callers that is not left out; or the innermost, if all are
 * CodeNamesCallerOf -- the same of a site; callers outside of it are not looked up, so that it costs less */
extern Count CodeNamesFrames(CodePlaceStruct frames[CodeFramesMAX], CodeNames names, const SiteStruct *site);
extern Index CodeNamesCaller(CodeNames names, const CodePlaceStruct *frames, Count count);
extern CodePlaceStruct CodeNamesCallerOf(CodeNames names, const SiteStruct *site);

/* CodeNamesLacks -- which callers of a stack are missing, though they were to be recorded: the inner ones
 * (CodeSHORT), the outer ones (CodeBROKEN), or all or some (CodeUNKNOWN);  CodeNOWHERE: none, or only beyond
 * CodeFramesMAX, where nobody looks: a log may have one stack from which all others are calls, and so walks of any
 * length */
extern uint64_t CodeNamesLacks(CodeNames names, const SiteStruct *site);

/* CodeNamesText -- print a place: "parse (a.out)", "parse (a.out) at parse.c:12", "libc.so.6+0x8a1b2"
 * CodeNamesShort -- the same without the module of a function: "parse", "parse at parse.c:12"
 * CodeNamesJson -- print its members of an object: `function`, `module`, `offset`, and, where lines are wanted,
 * `file` and `line`; null: not known
 * CodeNamesMatch -- does a pattern (suppressions.h) match one of its names? */
extern void CodeNamesText(FILE *out, CodeNames names, const CodePlaceStruct *place);
extern void CodeNamesShort(FILE *out, CodeNames names, const CodePlaceStruct *place);
extern void CodeNamesJson(FILE *out, CodeNames names, const CodePlaceStruct *place);
extern Bool CodeNamesMatch(CodeNames names, const CodePlaceStruct *place, const char *pattern);

/* CodeNamesModule -- the last part of a module's path, *lengthReturn bytes of a log; "": not known */
extern const char *CodeNamesModule(CodeNames names, const CodePlaceStruct *place, Size *lengthReturn);

#endif /* CALLERS_CODENAMES_H */
