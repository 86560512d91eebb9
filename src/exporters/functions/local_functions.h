// Local functions that stand for modules.
#ifndef ONNX_TAG_EXPORTERS_FUNCTIONS_LOCAL_FUNCTIONS_H_
#define ONNX_TAG_EXPORTERS_FUNCTIONS_LOCAL_FUNCTIONS_H_

#include <string_view>
#include <vector>

namespace onnx_tag::hierarchy {

// Whether a function's domain is the Python module of a class, as
// `export_modules_as_functions` writes it: `torch.nn.modules.linear`.
bool IsPythonModuleDomain(std::string_view domain);

struct ModuleFunction {
  std::string_view class_name;
  int variant = 0;  // `Linear.1` is 1; bodies of one class that differ
};
ModuleFunction SplitModuleFunction(std::string_view name);

// Whether a function's domain is `dynamo_export`'s (torch 2.1 to 2.4):
// `pkg.transformers.4.34.0`, or `pkg.models` for the user's own classes.
bool IsPackageDomain(std::string_view domain);

// `<class path>_<module path>_<call>`, dots as underscores.
struct PackageFunction {
  std::string_view class_name;  // "GPT2Attention"
  std::string_view module;      // "h_1_attn", for sanitized.h
  int call = 0;                 // 1: the first
};

// Where the class ends and the module begins is not marked: every reading, the
// likeliest (the first word with a capital is the class) first; empty if
// there is none.
std::vector<PackageFunction> SplitPackageFunction(std::string_view name);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_EXPORTERS_FUNCTIONS_LOCAL_FUNCTIONS_H_
