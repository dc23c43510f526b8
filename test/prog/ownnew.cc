// ownnew.cc -- a library with operators of its own: their objects lie inside malloc's, and they ask for no handler
// but throw, in both ways
//
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>

static unsigned failed;

void *operator new(std::size_t size)
{
  char *p = size > PTRDIFF_MAX - 16 ? nullptr : static_cast<char *>(std::malloc(size + 16));

  if (p == nullptr) {
    if (++failed % 2 != 0)
      throw std::bad_alloc();
    std::rethrow_exception(std::make_exception_ptr(std::bad_alloc()));
  }
  return p + 16;
}

void operator delete(void *p) noexcept
{
  if (p != nullptr)
    std::free(static_cast<char *>(p) - 16);
}

void operator delete(void *p, std::size_t) noexcept
{
  operator delete(p);
}
