#include "mapping/mapping/place_found.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/lists.h"
#include "core/graph/neighbours.h"
#include "core/graph/operators.h"

namespace onnx_tag {
namespace {

// By the share of nodes whose module has the nodes of a true module, to the
// node, over 136 files without names (docs/how/structure.md). Medium is 85 %.
Confidence TrustIn(const Structure& found, FoundId id) {
  switch (found[id].kind) {
    case FoundKind::kLinear:  // 90 %
    case FoundKind::kConv:    // 95 %
      return Confidence::kMedium;
    case FoundKind::kCopy: {
      const FoundKind list = found[found[id].parent].kind;
      const bool trusted = list == FoundKind::kLayers ||  // 97 %
                           list == FoundKind::kBlock;     // 97 %
      return trusted ? Confidence::kMedium : Confidence::kLow;
    }
    default:  // attention 76 %, norms 80 %, activations 67 %, stem 13 %
      return Confidence::kLow;
  }
}

// Whether the tag is at the root because nothing says more, or is a guess of
// the recipe book.
bool IsWeak(const Tag& tag) {
  if (tag.module == ModuleTree::kRoot) {
    return tag.source == Source::kParameter ||
           tag.source == Source::kLocality ||
           tag.source == Source::kOperation || tag.source == Source::kPlacement;
  }
  return tag.confidence == Confidence::kLow &&
         (tag.source == Source::kOperation || tag.source == Source::kLocality ||
          tag.source == Source::kPlacement);
}

// Whether a tensor of the file is read here. PaddlePaddle's files have Constant
// nodes instead of initializers.
bool IsStored(const Model& model, const Operators& ops, ValueId value) {
  if (model.InitializerOf(value) != nullptr) return true;
  return ops[ProducerOf(model, value)] == Op::kConstant;
}

// Whether most weights are read in modules that have parts. A layer with a
// weight has no parts: several recipes fit that agree on little.
bool NamesNothing(const GraphFacts& graph, const ModuleTree& modules,
                  const IdVector<NodeId, Tag>& tags) {
  IdVector<ModuleId, bool> has_parts(modules.size(), false);
  has_parts[ModuleTree::kRoot] = true;
  for (const Tag& tag : tags) {
    if (!tag.tagged()) continue;
    ModuleId around = tag.module;
    while (around != ModuleTree::kRoot && !has_parts[modules.Parent(around)]) {
      around = modules.Parent(around);
      has_parts[around] = true;
    }
  }
  const Model& model = graph.model;
  const Operators& ops = graph.ops;
  std::size_t weights = 0;
  std::size_t unplaced = 0;
  for (const NodeId node : model.Nodes()) {
    const std::span<const ValueId> inputs = model.Inputs(node);
    if (!tags[node].tagged() || !ops.Is(node, kWeighing) || inputs.size() < 2 ||
        inputs[1] == kNo<ValueId> || !IsStored(model, ops, inputs[1])) {
      continue;
    }
    ++weights;
    unplaced += has_parts[tags[node].module] ? 1u : 0u;
  }
  return 4 * unplaced >= weights;
}

class Placer {
 public:
  Placer(const Model& model, Structure blocks, Tagging& tagging)
      : model_(model), tagging_(tagging), found_(std::move(blocks)) {
    FindAround();
    for (const FoundId id : found_.Modules()) {
      if (found_[id].kind == FoundKind::kCopy)
        is_list_[found_[id].parent] = true;
    }
    FindSpans();
  }

  FoundClaims Place(const std::vector<NodeId>& open, Confidence least) {
    // Constants and copies of shared weights may precede all others; the
    // modules are in the order in which they run.
    for (const NodeId node : open) {
      if (found_.ModuleOf(node) != kNo<FoundId> && ReadsComputed(node)) {
        ModuleOf(found_.ModuleOf(node));
      }
    }
    for (const NodeId node : open) {
      const FoundId id = found_.ModuleOf(node);
      if (id == kNo<FoundId>) continue;
      Confidence confidence = TrustIn(found_, id);
      const ModuleId module = ModuleOf(id);
      // That an open node belongs to what is named around it is a guess.
      if (Index(module) < named_) confidence = Confidence::kLow;
      if (confidence < least) continue;
      Tag& tag = tagging_.tags[node];
      tag.module = module;
      tag.confidence = confidence;
      tag.source = Source::kStructure;
      tag.evidence = EvidenceKind::kStructure;
      result_.claims.push_back(
          {node, module, confidence, Source::kStructure, ReasonOf(id)});
    }
    DescribeModules();
    return std::move(result_);
  }

 private:
  struct Span {
    GraphId graph = kNo<GraphId>;
    std::uint32_t first = 0;  // in their graph
    std::uint32_t last = 0;
  };

  bool ReadsComputed(NodeId node) const {
    const std::span<const ValueId> inputs = model_.Inputs(node);
    return AnyIn(inputs, [&](ValueId input) {
      return input != kNo<ValueId> && model_.InitializerOf(input) == nullptr;
    });
  }

  // The common module of the tagged nodes in each found module. If all of them
  // are in one part of it, the module around that part.
  void FindAround() {
    IdVector<FoundId, std::uint32_t> sources(found_.size(), 0);
    const auto join = [&](FoundId id, ModuleId module) {
      ++sources[id];
      around_[id] = tree_.Join(around_[id], module);
    };
    for (const NodeId node : model_.Nodes()) {
      const FoundId id = found_.ModuleOf(node);
      if (id != kNo<FoundId> && tagging_.tags[node].tagged()) {
        join(id, tagging_.tags[node].module);
      }
    }
    // Parents come before their children, so a module is complete here.
    std::vector<FoundId> only_part(found_.size(), kNo<FoundId>);
    for (std::size_t i = found_.size(); i-- > 0;) {
      const auto id = MakeId<FoundId>(i);
      if (around_[id] == kNo<ModuleId>) continue;
      const FoundId part = only_part[i];
      if (part != kNo<FoundId> && sources[id] == 1 &&
          found_[part].nodes < found_[id].nodes &&
          around_[id] != ModuleTree::kRoot) {
        around_[id] = tree_.Parent(around_[id]);
      }
      const FoundId parent = found_[id].parent;
      if (parent == kNo<FoundId>) continue;
      join(parent, around_[id]);
      only_part[Index(parent)] = id;
    }
  }

  // The nodes of a module are numbered as in the graph of its first node.
  void FindSpans() {
    for (const NodeId node : model_.Nodes()) {
      FoundId id = found_.ModuleOf(node);
      for (; id != kNo<FoundId>; id = found_[id].parent) {
        Span& span = spans_[id];
        if (span.graph == kNo<GraphId>) {
          span = {model_[node].graph, model_[node].index, model_[node].index};
        } else if (span.graph == model_[node].graph) {
          span.first = std::min(span.first, model_[node].index);
          span.last = std::max(span.last, model_[node].index);
        }
      }
    }
  }

  ModuleId ModuleOf(FoundId id) {
    if (id == kNo<FoundId>) return ModuleTree::kRoot;
    if (module_[id] != kNo<ModuleId>) return module_[id];
    const bool is_named = around_[id] != kNo<ModuleId>;
    // A list of copies is not the module around those that have names.
    if (is_named && !is_list_[id]) return module_[id] = around_[id];
    const ModuleId parent =
        is_named ? around_[id] : ModuleOf(found_[id].parent);
    module_[id] = tree_.Child(parent, FreeName(parent, found_.Name(id)));
    new_.push_back(id);
    return module_[id];
  }

  // `name`, or a name after it that no module of `parent` has: neither one of
  // the file, nor a found one, because one named module may have the parts of
  // several found ones.
  std::string FreeName(ModuleId parent, std::string name) {
    if (tree_.FindChild(parent, name) == kNo<ModuleId>) return name;
    name += "_found";
    const std::uint32_t count = ++clashes_[{parent, name}];
    if (count > 1) name += std::to_string(count);
    return tree_.FindChild(parent, name) == kNo<ModuleId>
               ? name
               : FreeName(parent, std::move(name));
  }

  // "block 3 of 12 equal blocks; operators 41-63"
  std::string_view ReasonOf(FoundId id) {
    if (reasons_[id] != nullptr) return *reasons_[id];
    FoundId copy = id;
    while (copy != kNo<FoundId> && found_[copy].kind != FoundKind::kCopy) {
      copy = found_[copy].parent;
    }
    reasons_[id] = &result_.reasons.emplace_back(
        copy == kNo<FoundId>
            ? "found in the graph alone, outside of repeated blocks; the name "
              "is invented"
            : fmt::format("found in the graph alone: {}; the names are "
                          "invented",
                          DescribeCopy(copy)));
    return *reasons_[id];
  }

  std::string DescribeCopy(FoundId id) const {
    const FoundModule& copy = found_[id];
    const FoundKind list = found_[copy.parent].kind;
    const std::string_view word =
        list == FoundKind::kLayers ? "layer" : "block";
    const Span& span = spans_[id];
    std::string text =
        fmt::format("{} {} of {} equal {}s; operators {}-{}", word, copy.number,
                    copy.copies, word, span.first, span.last);
    if (copy.like == CopyKind::kOtherWidth) {
      text += fmt::format("; equal to {} 0 but for the width", word);
    } else if (copy.like == CopyKind::kAlike) {
      text += fmt::format("; like {} 0, but not equal", word);
    }
    return text;
  }

  void DescribeModules() {
    tagging_.facts.resize(tree_.size());
    for (const FoundId id : new_) {
      const bool is_copy = found_[id].kind == FoundKind::kCopy;
      tagging_.found.push_back(
          {module_[id], is_copy ? DescribeCopy(id) : std::string()});
      const std::string name = ClassOf(found_[id]);
      if (name.empty()) continue;
      tree_.SetClass(module_[id], name);
      tagging_.facts[module_[id]].class_confidence = Confidence::kMedium;
    }
    SortBy(tagging_.found, &FoundBlock::module);
  }

  // The class that the operator proves; "" if there is none.
  std::string ClassOf(const FoundModule& found) const {
    if (found.core == kNo<NodeId>) return "";
    const Operator& op =
        Describe(FindOp(model_.OpType(found.core), model_.Domain(found.core)));
    if (found.kind == FoundKind::kConv && found.kernel_rank >= 1 &&
        found.kernel_rank <= 3) {
      return fmt::format("Conv{}{}d",
                         op.kinds.HasAnyOf(OpKind::kTransposed)
                             ? Describe(Op::kTranspose).name
                             : "",
                         found.kernel_rank);
    }
    const bool is_layer =
        op.like == Op::kLSTM || op.like == Op::kGRU || op.like == Op::kRNN;
    return found.kind == FoundKind::kRecurrent && is_layer
               ? std::string(Describe(op.like).name)
               : "";
  }

  const Model& model_;
  Tagging& tagging_;
  ModuleTree& tree_ = tagging_.modules;
  const std::size_t named_ = tree_.size();  // modules before any was added
  const Structure found_;
  // kNo: none of its nodes is tagged.
  IdVector<FoundId, ModuleId> around_{found_.size(), kNo<ModuleId>};
  IdVector<FoundId, ModuleId> module_ = around_;
  IdVector<FoundId, bool> is_list_{found_.size()};  // of copies
  IdVector<FoundId, Span> spans_{found_.size()};
  IdVector<FoundId, const std::string*> reasons_{found_.size()};
  std::map<std::pair<ModuleId, std::string>, std::uint32_t> clashes_;
  std::vector<FoundId> new_;
  FoundClaims result_;
};

}  // namespace

OpenNodes FindOpen(const GraphFacts& graph, const ModuleTree& modules,
                   const IdVector<NodeId, Tag>& tags, bool is_recorded) {
  OpenNodes open;
  const auto open_all = [&](auto is_open) {
    for (const NodeId node : AllIds<NodeId>(tags.size())) {
      if (!tags[node].tagged() || is_open(node)) open.nodes.push_back(node);
    }
  };
  const bool guessed =
      AllIn(tags, [](const Tag& tag) { return !tag.tagged() || IsWeak(tag); });
  if (!guessed || is_recorded) {
    open_all([](NodeId) { return false; });
  } else if (NamesNothing(graph, modules, tags)) {
    open_all([](NodeId) { return true; });
  } else {
    open.blocks = FindStructure(graph);
    const IdVector<NodeId, bool> contradicted =
        FindContradicted(graph, *open.blocks, modules, tags);
    open_all([&](NodeId node) { return contradicted[node]; });
  }
  return open;
}

FoundClaims PlaceFound(const GraphFacts& graph, OpenNodes open,
                       Confidence least, Tagging& tagging) {
  if (open.nodes.empty() || least > Confidence::kMedium) return {};
  for (const NodeId node : open.nodes) tagging.tags[node] = Tag();
  if (!open.blocks) open.blocks = FindStructure(graph);
  return Placer(graph.model, *std::move(open.blocks), tagging)
      .Place(open.nodes, least);
}

}  // namespace onnx_tag
