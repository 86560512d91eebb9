// Tested by tests/app/commands/refit_test.cc, and against the tools that write
// such tensors by tests/clients/check_refit.py.
#include "uses/weights/transforms.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/bit_cast.h"
#include "base/lists.h"
#include "base/worker_pool.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"

namespace onnx_tag::weights {
namespace {

using Style = Scheme::Style;

constexpr std::uint64_t kStepElements = std::uint64_t{1} << 18;
// A transposed tensor is read once for each step, so its steps are longer.
constexpr std::uint64_t kLongStep = std::uint64_t{1} << 20;
constexpr std::uint64_t kReleasedBytes = std::uint64_t{4} << 20;
// Columns that are turned into rows at once.
constexpr std::uint64_t kTile = 16;
// Fewer numbers are quantized on one thread.
constexpr std::uint64_t kShared = std::uint64_t{1} << 16;

constexpr Scheme kSchemeRows[] = {
    {"int8 symmetric", Style::kRange, kInt8, true, -127, 127},
    {"uint8", Style::kRange, kUint8, false, 0, 255},
    {"int8 of 7 bits", Style::kRange, kInt8, true, -64, 64},
    {"uint8 of 7 bits", Style::kRange, kUint8, false, 0, 127},
    {"int8", Style::kRange, kInt8, false, -128, 127},
    {"int8 of 7 bits, asymmetric", Style::kRange, kInt8, false, -64, 64},
    {"uint8 symmetric", Style::kRange, kUint8, true, 0, 255},
    {"uint8 of 7 bits, symmetric", Style::kRange, kUint8, true, 0, 127},
    {"blocks, symmetric", Style::kBlock, kUint8, true, 0, 0},
    {"blocks", Style::kBlock, kUint8, false, 0, 0},
    {"blocks, symmetric", Style::kBlockExact, kUint8, true, 0, 0},
    {"blocks", Style::kBlockExact, kUint8, false, 0, 0},
    {"blocks, rtn symmetric", Style::kBlockWide, kUint8, true, 0, 0},
    {"blocks, rtn", Style::kBlockWide, kUint8, false, 0, 0},
    {"int32 bias", Style::kBias, kInt32, true, 0, 0},
};

constexpr Clamp kClampRows[] = {
    {0, INFINITY}, {5.96e-08F, 65504.0F}, {1e-07F, 1e4F}};

std::uint16_t HalfBits(float number) {
  const std::uint32_t bits = BitCast<std::uint32_t>(number);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(number);
  if (!(size < INFINITY)) {
    return static_cast<std::uint16_t>(sign |
                                      (size == INFINITY ? 0x7c00 : 0x7e00));
  }
  // The sum with a power of 2 is rounded where a half ends.
  const int exponent = std::max(std::ilogb(std::max(size, 0x1p-24F)), -14);
  const float unit = std::ldexp(1.0F, exponent - 10);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(size / unit));
  const std::uint32_t half =
      (static_cast<std::uint32_t>(exponent + 14) << 10) + steps;
  return static_cast<std::uint16_t>(sign | std::min(half, 0x7c00u));
}

std::uint16_t BrainBits(float number) {
  const std::uint32_t bits = BitCast<std::uint32_t>(number);
  if (std::isnan(number)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T>
void Append(T number, std::string& to) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);  // NOLINT
}

void AppendFloats(const float* numbers, std::uint64_t count, std::int32_t type,
                  const Clamp& clamp, std::string& to) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const float number = numbers[i];
    switch (type) {
      case kFloat16: {
        const float size = std::fabs(number);
        const float fit =
            size > 0 ? std::clamp(size, clamp.least, clamp.most) : size;
        Append(HalfBits(std::copysign(fit, number)), to);
        break;
      }
      case kBfloat16:
        Append(BrainBits(number), to);
        break;
      case kDouble:
        Append(static_cast<double>(number), to);
        break;
      default:
        Append(number, to);
    }
  }
}

struct Range {
  float least = INFINITY;
  float most = -INFINITY;
};

int Rounded(double number, int least, int most) {
  return static_cast<int>(std::clamp(number, double(least), double(most)));
}

// As ONNX Runtime's quantizers compute them; each formula is tried against
// their files.
Level LevelOf(const Recipe& recipe, Range range) {
  const Scheme& scheme = *recipe.scheme;
  const Groups& groups = recipe.groups;
  Level level;
  const int top = (1 << groups.bits) - 1;
  const int middle = 1 << (groups.bits - 1);
  const float reach = std::max(std::fabs(range.least), std::fabs(range.most));
  const bool kernel =
      scheme.style == Style::kBlock || scheme.style == Style::kBlockExact;
  if (scheme.style == Style::kRange || (kernel && !scheme.symmetric)) {
    range.least = std::min(range.least, 0.0F);
    range.most = std::max(range.most, 0.0F);
  }
  if (scheme.style == Style::kRange) {
    if (scheme.symmetric) range = {-reach, reach};
    const double scale = (double(range.most) - double(range.least)) /
                         (scheme.most - scheme.least);
    if (scale < std::numeric_limits<float>::min()) return level;
    level.zero = Rounded(
        scheme.symmetric ? std::nearbyint((scheme.least + scheme.most) / 2.0)
                         : std::nearbyint(scheme.least - range.least / scale),
        -256, 256);
    level.divisor = level.scale = static_cast<float>(scale);
  } else if (kernel && scheme.symmetric) {
    const bool up = std::fabs(range.most) > std::fabs(range.least);
    level.scale = (up ? range.most : range.least) / static_cast<float>(-middle);
    level.zero = middle;
  } else if (kernel) {
    level.scale = (range.most - range.least) / static_cast<float>(top);
    const float zero = level.scale == 0 ? 0 : -range.least / level.scale;
    level.zero = Rounded(std::round(zero), 0, top);
  } else {
    const double span =
        scheme.symmetric ? reach * 2.0F : range.most - range.least;
    level.divisor = span > 0 ? span / top : 1;
    level.scale = static_cast<float>(level.divisor);
    level.zero =
        scheme.symmetric
            ? middle
            : Rounded(std::nearbyint(-range.least / level.divisor), 0, top);
  }
  if (kernel && recipe.scale_type == kFloat16) {
    level.scale = static_cast<float>(HalfOf(HalfBits(level.scale)));
  }
  if (kernel) level.divisor = level.scale;
  return level;
}

int Quantize(const Scheme& scheme, const Level& level, float number,
             std::uint32_t bits) {
  const auto divisor = static_cast<float>(level.divisor);
  const auto zero = static_cast<float>(level.zero);
  int least = 0;
  int most = (1 << bits) - 1;
  double whole = level.zero;
  switch (scheme.style) {
    case Style::kRange:
      least = scheme.type == kInt8 ? -128 : 0;
      most = least + 255;
      whole = std::nearbyint(number / divisor) + zero;
      break;
    case Style::kBlock:
      whole =
          std::round(std::fma(number, divisor == 0 ? 0 : 1.0F / divisor, zero));
      break;
    case Style::kBlockExact:
      if (divisor != 0) whole += std::nearbyint(double{number / divisor});
      break;
    case Style::kBlockWide:
      whole = std::nearbyint(number / level.divisor + level.zero);
      break;
    case Style::kBias:
      least = std::numeric_limits<int>::min();
      most = std::numeric_limits<int>::max();
      whole = std::nearbyint(double(number) / level.divisor);
      break;
  }
  return Rounded(whole, least, most);
}

void AppendWhole(int number, std::int32_t type, std::string& to) {
  if (type == kInt32) return Append(number, to);
  to += static_cast<char>(number);
}

// A few bits each, the lowest first. The last byte is filled with `rest`.
void AppendPacked(const std::vector<int>& numbers, std::uint32_t bits, int rest,
                  std::string& to) {
  for (std::size_t i = 0; i < numbers.size(); i += 8 / bits) {
    unsigned byte = 0;
    for (std::size_t k = 0; k < 8 / bits; ++k) {
      const int number = i + k < numbers.size() ? numbers[i + k] : rest;
      byte |= static_cast<unsigned>(number) << (k * bits);
    }
    to += static_cast<char>(byte);
  }
}

}  // namespace

const std::span<const Scheme> kSchemes(kSchemeRows);
const std::span<const Clamp> kClamps(kClampRows);

Side SideOf(const Checkpoint& checkpoint) {
  Side side;
  for (const Tensor& tensor : checkpoint.tensors()) {
    side.push_back({&tensor});
  }
  return side;
}

void Parameter::Load(std::uint64_t begin, std::uint64_t count,
                     float* to) const {
  LoadFloats(*tensor, begin, count, to);
  if (added == nullptr) return;
  const auto width = static_cast<std::uint64_t>(tensor->dims.back());
  const std::uint64_t rank = added->rank;
  const std::uint64_t in = added->a.size() / rank;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t row = (begin + i) / width;
    std::uint64_t column = (begin + i) % width;
    if (added->transposed) std::swap(row, column);
    // As BLAS sums: one fused step for each rank.
    float sum = 0;
    for (std::uint64_t k = 0; k < rank; ++k) {
      sum = std::fma(added->b[row * rank + k], added->a[k * in + column], sum);
    }
    // In double precision, so that no product is fused with its sum.
    to[i] += static_cast<float>(double{sum} * double{added->scale});
  }
}

std::vector<std::uint32_t> Recipe::Parameters() const {
  std::vector<std::uint32_t> each;
  const auto add = [&](std::uint32_t one) {
    if (one != kNoParameter && !IsAmong(one, each)) {
      each.push_back(one);
    }
  };
  for (const Block& block : blocks) add(block.parameter);
  for (const std::uint32_t one :
       {norm.weight, norm.bias, norm.mean, norm.variance}) {
    add(one);
  }
  return each;
}

bool Recipe::IsTurned() const {
  return AnyIn(blocks, [](const Block& block) { return block.src_col != 1; });
}

std::string Recipe::Name(std::int32_t type, const Side& side) const {
  std::string name;
  const auto add = [&](std::string_view word) {
    if (!name.empty()) name += ", ";
    name += word;
  };
  if (Parameters().size() > 1 && values == Values::kPlain) {
    add("packed");
  } else if (!picks.empty()) {
    add("looked up");
  } else if (blocks.size() > 1) {
    add("pieces");
  } else if (!blocks.empty() &&
             count < side[blocks[0].parameter].tensor->count) {
    add("piece");
  }
  if (IsTurned()) add("transposed");
  if (values == Values::kScaled) add("times " + std::to_string(factor));
  if (values >= Values::kFolded) add("folded");
  if (name.empty()) add("same");
  if (scheme != nullptr) {
    add(scheme->name);
  } else if (type == kFloat16 || type == kBfloat16) {
    add(TypeName(type));
  }
  return name;
}

Made::Made(const Recipe& recipe, const Side& side)
    : recipe_(recipe), side_(side) {
  if (recipe.values == Recipe::Values::kScaled) scale_ = {recipe.factor};
  if (recipe.values >= Recipe::Values::kFolded) {
    const Norm& norm = recipe.norm;
    const std::uint32_t any =
        norm.variance == kNoParameter ? norm.weight : norm.variance;
    const std::uint64_t size = side[any].tensor->count;
    const auto load = [&](std::uint32_t parameter, float otherwise) {
      std::vector<float> numbers(size, otherwise);
      if (parameter != kNoParameter)
        side[parameter].Load(0, size, numbers.data());
      return numbers;
    };
    scale_ = load(norm.weight, 1);
    const std::vector<float> variance = load(norm.variance, 1);
    for (std::uint64_t i = 0; i < size && norm.variance != kNoParameter; ++i) {
      const float root = std::sqrt(variance[i] + recipe.epsilon);
      const int off = recipe.roots.empty() ? 0 : recipe.roots[i];
      scale_[i] /=
          off == 0 ? root : std::nextafter(root, off < 0 ? 0 : INFINITY);
    }
    if (recipe.values == Recipe::Values::kFoldedBias) {
      shift_ = load(norm.bias, 0);
      mean_ = load(norm.mean, 0);
      for (float& mean : mean_) mean = -mean;
    }
  }
  if (recipe.scheme != nullptr) FindLevels();
}

void Made::Floats(std::uint64_t begin, std::uint64_t count, float* to) const {
  const std::uint64_t end = begin + count;
  if (recipe_.blocks.empty()) std::fill(to, to + count, 0.0F);
  for (std::uint64_t i = 0; !recipe_.picks.empty() && i < count; ++i) {
    side_[recipe_.blocks[0].parameter].Load(recipe_.picks[begin + i], 1,
                                            to + i);
  }
  std::vector<float> run;
  for (const Block& block : recipe_.blocks) {
    if (!recipe_.picks.empty()) break;
    const std::uint64_t step = block.rows == 1 ? block.cols : block.out_row;
    if (block.out >= end ||
        block.out + (block.rows - 1) * step + block.cols <= begin) {
      continue;
    }
    const std::uint64_t first =
        begin > block.out ? (begin - block.out) / step : 0;
    const std::uint64_t last =
        std::min(block.rows, (end - block.out + step - 1) / step);
    const Parameter& source = side_[block.parameter];
    if (block.src_col == 1) {
      for (std::uint64_t r = first; r < last; ++r) {
        const std::uint64_t at = block.out + r * step;
        const std::uint64_t from = std::max(at, begin);
        const std::uint64_t until = std::min(at + block.cols, end);
        if (from >= until) continue;
        source.Load(block.src + r * block.src_row + (from - at), until - from,
                    to + (from - begin));
      }
      continue;
    }
    const std::uint64_t height = last - first;
    run.resize(height * kTile);
    std::uint64_t touched = 0;
    for (std::uint64_t c = 0; c < block.cols; c += kTile) {
      const std::uint64_t tile = std::min(kTile, block.cols - c);
      for (std::uint64_t k = 0; k < tile; ++k) {
        source.Load(block.src + first + (c + k) * block.src_col, height,
                    run.data() + k * height);
      }
      for (std::uint64_t r = 0; r < height; ++r) {
        const std::uint64_t at = block.out + (first + r) * step + c;
        for (std::uint64_t k = 0; k < tile; ++k) {
          if (at + k >= begin && at + k < end)
            to[at + k - begin] = run[k * height + r];
        }
      }
      touched += tile * block.src_col * sizeof(float);
      if (touched < kReleasedBytes) continue;
      source.tensor->Release();
      touched = 0;
    }
  }
  switch (recipe_.values) {
    case Recipe::Values::kPlain:
      break;
    case Recipe::Values::kScaled:
    case Recipe::Values::kFolded:
      for (std::uint64_t i = 0; i < count; ++i) {
        to[i] *= scale_[recipe_.channel.Of(begin + i)];
      }
      break;
    case Recipe::Values::kFoldedBias:
      for (std::uint64_t i = 0; i < count; ++i) to[i] += mean_[begin + i];
      if (recipe_.fused) {
        for (std::uint64_t i = 0; i < count; ++i) {
          to[i] = std::fma(to[i], scale_[begin + i], shift_[begin + i]);
        }
        break;
      }
      // Each loop rounds once: the compiler fuses no sum with its product.
      for (std::uint64_t i = 0; i < count; ++i) to[i] *= scale_[begin + i];
      for (std::uint64_t i = 0; i < count; ++i) to[i] += shift_[begin + i];
      break;
  }
}

template <typename Visit>
void Made::ForEachStep(const Visit& visit) const {
  std::uint64_t step = kStepElements;
  for (const Block& block : recipe_.blocks) {
    if (block.src_col == 1) continue;
    step =
        std::max(step, std::max<std::uint64_t>(kLongStep / block.out_row, 1) *
                           block.out_row);
  }
  if (recipe_.groups.block > 0) {
    step = std::max<std::uint64_t>(step / recipe_.groups.row, 1) *
           recipe_.groups.row;
  }
  std::vector<float> numbers(std::min(step, recipe_.count));
  for (std::uint64_t at = 0; at < recipe_.count; at += step) {
    const std::uint64_t size = std::min(step, recipe_.count - at);
    Floats(at, size, numbers.data());
    const bool more = visit(at, size, numbers.data());
    // Small ones are read again and again.
    for (const std::uint32_t parameter : recipe_.Parameters()) {
      const Tensor& tensor = *side_[parameter].tensor;
      if (tensor.bytes.size() >= kReleasedBytes) tensor.Release();
    }
    if (!more) return;
  }
}

void Made::FindLevels() {
  const Groups& groups = recipe_.groups;
  if (recipe_.scheme->style == Style::kBias) {
    const Made weight(*recipe_.of_weight, side_);
    const float input = recipe_.of_input == nullptr
                            ? recipe_.input_scale
                            : Made(*recipe_.of_input, side_).levels()[0].scale;
    for (Level level : weight.levels()) {
      level.scale *= input;
      level.divisor = level.scale;
      level.zero = 0;
      levels_.push_back(level);
    }
    return;
  }
  std::vector<Range> ranges(groups.Scales(recipe_.count));
  ForEachStep([&](std::uint64_t at, std::uint64_t size, const float* numbers) {
    for (std::uint64_t i = 0; i < size; ++i) {
      Range& range = ranges[groups.Of(at + i)];
      range.least = std::min(range.least, numbers[i]);
      range.most = std::max(range.most, numbers[i]);
    }
    return true;
  });
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    // The tool fills the last block of a row with zeros.
    if (recipe_.scheme->style == Style::kBlockWide &&
        groups.row % groups.block != 0 && (i + 1) % groups.blocks() == 0) {
      ranges[i].least = std::min(ranges[i].least, 0.0F);
      ranges[i].most = std::max(ranges[i].most, 0.0F);
    }
    levels_.push_back(LevelOf(recipe_, ranges[i]));
  }
}

void Made::EmitNumbers(std::int32_t type, const Use& use) const {
  const Block block = recipe_.blocks.empty() ? Block() : recipe_.blocks[0];
  const Parameter& first = side_[block.parameter];
  // The numbers of one parameter in their order and in its own type.
  if (recipe_.values == Recipe::Values::kPlain && recipe_.scheme == nullptr &&
      recipe_.blocks.size() == 1 && block.src_col == 1 && block.rows == 1 &&
      recipe_.picks.empty() && first.tensor->type == type &&
      recipe_.clamp == 0 && first.added == nullptr) {
    const std::uint64_t width = BitsPerElement(type) / 8;
    Bytes rest =
        first.tensor->bytes.substr(block.src * width, recipe_.count * width);
    while (!rest.empty() && use(rest.substr(0, kStepElements))) {
      const Bytes done = rest.substr(0, kStepElements);
      ReleaseBytes(first.tensor->file, done);
      rest.remove_prefix(done.size());
    }
    return;
  }
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t row = std::max<std::uint64_t>(recipe_.groups.row, 1);
  ForEachStep([&](std::uint64_t at, std::uint64_t size, const float* numbers) {
    if (recipe_.scheme == nullptr && type == kFloat) {
      return use(Bytes(reinterpret_cast<const char*>(numbers),  // NOLINT
                       size * sizeof(float)));
    }
    const std::uint64_t rows = size / row;
    std::vector<std::string> parts(
        size < kShared ? 1 : std::min<std::uint64_t>(threads, rows));
    const auto append = [&](std::size_t k) {
      const std::uint64_t begin = rows * k / parts.size() * row;
      const std::uint64_t end = rows * (k + 1) / parts.size() * row;
      AppendNumbers(type, at + begin, end - begin, numbers + begin, parts[k]);
    };
    RunOnAllCores(parts.size(), append);
    return AllIn(parts, use);
  });
}

void Made::AppendNumbers(std::int32_t type, std::uint64_t at,
                         std::uint64_t size, const float* numbers,
                         std::string& out) const {
  const Groups& groups = recipe_.groups;
  if (recipe_.scheme == nullptr) {
    AppendFloats(numbers, size, type, kClamps[recipe_.clamp], out);
    return;
  }
  if (groups.block == 0) {
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t group = levels_.size() == 1 ? 0 : groups.Of(at + i);
      AppendWhole(
          Quantize(*recipe_.scheme, levels_[group], numbers[i], groups.bits),
          type, out);
    }
    return;
  }
  std::vector<int> block;
  for (std::uint64_t i = 0; i < size; i += groups.row) {
    for (std::uint64_t b = 0; b < groups.blocks(); ++b) {
      const Level& level = levels_[(at + i) / groups.row * groups.blocks() + b];
      // The kernel leaves the rest of the last block at 0.
      block.assign(groups.block,
                   recipe_.scheme->style == Style::kBlockWide
                       ? Quantize(*recipe_.scheme, level, 0, groups.bits)
                       : 0);
      for (std::uint64_t k = 0;
           k < groups.block && b * groups.block + k < groups.row; ++k) {
        block[k] = Quantize(*recipe_.scheme, level,
                            numbers[i + b * groups.block + k], groups.bits);
      }
      AppendPacked(block, groups.bits, 0, out);
    }
  }
}

void Made::Emit(Part part, std::int32_t type, const Use& use) const {
  if (part == Part::kNumbers) return EmitNumbers(type, use);
  const Groups& groups = recipe_.groups;
  std::string out;
  if (part == Part::kScale) {
    for (const Level& level : levels_)
      AppendFloats(&level.scale, 1, type, kClamps[0], out);
  } else if (groups.block > 0) {
    for (std::size_t i = 0; i < levels_.size(); i += groups.blocks()) {
      std::vector<int> zeros;
      for (std::size_t k = 0; k < groups.blocks(); ++k)
        zeros.push_back(levels_[i + k].zero);
      AppendPacked(zeros, groups.bits, 1 << (groups.bits - 1), out);
    }
  } else {
    for (const Level& level : levels_) AppendWhole(level.zero, type, out);
  }
  use(out);
}

std::string Made::Text(Part part, std::int32_t type) const {
  std::string text;
  Emit(part, type, [&](Bytes bytes) {
    text += bytes;
    return true;
  });
  return text;
}

bool Made::Equals(Part part, std::int32_t type, Bytes bytes,
                  const MappedFile* file) const {
  bool equal = true;
  Emit(part, type, [&](Bytes made) {
    equal = bytes.starts_with(made);
    if (!equal) return false;
    ReleaseBytes(file, bytes.substr(0, made.size()));
    bytes.remove_prefix(made.size());
    return true;
  });
  return equal && bytes.empty();
}

}  // namespace onnx_tag::weights
