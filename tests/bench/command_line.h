// The options of the programs that score: bound to variables, parsed in one
// place.
//
//   CommandLine line("accuracy TRUTH_DIR");
//   line.Flag("--files", options.files);
//   line.Value("--model", options.model, "GLOB");
//   if (!line.Parse(argc, argv, options.truth)) return line.Usage();
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace onnx_tag::bench {

class CommandLine {
 public:
  // `synopsis`: the program and the folder it takes.
  explicit CommandLine(std::string synopsis);

  // Sets `flag` to `value` where the word stands.
  void Flag(const std::string& word, bool& flag, bool value = true);
  void Value(const std::string& word, std::string& value,
             const std::string& kind);
  void Number(const std::string& word, std::size_t& value);
  void Each(const std::string& word, const std::string& kind,
            std::function<void(const std::string&)> take);

  // False where a word is unknown, has no value, or `folder` is not given
  // exactly once.
  bool Parse(int argc, char** argv, std::string& folder) const;

  // Says on stderr how the program is called; the exit code for that.
  int Usage() const;

 private:
  struct Option {
    std::string word;
    std::string kind;  // "": it takes no value
    std::function<void(const std::string&)> take;
  };

  std::string synopsis_;
  std::vector<Option> options_;
};

}  // namespace onnx_tag::bench
