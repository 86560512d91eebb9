// Which node calls which local function, and in which order the bodies can be
// understood: a function after the one that calls it first.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

// The index of a function in Model::functions().
enum class FunctionId : std::uint32_t {};

class FunctionCalls {
 public:
  struct Call {
    NodeId node;
    FunctionId function;
  };

  FunctionCalls() = default;
  explicit FunctionCalls(const Model& model);

  bool empty() const { return bodies_.empty(); }
  std::size_t size() const { return bodies_.size(); }

  // In file order.
  const std::vector<Call>& calls() const { return calls_; }
  // The function that the node calls; kNo: none.
  FunctionId Of(NodeId node) const;
  // The body of that function; kNo: none.
  GraphId BodyOf(const Model& model, NodeId node) const {
    const FunctionId id = Of(node);
    return id == kNo<FunctionId> ? kNo<GraphId>
                                 : model.functions()[Index(id)].body;
  }
  // The first in file order; kNo if nobody calls the function.
  NodeId FirstCall(FunctionId id) const { return first_call_[id]; }

  // The function whose body holds the graph, at any depth; kNo: none.
  FunctionId OwnerOf(GraphId graph) const {
    return empty() ? kNo<FunctionId> : owner_[graph];
  }

  // Called functions, each behind the caller of its first call. Those that
  // only call each other in a circle are left out.
  const std::vector<FunctionId>& CallersFirst() const { return order_; }

  // The nodes of a function's body and of its subgraphs, in file order.
  const std::vector<NodeId>& Body(FunctionId id) const { return bodies_[id]; }

 private:
  void FindOwners(const Model& model);
  void FindCalls(const Model& model);
  void SortByCaller(const Model& model);

  IdVector<FunctionId, NodeId> first_call_;
  IdVector<FunctionId, std::vector<NodeId>> bodies_;
  std::vector<Call> calls_;
  IdVector<GraphId, FunctionId> owner_;
  std::vector<FunctionId> order_;
};

}  // namespace onnx_tag
