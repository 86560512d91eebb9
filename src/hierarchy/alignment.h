// How a TorchScript scope relates to the module of a parameter used there.
#ifndef ONNX_TAG_HIERARCHY_ALIGNMENT_H_
#define ONNX_TAG_HIERARCHY_ALIGNMENT_H_

#include <span>
#include <string_view>

namespace onnx_tag::hierarchy {

enum class Alignment {
  kEqual,              // the module
  kContainersMissing,  // the module; containers nobody called are not in scope
  kUncalledChild,      // the module: a child that is used without being called
  kParentParameter,    // the scope: a parent's parameter, used in a child
  kUnrelated,          // the scope: the tensor is shared, tied or deduplicated
};

// Atoms, as CollapseScope and a parameter's module give them.
Alignment Align(std::span<const std::string_view> scope,
                std::span<const std::string_view> module);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_HIERARCHY_ALIGNMENT_H_
