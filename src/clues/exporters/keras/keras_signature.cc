#include "clues/exporters/keras/keras_signature.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// What is used first inside one layer, where names do not tell.
int CallOrder(std::string_view atom) {
  constexpr std::string_view kOrder[] = {
      "query", "key",     "value",   "attention_output",
      "stem",  "forward", "backward"};
  for (std::size_t i = 0; i < std::size(kOrder); ++i) {
    if (atom.starts_with(kOrder[i])) return static_cast<int>(i);
  }
  for (const std::string_view last :
       {"predictions", "logits", "classifier", "head", "output", "out"}) {
    if (atom.starts_with(last)) return 20;
  }
  return 10;
}

// `dense_2` before `dense_10`, `dense` before both.
bool NumberedBefore(std::string_view a, std::string_view b) {
  const auto key = [](std::string_view path) {
    std::vector<std::tuple<int, std::string_view, int>> atoms;
    for (const std::string_view atom : Split(path, '.')) {
      const auto base = hierarchy::WithoutNumbered(atom, "_");
      const int number =
          base ? hierarchy::SmallNumber(hierarchy::LastPart(atom, '_'), 0) : -1;
      atoms.emplace_back(CallOrder(atom), base.value_or(atom), number);
    }
    return atoms;
  };
  return key(a) < key(b);
}

// How many times its units an RNN's recurrent kernel is wide, by its cell; 0:
// unknown.
std::int64_t Gates(std::string_view variable) {
  if (variable.starts_with("lstm_cell")) return 4;
  if (variable.starts_with("gru_cell")) return 3;
  if (variable.starts_with("simple_rnn_cell")) return 1;
  return 0;
}

bool IsCell(std::string_view atom) {
  return hierarchy::WithoutNumbered(atom, "_").value_or(atom).ends_with(
      "_cell");
}

// The layer and the variable of `rnn_model/bi/forward_rnn/lstm_cell/kernel`.
struct Variable {
  std::vector<std::string_view> layer;
  std::string_view name;
};

bool IsMatrix(std::string_view variable) {
  return variable.find("kernel") != std::string_view::npos ||
         variable.find("embeddings") != std::string_view::npos;
}

std::vector<Variable> ListVariables(std::string_view text,
                                    std::string_view marker) {
  std::vector<Variable> variables;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t at = line.find(marker);
    if (at == std::string_view::npos) continue;
    const std::string_view target = line.substr(at + marker.size());
    const std::string_view path = target.substr(0, target.find('\''));
    // Of random layers, which do nothing here.
    if (path.ends_with("seed_generator_state")) continue;
    Variable variable;
    variable.layer = Split(path, '/');
    variable.name = variable.layer.back();
    variable.layer.pop_back();
    // A cell is called step by step inside its layer.
    if (variable.layer.size() > 1 && IsCell(variable.layer.back())) {
      variable.name = path.substr(path.size() - variable.name.size() - 1 -
                                  variable.layer.back().size());
      variable.layer.pop_back();
    }
    if (!variable.layer.empty()) variables.push_back(std::move(variable));
  }
  return variables;
}

// A sequential or subclassed model's own name stands before every layer's.
void DropModelName(std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    if (variable.layer.size() < 2 ||
        variable.layer[0] != variables[0].layer[0]) {
      return;
    }
  }
  for (Variable& variable : variables) {
    variable.layer.erase(variable.layer.begin());
  }
}

}  // namespace

KerasSignature ParseKerasSignature(std::string_view text) {
  std::vector<Variable> variables =
      ListVariables(text, "PARAMETER target='_torch_params.");
  if (variables.empty()) {
    variables =
        ListVariables(text, "PARAMETER target='_functional._torch_params.");
  }
  DropModelName(variables);
  KerasSignature signature;
  signature.variables = variables.size();
  std::map<std::string, std::vector<std::string_view>> by_layer;
  for (const Variable& variable : variables) {
    std::string path;
    for (const std::string_view atom : variable.layer) {
      if (!path.empty()) path += '.';
      path += atom;
    }
    by_layer[path].push_back(variable.name);
  }
  for (auto& [path, names] : by_layer) {
    std::sort(names.begin(), names.end());
    signature.layers.push_back({path, names});
  }
  std::sort(signature.layers.begin(), signature.layers.end(),
            [](const KerasLayer& a, const KerasLayer& b) {
              return NumberedBefore(a.path, b.path);
            });
  for (const std::string_view line : Split(text, '\n')) {
    signature.constants +=
        line.find("CONSTANT_TENSOR target='lifted_tensor_") !=
        std::string_view::npos;
  }
  return signature;
}

namespace {

using Kind = std::vector<std::string_view>;

// Cuts the row of constants into layers: those of one layer are used together,
// matrices first.
class LayerRow {
 public:
  LayerRow(const KerasSignature& signature, const std::vector<LiftedUse>& uses)
      : uses_(uses) {
    for (const KerasLayer& layer : signature.layers) {
      ++left_[layer.variables];
    }
  }

  // The kind of each layer in order of use; empty if none fits.
  std::vector<Kind> Cut() {
    if (!CutFrom(0)) row_.clear();
    return row_;
  }

 private:
  bool Fits(const Kind& kind, std::size_t at) const {
    if (at + kind.size() > uses_.size()) return false;
    const auto matrices = std::count_if(kind.begin(), kind.end(), IsMatrix);
    const int first = uses_[at].rank;
    if (matrices == 0) {
      for (std::size_t i = 0; i < kind.size(); ++i) {
        if (uses_[at + i].rank > 1 || uses_[at + i].in_conv) return false;
      }
      return true;
    }
    if (first >= 0 && first < 2) return false;
    if (kind.size() == 3 && Gates(kind[0]) != 0 && uses_[at + 1].widths != 0 &&
        uses_[at + 1].widths != Gates(kind[0])) {
      return false;
    }
    // A bias has fewer dimensions than its kernel.
    const int last = uses_[at + kind.size() - 1].rank;
    return matrices != 1 || kind.size() != 2 || first < 0 || last < first;
  }

  bool CutFrom(std::size_t at) {
    // Each step takes a layer away; hostile files run out of steps.
    if (at == uses_.size()) return true;
    if (++steps_ > 100'000) return false;
    for (auto& [kind, left] : left_) {
      if (left == 0 || !Fits(kind, at)) continue;
      --left;
      row_.push_back(kind);
      if (CutFrom(at + kind.size())) return true;
      row_.pop_back();
      ++left;
    }
    return false;
  }

  const std::vector<LiftedUse>& uses_;
  std::map<Kind, std::size_t> left_;
  std::vector<Kind> row_;
  std::size_t steps_ = 0;
};

// Whether the layer's name speaks against what its kernel is used for.
bool Contradicts(std::string_view path, const LiftedUse& use) {
  const std::string_view name = hierarchy::LastPart(path, '.');
  const bool conv = name.find("conv") != std::string_view::npos;
  const bool dense =
      name.find("dense") != std::string_view::npos || CallOrder(name) == 20;
  return use.in_conv ? dense : conv;
}

}  // namespace

LiftedOwners MatchLifted(const KerasSignature& signature,
                         const std::vector<LiftedUse>& uses) {
  LiftedOwners owners;
  // The search is as deep as there are layers.
  if (uses.size() != signature.variables || uses.size() > 4096) return owners;
  const std::vector<Kind> row = LayerRow(signature, uses).Cut();
  std::vector<bool> taken(signature.layers.size(), false);
  std::size_t at = 0;
  for (const Kind& kind : row) {
    std::size_t best = signature.layers.size();
    std::size_t alike = 0;
    for (std::size_t i = 0; i < signature.layers.size(); ++i) {
      const KerasLayer& layer = signature.layers[i];
      if (layer.variables != kind) continue;
      ++alike;
      if (taken[i]) continue;
      if (best == signature.layers.size() ||
          (Contradicts(signature.layers[best].path, uses[at]) &&
           !Contradicts(layer.path, uses[at]))) {
        best = i;
      }
    }
    taken[best] = true;
    for (std::size_t i = 0; i < kind.size(); ++i) {
      owners.layer.push_back(best);
      owners.unsure.push_back(alike > 1);
    }
    at += kind.size();
  }
  return owners;
}

}  // namespace onnx_tag
