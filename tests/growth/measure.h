// The work of every command on a model.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::test {

// Per node, of one command.
inline constexpr std::uint64_t kMostWork = 1'000'000;

struct Command {
  std::string_view name;
  // "@x" is the file x of the folder, "@@" a module of a.
  std::vector<std::string> words;
  int worst = 1;  // differs, or nothing was found
};
const std::vector<Command>& Commands();

// What the commands read: two versions of a model, and a recording of the
// first.
struct Inputs {
  std::string a, b;
  std::string recording = R"({"modules": {"": "Net"}})";
};

struct Measured {
  std::uint32_t nodes = 0;
  std::uint64_t bytes = 0;                         // of what they read
  std::map<std::string_view, std::uint64_t> work;  // of each command
};

// Runs commands, all or those that are named and those that make their inputs.
Measured Measure(const Inputs& inputs, std::uint32_t nodes,
                 const std::set<std::string_view>& only = {});

// How the work of a command grows with the file: 1 if an added byte costs at
// size `i` what it cost at most at smaller sizes. Only what is added from size
// to size counts: what every model costs falls out.
double Exponent(const std::vector<Measured>& at, std::size_t i,
                std::string_view command);

}  // namespace onnx_tag::test
