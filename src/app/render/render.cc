// Tested by tests/app/render/render_test.cc.
#include "app/render/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "base/letters.h"
#include "base/parse_number.h"
#include "onnx_tag/error.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

Datum::Datum(Table table)
    : data_(std::make_shared<const Table>(std::move(table))) {}

std::string Emphasized(std::string_view text) {
  return Message("\x1b[1m{}\x1b[0m", text);
}

std::string Emphasized(const Ours& text) {
  return Message("\x1b[1m{}\x1b[0m", text);
}

namespace {

using Row = Table::Row;

bool IsShown(const Column& column, For to) {
  if (to == For::kJson) {
    return !column.key.empty() && column.whom != For::kPeople;
  }
  return column.whom == For::kAll || column.whom == to;
}

// ---------------------------------------------------------------- JSON
bool IsNothing(const Datum& value) {
  const auto* const members = value.As<Datum::Members>();
  if (members == nullptr) return value.IsNull();
  return std::all_of(members->begin(), members->end(), [](const auto& member) {
    return IsNothing(member.second);
  });
}

}  // namespace

Datum::Members MembersOf(const std::vector<Column>& columns,
                         const Table::Row& row) {
  Datum::Members members;
  Datum::Members inner;
  std::string open;  // the key of `inner`
  const auto close = [&] {
    if (open.empty()) return;
    Datum object = Datum::Object(std::exchange(inner, {}));
    members.emplace_back(std::exchange(open, {}),
                         IsNothing(object) ? Datum() : std::move(object));
  };
  for (std::size_t i = 0; i < std::min(columns.size(), row.size()); ++i) {
    if (!IsShown(columns[i], For::kJson)) continue;
    const std::string& key = columns[i].key;
    const std::size_t dot = key.find('.');
    const std::string outer = dot == key.npos ? "" : key.substr(0, dot);
    if (outer != open) close();
    open = outer;
    (outer.empty() ? members : inner)
        .emplace_back(outer.empty() ? key : key.substr(dot + 1), row[i]);
  }
  close();
  return members;
}

namespace {

void AddItem(JsonWriter& json, const Datum& item, const Sink& out) {
  AddValue(json, item);
  if (out) out(json.Take());
}

}  // namespace

std::string JsonText(const Datum& value) {
  JsonWriter json;
  AddValue(json, value);
  return json.Take();
}

void AddValue(JsonWriter& json, const Datum& value, const Sink& out) {
  if (const auto* truth = value.As<bool>()) {
    json.Bool(*truth);
  } else if (const auto* whole = value.As<std::int64_t>()) {
    json.Number(*whole);
  } else if (const auto* number = value.As<std::uint64_t>()) {
    json.Number(*number);
  } else if (const auto* share = value.As<double>()) {
    json.Share(*share);
  } else if (const auto* text = value.As<std::string>()) {
    json.String(*text);
  } else if (const auto* members = value.As<Datum::Members>()) {
    json.BeginObject();
    for (const auto& [key, member] : *members) {
      json.Key(key);
      AddValue(json, member, out);
    }
    json.EndObject();
  } else if (value.IsNull()) {
    json.Null();
  } else {
    json.BeginArray();
    if (const auto* list = value.As<Datum::List>()) {
      for (const Datum& item : *list) AddItem(json, item, out);
    } else if (const auto* stream = value.As<Datum::Stream>()) {
      (*stream)([&](const Datum& item) { AddItem(json, item, out); });
    } else if (const auto* levels = value.As<Datum::Levels>()) {
      for (const std::uint64_t count : *levels) json.Number(count);
    } else {
      const Table& table = **value.As<std::shared_ptr<const Table>>();
      table.ForEachRow([&](const Row& row) {
        AddItem(json, Datum::Object(MembersOf(table.columns, row)), out);
      });
    }
    json.EndArray();
  }
}

namespace {

// ---------------------------------------------------------------- cells
std::string CellText(const Datum& value, const Column& column,
                     std::size_t longest, Unit unit) {
  if (value.IsNull()) return std::string(column.none);
  if (const auto* truth = value.As<bool>()) return *truth ? "yes" : "no";
  if (const auto* whole = value.As<std::int64_t>())
    return std::to_string(*whole);
  if (const auto* number = value.As<std::uint64_t>()) {
    return unit == Unit::kThousands ? WithThousands(*number)
           : unit == Unit::kBytes   ? BytesText(*number)
                                    : std::to_string(*number);
  }
  if (const auto* share = value.As<double>()) {
    return unit == Unit::kPercent ? fmt::format("{:.1f} %", *share)
                                  : fmt::format("{:.6g}", *share);
  }
  if (const auto* text = value.As<std::string>()) {
    return Printable(value.is_module() ? ShownPath(*text) : *text, longest);
  }
  std::vector<std::string> items;
  if (const auto* list = value.As<Datum::List>()) {
    for (const Datum& item : *list) {
      items.push_back(CellText(item, column, longest, unit));
    }
  }
  return items.empty() ? std::string(column.none) : Join(items, " ");
}

// As people see it.
std::string CellText(const Datum& value, const Column& column) {
  return CellText(value, column, column.longest, column.unit);
}

constexpr std::size_t kBarCells = 8;

// Cells of each level: in proportion, and one at least for what is there.
Datum::Levels BarCells(const Datum::Levels& counts) {
  Datum::Levels cells = {};
  std::uint64_t left = 0;
  for (const std::uint64_t count : counts) left += count;
  std::uint64_t free = kBarCells;
  // Rarest first, so that rounding is at the cost of what fills the bar.
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return counts[a] < counts[b]; });
  for (const std::size_t level : order) {
    const std::uint64_t count = counts[level];
    if (count == 0) continue;
    const std::uint64_t share =
        (2 * count * free + left) / (2 * left);  // rounded
    cells[level] = std::clamp<std::uint64_t>(share, 1, free);
    free -= cells[level];
    left -= count;
  }
  return cells;
}

std::string Colored(std::string_view text, std::string_view code, bool color) {
  if (!color || code.empty() || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// "████▓▓░ ": from the surest.
std::string Bar(const Datum::Levels& counts, bool color) {
  constexpr std::array<std::string_view, 4> kShades = {"░", "▒", "▓", "█"};
  constexpr std::array<std::string_view, 4> kColors = {"31", "33", "36", "32"};
  const Datum::Levels cells = BarCells(counts);
  std::string bar;
  std::uint64_t used = 0;
  for (std::size_t level = 4; level-- > 0;) {
    std::string part;
    for (std::uint64_t i = 0; i < cells[level]; ++i) part += kShades[level];
    bar += Colored(part, kColors[level], color);
    used += cells[level];
  }
  return bar + std::string(kBarCells - used, ' ');
}

// ---------------------------------------------------------------- text
class TextTable {
 public:
  TextTable(const Table& table, bool color, const Sink& out)
      : table_(table), color_(color), out_(out) {}

  void Print() {
    FindWidths();
    Row heads;
    bool any = false;
    for (const Column& column : table_.columns) {
      heads.emplace_back(column.heading);
      any |= IsShown(column, For::kPeople) && !column.heading.empty();
    }
    if (any) out_(Line(heads));
    table_.ForEachRow([&](const Row& row) { out_(Line(row)); });
  }

 private:
  static constexpr std::size_t kWidest = 60;

  bool Shows(std::size_t i) const {
    return IsShown(table_.columns[i], For::kPeople);
  }
  std::string Text(const Datum& value, std::size_t i) const {
    return CellText(value, table_.columns[i]);
  }

  // Only those that are padded and have no width need a look at all rows.
  void FindWidths() {
    bool all_known = true;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const Column& column = table_.columns[i];
      widths_.push_back(column.width > 0 ? column.width
                                         : column.heading.size());
      if (Shows(i)) last_ = i;
    }
    for (std::size_t i = 0; i < last_; ++i) all_known &= !IsMeasured(i);
    if (all_known) return;
    table_.ForEachRow([&](const Row& row) {
      for (std::size_t i = 0; i < std::min(last_, row.size()); ++i) {
        if (!IsMeasured(i)) continue;
        widths_[i] = std::max(widths_[i], Text(row[i], i).size());
      }
    });
    for (std::size_t i = 0; i < last_; ++i) {
      if (IsMeasured(i)) widths_[i] = std::min(widths_[i], kWidest);
    }
  }
  bool IsMeasured(std::size_t i) const {
    const Column& column = table_.columns[i];
    return Shows(i) && column.width == 0 && !column.ragged;
  }

  std::string Line(const Row& row) const {
    std::string line;
    for (std::size_t i = 0; i < std::min(table_.columns.size(), row.size());
         ++i) {
      if (!Shows(i)) continue;
      const Column& column = table_.columns[i];
      if (const auto* levels = row[i].As<Datum::Levels>()) {
        line += "  " + Bar(*levels, color_);
        continue;
      }
      const std::string text = Text(row[i], i);
      if (column.right) {
        line += fmt::format("{:>{}}", text, widths_[i]);
        continue;
      }
      if (text.empty() && column.ragged) continue;
      if (!line.empty()) line += "  ";
      line += Colored(text, row[i].color(), color_);
      if (i == last_ || column.ragged || i + 1 == row.size()) continue;
      line += Padding(text, widths_[i]);
    }
    // Cells without a text leave no blanks at the end.
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  // fmt counts columns, not bytes.
  static std::string Padding(const std::string& text, std::size_t width) {
    return fmt::format("{:<{}}", text, width).substr(text.size());
  }

  const Table& table_;
  const bool color_;
  const Sink& out_;
  std::vector<std::size_t> widths_;
  std::size_t last_ = 0;
};

// ---------------------------------------------------------------- other tables
// An apostrophe before what a spreadsheet would take for a formula. Numbers
// are none.
std::string Harmless(std::string text) {
  const bool runs =
      text.size() > 1 &&
      std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  if (runs && !ParseAllAsDouble(text)) text.insert(0, 1, '\'');
  return text;
}

void PrintTsv(const Table& table, bool safe, const Sink& out) {
  const auto print = [&](const auto& cells, const auto& text) {
    std::string line;
    bool first = true;
    for (std::size_t i = 0; i < std::min(cells.size(), table.columns.size());
         ++i) {
      if (!IsShown(table.columns[i], For::kPrograms)) continue;
      if (!first) line += '\t';
      first = false;
      line += text(cells[i], table.columns[i]);
    }
    out(line + "\n");
  };
  print(table.columns,
        [](const Column& column, const Column&) { return column.heading; });
  table.ForEachRow([&](const Row& row) {
    print(row, [&](const Datum& value, const Column& column) {
      std::string text =
          CellText(value, column, std::string::npos, Unit::kPlain);
      return safe ? Harmless(std::move(text)) : text;
    });
  });
}

// Bars end a cell, and backquotes its code.
std::string MarkdownText(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '`') cell += '\\';
    cell += c;
  }
  return cell;
}

void PrintMarkdown(const Table& table, const Sink& out) {
  std::string heads = "|";
  std::string lines = "|";
  for (const Column& column : table.columns) {
    if (!IsShown(column, For::kPeople)) continue;
    heads += fmt::format(" {} |", column.heading);
    lines += column.right ? "---:|" : "---|";
  }
  out(heads + "\n" + lines + "\n");
  table.ForEachRow([&](const Row& row) {
    std::string line = "|";
    for (std::size_t i = 0; i < std::min(row.size(), table.columns.size());
         ++i) {
      const Column& column = table.columns[i];
      if (!IsShown(column, For::kPeople)) continue;
      line += fmt::format(" {} |", MarkdownText(CellText(row[i], column)));
    }
    out(line + "\n");
  });
}

// Names are quoted, so every escape sequence is ours.
std::string WithoutColors(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find('\x1b'), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(std::min(text.size(), escape));
    if (!text.empty())
      text.remove_prefix(std::min(text.find('m'), text.size() - 1) + 1);
  }
  return plain;
}

}  // namespace

void Render(const Result& result, Format format, bool color, const Sink& out) {
  if (!result.document.empty()) return out(result.document);
  if (format == Format::kJson) {
    if (result.data.IsNull()) return;
    JsonWriter json;
    AddValue(json, result.data, out);
    return out(json.Take() + "\n");
  }
  if (format == Format::kTsv || format == Format::kTsvSafe) {
    for (const Table& table : result.rows) {
      PrintTsv(table, format == Format::kTsvSafe, out);
    }
    return;
  }
  const bool markdown = format == Format::kMarkdown;
  const bool own = markdown && !result.markdown.blocks.empty();
  for (const auto& block : (own ? result.markdown : result.text).blocks) {
    if (const auto* line = std::get_if<std::string>(&block)) {
      const std::string text = color ? *line : WithoutColors(*line);
      out(markdown ? MarkdownText(text) : text);
    } else if (markdown) {
      PrintMarkdown(std::get<Table>(block), out);
    } else {
      TextTable(std::get<Table>(block), color, out).Print();
    }
  }
}

void Print(const Result& result, Format format, Terminal& terminal) {
  const bool text = format == Format::kText || format == Format::kMarkdown;
  if (!text || !terminal.quiet()) {
    Render(result, format, terminal.color_out(), [&](std::string_view piece) {
      if (result.streams) {
        terminal.Err(piece);
      } else {
        terminal.Out(piece);
      }
    });
  }
  for (const std::string& finding : result.findings) {
    terminal.Report("{}", Ours{finding});
  }
}

ExitCode ExitCodeOf(const std::exception& error) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  // Memory runs out while reading, if at all.
  if (ours == nullptr) return ExitCode::kInput;
  return ours->kind() == ErrorKind::kUsage    ? ExitCode::kUsage
         : ours->kind() == ErrorKind::kOutput ? ExitCode::kOutput
                                              : ExitCode::kInput;
}

std::string ErrorText(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "onnx-tag: out of memory\n";
  }
  // A message's own lines start with two spaces. Whatever else breaks the line
  // came with a name.
  std::string text = "onnx-tag: ";
  std::string_view rest = error.what();
  for (;;) {
    const std::size_t end = rest.find("\n  ");
    text += Printable(rest.substr(0, end), 4000);
    if (end == std::string_view::npos) return text + "\n";
    text += "\n  ";
    rest.remove_prefix(end + 3);
  }
}

std::string XmlText(std::string_view text, std::size_t longest) {
  constexpr std::array<std::pair<char, std::string_view>, 5> kEntities = {
      {{'&', "&amp;"},
       {'<', "&lt;"},
       {'>', "&gt;"},
       {'"', "&quot;"},
       {'\'', "&apos;"}}};
  std::string xml;
  const std::string printable = Printable(text, longest);
  for (std::size_t at = 0; at < printable.size(); ++at) {
    const std::string_view rest = std::string_view(printable).substr(at);
    if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
      xml += "\xef\xbf\xbd";
      at += 2;
      continue;
    }
    const auto entity =
        std::find_if(kEntities.begin(), kEntities.end(),
                     [&](const auto& one) { return one.first == rest[0]; });
    xml += entity == kEntities.end() ? rest.substr(0, 1) : entity->second;
  }
  return xml;
}

namespace {

// Each character for which `is_special(c)` as %XX.
template <typename IsSpecial>
std::string EncodedIf(std::string_view text, const IsSpecial& is_special) {
  std::string result;
  for (const char c : text) {
    if (is_special(c)) {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string Encoded(std::string_view text, std::string_view special) {
  return EncodedIf(text, [&](char c) { return special.find(c) != text.npos; });
}

}  // namespace

std::string UriText(std::string_view path) {
  return EncodedIf(path, [](char c) {
    return !IsLetter(c) && !IsDigit(c) &&
           std::string_view("-._~/").find(c) == std::string_view::npos;
  });
}

namespace {

std::string Escaped(const std::string& text, std::string_view how) {
  if (how == "json") return JsonText(text);
  if (how == "uri") return JsonText(UriText(text));
  if (how == "percent") return Encoded(text, "%\r\n");
  if (how == "property") return Encoded(Printable(text, 4000), "%\r\n:,");
  if (how == "xml") return XmlText(text);
  return Join(Mapped(Split(text, '\n'),
                     [](std::string_view line) { return XmlText(line); }),
              "\n");
}

}  // namespace

std::string Filled(std::string_view text, const Values& values) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    filled += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::string_view word = text.substr(1, text.find('}') - 1);
    const std::size_t colon = word.find(':');
    const auto value = values.find(word.substr(0, colon));
    if (value == values.end()) {
      filled += '{';
      text.remove_prefix(1);
      continue;
    }
    filled += colon == word.npos
                  ? value->second
                  : Escaped(value->second, word.substr(colon + 1));
    text.remove_prefix(word.size() + 2);
  }
  return filled;
}

}  // namespace onnx_tag
