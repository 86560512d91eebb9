// Tested by tests/app/commands/sentence_test.cc.
#include "app/commands/show/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>

#include "app/commands/commands.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "base/lists.h"
#include "base/word_list.h"
#include "core/graph/neighbours.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/module_format.h"
#include "core/tagging/words.h"
#include "file/model/model_file.h"
#include "generated/command_words.h"
#include "mapping/mapping/observed_mapping.h"

namespace onnx_tag {
namespace {

// ---------------------------------------------------------------- the sentence
// What a role's type is called. A role with an owner names the part first:
// "the query of layer 0's self-attention".
struct TypePhrase {
  std::string noun;  // "": it has none
  bool owns_parts = false;
};

TypePhrase PhraseOf(RoleType type) {
  static const auto rows = RowsOf(kCommandWords, "type");
  for (const auto& row : rows) {
    if (row[0] != EnumToWord(kRoleTypeNames, type)) continue;
    return {Join(std::span(row).subspan(2), " "), row[1] == "owns"};
  }
  return {};
}

// A part that a product projects.
bool IsProjected(std::string_view part) {
  return IsOneOf(part,
                 {"query", "key", "value", "query, key and value", "output"});
}

// Whether the operator does what the role is about, rather than helping.
bool IsCore(const Role& role, std::string_view op) {
  const Op known = FindOp(op);
  const OpKinds kinds = Describe(known).kinds;
  const bool product = kinds.HasAnyOf({OpKind::kProduct, OpKind::kConvolution});
  switch (role.type) {
    case RoleType::kAttention:
    case RoleType::kFeedForward:
      return product ||
             (role.component == "softmax" && kinds.HasAnyOf(OpKind::kSoftmax));
    case RoleType::kNormalization:
      return kinds.HasAnyOf(OpKind::kNorm);
    case RoleType::kEmbedding:
      return kinds.HasAnyOf(OpKind::kLookup) || product;
    case RoleType::kConvolution:
      return kinds.HasAnyOf(OpKind::kConvolution);
    case RoleType::kResidual:
      return kinds.HasAnyOf(OpKind::kSum);
    case RoleType::kActivation:
      return known != Op::kAdd && known != Op::kMul && known != Op::kDiv &&
             known != Op::kConstant;
    case RoleType::kConstant:
      return kinds.HasAnyOf(OpKind::kConstant);
    default:
      return false;
  }
}

std::string Words(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string_view Article(std::string_view noun) {
  const auto begins = [&](std::string_view with) {
    return !noun.empty() && with.find(noun.front()) != std::string_view::npos;
  };
  const bool spelled = noun.size() > 1 && hierarchy::IsUpper(noun[1]);  // LSTM
  return begins("aeioAEIO") || (spelled && begins("FHLMNRSX")) ? "an" : "a";
}

// "query", "up projection"
std::string PartText(const Role& role) {
  const std::string& part = role.component;
  if (part == "qkv") return "query, key and value";
  if (part == "lm") return "language model";
  if (part == "gate" || part == "up" || part == "down") {
    return part + " projection";
  }
  return Words(Message("{}", Short{part, 60}));
}

// "layer 0's self-attention", "the feed-forward network"
std::string OwnerText(const Role& role, std::string_view noun) {
  std::string owner(noun);
  if (role.attention_kind != AttentionKind::kNone) {
    owner = fmt::format(
        "{}-{}", EnumToWord(kAttentionKindNames, role.attention_kind), noun);
  }
  return role.layer < 0 ? "the " + owner
                        : fmt::format("layer {}'s {}", role.layer, owner);
}

// "is the query projection of layer 0's self-attention"
std::string WhatItDoes(const Role& role, std::string_view op) {
  const TypePhrase phrase = PhraseOf(role.type);
  if (phrase.noun.empty()) return "";
  const bool core = IsCore(role, op);
  const std::string part = PartText(role);
  const bool is_projection = part.ends_with("projection");
  if (phrase.owns_parts) {
    const std::string owner = OwnerText(role, phrase.noun);
    if (part.empty()) return "belongs to " + owner;
    if (core && IsProjected(part)) {
      return fmt::format("is the {} projection of {}", part, owner);
    }
    if (core && !is_projection && part != "softmax") {
      return fmt::format("computes the {} of {}", part, owner);
    }
    return fmt::format("{} the {} of {}", core ? "is" : "belongs to", part,
                       owner);
  }
  if (part == "ids") return "belongs to the ids of positions";
  std::string noun(phrase.noun);
  if (is_projection) {
    noun = fmt::format("{} of {} {}", part, Article(noun), noun);
  } else if (!part.empty()) {
    noun = fmt::format("{} {}", part, noun);
  }
  return fmt::format(
      "{} {} {}{}", core ? "is" : "belongs to", Article(noun), noun,
      role.layer < 0 ? std::string() : fmt::format(" in layer {}", role.layer));
}

// The element of a list that the layer of a role counts; kNo if no index of the
// path is that number.
ModuleId LayerModule(const ModuleTree& tree, ModuleId module, int layer) {
  ModuleId outermost = kNo<ModuleId>;
  for (ModuleId id = module; id != kNo<ModuleId>; id = tree.Parent(id)) {
    if (tree.Atom(id) == std::to_string(layer)) outermost = id;
  }
  return outermost;
}

// Whether people call an element of a list a layer: it has parts, or more than
// one product, and is not a step inside an output head.
bool IsLayer(const Model& model, const Tagging& tagging, ModuleId element) {
  const ModuleTree& tree = tagging.modules;
  std::size_t products = 0;
  bool has_head = false;
  bool has_others = false;
  for (const NodeId node : model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged() || !tree.IsAncestor(element, tag.module)) {
      continue;
    }
    products += Describe(FindOp(model.OpType(node)))
                    .kinds.HasAnyOf({OpKind::kProduct, OpKind::kConvolution});
    const RoleType type = tagging.roles[tag.role].type;
    const bool helps =
        type == RoleType::kActivation || type == RoleType::kConstant ||
        type == RoleType::kShape || type == RoleType::kQuantization;
    has_head |= type == RoleType::kHead;
    has_others |= type != RoleType::kHead && !helps;
  }
  return (has_others || !has_head) &&
         (products > 1 || !tree.Children(element).empty());
}

// The role as the sentence has it: without the index of a list that holds no
// layers.
Role SaidRole(const Model& model, const Tagging& tagging, const Tag& tag) {
  Role role = tagging.roles[tag.role];
  if (role.layer < 0) return role;
  const ModuleId element = LayerModule(tagging.modules, tag.module, role.layer);
  if (element != kNo<ModuleId> && !IsLayer(model, tagging, element)) {
    role.layer = -1;
  }
  return role;
}

// "the Add /encoder/Add", "the MatMul #17"
std::string NodeText(const Model& model, NodeId node) {
  return Message("the {} {}", Short{model.OpType(node), 60},
                 model[node].name.empty() ? Short{model.Address(node), 100}
                                          : Short{model[node].name, 100});
}

bool IsQuantizer(const Model& model, NodeId node) {
  return Describe(FindOp(model.OpType(node)))
      .kinds.HasAnyOf({OpKind::kQuantizer, OpKind::kDequantizer});
}

// "the MatMul /query/MatMul and 2 more": the nodes that read a value, behind
// quantizers, too; empty if there are none.
std::string ReadersText(const Model& model, ValueId value) {
  std::vector<NodeId> readers;
  std::vector<ValueId> open = {value};
  // Each once: quantizers of a hostile file may read one another.
  std::unordered_set<ValueId> seen = {value};
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const NodeId reader : model.Consumers(open[i])) {
      const ValueId next = FirstOutput(model, reader);
      if (!IsQuantizer(model, reader) || next == kNo<ValueId>) {
        readers.push_back(reader);
      } else if (seen.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  if (readers.empty()) return "";
  std::string text = NodeText(model, readers[0]);
  if (readers.size() > 1) {
    text += fmt::format(" and {} more", WithThousands(readers.size() - 1));
  }
  return text;
}

// "the weight query.weight", "the result of the Add /encoder/Add", before any
// quantizer.
std::string SourceText(const Model& model, ValueId value) {
  NodeId maker = model.Producer(value);
  for (int steps = 0;
       steps < 4 && maker != kNo<NodeId> && IsQuantizer(model, maker) &&
       FirstInput(model, maker) != kNo<ValueId>;
       ++steps) {
    value = FirstInput(model, maker);
    maker = model.Producer(value);
  }
  if (maker != kNo<NodeId>) return "the result of " + NodeText(model, maker);
  return Message("the {} {}",
                 model.InitializerOf(value) != nullptr ? "weight" : "input",
                 Short{model.ValueName(value), 100});
}

// What a quantizer quantizes, whose a constant is; empty for other nodes.
std::string WhatItServes(const Model& model, NodeId node,
                         const std::string& does) {
  const OpKinds kinds = Describe(FindOp(model.OpType(node))).kinds;
  const ValueId result = FirstOutput(model, node);
  if (result == kNo<ValueId>) return "";
  const std::string readers = ReadersText(model, result);
  if (kinds.HasAnyOf(OpKind::kConstant)) {
    return does.empty() || readers.empty() ? "" : does + ", read by " + readers;
  }
  const bool copies = kinds.HasAnyOf(OpKind::kIdentity);
  const ValueId input = FirstInput(model, node);
  if ((!copies && !IsQuantizer(model, node)) || input == kNo<ValueId>) {
    return "";
  }
  const std::string source = SourceText(model, input);
  if (copies && !source.starts_with("the weight")) return "";
  return fmt::format("{} {}{}",
                     copies                                 ? "copies"
                     : kinds.HasAnyOf(OpKind::kDequantizer) ? "dequantizes"
                                                            : "quantizes",
                     source, readers.empty() ? "" : " for " + readers);
}

// The mark of a class that is only guessed.
std::string_view Doubt(const Tagging& tagging, ModuleId module) {
  const ModuleFacts* const facts = tagging.FactsOf(module);
  const bool guessed = facts != nullptr &&
                       facts->class_confidence == Confidence::kLow &&
                       !tagging.modules.Class(module).empty();
  return guessed ? "?" : "";
}

// "a Linear in BertSelfAttention?"; empty if no class is known.
std::string ClassText(const Tagging& tagging, ModuleId module) {
  const std::string_view own = ClassOf(tagging, module);
  if (own.empty()) return "";
  std::string text =
      Message("{} {}{}", Article(own), own, Doubt(tagging, module));
  if (module == ModuleTree::kRoot) return text;
  const ModuleFormat format(tagging);
  const ModuleId outer = format.TagModule(tagging.modules.Parent(module));
  const std::string_view around = ClassOf(tagging, outer);
  if (!around.empty()) {
    text += Message(" in {}{}", around, Doubt(tagging, outer));
  }
  return text;
}

// ---------------------------------------------------------------- the lines
// Lines of at most 80 columns, broken at blanks, each behind `indent` blanks. A
// word longer than a line stays whole.
std::string AsLines(std::string_view text, std::size_t indent = 0) {
  constexpr std::size_t kWidth = 80;
  const std::string margin(indent, ' ');
  std::string lines = margin;
  std::size_t column = indent;
  bool first = true;
  for (const std::string_view word : Split(text, ' ')) {
    const auto width = static_cast<std::size_t>(CountIn(word, [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
    if (!first && column + 1 + width > kWidth) {
      lines += "\n" + margin;
      column = indent;
    } else if (!first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += width;
    first = false;
  }
  return lines;
}

std::string ValuesText(const Model& model, std::span<const ValueId> values) {
  return Join(Mapped(values, [&](ValueId value) {
    const std::string_view name =
        value == kNo<ValueId> ? "-" : model.ValueName(value);
    return Message("{}", Short{name, 60});
  }));
}

// "attention/query, self, layer 0 (certain)"
std::string RoleLine(const Role& role) {
  std::string text = RoleText(role);
  if (role.attention_kind != AttentionKind::kNone) {
    text += ", ";
    text += EnumToWord(kAttentionKindNames, role.attention_kind);
  }
  if (role.layer >= 0) text += fmt::format(", layer {}", role.layer);
  return text +
         fmt::format(" ({})", EnumToWord(kConfidenceNames, role.confidence));
}

// "Linear (certain)", "MistralMLP? (low; LlamaMLP fits as well)"
std::string ClassLine(const Tagging& tagging, ModuleId module) {
  const std::string_view name = tagging.modules.Class(module);
  if (name.empty()) return "-";
  const ModuleFacts* const facts = tagging.FactsOf(module);
  if (facts == nullptr) return Message("{}", name);
  std::string others;
  if (!facts->candidates.empty()) {
    others = fmt::format("; {} {} as well", FirstOf(facts->candidates, 4, 60),
                         facts->candidates.size() == 1 ? "fits" : "fit");
  }
  return Message("{}{} ({}{})", name, Doubt(tagging, module),
                 EnumToWord(kConfidenceNames, facts->class_confidence),
                 Ours{others});
}

// "model.py:25, in forward", and the code.
std::string LineText(const SourceLine& line) {
  std::string text = Message("{}:{}", Short{line.file, 200}, line.line);
  if (!line.function.empty()) {
    text += Message(", in {}", Short{line.function, 100});
  }
  return text;
}

void AddLines(const SourceLines& lines, NodeId node, Result& result) {
  const std::optional<SourceLine> line = lines.Of(node);
  if (!line) return;
  result.Line("  code   {}", Ours{LineText(*line)});
  if (!line->text.empty()) result.Line("           {}", Short{line->text, 200});
  const std::vector<SourceLine> frames = lines.FramesOf(node);
  if (frames.empty()) return;
  result.Line("\nframes, the innermost first");
  for (const SourceLine& frame : frames) {
    result.Line("  {}", Ours{LineText(frame)});
    if (!frame.text.empty()) result.Line("      {}", Short{frame.text, 200});
  }
}

void AddText(const Model& model, const Tagging& tagging, NodeId node,
             const Explanation& explanation, Result& result) {
  result.Line("{}",
              Ours{Emphasized(Ours{AsLines(Sentence(model, tagging, node))})});
  const Tag& tag = tagging.tags[node];
  if (tag.tagged()) {
    result.Line("  role   {}\n  class  {}\n  tag    {}",
                RoleLine(tagging.roles[tag.role]),
                Ours{ClassLine(tagging, tag.module)},
                ModuleFormat(tagging).HierarchyTag(tag));
  }
  AddLines(tagging.lines, node, result);
  result.Line("\nnode {}  {}{}{}  {}", model.Address(node), model.Domain(node),
              model.Domain(node).empty() ? "" : "::", model.OpType(node),
              model[node].name.empty() ? "(no name)" : model[node].name);
  if (!model.Inputs(node).empty()) {
    result.Line("  reads  {}", Ours{ValuesText(model, model.Inputs(node))});
  }
  result.Line("  gives  {}\n", Ours{ValuesText(model, model.Outputs(node))});
  bool tagged = false;
  int place = 0;
  for (const ExplainedClaim& claim : explanation.claims) {
    tagged |= claim.wins;
    const std::string claimed =
        Message("{} {}. {}: {}", claim.wins ? "*" : " ", ++place, claim.rung,
                ShownPath(claim.module));
    result.Line("{}", Ours{claim.wins ? Emphasized(Ours{claimed}) : claimed});
    result.Line("     {} confidence, source {}",
                EnumToWord(kConfidenceNames, claim.confidence),
                EnumToWord(kSourceNames, claim.source));
    if (!claim.because.empty()) {
      result.Line("{}", Ours{AsLines(Message("because {}", claim.because), 5)});
    }
  }
  if (explanation.claims.empty()) {
    result.Line(
        "no evidence: nothing in the file shows which module produced it");
  }
  for (const std::string& note : explanation.notes) {
    result.Line("  note: {}", note);
  }
  result.Line("\n{}", tagged ? "* marks the claim that becomes the tag"
                             : "the node stays untagged");
}

Datum ClaimValue(const ExplainedClaim& claim) {
  Datum::Members members = {
      {"rung", claim.rung},
      {"module", claim.module},
      {"confidence", EnumToWord(kConfidenceNames, claim.confidence)},
      {"source", EnumToWord(kSourceNames, claim.source)},
      {"because", claim.because},
      {"wins", claim.wins}};
  if (!claim.choices.empty()) {
    Datum::List choices;
    for (const PlacedChoice& choice : claim.choices) {
      choices.push_back(Datum::Object(
          {{"module", choice.module}, {"permille", choice.permille}}));
    }
    members.emplace_back("choices", std::move(choices));
  }
  return Datum::Object(std::move(members));
}

}  // namespace

std::string Sentence(const Model& model, const Tagging& tagging, NodeId node) {
  const std::string op = Message("{}", Short{model.OpType(node), 60});
  const Tag& tag = tagging.tags[node];
  if (!tag.tagged()) {
    return fmt::format(
        "This {} stays untagged: nothing in the file says which module made it",
        op);
  }
  std::string does =
      WhatItDoes(SaidRole(model, tagging, tag), model.OpType(node));
  const std::string serves = WhatItServes(model, node, does);
  if (!serves.empty()) does = serves;
  const std::string class_text = ClassText(tagging, tag.module);
  std::string sure(EnumToWord(kConfidenceNames, tag.confidence));
  if (const ModuleFacts* const facts = tagging.FactsOf(tag.module);
      facts != nullptr && !class_text.empty() &&
      facts->class_confidence != tag.confidence) {
    sure = fmt::format("module {}, class {}", sure,
                       EnumToWord(kConfidenceNames, facts->class_confidence));
  }
  does += does.empty() ? "belongs to" : ":";
  return Message("This {} {} {}{}{}; {}{}", op, does,
                 tagging.modules.Shown(tag.module),
                 class_text.empty() ? "" : ", ", class_text, sure,
                 tag.source == Source::kStructure
                     ? "; found in the graph, the name is invented"
                     : "");
}

Result ExplainNode(const Model& model, const Tagging& tagging, NodeId node,
                   const Explanation& explanation) {
  Result result;
  AddText(model, tagging, node, explanation, result);
  const NodeTable table(model, tagging);
  std::vector<Column> columns = NodeTable::Columns();
  result.data = Datum::Object({{"sentence", Sentence(model, tagging, node)}});
  for (auto& [key, value] : MembersOf(columns, table.Row(node))) {
    if (key != "origins") result.data.Set(key, value);
  }
  const std::vector<SourceLine> frames = tagging.lines.FramesOf(node);
  if (!frames.empty()) result.data.Set("frames", ListOf(frames, LineValue));
  result.data.Add({{"claims", ListOf(explanation.claims, ClaimValue)},
                   {"notes", explanation.notes}});
  return result;
}

Result RunExplain(const ExplainOptions& options, Terminal& terminal) {
  TagSourceOptions source = options.source;
  source.mapping.frames = options.frames;
  const MappingFacts facts = ReadFacts(source.mapping);
  const ModelFile file = OpenModel(options.model, terminal);
  const NodeId node = [&] {
    try {
      return SelectNode(file.model(), options.node);
    } catch (const Error& error) {
      throw error.In(options.model);
    }
  }();
  std::optional<ExistingTags> existing =
      FindTags(options.model, source, &file.model(), terminal);
  auto [tagging, explanation] = file.Map([&](const Model& model) {
    return MapAndExplain(model, source.mapping, facts, node, options.all);
  });
  file.file().CheckUnchanged();
  if (!existing) return ExplainNode(file.model(), tagging, node, explanation);
  const std::string said = ModuleOf(existing->tagging, node, "no module");
  const std::string now = ModuleOf(tagging, node, "no module");
  if (said != now) {
    explanation.notes.push_back(
        Message("the tag ({}) names {}, but the claims, made now, lead to {}: "
                "the tag was made with other options, or the file was changed",
                existing->source, said, now));
  }
  return ExplainNode(file.model(), existing->tagging, node, explanation);
}

}  // namespace onnx_tag
