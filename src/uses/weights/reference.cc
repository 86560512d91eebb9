#include "uses/weights/reference.h"

#include <algorithm>
#include <unordered_map>

#include "file/json/reader.h"
#include "onnx_tag/error.h"
#include "uses/weights/checkpoint.h"

namespace onnx_tag::weights {
namespace {

constexpr std::size_t kLengthSize = 8;

std::vector<std::int64_t> ReadNumbers(json::Reader& reader) {
  std::vector<std::int64_t> numbers;
  reader.BeginArray();
  while (reader.NextItem()) {
    numbers.push_back(static_cast<std::int64_t>(reader.Number()));
  }
  return numbers;
}

// The bytes from offsets[0] to offsets[1]; empty if they do not exist.
Bytes BytesAt(Bytes data, const std::vector<std::int64_t>& offsets) {
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[0] >= offsets[1] ||
      static_cast<std::uint64_t>(offsets[1]) > data.size()) {
    return {};
  }
  const auto begin = static_cast<std::size_t>(offsets[0]);
  return data.substr(begin, static_cast<std::size_t>(offsets[1]) - begin);
}

// {"weight": [768, 768], ...}, or a list of names.
void ReadParametersOf(json::Reader& reader, std::string_view module,
                      std::vector<ReferenceTensor>& tensors) {
  const auto whole = [&](std::string_view name) {
    return module.empty() ? std::string(name)
                          : fmt::format("{}.{}", module, name);
  };
  if (reader.Peek() == json::Kind::kArray) {
    reader.BeginArray();
    while (reader.NextItem()) {
      tensors.push_back({whole(reader.String())});
    }
    return;
  }
  reader.BeginObject();
  std::string_view name;
  while (reader.NextMember(name)) {
    ReferenceTensor tensor{whole(name)};
    if (reader.Peek() == json::Kind::kArray) {
      tensor.has_shape = true;
      tensor.shape = ReadNumbers(reader);
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

std::vector<ReferenceTensor> ReadSafetensors(Bytes file) {
  const SafetensorsParts parts = SplitSafetensors(file);
  std::vector<ReferenceTensor> tensors;
  std::unordered_map<Bytes, std::string> first_with;
  json::Reader reader(parts.head);
  reader.BeginObject();
  std::string_view name;
  while (reader.NextMember(name)) {
    if (name == "__metadata__") {
      reader.Skip();
      continue;
    }
    ReferenceTensor tensor{std::string(name)};
    std::vector<std::int64_t> offsets;
    reader.BeginObject();
    std::string_view key;
    while (reader.NextMember(key)) {
      if (key == "shape") {
        tensor.has_shape = true;
        tensor.shape = ReadNumbers(reader);
      } else if (key == "data_offsets") {
        offsets = ReadNumbers(reader);
      } else {
        reader.Skip();
      }
    }
    if (const Bytes bytes = BytesAt(parts.data, offsets); !bytes.empty()) {
      tensor.is_zero = tensor.shape.size() == 1 &&
                       bytes.find_first_not_of('\0') == Bytes::npos;
      const auto at = first_with.emplace(bytes, tensor.name);
      if (!at.second) tensor.same_as = at.first->second;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<ReferenceTensor> ReadModuleParameters(Bytes json) {
  std::vector<ReferenceTensor> tensors;
  json::Reader reader(json);
  reader.BeginObject();
  std::string_view key;
  while (reader.NextMember(key)) {
    if (key != "modules" || reader.Peek() != json::Kind::kObject) {
      reader.Skip();
      continue;
    }
    reader.BeginObject();
    std::string_view module;
    while (reader.NextMember(module)) {
      if (reader.Peek() != json::Kind::kObject) {
        reader.Skip();
        continue;
      }
      reader.BeginObject();
      std::string_view field;
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
