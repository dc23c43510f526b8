/* builtinregistry.c -- the events that this build knows, as the text of a registry
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source/builtinregistry.h"

#define knownTRUE  "1"
#define knownFALSE "0"

/* Each line begins with the newline that ends the one before. */
static const char knownLines[] =
#define KIND(name, value, doc) "\nkind: " #value " " #name
#include "eventdef.h"
#define RELATION(name, code, always, kind, format) "\nevent: " #code " " #name " " #kind " " known##always " " #format
#define PARAM(name, index, letter, parameter, doc) " " #parameter
#include "eventdef.h"
#define RELATION(name, code, always, kind, format) "\ndescribe: " #code " "
#define DOC(name, template) template
#include "eventdef.h"
  "\n";

const char *const BuiltinRegistry = knownLines + 1;
