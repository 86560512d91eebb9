// What a command has found: no text, no JSON, but what both are made of.
//
//   Result result;
//   result.Line("{}: {}", path, Count(nodes, "node"));      // names are quoted
//   result.Add(table);                                      // for people
//   result.data = Datum::Object({{"file", path}, {"nodes", Datum(table)}});
//   return result;                                          // for programs
//
// render.h prints it in the format that the user asked for.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"

namespace onnx_tag {

enum class ExitCode : int {
  kOk = 0,
  kFindings = 1,
  kUsage = 2,
  kInput = 3,
  kOutput = 4,
  kSomeFailed = 5,
};

struct Table;

// Null, a truth value, a number, a text, a list, an object or a table. Programs
// get it as JSON; people see it as the cell of a table.
class Datum {
 public:
  // Nodes by confidence, the weakest first: people see a bar.
  using Levels = std::array<std::uint64_t, 4>;
  using List = std::vector<Datum>;
  using Members = std::vector<std::pair<std::string, Datum>>;
  using Use = std::function<void(const Datum&)>;
  // Calls its argument with each item: of a list too long to be held.
  using Stream = std::function<void(const Use&)>;

  // A row is a list of these in braces: conversions are meant.
  // NOLINTBEGIN(google-explicit-constructor)
  Datum() = default;  // null
  template <std::same_as<bool> T>
  Datum(T truth) : data_(truth) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Datum(T number)
      : data_(static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t,
                                             std::uint64_t>>(number)) {}
  Datum(std::string text) : data_(std::move(text)) {}
  Datum(std::string_view text) : data_(std::string(text)) {}
  Datum(const char* text) : data_(std::string(text)) {}
  Datum(List items) : data_(std::move(items)) {}
  Datum(Stream items) : data_(std::move(items)) {}
  Datum(Levels levels) : data_(levels) {}
  Datum(Table table);
  template <typename T>
  requires(!std::same_as<T, Datum>) Datum(const std::vector<T>& items)
      : data_(List(items.begin(), items.end())) {}
  // NOLINTEND(google-explicit-constructor)

  static Datum Object(Members members) {
    Datum value;
    value.data_ = std::move(members);
    return value;
  }
  // Written with six digits.
  static Datum Share(double share) {
    Datum value;
    value.data_ = share;
    return value;
  }
  static Datum OrNull(std::string_view text) {
    return text.empty() ? Datum() : Datum(text);
  }
  // The path of a module. In text, the root is <root>.
  static Datum Module(std::string path) {
    Datum value(std::move(path));
    value.is_module_ = true;
    return value;
  }
  // `code` is that of a terminal's color: "36".
  Datum Colored(std::string_view code) && {
    color_ = code;
    return std::move(*this);
  }

  bool IsNull() const { return std::holds_alternative<std::monostate>(data_); }
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&data_);
  }
  std::string_view color() const { return color_; }
  bool is_module() const { return is_module_; }

  // Adds members to an object.
  void Set(std::string key, Datum value) {
    std::get<Members>(data_).emplace_back(std::move(key), std::move(value));
  }
  void Add(const Members& members) {
    for (const auto& [key, value] : members) Set(key, value);
  }

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
               std::string, List, Members, Stream, Levels,
               std::shared_ptr<const Table>>
      data_;
  std::string_view color_;
  bool is_module_ = false;
};

// Whom a column is for: programs read TSV and JSON.
enum class For { kAll, kPeople, kPrograms, kJson };

// How people see a number: 1234567, "1,234,567", "1.23 MB"; 12.5 as "12.5%".
enum class Unit { kPlain, kThousands, kBytes, kPercent };

struct Column {
  // In JSON; "semantic.type" is "type" in "semantic", and "" is left out.
  std::string key = {};
  std::string heading = {};  // in text, TSV and Markdown
  For whom = For::kAll;
  std::string_view none = "";  // a null in text and TSV
  // How text is laid out. A right-aligned column needs a width, which includes
  // the space before it.
  bool right = false;
  std::size_t width = 0;      // 0: that of the widest cell, 60 at most
  bool ragged = false;        // the next column follows the text at once
  std::size_t longest = 300;  // bytes of a name; longer ones are cut in text
  Unit unit = Unit::kPlain;
};

inline Column NumberColumn(std::string key, std::string_view heading,
                           std::size_t width, Unit unit = Unit::kPlain) {
  return {.key = std::move(key),
          .heading = std::string(heading),
          .right = true,
          .width = width,
          .unit = unit};
}

struct Table {
  using Row = std::vector<Datum>;  // may end early
  using Use = std::function<void(const Row&)>;

  std::vector<Column> columns;
  std::vector<Row> rows;
  // Makes further rows while they are printed.
  std::function<void(const Use&)> more;

  void ForEachRow(const Use& use) const {
    for (const Row& row : rows) use(row);
    if (more) more(use);
  }
};

// `text` as a heading of a Line, made printable: bold where there is color.
std::string Emphasized(std::string_view text);
// The same for text that is printable.
std::string Emphasized(const Ours& text);

// Lines and tables, in order.
struct Page {
  template <typename... Args>
  void Line(message::Format<std::type_identity_t<Args>...> format,
            const Args&... args) {
    blocks.push_back(Message(format, args...) + "\n");
  }
  void Add(Table table) { blocks.emplace_back(std::move(table)); }

  std::vector<std::variant<std::string, Table>> blocks;
};

struct Result {
  ExitCode exit_code = ExitCode::kOk;
  Page text;      // for people
  Page markdown;  // where Markdown is read; empty: as the text
  Datum data;     // for programs
  // For --tsv: rows alone.
  std::vector<Table> rows;
  // For another program, in its own format: printed as it is.
  std::string document;
  // What the user must hear also with --quiet: on standard error.
  std::vector<std::string> findings;
  // A file went to standard output: people are told on standard error.
  bool streams = false;

  template <typename... Args>
  void Line(message::Format<std::type_identity_t<Args>...> format,
            const Args&... args) {
    text.Line(format, args...);
  }
  void Add(Table table) { text.Add(std::move(table)); }

  template <typename... Args>
  void Finding(message::Format<std::type_identity_t<Args>...> format,
               const Args&... args) {
    findings.push_back(Message(format, args...));
    exit_code = ExitCode::kFindings;
  }
};

}  // namespace onnx_tag
