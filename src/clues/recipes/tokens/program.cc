#include "clues/recipes/tokens/program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "base/hash.h"
#include "base/lists.h"
#include "onnx_tag/interner.h"

namespace onnx_tag::recipes {
namespace {

std::uint64_t HashSorted(std::vector<std::uint64_t>& labels) {
  std::sort(labels.begin(), labels.end());
  std::uint64_t hash = labels.size() + 1;
  for (const std::uint64_t label : labels) hash = HashMix(hash, label);
  return hash;
}

}  // namespace

TokenSequence SequenceOf(const TokenGraph& graph) {
  TokenSequence sequence;
  for (const Token& token : graph.tokens()) {
    sequence.labels.emplace_back(token.label);
    sequence.extras.emplace_back(token.extra);
    sequence.inputs.push_back(token.inputs);
  }
  sequence.outputs = graph.Outputs();
  return sequence;
}

TokenSequence SequenceOf(const Recipe& recipe) {
  TokenSequence sequence;
  for (const RecordedToken& token : recipe.tokens) {
    sequence.labels.emplace_back(recipe.texts[token.label]);
    sequence.extras.emplace_back(recipe.texts[token.extra]);
    sequence.inputs.push_back(token.inputs);
  }
  sequence.outputs = recipe.outputs;
  return sequence;
}

TokenSequence WithoutRelus(TokenSequence sequence) {
  const std::size_t count = sequence.labels.size();
  sequence.skipped.resize(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_relu = sequence.labels[i] == Describe(Op::kRelu).name &&
                         sequence.inputs[i].size() == 1;
    if (is_relu) sequence.skipped[i] = true;
  }
  const auto look_through = [&](std::uint32_t& token) {
    // Nearly all inputs precede their token, so no cycle can be longer.
    for (std::size_t step = 0; sequence.skipped[token] && step < count;
         ++step) {
      token = sequence.inputs[token][0];
    }
  };
  for (auto& inputs : sequence.inputs) {
    std::for_each(inputs.begin(), inputs.end(), look_through);
  }
  std::for_each(sequence.outputs.begin(), sequence.outputs.end(), look_through);
  return sequence;
}

TokenSequence Within(const RecordedPaths& paths, const Recipe& recipe,
                     TokenSequence sequence) {
  const auto count = static_cast<std::uint32_t>(recipe.tokens.size());
  std::vector<bool> read(count, false);  // from outside
  for (const std::uint32_t output : sequence.outputs) read[output] = true;
  sequence.skipped.resize(count, false);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (paths.of(recipe.tokens[i].module) != nullptr) continue;
    sequence.skipped[i] = true;
    for (const std::uint32_t input : sequence.inputs[i]) read[input] = true;
    sequence.inputs[i].clear();
  }
  sequence.outputs.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::erase_if(sequence.inputs[i],
                  [&](std::uint32_t input) { return sequence.skipped[input]; });
    if (read[i] && !sequence.skipped[i]) sequence.outputs.push_back(i);
  }
  return sequence;
}

std::vector<Step> MakeSteps(const TokenSequence& sequence, Order order) {
  const std::size_t count = sequence.labels.size();
  std::vector<std::uint64_t> label(count);
  std::vector<std::vector<std::uint32_t>> readers(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    label[i] = HashBytes(sequence.labels[i]);
    if (!sequence.skipped.empty() && sequence.skipped[i]) continue;
    for (const std::uint32_t input : sequence.inputs[i]) {
      readers[input].push_back(i);
    }
  }
  std::vector<std::uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  if (order == Order::kDepthFirst) {
    tokens = DepthFirstOrder(sequence.inputs, sequence.outputs);
  }
  std::vector<Step> steps;
  steps.reserve(count);
  std::vector<std::uint64_t> around;
  const auto hash_of = [&](const std::vector<std::uint32_t>& neighbours) {
    around.clear();
    for (const std::uint32_t token : neighbours) {
      around.push_back(label[token]);
    }
    return HashSorted(around);
  };
  for (const std::uint32_t token : tokens) {
    if (!sequence.skipped.empty() && sequence.skipped[token]) continue;
    const std::string_view text = sequence.labels[token];
    const LabelFacts& facts = FactsOf(text);
    steps.push_back(
        {.token = token,
         .label = label[token],
         .inputs = hash_of(sequence.inputs[token]),
         .readers = hash_of(readers[token]),
         .extra = HashMix(label[token], HashBytes(sequence.extras[token])),
         .soft = facts.soft,
         .weight = facts.weight,
         .solid = facts.solid,
         .convolution = text == "CONV",
         .batch_norm = text == "BN",
         .gather = text.starts_with(Describe(Op::kGather).name)});
  }
  return steps;
}

RecordedPaths::RecordedPaths(const Recipe& recipe, AtomTable& atoms,
                             std::uint32_t root)
    : paths_(recipe.modules.size()), generic_(recipe.modules.size()) {
  for (std::uint32_t i = root; i < recipe.modules.size(); ++i) {
    const RecordedModule& module = recipe.modules[i];
    if (i == root) {
      paths_[i].emplace();
    } else if (const Path* const parent = of(module.parent)) {
      paths_[i] = *parent;
      paths_[i]->push_back(atoms.Of(recipe.texts[module.atom]));
    } else {
      continue;
    }
    generic_[i] = Generic(*paths_[i]);
  }
}

Program MakeProgram(const Recipe& recipe, const TokenSequence& sequence,
                    const RecordedPaths& paths, Order order) {
  Program program;
  program.steps = MakeSteps(sequence, order);
  for (const Step& step : program.steps) {
    const RecordedToken& token = recipe.tokens[step.token];
    program.path.push_back(paths.of(token.module));
    program.generic.push_back(paths.generic(token.module));
    program.anchor.push_back(paths.of(token.anchor));
  }
  program.jumps = FindJumps(program);
  return program;
}

namespace {

constexpr std::size_t kMostJumps = 4000;

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
// By index, where the list's items run.
using Items = std::map<std::uint32_t, Span>;

struct ListItem {
  Span span;
  Path list;  // with indices
  std::uint32_t index = 0;
};

class JumpFinder {
 public:
  explicit JumpFinder(const Program& program) : program_(program) {}

  std::vector<Jump> Run() {
    FindRepeats();
    FindLists();
    for (const auto& [list, items] : lists_) {
      std::uint32_t end = 0;
      for (const auto& [index, span] : items) end = std::max(end, span.end);
      for (const auto& [index, span] : items) {
        if (span.end < end) Add({span.end, end, kJumpCost, false, {}, {}});
      }
    }
    std::map<Path, std::vector<ListItem>> alike;
    for (const auto& [list, items] : lists_) {
      for (const auto& [index, span] : items) {
        alike[Generic(list)].push_back({span, list, index});
      }
    }
    for (const auto& [generic, items] : alike) {
      if (items.size() >= 2) JumpBetween(generic, items);
    }
    return std::move(jumps_);
  }

 private:
  void Add(Jump jump) {
    if (jumps_.size() < kMostJumps) jumps_.push_back(std::move(jump));
  }

  void FindLists() {
    for (std::uint32_t i = 0; i < program_.path.size(); ++i) {
      const Path* const path = program_.path[i];
      if (path == nullptr) continue;
      for (std::size_t k = 0; k < path->size(); ++k) {
        if (!IsIndex((*path)[k])) continue;
        Items& items = lists_[First(*path, k)];
        const auto [at, is_new] =
            items.try_emplace(IndexOf((*path)[k]), Span{i, i + 1});
        at->second.end = i + 1;
      }
    }
    // A list of other items has one length in all files: a Sequential of conv,
    // relu, conv.
    std::erase_if(lists_, [&](const auto& list) {
      return AnyIn(list.second, [&](const auto& item) {
        return !IsBlock(list.first, item.second);
      });
    });
  }

  // A block has two operations with a weight, or one in a module with
  // submodules. (Inside an item of another list, such a list is part of a block
  // and has a fixed length.)
  bool IsBlock(const Path& list, const Span& span) const {
    int solid = 0;
    std::set<Path> parts;
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      solid += program_.steps[i].solid;
      const Path* const path = program_.path[i];
      if (path != nullptr && path->size() > list.size() + 1) {
        parts.insert(Rest(*path, list.size() + 1));
      }
    }
    return solid >= 2 || (solid == 1 && parts.size() >= 2 && !HasIndex(list));
  }

  void JumpBetween(const Path& generic, const std::vector<ListItem>& items) {
    const std::vector<ListItem> entries = Entries(items);
    for (const ListItem& item : items) {
      for (const ListItem& entry : entries) {
        const bool next =
            entry.list == item.list && entry.index == item.index + 1;
        if (next || entry.span.begin == item.span.end) continue;
        Path target = entry.list;
        target.push_back(MakeIndex(entry.index));
        Add({item.span.end, entry.span.begin,
             entry.list == item.list ? kJumpCost : kBorrowCost, true, generic,
             std::move(target)});
      }
    }
  }

  // For items with equal operations, the first two and the last are enough.
  std::vector<ListItem> Entries(const std::vector<ListItem>& items) const {
    std::map<std::vector<std::uint64_t>, std::vector<const ListItem*>> kinds;
    for (const ListItem& item : items) {
      std::vector<std::uint64_t> kind;
      for (std::uint32_t i = item.span.begin; i < item.span.end; ++i) {
        kind.push_back(program_.steps[i].label);
        const Path* const path = program_.generic[i];
        kind.push_back(path == nullptr ? 0 : PathHash()(*path));
      }
      kinds[std::move(kind)].push_back(&item);
    }
    std::map<std::uint32_t, ListItem> entries;  // by start
    for (const auto& [kind, alike] : kinds) {
      for (const std::size_t i :
           {std::size_t{0}, std::min<std::size_t>(1, alike.size() - 1),
            alike.size() - 1}) {
        entries.try_emplace(alike[i]->span.begin, *alike[i]);
      }
    }
    std::vector<ListItem> sorted;
    for (auto& [begin, item] : entries) sorted.push_back(std::move(item));
    return sorted;
  }

  // A module that is called several times in a row: a jump that changes no
  // index.
  void FindRepeats() {
    std::unordered_set<Path, PathHash> seen;
    const auto count = static_cast<std::uint32_t>(program_.path.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const Path* const path = program_.path[i];
      if (path == nullptr) continue;
      for (std::size_t k = 1; k <= path->size(); ++k) {
        const Path module = First(*path, k);
        if (i > 0 && IsInside(i - 1, module)) continue;
        if (!seen.insert(module).second) continue;
        std::uint32_t end = i;
        while (end < count && IsInside(end, module)) ++end;
        AddRepeats(i, end);
      }
    }
  }

  bool IsInside(std::uint32_t step, const Path& module) const {
    const Path* const path = program_.path[step];
    return path != nullptr && StartsWith(*path, module);
  }

  // The steps from `begin` to `end` are calls of one module: by their smallest
  // period, from the longest start that is also an end.
  void AddRepeats(std::uint32_t begin, std::uint32_t end) {
    constexpr std::uint32_t kShortest = 5;
    const auto equal = [&](std::uint32_t a, std::uint32_t b) {
      return *program_.path[begin + a] == *program_.path[begin + b] &&
             program_.steps[begin + a].label == program_.steps[begin + b].label;
    };
    std::vector<std::uint32_t> border = {0};  // by place
    for (std::uint32_t i = 1; i < end - begin; ++i) {
      std::uint32_t at = border.back();
      while (at > 0 && !equal(i, at)) at = border[at - 1];
      border.push_back(at + (equal(i, at) ? 1 : 0));
    }
    const std::uint32_t period = end - begin - border.back();
    std::uint32_t length = period;
    while (length < kShortest) length += period;
    if (length >= end - begin || (end - begin) % length != 0) return;
    Add({end, end - length, kJumpCost, false, {}, {}});
    Add({begin + length, end, kJumpCost, false, {}, {}});
  }

  const Program& program_;
  std::map<Path, Items> lists_;
  std::vector<Jump> jumps_;
};

}  // namespace

std::vector<Jump> FindJumps(const Program& program) {
  return JumpFinder(program).Run();
}

}  // namespace onnx_tag::recipes
