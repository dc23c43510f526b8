/* wrappers.c -- functions that pass on what others ask for
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/wrappers.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "callers/suppressions.h"

/* Functions that pass on what others ask for, by patterns as suppressions have them. */
static const char *const wrapperNames[] = {
  "^malloc$", "^calloc$", "^realloc$", "^reallocarray$", "^aligned_alloc$", "^posix_memalign$", "^memalign$",
  "^valloc$",
  "^operator new*", "^_Znw*", "^_Zna*", "^strdup$", "^strndup$", "^__strdup$", "^__strndup$", "^__GI_*strdup$",
  "^__GI_*strndup$",
  "^g_malloc*", "^g_try_malloc*", "^g_realloc*", "^g_try_realloc*", "^g_slice_alloc*", "^g_strdup$", "^g_strndup$",
  "^g_memdup*", "^xmalloc*", "^xcalloc*", "^xrealloc*", "^xzalloc*", "^xstrdup$", "^xstrndup$", "^xmemdup*",
  "^x*alloc$", "^x*alloc0$", "^safe_malloc$", "^safe_calloc$", "^safe_realloc$",
  "^PyMem_*alloc", "^PyObject_*alloc", "^_PyMem_*", "^_PyObject_*alloc*", "^Perl_safesys*alloc",
  "^sqlite3Malloc*", "^sqlite3_malloc*", "^sqlite3Realloc*", "^sqlite3_realloc*", "^sqlite3MemMalloc$",
  "^sqlite3MemRealloc$",
  "^sqlite3DbMalloc*", "^sqlite3DbRealloc*", "^dbMallocRawFinish$",
  "^CRYPTO_*alloc", "^CRYPTO_strdup$", "^CRYPTO_strndup$", "^CRYPTO_memdup$", "^OPENSSL_*alloc", "^apr_palloc$",
  "^zmalloc*", "^zcalloc*", "^zrealloc*", "^ztrymalloc*", "^ztrycalloc*", "^ztryrealloc*", "^zstrdup$",
  "^jv_mem_alloc*", "^jv_mem_calloc*", "^jv_mem_realloc$", "^jv_mem_strdup*", "^__gmp_default_allocate$",
  "^__gmp_default_reallocate$", "^ggc_internal_*alloc*", "^bfd_malloc*", "^bfd_zmalloc*", "^bfd_realloc*", "^gc_alloc$",
  "^palloc*", "^repalloc*", "^MemoryContextAlloc*", "^_emalloc*", "^_ecalloc*", "^_erealloc*", "^_safe_emalloc*",
  "^_estrdup*", "^ruby_x*alloc*", "^_talloc*", "^talloc_*", "^QArrayData::allocate*", "^_ZN10QArrayData*allocate*",
  "^node::*Malloc<*", "^_ZN4node*MallocI*",
  "^av_malloc*", "^av_calloc$", "^av_realloc*", "^av_strdup$", "^av_strndup$", "^av_memdup$",
  "^__rust_alloc*", "^__rust_realloc", "^__rdl_alloc*", "^__rdl_realloc",
};

/* Functions of standard libraries that run the program's code, which may have been inlined. */
static const char *const wrapperRunners[] = {
  "^std*::_M_run$", "^std*::_M_invoke$", "__rust_begin_short_backtrace",
  "^_ZNSt*6_M_runEv$", "^_ZNSt*9_M_invokeE",
};

/* A part of a name. */
typedef struct wrapperSpanStruct {
  const char *at, *end; /* at <= end */
} wrapperSpanStruct;

/* wrapperSkip -- does the span begin with this?  It is skipped then. */
static Bool wrapperSkip(wrapperSpanStruct *span, const char *begin)
{
  Size length = strlen(begin);

  if ((Size)(span->end - span->at) < length || memcmp(span->at, begin, length) != 0)
    return FALSE;
  span->at += length;
  return TRUE;
}

/* wrapperAmong -- does one of the patterns match? */
static Bool wrapperAmong(const char *const *patterns, Count count, const char *name, Size length)
{
  Index i;

  for (i = 0; i < count; ++i)
    if (SuppressionMatches(patterns[i], name, length))
      return TRUE;
  return FALSE;
}

/* wrapperCrate -- is it a crate of Rust's standard library? */
static Bool wrapperCrate(const char *name, Size length)
{
  static const char *const crates[] = {"alloc", "core", "std", "hashbrown", "__rustc"};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(crates); ++i)
    if (strlen(crates[i]) == length && memcmp(crates[i], name, length) == 0)
      return TRUE;
  return FALSE;
}

/* wrapperPath -- does a path begin in a standard library?  Names have a crate's hash ("alloc[5224e6b81cd82a8f]::vec")
 * or, in the older form, have not; then `core` is Rust's only if what follows is: programs of C++ have such namespaces,
 * too. */
static Bool wrapperPath(wrapperSpanStruct path)
{
  static const char *const modules[] = {"alloc::", "array::", "cell::", "clone::", "convert::", "default::", "fmt::",
                                        "iter::", "mem::", "num::", "ops::", "option::", "ptr::", "result::",
                                        "slice::", "str::"};
  const char *crate = path.at;
  Size length;
  Index i;

  while (path.at < path.end && (isalnum((unsigned char)*path.at) || *path.at == '_'))
    ++path.at;
  length = (Size)(path.at - crate);
  if (wrapperSkip(&path, "[")) {
    while (path.at < path.end && isxdigit((unsigned char)*path.at))
      ++path.at;
    return wrapperSkip(&path, "]::") && wrapperCrate(crate, length);
  }
  if (!wrapperSkip(&path, "::"))
    return FALSE;
  if (length != 4 || memcmp(crate, "core", 4) != 0)
    return wrapperCrate(crate, length);
  for (i = 0; i < ARRAY_LENGTH(modules); ++i)
    if (wrapperSkip(&path, modules[i]))
      return TRUE;
  return FALSE;
}

/* wrapperType -- is a type of Rust its standard library's, or one of the language, or a parameter? */
static Bool wrapperType(wrapperSpanStruct type)
{
  const char *word;

  while (wrapperSkip(&type, "&") || wrapperSkip(&type, "*const ") || wrapperSkip(&type, "*mut ") ||
         wrapperSkip(&type, "mut ") || wrapperSkip(&type, "dyn ") || wrapperSkip(&type, "[") ||
         wrapperSkip(&type, "(") || wrapperSkip(&type, "<"))
    ;
  if (wrapperPath(type))
    return TRUE;
  for (word = type.at; word < type.end && (isalnum((unsigned char)*word) || *word == '_');)
    ++word;
  type.at = word;
  if (wrapperSkip(&type, "["))
    return type.at < type.end && !isxdigit((unsigned char)*type.at);
  return !wrapperSkip(&type, "::");
}

/* wrapperImpl -- is a method of Rust, "<type>::method" or "<type as trait>::method", the standard library's?  Of a
 * program's type and a trait of the library it is the program's, if the trait is not one that all types have. */
static Bool wrapperImpl(wrapperSpanStruct name)
{
  static const char *const all[] = {"::Spec*", "::ConvertVec$", "::ToString$", "::ToOwned$", "^core*::convert::Into<"};
  wrapperSpanStruct type = {name.at + 1, NULL}, trait = {NULL, NULL};
  Count depth = 1;
  const char *at;

  for (at = type.at; at < name.end; ++at) {
    if (*at == '<' || (*at == '>' && at[-1] != '-'))
      depth += *at == '<' ? 1 : -(Count)1;
    if (depth == 0)
      break;
    if (depth == 1 && trait.at == NULL && name.end - at > 4 && memcmp(at, " as ", 4) == 0) {
      type.end = at;
      trait.at = at + 4;
    }
  }
  if (at == name.end)
    return FALSE;
  if (trait.at == NULL) {
    type.end = at;
    return wrapperType(type);
  }
  trait.end = at > trait.at ? at : trait.at;
  name.at = at;
  /* "<[_]>::to_vec_in::ConvertVec" is a trait, too. */
  if (!(*trait.at == '<' ? wrapperType(trait) : wrapperPath(trait)))
    return FALSE;
  if (wrapperType(type))
    return TRUE;
  if (SuppressionMatches("::iterator::Iterator$", trait.at, (Size)(trait.end - trait.at)))
    return !wrapperSkip(&name, ">::next");
  return wrapperAmong(all, ARRAY_LENGTH(all), trait.at, (Size)(trait.end - trait.at));
}

/* wrapperPlain -- is a function, by its name as people write it, one of a standard library? */
static Bool wrapperPlain(const char *name, Size length)
{
  wrapperSpanStruct all = {name, name + length};

  if (wrapperSkip(&all, "__gnu_cxx::"))
    return TRUE;
  return length > 0 && *name == '<' ? wrapperImpl(all) : wrapperPath(all);
}

/* ---- Names as the linker knows them ---- */

enum { wrapperHASH = 20 /* bytes of what ends a name in the older form of Rust, "17h" and 16 digits and E */ };

/* wrapperNumber -- skip a decimal number; 0: there is none, or it is too large to be a length within the span */
static Size wrapperNumber(wrapperSpanStruct *span)
{
  Size n = 0;

  while (span->at < span->end && isdigit((unsigned char)*span->at) && n <= (Size)(span->end - span->at))
    n = 10 * n + (Size)(*span->at++ - '0');
  return n <= (Size)(span->end - span->at) ? n : 0;
}

/* wrapperBase62 -- skip what is up to the next _, and that */
static void wrapperBase62(wrapperSpanStruct *span)
{
  while (span->at < span->end && *span->at++ != '_')
    ;
}

/* wrapperRust -- the same of a name of Rust, without its _R: the first crate in it is that of the function, or that
 * where the `impl` stands; a method that a trait provides (Y) is the type's, but for those of iterators */
static Bool wrapperRust(wrapperSpanStruct name)
{
  Bool provided = FALSE;
  const char *trait;
  Size length;

  while (name.at < name.end && memchr("NIMXYRQSAPOL", *name.at, 12) != NULL) {
    char tag = *name.at++;
    if (tag == 'N' && name.at < name.end)
      ++name.at;
    else if (tag == 'L' || ((tag == 'M' || tag == 'X') && wrapperSkip(&name, "s")))
      wrapperBase62(&name);
    provided = provided || tag == 'Y';
  }
  trait = provided ? memmem(name.at, (Size)(name.end - name.at), "8iterator8Iterator", 18) : NULL;
  if (trait != NULL)
    return memmem(trait, (Size)(name.end - trait), "4next", 5) == NULL;
  if (!wrapperSkip(&name, "C"))
    return provided && name.at < name.end && *name.at != 'B';
  if (wrapperSkip(&name, "s"))
    wrapperBase62(&name);
  length = wrapperNumber(&name);
  (void)wrapperSkip(&name, "_");
  return length <= (Size)(name.end - name.at) && wrapperCrate(name.at, length);
}

/* wrapperOlder -- the same of a name in Rust's older form, without its _ZN and hash: a list of lengths and parts, in
 * which signs have names; it is written as people do, as far as needed */
static Bool wrapperOlder(wrapperSpanStruct name)
{
  static const char *const signs[][2] = {{"$LT$", "<"}, {"$GT$", ">"}, {"$RF$", "&"}, {"$BP$", "*"}, {"$u20$", " "},
                                         {"$u5b$", "["}, {"$u5d$", "]"}, {"$LP$", "("}, {"$RP$", ")"}, {"..", "::"},
                                         {"_$LT$", "<"}};
  char room[512];
  TextStruct text;
  Size length;

  TextInit(&text, room, sizeof room);
  while ((length = wrapperNumber(&name)) > 0) {
    wrapperSpanStruct part = {name.at, name.at + length};
    name.at = part.end;
    if (TextLength(&text) > 0)
      TextString(&text, "::");
    while (part.at < part.end) {
      Index i;
      for (i = 0; i < ARRAY_LENGTH(signs) && !wrapperSkip(&part, signs[i][0]); ++i)
        ;
      if (i < ARRAY_LENGTH(signs))
        TextString(&text, signs[i][1]);
      else
        TextChar(&text, *part.at++);
    }
  }
  return wrapperPlain(room, TextLength(&text));
}

/* wrapperMangled -- is a function, by the name that the linker knows, one of a standard library? */
static Bool wrapperMangled(const char *name, Size length)
{
  wrapperSpanStruct all = {name, name + length};

  if (wrapperSkip(&all, "_R"))
    return wrapperRust(all);
  if (!wrapperSkip(&all, "_Z"))
    return FALSE;
  if (length > wrapperHASH + 3 && memcmp(all.end - wrapperHASH, "17h", 3) == 0 && wrapperSkip(&all, "N")) {
    all.end -= wrapperHASH;
    return wrapperOlder(all);
  }
  while (wrapperSkip(&all, "Z")) /* what is inside a function */
    ;
  if (wrapperSkip(&all, "N"))
    while (all.at < all.end && memchr("rVKRO", *all.at, 5) != NULL)
      ++all.at;
  return wrapperSkip(&all, "9__gnu_cxx") ||
         (wrapperSkip(&all, "S") && all.at < all.end && memchr("tabsiod", *all.at, 7) != NULL);
}

Bool WrapperIs(const char *name, Size length)
{
  if (wrapperAmong(wrapperNames, ARRAY_LENGTH(wrapperNames), name, length))
    return TRUE;
  return (wrapperPlain(name, length) || wrapperMangled(name, length)) &&
         !wrapperAmong(wrapperRunners, ARRAY_LENGTH(wrapperRunners), name, length);
}
