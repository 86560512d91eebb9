// Tested by tests/uses/weights/weight_map_test.cc.
#include "file/json/reader.h"
#include "onnx_tag/error.h"
#include "uses/weights/check.h"
#include "uses/weights/use_reader.h"

namespace onnx_tag::weights {
namespace {

// {"weight": [768, 768], ...}, or a list of names.
void ReadParametersOf(json::Reader& reader, std::string_view module,
                      std::vector<Tensor>& tensors) {
  const auto add = [&](std::string_view name) -> Tensor& {
    return tensors.emplace_back(
        Tensor{.name = Join(std::string(module), name), .dims = {kAnyDims}});
  };
  if (reader.Peek() == json::Kind::kArray) {
    return reader.ForEachItem([&] { add(reader.StringView()); });
  }
  reader.ForEachMember([&](std::string_view name) {
    Tensor& tensor = add(name);
    if (reader.Peek() != json::Kind::kArray) return;
    tensor.dims.clear();
    reader.ForEachItem([&] {
      tensor.dims.push_back(static_cast<std::int64_t>(reader.Number()));
    });
  });
}

}  // namespace

bool IsSafetensors(Bytes file) { return file.size() > 8 && file[8] == '{'; }

std::vector<Tensor> ReadModuleParameters(Bytes json) {
  std::vector<Tensor> tensors;
  json::Reader reader(json);
  const auto is_object = [&] { return reader.Peek() == json::Kind::kObject; };
  reader.ForEachMember([&](std::string_view key) {
    if (key != "modules" || !is_object()) return;
    reader.ForEachMember([&](std::string_view module) {
      if (!is_object()) return;
      reader.ForEachMember([&](std::string_view field) {
        if (field != "parameters" && field != "buffers") return;
        ReadParametersOf(reader, module, tensors);
      });
    });
  });
  if (tensors.empty()) {
    Fail(ErrorKind::kUsage,
         "lists no parameters\n  record them with: python -m onnx_tag record");
  }
  return tensors;
}

}  // namespace onnx_tag::weights
