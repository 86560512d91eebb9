// Whether the weights of two models have the same values.
#ifndef ONNX_TAG_APP_COMMANDS_COMPARE_COMPARE_WEIGHTS_H_
#define ONNX_TAG_APP_COMMANDS_COMPARE_COMPARE_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "file/io/mapped_file.h"
#include "file/model/model_file.h"
#include "file/model/tensor_data.h"

namespace onnx_tag {

// The weights of a file and of its external data. Nothing is held in memory but
// the pages that are compared.
class WeightFile {
 public:
  // `file` must outlive it.
  explicit WeightFile(const ModelFile& file);

  struct Piece {
    Bytes bytes;
    const MappedFile* file = nullptr;  // to release pages; null: none
  };

  // Whether the elements of `value`, an initializer, can be read. They are then
  // in `tensor` or in `piece`.
  bool Read(ValueId value, TensorData& tensor, Piece& piece);

 private:
  const MappedFile* External(std::string_view location);

  const ModelFile& file_;
  std::unordered_map<std::string_view, Bytes> tensors_;  // of the main graph
  std::map<std::string, std::unique_ptr<MappedFile>, std::less<>> external_;
};

class WeightComparison {
 public:
  WeightComparison(const ModelFile& a, const ModelFile& b);

  // Whether two nodes read weights of equal types and shapes at the same place
  // whose values differ. Each pair of weights is compared once.
  bool Differ(NodeId a, NodeId b);

  // Pairs of weights.
  std::uint64_t equal() const { return equal_; }
  std::uint64_t changed() const { return changed_; }
  // With values that are missing or outside the folder of their model.
  std::uint64_t unread() const { return unread_; }

 private:
  bool Compare(ValueId a, ValueId b);

  const ModelFile& a_;
  const ModelFile& b_;
  WeightFile weights_a_;
  WeightFile weights_b_;
  std::map<std::pair<ValueId, ValueId>, bool> compared_;
  std::uint64_t equal_ = 0;
  std::uint64_t changed_ = 0;
  std::uint64_t unread_ = 0;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_COMPARE_COMPARE_WEIGHTS_H_
