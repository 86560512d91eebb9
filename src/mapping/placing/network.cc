#include "mapping/placing/network.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/embed.h"
#include "base/hash.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "onnx_tag/interner.h"

ONNX_TAG_EMBED(onnx_tag_placement, ONNX_TAG_PLACEMENT);

namespace onnx_tag::placing {
namespace {

constexpr float kEpsilon = 1e-5F;

Matrix ReadMatrix(const TensorData& tensor) {
  Matrix matrix;
  const std::size_t count = CountElements(tensor.dims);
  if (tensor.dims.empty() || tensor.dims.size() > 2) return matrix;
  matrix.columns = static_cast<std::size_t>(tensor.dims.back());
  matrix.rows = matrix.columns == 0 ? 0 : count / matrix.columns;
  matrix.numbers.reserve(count);
  const Bytes elements = tensor.elements();
  const bool half = tensor.data_type == kFloat16;
  if ((!half && tensor.data_type != kFloat) ||
      elements.size() != count * (half ? 2 : 4)) {
    return Matrix();
  }
  for (std::size_t i = 0; i < count; ++i) {
    UseElement(tensor.data_type, elements, i, [&](auto number) {
      matrix.numbers.push_back(static_cast<float>(number));
    });
  }
  return matrix;
}

// Calls `use(word)` with each part between separators.
template <typename Use>
void ForEachPart(std::string_view text, char separator, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

template <typename Number>
std::uint64_t HashOf(std::uint64_t hash, const Number* numbers,
                     std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    hash = HashMix(hash, static_cast<std::uint64_t>(numbers[i]));
  }
  return hash;
}

}  // namespace

void AddProduct(const float* x, const Matrix& w, float* y, std::size_t first,
                std::size_t rows) {
  constexpr std::size_t kBlock = 16;
  const std::size_t columns = w.columns;
  std::size_t j = 0;
  for (; j + kBlock <= columns; j += kBlock) {
    float sums[kBlock];
    for (std::size_t b = 0; b < kBlock; ++b) sums[b] = y[j + b];
    const float* weight = w.Row(first) + j;
    for (std::size_t i = 0; i < rows; ++i, weight += columns) {
      const float factor = x[i];
      for (std::size_t b = 0; b < kBlock; ++b) sums[b] += factor * weight[b];
    }
    for (std::size_t b = 0; b < kBlock; ++b) y[j + b] = sums[b];
  }
  for (; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) y[j] += x[i] * w.Row(first + i)[j];
  }
}

void Activate(float* x, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const float gate = x[i] * (1.0F / 6.0F) + 0.5F;
    x[i] *= std::min(std::max(gate, 0.0F), 1.0F);
  }
}

void Normalize(const float* x, const Matrix& weight, const Matrix& bias,
               float* y) {
  const std::size_t size = weight.columns;
  const auto count = static_cast<float>(size);
  float sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += x[i];
  const float mean = sum / count;
  float squares = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const float off = x[i] - mean;
    squares += off * off;
  }
  // The only function of the library: IEEE says its every bit.
  const float scale = 1.0F / std::sqrt(squares / count + kEpsilon);
  for (std::size_t i = 0; i < size; ++i) {
    y[i] = (x[i] - mean) * scale * weight.numbers[i] + bias.numbers[i];
  }
}

std::uint32_t ExpOf(float x) {
  constexpr float kLeast = -15;
  constexpr double kLog2 = 0.6931471805599453;
  if (!(x > kLeast)) return 0;
  if (x >= 0) return kOne;
  double power = x / kLog2;
  double scale = kOne;
  for (; power < -1; power += 1) scale *= 0.5;
  // The series of e^y for -0.7 < y <= 0.
  const double y = power * kLog2;
  double term = 1;
  double sum = 1;
  for (int i = 1; i <= 10; ++i) {
    term = term * y / i;
    sum += term;
  }
  return static_cast<std::uint32_t>(sum * scale);
}

Network::Network(Bytes onnx) {
  Tensors tensors;
  model::ForEach(onnx, onnx::ModelProto::kMetadataProps,
                 [&](const wire::Field& field) {
                   const MetadataEntry entry = model::ReadEntry(field);
                   SetMetadata(entry.key, entry.value);
                 });
  model::ForEach(model::LastOf(onnx, onnx::ModelProto::kGraph),
                 onnx::GraphProto::kInitializer, [&](const wire::Field& field) {
                   const TensorData tensor = ReadTensorData(field.bytes);
                   tensors[tensor.name] = ReadMatrix(tensor);
                 });
  SetTensors(std::move(tensors));
}

void Network::SetMetadata(std::string_view key, std::string_view value) {
  if (key == "version") version_ = value;
  if (key == "operators") {
    constexpr std::uint32_t kFirst = 2;
    ForEachPart(value, ' ', [&](std::string_view word) {
      operators_.emplace(
          word, kFirst + static_cast<std::uint32_t>(operators_.size()));
    });
  }
  if (key == "levels") {
    ForEachPart(value, ';', [&](std::string_view row) {
      std::vector<std::string_view> words;
      ForEachPart(row, ' ',
                  [&](std::string_view word) { words.push_back(word); });
      if (words.size() != 3) return;
      const auto level =
          std::find(kConfidenceNames.begin(), kConfidenceNames.end(), words[1]);
      if (level == kConfidenceNames.end()) return;
      levels_.push_back(
          {ParseWhole<std::uint32_t>(words[0]).value_or(0),
           static_cast<Confidence>(level - kConfidenceNames.begin()),
           ParseWhole<std::uint32_t>(words[2]).value_or(0)});
    });
  }
}

void Network::SetTensors(Tensors tensors) {
  const auto take = [&](const std::string& name, std::size_t rows,
                        std::size_t columns = 0) {
    const auto found = tensors.find(name);
    if (found == tensors.end() || found->second.numbers.empty() ||
        (rows != 0 && found->second.rows != rows) ||
        (columns != 0 && found->second.columns != columns)) {
      Fail(ErrorKind::kInput, "the placement network has no tensor {}", name);
    }
    return std::move(found->second);
  };
  op_ = take("op", operators_.size() + 2);
  const std::size_t width = op_.columns;
  attribute_ = take("attribute", kAttributes, width);
  for (std::size_t i = 0; i < kCounts; ++i) {
    counts_.push_back(take("count_" + std::to_string(i), kSteps, width));
  }
  for (std::size_t i = 0; i < kDepths; ++i) {
    depths_.push_back(take("depth_" + std::to_string(i), kSteps, width));
  }
  word_ = take("word", kWords);
  anchor_ = take("anchor.weight", kNamesOfAnchor * word_.columns, width);
  for (std::size_t i = 0;
       tensors.contains("mix_" + std::to_string(i) + ".weight"); ++i) {
    const std::string end = "_" + std::to_string(i);
    Round& round = rounds_.emplace_back();
    round.norm_weight = take("norm" + end + ".weight", 1, width);
    round.norm_bias = take("norm" + end + ".bias", 1, width);
    round.mix = take("mix" + end + ".weight", kParts * width);
    round.mix_bias = take("mix" + end + ".bias", 1, round.mix.columns);
    round.back = take("back" + end + ".weight", round.mix.columns, width);
    round.back_bias = take("back" + end + ".bias", 1, width);
  }
  features_ = take("features.weight", kFeatures);
  features_bias_ = take("features.bias", 1, features_.columns);
  head_bias_ = take("head.bias", 1);
  const std::size_t head = head_bias_.columns;
  head_features_ = take("head_features.weight", features_.columns, head);
  head_own_ = take("head_own.weight", width, head);
  head_node_ = take("head_node.weight", width, head);
  head_module_ = take("head_module.weight", width, head);
  head_pair_ = take("head_pair.weight", width, head);
  head_names_ =
      take("head_names.weight", kNamesOfCandidate * word_.columns, head);
  head_2_ = take("head_2.weight", head);
  head_2_bias_ = take("head_2.bias", 1, head_2_.columns);
  head_3_ = take("head_3.weight", head_2_.columns, 1);
  head_3_bias_ = take("head_3.bias", 1, 1);
}

const Network& Network::BuiltIn() {
  static const Network kNetwork(ONNX_TAG_EMBEDDED(onnx_tag_placement));
  return kNetwork;
}

std::uint32_t Network::OperatorOf(const Model& model, NodeId node) const {
  const std::string_view domain = model.Domain(node);
  const auto row = [&](std::string_view word) {
    const auto found = operators_.find(word);
    return found == operators_.end() ? 1 : found->second;
  };
  return domain.empty() || domain == "com.microsoft"
             ? row(model.OpType(node))
             : row(std::string(domain) + ":" + std::string(model.OpType(node)));
}

Reading::Reading(const Network& network, const Scene& scene)
    : network_(network),
      scene_(scene),
      width_(network.op_.columns),
      rounds_(network.rounds_.size()),
      modules_(scene.module_count()) {
  FindNeeded();
  FindClasses();
}

template <typename Visit>
void Reading::ForEachNeighbour(std::size_t round, Position at,
                               const Visit& visit) const {
  const std::int64_t far = round % 2 == 0 ? 2 : 4;
  visit(at);
  for (const Position maker : scene_.Makers(at)) visit(maker);
  visit(kNowhere);
  for (const Position reader : scene_.Readers(at)) visit(reader);
  for (const std::int64_t step :
       {std::int64_t{-1}, -far, std::int64_t{1}, far}) {
    const std::int64_t other = std::int64_t{at} + step;
    visit(other < 0 || other >= static_cast<std::int64_t>(scene_.size())
              ? kNowhere
              : static_cast<Position>(other));
  }
}

void Reading::FindNeeded() {
  needed_.assign(rounds_ + 1, std::vector<bool>(scene_.size(), false));
  std::vector<bool>& last = needed_.back();
  IdVector<ModuleId, bool> seen(scene_.module_count(), false);
  for (Position at = 0; at < scene_.size(); ++at) {
    if (!scene_.IsOpen(at)) continue;
    last[at] = true;
    for (const ModuleId module : scene_.CandidatesOf(at)) {
      if (seen[module]) continue;
      seen[module] = true;
      for (const Position member : scene_.Members(module)) last[member] = true;
    }
  }
  for (std::size_t round = rounds_; round-- > 0;) {
    for (Position at = 0; at < scene_.size(); ++at) {
      if (!needed_[round + 1][at]) continue;
      ForEachNeighbour(round, at, [&](Position other) {
        if (other != kNowhere) needed_[round][other] = true;
      });
    }
  }
}

void Reading::FindClasses() {
  for (std::size_t round = 0; round <= rounds_; ++round) {
    std::vector<Class>& classes =
        classes_.emplace_back(scene_.size(), kNowhere);
    std::vector<Position>& examples = examples_.emplace_back();
    std::unordered_map<std::uint64_t, Class> known;
    for (Position at = 0; at < scene_.size(); ++at) {
      if (!needed_[round][at]) continue;
      std::uint64_t hash = 0;
      if (round == 0) {
        const Actor& actor = scene_[at];
        hash = HashMix(hash, network_.OperatorOf(scene_.model(), actor.node));
        hash = HashMix(hash, actor.attribute);
        hash = HashOf(hash, actor.counts.data(), actor.counts.size());
        hash = HashOf(hash, actor.depths.data(), actor.depths.size());
        hash = HashOf(hash, actor.words.data(), actor.words.size());
      } else {
        const std::vector<Class>& before = classes_[round - 1];
        ForEachNeighbour(round - 1, at, [&](Position other) {
          hash = HashMix(hash, other == kNowhere ? kNowhere : before[other]);
        });
      }
      const auto [found, is_new] =
          known.emplace(hash, static_cast<Class>(examples.size()));
      if (is_new) examples.push_back(at);
      classes[at] = found->second;
    }
  }
  std::vector<bool> seen(examples_.back().size(), false);
  for (Position at = 0; at < scene_.size(); ++at) {
    if (!scene_.IsOpen(at) || seen[ClassOf(at)]) continue;
    seen[ClassOf(at)] = true;
    ++unlike_;
  }
}

// The mean of the words, through some rows of the weight.
void Reading::AddWords(const std::uint16_t* ids, const Matrix& weight,
                       std::size_t first_row, float* y) const {
  Numbers mean(network_.word_.columns, 0.0F);
  float count = 0;
  for (std::size_t i = 0; i < kWordsOfName; ++i) {
    if (ids[i] == 0) continue;
    const float* const word = network_.word_.Row(ids[i]);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += word[j];
    count += 1;
  }
  if (count == 0) return;
  for (float& number : mean) number /= count;
  AddProduct(mean.data(), weight, y, first_row, mean.size());
}

void Reading::FirstState(const Actor& actor, float* state) const {
  const auto add = [&](const Matrix& table, std::size_t row) {
    const float* const from = table.Row(row);
    for (std::size_t i = 0; i < width_; ++i) state[i] += from[i];
  };
  add(network_.op_, network_.OperatorOf(scene_.model(), actor.node));
  add(network_.attribute_, actor.attribute);
  for (std::size_t i = 0; i < kCounts; ++i) {
    add(network_.counts_[i], actor.counts[i]);
  }
  for (std::size_t i = 0; i < kDepths; ++i) {
    add(network_.depths_[i], actor.depths[i]);
  }
  for (std::size_t i = 0; i < kNamesOfAnchor; ++i) {
    AddWords(actor.words.data() + i * kWordsOfName, network_.anchor_,
             i * network_.word_.columns, state);
  }
}

void Reading::NextState(std::size_t round, Position at, const float* normalized,
                        float* state) const {
  const Network::Round& weights = network_.rounds_[round];
  const std::vector<Class>& classes = classes_[round];
  Numbers mixed(Network::kParts * width_, 0.0F);
  std::size_t part = 0;
  const auto add = [&](Position other) {
    if (other == kNowhere) return;
    const float* const from = normalized + std::size_t{classes[other]} * width_;
    float* const to = mixed.data() + part * width_;
    for (std::size_t i = 0; i < width_; ++i) to[i] += from[i];
  };
  const auto add_mean = [&](std::span<const Position> others) {
    for (const Position other : others) add(other);
    const auto count =
        static_cast<float>(std::max<std::size_t>(others.size(), 1));
    float* const to = mixed.data() + part * width_;
    for (std::size_t i = 0; i < width_; ++i) to[i] /= count;
    ++part;
  };
  add(at);
  ++part;
  add_mean(scene_.Makers(at));
  add_mean(scene_.Readers(at));
  const std::int64_t far = round % 2 == 0 ? 2 : 4;
  for (const std::int64_t step :
       {std::int64_t{-1}, -far, std::int64_t{1}, far}) {
    const std::int64_t other = std::int64_t{at} + step;
    if (other >= 0 && other < static_cast<std::int64_t>(scene_.size())) {
      add(static_cast<Position>(other));
    }
    ++part;
  }
  Numbers hidden(weights.mix_bias.numbers);
  AddProduct(mixed.data(), weights.mix, hidden.data());
  Activate(hidden.data(), hidden.size());
  Numbers change(weights.back_bias.numbers);
  AddProduct(hidden.data(), weights.back, change.data());
  for (std::size_t i = 0; i < width_; ++i) state[i] += change[i];
}

void Reading::MakeStates() {
  first_.assign(examples_[0].size() * width_, 0.0F);
  for (std::size_t i = 0; i < examples_[0].size(); ++i) {
    FirstState(scene_[examples_[0][i]], first_.data() + i * width_);
  }
  last_ = first_;
  for (std::size_t round = 0; round < rounds_; ++round) {
    Numbers normalized(last_.size());
    for (std::size_t i = 0; i < last_.size(); i += width_) {
      Normalize(last_.data() + i, network_.rounds_[round].norm_weight,
                network_.rounds_[round].norm_bias, normalized.data() + i);
    }
    const std::vector<Position>& examples = examples_[round + 1];
    Numbers next(examples.size() * width_);
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const std::size_t before = classes_[round][examples[i]];
      float* const state = next.data() + i * width_;
      std::copy_n(last_.data() + before * width_, width_, state);
      NextState(round, examples[i], normalized.data(), state);
    }
    last_ = std::move(next);
  }
  heads_.resize(examples_.back().size());
}

const Reading::ModuleState& Reading::StateOf(ModuleId module) {
  std::unique_ptr<ModuleState>& state = modules_[Index(module)];
  if (state != nullptr) return *state;
  state = std::make_unique<ModuleState>();
  state->mean.assign(width_, 0.0F);
  state->head.assign(network_.head_bias_.columns, 0.0F);
  const std::span<const Position> members = scene_.Members(module);
  for (const Position member : members) {
    state->hash = HashMix(state->hash, ClassOf(member));
    const float* const from = LastState(member);
    for (std::size_t i = 0; i < width_; ++i) state->mean[i] += from[i];
  }
  const auto count =
      static_cast<float>(std::max<std::size_t>(members.size(), 1));
  for (float& number : state->mean) number /= count;
  AddProduct(state->mean.data(), network_.head_module_, state->head.data());
  return *state;
}

const Reading::Numbers& Reading::HeadOf(Position at) {
  Numbers& head = heads_[ClassOf(at)];
  if (head.empty()) {
    head = network_.head_bias_.numbers;
    AddProduct(first_.data() + std::size_t{classes_[0][at]} * width_,
               network_.head_own_, head.data());
    AddProduct(LastState(at), network_.head_node_, head.data());
  }
  return head;
}

const Reading::Numbers& Reading::HeadOfName(const std::uint16_t* ids,
                                            std::size_t place) {
  std::uint64_t key = place;
  for (std::size_t i = 0; i < kWordsOfName; ++i) key = key * kWords + ids[i];
  Numbers& head = names_[key];
  if (head.empty()) {
    head.assign(network_.head_bias_.columns, 0.0F);
    AddWords(ids, network_.head_names_, place * network_.word_.columns,
             head.data());
  }
  return head;
}

void Reading::Score(Position at, const std::vector<Candidate>& candidates,
                    std::vector<float>& scores) {
  const std::size_t head = network_.head_bias_.columns;
  const float* const state = LastState(at);
  scores.clear();
  for (const Candidate& candidate : candidates) {
    const ModuleState& module = StateOf(candidate.module);
    std::uint64_t hash = HashMix(module.hash, ClassOf(at));
    hash = HashOf(hash, candidate.features.data(), kFeatures);
    hash = HashOf(hash, candidate.words.data(), candidate.words.size());
    const auto [known, is_new] = scores_.emplace(hash, 0.0F);
    if (!is_new) {
      scores.push_back(known->second);
      continue;
    }
    float features[kFeatures];
    std::copy_n(candidate.features.data(), kFeatures, features);
    Numbers seen(network_.features_bias_.numbers);
    AddProduct(features, network_.features_, seen.data());
    Activate(seen.data(), seen.size());
    Numbers pair(width_);
    for (std::size_t i = 0; i < width_; ++i)
      pair[i] = state[i] * module.mean[i];
    Numbers z(HeadOf(at));
    const auto add = [&](const Numbers& more) {
      for (std::size_t i = 0; i < head; ++i) z[i] += more[i];
    };
    add(module.head);
    for (std::size_t i = 0; i < kNamesOfCandidate; ++i) {
      add(HeadOfName(candidate.words.data() + i * kWordsOfName, i));
    }
    AddProduct(seen.data(), network_.head_features_, z.data());
    AddProduct(pair.data(), network_.head_pair_, z.data());
    Activate(z.data(), z.size());
    Numbers hidden(network_.head_2_bias_.numbers);
    AddProduct(z.data(), network_.head_2_, hidden.data());
    Activate(hidden.data(), hidden.size());
    float score = network_.head_3_bias_.numbers[0];
    AddProduct(hidden.data(), network_.head_3_, &score);
    known->second = score;
    scores.push_back(score);
  }
}

}  // namespace onnx_tag::placing
