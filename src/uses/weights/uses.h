// Where an initializer is used: the nodes that compute with it, past those
// that only hand it on.
#ifndef ONNX_TAG_USES_WEIGHTS_USES_H_
#define ONNX_TAG_USES_WEIGHTS_USES_H_

#include <cstdint>
#include <vector>

#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag::weights {

struct Use {
  NodeId node;
  std::uint32_t slot = 0;
  Operand operand = Operand::kData;  // what the node reads there
  bool transposed = false;           // a Transpose is on the way
  bool dequantized = false;  // it went through DequantizeLinear as the tensor
  bool sliced = false;       // only a piece of it arrives
};

class Uses {
 public:
  Uses(const Model& model, const Operators& ops) : model_(model), ops_(ops) {}

  // At most kMost of them: a shared scalar may have thousands.
  std::vector<Use> Of(ValueId value) const;

  static constexpr std::size_t kMost = 64;

 private:
  void Follow(ValueId value, Use so_far, int depth,
              std::vector<Use>& uses) const;

  const Model& model_;
  const Operators& ops_;
};

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_USES_WEIGHTS_USES_H_
