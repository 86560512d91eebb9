#include "evidence/weight_shapes.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "graph/constant_weights.h"

namespace onnx_tag {
namespace {

using Shape = std::vector<std::int64_t>;

// Exporters transpose matrices and drop or add axes of size 1.
Shape WithoutOrder(std::span<const std::int64_t> dims) {
  Shape shape;
  for (const std::int64_t dim : dims) {
    if (dim != 1) shape.push_back(dim);
  }
  std::sort(shape.begin(), shape.end());
  return shape;
}

class Shapes {
 public:
  void Add(std::span<const std::int64_t> dims, std::size_t times = 1) {
    Shape shape = WithoutOrder(dims);
    if (shape.size() < 2) return;
    counts_[std::move(shape)] += times;
    total_ += times;
  }
  std::size_t total() const { return total_; }
  std::size_t Common(const Shapes& other) const {
    std::size_t common = 0;
    for (const auto& [shape, count] : counts_) {
      const auto at = other.counts_.find(shape);
      if (at != other.counts_.end()) common += std::min(count, at->second);
    }
    return common;
  }

 private:
  std::map<Shape, std::size_t> counts_;
  std::size_t total_ = 0;
};

// Gathers the shapes of a file's weights.
class FileShapes {
 public:
  explicit FileShapes(const Model& model) : model_(model) {
    for (const Initializer& tensor : model.initializers()) {
      See(tensor.value, tensor.data_type, model.Dims(tensor));
    }
    for (const ConstantWeight& tensor : FindConstantWeights(model)) {
      See(tensor.value, tensor.data_type, tensor.dims);
    }
  }

  const Shapes& shapes() const { return shapes_; }
  std::size_t packed() const { return packed_; }

 private:
  // Numbers of TensorProto.DataType.
  static bool IsNumber(std::int32_t type) {
    return type == 1 || type == 10 || type == 11 || type == 16;
  }
  static bool IsByte(std::int32_t type) { return type == 2 || type == 3; }

  void See(ValueId value, std::int32_t type,
           std::span<const std::int64_t> dims) {
    const auto readers = model_.Consumers(value);
    const std::string_view op =
        readers.empty() ? "" : model_.OpType(readers.front());
    if (op.ends_with("NBits")) {
      ++packed_;
    } else if (op.ends_with("LSTM") || op.ends_with("GRU") || op == "RNN") {
      // Both directions are in one tensor.
      if (dims.size() == 3) {
        shapes_.Add(dims.subspan(1), dims[0] == 2 ? 2 : 1);
      }
    } else if (IsNumber(type) || IsByte(type)) {
      shapes_.Add(dims);
    }
  }

  const Model& model_;
  Shapes shapes_;
  std::size_t packed_ = 0;
};

}  // namespace

ShapeMatch MatchShapes(const Model& model, const ModuleMap& map) {
  const FileShapes file(model);
  if (file.packed() > file.shapes().total()) return {};
  Shapes recorded;
  for (const RecordedModule& module : map.modules) {
    for (const Shape& shape : module.shapes) recorded.Add(shape);
  }
  return {.file = file.shapes().total(),
          .map = recorded.total(),
          .equal = file.shapes().Common(recorded)};
}

}  // namespace onnx_tag
