// Tested by tests/uses/weights/weight_map_test.cc.
#include "file/json/reader.h"
#include "onnx_tag/error.h"
#include "uses/weights/check.h"
#include "uses/weights/checkpoint.h"

namespace onnx_tag::weights {
namespace {

// {"weight": [768, 768], ...}, or a list of names.
void ReadParametersOf(json::Reader& reader, std::string_view module,
                      std::vector<ReferenceTensor>& tensors) {
  const auto add = [&](std::string_view name) -> ReferenceTensor& {
    return tensors.emplace_back(
        ReferenceTensor{module.empty() ? std::string(name)
                                       : fmt::format("{}.{}", module, name)});
  };
  if (reader.Peek() == json::Kind::kArray) {
    return reader.ForEachItem([&] { add(reader.StringView()); });
  }
  reader.ForEachMember([&](std::string_view name) {
    ReferenceTensor& tensor = add(name);
    if (reader.Peek() != json::Kind::kArray) return;
    tensor.has_shape = true;
    reader.ForEachItem([&] {
      tensor.shape.push_back(static_cast<std::int64_t>(reader.Number()));
    });
  });
}

}  // namespace

bool IsSafetensors(Bytes file) { return file.size() > 8 && file[8] == '{'; }

std::vector<ReferenceTensor> ReadSafetensors(Bytes file) {
  std::vector<ReferenceTensor> tensors;
  for (Tensor& entry : ReadSafetensorsTensors(file, true)) {
    const bool is_zero = entry.dims.size() == 1 && !entry.bytes.empty() &&
                         entry.bytes.find_first_not_of('\0') == Bytes::npos;
    tensors.push_back({std::move(entry.name), true, std::move(entry.dims),
                       is_zero, entry.bytes});
  }
  return tensors;
}

std::vector<ReferenceTensor> ReadModuleParameters(Bytes json) {
  std::vector<ReferenceTensor> tensors;
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
