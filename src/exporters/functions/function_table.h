// Which node calls which local function, and in what order their bodies can
// be understood: a function after the one that calls it first.
#ifndef ONNX_TAG_EXPORTERS_FUNCTIONS_FUNCTION_TABLE_H_
#define ONNX_TAG_EXPORTERS_FUNCTIONS_FUNCTION_TABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// The index of a function in Model::functions().
enum class FunctionId : std::uint32_t {};

enum class FunctionKind : std::uint8_t {
  kHelper,   // part of whoever calls it
  kPackage,  // a module by its name: dynamo_export of torch 2.1 to 2.4
  kClass,    // a class: export_modules_as_functions
};

struct LocalFunction {
  FunctionKind kind = FunctionKind::kHelper;
  // The first in file order; kNo if nobody calls it.
  NodeId first_call = kNo<NodeId>;
  // What it stands for at its first call; kNo: its caller's module.
  ModuleId module = kNo<ModuleId>;
  bool sure = false;  // known modules confirm the name
};

struct FunctionCall {
  NodeId node;
  FunctionId function;
  ModuleId module = kNo<ModuleId>;  // kNo: the caller's
  bool sure = false;
};

class FunctionTable {
 public:
  FunctionTable() = default;
  explicit FunctionTable(const Model& model);

  bool empty() const { return functions_.empty(); }
  std::size_t size() const { return functions_.size(); }
  LocalFunction& operator[](FunctionId id) { return functions_[id]; }
  const LocalFunction& operator[](FunctionId id) const {
    return functions_[id];
  }

  // In file order.
  std::vector<FunctionCall>& calls() { return calls_; }
  const std::vector<FunctionCall>& calls() const { return calls_; }
  // Null if the node calls no local function.
  const FunctionCall* CallOf(NodeId node) const;

  // The function whose body holds the graph, at any depth; kNo: none.
  FunctionId OwnerOf(GraphId graph) const {
    return functions_.empty() ? kNo<FunctionId> : owner_[graph];
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

  IdVector<FunctionId, LocalFunction> functions_;
  IdVector<FunctionId, std::vector<NodeId>> bodies_;
  std::vector<FunctionCall> calls_;
  IdVector<GraphId, FunctionId> owner_;
  std::vector<FunctionId> order_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_EXPORTERS_FUNCTIONS_FUNCTION_TABLE_H_
