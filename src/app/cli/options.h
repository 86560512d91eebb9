// Options that several commands share.
#ifndef ONNX_TAG_APP_CLI_OPTIONS_H_
#define ONNX_TAG_APP_CLI_OPTIONS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/app.h"
#include "app/commands/commands.h"
#include "file/io/terminal.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onnx_tag::cli {

// CLI11 reads all option values as text. Take() converts them, so that we write
// all error messages ourselves.

// How a command prints, and to what: the options that every command has.
struct TerminalWords {
  std::string color = "auto";
  bool progress = false;
  bool quiet = false;
  bool json = false;

  void Add(CLI::App& app);
  void AddQuiet(CLI::App& app);
  void AddProgress(CLI::App& app);
  CLI::Option* AddJson(CLI::App& app, const std::string& help = "print JSON");
  TerminalOptions Take() const;
  Format format() const { return json ? Format::kJson : Format::kText; }
};

struct MappingWords {
  std::string strategy = "enhanced_semantic";
  std::string granularity = "hf";
  std::string min_confidence = "low";
  std::string exceptions;
  std::string hierarchy;
  std::string trace;
  std::string fx;
  std::string rules;
  CLI::Option* exceptions_option = nullptr;
  CLI::Option* hierarchy_option = nullptr;
  CLI::Option* rules_option = nullptr;
  bool no_recipes = false;
  bool no_structure = false;

  void Add(CLI::App& app);
  void AddRecordings(CLI::App& app);
  MappingOptions Take() const;
};

struct WriteWords {
  WriteOptions options;
  std::string data;
  CLI::Option* path_option = nullptr;
  CLI::Option* folder_option = nullptr;

  void Add(CLI::App& app, const std::string& default_name,
           const std::string& follow);
  // For a model of its own: no --in-place.
  void AddNew(CLI::App& app, const std::string& default_name);
  // For several of them: only a folder.
  void AddNewFolder(CLI::App& app);
  WriteOptions Take(bool recursive = false) const;

 private:
  void AddPath(CLI::App& app, const std::string& default_name);
  void AddFolder(CLI::App& app);
  void AddCare(CLI::App& app);
};

// Options for the sidecar, the metadata keys and the gates of `tag` and
// `transfer`.
struct TagWords {
  std::string keys;
  bool frames = false;
  std::string min_coverage;
  std::string max_untagged;

  void AddOutput(CLI::App& app, TagOptions& options);
  void AddGates(CLI::App& app, TagOptions& options);
  void Take(const CLI::App& app, TagOptions& options) const;
};

// Options for where a command reads tags.
struct TagSourceWords {
  TagSourceOptions options;
  MappingWords mapping;

  void Add(CLI::App& app);
  // For commands whose result rests on the tags.
  void AddStrict(CLI::App& app);
  TagSourceOptions Take() const;
};

// A query may be one argument or several, which are joined with blanks.
struct ExpressionWords {
  std::vector<std::string> words;

  void Add(CLI::App& app, bool required = true);
  std::string Take() const;
};

// Shapes of inputs, for FLOPs.
struct ShapeWords {
  std::vector<std::string> words;

  void Add(CLI::App& app);
  std::vector<sizes::GivenShape> Take() const;
};

// Options for several models.
struct BatchWords {
  std::string jobs;
  std::string format = "text";
  bool keep_going = false;

  void Add(CLI::App& app, TagOptions& options);
  void Take(const CLI::App& app, TagOptions& options) const;
};

// Which numbers of a profile are taken.
void AddProfileWords(CLI::App& app, ProfileSource& profile);

// How a model is cut by what its parts cost.
struct PlanWords {
  std::string budget;
  std::string by = "weights";
};
void AddPlanWords(CLI::App& app, PlanWords& words, const std::string& measures);

void AddModel(CLI::App& app, std::string& model, const std::string& help);

inline constexpr std::array<std::string_view, 2> kGranularityNames = {
    "hf", "torch_nn"};
inline constexpr std::array<std::string_view, 3> kDataNames = {"keep", "link",
                                                               "copy"};
inline constexpr std::array<std::string_view, 3> kDiffFormatNames = {
    "text", "markdown", "json"};
inline constexpr std::array<std::string_view, 2> kFiltFormatNames = {"text",
                                                                     "json"};
inline constexpr std::array<std::string_view, 2> kDiffByNames = {"module",
                                                                 "role"};
inline constexpr std::array<std::string_view, 3> kColorNames = {
    "auto", "always", "never"};
inline constexpr std::array<std::string_view, 5> kKeyNames = {
    "tags", "namespace", "layer_ann", "class_hierarchy", "source_line"};
inline constexpr std::array<std::string_view, 4> kProfileFormatNames = {
    "table", "json", "folded", "speedscope"};
// Data types of TensorRT.
inline constexpr std::array<std::string_view, 5> kPrecisionNames = {
    "float32", "float16", "bfloat16", "int8", "int32"};

// The functions below convert the value of an option. Each throws Error(kUsage)
// with the option, the invalid word and the nearest valid word.

// The position of `word` in `words`; `what` is for the message: "format".
std::size_t Choose(std::string_view what, std::string_view word,
                   std::span<const std::string_view> words);
template <typename Enum>
Enum Chosen(std::string_view what, std::string_view word,
            std::span<const std::string_view> words) {
  return static_cast<Enum>(Choose(what, word, words));
}

// 0 to 100.
double ParsePercent(std::string_view option, const std::string& word);
std::uint64_t ParseCount(std::string_view option, const std::string& word);
// "2GB", "1.5 GiB", "512": bytes.
std::uint64_t ParseBytes(std::string_view option, const std::string& word);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_OPTIONS_H_
