#include "app/commands/compare/compare_weights.h"

#include <algorithm>

#include "file/io/paths.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// What is compared before the pages behind are given back.
constexpr std::size_t kComparedAtOnce = std::size_t{1} << 20;

bool HaveSameBytes(const WeightFile::Piece& a, const WeightFile::Piece& b) {
  if (a.bytes.size() != b.bytes.size()) return false;
  const auto release = [](const WeightFile::Piece& piece, std::size_t at,
                          std::size_t size) {
    if (piece.file == nullptr || size < kComparedAtOnce) return;
    const auto begin = static_cast<std::uint64_t>(piece.bytes.data() -
                                                  piece.file->bytes().data()) +
                       at;
    piece.file->Release(begin, begin + size);
  };
  bool same = true;
  for (std::size_t at = 0; same && at < a.bytes.size(); at += kComparedAtOnce) {
    const Bytes x = a.bytes.substr(at, kComparedAtOnce);
    const Bytes y = b.bytes.substr(at, kComparedAtOnce);
    same = x == y;
    release(a, at, x.size());
    release(b, at, y.size());
  }
  return same;
}

}  // namespace

WeightFile::WeightFile(const ModelFile& file) : file_(file) {
  const auto add = [&](const wire::Field& tensor) {
    tensors_.try_emplace(model::LastOf(tensor.bytes, onnx::TensorProto::kName),
                         tensor.bytes);
  };
  model::ForEach(file.model().bytes(), onnx::ModelProto::kGraph,
                 [&](const wire::Field& graph) {
                   model::ForEach(graph.bytes, onnx::GraphProto::kInitializer,
                                  add);
                 });
}

// Files outside the folder of the model are not read.
const MappedFile* WeightFile::External(std::string_view location) {
  const auto known = external_.find(location);
  if (known != external_.end()) return known->second.get();
  std::unique_ptr<MappedFile> file;
  const auto path = ToPath(std::string(location));
  const bool inside =
      path.is_relative() &&
      std::none_of(path.begin(), path.end(),
                   [](const auto& part) { return part == ".."; });
  if (inside) {
    try {
      file = std::make_unique<MappedFile>(
          MappedFile::Open(ToText(ToPath(ParentFolder(file_.path())) / path)));
    } catch (const Error&) {
      file.reset();  // counted as not compared
    }
  }
  return external_.emplace(location, std::move(file)).first->second.get();
}

bool WeightFile::Read(ValueId value, TensorData& tensor, Piece& piece) {
  const auto at = tensors_.find(file_.model().ValueName(value));
  if (at == tensors_.end()) return false;
  try {
    tensor = ReadTensorData(at->second);
  } catch (const wire::WireError&) {
    return false;  // a warning named it when the model was read
  }
  if (tensor.location.empty()) {
    piece = {tensor.elements(),
             tensor.converted.empty() ? &file_.file() : nullptr};
    return !piece.bytes.empty();
  }
  const MappedFile* const data = External(tensor.location);
  if (data == nullptr || tensor.offset > data->size()) return false;
  const std::uint64_t rest = data->size() - tensor.offset;
  const std::uint64_t length = tensor.length.value_or(rest);
  if (length > rest || length == 0) return false;
  piece = {data->bytes().substr(tensor.offset, length), data};
  return true;
}

WeightComparison::WeightComparison(const ModelFile& a, const ModelFile& b)
    : a_(a), b_(b), weights_a_(a), weights_b_(b) {}

bool WeightComparison::Compare(ValueId a, ValueId b) {
  const auto [at, fresh] = compared_.try_emplace({a, b}, false);
  if (!fresh) return at->second;
  TensorData x;
  TensorData y;
  WeightFile::Piece piece_x;
  WeightFile::Piece piece_y;
  if (!weights_a_.Read(a, x, piece_x) || !weights_b_.Read(b, y, piece_y)) {
    ++unread_;
    return false;
  }
  at->second = !HaveSameBytes(piece_x, piece_y);
  ++(at->second ? changed_ : equal_);
  return at->second;
}

bool WeightComparison::Differ(NodeId a, NodeId b) {
  const auto old = a_.model().Inputs(a);
  const auto now = b_.model().Inputs(b);
  bool differ = false;
  for (std::size_t i = 0; i < std::min(old.size(), now.size()); ++i) {
    if (old[i] == kNo<ValueId> || now[i] == kNo<ValueId>) continue;
    const Initializer* const x = a_.model().InitializerOf(old[i]);
    const Initializer* const y = b_.model().InitializerOf(now[i]);
    if (x == nullptr || y == nullptr || x->data_type != y->data_type) continue;
    const auto dims_x = a_.model().Dims(*x);
    const auto dims_y = b_.model().Dims(*y);
    // Another shape is told without the values.
    if (!std::equal(dims_x.begin(), dims_x.end(), dims_y.begin(),
                    dims_y.end())) {
      continue;
    }
    differ |= Compare(old[i], now[i]);
  }
  return differ;
}

}  // namespace onnx_tag
