#include "uses/weights/block_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "file/model/element_types.h"
#include "file/model/tensor_data.h"

namespace onnx_tag::weights {
namespace {

constexpr std::size_t kMostBlocks = 4096;
// Pieces of a parameter: gates of recurrent layers, query, key and value.
constexpr std::uint64_t kParts[] = {1, 2, 3, 4};
// Positions that do not begin with the first, and the last rows of a table, as
// those for a class token.
constexpr std::uint64_t kFirstRows = 4;
constexpr std::uint64_t kSamples = 64;

// Of the first dimension that is not 1: positions are often [1, n, width].
std::uint64_t RowsOf(const Tensor& tensor) {
  for (const std::int64_t dim : tensor.dims) {
    if (dim != 1) return static_cast<std::uint64_t>(dim);
  }
  return 1;
}

// How many of [0, most) are `ok` from 0 on; only samples if all of those are.
// `rest` is called now and then: each line may be on pages of its own.
template <typename Ok, typename Rest>
std::uint64_t CountRun(std::uint64_t most, const Ok& is_ok, const Rest& rest) {
  std::uint64_t lines = 0;
  const auto ok = [&](std::uint64_t i) {
    if (++lines % 16 == 0) rest();
    return is_ok(i);
  };
  bool all = most > 0;
  for (std::uint64_t i = 0; all && i < std::min(most, kSamples); ++i) {
    all = ok(most <= kSamples ? i : i * (most - 1) / (kSamples - 1));
  }
  if (all) return most;
  std::uint64_t run = 0;
  while (run < most && ok(run)) ++run;
  return run;
}

template <typename Ok>
bool IsLine(std::uint64_t size, const Ok& ok) {
  for (const std::uint64_t i :
       {std::uint64_t{0}, size / 2, size - 1, size / 3, size / 5 * 4}) {
    if (!ok(i)) return false;
  }
  return true;
}

}  // namespace

int PackedAt(Bytes bytes, std::uint64_t bit, std::uint32_t bits) {
  return static_cast<unsigned char>(bytes[bit / 8]) >> bit % 8 &
         ((1 << bits) - 1);
}

float Numbers::At(std::uint64_t index) const {
  if (!quantized) return FloatAt(type, bytes, index);
  const std::uint64_t group = groups.Of(index);
  std::int64_t number = 0;
  if (groups.block > 0) {
    const std::uint64_t blob = (groups.block * groups.bits + 7) / 8;
    const std::uint64_t bit = index % groups.row % groups.block * groups.bits;
    number = PackedAt(bytes, group * blob * 8 + bit, groups.bits);
  } else {
    UseElement(type, bytes, index,
               [&](auto whole) { number = static_cast<std::int64_t>(+whole); });
  }
  const int zero = zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : group];
  return static_cast<float>(number - zero) * scales[group];
}

float Numbers::Slack(std::uint64_t index) const {
  if (quantized) {
    const float scale = std::fabs(scales[groups.Of(index)]);
    // The largest number of a block may be cut by one step. A large product has
    // an error of its own.
    return scale * (groups.block > 0 ? 1.01F : 0.51F) +
           (type == kInt32 ? std::fabs(At(index)) * 3e-7F : 0);
  }
  const float size = std::fabs(At(index));
  switch (type) {
    case kFloat16:
      return size * 0x1p-10F + 1.1e-7F;
    case kBfloat16:
      return size * 0x1p-8F;
    default:
      return 0;
  }
}

bool Numbers::Fits(std::uint64_t index, float parameter) const {
  return std::fabs(At(index) - parameter) <= Slack(index);
}

bool Numbers::IsUniform(std::uint64_t begin, std::uint64_t size) const {
  const float first = At(begin);
  for (std::uint64_t i = 0; i < std::min(size, kSamples * kSamples); ++i) {
    const std::uint64_t at = size <= kSamples * kSamples
                                 ? i
                                 : i * (size - 1) / (kSamples * kSamples - 1);
    if (At(begin + at) != first) return false;
  }
  return true;
}

std::vector<std::uint32_t> FirstAlike(const Side& side) {
  std::map<
      std::tuple<std::int32_t, std::uint64_t, const LowRank*, std::string_view>,
      std::uint32_t>
      seen;
  std::vector<std::uint32_t> first;
  for (std::uint32_t i = 0; i < side.size(); ++i) {
    first.push_back(i);
    const Tensor* const tensor = side[i].tensor;
    if (tensor == nullptr || tensor->bytes.size() >= kLargeTensor) continue;
    first[i] = seen.try_emplace({tensor->type, RowsOf(*tensor), side[i].added,
                                 tensor->bytes},
                                i)
                   .first->second;
  }
  return first;
}

BlockSearch::BlockSearch(const Side& side)
    : side_(side), first_(FirstAlike(side)), alone_(side.size(), true) {
  for (std::uint32_t i = 0; i < side.size(); ++i) {
    const Tensor* const tensor = side[i].tensor;
    if (first_[i] != i) alone_[first_[i]] = false;
    if (first_[i] != i || tensor == nullptr || !IsFloat(tensor->type) ||
        tensor->count == 0) {
      continue;
    }
    const std::uint64_t rows = RowsOf(*tensor);
    const std::uint64_t columns = tensor->count / rows;
    std::set<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const std::uint64_t parts : kParts) {
      for (std::uint64_t k = 0; k < parts; ++k) {
        if (rows % parts == 0) places.emplace(rows / parts * k, 0);
        if (columns % parts == 0) places.emplace(0, columns / parts * k);
      }
    }
    for (std::uint64_t row = 1; row < std::min(rows, kFirstRows); ++row) {
      if (columns == 1) break;
      places.emplace(row, 0);
      places.emplace(rows - row, 0);
    }
    for (const auto& [row, column] : places) {
      const std::uint64_t at = row * columns + column;
      const float number = tensor->At(at);
      const float next = at + 1 < tensor->count ? tensor->At(at + 1) : kNone;
      if (std::isnan(number)) continue;
      starts_.push_back(
          {number, std::isnan(next) ? kNone : next, i, row, column});
    }
    tensor->Release();
  }
  std::stable_sort(starts_.begin(), starts_.end(), IsBefore);
}

// How many numbers (kFlat), or columns, from `at` on are those of the piece.
// `base` is where the matrix begins.
std::uint64_t BlockSearch::Run(const Numbers& numbers, View view,
                               std::uint64_t base, std::uint64_t at,
                               const Start& start) const {
  const Tensor& tensor = *side_[start.parameter].tensor;
  const std::uint64_t rows = RowsOf(tensor);
  const std::uint64_t columns = tensor.count / rows;
  const auto rest = [&] {
    if (tensor.bytes.size() < kLargeTensor) return;
    tensor.Release();
    ReleaseBytes(numbers.file, numbers.bytes);
  };
  if (view == View::kFlat) {
    if (start.column != 0) return 0;
    const std::uint64_t most =
        std::min(rows - start.row, (numbers.count - at) / columns);
    const auto fits = [&](std::uint64_t row) {
      return IsLine(columns, [&](std::uint64_t i) {
        return numbers.Fits(at + row * columns + i,
                            tensor.At((start.row + row) * columns + i));
      });
    };
    return columns * CountRun(most, fits, rest);
  }
  const std::uint64_t width = numbers.dims.back();
  const std::uint64_t height = numbers.dims[numbers.dims.size() - 2];
  const bool turned = view == View::kTransposed;
  const std::uint64_t across =
      turned ? columns - start.column : rows - start.row;
  if (across < height) return 0;
  const std::uint64_t along =
      turned ? rows - start.row : columns - start.column;
  const auto fits = [&](std::uint64_t k) {
    return IsLine(height, [&](std::uint64_t r) {
      const std::uint64_t row = start.row + (turned ? k : r);
      const std::uint64_t column = start.column + (turned ? r : k);
      return numbers.Fits(base + r * width + at + k,
                          tensor.At(row * columns + column));
    });
  };
  return CountRun(std::min(along, width - at), fits, rest);
}

std::optional<Blocks> BlockSearch::Find(
    const Numbers& numbers, View view,
    const std::vector<std::uint32_t>& preferred) const {
  if (numbers.count == 0) return std::nullopt;
  std::uint64_t width = numbers.count;
  std::uint64_t height = 1;
  if (view != View::kFlat) {
    if (numbers.dims.size() < 2) return std::nullopt;
    width = numbers.dims.back();
    height = numbers.dims[numbers.dims.size() - 2];
    if (width == 0 || height == 0) return std::nullopt;
  }
  Blocks found;
  const auto rank = [&](std::uint32_t parameter) {
    return std::find(preferred.begin(), preferred.end(), parameter) -
           preferred.begin();
  };
  const auto unranked = static_cast<std::ptrdiff_t>(preferred.size());
  for (std::uint64_t base = 0; base < numbers.count; base += width * height) {
    for (std::uint64_t at = 0; at < width;) {
      const auto last =
          found.blocks.empty() ? -1 : rank(found.blocks.back().parameter);
      // The next of the preferred ones that are alike, in their order.
      const auto choose = [&](std::uint32_t first) {
        const auto alike = [&](std::uint32_t one) {
          return first_[one] == first;
        };
        const auto next = preferred.begin() + std::min(last + 1, unranked);
        auto one = std::find_if(next, preferred.end(), alike);
        if (one == preferred.end()) {
          one = std::find_if(preferred.begin(), preferred.end(), alike);
        }
        return one == preferred.end() ? first : *one;
      };
      const float first = numbers.At(base + at);
      const float slack = numbers.Slack(base + at);
      // Every piece that begins here, and the best: a whole parameter that is
      // preferred, else the longest.
      std::vector<std::pair<Block, std::uint64_t>> fits;
      std::uint64_t longest = 0;
      bool sure = false;
      const auto add = [&](const Start& start) {
        const std::uint64_t run = Run(numbers, view, base, at, start);
        const Tensor& tensor = *side_[start.parameter].tensor;
        const std::uint64_t columns = tensor.count / RowsOf(tensor);
        const bool whole = run * height == tensor.count;
        if (run == 0 || (run * height < 4 && !whole)) return;
        Block block{choose(start.parameter),
                    base + at,
                    height,
                    run,
                    width,
                    start.row * columns + start.column,
                    columns,
                    1};
        if (view == View::kTransposed) std::swap(block.src_row, block.src_col);
        fits.emplace_back(block, run);
        const bool wins = whole && rank(block.parameter) < unranked;
        if (wins == sure ? run > longest : wins) longest = run;
        sure |= wins;
      };
      const auto end = starts_.end();
      // Where the next number of the parameter's row is, if it must fit.
      const std::uint64_t beside = view == View::kFlat ? 1 : width;
      const bool exact =
          numbers.type == kFloat && !numbers.quantized &&
          (view == View::kFlat ? at + 1 < width
                               : view == View::kTransposed && height > 1);
      const float next = exact ? numbers.At(base + at + beside) : NAN;
      if (!std::isnan(next) && !std::isnan(first)) {
        for (const float second : {next, kNone}) {
          const auto range = std::equal_range(
              starts_.begin(), end, Start{first, second, 0, 0, 0}, IsBefore);
          std::for_each(range.first, range.second, add);
          if (second == kNone) break;
        }
      } else {
        auto start =
            std::lower_bound(starts_.begin(), end,
                             Start{first - slack, -kNone, 0, 0, 0}, IsBefore);
        for (; start != end && start->number <= first + slack; ++start) {
          add(*start);
        }
      }
      if (fits.empty() || found.blocks.size() == kMostBlocks) {
        return std::nullopt;
      }
      const auto order = [&](const std::pair<Block, std::uint64_t>& one) {
        const auto place = rank(one.first.parameter);
        return std::tuple(one.second != longest, place == unranked,
                          place <= last, place);
      };
      const auto best = std::min_element(
          fits.begin(), fits.end(),
          [&](const auto& a, const auto& b) { return order(a) < order(b); });
      for (auto one = fits.begin(); one != fits.end(); ++one) {
        const bool only = one == best && alone_[first_[one->first.parameter]];
        if (only || one->second < longest) continue;
        one->first.cols = longest;
        found.others.emplace_back(found.blocks.size(), one->first);
      }
      found.blocks.push_back(best->first);
      at += longest;
    }
  }
  return found;
}

}  // namespace onnx_tag::weights
