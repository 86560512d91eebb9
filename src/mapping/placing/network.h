// The placement network: src/data/placement.onnx, which tools/placement trains.
// The same bytes come out on every platform: sums have a fixed order, nothing
// is contracted, and no function of the C library is in the path.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mapping/placing/scene.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::placing {

// Numbers of one tensor: [rows, columns].
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> numbers;

  const float* Row(std::size_t row) const {
    return numbers.data() + row * columns;
  }
};

// y[j] += x[i] * w[i][j], i in order; with some rows of w only.
void AddProduct(const float* x, const Matrix& w, float* y, std::size_t first,
                std::size_t rows);
inline void AddProduct(const float* x, const Matrix& w, float* y) {
  AddProduct(x, w, y, 0, w.rows);
}
// In place: x * clamp(x / 6 + 0.5, 0, 1).
void Activate(float* x, std::size_t size);
// (x - mean) / deviation * weight + bias.
void Normalize(const float* x, const Matrix& weight, const Matrix& bias,
               float* y);
// e^x for x <= 0, in parts of kOne.
constexpr std::uint32_t kOne = 1 << 20;
std::uint32_t ExpOf(float x);

// A row of the table of levels: from this permille of the first candidate on.
struct LevelRow {
  std::uint32_t least = 0;
  Confidence level = Confidence::kLow;
  std::uint32_t climb = 0;  // permille that the answer holds
};

class Network {
 public:
  // Throws Error(kInput) where the bytes, which must outlive it, are no such
  // network.
  explicit Network(Bytes onnx);

  // The one in the program. It is read at the first call.
  static const Network& BuiltIn();

  std::string_view version() const { return version_; }
  const std::vector<LevelRow>& levels() const { return levels_; }
  std::uint32_t OperatorOf(const Model& model, NodeId node) const;

 private:
  friend class Reading;

  // What a round mixes: the node, what makes and what reads it, and four
  // neighbours in running order.
  static constexpr std::size_t kParts = 7;
  struct Round {
    Matrix norm_weight, norm_bias, mix, mix_bias, back, back_bias;
  };

  using Tensors = std::map<std::string_view, Matrix>;
  void SetTensors(Tensors tensors);
  void SetMetadata(std::string_view key, std::string_view value);

  std::string_view version_;
  std::vector<LevelRow> levels_;
  std::unordered_map<std::string_view, std::uint32_t> operators_;
  Matrix op_, attribute_, word_, anchor_;
  std::vector<Matrix> counts_, depths_;
  std::vector<Round> rounds_;
  Matrix features_, features_bias_;
  Matrix head_features_, head_own_, head_node_, head_module_, head_pair_,
      head_names_, head_bias_;
  Matrix head_2_, head_2_bias_, head_3_, head_3_bias_;
};

// What the network says of one scene. Equal places are computed once.
class Reading {
 public:
  Reading(const Network& network, const Scene& scene);

  // Open nodes whose surroundings differ, as far as the network sees. The
  // others have the states of one of these.
  std::size_t unlike() const { return unlike_; }
  // Two open nodes of one class have the same surroundings.
  std::uint32_t ClassOf(Position at) const { return classes_.back()[at]; }

  // Call it before Score().
  void MakeStates();
  // One for each candidate of an open node.
  void Score(Position at, const std::vector<Candidate>& candidates,
             std::vector<float>& scores);

 private:
  using Class = std::uint32_t;
  using Numbers = std::vector<float>;

  // What a candidate adds to the score by what already runs in it.
  struct ModuleState {
    std::uint64_t hash = 0;  // of its members' classes
    Numbers mean;
    Numbers head;
  };

  void FindNeeded();
  void FindClasses();
  // By the states of round `round`: itself, makers, readers, in order.
  template <typename Visit>
  void ForEachNeighbour(std::size_t round, Position at,
                        const Visit& visit) const;
  void FirstState(const Actor& actor, float* state) const;
  void NextState(std::size_t round, Position at, const float* normalized,
                 float* state) const;
  void AddWords(const std::uint16_t* ids, const Matrix& weight,
                std::size_t first_row, float* y) const;
  const float* LastState(Position at) const {
    return last_.data() + std::size_t{ClassOf(at)} * width_;
  }
  const ModuleState& StateOf(ModuleId module);
  const Numbers& HeadOf(Position at);
  const Numbers& HeadOfName(const std::uint16_t* ids, std::size_t place);

  const Network& network_;
  const Scene& scene_;
  const std::size_t width_;
  const std::size_t rounds_;
  std::size_t unlike_ = 0;
  // By round and position: whether the state is needed; its class.
  std::vector<std::vector<bool>> needed_;
  std::vector<std::vector<Class>> classes_;
  std::vector<std::vector<Position>> examples_;  // by class: one of it
  // By class: the states of the first and the last round.
  Numbers first_;
  Numbers last_;
  std::vector<std::unique_ptr<ModuleState>> modules_;  // by module
  std::vector<Numbers> heads_;  // by class of the last round
  std::unordered_map<std::uint64_t, Numbers> names_;
  std::unordered_map<std::uint64_t, float> scores_;
};

}  // namespace onnx_tag::placing
