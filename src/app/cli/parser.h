// The options of a command, one row each: parsing, --help, man pages and
// completion read the rows.
//
// src/data/commands.txt lists them, and the build makes these calls from it:
//
//   parser.Row({"MODEL", "", "an ONNX file", true}, options.model);
//   parser.Row({"--strict", "", "refuse tags of low confidence", false},
//              options.strict);
//   parser.OneOf({"--by", "NAME", "group by module or class", false},
//                options.by, kProfileKeyNames, "choice for --by");
//   parser.Read(words);  // now the options are set
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onnx_tag::cli {

using Words = std::vector<std::string>;
using Choices = std::span<const std::string_view>;

// The user asks for help, whatever else the words are.
struct HelpWanted {};

// The position of `word` in `words`. Throws Error(kUsage) with the nearest
// valid word; `what` is for the message: "format".
std::size_t Choose(std::string_view what, std::string_view word, Choices words);

// A row as src/data/commands.txt has it.
struct RowText {
  std::string_view names;  // separated by commas
  std::string value;
  std::string help;
  bool required;
};

struct OptionRow {
  std::vector<std::string> names;  // "-s", "--strategy"; "MODEL"
  std::string value;               // "NAME"; empty for a flag or an argument
  std::string help;
  std::string group;
  bool argument = false;
  bool required = false;
  bool repeats = false;
  // The valid values, if they are a list of words.
  std::vector<std::string_view> words;
  // Used while words are read.
  CLI::Option* option = nullptr;
  std::function<void(const OptionRow&)> take;
};

class Parser {
 public:
  // `name` is for messages: "onnx-tag show".
  explicit Parser(std::string name);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // The group of the rows that follow, a heading of the help; "": none.
  void Group(std::string group) { group_ = std::move(group); }

  // A row that sets `value`: a flag, whose name "!--x" sets it to false; a
  // text, where an empty FILE or DIR is refused; or all words of "--at A B --at
  // C".
  void Row(const RowText& text, bool& value);
  void Row(const RowText& text, std::string& value);
  void Row(const RowText& text, Words& values);
  // One value each time: "--include A --include B".
  void Each(const RowText& text, Words& values);
  // Several arguments, joined with blanks.
  void Joined(const RowText& text, std::string& value);
  // `parse(word, values)` adds what each word stands for.
  template <typename T, typename Parse>
  void From(const RowText& text, T& values, const Parse& parse) {
    Several(text, [&values, parse](const Words& words) {
      for (const std::string& word : words) parse(word, values);
    });
  }
  // `parse(option, word)` converts the word or throws Error(kUsage).
  template <typename T, typename Parse>
  OptionRow& Value(const RowText& text, T& value, const Parse& parse) {
    OptionRow& row = Add(text);
    row.take = [&value, parse](const OptionRow& own) {
      value = parse(own.names.front(), Given(own).front());
    };
    return row;
  }
  // `what` is for the message about an invalid word.
  template <typename T>
  void OneOf(const RowText& text, T& value, Choices words, std::string what) {
    OptionRow& row = Add(text);
    row.words.assign(words.begin(), words.end());
    row.take = [&value, what = std::move(what)](const OptionRow& own) {
      const std::size_t at = Choose(what, Given(own).front(), own.words);
      if constexpr (std::is_assignable_v<T&, std::string_view>) {
        value = own.words[at];
      } else {
        value = static_cast<T>(at);
      }
    };
  }

  // Sets the variables of the rows. Throws Error(kUsage) or HelpWanted.
  void Read(Words words);
  // How often the option was given.
  std::size_t Count(std::string_view name) const;

  const std::vector<OptionRow>& rows() const { return rows_; }

 private:
  OptionRow& AddRow(std::string_view names, std::string help);
  OptionRow& Add(const RowText& text);
  // `take` gets all words.
  void Several(const RowText& text, std::function<void(const Words&)> take);
  // The words of an option that was given.
  static const Words& Given(const OptionRow& row);
  [[noreturn]] void FailOnUnknown(const std::string& word) const;
  std::string MissingWord() const;

  std::unique_ptr<CLI::App> app_;
  std::string group_;
  std::vector<OptionRow> rows_;
};

// Converters for Parser::Value.

// 0 to 100.
double ParsePercent(std::string_view option, const std::string& word);
std::uint64_t ParseCount(std::string_view option, const std::string& word);
// "2GB", "1.5 GiB", "512": bytes.
std::uint64_t ParseBytes(std::string_view option, const std::string& word);

}  // namespace onnx_tag::cli
