// throws.cc -- C++ that allocates in containers and throws through them
//
//   throws TIMES
//
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

unsigned long state = 12345;

unsigned below(unsigned n)
{
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return static_cast<unsigned>(state >> 33) % n;
}

struct Node {
  std::string name;
  std::vector<std::unique_ptr<Node>> children;
  explicit Node(unsigned n) : name(std::string(20 + n % 40, 'n') + std::to_string(n)) {}
  virtual ~Node() = default;
};

struct Failure : std::runtime_error {
  std::vector<std::string> notes;
  explicit Failure(const std::string &what) : std::runtime_error(what), notes(3, what + " noted at some length") {}
};

// build -- a tree; one in so many of its nodes cannot be made
std::unique_ptr<Node> build(unsigned depth)
{
  auto node = std::make_unique<Node>(below(1000));
  if (below(60) == 0)
    throw Failure("no node of depth " + std::to_string(depth));
  for (unsigned i = 0; depth > 0 && i < 1 + below(3); ++i) {
    try {
      node->children.push_back(build(depth - 1));
    } catch (const Failure &failure) {
      if (failure.notes.size() != 3 || below(4) == 0)
        throw;
      node->name += failure.what();
    }
  }
  return node;
}

} // namespace

int main(int argc, char **argv)
{
  long times = argc > 1 ? std::atol(argv[1]) : 100, caught = 0;
  std::map<std::string, std::vector<std::string>> seen;

  for (long i = 0; i < times; ++i) {
    try {
      auto tree = build(6);
      seen[tree->name.substr(0, 24)].push_back(tree->name);
    } catch (const std::exception &error) {
      ++caught;
      seen[error.what()].emplace_back(40, 'c');
    }
  }
  std::printf("%zu %ld\n", seen.size(), caught);
  return 0;
}
