// Prints results: the only code that turns one into text, JSON, TSV or
// Markdown. It knows tables and values, and nothing of ONNX.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/render/result.h"
#include "file/io/terminal.h"
#include "file/json/writer.h"

namespace onnx_tag {

// kTsvSafe: a spreadsheet runs no cell.
enum class Format { kText, kJson, kTsv, kTsvSafe, kMarkdown };

using Sink = std::function<void(std::string_view)>;

// In pieces, as they are made.
void Render(const Result& result, Format format, bool color, const Sink& out);

// The cells of a row as members of an object. Neighbours whose keys begin with
// the same word and a dot are members of an inner object, which is null if it
// has only nulls.
Datum::Members MembersOf(const std::vector<Column>& columns,
                         const Table::Row& row);

// `value` as JSON.
std::string JsonText(const Datum& value);

// `value` as JSON. With `out`, long lists are handed over item by item, and
// `json` has the rest.
void AddValue(JsonWriter& json, const Datum& value, const Sink& out = nullptr);

// Prints `result` for the user: results on standard output, findings on
// standard error.
void Print(const Result& result, Format format, Terminal& terminal);

// "onnx-tag: bert.onnx: ...", ready to print, whatever bytes it quotes.
std::string ErrorText(const std::exception& error);
ExitCode ExitCodeOf(const std::exception& error);

// Escapes markup and quotes. Control characters and bytes that are not UTF-8,
// which XML cannot hold, become \xNN, and U+FFFE and U+FFFF become U+FFFD. A
// text of more than `longest` bytes is cut.
std::string XmlText(std::string_view text, std::size_t longest = 4000);

// A path as a URI reference: all but letters, digits and "-._~/" as %XX.
std::string UriText(std::string_view path);

// `text` with values in place of its words: "{path}", or "{path:xml}" escaped
// as xml, json, uri, percent, property or lines. Other braces stay.
using Values = std::map<std::string_view, std::string>;
std::string Filled(std::string_view text, const Values& values);

// One fact, one line: the column of a table, and what it says of an item.
//
//   Facts FactsOf(const Tap& tap) {
//     return {{{.key = "output", .heading = "output"}, tap.output},
//             {{.key = "new", .whom = For::kJson}, tap.is_new}};
//   }
//   result.Add(TableOf(taps, FactsOf));                           // for people
//   result.data = Datum::Object({{"taps", ObjectsOf(taps, FactsOf)}});
struct Fact {
  Column column;
  Datum value;
};

// What is said of one item. All items of a table have the same columns; only
// facts for JSON may be left out.
using Facts = std::vector<Fact>;

// In text and TSV.
inline std::vector<Column> ColumnsOf(const Facts& facts) {
  std::vector<Column> columns;
  for (const Fact& fact : facts) {
    if (fact.column.whom != For::kJson) columns.push_back(fact.column);
  }
  return columns;
}

inline Table::Row CellsOf(const Facts& facts) {
  Table::Row row;
  for (const Fact& fact : facts) {
    if (fact.column.whom != For::kJson) row.push_back(fact.value);
  }
  return row;
}

inline Datum ObjectOf(const Facts& facts) {
  std::vector<Column> columns;
  Table::Row row;
  for (const Fact& fact : facts) {
    columns.push_back(fact.column);
    row.push_back(fact.value);
  }
  return Datum::Object(MembersOf(columns, row));
}

// The first item says which columns there are.
template <typename Items, typename FactsOf>
Table TableOf(const Items& items, const FactsOf& facts_of) {
  Table table;
  for (const auto& item : items) {
    const Facts facts = facts_of(item);
    if (table.columns.empty()) table.columns = ColumnsOf(facts);
    table.rows.push_back(CellsOf(facts));
  }
  return table;
}

// What `make` makes of each item.
template <typename Items, typename Make>
auto Mapped(const Items& items, const Make& make) {
  std::vector<
      std::decay_t<std::invoke_result_t<const Make&, decltype(*items.begin())>>>
      made;
  for (const auto& item : items) made.push_back(std::invoke(make, item));
  return made;
}

// `value` of each item.
template <typename Items, typename Value>
Datum ListOf(const Items& items, const Value& value) {
  Datum::List list;
  for (const auto& item : items) list.push_back(value(item));
  return list;
}

template <typename Items, typename FactsOf>
Datum ObjectsOf(const Items& items, const FactsOf& facts_of) {
  return ListOf(items,
                [&](const auto& item) { return ObjectOf(facts_of(item)); });
}

}  // namespace onnx_tag
