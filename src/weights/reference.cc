#include "weights/reference.h"

#include <algorithm>

#include "json/reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag::weights {
namespace {

constexpr std::size_t kLengthSize = 8;
// As the format's own reader has it.
constexpr std::uint64_t kMaxHead = 100'000'000;

std::uint64_t HeadSize(Bytes file) {
  std::uint64_t size = 0;
  for (std::size_t i = kLengthSize; i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(file[i]);
  }
  return size;
}

std::vector<std::int64_t> ReadShape(json::Reader& reader) {
  std::vector<std::int64_t> shape;
  reader.BeginArray();
  while (reader.NextItem()) {
    shape.push_back(static_cast<std::int64_t>(reader.Number()));
  }
  return shape;
}

// {"weight": [768, 768], ...}, or a list of names.
void ReadParametersOf(json::Reader& reader, const std::string& module,
                      std::vector<ReferenceTensor>& tensors) {
  const auto whole = [&](const std::string& name) {
    return module.empty() ? name : module + "." + name;
  };
  if (reader.Peek() == json::Kind::kArray) {
    reader.BeginArray();
    while (reader.NextItem()) {
      tensors.push_back({whole(reader.String()), false, {}});
    }
    return;
  }
  reader.BeginObject();
  std::string name;
  while (reader.NextMember(name)) {
    ReferenceTensor tensor{whole(name), false, {}};
    if (reader.Peek() == json::Kind::kArray) {
      tensor.has_shape = true;
      tensor.shape = ReadShape(reader);
    } else {
      reader.Skip();
    }
    tensors.push_back(std::move(tensor));
  }
}

}  // namespace

bool IsSafetensors(Bytes file) {
  return file.size() > kLengthSize && file[kLengthSize] == '{';
}

std::vector<ReferenceTensor> ReadSafetensorsHead(Bytes file) {
  if (file.size() < kLengthSize) {
    Fail(ErrorKind::kUsage, "not a .safetensors file: it has {} bytes",
         file.size());
  }
  const std::uint64_t size = HeadSize(file);
  if (size > kMaxHead || size > file.size() - kLengthSize) {
    Fail(ErrorKind::kUsage,
         "not a .safetensors file: its head would have {} bytes", size);
  }
  std::vector<ReferenceTensor> tensors;
  json::Reader reader(file.substr(kLengthSize, static_cast<std::size_t>(size)));
  reader.BeginObject();
  std::string name;
  while (reader.NextMember(name)) {
    if (name == "__metadata__") {
      reader.Skip();
      continue;
    }
    ReferenceTensor tensor{name, false, {}};
    reader.BeginObject();
    std::string key;
    while (reader.NextMember(key)) {
      if (key == "shape") {
        tensor.has_shape = true;
        tensor.shape = ReadShape(reader);
      } else {
        reader.Skip();
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<ReferenceTensor> ReadModuleParameters(Bytes json) {
  std::vector<ReferenceTensor> tensors;
  json::Reader reader(json);
  reader.BeginObject();
  std::string key;
  while (reader.NextMember(key)) {
    if (key != "modules" || reader.Peek() != json::Kind::kObject) {
      reader.Skip();
      continue;
    }
    reader.BeginObject();
    std::string module;
    while (reader.NextMember(module)) {
      if (reader.Peek() != json::Kind::kObject) {
        reader.Skip();
        continue;
      }
      reader.BeginObject();
      std::string field;
      while (reader.NextMember(field)) {
        if (field == "parameters" || field == "buffers") {
          ReadParametersOf(reader, module, tensors);
        } else {
          reader.Skip();
        }
      }
    }
  }
  if (tensors.empty()) {
    Fail(ErrorKind::kUsage,
         "lists no parameters\n  record them with: python -m onnx_tag record");
  }
  return tensors;
}

}  // namespace onnx_tag::weights
