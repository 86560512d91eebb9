// What the parameters of a file say: which tensors still have a name of the
// source model's state_dict, who reads them, and whose a node is for that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/functions/local_functions.h"
#include "clues/exporters/scopes.h"
#include "core/graph/graph_facts.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class ParameterId : std::uint32_t {};

// A tensor with a name from the state_dict of the source model.
struct Parameter {
  std::string_view name;  // without the additions of tools
  ModuleId module = ModuleTree::kRoot;
  std::uint32_t rank = 0;
  std::uint32_t uses = 0;  // number of consumers, without carriers
  // Read only by its owner, as far as can be seen: not tied, and not merged
  // with an equal tensor.
  bool trusted = false;
  bool from_hierarchy = false;  // the file itself does not have the name
};

// The module of a node by the parameters that it reads.
struct Owner {
  ModuleId module = kNo<ModuleId>;
  // 0: it reads none. 1: a parameter of the root, whose name has no dots and
  // may be of a tool's making. Else the rank of the parameter + 2: a matrix
  // says more than a bias.
  std::uint32_t strength = 0;
  bool from_hierarchy = false;

  bool IsMatrix() const { return strength >= 4; }
};

// Names of weights that the file does not have, in the order of their values.
using WeightNames = std::vector<std::pair<ValueId, std::string>>;

// The parameters of the source model, and the nodes that pass them on.
struct ParameterFacts {
  IdVector<ParameterId, Parameter> parameters;
  IdVector<ValueId, ParameterId> value_parameter;  // through carriers
  std::vector<bool> module_has_parameter;          // by module
  // Nodes that read only weights and constants, and pass one on.
  IdVector<NodeId, bool> is_carrier;
  std::shared_ptr<const WeightNames> hierarchy_names;  // holds the names

  ParameterId ParameterOf(ValueId value) const {
    return value == kNo<ValueId> ? kNo<ParameterId> : value_parameter[value];
  }
  // The parameters among these values, in their order.
  class Range;
  Range Among(std::span<const ValueId> values) const;

  // The owner of the node's parameters. Of two, the one with the greater
  // strength; of equal ones, the module around both.
  Owner OwnerOf(const GraphFacts& graph, const ModuleTree& modules,
                NodeId node) const;

  // Whether the node reads a parameter that proves the module.
  bool Proves(const Model& model, NodeId node, ModuleId module) const;

  bool HasParameterAt(ModuleId id) const {
    return Index(id) < module_has_parameter.size() &&
           module_has_parameter[Index(id)];
  }
};

class ParameterFacts::Range {
 public:
  Range(const ParameterFacts& facts, std::span<const ValueId> values)
      : facts_(facts), values_(values) {}

  class Iterator {
   public:
    Iterator(const Range& range, std::size_t at) : range_(range), at_(at) {
      Skip();
    }
    const Parameter& operator*() const {
      return range_.facts_.parameters[range_.At(at_)];
    }
    Iterator& operator++() {
      ++at_;
      Skip();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void Skip() {
      while (at_ < range_.values_.size() &&
             range_.At(at_) == kNo<ParameterId>) {
        ++at_;
      }
    }
    const Range& range_;
    std::size_t at_;
  };

  Iterator begin() const { return Iterator(*this, 0); }
  Iterator end() const { return Iterator(*this, values_.size()); }
  bool empty() const { return begin() == end(); }

 private:
  ParameterId At(std::size_t i) const { return facts_.ParameterOf(values_[i]); }

  const ParameterFacts& facts_;
  std::span<const ValueId> values_;
};

inline ParameterFacts::Range ParameterFacts::Among(
    std::span<const ValueId> values) const {
  return Range(*this, values);
}

inline bool ParameterFacts::Proves(const Model& model, NodeId node,
                                   ModuleId module) const {
  for (const Parameter& parameter : Among(model.Inputs(node))) {
    if (parameter.trusted && parameter.module == module) return true;
  }
  return false;
}

// The facts of the graph. The names of a file say which values stand for
// weights that the file leaves out: nothing defines them, or they are inputs
// with the name of a parameter.
GraphFacts GatherGraph(const Model& model);

// Adds the owners of the parameters to `modules`. `from_hierarchy` has names
// for weights without one.
ParameterFacts GatherParameters(const GraphFacts& graph,
                                const ExporterFacts& exporter,
                                const ScopeFacts& scopes,
                                const FunctionTable& functions,
                                ModuleTree& modules,
                                WeightNames from_hierarchy = {});

}  // namespace onnx_tag
