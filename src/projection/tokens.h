// The nodes of a file in the order in which they run, and what each computes
// on: the other side of an alignment. No name is looked at.
#ifndef ONNX_TAG_PROJECTION_TOKENS_H_
#define ONNX_TAG_PROJECTION_TOKENS_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "onnx_tag/model.h"
#include "projection/program.h"

namespace onnx_tag {

enum class TokenId : std::uint32_t {};

// What a value is made of.
enum class Substance : std::uint8_t {
  kConstant,  // constants, put together at most
  kSize,      // sizes of tensors and what is computed from them
  kWeight,    // a parameter, or one turned around
  kMade,      // tensors made on the spot: ranges, masks
  kFed,       // depends on what is fed to the model
};

// A node that an operation of the source model may have made.
struct Token {
  NodeId node = kNo<NodeId>;
  NameId op = kNo<NameId>;
  bool fed = false;
  bool has_shape = false;
  Shape shape;
  std::vector<TokenId>
      sources;  // past nodes that are no tokens; as they are read
  std::vector<Shape> weights;  // dims sorted
};

struct TokenTable {
  IdVector<TokenId, Token> tokens;
  IdVector<NodeId, TokenId> by_node;  // kNo: it is none
  std::vector<NodeId> order;          // all nodes, as they run
};

TokenTable MakeTokens(const Model& model);

// The same as they run when outputs are asked for: tools sort nodes anew.
TokenTable SortDepthFirst(const Model& model, const TokenTable& table);

}  // namespace onnx_tag

#endif  // ONNX_TAG_PROJECTION_TOKENS_H_
