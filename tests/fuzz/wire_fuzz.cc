// Any bytes, read as nested messages and rewritten. The laws of rewriting hold
// for all that can be read at all.
#include <cstdint>
#include <string>

#include "file/wire/field_reader.h"
#include "file/wire/toy_tagging.h"
#include "fuzz/require.h"

namespace onnx_tag {
namespace {

// A field that is no message costs an exception, 0.1 ms with AddressSanitizer;
// a file of nothing else made ten runs a second. What lies behind the 16th such
// field is reached in other files.
constexpr int kMostErrors = 16;

// Reads every field as if it were a message, as far as that goes. Counts those
// that are none.
void Walk(Bytes message, int depth, int& errors) {
  const char* at = message.data();
  wire::FieldReader reader(message, depth);
  try {
    for (wire::Field field; reader.Next(field);) {
      // The fields are the message, without gaps.
      Require(field.whole.data() == at && !field.whole.empty());
      at += field.whole.size();
      Require(at <= message.data() + message.size() && at == reader.position());
      Require(field.number != 0);
      std::uint64_t sum = 0;
      wire::TryForEachVarint(field, [&](std::uint64_t value) { sum += value; });
      if (field.IsBytes() && depth < 20) Walk(field.bytes, depth + 1, errors);
      if (errors > kMostErrors) return;
    }
    Require(at == message.data() + message.size());
  } catch (const wire::WireError& error) {
    ++errors;
    Require(error.position() >= message.data() &&
            error.position() <= message.data() + message.size());
  }
}

void CheckLaws(const std::string& file) {
  std::string stripped;
  try {
    stripped = test::Strip(file);
  } catch (const wire::WireError&) {
    return;  // the file, or its recorded widths, cannot be read
  }
  test::Tags tags(test::ChildTree(stripped).size());
  for (std::size_t i = 1; i < tags.size(); ++i) {
    // Sizes on both sides of 128, and none.
    const std::size_t size = (i * 37 + file.size() * 11) % 160;
    if (size < 20) continue;
    wire::AppendLengthDelimited(tags[i], test::kOurs, std::string(size, 't'));
  }
  Require(test::Strip(stripped) == stripped);
  const std::string tagged = test::TagMessages(stripped, tags);
  Require(test::Strip(tagged) == stripped);
  Require(test::TagMessages(tagged, tags) == tagged);
  Require(test::TagMessages(file, tags) == tagged);
}

}  // namespace
}  // namespace onnx_tag

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  // Reading is bounded by depth times size; this bounds size.
  if (size > 1 << 20) return 0;
  int errors = 0;
  onnx_tag::Walk(file, 0, errors);
  if (errors <= onnx_tag::kMostErrors) onnx_tag::CheckLaws(file);
  return 0;
}
