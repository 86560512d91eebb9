// Which dialect a file speaks, from fingerprints and from counts over its
// nodes. producer_name is no help: most tools overwrite it.
#include "clues/exporters/dialect_names.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "clues/exporters/functions/local_functions.h"
#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "clues/exporters/words.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"

namespace onnx_tag::hierarchy {
namespace {

// `n0`, `n12`: nodes of inlined onnxscript functions.
bool IsInlinedNode(std::string_view name) {
  return ConsumePrefix(name, "n") && IsNumeric(name);
}

bool IsPaddle(std::string_view name, std::string_view op_type) {
  ConsumePrefix(name, "p2o.");
  auto op = WithoutNumbered(name, ".");
  if (!op) op = WithoutNumbered(name, "@");  // before Paddle 2
  return op && *op == op_type;
}

// In the order of Dialect.
constexpr std::string_view kDialectNames[] = {
    "unknown",         "torchscript",      "torchscript-old", "dynamo",
    "dynamo-stripped", "dynamo-functions", "functions",       "onnxscript",
    "genai",           "tf2onnx",          "paddle",          "onnxruntime",
    "class-path",
};

// Whether ONNX Runtime gives this name to what it fuses.
bool IsFusedName(std::string_view name) {
  static const WordList words("fused");
  return words.Has(name) ||
         Describe(FindOp(name, "com.microsoft")).kinds.HasAnyOf(OpKind::kFused);
}

std::string_view WithoutOutput(std::string_view name) {
  return WithoutNumbered(name, "_output_").value_or(name);
}

}  // namespace

ScopedName SplitScopedName(std::string_view name) {
  if (!ConsumePrefix(name, "/")) return {};
  while (ConsumeSuffix(name, "/")) {
  }
  const std::string_view op = LastPart(name, '/');
  std::string_view scope = BeforeLastPart(name, '/');
  // ONNX Runtime's training graphs: `<scope>/MatMul_Grad/Reshape_3`.
  if (scope.ends_with("_Grad")) scope = BeforeLastPart(scope, '/');
  const std::string_view kind = WithoutCounter(WithoutOutput(op));
  if (kind.empty() || kind[0] == '.') return {};
  return {scope, kind, true};
}

ScopedName SplitValueName(std::string_view name) {
  if (!WithoutNumbered(name, "_output_")) return {};
  return SplitScopedName(name);
}

bool IsOutputOf(std::string_view value, std::string_view node) {
  return ConsumePrefix(value, node) && ConsumePrefix(value, "_output_") &&
         IsNumeric(value);
}

Reuse SplitReuseSuffix(std::string_view scope) {
  const auto base = WithoutNumbered(scope, "_");
  if (!base || base->empty() || base->ends_with('/') || base->ends_with('.')) {
    return {scope, 0};
  }
  const std::string_view digits = scope.substr(base->size() + 1);
  // The exporter counts from 1 and writes no leading zeros.
  const int call = digits[0] == '0' ? 0 : SmallNumber(digits, 0);
  return call == 0 ? Reuse{scope, 0} : Reuse{*base, call};
}

ScopedName SplitModuleName(std::string_view name) {
  if (name.starts_with('/')) return {};  // a scope, or of the root
  const std::string_view scope = BeforeLastPart(name, '/');
  const std::string_view op = WithoutCounter(LastPart(name, '/'));
  // ONNX Runtime's training graphs: `LayerNormalization_token_9_Grad/Sum_0`.
  if (scope.empty() || scope.find('/') != std::string_view::npos ||
      scope.ends_with("_Grad") || op.empty() || !IsUpper(op[0])) {
    return {};
  }
  return {scope, op, true};
}

ScopedName SplitOnnxscriptNode(std::string_view name) {
  const auto node = WithoutNumbered(name, "_node_");
  if (!node || node->starts_with('/')) return {};
  const std::string_view op = LastPart(*node, '/');
  if (op.empty()) return {};
  return {BeforeLastPart(*node, '/'), op, true};
}

ScopedName SplitOnnxscriptValue(std::string_view name) {
  if (!ConsumePrefix(name, "v_")) return {};
  const auto value = WithoutNumbered(name, "_");
  if (!value) return {};
  const std::string_view op = LastPart(*value, '.');
  // The op keeps `v_0` and `v_hidden_3`, which others write, out.
  if (op.empty() || !IsUpper(op[0])) return {};
  return {BeforeLastPart(*value, '.'), op, true};
}

std::string_view DialectName(Dialect dialect) {
  return kDialectNames[static_cast<std::size_t>(dialect)];
}

Dialect NodeNameDialect(std::string_view name, std::string_view op_type) {
  if (name.empty()) return Dialect::kUnknown;
  if (name[0] == '/') {
    return name.find("/constant_nodes/") != std::string_view::npos
               ? Dialect::kGenai
               : Dialect::kTorchScript;
  }
  if (name.starts_with("node_") || IsInlinedNode(name)) {
    return Dialect::kDynamo;
  }
  if (name.starts_with("gemm_input_reshape") ||
      name.starts_with("gemm_output_reshape")) {
    return Dialect::kOnnxRuntime;
  }
  if (SplitOnnxscriptNode(name).ok) return Dialect::kOnnxscript;
  // tf2onnx counts ops (`MatMul__283`), onnx's inliner calls (`Add_112__10`).
  if (const auto counted = WithoutNumbered(name, "__")) {
    if (*counted == op_type) return Dialect::kTf2onnx;
    name = *counted;
  }
  if (name.find('/') != std::string_view::npos) return Dialect::kTf2onnx;
  if (IsPaddle(name, op_type)) return Dialect::kPaddle;
  const std::string_view bare = WithoutNumbered(name, "_").value_or(name);
  if (IsFusedName(bare)) return Dialect::kOnnxRuntime;
  if (bare == op_type && bare.size() != name.size()) {
    return Dialect::kTorchScriptOld;
  }
  // ONNX Runtime calls what it fused by the op alone.
  return name == op_type ? Dialect::kOnnxRuntime : Dialect::kUnknown;
}

Dialect ValueNameDialect(std::string_view name) {
  if (name.empty()) return Dialect::kUnknown;
  if (name[0] == '/') {
    if (WithoutNumbered(name, "/output_")) return Dialect::kGenai;
    if (name.find("/constants/") != std::string_view::npos) {
      return Dialect::kGenai;
    }
    return WithoutNumbered(name, "_output_") ? Dialect::kTorchScript
                                             : Dialect::kUnknown;
  }
  if (name.starts_with("onnx::")) return Dialect::kTorchScriptOld;
  if (const auto value = WithoutNumbered(name, "_"); value && *value == "val") {
    return Dialect::kDynamo;
  }
  if (SplitOnnxscriptValue(name).ok) return Dialect::kOnnxscript;
  if (WithoutNumbered(name, ":")) return Dialect::kTf2onnx;
  return Dialect::kUnknown;
}

}  // namespace onnx_tag::hierarchy

namespace onnx_tag {
namespace {

using hierarchy::Dialect;

constexpr std::size_t kDialects =
    static_cast<std::size_t>(Dialect::kOnnxRuntime) + 1;

struct Counts {
  std::array<std::size_t, kDialects> of = {};

  void Add(Dialect dialect) { ++of[static_cast<std::size_t>(dialect)]; }
  std::size_t operator[](Dialect dialect) const {
    return of[static_cast<std::size_t>(dialect)];
  }
};

// `n12` is an inlined node of dynamo's only beside others of its kind, and
// `node_12_<scope>_Conv` the work of a tool that replaced slashes.
Dialect OfNodeName(std::string_view name, std::string_view op_type) {
  const Dialect dialect = hierarchy::NodeNameDialect(name, op_type);
  if (dialect != Dialect::kDynamo) return dialect;
  if (!hierarchy::ConsumePrefix(name, "node_")) return Dialect::kUnknown;
  return !name.empty() && hierarchy::IsDigit(name[0]) ? Dialect::kUnknown
                                                      : Dialect::kDynamo;
}

// What the exporter left that no name can contradict.
Dialect FromMetadata(const Model& model) {
  for (const NodeId node : model.Nodes()) {
    if (model[node].metadata_count == 0) continue;
    if (HasForeignKey(model, node, keys::kNameScopes)) return Dialect::kDynamo;
    if (HasForeignKey(model, node, "pkg.onnxscript.name_scopes")) {
      return Dialect::kOnnxscript;
    }
  }
  for (const Function& function : model.functions()) {
    if (hierarchy::IsPackageDomain(function.domain) &&
        !hierarchy::SplitPackageFunction(function.name).empty()) {
      return Dialect::kDynamoFunctions;
    }
    if (function.domain.find('.') != std::string_view::npos &&
        hierarchy::IsPythonModuleDomain(function.domain)) {
      return Dialect::kModuleFunctions;
    }
  }
  for (const GraphId graph : model.Graphs()) {
    for (const MetadataEntry& entry : model[graph].metadata) {
      if (entry.key.starts_with("pkg.torch.export.")) {
        return Dialect::kDynamoStripped;
      }
    }
  }
  return Dialect::kUnknown;
}

// The first of the most frequent; kUnknown if none occurs. kUnknown itself does
// not take part.
Dialect MostFrequent(std::initializer_list<Dialect> dialects,
                     const Counts& counts) {
  Dialect best = Dialect::kUnknown;
  std::size_t most = 0;
  for (const Dialect dialect : dialects) {
    if (dialect == Dialect::kUnknown || counts[dialect] <= most) continue;
    best = dialect;
    most = counts[dialect];
  }
  return best;
}

Dialect FromCounts(const Counts& nodes, const Counts& values) {
  // Other tools write slashes too; only TensorFlow's values have ports.
  const std::size_t all =
      std::accumulate(nodes.of.begin(), nodes.of.end(), std::size_t{0});
  const bool tensorflow =
      nodes[Dialect::kTf2onnx] * 4 >= all &&
      values[Dialect::kTf2onnx] * 4 >= nodes[Dialect::kTf2onnx];
  const std::size_t scoped =
      nodes[Dialect::kTorchScript] + nodes[Dialect::kGenai];
  const std::size_t old = nodes[Dialect::kTorchScriptOld];
  // Scoped files have scopeless nodes, scopeless ones have no scopes.
  if (scoped > 0 && scoped * 10 >= old) {
    const std::size_t others = nodes[Dialect::kTf2onnx] +
                               nodes[Dialect::kDynamo] +
                               nodes[Dialect::kOnnxscript];
    if (scoped >= others) {
      return values[Dialect::kGenai] > values[Dialect::kTorchScript]
                 ? Dialect::kGenai
                 : Dialect::kTorchScript;
    }
  }
  Dialect best =
      MostFrequent({Dialect::kDynamo, Dialect::kOnnxscript,
                    tensorflow ? Dialect::kTf2onnx : Dialect::kUnknown,
                    Dialect::kPaddle, Dialect::kTorchScriptOld},
                   nodes);
  if (best == Dialect::kUnknown) {
    // Names are gone; values may have kept theirs.
    const bool ports = values[Dialect::kTf2onnx] * 2 >= all;
    best = MostFrequent(
        {Dialect::kTorchScript, Dialect::kGenai,
         ports ? Dialect::kTf2onnx : Dialect::kUnknown, Dialect::kOnnxscript,
         Dialect::kDynamo, Dialect::kTorchScriptOld},
        values);
  }
  return best == Dialect::kDynamo ? Dialect::kDynamoStripped : best;
}

// `/<scope>/<Op>_<k>`, to which no tool added. Nothing can be undone in the
// names of its outputs either, if they are named after it.
bool IsPlain(std::string_view name, const hierarchy::StrippedName& undone) {
  return name.starts_with('/') && !name.ends_with('/') &&
         !name.ends_with('_') && undone.name.size() == name.size() &&
         name.find("/constant") == std::string_view::npos;
}

Dialect DetectDialect(const Model& model, ExporterFacts& facts) {
  IdVector<NodeId, bool>& plain = facts.plain;
  const Dialect marked = FromMetadata(model);
  if (marked != Dialect::kUnknown) return marked;
  Counts nodes;
  Counts values;
  std::size_t ours = 0;
  plain.resize(model.node_count(), false);
  for (const NodeId node : model.Nodes()) {
    const std::string_view name = ExporterName(model, node);
    const hierarchy::StrippedName undone = hierarchy::UndoNodeName(name);
    plain[node] = IsPlain(name, undone);
    nodes.Add(plain[node] ? Dialect::kTorchScript
                          : OfNodeName(undone.name, model.OpType(node)));
    ours += hierarchy::SplitModuleName(undone.name).op == model.OpType(node);
    for (const ValueId value : model.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const std::string_view made = model.ValueName(value);
      values.Add(plain[node] && hierarchy::IsOutputOf(made, name)
                     ? Dialect::kTorchScript
                     : hierarchy::ValueNameDialect(
                           hierarchy::UndoTensorName(made).name));
    }
  }
  const Dialect counted = FromCounts(nodes, values);
  facts.module_names = ours * 2 > nodes[Dialect::kTf2onnx];
  if (counted == Dialect::kUnknown && facts.module_names) {
    return Dialect::kTorchScript;
  }
  // torch to 1.4 named no node at all.
  return counted == Dialect::kUnknown && model.producer_name() == "pytorch"
             ? Dialect::kTorchScriptOld
             : counted;
}

// A file of onnxscript.nn's graph builder whose metadata is gone: its names
// still contain the whole path.
class OnnxscriptNames : public DialectNames {
 public:
  explicit OnnxscriptNames(const Model& model) : model_(model) {}

  std::optional<NamedModule> OfNode(NodeId node) const override {
    const auto name = hierarchy::SplitOnnxscriptNode(
        hierarchy::UndoNodeName(ExporterName(model_, node)).name);
    if (name.ok) {
      std::string module(name.scope);
      std::replace(module.begin(), module.end(), '/', '.');
      return NamedModule{std::move(module),
                         Confidence::kHigh,
                         "its name contains the module's path",
                         {}};
    }
    for (const ValueId value : model_.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const auto output = hierarchy::SplitOnnxscriptValue(
          hierarchy::UndoTensorName(model_.ValueName(value)).name);
      if (!output.ok) continue;
      return NamedModule{std::string(output.scope),
                         Confidence::kHigh,
                         "the name of its output contains the module's path",
                         {}};
    }
    return std::nullopt;
  }

  std::optional<std::string> OwnerOf(std::string_view tensor) const override {
    if (!hierarchy::IsParameterName(tensor)) return std::nullopt;
    return std::string(hierarchy::SplitParameterName(tensor).module);
  }

 private:
  const Model& model_;
};

std::shared_ptr<const DialectNames> ReadDialect(const Model& model,
                                                Dialect dialect) {
  switch (dialect) {
    case Dialect::kGenai:
      return ReadGenaiNames(model);
    case Dialect::kOnnxscript:
      return std::make_shared<OnnxscriptNames>(model);
    case Dialect::kTf2onnx:
      return ReadTfNames(model);
    default:
      return nullptr;
  }
}

bool IsOfOtherFramework(const Model& model) {
  static const hierarchy::WordList producers("producer");
  return producers.Has(model.producer_name()) ||
         model.producer_name().starts_with("MATLAB ");
}

}  // namespace

ExporterFacts RecognizeExporter(const Model& model) {
  ExporterFacts facts;
  facts.dialect = DetectDialect(model, facts);
  facts.names = ReadDialect(model, facts.dialect);
  facts.paddle = facts.dialect == Dialect::kPaddle ||
                 model.producer_name() == "PaddlePaddle";
  facts.other_framework = facts.paddle || IsOfOtherFramework(model);
  return facts;
}

}  // namespace onnx_tag
