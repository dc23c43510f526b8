/* wrapperstest.c -- which functions pass on what others ask for, by their names
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "callers/wrappers.h"
#include "tap.h"

static void testNames(const char *const *names, Count count, Bool wrappers)
{
  Index i;

  for (i = 0; i < count; ++i)
    TapOk(WrapperIs(names[i], strlen(names[i])) == wrappers, "%s %s", names[i], wrappers ? "is a wrapper" : "is none");
}

static void testPlain(void)
{
  static const char *const wrappers[] = {
    "malloc", "xmalloc", "operator new[]", "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>",
    "std::__allocate_guarded<std::allocator<Node> >", "std::thread::thread<main::{lambda()#1}>",
    "std::_Function_handler<void (), main::{lambda()#1}>::_M_manager", "__gnu_cxx::__pool_alloc<int>::allocate",
    "std::__1::vector<Node>::push_back", "alloc::vec::from_elem::hae9ed783ee5b5364", "hashbrown::raw::RawTable<T,A>::reserve_rehash",
    "alloc[fdfd2bd8633a6659]::alloc::alloc", "core::ops::function::FnOnce::call_once", "__rustc[5224e6b81cd82a8f]::__rust_alloc",
    "core[c1f1a4ba060b9bfa]::hint::black_box", "std[e28293b1aa0f68bd]::io::stdio::_print", "<str>::to_owned",
    "<alloc[fdfd2bd8633a6659]::alloc::Global as core[c1f1a4ba060b9bfa]::alloc::Allocator>::allocate",
    "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
    "<r[1f]::Foo as alloc[2f]::vec::spec_from_elem::SpecFromElem>::from_elem", "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc[2f]::alloc::Global>", "<[r::Foo] as alloc::borrow::ToOwned>::to_owned",
    "<alloc::vec::Vec<r::Foo> as core::clone::Clone>::clone", "<r::Foo as alloc::string::ToString>::to_string",
    "<r::Count as core::iter::traits::iterator::Iterator>::collect", "<alloc[2f]::vec::Vec<r[1f]::Foo>>::push",
    "<<std[e2]::sync::once_lock::OnceLock<r[1f]::Foo>>::initialize::{closure#0} as core[c1]::ops::function::FnOnce<()>>::call_once",
    "<alloc::vec::Vec<fn() -> r::Foo> as core::clone::Clone>::clone",
  };
  static const char *const others[] = {
    "", "main", "<", "<a", "<a as ", "< as >", "<u8 as ", "std", "stdx::f", "mystd::vector", "fillmap", "Pool<std::allocator<int> >::get",
    "fill(std::map<int, int>&)::{lambda()#1}::operator()", "core::Engine::load", "alloc", "alloc[", "alloc[xyz]::f",
    "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run",
    "std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke", "r::make::hcdc7de7a797f6578", "r[4dd80272b5a2d1fc]::make",
    "std[e2]::sys::backtrace::__rust_begin_short_backtrace::<r[1f]::main::{closure#0}, ()>", "<r[1f]::inner::S>::build::<u64>",
    "<r::Foo as core::clone::Clone>::clone", "<r::Count as core::iter::traits::iterator::Iterator>::next",
    "<alloc::vec::Vec<u8> as r::Store>::keep", "<&mut r::Foo as core::convert::From<u8>>::from",
    "<r::Foo as core::iter::traits::collect::FromIterator<u8>>::from_iter", "<r::Foo<fn() -> u8> as core::default::Default>::default",
  };

  testNames(wrappers, ARRAY_LENGTH(wrappers), TRUE);
  testNames(others, ARRAY_LENGTH(others), FALSE);
}

/* The same functions as the linker knows them, as they are where there is no c++filt. */
static void testMangled(void)
{
  static const char *const wrappers[] = {
    "_Znam", "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_",
    "_ZSt18__allocate_guardedISaI4NodeEESt15__allocated_ptrIT_ERS3_", "_ZNKSt6vectorIiSaIiEE12_M_check_lenEmPKc",
    "_ZNSt15__new_allocatorIPvE8allocateEmPKv", "_ZN9__gnu_cxx11__pool_allocIiE8allocateEmPKv", "_ZNSs6assignEPKc",
    "_ZNSt3__16vectorI4NodeNS_9allocatorIS1_EEE9push_backEOS1_", "_ZZNSt6vectorIiSaIiEE4growEvENKUlvE_clEv",
    "_ZN4node15UncheckedMallocIcEEPT_m", "_ZN5alloc3vec9from_elem17hae9ed783ee5b5364E",
    "_ZN94_$LT$$RF$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..iter..traits..collect..IntoIterator$GT$9into_iter17h0123456789abcdefE",
    "_ZN62_$LT$T$u20$as$u20$alloc..vec..spec_from_elem..SpecFromElem$GT$9from_elem17he30133b137d9d997E",
    "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "_RNvMNtCslNYArtu3iFV_5alloc6stringNtB2_6String15from_utf8_lossy",
    "_RINvNvMs2_NtCslNYArtu3iFV_5alloc7raw_vecINtB8_11RawVecInnerpE7reserve21do_reserve_and_handleNtNtBa_5alloc6GlobalEBa_",
    "_RINvYNtCs4fqI2P2rA04_1r5CountNtNtNtNtCsgEmfK2I1SDS_4core4iter6traits8iterator8Iterator7collectpEB5_",
  };
  static const char *const others[] = {
    "_Z", "_ZN", "_ZS", "_R", "_RN", "_RNv", "_RNvM", "_RNvMs", "_RNvCs", "_RNvC99999999999999999999999alloc", "_RNvC9alloc",
    "_Z7fillmapRSt3mapIiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4lessIiESaISt4pairIKiS5_EEE",
    "_ZN4core6Engine4loadEv", "_ZN5alloc3vecEv", "_ZN4PoolISaIiEE3getEv", "_ZZ4fillRSt6vectorIiSaIiEEENKUlvE_clEv",
    "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainEUlvE_EEEEE6_M_runEv",
    "_ZNSt17_Function_handlerIFvvEZ4mainEUlvE_E9_M_invokeERKSt9_Any_data", "_ZN1r4make17hcdc7de7a797f6578E",
    "_ZN45_$LT$r..Foo$u20$as$u20$core..clone..Clone$GT$5clone17hcdc7de7a797f6578E", "_ZN9999alloc17hcdc7de7a797f6578E",
    "_RNvCs4fqI2P2rA04_1r4make", "_RINvMNtCs4fqI2P2rA04_1r5innerNtB3_1S5buildyEB5_", "_RNvXCs4fqI2P2rA04_1rNtB2_3FooNtNtCsg_4core5clone5Clone5clone",
    "_RNvXCs4fqI2P2rA04_1rNtB2_5CountNtNtNtNtCsgEmfK2I1SDS_4core4iter6traits8iterator8Iterator4next",
    "_RNvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace28___rust_begin_short_backtrace",
  };

  testNames(wrappers, ARRAY_LENGTH(wrappers), TRUE);
  testNames(others, ARRAY_LENGTH(others), FALSE);
}

int main(void)
{
  testPlain();
  testMangled();
  return TapDone();
}
