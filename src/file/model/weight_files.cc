#include "file/model/weight_files.h"

#include "base/lists.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

const MappedFile* WeightFiles::Find(std::string_view location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second.get();
  std::unique_ptr<const MappedFile> file;
  const auto path = ToPath(std::string(location));
  if (path.is_relative() &&
      !AnyIn(path, [](const auto& part) { return part == ".."; })) {
    try {
      file = std::make_unique<const MappedFile>(
          MappedFile::Open(ToText(ToPath(ParentFolder(model_.path())) / path)));
    } catch (const Error&) {
      file.reset();  // the caller says that its tensors were not read
    }
  }
  return files_.emplace(location, std::move(file)).first->second.get();
}

WeightFiles::Piece WeightFiles::Read(const TensorData& tensor) {
  if (tensor.location.empty()) {
    return {tensor.elements(), tensor.converted.empty() ? &model_ : nullptr};
  }
  const MappedFile* const file = Find(tensor.location);
  const std::uint64_t size =
      BitsPerElement(tensor.data_type) == 0
          ? tensor.length.value_or(0)
          : CountBytes(CountElements(tensor.dims), tensor.data_type);
  if (file == nullptr || tensor.offset > file->size() ||
      size > file->size() - tensor.offset ||
      tensor.length.value_or(size) != size) {
    return {};
  }
  return {file->bytes().substr(tensor.offset, size), file};
}

void ReleaseBytes(const MappedFile* file, Bytes bytes) {
  if (file == nullptr || bytes.empty()) return;
  const std::uint64_t begin = OffsetIn(file->bytes(), bytes);
  file->Release(begin, begin + bytes.size());
}

bool WeightFiles::HaveSameBytes(const Piece& a, const Piece& b) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  bool same = a.bytes.size() == b.bytes.size();
  for (std::size_t at = 0; same && at < a.bytes.size(); at += kStep) {
    const Bytes x = a.bytes.substr(at, kStep);
    const Bytes y = b.bytes.substr(at, kStep);
    same = x == y;
    if (x.size() < kStep) break;
    ReleaseBytes(a.file, x);
    ReleaseBytes(b.file, y);
  }
  return same;
}

}  // namespace onnx_tag
