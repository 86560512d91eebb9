// Adapters of PEFT: low-rank matrices that are added to weights.
#include <fmt/core.h>

#include <cmath>
#include <utility>
#include <vector>

#include "file/json/reader.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/weights/refit.h"

// python/onnx_tag/adapter.py has the same rules.
namespace onnx_tag::weights {
namespace {

// A number for all modules, and for some: in the order of the file, the first
// that fits counts.
struct ByModule {
  double otherwise = 0;
  std::vector<std::pair<std::string, double>> patterns = {};

  double For(std::string_view module) const {
    for (const auto& [key, number] : patterns) {
      if (module == key || module.ends_with("." + key)) return number;
    }
    return otherwise;
  }
};

struct LoraConfig {
  ByModule rank = {};
  ByModule alpha = {};
  bool by_root = false;  // rslora
  bool fan_in_fan_out = false;
};

// Refused where they are set.
constexpr std::string_view kUnsupported =
    " use_dora modules_to_save lora_bias layer_replication use_qalora "
    "trainable_token_indices alora_invocation_tokens use_bdlora arrow_config "
    "target_parameters kasa_config monteclora_config ";

bool IsSet(json::Reader& reader) {
  const std::string_view text = reader.Skip();
  return text != "false" && text != "null" && text != "[]" && text != "{}";
}

LoraConfig ReadConfig(const std::string& text) {
  LoraConfig config;
  json::Reader reader(text);
  const auto patterns = [&](ByModule& to) {
    if (reader.Peek() != json::Kind::kObject) return;
    reader.ForEachMember([&](std::string_view key) {
      if (key.find_first_of("^$*+?()[]{}|\\") != std::string_view::npos) {
        Fail(ErrorKind::kUsage, "has a pattern that is not supported: {}", key);
      }
      const std::string pattern(key);
      to.patterns.emplace_back(pattern, reader.Number());
    });
  };
  reader.ForEachMember([&](std::string_view key) {
    if (key == "peft_type") {
      const std::string type = reader.StringOrNull();
      if (type != "LORA") {
        Fail(ErrorKind::kUsage, "is {}; only LORA is supported", type);
      }
    } else if (key == "r") {
      config.rank.otherwise = reader.Number();
    } else if (key == "lora_alpha") {
      config.alpha.otherwise = reader.Number();
    } else if (key == "use_rslora") {
      config.by_root = IsSet(reader);
    } else if (key == "fan_in_fan_out") {
      config.fan_in_fan_out = IsSet(reader);
    } else if (key == "rank_pattern") {
      patterns(config.rank);
    } else if (key == "alpha_pattern") {
      patterns(config.alpha);
    } else if (kUnsupported.find(fmt::format(" {} ", key)) !=
               std::string_view::npos) {
      if (IsSet(reader)) {
        Fail(ErrorKind::kUsage, "uses {}, which is not supported", key);
      }
    } else if (key == "init_lora_weights" &&
               reader.Peek() == json::Kind::kString) {
      // Other ways may change the weights of the base, too.
      const std::string start = reader.StringOrNull();
      if (start != "gaussian" && start != "orthogonal") {
        Fail(ErrorKind::kUsage, "{} is {}, which may change the base weights",
             key, start);
      }
    }
  });
  return config;
}

std::vector<float> Load(const Tensor& tensor) {
  std::vector<float> numbers(tensor.count);
  LoadFloats(tensor, 0, tensor.count, numbers.data());
  return numbers;
}

}  // namespace

std::unordered_map<std::string, LowRank> ReadLora(const std::string& text,
                                                  const Checkpoint& adapter,
                                                  const Checkpoint& base) {
  constexpr std::string_view kHead = "base_model.model.";
  constexpr std::string_view kA = ".lora_A.weight";
  constexpr std::string_view kB = ".lora_B.weight";
  const LoraConfig config = ReadConfig(text);
  std::unordered_map<std::string, LowRank> added;
  for (const Tensor& a : adapter.tensors()) {
    const bool is_b = a.name.ends_with(kB);
    if (!a.name.starts_with(kHead) || (!is_b && !a.name.ends_with(kA)) ||
        a.dims.size() != 2 || !IsFloat(a.type)) {
      Fail(ErrorKind::kUsage, "{}: is no part of a plain LoRA", a.name);
    }
    const std::string module =
        a.name.substr(kHead.size(), a.name.size() - kHead.size() - kA.size());
    const Tensor* const b =
        adapter.Find(std::string(kHead) + module + std::string(is_b ? kA : kB));
    const Tensor* const weight = base.Find(module + ".weight");
    if (b == nullptr) {
      Fail(ErrorKind::kUsage, "{}: its other matrix is missing", a.name);
    }
    if (is_b) continue;
    const double rank = config.rank.For(module);
    if (weight == nullptr) {
      Fail(ErrorKind::kUsage, "{}.weight: the checkpoint has none", module);
    }
    std::vector<std::int64_t> dims = {b->dims[0], a.dims[1]};
    if (config.fan_in_fan_out) std::swap(dims[0], dims[1]);
    if (a.dims[0] < 1 || a.dims[0] != b->dims[1] || weight->dims != dims ||
        !IsFloat(weight->type) || double(a.dims[0]) != rank) {
      Fail(ErrorKind::kUsage, "{}: {} and {} of rank {} do not fit a weight {}",
           module, DimsText(a.dims), DimsText(b->dims), rank,
           DimsText(weight->dims));
    }
    const double alpha = config.alpha.For(module);
    const double scale = alpha / (config.by_root ? std::sqrt(rank) : rank);
    added[module + ".weight"] = {
        Load(a), Load(*b), static_cast<std::uint64_t>(a.dims[0]),
        static_cast<float>(scale), config.fan_in_fan_out};
  }
  if (added.empty()) Fail(ErrorKind::kUsage, "adds to no weight");
  return added;
}

}  // namespace onnx_tag::weights
