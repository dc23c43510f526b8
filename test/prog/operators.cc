// operators.cc -- the operators new and delete in all their forms; prints how many events of each type are due
//
// What is counted lies between the allocation and the freeing of 11111 bytes; trouble, in which libraries throw and catch
// among themselves, lies behind that, between 22222.  What is found wrong is printed, too.
//
// operators [TIMES [THREADS [calm|plain]]]: calm makes no trouble, plain only exceptions.
//
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#define CHECK(condition) do { if (!(condition)) std::printf("operators.cc:%d: %s\n", __LINE__, #condition); } while (0)

static volatile size_t huge = SIZE_MAX / 2 - 4096;
static size_t allocs, aligneds, frees;

struct alignas(128) Wide { char bytes[256]; };
struct Plain { char bytes[40]; ~Plain() {} };

// Operators are called by name: compilers may leave out a new expression.
static void each(unsigned i)
{
  std::align_val_t align = std::align_val_t(64 << i % 3);
  size_t size = 1 + i % 700;
  void *volatile p;

  ::operator delete(::operator new(size));
  ::operator delete(::operator new(size), size);
  ::operator delete(::operator new(size), std::nothrow);
  ::operator delete[](::operator new[](size));
  ::operator delete[](::operator new[](size), size);
  ::operator delete[](::operator new[](size), std::nothrow);
  ::operator delete(::operator new(size, std::nothrow));
  ::operator delete[](::operator new[](size, std::nothrow));
  p = ::operator new(size, align);
  CHECK((uintptr_t)(void *)p % (size_t)align == 0);
  ::operator delete(p, align);
  ::operator delete(::operator new(size, align), size, align);
  ::operator delete(::operator new(size, align), align, std::nothrow);
  p = ::operator new[](size, align);
  CHECK((uintptr_t)(void *)p % (size_t)align == 0);
  ::operator delete[](p, align);
  ::operator delete[](::operator new[](size, align), size, align);
  ::operator delete[](::operator new[](size, align), align, std::nothrow);
  ::operator delete(::operator new(size, align, std::nothrow), align);
  ::operator delete[](::operator new[](size, align, std::nothrow), align);
  ::operator delete(nullptr);
  p = std::malloc(size);
  std::free(p);
  p = std::aligned_alloc(64, 128);
  std::free(p);
}

static void work(unsigned n, unsigned each_)
{
  for (unsigned i = 0; i < n; ++i)
    each(i + each_);
}

static void section(unsigned threads, unsigned n)
{
  std::vector<std::thread> running;

  for (unsigned i = 0; i < threads; ++i)
    running.emplace_back(work, n, i);
  for (auto &thread : running)
    thread.join();
}

// One thread, and nothing that allocates beside what is named.
static void counted(unsigned n)
{
  work(n, 0);
  allocs += 9 * n, aligneds += 9 * n, frees += 18 * n;
  for (unsigned i = 0; i < n; ++i) {
    Plain *volatile plain = new Plain;
    Plain *volatile plains = new Plain[3];
    Wide *volatile wide = new Wide;
    Wide *volatile wides = new Wide[2];
    delete plain;
    delete[] plains;
    delete wide;
    delete[] wides;
  }
  allocs += 2 * n, aligneds += 2 * n, frees += 4 * n;
}

static void *reserve;
static int handled;

static void handler()
{
  ++handled;
  void *volatile p = std::malloc(50);
  std::free(p);
  if (reserve != nullptr) {
    ::operator delete(reserve);
    reserve = nullptr;
  } else {
    std::set_new_handler(nullptr);
  }
}

static void thrower() { throw 17; }

static bool fails()
{
  try {
    ::operator delete(::operator new(huge));
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

// Where operators ask for no handler ("plain") there is only that they throw.
static void trouble(unsigned n, bool plain)
{
  for (unsigned i = 0; i < n; ++i) {
    CHECK(fails());
    each(i);
    CHECK(::operator new(huge, std::nothrow) == nullptr);
    if (plain)
      continue;
    reserve = ::operator new(1000);
    handled = 0;
    std::set_new_handler(handler);
    CHECK(std::get_new_handler() == handler);
    CHECK(fails());
    CHECK(handled == 2 && std::get_new_handler() == nullptr);
    std::set_new_handler(thrower);
    bool caught = false;
    try {
      ::operator delete[](::operator new[](huge));
    } catch (int number) {
      caught = number == 17;
    }
    CHECK(caught && std::set_new_handler(nullptr) == thrower);
  }
}

int main(int argc, char **argv)
{
  unsigned n = argc > 1 ? (unsigned)std::atoi(argv[1]) : 10, threads = argc > 2 ? (unsigned)std::atoi(argv[2]) : 0;
  void *volatile marker = std::malloc(11111);

  counted(n);
  std::free(marker);
  marker = std::malloc(22222);
  if (argc <= 3 || argv[3][0] == 'p')
    trouble(n < 20 ? n : 20, argc > 3);
  std::free(marker);
  section(threads, n);
  std::printf("PoolAlloc %zu PoolAllocAligned %zu PoolFree %zu\n", allocs, aligneds, frees);
  return 0;
}
