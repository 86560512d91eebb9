// Nodes that use a named parameter belong to its owner.
#include <unordered_map>

#include "mapping/ladder/rungs/rung_base.h"
#include "mapping/ladder/sources.h"

namespace onnx_tag {
namespace {

Owner OwnerOf(const Evidence& evidence, NodeId node) {
  return evidence.OwnerOf(evidence.graph, evidence.modules, node);
}

// Checks the attribute name.
bool LooksLikeEmbedding(const Evidence& evidence, ModuleId module) {
  const std::string_view atom = evidence.modules.Atom(module);
  return atom.find("emb") != std::string_view::npos || atom == "wte" ||
         atom == "wpe" || atom == "shared";
}

// The two dimensions of a tensor as one number, or 0 if its rank is not 2.
std::uint64_t Shape(const Model& model, ValueId value) {
  const Initializer* tensor =
      value == kNo<ValueId> ? nullptr : model.InitializerOf(value);
  if (tensor == nullptr || tensor->rank != 2) return 0;
  const auto dims = model.Dims(*tensor);
  return static_cast<std::uint64_t>(dims[0]) << 32 |
         static_cast<std::uint32_t>(dims[1]);
}

std::uint64_t Transposed(std::uint64_t shape) {
  return shape << 32 | shape >> 32;
}

// Whether the bias of another module is added to the product.
bool IsOfAnother(const Evidence& evidence, NodeId product, ModuleId module) {
  const Model& model = evidence.model;
  const NodeId add = OnlyConsumer(model, product);
  for (const NodeId node : {product, add}) {
    if (node == kNo<NodeId>) continue;
    if (node == add && evidence.graph.ops[add] != Op::kAdd) continue;
    const ModuleId owner = OwnerOf(evidence, node).module;
    if (owner != kNo<ModuleId> && !evidence.modules.IsAncestor(owner, module)) {
      return true;
    }
  }
  return false;
}

// Products with a weight without a name, by shape. A head that shares its
// matrix with the embedding has a transposed copy of it.
std::unordered_map<std::uint64_t, NodeId> NamelessProducts(
    const Evidence& evidence) {
  const Model& model = evidence.model;
  std::unordered_map<std::uint64_t, NodeId> products;
  for (const NodeId node : model.Nodes()) {
    const Op op = evidence.graph.ops[node];
    if (op != Op::kMatMul && op != Op::kGemm) continue;
    const auto inputs = model.Inputs(node);
    if (inputs.size() < 2 ||
        evidence.ParameterOf(inputs[1]) != kNo<ParameterId>) {
      continue;
    }
    const std::uint64_t shape = Shape(model, inputs[1]);
    if (shape == 0) continue;
    // The last product wins, because heads are last. Gemm may read either form.
    products[shape] = node;
    if (op == Op::kGemm) products[Transposed(shape)] = node;
  }
  return products;
}

IdVector<NodeId, bool> NodesOfRecipes(const Evidence& evidence) {
  IdVector<NodeId, bool> nodes(evidence.model.node_count(), false);
  for (const Clue& clue : evidence.said.From(WriterId::kRecipe)) {
    nodes[clue.node] = true;
  }
  return nodes;
}

// By module of the map: whether it is called, by any of its names. Empty if
// there is no map.
std::vector<bool> CalledModules(const KnownModules& known) {
  if (known.map == nullptr) return {};
  const ModuleMap& map = *known.map;
  std::vector<bool> called(map.tree.size(), map.calls.empty());
  for (const ModuleCall& call : map.calls) called[Index(call.module)] = true;
  for (const ModuleId id : AllIds<ModuleId>(map.tree.size())) {
    const std::string& name = map.modules[id].shared_with;
    const ModuleId first = name.empty() ? id : map.tree.Find(name);
    if (first != kNo<ModuleId> && called[Index(first)]) {
      called[Index(id)] = true;
    }
  }
  return called;
}

// The module that reads the parameters of `module`: a parent reads those of a
// child that it never calls itself.
ModuleId ReaderOf(const Evidence& evidence, ModuleId module,
                  const std::vector<bool>& called) {
  const ModuleId in_map = evidence.known.InMap(module);
  if (in_map == kNo<ModuleId> || called[Index(in_map)]) return module;
  ModuleId at = evidence.known.map->tree.Parent(in_map);
  while (at != kNo<ModuleId> && !called[Index(at)]) {
    at = evidence.known.map->tree.Parent(at);
  }
  const ModuleId reader = at == kNo<ModuleId> ? at : evidence.known.in_file[at];
  return reader == kNo<ModuleId> ? module : reader;
}

}  // namespace

void ReadParameters(const Evidence& evidence, ClueWriter& out) {
  const Model& model = evidence.model;
  const Operators& ops = evidence.graph.ops;
  const auto products = NamelessProducts(evidence);
  const IdVector<ModuleId, bool> packs = ModulesThatPack(evidence);
  const IdVector<NodeId, bool> in_recipe = NodesOfRecipes(evidence);
  // The order of calls gives it to one of several equal modules.
  IdVector<NodeId, bool> is_beside(model.node_count(), false);
  for (const Clue& clue : evidence.said.From(WriterId::kCalled)) {
    is_beside[clue.node] = clue.level < Confidence::kHigh;
  }
  const auto is_open = [&](NodeId node) {
    return !out.IsSaid(node, EvidenceKind::kParameter);
  };
  const std::vector<bool> called = CalledModules(evidence.known);
  for (const NodeId node : model.Nodes()) {
    if (evidence.is_carrier[node]) continue;
    Owner owner = OwnerOf(evidence, node);
    if (owner.module == kNo<ModuleId>) continue;
    if (owner.from_hierarchy) {
      owner.module = ReaderOf(evidence, owner.module, called);
    }
    if (owner.module != ModuleTree::kRoot &&
        packs[evidence.modules.Parent(owner.module)] &&
        evidence.modules.Atom(owner.module) == "out_proj") {
      owner.module = evidence.modules.Parent(owner.module);
    }
    // A name without dots may belong to the root or to no module; a recipe is
    // more reliable.
    if (owner.module == ModuleTree::kRoot && in_recipe[node]) continue;
    const bool open = is_open(node);
    if (open && ops[node] == Op::kGather) {
      // A tied matrix has the name of the embedding or of the head.
      const std::uint64_t shape = Shape(model, FirstInput(model, node));
      const auto head = products.find(Transposed(shape));
      if (shape != 0 && head != products.end() && is_open(head->second) &&
          !IsOfAnother(evidence, head->second, owner.module) &&
          !LooksLikeEmbedding(evidence, owner.module)) {
        out.Add({head->second, owner.module, Confidence::kMedium,
                 Source::kParameter,
                 "its weight is the transposed weight of this module"});
        continue;
      }
    }
    const bool is_doubtful = owner.module == ModuleTree::kRoot ||
                             (owner.from_hierarchy && is_beside[node]);
    out.Add({node, owner.module,
             is_doubtful ? Confidence::kMedium : Confidence::kHigh,
             owner.from_hierarchy ? Source::kHierarchy : Source::kParameter,
             owner.from_hierarchy
                 ? "in the hierarchy, this module runs here and has a "
                   "parameter of this shape"
                 : "it uses a parameter of this module"});
    // The bias of a Linear is added to its MatMul, whose weight may have been
    // transposed and renamed.
    if (!open || ops[node] != Op::kAdd) continue;
    const NodeId matmul = MatMulBefore(evidence, node);
    if (matmul == kNo<NodeId> || !is_open(matmul)) continue;
    if (OwnerOf(evidence, matmul).module != kNo<ModuleId>) continue;
    out.Add({matmul, owner.module, Confidence::kHigh, Source::kOperation,
             "the bias of this module is added to its result"});
  }
}

}  // namespace onnx_tag
