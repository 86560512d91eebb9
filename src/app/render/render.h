// Prints results: the only code that turns one into text, JSON, TSV or
// Markdown. It knows tables and values, and nothing of ONNX.
#ifndef ONNX_TAG_APP_RENDER_RENDER_H_
#define ONNX_TAG_APP_RENDER_RENDER_H_

#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>

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

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_RENDER_RENDER_H_
