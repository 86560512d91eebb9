// Local functions that stand for modules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/function_calls.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag::hierarchy {

// Whether a function's domain is the Python module of a class, as
// `export_modules_as_functions` writes it: `torch.nn.modules.linear`.
bool IsPythonModuleDomain(std::string_view domain);

// Whether a function's domain is `dynamo_export`'s (torch 2.1 to 2.4):
// `pkg.transformers.4.34.0`, or `pkg.models` for the user's own classes.
bool IsPackageDomain(std::string_view domain);

// `<class path>_<module path>_<call>`, dots as underscores.
struct PackageFunction {
  std::string_view class_name;  // "GPT2Attention"
  std::string_view module;      // "h_1_attn", for mangled_names.h
};

// Where the class ends and the module begins is not marked: every reading, the
// likeliest (the first word with a capital is the class) first; empty if
// there is none.
std::vector<PackageFunction> SplitPackageFunction(std::string_view name);

}  // namespace onnx_tag::hierarchy

// What the calls of local functions stand for.
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
