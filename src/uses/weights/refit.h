// Which tensors of a model get new numbers, and how: a plan without writing.
//
// A tensor is written only if its present bytes follow from the old checkpoint
// by a known transform. Tensors that hold no parameter are kept. Any other
// tensor is refused: a tensor that keeps its old numbers beside new ones makes
// a model that is silently wrong.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file/model/model_file.h"
#include "file/model/weight_files.h"
#include "onnx_tag/tagging.h"
#include "uses/weights/checkpoint.h"
#include "uses/weights/transforms.h"

namespace onnx_tag::weights {

constexpr std::uint32_t kNoTensor = 0xffffffff;

// A tensor of the model, and where its numbers are.
struct Stored : Tensor {
  ValueId value = kNo<ValueId>;
  std::uint32_t initializer = kNoTensor;  // none: a Constant node holds it
  Bytes tensor;                           // the encoded TensorProto
  bool in_place = true;                   // `bytes` are a view of a file
  std::string location = {};              // of external data
};

std::uint64_t BytesOf(const Stored& stored);

// All tensors of a model, and the files of weights beside it.
class Store {
 public:
  // `file` must outlive this.
  explicit Store(const ModelFile& file);

  const std::vector<Stored>& tensors() const { return tensors_; }
  // By the name that the model has for it.
  const WeightFiles::Files& files() const { return files_.files(); }

 private:
  void Add(Bytes tensor, std::string name, ValueId value,
           std::uint32_t initializer);

  std::vector<Stored> tensors_;
  WeightFiles files_;
  std::deque<std::string> converted_;  // numbers in other encodings
};

enum class Fate : std::uint8_t { kWritten, kKept, kRefused };
constexpr std::array<std::string_view, 3> kFateNames = {"written", "kept",
                                                        "refused"};

// An input of a node.
struct TensorReader {
  Bytes node;  // the encoded NodeProto
  std::uint32_t slot;
};

struct RefitRow {
  std::uint32_t stored = 0;  // index in Store::tensors()
  // A new tensor for some readers of that one; "": it is that one.
  std::string name = {};
  std::vector<TensorReader> readers = {};
  Fate fate = Fate::kKept;
  std::shared_ptr<const Recipe> recipe = {};
  Made::Part part = Made::Part::kNumbers;
  std::string transform = {};
  std::vector<std::string> parameters = {};
  ModuleId module = kNo<ModuleId>;
  std::string why = {};
};

struct RefitRequest {
  const Checkpoint* was = nullptr;  // null: unproven, by names alone
  const Checkpoint* now = nullptr;
  // By name: what is added to parameters of `now`.
  std::unordered_map<std::string, LowRank> added = {};
  std::vector<std::string> keep = {};  // patterns of tensors that stay
};

// What an adapter of PEFT adds, by the name of the parameter. `config` is the
// text of adapter_config.json. Throws Error(kUsage) for an adapter that is not
// a plain LoRA, and for a parameter that `base` does not have.
std::unordered_map<std::string, LowRank> ReadLora(const std::string& config,
                                                  const Checkpoint& adapter,
                                                  const Checkpoint& base);

struct RefitPlan {
  std::vector<RefitRow> rows;  // one for each tensor
  Side now;
  std::vector<std::string> unused;  // parameters that differ and went nowhere
  // Those of `unused` that were 0 or 1 throughout, in layers that the model
  // has: an optimizer leaves such a sum or product out.
  std::vector<std::string> left_out = {};
};

RefitPlan PlanRefit(const Model& model, const Tagging& tagging,
                    const Store& store, const RefitRequest& request);

}  // namespace onnx_tag::weights
