// Tested by tests/commands/sentence_test.cc.
#include "commands/show/sentence.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "tagging/module_format.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

// What a role's type is called. A role with an owner names the part first:
// "the query of layer 0's self-attention".
struct TypePhrase {
  std::string_view noun;
  bool owns_parts;
};

// In the order of RoleType.
constexpr std::array<TypePhrase, kRoleTypeNames.size()> kTypePhrases = {{
    {"attention", true},
    {"feed-forward network", true},
    {"normalization", false},
    {"embedding", false},
    {"position encoding", false},
    {"pooling", true},
    {"output head", true},
    {"convolution", false},
    {"recurrent network", true},
    {"state-space block", true},
    {"activation", false},
    {"residual connection", false},
    {"expert routing", true},
    {"adapter", true},
    {"cache", true},
    {"mask", true},
    {"computation of a shape", false},
    {"constant", false},
    {"quantization", false},
    {"", false},
}};

bool IsProduct(std::string_view op) {
  return op == "Gemm" || op == "Einsum" ||
         op.find("MatMul") != std::string_view::npos ||
         op.find("Conv") != std::string_view::npos;
}

bool IsProjection(const std::string& component) {
  constexpr std::array<std::string_view, 9> kProjections = {
      "query", "key",  "value", "qkv",       "output",
      "gate",  "down", "up",    "projection"};
  return std::find(kProjections.begin(), kProjections.end(), component) !=
         kProjections.end();
}

// Whether the operator does what the role is about, rather than helping.
bool IsCore(const Role& role, std::string_view op) {
  switch (role.type) {
    case RoleType::kAttention:
    case RoleType::kFeedForward:
      return IsProduct(op) || (role.component == "softmax" &&
                               op.find("Softmax") != std::string_view::npos);
    case RoleType::kNormalization:
      return op.find("Normalization") != std::string_view::npos;
    case RoleType::kEmbedding:
      return op.find("Gather") != std::string_view::npos || IsProduct(op);
    case RoleType::kConvolution:
      return op.find("Conv") != std::string_view::npos;
    case RoleType::kResidual:
      return op == "Add" || op == "Sum";
    case RoleType::kActivation:
      return op != "Add" && op != "Mul" && op != "Div" && op != "Constant";
    case RoleType::kConstant:
      return op.starts_with("Constant");
    default:
      return false;
  }
}

std::string Words(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string_view Article(std::string_view noun) {
  const bool vowel =
      !noun.empty() &&
      std::string_view("aeioAEIO").find(noun.front()) != std::string_view::npos;
  return vowel ? "an" : "a";
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
  const TypePhrase& phrase = kTypePhrases[static_cast<std::size_t>(role.type)];
  if (phrase.noun.empty()) return "";
  const bool core = IsCore(role, op);
  const std::string part = Words(Printable(role.component, 60));
  if (phrase.owns_parts) {
    const std::string owner = OwnerText(role, phrase.noun);
    if (part.empty()) return "belongs to " + owner;
    if (core && IsProjection(role.component)) {
      const bool named = role.component == "projection";
      return fmt::format(
          "is the {}{} of {}",
          role.component == "qkv" ? "query, key and value" : part,
          named ? "" : " projection", owner);
    }
    if (core && role.component != "softmax") {
      return fmt::format("computes the {} of {}", part, owner);
    }
    return fmt::format("{} the {} of {}", core ? "is" : "belongs to", part,
                       owner);
  }
  const std::string noun = part.empty() ? std::string(phrase.noun)
                                        : part + " " + std::string(phrase.noun);
  return fmt::format(
      "{} {} {}{}", core ? "is" : "belongs to", Article(noun), noun,
      role.layer < 0 ? std::string() : fmt::format(" in layer {}", role.layer));
}

std::string ClassOf(const Tagging& tagging, ModuleId module) {
  std::string_view name = tagging.modules.Class(module);
  if (name.empty() && module == ModuleTree::kRoot) name = tagging.root.name;
  return Printable(name, 100);
}

// "a Linear in BertSelfAttention"; empty if no class is known.
std::string ClassText(const Tagging& tagging, ModuleId module) {
  const std::string own = ClassOf(tagging, module);
  if (own.empty()) return "";
  std::string text = fmt::format("{} {}", Article(own), own);
  if (module == ModuleTree::kRoot) return text;
  const ModuleFormat format(tagging);
  const std::string around =
      ClassOf(tagging, format.TagModule(tagging.modules.Parent(module)));
  if (!around.empty()) text += " in " + around;
  return text;
}

}  // namespace

std::string Sentence(const Model& model, const Tagging& tagging, NodeId node) {
  const std::string op = Printable(model.OpType(node), 60);
  const Tag& tag = tagging.tags[node];
  if (!tag.tagged()) {
    return fmt::format(
        "This {} stays untagged: nothing in the file says which module made it",
        op);
  }
  const std::string path = tagging.modules.Path(tag.module);
  std::string does = WhatItDoes(tagging.roles[tag.role], model.OpType(node));
  if (does.empty()) does = "belongs to a module";
  std::string text = fmt::format("This {} {}: {}", op, does,
                                 path.empty() ? "<root>" : Printable(path));
  const std::string class_text = ClassText(tagging, tag.module);
  if (!class_text.empty()) text += ", " + class_text;
  return text + "; " +
         std::string(EnumToWord(kConfidenceNames, tag.confidence));
}

}  // namespace onnx_tag
