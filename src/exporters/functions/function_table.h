// What the calls of local functions stand for.
#ifndef ONNX_TAG_EXPORTERS_FUNCTIONS_FUNCTION_TABLE_H_
#define ONNX_TAG_EXPORTERS_FUNCTIONS_FUNCTION_TABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/function_calls.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

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

class FunctionTable : public FunctionCalls {
 public:
  FunctionTable() = default;
  FunctionTable(const Model& model, const FunctionCalls& calls);

  LocalFunction& operator[](FunctionId id) { return functions_[id]; }
  const LocalFunction& operator[](FunctionId id) const {
    return functions_[id];
  }

  // In file order.
  std::vector<FunctionCall>& calls() { return calls_; }
  const std::vector<FunctionCall>& calls() const { return calls_; }
  // Null if the node calls no local function.
  const FunctionCall* CallOf(NodeId node) const;

 private:
  IdVector<FunctionId, LocalFunction> functions_;
  std::vector<FunctionCall> calls_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_EXPORTERS_FUNCTIONS_FUNCTION_TABLE_H_
