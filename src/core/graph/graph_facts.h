// What is true of every graph, whatever its exporter. Gathered once for a model
// and shared by all who ask.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/graph/composites.h"
#include "core/graph/data_values.h"
#include "core/graph/function_calls.h"
#include "core/graph/links.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

class GraphFacts {
 public:
  // `model` must outlive the facts. `weights`: values that stand for tensors
  // which the file leaves out.
  explicit GraphFacts(const Model& m, std::vector<ValueId> weights = {})
      : model(m),
        left_out(std::move(weights)),
        ops(m),
        calls(m),
        data(m, ops, calls, left_out),
        links(m, ops, data) {}
  GraphFacts(const GraphFacts&) = delete;
  GraphFacts& operator=(const GraphFacts&) = delete;

  const Model& model;
  const std::vector<ValueId> left_out;
  const Operators ops;
  const FunctionCalls calls;
  const DataValues data;
  const Links links;

  // Found at the first call.
  const Composites& composites() const {
    if (!composites_) composites_.emplace(links);
    return *composites_;
  }

 private:
  mutable std::optional<Composites> composites_;
};

}  // namespace onnx_tag
