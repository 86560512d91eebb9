// How a tensor of a model follows from parameters of a checkpoint: where each
// number comes from, what it was multiplied with, and how it was rounded.
//
// A Recipe is found with the old checkpoint and proved by making the present
// bytes from it. With the new checkpoint the same recipe makes the new bytes.
// Tensors are made in steps; none is held as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "uses/weights/checkpoint.h"

namespace onnx_tag::weights {

// Low-rank matrices that are added to a parameter: W + scale * B A.
struct LowRank {
  std::vector<float> a;  // [rank, in]
  std::vector<float> b;  // [out, rank]
  std::uint64_t rank = 0;
  float scale = 0;
  bool transposed = false;  // W is [in, out]
};

// The parameters of one checkpoint, by their index in the old one.
struct Parameter {
  const Tensor* tensor = nullptr;
  const LowRank* added = nullptr;

  // REQUIRES: the elements are consecutive.
  void Load(std::uint64_t begin, std::uint64_t count, float* to) const;
};
using Side = std::vector<Parameter>;
Side SideOf(const Checkpoint& checkpoint);

// Element (r, c) is at `out` + r * `out_row` + c in the tensor, and at `src` +
// r * `src_row` + c * `src_col` in the parameter. One of the latter two is 1.
struct Block {
  std::uint32_t parameter = 0;
  std::uint64_t out = 0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t out_row = 0;
  std::uint64_t src = 0;
  std::uint64_t src_row = 0;
  std::uint64_t src_col = 1;
};

// A quantizer's arithmetic. One scale serves a group of numbers.
struct Scheme {
  enum class Style : std::uint8_t {
    kRange,       // ONNX Runtime's: of a tensor or a channel
    kBlock,       // MatMulNBits, by the kernel
    kBlockExact,  // the same with a division by the scale
    kBlockWide,   // MatMulNBits, round to nearest in float64
    kBias,        // int32, with the scales of input and weight
  };
  std::string_view name;
  Style style;
  std::int32_t type;  // of the tensor
  bool symmetric;
  int least;
  int most;
};
extern const std::span<const Scheme> kSchemes;

// Which scale a number has: (i / inner) % channels, or by blocks of a row.
struct Groups {
  std::uint64_t inner = 1;
  std::uint64_t channels = 1;
  std::uint64_t outer = 0;  // of several matrices: numbers in each
  std::uint64_t row = 0;    // of blocks: numbers in a row
  std::uint64_t block = 0;  // 0: no blocks
  std::uint32_t bits = 8;

  std::uint64_t blocks() const { return (row + block - 1) / block; }
  std::uint64_t Of(std::uint64_t i) const {
    if (block > 0) return i / row * blocks() + i % row / block;
    return i / inner % channels + (outer == 0 ? 0 : i / outer * channels);
  }
  // Of `count` numbers.
  std::uint64_t Scales(std::uint64_t count) const {
    if (block > 0) return count / row * blocks();
    return outer == 0 ? channels : count / outer * channels;
  }
};

constexpr std::uint32_t kNoParameter =
    std::numeric_limits<std::uint32_t>::max();

// Parameters of a BatchNorm; a scale alone has no variance.
struct Norm {
  std::uint32_t weight = kNoParameter;
  std::uint32_t bias = kNoParameter;
  std::uint32_t mean = kNoParameter;
  std::uint32_t variance = kNoParameter;
};

struct Recipe {
  enum class Values : std::uint8_t {
    kPlain,
    kScaled,      // times a constant
    kFolded,      // a scale by channel: a BatchNorm's, or a parameter
    kFoldedBias,  // (bias - mean) * scale + shift
  };
  std::vector<Block> blocks = {};
  // Where each number is in the parameter of the only block; empty: in order.
  std::vector<std::uint32_t> picks = {};
  std::uint64_t count = 0;  // of numbers, before they are packed
  Values values = Values::kPlain;
  float factor = 1;
  Norm norm = {};
  float epsilon = 0;
  // By channel: units in the last place by which the root of the old variance
  // is off, as MKL's is on some processors; none in the new checkpoint.
  std::vector<int> roots = {};
  bool fused = false;   // the bias is summed without rounding its product
  Groups channel = {};  // of a folded norm

  std::size_t clamp = 0;  // of a cast to float16: a row of kClamps
  const Scheme* scheme = nullptr;
  std::int32_t scale_type = kFloat;
  Groups groups = {};
  // Of a quantized bias: the weight, and the scale of the input or the table
  // that has it.
  std::shared_ptr<const Recipe> of_weight = {};
  std::shared_ptr<const Recipe> of_input = {};
  float input_scale = 0;

  // Every parameter that it reads, each once.
  std::vector<std::uint32_t> Parameters() const;
  bool IsTurned() const;
  // "transposed, float16"
  std::string Name(std::int32_t type, const Side& side) const;
};

// Numbers as float16 converters clamp them: positive numbers are at least
// `least`, and none is over `most`.
struct Clamp {
  float least;
  float most;
};
extern const std::span<const Clamp> kClamps;

struct Level {
  float scale = 1;
  double divisor = 1;
  int zero = 0;
};

// What a recipe gives for one checkpoint. Both must outlive it.
class Made {
 public:
  enum class Part : std::uint8_t { kNumbers, kScale, kZero };
  using Use = std::function<bool(Bytes)>;  // false: no more

  Made(const Recipe& recipe, const Side& side);

  // Hands on the bytes of a tensor of this type, in steps.
  void Emit(Part part, std::int32_t type, const Use& use) const;
  std::string Text(Part part, std::int32_t type) const;
  // Whether these are the bytes. `file` holds them; null: they are in memory.
  bool Equals(Part part, std::int32_t type, Bytes bytes,
              const MappedFile* file) const;

  void Floats(std::uint64_t begin, std::uint64_t count, float* to) const;
  const std::vector<Level>& levels() const { return levels_; }

 private:
  void FindLevels();
  void EmitNumbers(std::int32_t type, const Use& use) const;
  // Rounds, quantizes and packs them.
  void AppendNumbers(std::int32_t type, std::uint64_t at, std::uint64_t size,
                     const float* numbers, std::string& out) const;
  template <typename Visit>
  void ForEachStep(const Visit& visit) const;

  const Recipe& recipe_;
  const Side& side_;
  std::vector<float> scale_;  // of a folded norm
  std::vector<float> mean_;   // of a folded bias: with its sign changed
  std::vector<float> shift_;
  std::vector<Level> levels_;
};

}  // namespace onnx_tag::weights
