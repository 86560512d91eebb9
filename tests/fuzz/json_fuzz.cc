// Any bytes as JSON: the reader takes what nlohmann_json takes, with the same
// values, and refuses the rest.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  // Far from the depth that the reader refuses and this comparison survives.
  const std::string_view text(reinterpret_cast<const char*>(data),
                              std::min<std::size_t>(size, 900));
  // nlohmann_json takes a NUL for the end.
  const json expected = text.find('\0') == text.npos
                            ? json::parse(text, nullptr, false)
                            : json(json::value_t::discarded);
  try {
    Reader reader(text);
    if (Read(reader) != expected) std::abort();
  } catch (const onnx_tag::Error&) {
    if (!expected.is_discarded()) std::abort();
  }
  return 0;
}
