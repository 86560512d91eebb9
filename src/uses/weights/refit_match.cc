// The transform that gives the numbers of a tensor.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "base/lists.h"
#include "base/worker_pool.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/weights/planner.h"

namespace onnx_tag::weights {

void Planner::MatchAll() {
  matches_.resize(tensors_.size());
  RunOnAllCores(tensors_.size(), [&](std::size_t i) {
    matches_[i] = MatchOne(static_cast<std::uint32_t>(i));
    // Samples of many pages were read.
    if (tensors_[i].bytes.size() <= kLargeTensor) return;
    tensors_[i].Release();
    for (const Parameter& one : old_) one.tensor->Release();
  });
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) FoldBiases(i);
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
    if (matches_[i].recipe == nullptr) matches_[i].recipe = MatchBias(i);
  }
  for (Match& match : matches_) {
    if (match.recipe == nullptr || match.recipe->roots.empty()) continue;
    Recipe recipe = *match.recipe;
    recipe.roots.clear();
    match.recipe = std::make_shared<Recipe>(std::move(recipe));
  }
  FindHeld();
  FindIrregular();
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
    Match& match = matches_[i];
    if (match.recipe == nullptr || !match.doubt.empty()) continue;
    match.doubt = Contradiction(i, match);
  }
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
    Match& match = matches_[i];
    if (match.recipe == nullptr) continue;
    if (match.doubt.empty()) match.doubt = Irregularity(i, match);
    if (match.doubt.empty()) {
      match.doubt = Doubt(i, match);
      if (!match.doubt.empty() && Split(i)) match.doubt.clear();
    }
    Take(i, i, Part::kNumbers);
    for (const auto* groups : {&groups_, &biases_}) {
      const auto group = groups->find(i);
      if (group == groups->end()) continue;
      Take(i, group->second.scale, Part::kScale);
      Take(i, group->second.zero, Part::kZero);
    }
  }
}

void Planner::Take(std::uint32_t from, std::uint32_t to, Part part) {
  if (to == kNoTensor) return;
  const Match& match = matches_[from];
  RefitRow& row = rows_[to];
  std::string why = WhyUnusable(*match.recipe);
  if (why.empty()) why = match.doubt;
  const RefitRow before = row;
  row.part = part;
  row.recipe = match.recipe;
  if (before.recipe != nullptr && before.recipe != match.recipe &&
      Text(before, tensors_[to].type) != Text(row, tensors_[to].type)) {
    why = "tensors that differ in the new checkpoint share it";
  }
  row.transform = part == Part::kScale ? "scale"
                  : part == Part::kZero
                      ? "zero point"
                      : match.recipe->Name(tensors_[to].type, old_);
  row.parameters.clear();
  for (const std::uint32_t one : match.recipe->Parameters()) {
    row.parameters.push_back(NameOf(one));
  }
  if (!why.empty()) row.why = why;
  row.fate = row.why.empty() ? Fate::kWritten : Fate::kRefused;
}

std::string Planner::Text(const RefitRow& row, std::int32_t type) const {
  if (!WhyUnusable(*row.recipe).empty()) return "";
  return Made(*row.recipe, now_).Text(row.part, type);
}

std::string Planner::WhyUnusable(const Recipe& recipe) const {
  for (const Recipe* one :
       {&recipe, recipe.of_weight.get(), recipe.of_input.get()}) {
    if (one == nullptr) continue;
    for (const std::uint32_t parameter : one->Parameters()) {
      if (!unusable_[parameter].empty()) return unusable_[parameter];
    }
  }
  return "";
}

Match Planner::MatchOne(std::uint32_t i) const {
  const Stored& stored = tensors_[i];
  const auto group = groups_.find(i);
  if (group != groups_.end()) return MatchQuantized(i, group->second);
  if (stored.bytes.empty() || helpers_.contains(i)) return {};
  if (!IsFloat(stored.type)) {
    // Whole numbers that a buffer of this name has.
    const std::uint32_t one = FindParameter(stored.name);
    if (one == kNoParameter || old_[one].tensor->type != stored.type ||
        old_[one].tensor->bytes != stored.bytes || !differs_[one]) {
      return {};
    }
    return {std::make_shared<Recipe>(Whole(one, stored.count)), {}, ""};
  }
  const Numbers numbers = NumbersOf(i);
  const std::size_t clamps = stored.type == kFloat16 ? kClamps.size() : 1;
  Match match = FindBase(i, numbers, [&](Recipe& recipe) {
    for (recipe.clamp = 0; recipe.clamp < clamps; ++recipe.clamp) {
      if (Proves(recipe, i)) return true;
    }
    return false;
  });
  if (match.recipe != nullptr) return match;
  for (const std::uint32_t one : SameCount(i, numbers.count)) {
    if (auto recipe = MatchScaled(numbers, one, i)) {
      return {std::make_shared<Recipe>(*recipe), {}, ""};
    }
  }
  return {};
}

Match Planner::FindBase(std::uint32_t i, const Numbers& numbers,
                        const std::function<bool(Recipe&)>& proves) const {
  Recipe recipe = {.count = numbers.count, .groups = numbers.groups};
  for (const View view : {View::kFlat, View::kTransposed, View::kColumns}) {
    const auto blocks = search_.Find(numbers, view, Preferred(i));
    if (!blocks) continue;
    recipe.blocks = blocks->blocks;
    if (proves(recipe)) {
      return {std::make_shared<Recipe>(recipe), blocks->others, ""};
    }
  }
  if (numbers.count <= kWeak) return {};
  for (std::size_t axis = 0; axis + 2 < numbers.dims.size(); ++axis) {
    if (numbers.count > kMostPicked) break;
    std::uint64_t places = 1;
    for (std::size_t k = axis + 1; k < numbers.dims.size(); ++k) {
      places *= numbers.dims[k];
    }
    for (const std::uint32_t one : At(tables_, numbers.dims[axis])) {
      Match found = PickRows(one, numbers, places);
      if (found.recipe == nullptr) continue;
      Recipe picked = *found.recipe;
      if (!proves(picked)) continue;
      found.recipe = std::make_shared<Recipe>(std::move(picked));
      return found;
    }
  }
  Match found;
  for (const std::uint32_t one : SameCount(i, numbers.count)) {
    const Tensor& weight = *old_[one].tensor;
    for (std::size_t axis = 0; axis < weight.dims.size() && axis < 2; ++axis) {
      recipe = Whole(one, numbers.count);
      recipe.groups = numbers.groups;
      recipe.values = Values::kFolded;
      recipe.channel.channels = static_cast<std::uint64_t>(weight.dims[axis]);
      for (std::size_t k = axis + 1; k < weight.dims.size(); ++k) {
        recipe.channel.inner *= static_cast<std::uint64_t>(weight.dims[k]);
      }
      const auto add = [&] {
        recipe.roots.clear();
        if (!IsNear(recipe, numbers)) return;
        if (!proves(recipe) &&
            (!FindRoots(recipe, numbers) || !proves(recipe))) {
          return;
        }
        if (found.recipe == nullptr) {
          found.recipe = std::make_shared<Recipe>(recipe);
        } else if (!IsSameNow(*found.recipe, recipe)) {
          found.doubt = "several norms give these numbers, but differ in NEW";
        }
        recipe.scheme = nullptr;
      };
      for (const Norm& norm : At(norms_, recipe.channel.channels)) {
        if (weight.dims.size() < 2) break;
        recipe.norm = norm;
        for (const float epsilon : kEpsilons) {
          recipe.epsilon = epsilon;
          add();
        }
      }
      // A vector that multiplies what the layer gives.
      for (const std::uint32_t vector : At(vectors_, recipe.channel.channels)) {
        const float first = weight.At(0) * old_[vector].tensor->At(0);
        recipe.norm = {vector};
        if (std::fabs(numbers.At(0) - first) <= numbers.Slack(0)) add();
      }
    }
  }
  return found;
}

Match Planner::PickRows(std::uint32_t one, const Numbers& numbers,
                        std::uint64_t places) const {
  constexpr std::ptrdiff_t kSteps = 4;
  const Tensor& table = *old_[one].tensor;
  const auto heads = static_cast<std::uint64_t>(table.dims[1]);
  std::vector<std::pair<float, std::uint32_t>> rows;  // by their first number
  for (std::uint32_t row = 0; row < table.count / heads; ++row) {
    const float first = table.At(row * heads);
    if (!std::isnan(first)) rows.emplace_back(first, row);
  }
  std::sort(rows.begin(), rows.end());
  Match match;
  Recipe recipe = Whole(one, numbers.count);
  recipe.groups = numbers.groups;
  recipe.picks.resize(numbers.count);
  for (std::uint64_t p = 0; p < numbers.count; ++p) {
    if (p / places % heads != 0) continue;
    int fits = 0;
    const float slack = numbers.Slack(p);
    auto at = std::lower_bound(rows.begin(), rows.end(),
                               std::pair(numbers.At(p) - slack, 0u));
    for (; at != rows.end() && at->first <= numbers.At(p) + slack; ++at) {
      std::uint64_t h = 1;
      while (h < heads &&
             numbers.Fits(p + h * places, table.At(at->second * heads + h))) {
        ++h;
      }
      if (h < heads || ++fits > 1) continue;
      for (h = 0; h < heads; ++h) {
        recipe.picks[p + h * places] =
            static_cast<std::uint32_t>(at->second * heads + h);
      }
    }
    if (fits == 0) return {};
    if (fits > 1) {
      match.doubt = Message("several rows of {} give a number", table.name);
    }
  }
  // From place to place in a line, most steps between rows are of a few sizes.
  std::map<std::int64_t, std::size_t> steps;
  for (std::uint64_t p = 1; p < places; ++p) {
    if (p % numbers.dims.back() == 0) continue;
    ++steps[(std::int64_t{recipe.picks[p]} - recipe.picks[p - 1]) /
            static_cast<std::int64_t>(heads)];
  }
  std::vector<std::size_t> counts;
  for (const auto& [step, count] : steps) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  const auto rest =
      counts.begin() + std::min<std::ptrdiff_t>(kSteps, std::ssize(counts));
  if (std::accumulate(counts.begin(), rest, std::size_t{0}) <
      std::accumulate(rest, counts.end(), std::size_t{0})) {
    match.doubt = Message("it has the rows of {} in another order", table.name);
  }
  match.recipe = std::make_shared<Recipe>(std::move(recipe));
  return match;
}

Numbers Planner::NumbersOf(std::uint32_t i) const {
  const auto group = groups_.find(i);
  if (group != groups_.end()) return group->second.numbers;
  const Stored& stored = tensors_[i];
  Numbers numbers{stored.type, stored.bytes, stored.file};
  numbers.count = stored.count;
  numbers.dims.assign(stored.dims.begin(), stored.dims.end());
  return numbers;
}

bool Planner::Proves(const Made& made, Part part, std::uint32_t i) const {
  return made.Equals(part, tensors_[i].type, tensors_[i].bytes,
                     tensors_[i].file);
}

std::vector<std::uint32_t> Planner::SameCount(std::uint32_t i,
                                              std::uint64_t count) const {
  const auto all = At(floats_, count);
  std::vector<std::uint32_t> found = Preferred(i);
  std::erase_if(found, [&](std::uint32_t one) {
    return old_[one].tensor->count != count || !IsFloat(old_[one].tensor->type);
  });
  found.insert(found.end(), all.begin(), all.end());
  return found;
}

Recipe Planner::Whole(std::uint32_t parameter, std::uint64_t count) {
  return {.blocks = {{parameter, 0, 1, count, count, 0, count, 1}},
          .count = count};
}

bool Planner::FindRoots(Recipe& recipe, const Numbers& numbers) const {
  constexpr std::uint64_t kEnough = 16;
  constexpr int kNone = 2;
  if (numbers.type != kFloat || recipe.norm.variance == kNoParameter)
    return false;
  std::vector<int> roots(recipe.channel.channels, kNone);
  const std::uint64_t inner = recipe.channel.inner;
  for (const int off : {0, -1, 1}) {
    recipe.roots.assign(roots.size(), off);
    const Made made(recipe, old_);
    for (std::uint64_t c = 0; c < roots.size(); ++c) {
      std::uint64_t k = 0;
      float number = 0;
      for (; k < std::min(inner, kEnough); ++k) {
        made.Floats(c * inner + k, 1, &number);
        if (number != numbers.At(c * inner + k)) break;
      }
      if (k == std::min(inner, kEnough) && roots[c] == kNone) roots[c] = off;
    }
  }
  recipe.roots = roots;
  return !IsAmong(kNone, roots);
}

bool Planner::IsNear(const Recipe& recipe, const Numbers& numbers) const {
  const Made made(recipe, old_);
  for (std::uint64_t k = 0; k < 16; ++k) {
    const std::uint64_t at = k * (numbers.count - 1) / 15;
    float number = 0;
    made.Floats(at, 1, &number);
    const float slack = std::max(numbers.Slack(at), std::fabs(number) * 4e-7F);
    if (!(std::fabs(numbers.At(at) - number) <= slack)) return false;
  }
  return true;
}

// Whether it is a root or a power of a whole number, as attention divides by;
// others may be a parameter themselves.
bool IsConstantFactor(float factor) {
  if (!(factor > 0) || factor == 1) return false;
  const double square = double{factor} * double{factor};
  for (const double power :
       {square, 1 / square, square * square, 1 / (square * square)}) {
    if (!(power >= 1 && power <= 1e6)) continue;
    if (std::fabs(power / std::round(power) - 1) <= 1e-6) return true;
  }
  return false;
}

std::optional<Recipe> Planner::MatchScaled(const Numbers& numbers,
                                           std::uint32_t one,
                                           std::uint32_t i) const {
  if (numbers.type != kFloat || numbers.count <= kWeak) return std::nullopt;
  // Nobody keeps the name of what was multiplied, and its reader would be the
  // product.
  const Weight& hint = HintOf(i);
  if (NamedParameter(i) == one ||
      (hint.change == Change::kSame && hint.parameters.size() == 1 &&
       FindHinted(hint.parameters[0]) == one)) {
    return std::nullopt;
  }
  std::uint64_t largest = 0;
  for (std::uint64_t k = 1; k < 16; ++k) {
    const std::uint64_t at = k * (numbers.count - 1) / 15;
    if (std::fabs(old_[one].tensor->At(at)) >
        std::fabs(old_[one].tensor->At(largest))) {
      largest = at;
    }
  }
  Recipe recipe = Whole(one, numbers.count);
  recipe.values = Values::kScaled;
  const float factor = numbers.At(largest) / old_[one].tensor->At(largest);
  recipe.factor = factor;
  Numbers number{kFloat};
  number.count = 1;
  number.bytes =
      Bytes(reinterpret_cast<const char*>(&factor), sizeof factor);  // NOLINT
  if (!IsConstantFactor(factor) || LooksComputed(number) ||
      !IsNear(recipe, numbers)) {
    return std::nullopt;
  }
  for (const float near : {factor, std::nextafter(factor, 0.0F),
                           std::nextafter(factor, 2 * factor)}) {
    recipe.factor = near;
    if (Proves(recipe, i)) return recipe;
  }
  return std::nullopt;
}

bool Planner::IsSameNow(Recipe a, Recipe b) const {
  if (!WhyUnusable(a).empty() || !WhyUnusable(b).empty()) return false;
  // A norm also shifts: another one gives the bias other numbers.
  if (a.norm.bias != b.norm.bias || a.norm.mean != b.norm.mean) return false;
  a.scheme = b.scheme = nullptr;
  a.roots = b.roots = {};
  const Made second(b, now_);
  bool same = true;
  std::uint64_t at = 0;
  std::vector<float> numbers;
  Made(a, now_).Emit(Part::kNumbers, kFloat, [&](Bytes bytes) {
    numbers.resize(bytes.size() / sizeof(float));
    second.Floats(at, numbers.size(), numbers.data());
    same = std::memcmp(numbers.data(), bytes.data(), bytes.size()) == 0;
    at += numbers.size();
    return same;
  });
  return same;
}

bool Planner::IsSameNow(Block a, Block b) const {
  a.out = b.out = 0;
  a.out_row = b.out_row = a.cols;
  const std::uint64_t count = a.rows * a.cols;
  return IsSameNow(Recipe{.blocks = {a}, .count = count},
                   Recipe{.blocks = {b}, .count = count});
}

std::uint32_t Planner::DiffersNow(const Block& block, Block fits) const {
  const std::uint32_t first = search_.First(fits.parameter);
  for (auto kind = kinds_.lower_bound({first + 1, 0});
       kind != kinds_.begin() && (--kind)->first.first == first;) {
    fits.parameter = kind->second;
    if (!IsSameNow(block, fits)) return fits.parameter;
  }
  return kNoParameter;
}

bool Planner::LooksComputed(const Numbers& numbers) const {
  using Function = double (*)(double);
  static constexpr Function kFunctions[] = {
      [](double x) { return x; },
      [](double x) { return std::exp(x); },
      [](double x) { return -std::exp(x); },
      [](double x) { return std::log1p(std::exp(x)); },
      [](double x) { return 1 / (1 + std::exp(-x)); },
      [](double x) { return std::tanh(x); },
      [](double x) { return 1 / x; },
      [](double x) { return x * x; },
      [](double x) { return std::sqrt(x); }};
  for (const std::uint32_t one : At(floats_, numbers.count)) {
    const Tensor& tensor = *old_[one].tensor;
    if (!differs_[one]) continue;
    for (const Function function : kFunctions) {
      bool same = true;
      for (std::uint64_t k = 0; same && k < numbers.count; ++k) {
        const double x = tensor.At(k);
        const double made = function(x);
        same = x != 0 && x != 1 &&
               std::fabs(numbers.At(k) - made) <=
                   1e-5 * std::fabs(made) + double{numbers.Slack(k)};
      }
      if (same) return true;
    }
  }
  return false;
}

}  // namespace onnx_tag::weights
