#include <fmt/core.h>

#include <array>
#include <memory>
#include <unordered_map>

#include "app/commands/commands.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "base/lists.h"
#include "core/tagging/words.h"
#include "file/model/element_types.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag {
namespace {

using weights::Weight;

std::string ShapeText(std::span<const std::int64_t> dims) {
  return "[" + Join(dims, ",") + "]";
}

// ---------------------------------------------------------------- the list
// The encoded initializers of all graphs, by name; a name that occurs twice has
// none.
struct TensorFinder {
  std::unordered_map<std::string_view, Bytes> found = {};

  bool Visit(const wire::Field& field, const onnx::FieldInfo& info) {
    if (info.child == onnx::MessageType::kTensorProto) {
      if (info.in != onnx::MessageType::kGraphProto) return false;
      const auto [at, added] = found.try_emplace(
          model::LastOf(field.bytes, onnx::TensorProto::kName), field.bytes);
      if (!added) at->second = {};
      return false;
    }
    return info.child == onnx::MessageType::kGraphProto ||
           info.child == onnx::MessageType::kNodeProto ||
           info.child == onnx::MessageType::kAttributeProto;
  }
  void Leave() {}
};

// Where its elements are, as they are in memory: "at", "size" and "file".
// Nothing where the file has them in another encoding.
std::array<Datum, 3> PlaceOf(const Model& model, Bytes tensor) {
  if (tensor.empty()) return {};
  const TensorData data = ReadTensorData(tensor);
  if (!data.location.empty()) {
    return {data.offset, data.length ? Datum(*data.length) : Datum(),
            data.location};
  }
  if (data.raw.empty() || !data.converted.empty()) return {};
  return {static_cast<std::uint64_t>(data.raw.data() - model.bytes().data()),
          data.raw.size(), Datum()};
}

// The initializers, and the parameters that they hold.
Table WeightTable(const std::shared_ptr<const TaggedModel>& model,
                  const std::shared_ptr<const std::vector<Weight>>& list) {
  Table table;
  table.columns = {{"initializer", "initializer"},
                   {"graph", "", For::kJson},
                   {"", "parameter", For::kPeople, "-"},
                   {"parameters", "parameters", For::kPrograms, "-"},
                   {"may_hold", "", For::kJson},
                   {"change", "change"},
                   {"", "shape"},
                   {"shape", "", For::kJson},
                   {.key = "type", .heading = "type", .width = 8},
                   {"bytes", "bytes", For::kPrograms},
                   {"external", "", For::kJson},
                   {"at", "", For::kJson},
                   {"size", "", For::kJson},
                   {"file", "", For::kJson},
                   {"module", "module", For::kPrograms, "-"},
                   {"confidence", "confidence"},
                   {"why", "why", For::kPrograms}};
  const auto finder = std::make_shared<TensorFinder>();
  model->file()->Map([&](const Model& file) {
    model::Walk(file.bytes(), onnx::MessageType::kModelProto, *finder);
    return true;
  });
  table.more = [model, list, finder](const Table::Use& use) {
    const Model& file = model->model();
    for (const Weight& weight : *list) {
      const Initializer& tensor = file.initializers()[weight.initializer];
      const auto dims = file.Dims(tensor);
      const auto [at, size, location] =
          PlaceOf(file, finder->found[file.ValueName(tensor.value)]);
      use({file.ValueName(tensor.value),
           file.GraphPath(file[tensor.value].graph), weight.parameters,
           weight.parameters, weight.may_hold,
           EnumToWord(weights::kChangeNames, weight.change), ShapeText(dims),
           std::vector<std::int64_t>(dims.begin(), dims.end()),
           TypeNameOrUnknown(tensor.data_type), weights::BytesOf(file, tensor),
           tensor.external, at, size, location,
           weight.module == kNo<ModuleId>
               ? Datum()
               : Datum(model->tagging().modules.Path(weight.module)),
           EnumToWord(kConfidenceNames, weight.confidence), weight.why});
    }
  };
  return table;
}

// "39 initializers: 21 same, 12 transposed, 6 constant"
std::string CountsText(const std::vector<Weight>& list) {
  std::array<std::uint64_t, weights::kChangeNames.size()> counts = {};
  for (const Weight& weight : list) {
    ++counts[Index(weight.change)];
  }
  std::vector<std::string> words;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    words.push_back(fmt::format("{} {}", counts[i], weights::kChangeNames[i]));
  }
  return Count(list.size(), "initializer") + (words.empty() ? "" : ": ") +
         Join(words);
}

}  // namespace

Result RunWeights(const WeightsOptions& options, Terminal& terminal) {
  const auto model =
      std::make_shared<const TaggedModel>(TaggedModel::Load(options, terminal));
  if (model->file() == nullptr) {
    Fail(ErrorKind::kUsage,
         "{}: is a sidecar, which does not list initializers\n  name the model",
         options.model);
  }
  const auto list = std::make_shared<const std::vector<Weight>>(
      weights::MapWeights(model->model(), model->tagging()));
  const std::size_t guessed = CountIn(*list, [](const Weight& weight) {
    return !weight.parameters.empty() && weight.confidence == Confidence::kLow;
  });
  Result result;
  if (guessed > 0) {
    constexpr std::string_view kGuessed =
        "{} of {} have names of low confidence";
    const std::string text =
        fmt::format(kGuessed, guessed, Count(list->size(), "initializer"));
    if (options.source.strict) {
      result.Finding("{}: {}\n  --strict refuses that", options.model, text);
      return result;
    }
    terminal.Note("{}; --strict refuses that", text);
  }
  const Table table = WeightTable(model, list);
  result.rows.push_back(table);
  result.data = Datum::Object({{"file", options.model}, {"weights", table}});
  result.Line("{}: {}\n", options.model, CountsText(*list));
  result.Add(table);
  return result;
}

}  // namespace onnx_tag
