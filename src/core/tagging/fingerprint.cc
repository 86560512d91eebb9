// Tested by tests/core/tagging/sidecar_test.cc.
#include <fmt/core.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/tagging/sidecar.h"

namespace onnx_tag {
namespace {

constexpr std::string_view kMethod = "xxh64:";

// XXH64 over a sequence of texts and numbers. A number is 8 bytes, the least
// significant first; a text is its length and its bytes. The same on every
// machine.
class Digest {
 public:
  Digest() { XXH64_reset(&state_, 0); }

  void Add(std::string_view text) {
    Add(text.size());
    XXH64_update(&state_, text.data(), text.size());
  }
  void Add(std::uint64_t number) {
    unsigned char bytes[8];
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(number);
      number >>= 8;
    }
    XXH64_update(&state_, bytes, sizeof bytes);
  }
  std::uint64_t value() const { return XXH64_digest(&state_); }

 private:
  XXH64_state_t state_;
};

bool HasSameNodes(const Model& a, const Model& b) {
  for (const NodeId id : a.Nodes()) {
    if (a.GraphPath(a[id].graph) != b.GraphPath(b[id].graph) ||
        a[id].name != b[id].name || a.OpType(id) != b.OpType(id) ||
        a.Domain(id) != b.Domain(id) || a.InputNames(id) != b.InputNames(id) ||
        a.OutputNames(id) != b.OutputNames(id)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool BelongsTo(const Sidecar& sidecar, const Model& model) {
  if (sidecar.graph.node_count() != model.node_count()) return false;
  return sidecar.model.fingerprint.starts_with(kMethod)
             ? sidecar.model.fingerprint == Fingerprint(model)
             : HasSameNodes(sidecar.graph, model);
}

std::string Fingerprint(const Model& model) {
  Digest digest;
  const auto add_values = [&](std::span<const ValueId> values) {
    digest.Add(values.size());
    for (const ValueId value : values) digest.Add(model.ValueName(value));
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
  return fmt::format("{}{:016x}", kMethod, digest.value());
}

namespace {

// The inputs or outputs of the main graph. Old files list weights as inputs;
// they are skipped.
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
