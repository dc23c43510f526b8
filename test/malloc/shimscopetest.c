/* shimscopetest.c -- what is found in symbol tables is what the dynamic loader finds
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * dlsym is the oracle: each name that a loaded module has in its table is looked up in both ways, and names that it has
 * not, too.
 */
#include "malloc/shimscope.c"

#include <dlfcn.h>

#include "tap.h"

enum { testNAME = 200 };

static struct {
  unsigned functions, others, wrong;
} found;

/* testOne -- compare one name in one module */
static void testOne(const struct link_map *module, void *handle, const char *name)
{
  void *ours, *theirs = dlsym(handle, name);
  struct link_map *home = NULL;
  Dl_info info;

  if (theirs != NULL && dladdr1(theirs, &info, (void **)&home, RTLD_DL_LINKMAP) != 0 && home != module)
    theirs = NULL; /* of a module that this one needs */
  if (!ShimScopeFind(&ours, module, name, NULL)) {
    ++found.others; /* an object, or a function that a resolver chooses */
    return;
  }
  found.functions += ours != NULL;
  if (ours != theirs && ++found.wrong <= 5)
    printf("# %s in %s: %p, and dlsym finds %p\n", name, module->l_name, ours, theirs);
}

/* testModule -- all names of a module's table, each once more with a letter behind it */
static void testModule(const struct link_map *module)
{
  void *handle = dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD);
  const uint32_t *bucket, *chain;
  ScopeStruct scope;
  char longer[testNAME];
  Index i, last = 0;

  if (handle == NULL || !scopeRead(&scope, module) || scope.hash == NULL)
    return;
  bucket = (const void *)((const ElfW(Addr) *)(const void *)(scope.hash + 4) + scope.hash[2]);
  chain = bucket + scope.hash[0];
  for (i = 0; i < scope.hash[0]; ++i)
    last = bucket[i] > last ? bucket[i] : last;
  for (i = scope.hash[1]; i <= last || (i > scope.hash[1] && (chain[i - 1 - scope.hash[1]] & 1) == 0); ++i) {
    const char *name = scope.strings + scope.symbols[i].st_name;
    testOne(module, handle, name);
    if (snprintf(longer, sizeof longer, "%sx", name) < testNAME)
      testOne(module, handle, longer);
  }
  dlclose(handle);
}

/* testVersions -- of a function with several versions each is found by its name */
static void testVersions(void)
{
  static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.3.2", "GLIBC_2.17", "GLIBC_2.99", "none"};
  const struct link_map *libc = ModulesLink((Word)gnu_get_libc_version);
  void *handle = dlopen(libc->l_name, RTLD_LAZY | RTLD_NOLOAD), *ours;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(versions); ++i) {
    void *theirs = dlvsym(handle, "pthread_cond_wait", versions[i]);
    TapOk(ShimScopeFind(&ours, libc, "pthread_cond_wait", versions[i]) && ours == theirs,
          "pthread_cond_wait of %s is where dlvsym finds it", versions[i]);
  }
  dlclose(handle);
}

/* testLocal -- what came later is found by who calls, and told once, to be kept */
static void testLocal(void)
{
  void *runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  const char *file;

  TapOk(ShimScopeLocal("no_such_function", (const void *)testLocal) == NULL, "what nobody has is not found");
  TapOk(ShimScopeUnkept() == NULL, "and nothing is to be kept for it");
  if (runtime == NULL) {
    puts("# no libstdc++ here");
    return;
  }
  TapOk(ShimScopeLocal("_Znwm", (const void *)testLocal) == dlsym(runtime, "_Znwm"), "an operator is in the runtime");
  TapOk(ShimScopeLocal("_ZdlPv", NULL) == dlsym(runtime, "_ZdlPv"), "and another one, whoever calls");
  file = ShimScopeUnkept();
  TapOk(file != NULL && strstr(file, "libstdc++") != NULL, "the runtime is to be kept");
  TapOk(ShimScopeUnkept() == NULL, "which is told once");
  TapOk(ModulesCalled("libstdc++.so") == NULL && ModulesCalled("") == NULL, "a module is called by its whole name");
  dlclose(runtime);
}

int main(void)
{
  const struct link_map *module = ModulesLink((Word)__ehdr_start);
  void *math = dlopen("libm.so.6", RTLD_NOW);

  if (module == NULL) {
    puts("1..0 # SKIP this glibc does not say what is at an address");
    return 0;
  }
  for (; module != NULL; module = module->l_next)
    if (strchr(module->l_name, '/') != NULL && strstr(module->l_name, "/ld-") == NULL) /* dlsym finds nothing there */
      testModule(module);
  printf("# %u functions, %u that are objects or chosen by a resolver\n", found.functions, found.others);
  TapOk(found.functions > 1000, "libc and others have functions");
  TapIs(found.wrong, 0, "each name is found, or not, as dlsym finds it");
  testVersions();
  TapOk(ShimScopeNext("qsort", NULL) == dlsym(RTLD_NEXT, "qsort"), "a function of libc comes next");
  TapOk(ShimScopeNext("no_such_function", NULL) == NULL, "one that nobody has does not");
  TapOk(ShimScopeFirst("qsort") == dlsym(RTLD_DEFAULT, "qsort"), "and is the first of all");
  testLocal();
  if (math != NULL)
    dlclose(math);
  return TapDone();
}
