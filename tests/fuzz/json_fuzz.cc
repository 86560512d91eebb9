// Any bytes as JSON: the reader takes what nlohmann_json takes, with the same
// values, and refuses the rest. It also refuses a key that occurs twice in an
// object, and a NUL, which nlohmann_json takes for the end.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "file/json/reader.h"
#include "onnx_tag/error.h"

namespace {

using nlohmann::json;
using onnx_tag::json::Kind;
using onnx_tag::json::Reader;

json Read(Reader& reader) {
  json value;
  switch (reader.Peek()) {
    case Kind::kObject:
      value = json::object();
      reader.ForEachMember([&](std::string_view key) {
        const std::string name(key);
        value[name] = Read(reader);
      });
      break;
    case Kind::kArray:
      value = json::array();
      reader.ForEachItem([&] { value.push_back(Read(reader)); });
      break;
    case Kind::kString:
      value = reader.String();
      break;
    case Kind::kNumber:
      value = reader.Number();
      break;
    case Kind::kBool:
      value = reader.Bool();
      break;
    case Kind::kNull:
      reader.Null();
      break;
  }
  return value;
}

// Discarded where the reader must refuse it.
json Expected(std::string_view text) {
  const json refused(json::value_t::discarded);
  if (text.find('\0') != text.npos) return refused;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  bool twice = false;
  json value = json::parse(
      text,
      [&](int, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) keys.emplace_back();
        if (event == json::parse_event_t::object_end) keys.pop_back();
        if (event == json::parse_event_t::key) {
          twice |= !keys.back().insert(parsed.get<std::string>()).second;
        }
        return true;
      },
      false);
  return twice ? refused : value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  // Far from the depth that the reader refuses and this comparison survives.
  const std::string_view text(reinterpret_cast<const char*>(data),
                              std::min<std::size_t>(size, 900));
  const json expected = Expected(text);
  try {
    Reader reader(text);
    if (Read(reader) != expected) std::abort();
  } catch (const onnx_tag::Error&) {
    if (!expected.is_discarded()) std::abort();
  }
  return 0;
}
