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

int main(void)
{
  testPlain();
  return TapDone();
}
