// What a module says with, or of, the modules around it.
#pragma once

#include <cstddef>

#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

// Adds the value of each module to that of its parent, children first, so that
// each has what is below it. `add(to, from)` gets two of `values`.
template <typename T, typename Add>
void RollUp(const ModuleTree& tree, IdVector<ModuleId, T>& values, Add add) {
  // A module's id is greater than its parent's.
  for (std::size_t i = values.size(); i-- > 1;) {
    const auto id = MakeId<ModuleId>(i);
    add(values[tree.Parent(id)], values[id]);
  }
}

template <typename T>
void RollUp(const ModuleTree& tree, IdVector<ModuleId, T>& values) {
  RollUp(tree, values, [](T& to, const T& from) { to += from; });
}

// The other way: `take(to, from)` gives each module something of its parent,
// parents first.
template <typename T, typename Take>
void PassDown(const ModuleTree& tree, IdVector<ModuleId, T>& values,
              Take take) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto id = MakeId<ModuleId>(i);
    take(values[id], values[tree.Parent(id)]);
  }
}

}  // namespace onnx_tag
