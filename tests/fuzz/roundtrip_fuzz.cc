// Any bytes that are a model, tagged and stripped: the laws of tagging.
#include <cstdint>
#include <string>

#include "core/tagging/tag_writer.h"
#include "fuzz/require.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

class StringSink : public wire::Rewrite::Sink {
 public:
  explicit StringSink(Bytes file) : file_(file) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override {
    text_ += file_.substr(offset, size);
  }
  void Write(Bytes bytes) override { text_ += bytes; }
  std::string text() && { return std::move(text_); }

 private:
  Bytes file_;
  std::string text_;
};

std::string Write(Bytes file, TagWriter& writer) {
  StringSink sink(file);
  writer.Write(sink);
  std::string text = std::move(sink).text();
  Require(text.size() == writer.new_size());
  return text;
}

std::string Tag(Bytes file, const KeyChoice& keys) {
  const Model model = ReadModel(file);
  const Tagging tagging = MapNodes(model, MappingOptions());
  TagWriter writer(model, tagging, keys);
  return Write(file, writer);
}

std::string Strip(Bytes file) {
  const Model model = ReadModel(file);
  TagWriter writer(model);
  return Write(file, writer);
}

void CheckLaws(Bytes file, const KeyChoice& keys) {
  const std::string stripped = Strip(file);
  Require(Strip(stripped) == stripped);
  const std::string tagged = Tag(stripped, keys);
  Require(Strip(tagged) == stripped);
  Require(Tag(tagged, keys) == tagged);
  Require(Tag(file, keys) == tagged);
}

}  // namespace
}  // namespace onnx_tag

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const Bytes file(reinterpret_cast<const char*>(data), size);
  try {
    ReadModel(file);
  } catch (const Error&) {
    return 0;
  }
  CheckLaws(file, {});
  CheckLaws(file, {.tags = true,
                   .name_space = true,
                   .layer_ann = true,
                   .class_hierarchy = true});
  return 0;
}
