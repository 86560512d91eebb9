// The shape and element type of every value: what the file says, and what
// follows from it.
//
// Shapes come from initializers, from the graph's inputs and value_info, and
// from the shapes the caller gives for inputs; the names of dimensions that
// such an input fixes ("batch") count everywhere. The rest is inferred node by
// node, with the small integers that compute shapes. What cannot be told stays
// unknown.
//
//   const Shapes shapes(model, given);
//   if (shapes.Of(value)) Use(*shapes.Of(value));
#ifndef ONNX_TAG_SIZES_SHAPES_H_
#define ONNX_TAG_SIZES_SHAPES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag::sizes {

class GraphText;

inline constexpr std::int64_t kUnknownDim = -1;

using Shape = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

// `--shape name=1,128`.
struct GivenShape {
  std::string input;
  Shape dims;
};

class Shapes {
 public:
  // Throws Error(kUsage) where a given shape fits no input. `model` must
  // outlive it.
  Shapes(const Model& model, std::span<const GivenShape> given);

  // No value: not even the rank is known. A dimension may be kUnknownDim.
  const std::optional<Shape>& Of(ValueId value) const {
    return shapes_[Index(value)];
  }
  // Nothing where a dimension is unknown.
  std::optional<std::uint64_t> Elements(ValueId value) const;
  // The elements of a small constant, or null.
  const Numbers* NumbersOf(ValueId value) const;
  // A number of TensorProto.DataType; 0 where it is unknown.
  std::int32_t TypeOf(ValueId value) const { return types_[Index(value)]; }
  // How often the nodes of a graph run when the model runs once: 1, or the
  // number of calls of a function; 0 where that is unknown (a loop, a function
  // that is called with different shapes).
  std::uint64_t Runs(GraphId graph) const { return runs_[Index(graph)]; }
  // The body of the function that the node calls, or kNo.
  GraphId CalledBody(NodeId node) const;

 private:
  void FindFunctions();
  void BindInputs(const GraphText& text, std::span<const GivenShape> given);
  void ReadStatedShapes(const GraphText& text);
  void InferGraph(GraphId graph, int depth);
  void InferNode(NodeId node, int depth);
  void InferCall(NodeId node, GraphId body, int depth);
  void InferBodies(NodeId node, int depth);
  void EnterLoop(NodeId node, GraphId body);
  void LeaveLoop(NodeId node, GraphId body);
  void InferBranches(NodeId node);
  void CountRuns();
  void CopyTo(ValueId from, ValueId to);
  void CopyRank(ValueId from, ValueId to, std::size_t more);
  void Learn(ValueId value, const Shape& shape);
  void LearnType(ValueId value, std::int32_t type);

  const Model& model_;
  std::vector<std::optional<Shape>> shapes_;                  // by value
  std::vector<std::int32_t> types_;                           // by value
  std::unordered_map<std::uint32_t, Numbers> numbers_;        // by value
  std::unordered_map<std::string_view, std::int64_t> bound_;  // by dim's name
  std::unordered_map<std::string, GraphId> functions_;        // "domain::name"
  std::vector<bool> entered_;                                 // by graph
  std::vector<bool> mixed_;          // by graph: called with different shapes
  std::vector<std::uint64_t> runs_;  // by graph
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_SHAPES_H_
