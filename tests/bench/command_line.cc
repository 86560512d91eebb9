#include "command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace onnx_tag::bench {

CommandLine::CommandLine(std::string synopsis)
    : synopsis_(std::move(synopsis)) {}

void CommandLine::Flag(const std::string& word, bool& flag, bool value) {
  Each(word, "", [&flag, value](const std::string&) { flag = value; });
}

void CommandLine::Value(const std::string& word, std::string& value,
                        const std::string& kind) {
  Each(word, kind, [&value](const std::string& text) { value = text; });
}

void CommandLine::Number(const std::string& word, std::size_t& value) {
  Each(word, "N",
       [&value](const std::string& text) { value = std::stoul(text); });
}

void CommandLine::Each(const std::string& word, const std::string& kind,
                       std::function<void(const std::string&)> take) {
  options_.push_back({word, kind, std::move(take)});
}

bool CommandLine::Parse(int argc, char** argv, std::string& folder) const {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto option =
        std::find_if(options_.begin(), options_.end(),
                     [&](const Option& one) { return one.word == word; });
    if (option == options_.end()) {
      if (word.starts_with("-") || !folder.empty()) return false;
      folder = word;
    } else if (option->kind.empty()) {
      option->take("");
    } else if (i + 1 < argc) {
      option->take(argv[++i]);
    } else {
      return false;
    }
  }
  return !folder.empty();
}

int CommandLine::Usage() const {
  std::string usage = "usage: " + synopsis_;
  for (const Option& option : options_) {
    usage += option.kind.empty()
                 ? fmt::format(" [{}]", option.word)
                 : fmt::format(" [{} {}]", option.word, option.kind);
  }
  fmt::print(stderr, "{}\n", usage);
  return 2;
}

}  // namespace onnx_tag::bench
