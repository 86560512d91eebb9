#include "uses/weights/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/bit_cast.h"
#include "base/lists.h"
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

void Check(Tensor& tensor, const std::string& type, bool inside, Bytes data) {
  const auto row =
      std::find_if(std::begin(kSafetensorsTypes), std::end(kSafetensorsTypes),
                   [&](const auto& known) { return known.name == type; });
  if (row == std::end(kSafetensorsTypes)) {
    Fail(ErrorKind::kUsage, "{}: has an unknown type: {}", tensor.name, type);
  }
  if (!inside) {
    Fail(ErrorKind::kUsage, "{}: its bytes are not in the file, which has {}",
         tensor.name, Count(data.size(), "byte"));
  }
  tensor.type = row->type;
  tensor.count = CountElements(tensor.dims);
  // 2^63 times 4 would be 0.
  if (tensor.count > tensor.bytes.size() ||
      tensor.count * row->bytes != tensor.bytes.size()) {
    Fail(ErrorKind::kUsage, "{}: {} of {} do not fit into {} bytes",
         tensor.name, DimsText(tensor.dims), type, tensor.bytes.size());
  }
}

// Two tensors never share bytes in this format.
void RefuseOverlaps(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> sorted;
  for (const Tensor& tensor : tensors) {
    if (!tensor.bytes.empty()) sorted.push_back(&tensor);
  }
  SortBy(sorted, [](const auto* tensor) { return tensor->bytes.data(); });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Bytes before = sorted[i - 1]->bytes;
    if (before.data() + before.size() <= sorted[i]->bytes.data()) continue;
    Fail(ErrorKind::kUsage, "{} and {} overlap", sorted[i - 1]->name,
         sorted[i]->name);
  }
}

}  // namespace

std::uint64_t LittleEndian(Bytes bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

float FloatAt(std::int32_t type, Bytes bytes, std::uint64_t index) {
  float result = 0;
  const bool brain = type == kBfloat16;
  UseElement(brain ? kUint16 : type, bytes, index,
             [&](auto number) { result = static_cast<float>(number); });
  // Every whole number of 16 bits is a float.
  return brain ? BitCast<float>(static_cast<std::uint32_t>(result) << 16)
               : result;
}

std::string DimsText(const std::vector<std::int64_t>& dims) {
  return "[" + onnx_tag::Join(dims) + "]";
}

float Tensor::At(std::uint64_t index) const {
  return FloatAt(type, bytes, index);
}

void LoadFloats(const Tensor& tensor, std::uint64_t begin, std::uint64_t count,
                float* to) {
  if (tensor.type == kFloat) {
    std::memcpy(to, tensor.bytes.data() + begin * sizeof *to,
                count * sizeof *to);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) to[i] = tensor.At(begin + i);
}

std::vector<Tensor> ReadSafetensorsTensors(Bytes file, bool lacking) {
  const std::uint64_t size = LittleEndian(file.substr(0, kHeadLength));
  if (file.size() < kHeadLength || size > kMostHead ||
      size > file.size() - kHeadLength) {
    Fail(ErrorKind::kUsage,
         "not a .safetensors file: it has {} bytes, its head would have {}",
         file.size(), size);
  }
  const Bytes data = file.substr(kHeadLength + size);
  std::vector<Tensor> tensors;
  json::Reader reader(file.substr(kHeadLength, size));
  reader.ForEachMember([&](std::string_view name) {
    if (name == "__metadata__") return;
    Tensor tensor{std::string(name)};
    std::string type;
    std::vector<std::uint64_t> offsets;
    reader.ForEachMember([&](std::string_view key) {
      if (key == "dtype") type = reader.String();
      if (key == "data_offsets") {
        reader.ForEachItem([&] { offsets.push_back(reader.Whole()); });
      }
      if (key != "shape") return;
      reader.ForEachItem([&] {
        tensor.dims.push_back(
            static_cast<std::int64_t>(reader.Whole(std::uint64_t{1} << 48)));
      });
    });
    const bool inside = offsets.size() == 2 && offsets[0] <= offsets[1] &&
                        offsets[1] <= data.size();
    if (inside) {
      tensor.bytes = data.substr(offsets[0], offsets[1] - offsets[0]);
    }
    if (!lacking) Check(tensor, type, inside, data);
    tensors.push_back(std::move(tensor));
  });
  if (!lacking) RefuseOverlaps(tensors);
  return tensors;
}

void Checkpoint::AddFile(const std::string& path) {
  files_.push_back(std::make_unique<MappedFile>(MappedFile::Open(path)));
  const MappedFile& file = *files_.back();
  try {
    for (Tensor& tensor : file.bytes().starts_with("PK")
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

const Tensor* Checkpoint::Find(std::string_view name) const {
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
