// Words of older versions: data/moved_words.txt says where each went.
#include "generated/moved_words.h"

#include <algorithm>
#include <optional>

#include "app/cli/command_table.h"
#include "base/text.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

// Its first argument is what to say without the package. The package passes
// commands that it does not know to the program, so the second time says no.
constexpr const char* kRunCompanion = R"(
import os, sys
if sys.path[:1] == [""]:
    del sys.path[0]
note = sys.argv.pop(1)
try:
    if os.environ.get("ONNX_TAG_MOVED"):
        raise ImportError
    os.environ["ONNX_TAG_MOVED"] = "1"
    from onnx_tag.__main__ import main
except ImportError:
    sys.stderr.write(note)
    sys.exit(2)
del os.environ["ONNX_TAG_MOVED"]
sys.exit(main())
)";

struct Moved {
  std::string_view old;  // the whole row
  std::string_view command;
  Words words;  // that follow it, one after another; may be none
  std::string_view now;
  bool companion = false;
  bool keeps = false;  // the words after the command
};

std::vector<Moved> ReadMoved() {
  std::vector<Moved> rows;
  for (const std::string_view line : Split(kMovedWords, '\n')) {
    const std::size_t arrow = line.find("> ");
    if (line.starts_with('#') || arrow == line.npos) continue;
    const auto words = Split(line.substr(0, arrow - 2), ' ');
    rows.push_back({line.substr(0, arrow - 2),
                    words.front(),
                    {words.begin() + 1, words.end()},
                    line.substr(arrow + 2),
                    line[arrow - 1] != '-',
                    line[arrow - 1] == '+'});
  }
  return rows;
}

// The words with `--by=role` in two.
Words SplitAtEquals(const Words& words) {
  Words all;
  for (const std::string& word : words) {
    const std::size_t equals = word.starts_with("--") ? word.find('=') : 0;
    if (equals == word.npos || equals == 0) {
      all.push_back(word);
    } else {
      all.push_back(word.substr(0, equals));
      all.push_back(word.substr(equals + 1));
    }
  }
  return all;
}

}  // namespace

std::optional<Invocation> RunMoved(const Words& given) {
  static const std::vector<Moved> rows = ReadMoved();
  Words words = SplitAtEquals(given);
  // Words after -- are no options.
  const auto end = std::find(words.begin(), words.end(), "--");
  for (const Moved& moved : rows) {
    if (moved.command != words.front()) continue;
    const auto at = std::search(words.begin() + 1, end, moved.words.begin(),
                                moved.words.end());
    if (at == end && !moved.words.empty()) continue;
    if (!moved.companion) {
      Fail(ErrorKind::kUsage, "'{}' left the program\n  now: {}", moved.old,
           moved.now);
    }
    const std::string note = Message(
        "'{}' is a command of the Python package\n  run: python3 -m onnx_tag "
        "{} --help",
        moved.old, moved.now);
    if (!moved.keeps) {
      words.erase(at, at + static_cast<std::ptrdiff_t>(moved.words.size()));
    }
    words.front() = moved.now;
    words.insert(words.begin(), {"python3", "-c", kRunCompanion,
                                 Message("onnx-tag: {}\n", Ours{note})});
    return Invocation{note,
                      [words, note](Terminal&) -> Result {
                        io::RunInstead(words);
                        Fail(ErrorKind::kUsage, "{}", Ours{note});
                      },
                      Format::kText,
                      {}};
  }
  return std::nullopt;
}

}  // namespace onnx_tag::cli
