// names.cc -- a unit of a C++ program with much debug information, and functions that are inlined into each other
//
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

template <int n> struct Part {
  std::vector<std::string> words;
  std::map<std::string, std::unique_ptr<int>> numbers;
  void add(unsigned i)
  {
    words.push_back(std::string(20 + n, static_cast<char>('a' + i % 26)));
    numbers[words.back()] = std::make_unique<int>(n);
  }
  std::size_t find(const std::string &word) const { return numbers.count(word) + words.size(); }
};

template <int n> std::size_t part(unsigned rounds)
{
  Part<n> all;
  std::unordered_map<unsigned, std::set<unsigned>> sets;
  for (unsigned i = 0; i < rounds; ++i) {
    all.add(i);
    sets[i % 7].insert(i);
  }
  std::function<std::size_t(const std::string &)> find = [&all](const std::string &word) { return all.find(word); };
  return find("b") + sets.size() + part<n - 1>(rounds);
}

template <> std::size_t part<0>(unsigned rounds)
{
  std::ostringstream text;
  std::smatch match;
  text << "round " << rounds;
  std::string all = text.str();
  return std::regex_search(all, match, std::regex("(\\w+) ([0-9]+)")) ? match.size() : 0;
}

std::size_t volatile sum;

} // namespace

extern "C" void namesUnit(unsigned rounds)
{
  sum = sum + part<30>(rounds);
}
