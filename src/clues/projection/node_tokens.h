// The nodes of a file in execution order, with the kind of data that each uses:
// the file's side of an alignment. Names are not used.
#ifndef ONNX_TAG_CLUES_PROJECTION_NODE_TOKENS_H_
#define ONNX_TAG_CLUES_PROJECTION_NODE_TOKENS_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "clues/projection/run_steps.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class NodeTokenId : std::uint32_t {};

// The origin of a value.
enum class Substance : std::uint8_t {
  kConstant,  // constants, possibly combined
  kSize,      // sizes of tensors, and values computed from them
  kWeight,    // a parameter, possibly transposed
  kMade,      // generated tensors: ranges, masks
  kFed,       // depends on the inputs of the model
};

// A node that an operation of the source model may have made.
struct NodeToken {
  NodeId node = kNo<NodeId>;
  NameId op = kNo<NameId>;
  bool fed = false;
  bool has_shape = false;
  Shape shape;
  std::vector<NodeTokenId>
      sources;  // past nodes that are no tokens; as they are read
  std::vector<Shape> weights;  // dims sorted
};

struct NodeTokens {
  IdVector<NodeTokenId, NodeToken> tokens;
  IdVector<NodeId, NodeTokenId> by_node;  // kNo: not a token
  std::vector<NodeId> order;              // all nodes in execution order
};

NodeTokens MakeNodeTokens(const Model& model);

// The same as they run when outputs are asked for: tools sort nodes anew.
NodeTokens SortDepthFirst(const Model& model, const NodeTokens& table);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLUES_PROJECTION_NODE_TOKENS_H_
