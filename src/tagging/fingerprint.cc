#include <fmt/core.h>

#include "base/interner.h"
#include "tagging/sidecar.h"

namespace onnx_tag {
namespace {

class Digest {
 public:
  void Add(std::string_view text) { Add(HashBytes(text)); }
  void Add(std::uint64_t number) {
    state_ ^= number + 0x9e3779b97f4a7c15u + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdu;
    state_ ^= state_ >> 29;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x2545f4914f6cdd1du;
};

}  // namespace

std::string Fingerprint(const Model& model) {
  Digest digest;
  const auto add_values = [&](std::span<const ValueId> values) {
    digest.Add(values.size());
    for (const ValueId value : values) {
      digest.Add(value == kNo<ValueId> ? std::string_view()
                                       : model.ValueName(value));
    }
  };
  for (const GraphId graph : model.Graphs()) {
    digest.Add(model.GraphPath(graph));
    add_values(model[graph].inputs);
    add_values(model[graph].outputs);
  }
  for (const NodeId node : model.Nodes()) {
    digest.Add(Index(model[node].graph));
    digest.Add(model[node].name);
    digest.Add(model.OpType(node));
    digest.Add(model.Domain(node));
    add_values(model.Inputs(node));
    add_values(model.Outputs(node));
  }
  return fmt::format("{:016x}", digest.value());
}

namespace {

// What the main graph is fed, or returns. Old files list weights as inputs.
std::vector<std::string> NamesOf(const Model& model, bool inputs) {
  std::vector<std::string> names;
  if (model.graph_count() == 0) return names;
  const Graph& main = model[GraphId{0}];
  if (main.kind != GraphKind::kMain) return names;
  for (const ValueId value : inputs ? main.inputs : main.outputs) {
    if (value == kNo<ValueId>) continue;
    if (inputs && model.InitializerOf(value) != nullptr) continue;
    names.emplace_back(model.ValueName(value));
  }
  return names;
}

}  // namespace

SidecarModel AboutModel(const std::string& file_name, const Model& model,
                        const Tagging& tagging) {
  std::string producer(model.producer_name());
  if (!model.producer_version().empty()) {
    if (!producer.empty()) producer += ' ';
    producer += model.producer_version();
  }
  return {.file = file_name,
          .bytes = model.bytes().size(),
          .fingerprint = Fingerprint(model),
          .ir_version = model.ir_version(),
          .producer = std::move(producer),
          .dialect = tagging.dialect,
          .inputs = NamesOf(model, true),
          .outputs = NamesOf(model, false)};
}

}  // namespace onnx_tag
