// One fact, one line: the column of a table, and what it says of an item.
//
//   Facts FactsOf(const Tap& tap) {
//     return {{{.key = "output", .heading = "output"}, tap.output},
//             {{.key = "new", .whom = For::kJson}, tap.is_new}};
//   }
//   result.Add(TableOf(taps, FactsOf));                           // for people
//   result.data = Datum::Object({{"taps", ObjectsOf(taps, FactsOf)}});
#ifndef ONNX_TAG_APP_RENDER_FACTS_H_
#define ONNX_TAG_APP_RENDER_FACTS_H_

#include <vector>

#include "app/render/render.h"
#include "app/render/result.h"

namespace onnx_tag {

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

#endif  // ONNX_TAG_APP_RENDER_FACTS_H_
