#include "uses/weights/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/bit_cast.h"
#include "base/text.h"
#include "file/io/paths.h"
#include "file/json/reader.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"

namespace onnx_tag::weights {
namespace {

constexpr std::size_t kHeadLength = 8;
// As the format's own reader has it.
constexpr std::uint64_t kMostHead = 100'000'000;

constexpr struct {
  std::string_view name;
  std::int32_t type;
  std::uint32_t bytes;
} kSafetensorsTypes[] = {
    {"F32", kFloat, 4},  {"F16", kFloat16, 2}, {"BF16", kBfloat16, 2},
    {"F64", kDouble, 8}, {"I64", kInt64, 8},   {"I32", kInt32, 4},
    {"I16", kInt16, 2},  {"I8", kInt8, 1},     {"U8", kUint8, 1},
    {"U16", kUint16, 2}, {"U32", kUint32, 4},  {"U64", kUint64, 8},
    {"BOOL", kBool, 1},  {"F8_E4M3", 0, 1},    {"F8_E5M2", 0, 1}};

float FloatOfHalf(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t rest = (half & 0x7fffu) << 13;
  if ((half & 0x7c00) == 0x7c00)
    return BitCast<float>(sign | 0x7f800000 | rest);
  // The exponent is 112 too small, also of numbers without a leading 1.
  const float number = BitCast<float>(rest) * 0x1p112f;
  return BitCast<float>(BitCast<std::uint32_t>(number) | sign);
}

float FloatAt(std::int32_t type, const char* at) {
  switch (type) {
    case kFloat: {
      float number = 0;
      std::memcpy(&number, at, sizeof number);
      return number;
    }
    case kDouble: {
      double number = 0;
      std::memcpy(&number, at, sizeof number);
      return static_cast<float>(number);
    }
    default: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, at, sizeof bits);
      return type == kBfloat16 ? BitCast<float>(std::uint32_t{bits} << 16)
                               : FloatOfHalf(bits);
    }
  }
}

CheckpointTensor ReadEntry(json::Reader& reader, std::string_view name,
                           Bytes data) {
  CheckpointTensor tensor{std::string(name)};
  std::string type;
  std::vector<std::uint64_t> offsets;
  reader.ForEachMember([&](std::string_view key) {
    if (key == "dtype") type = reader.String();
    if (key == "shape") {
      reader.ForEachItem([&] {
        tensor.dims.push_back(
            static_cast<std::int64_t>(reader.Whole(std::uint64_t{1} << 48)));
      });
    }
    if (key == "data_offsets") {
      reader.ForEachItem([&] { offsets.push_back(reader.Whole()); });
    }
  });
  const auto row =
      std::find_if(std::begin(kSafetensorsTypes), std::end(kSafetensorsTypes),
                   [&](const auto& known) { return known.name == type; });
  if (row == std::end(kSafetensorsTypes)) {
    Fail(ErrorKind::kUsage, "{}: has an unknown type: {}", name, type);
  }
  tensor.type = row->type;
  tensor.count = CountElements(tensor.dims);
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      offsets[1] > data.size()) {
    Fail(ErrorKind::kUsage, "{}: its bytes are not in the file, which has {}",
         name, Count(data.size(), "byte"));
  }
  if (tensor.count * row->bytes != offsets[1] - offsets[0]) {
    Fail(ErrorKind::kUsage, "{}: {} of {} do not fit into {} bytes", name,
         DimsText(tensor.dims), type, offsets[1] - offsets[0]);
  }
  tensor.bytes = data.substr(static_cast<std::size_t>(offsets[0]),
                             static_cast<std::size_t>(offsets[1] - offsets[0]));
  return tensor;
}

// Two tensors never share bytes in this format.
void RefuseOverlaps(const std::vector<CheckpointTensor>& tensors) {
  std::vector<const CheckpointTensor*> sorted;
  for (const CheckpointTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->bytes.data() < b->bytes.data();
  });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Bytes before = sorted[i - 1]->bytes;
    if (before.data() + before.size() <= sorted[i]->bytes.data()) continue;
    Fail(ErrorKind::kUsage, "{} and {} overlap", sorted[i - 1]->name,
         sorted[i]->name);
  }
}

}  // namespace

void ReleaseBytes(const MappedFile* file, Bytes bytes) {
  if (file == nullptr || bytes.empty()) return;
  const auto begin =
      static_cast<std::uint64_t>(bytes.data() - file->bytes().data());
  file->Release(begin, begin + bytes.size());
}

void CheckpointTensor::Release() const { ReleaseBytes(file, bytes); }

std::string DimsText(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

float CheckpointTensor::At(std::uint64_t index) const {
  return FloatAt(type, bytes.data() + index * (BitsPerElement(type) / 8));
}

void LoadFloats(const CheckpointTensor& tensor, std::uint64_t begin,
                std::uint64_t count, float* to) {
  const std::size_t width = BitsPerElement(tensor.type) / 8;
  const char* at = tensor.bytes.data() + begin * width;
  if (tensor.type == kFloat) {
    std::memcpy(to, at, count * width);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i, at += width) {
    to[i] = FloatAt(tensor.type, at);
  }
}

SafetensorsParts SplitSafetensors(Bytes file) {
  if (file.size() < kHeadLength) {
    Fail(ErrorKind::kUsage, "not a .safetensors file: it has {} bytes",
         file.size());
  }
  std::uint64_t size = 0;
  for (std::size_t i = kHeadLength; i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(file[i]);
  }
  if (size > kMostHead || size > file.size() - kHeadLength) {
    Fail(ErrorKind::kUsage,
         "not a .safetensors file: its head would have {} bytes", size);
  }
  const auto length = static_cast<std::size_t>(size);
  return {file.substr(kHeadLength, length), file.substr(kHeadLength + length)};
}

std::vector<CheckpointTensor> ReadSafetensorsTensors(Bytes file) {
  const SafetensorsParts parts = SplitSafetensors(file);
  std::vector<CheckpointTensor> tensors;
  json::Reader reader(parts.head);
  reader.ForEachMember([&](std::string_view name) {
    if (name == "__metadata__") return;
    tensors.push_back(ReadEntry(reader, name, parts.data));
  });
  RefuseOverlaps(tensors);
  return tensors;
}

void Checkpoint::AddFile(const std::string& path) {
  files_.push_back(std::make_unique<MappedFile>(MappedFile::Open(path)));
  const MappedFile& file = *files_.back();
  try {
    for (CheckpointTensor& tensor :
         file.bytes().starts_with("PK")
             ? ReadTorchTensors(file.bytes())
             : ReadSafetensorsTensors(file.bytes())) {
      tensor.file = &file;
      tensors_.push_back(std::move(tensor));
    }
  } catch (const Error& error) {
    throw error.In(path);
  }
}

Checkpoint Checkpoint::Open(const std::string& path) {
  Checkpoint checkpoint;
  if (path.ends_with(".json")) {
    // {"weight_map": {"a.weight": "model-00001-of-00002.safetensors"}}
    const std::string text = ReadWholeFile(path);
    std::set<std::string> files;
    std::size_t named = 0;
    try {
      json::Reader reader(text);
      reader.ForEachMember([&](std::string_view key) {
        if (key != "weight_map") return;
        reader.ForEachMember([&](std::string_view) {
          files.insert(reader.String());
          ++named;
        });
      });
      for (const std::string& file : files) {
        if (FileName(file) == file && !file.empty()) continue;
        Fail(ErrorKind::kUsage, "names a file of another folder: {}", file);
      }
      if (files.empty()) Fail(ErrorKind::kUsage, "has no weight_map");
    } catch (const Error& error) {
      throw error.In(path);
    }
    for (const std::string& file : files) {
      checkpoint.AddFile(JoinPath(ParentFolder(path), file));
    }
    if (checkpoint.tensors_.size() != named) {
      Fail(ErrorKind::kUsage, "{}: lists {} tensors, its files have {}", path,
           named, checkpoint.tensors_.size());
    }
  } else {
    checkpoint.AddFile(path);
  }
  for (std::size_t i = 0; i < checkpoint.tensors_.size(); ++i) {
    const std::string& name = checkpoint.tensors_[i].name;
    if (!checkpoint.by_name_.emplace(name, i).second) {
      Fail(ErrorKind::kUsage, "{}: has two tensors named {}", path, name);
    }
  }
  return checkpoint;
}

const CheckpointTensor* Checkpoint::Find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

void Checkpoint::AddTo(Inputs& inputs, std::string_view what) const {
  for (const auto& file : files_) inputs.Add(*file, what);
}

void Checkpoint::CheckUnchanged() const {
  for (const auto& file : files_) file->CheckUnchanged();
}

}  // namespace onnx_tag::weights
