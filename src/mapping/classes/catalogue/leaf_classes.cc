// What the operators of a leaf module say about its class.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "base/parse_number.h"
#include "core/tagging/words.h"
#include "mapping/classes/catalogue/identify.h"

namespace onnx_tag::catalogue {
namespace {

// The rows about operators, with their sets.
class LeafRules {
 public:
  struct Pattern {
    OperatorSet any = 0;
    OperatorSet none = 0;
    OperatorSet needs = 0;
    OperatorSet alone = 0;
  };
  struct Guess {
    LeafKind kind;
    std::string_view name;
    std::optional<int> rank;  // of its weight; 0: it has no parameter
    Confidence confidence;
  };

  LeafRules() {
    const std::vector<const ClassRule*> kinds = RulesOf("kind");
    for (const ClassRule* rule : kinds) {
      patterns_.push_back({SetOf(*rule, "any"), SetOf(*rule, "none"),
                           SetOf(*rule, "needs"), SetOf(*rule, "alone")});
    }
    for (const ClassRule* rule : RulesOf("distinct")) SetOf(*rule, "any");
    for (const ClassRule* rule : RulesOf("common")) {
      common_ |= SetOf(*rule, "any");
    }
    for (const ClassRule* rule : RulesOf("guess")) {
      const auto kind =
          std::find_if(kinds.begin(), kinds.end(), [&](const ClassRule* each) {
            return each->name == rule->One("kind");
          });
      if (kind == kinds.end()) throw std::invalid_argument("unknown kind");
      const std::string_view rank = rule->One("rank");
      guesses_.push_back(
          {static_cast<LeafKind>(kind - kinds.begin()), rule->name,
           rank.empty() ? 0 : ParseWhole<int>(rank),
           WordToEnum<Confidence>(kConfidenceNames, rule->One("sure"))
               .value()});
    }
  }

  const Pattern& operator[](LeafKind kind) const {
    return patterns_[static_cast<std::size_t>(kind)];
  }
  const std::vector<Guess>& guesses() const { return guesses_; }
  OperatorSet common() const { return common_; }
  OperatorSet Of(Op op) const {
    auto found = sets_.find(op);
    if (found == sets_.end()) found = sets_.find(Describe(op).like);
    return found == sets_.end() ? 0 : found->second;
  }

 private:
  OperatorSet SetOf(const ClassRule& rule, std::string_view column) {
    OperatorSet set = 0;
    for (const std::string_view word : rule[column]) set |= SetOf(word);
    return set;
  }

  // `word`: an operator, or the name of a `set` row.
  OperatorSet SetOf(std::string_view word) {
    for (const ClassRule* rule : RulesOf("set")) {
      if (rule->name == word) return SetOf(*rule, "any");
    }
    const Op op = FindOp(word);
    if (op == Op::kNone || sets_.size() == 64) {
      throw std::invalid_argument("no operator or no place for it: " +
                                  std::string(word));
    }
    return sets_.try_emplace(op, OperatorSet{1} << sets_.size()).first->second;
  }

  std::unordered_map<Op, OperatorSet> sets_;
  std::vector<Pattern> patterns_;  // by kind
  std::vector<Guess> guesses_;
  OperatorSet common_ = 0;
};

const LeafRules& Rules() {
  static const LeafRules rules;
  return rules;
}

}  // namespace

OperatorSet SetOf(Op op) { return Rules().Of(op); }

int Fit(LeafKind kind, OperatorSet seen, bool complete) {
  if (kind == LeafKind::kUnknown || Is(kind, Trait::kContainer)) return 0;
  const LeafRules::Pattern& pattern = Rules()[kind];
  if (pattern.any == 0 && !Is(kind, Trait::kSilent)) return 0;
  if (complete && pattern.needs != 0 && (seen & pattern.needs) == 0) return -1;
  if (complete && (seen & pattern.any) == 0 && (seen & pattern.alone) != 0) {
    return -1;
  }
  if ((seen & pattern.none) != 0) return -1;
  if ((seen & pattern.any) != 0) return 1;
  return (seen & ~Rules().common()) != 0 && !Is(kind, Trait::kOpen) ? -1 : 0;
}

bool Contradicts(const SeenModule& module, std::string_view class_name) {
  const Table& table = BuiltIn();
  const TextId text = table.FindText(class_name);
  if (text == kNo<TextId>) return false;
  const LeafKind kind = KindOf(class_name);
  // A library may call anything a LayerNorm; torch.nn is known.
  for (const ClassId id : table.Namesakes(text)) {
    if (!table.IsTorch(id) || Is(kind, Trait::kContainer)) continue;
    const bool bare = table.Parameters(id).empty() && table.Members(id).empty();
    return Fit(kind, module.all_operators, false) < 0 ||
           (bare && !module.parameters.empty());
  }
  return false;
}

ClassAnswer GuessLeafClass(const SeenModule& module) {
  int weight_rank = static_cast<int>(module.weight_rank);
  bool others = false;
  for (const SeenParameter& parameter : module.parameters) {
    if (parameter.name == "weight") {
      weight_rank = static_cast<int>(parameter.rank);
    } else if (parameter.name != "bias" && parameter.name != "running_mean" &&
               parameter.name != "running_var") {
      others = true;
    }
  }
  const bool bare = module.parameters.empty();
  const LeafRules& rules = Rules();
  for (const auto& [kind, name, rank, confidence] : rules.guesses()) {
    if ((module.operators & rules[kind].any) == 0 ||
        Fit(kind, module.operators, false) <= 0) {
      continue;
    }
    if (!rank) return {name, confidence, {}};
    if (others) continue;
    if (*rank == 0 ? bare : weight_rank == *rank) {
      return {name, confidence, {}};
    }
    // Tools give a norm the parameters of another one that are equal.
    if (bare && weight_rank == 0 && Is(kind, Trait::kNorm) &&
        (module.operators & SetOf(Op::kLayerNormalization)) != 0) {
      return {name, Confidence::kMedium, {}};
    }
    // After TorchScript, a Linear has only its bias, or only its product.
    if (Is(kind, Trait::kTransposed) && weight_rank == 0) {
      return {name, bare ? Confidence::kLow : Confidence::kMedium, {}};
    }
  }
  return {};
}

}  // namespace onnx_tag::catalogue
