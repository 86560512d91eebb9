// Finds the parameters that a tensor was put together from, by its numbers.
//
// Each position of the tensor is looked up among the first numbers of all
// parameters and of their pieces; the longest run from there is a block. Only
// samples are compared: the proof is made afterwards, with all bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "uses/weights/transforms.h"

namespace onnx_tag::weights {

// The number of `bits` bits that begins there, as blocks pack them.
int PackedAt(Bytes bytes, std::uint64_t bit, std::uint32_t bits);

// The numbers of a tensor as they are in the file, quantized ones times their
// scale; Slack() is how far the parameter may be from it.
struct Numbers {
  std::int32_t type = 0;
  Bytes bytes = {};
  const MappedFile* file = nullptr;      // that holds the bytes
  std::vector<std::uint64_t> dims = {};  // before it was packed
  std::uint64_t count = 0;
  bool quantized = false;
  Groups groups = {};
  std::vector<float> scales = {};
  std::vector<int> zeros = {};  // one, or one for each group

  float At(std::uint64_t index) const;
  float Slack(std::uint64_t index) const;
  bool Fits(std::uint64_t index, float parameter) const;
  // Whether a sample of [begin, begin + size) has one number only.
  bool IsUniform(std::uint64_t begin, std::uint64_t size) const;
};

// A mask that masks nothing. No parameter has these numbers, and a bias has one
// dimension.
constexpr std::string_view kOneNumber = "one number throughout";
// What they are if no checkpoint changes them, because an exporter computed
// them: this, "a mask", "a range", "a table of positions"; "": they may be a
// weight.
std::string_view TableKind(const Numbers& numbers);

// Pages of smaller ones are not given back at once.
constexpr std::uint64_t kLargeTensor = std::uint64_t{1} << 20;

enum class View : std::uint8_t { kFlat, kTransposed, kColumns };

struct Blocks {
  std::vector<Block> blocks;
  // Blocks that fit as well as the one at this index, in order. Each stands for
  // all parameters that are alike; its own is among them if it is not alone.
  std::vector<std::pair<std::size_t, Block>> others;
};

// By parameter: the first one that is alike, which has the same type, rows and
// bytes. Large ones are alike to none, because their bytes are not read.
std::vector<std::uint32_t> FirstAlike(const Side& side);

class BlockSearch {
 public:
  // `side` must outlive this.
  explicit BlockSearch(const Side& side);

  // `preferred` are parameters that win if others fit as well, in order.
  std::optional<Blocks> Find(const Numbers& numbers, View view,
                             const std::vector<std::uint32_t>& preferred) const;

  // As FirstAlike().
  std::uint32_t First(std::uint32_t parameter) const {
    return first_[parameter];
  }

 private:
  // The first number of a piece of a parameter, and the one behind it.
  struct Start {
    float number;
    float next;  // kNone: there is none, or it is no number
    std::uint32_t parameter;
    std::uint64_t row;
    std::uint64_t column;
  };
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  static bool IsBefore(const Start& a, const Start& b) {
    return std::tie(a.number, a.next) < std::tie(b.number, b.next);
  }
  std::uint64_t Run(const Numbers& numbers, View view, std::uint64_t base,
                    std::uint64_t at, const Start& start) const;

  const Side& side_;
  const std::vector<std::uint32_t> first_;
  std::vector<bool> alone_;    // no later parameter is alike
  std::vector<Start> starts_;  // of the first ones, by number and next
};

}  // namespace onnx_tag::weights
